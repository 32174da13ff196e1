#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# A nightly dump as people have it: the same crontab line on two hosts, Debian's cron, pg_dump of a
# database, over TCP with a password from a passfile. (Every minute here, not every night.)
# stores: postgresql

load ../lib/helpers

MINUTES=2

setup_file() {
    command -v cron >/dev/null
    fresh_database
    export DATABASE WORK=$BATS_FILE_TMPDIR/work
    mkdir -p "$WORK/dumps"
    chmod 711 "$BATS_FILE_TMPDIR"
    make_hosts
    pg_start reach "listen_addresses=127.0.0.1,10.213.1.1,10.213.2.1"
    echo 'host all all 10.213.0.0/16 scram-sha-256' >>"$PG_ROOT/reach/data/pg_hba.conf"
    pg_sql reach postgres 'select pg_reload_conf()' 'create database app'
    leaserun init --store "$(pg_url reach app)"
    pg_sql reach app "create table ledger as select n as id, md5(n::text) as entry from generate_series(1, 20000) n"
}

teardown_file() {
    local host
    for host in 1 2; do
        [ ! -e "$WORK/host$host/pid" ] || kill -KILL "$(cat "$WORK/host$host/pid")" 2>/dev/null || true
        ip netns del "leaserun-cron$host" 2>/dev/null || true
    done
    pg_stop reach immediate
}

teardown() {
    :
}

# Two network namespaces, each with a cable to the host of the database.
make_hosts() {
    local host
    for host in 1 2; do
        ip netns add "leaserun-cron$host"
        ip link add "lrc$host" type veth peer name eth0 netns "leaserun-cron$host"
        ip addr add "10.213.$host.1/30" dev "lrc$host"
        ip link set "lrc$host" up
        ip -n "leaserun-cron$host" addr add "10.213.$host.2/30" dev eth0
        ip -n "leaserun-cron$host" link set eth0 up
        ip -n "leaserun-cron$host" link set lo up
    done
}

write_crontab() { # HOST
    local folder=$WORK/host$1
    mkdir -p "$folder/home"
    printf '10.213.%s.1:*:*:postgres:%s\n' "$1" "$PG_PASSWORD" >"$folder/home/.pgpass"
    chmod 600 "$folder/home/.pgpass"
    cat >"$folder/dump.sh" <<-END
	#!/bin/sh
	exec pg_dump -Fc -h 10.213.$1.1 -p $(cat "$PG_ROOT/reach/port") -U postgres -t ledger \
	    -f "$WORK/dumps/\$LEASERUN_SLOT.dump" app
	END
    chmod 755 "$folder/dump.sh"
    cat >"$folder/crontab" <<-END
	HOME=$folder/home
	LEASERUN_STORE=postgresql://postgres@10.213.$1.1:$(cat "$PG_ROOT/reach/port")/app
	* * * * * $(realpath "$LEASERUN") run --once-per minute nightly-dump -- $folder/dump.sh 2>>$folder/errors; echo "\$LOGNAME \$?" >>$folder/ends
	END
}

start_host() { # HOST
    write_crontab "$1"
    ip netns exec "leaserun-cron$1" unshare --mount --uts --pid --fork --kill-child --mount-proc \
        sh "$TESTS/lib/cron_host.sh" "host$1" "$WORK/host$1" </dev/null >/dev/null 2>&1 3>&- &
    echo $! >"$WORK/host$1/pid"
}

has_ends() { # COUNT
    [ "$(cat "$WORK/host1/ends" 2>/dev/null | wc -l)" -ge "$1" ] &&
        [ "$(cat "$WORK/host2/ends" 2>/dev/null | wc -l)" -ge "$1" ]
}

@test "a dump in the crontab of two hosts: both crons fire, one dump a minute is made" {
    start_host 1
    start_host 2
    await $((MINUTES * 60 + 20)) has_ends $MINUTES
    cat "$WORK"/host*/errors "$WORK"/host*/log
    run ! grep -hv -E '^root (0|75)$' "$WORK/host1/ends" "$WORK/host2/ends"
    [ "$(head -qn $MINUTES "$WORK"/host*/ends | grep -c ' 0$')" -eq $MINUTES ]
    [ "$(head -qn $MINUTES "$WORK"/host*/ends | grep -c ' 75$')" -eq $MINUTES ]
    run cat "$WORK/host1/errors" "$WORK/host2/errors"
    [ "$output" = "" ]
}

@test "each slot of the history is one succeeded run, and one dump that can be restored" {
    local slot slots dump
    slots=$(leaserun history --json --store "$(pg_url reach app)" nightly-dump | json_field slot | sort)
    [ "$(echo "$slots" | wc -l)" -ge $MINUTES ]
    [ "$(echo "$slots" | uniq -d)" = "" ]
    run -0 sh -c "'$LEASERUN' history --json --store '$(pg_url reach app)' nightly-dump |
        grep -vc '\"outcome\":\"succeeded\"' || true"
    [ "$output" = 0 ]
    for dump in "$WORK"/dumps/*.dump; do
        slot=$(basename "$dump" .dump)
        [[ $slots == *"${slot%Z}"* ]]
        pg_sql reach postgres 'drop database if exists copy' 'create database copy'
        pg_restore -d "$(pg_url reach copy)" "$dump"
        [ "$(pg_sql reach copy 'select count(*), md5(string_agg(entry, $$$$ order by id)) from ledger')" = \
            "$(pg_sql reach app 'select count(*), md5(string_agg(entry, $$$$ order by id)) from ledger')" ]
    done
}

@test "the history names the hosts that ran it, by holder" {
    run -0 sh -c "'$LEASERUN' history --json --store '$(pg_url reach app)' nightly-dump"
    while read -r line; do
        [[ $line == *'"holder":"host'[12]/* ]]
    done <<<"$output"
}
