# SPDX-License-Identifier: ISC
# shellcheck shell=sh
# What people use in leaserun's place, for the scripts beside this one to source.

: "${work:?a folder for what they need}"

have() { command -v "$1" >/dev/null 2>&1; }

# A server with defaults; sets etcd_pid and etcd_endpoint. Fails when etcd (Debian: etcd-server,
# etcd-client) is not installed or does not answer within ten seconds.
etcd_start() {
    if ! have etcd || ! have etcdctl; then
        echo 'etcd is not installed: its row is left out' >&2
        return 1
    fi
    etcd_port=$(free_port) etcd_peer=$(free_port) etcd_tries=0
    etcd --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$etcd_port" \
        --advertise-client-urls "http://127.0.0.1:$etcd_port" \
        --listen-peer-urls "http://127.0.0.1:$etcd_peer" \
        --initial-advertise-peer-urls "http://127.0.0.1:$etcd_peer" \
        --initial-cluster "default=http://127.0.0.1:$etcd_peer" >"$work/etcd.log" 2>&1 &
    etcd_pid=$!
    etcd_endpoint=127.0.0.1:$etcd_port
    export ETCDCTL_API=3
    until etcdctl --endpoints "$etcd_endpoint" endpoint health >/dev/null 2>&1; do
        etcd_tries=$((etcd_tries + 1))
        [ "$etcd_tries" -lt 50 ] || return 1
        sleep 0.2
    done
}

etcd_stop() {
    [ -z "${etcd_pid:-}" ] || { kill "$etcd_pid"; wait "$etcd_pid"; } 2>/dev/null
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# psql_lock_make FILE FUNCTION: a program "FILE URL NAME COMMAND" that runs a command under a
# session's advisory lock. FUNCTION pg_try_advisory_lock: not at all while another holds it;
# pg_advisory_lock: once it is free.
psql_lock_make() {
    case $2 in
    pg_try_*) psql_lock_sql="select $2(hashtext('\$2')) as ok \\gset" ;;
    *) psql_lock_sql="select true as ok from (select $2(hashtext('\$2'))) as l \\gset" ;;
    esac
    cat >"$1" <<-X
	#!/bin/sh
	exec "\$(pg_config --bindir)/psql" -X -q -A -t -d "\$1" <<Q
	$psql_lock_sql
	\\if :ok
	\\! \$3
	\\endif
	Q
	X
    chmod 755 "$1"
}
