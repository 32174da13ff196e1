# SPDX-License-Identifier: ISC
# shellcheck shell=sh
# Private PostgreSQL servers, for scripts to source (sh and bash). Each has a name and a folder
# $PG_ROOT/NAME with `data`, `log`, `port` and its unix socket. They are stopped by the process id
# in their own data folder. fsync is off unless settings say otherwise.
#
#   pg_start NAME [SETTING...]    make it when it is new ("fsync=on", "listen_addresses="), start it
#   pg_standby NAME OF            a streaming standby of another, started
#   pg_promote NAME
#   pg_stop NAME [fast|immediate] wait until it is down; nothing when it is down already
#   pg_restart NAME [MODE]
#   pg_stop_all                   every server under PG_ROOT
#   pg_sql NAME DATABASE SQL...   as superuser; bare values on stdout
#   pg_url NAME DATABASE          by unix socket, superuser, no password asked
#   pg_tcp_url NAME DATABASE [USER[:PASSWORD]]   by loopback TCP with a password
#   pg_log NAME                   the path of its log

: "${PG_ROOT:?a folder for the servers}"
PG_BIN=${PG_BIN:-/usr/lib/postgresql/15/bin}
PG_PASSWORD=correct-horse # of the superuser postgres, over TCP

# PostgreSQL refuses to run as root.
_pg_as_owner() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid postgres --regid postgres --init-groups -- "$@"
    else
        "$@"
    fi
}

_pg_own() {
    [ "$(id -u)" -ne 0 ] || chown postgres: "$@"
}

_pg_free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The first server pays for initdb; its untouched data folder is kept for those to come.
_pg_make_template() {
    [ ! -d "$PG_ROOT/.template" ] || return 0
    chmod 711 "$PG_ROOT"
    mkdir "$PG_ROOT/.template.new"
    printf '%s\n' "$PG_PASSWORD" >"$PG_ROOT/.password"
    _pg_own "$PG_ROOT/.template.new" "$PG_ROOT/.password"
    (cd / && _pg_as_owner "$PG_BIN/initdb" -D "$PG_ROOT/.template.new/data" -U postgres \
        --pwfile="$PG_ROOT/.password" --auth-local=trust --auth-host=scram-sha-256 \
        -E UTF8 --no-locale --no-sync --no-instructions) >"$PG_ROOT/.initdb.log" 2>&1 ||
        { cat "$PG_ROOT/.initdb.log" >&2; return 1; }
    mv "$PG_ROOT/.template.new" "$PG_ROOT/.template"
}

# log_line_prefix: time, process, database, program: tests count lines by database.
_pg_make() {
    _pg_make_template || return 1
    cp -a "$PG_ROOT/.template" "$PG_ROOT/$1"
    _pg_free_port >"$PG_ROOT/$1/port"
    cat >>"$PG_ROOT/$1/data/postgresql.conf" <<-END
	unix_socket_directories = '$PG_ROOT/$1'
	port = $(cat "$PG_ROOT/$1/port")
	listen_addresses = '127.0.0.1'
	fsync = off
	full_page_writes = off
	max_connections = 100
	shared_buffers = 32MB
	log_min_messages = warning
	log_line_prefix = '%m [%p] %d %a: '
	log_checkpoints = off
	timezone = UTC
	END
}

pg_start() {
    pg_name=$1
    shift
    [ -d "$PG_ROOT/$pg_name" ] || _pg_make "$pg_name" || return 1
    for pg_setting; do
        printf "%s = '%s'\n" "${pg_setting%%=*}" "${pg_setting#*=}" \
            >>"$PG_ROOT/$pg_name/data/postgresql.conf"
    done
    # Descriptor 3 is bats': a server that kept it would keep bats waiting.
    (cd / && _pg_as_owner "$PG_BIN/pg_ctl" start -s -w -t 60 -D "$PG_ROOT/$pg_name/data" \
        -l "$PG_ROOT/$pg_name/log" </dev/null 3>&- 4>&- 5>&- 8>&- 9>&-) ||
        { cat "$PG_ROOT/$pg_name/log" >&2; return 1; }
}

pg_standby() {
    mkdir "$PG_ROOT/$1" && _pg_own "$PG_ROOT/$1" && _pg_free_port >"$PG_ROOT/$1/port" || return 1
    (cd / && _pg_as_owner "$PG_BIN/pg_basebackup" -D "$PG_ROOT/$1/data" -c fast -R \
        -d "$(pg_url "$2" postgres)") || return 1
    pg_start "$1" "port=$(cat "$PG_ROOT/$1/port")" "unix_socket_directories=$PG_ROOT/$1" \
        wal_retrieve_retry_interval=300ms
}

pg_promote() {
    (cd / && _pg_as_owner "$PG_BIN/pg_ctl" promote -s -w -D "$PG_ROOT/$1/data")
}

pg_stop() {
    [ -e "$PG_ROOT/$1/data/postmaster.pid" ] || return 0
    (cd / && _pg_as_owner "$PG_BIN/pg_ctl" stop -s -w -t 60 -m "${2:-fast}" -D "$PG_ROOT/$1/data")
}

pg_restart() {
    pg_stop "$1" "${2:-fast}" && pg_start "$1"
}

pg_stop_all() {
    for pg_folder in "$PG_ROOT"/*/data; do
        [ ! -e "$pg_folder/postmaster.pid" ] ||
            (cd / && _pg_as_owner "$PG_BIN/pg_ctl" stop -s -w -t 60 -m immediate -D "$pg_folder")
    done
}

pg_pid() {
    head -n 1 "$PG_ROOT/$1/data/postmaster.pid"
}

pg_log() {
    printf '%s\n' "$PG_ROOT/$1/log"
}

pg_sql() {
    pg_name=$1 pg_database=$2
    shift 2
    for pg_statement; do
        psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$(pg_url "$pg_name" "$pg_database")" \
            -c "$pg_statement" || return 1
    done
}

pg_url() {
    printf 'postgresql:///%s?host=%s&port=%s&user=postgres\n' "$2" "$PG_ROOT/$1" \
        "$(cat "$PG_ROOT/$1/port")"
}

pg_tcp_url() {
    printf 'postgresql://%s@127.0.0.1:%s/%s\n' "${3:-postgres:$PG_PASSWORD}" \
        "$(cat "$PG_ROOT/$1/port")" "$2"
}
