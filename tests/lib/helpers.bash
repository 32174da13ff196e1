# SPDX-License-Identifier: ISC
# shellcheck shell=bash
# For the whole-program tests: `load ../lib/helpers` at the head of a .bats file.
#
# A file that names "# stores: postgresql sqlite" in its head is run once for each, with
# STORE_KIND set; tests in it see the same commands. Each file has a database (or SQLite file) of
# its own in STORE_URL, each test a key of its own in KEY; LEASERUN_STORE is set.

bats_require_minimum_version 1.5.0

TESTS=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
BUILD=${BUILD:-$TESTS/../build}
TOOLS=$BUILD/tests/tools
LEASERUN=$BUILD/src/leaserun
STORE_KIND=${STORE_KIND:-sqlite}
# shellcheck source=tests/lib/pg.sh
[ -z "${PG_ROOT:-}" ] || . "$TESTS/lib/pg.sh"

leaserun() {
    "$LEASERUN" "$@"
}

# ---- stores --------------------------------------------------------------------------------

# A new database with our schema in it, on the server named (main when not); sets DATABASE.
fresh_database() { # [SERVER]
    DATABASE=t_$$_${RANDOM}_${RANDOM}
    pg_sql "${1:-main}" postgres "create database $DATABASE template leaserun_template"
}

# A new empty store; sets STORE_URL and LEASERUN_STORE (and DATABASE, or STORE_FILE).
fresh_store() {
    case $STORE_KIND in
    postgresql)
        fresh_database
        STORE_URL=$(pg_url main "$DATABASE")
        ;;
    sqlite)
        STORE_FILE=$(mktemp -d "${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}/store.XXXXXX")/leaserun.db
        STORE_URL=sqlite:$STORE_FILE
        ;;
    esac
    export STORE_URL DATABASE STORE_FILE LEASERUN_STORE=$STORE_URL
}

setup_file() {
    fresh_store
}

setup() {
    fresh_key
}

teardown() {
    stop_started
}

fresh_key() {
    KEY="clé $BATS_TEST_NUMBER.$RANDOM"
}

# What the server has logged about this file's database, at ERROR and above. That a client left
# in the middle of an answer is no error of anybody's.
server_errors() { # [SERVER [DATABASE]]
    grep -E "\] ${2:-$DATABASE} .*(ERROR|FATAL|PANIC):" "$(pg_log "${1:-main}")" |
        grep -v 'FATAL:  connection to client lost' || true
}

# One field of `status --json` for a key: lease_field KEY FIELD
lease_field() {
    leaserun status --json "$1" | json_field "$2"
}

# One field of the newest run of a key: run_field KEY FIELD
run_field() {
    leaserun history --json "$1" | head -n 1 | json_field "$2"
}

json_field() { # FIELD
    python3 -c 'import json, sys
for line in sys.stdin: print(json.loads(line)[sys.argv[1]])' "$1"
}

has_sanitizer() {
    ldd "$LEASERUN" | grep -q 'libasan'
}

# Where a test takes away what a sanitizer's runtime needs itself.
skip_with_sanitizer() {
    ! has_sanitizer || skip 'a sanitizer needs more'
}

# ---- waiting -------------------------------------------------------------------------------

# Until the command succeeds, at most so many seconds: await SECONDS COMMAND...
await() {
    local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
    shift
    until "$@"; do
        if [ "${EPOCHREALTIME/[.,]/}" -ge "$end" ]; then
            echo "did not come true in time: $*" >&2
            return 1
        fi
        sleep 0.02
    done
}

is_gone() { # PID: ended, or a zombie that nobody has asked about
    local state
    read -r _ _ state _ 2>/dev/null <"/proc/$1/stat" || return 0
    [ "$state" = Z ]
}

is_held() { # KEY
    [ "$(lease_field "$1" state)" = held ]
}

now_ms() {
    local now=${EPOCHREALTIME/[.,]/}
    echo $((now / 1000))
}

# ---- background processes ------------------------------------------------------------------

STARTED=()
FROZEN=()
declare -A OUTPUT # of a started process: the head of its two files' names

# Starts a command in the background with its output in files; sets PID.
start() {
    local output=$BATS_TEST_TMPDIR/started.${#STARTED[@]}.$RANDOM
    "$@" >"$output.out" 2>"$output.err" </dev/null 3>&- &
    PID=$!
    STARTED+=("$PID")
    OUTPUT[$PID]=$output
}

started_stdout() { # PID
    cat "${OUTPUT[$1]}.out"
}

started_stderr() { # PID
    cat "${OUTPUT[$1]}.err"
}

has_said() { # PID TEXT
    [[ $(cat "${OUTPUT[$1]}.out" 2>/dev/null) == *"$2"* ]]
}

# A leaserun that holds KEY until it is stopped, running already; sets PID.
start_holder() { # [OPTION...]
    start "$LEASERUN" run "$@" "$KEY" -- sh -c 'echo running; exec sleep 600'
    await 10 has_said "$PID" running
}

# The status of a started process, awaited for at most so many seconds; sets STATUS.
finish() { # PID SECONDS
    await "$2" is_gone "$1" || return 1
    STATUS=0
    wait "$1" || STATUS=$?
}

# Stops processes that others wait for; a test that fails before it continues them leaves none so.
freeze() { # PID...
    FROZEN+=("$@")
    kill -STOP "$@"
}

stop_started() {
    local pid
    [ ${#FROZEN[@]} -eq 0 ] || kill -CONT "${FROZEN[@]}" 2>/dev/null || true
    FROZEN=()
    for pid in "${STARTED[@]}"; do
        kill -TERM "$pid" 2>/dev/null || continue
        kill -CONT "$pid" 2>/dev/null || true
        await 10 is_gone "$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    STARTED=()
}

# ---- the network between ---------------------------------------------------------------------

# A proxy before the server (see pgproxy.py for its commands); sets PROXY and PROXY_URL, the
# store's URL through it.
proxy_start() { # [SERVER]
    local server=${1:-main}
    PROXY=$(mktemp -d "$BATS_TEST_TMPDIR/proxy.XXXXXX")
    start python3 "$TESTS/lib/pgproxy.py" "$PROXY" \
        "$PG_ROOT/$server/.s.PGSQL.$(cat "$PG_ROOT/$server/port")"
    await 10 test -s "$PROXY/port"
    # shellcheck disable=SC2034  # for tests
    PROXY_URL="postgresql:///$DATABASE?host=$PROXY&port=5432&user=postgres"
}

proxy() { # COMMAND...
    python3 "$TESTS/lib/pgproxy.py" --tell "$PROXY" "$@"
}

# ---- hostile names ---------------------------------------------------------------------------

# Whoever names a function, operator, type or table without its schema gets one of these.
set_trap() { # SCHEMA DATABASE
    pg_sql main "$2" "
        create schema $1;
        create table $1.leases as select * from leaserun.leases with no data;
        create table $1.runs as select * from leaserun.runs with no data;
        create table $1.schema_version as select 99 as version, 99 as oldest_reader;
        create table $1.steps as select * from leaserun.steps with no data;
        create table $1.fences as select * from leaserun.fences with no data;
        create sequence $1.fence_seq;
        create domain $1.text as varchar(1);
        create domain $1.int8 as smallint;
        create domain $1.bool as smallint;
        create domain $1.timestamptz as date;
        create domain $1.interval as smallint;
        create function $1.clock_timestamp() returns pg_catalog.timestamptz language sql as \$\$select null::pg_catalog.timestamptz\$\$;
        create function $1.nextval(regclass) returns pg_catalog.int8 language sql as \$\$select 1::pg_catalog.int8\$\$;
        create function $1.set_config(pg_catalog.text, pg_catalog.text, boolean) returns pg_catalog.text language sql as \$\$select null::pg_catalog.text\$\$;
        create function $1.pg_notify(pg_catalog.text, pg_catalog.text) returns void language sql as \$\$select null::void\$\$;
        create function $1.max(pg_catalog.int8) returns pg_catalog.int8 language sql as \$\$select 0::pg_catalog.int8\$\$;
        create function $1.no(pg_catalog.text, pg_catalog.text) returns boolean language sql as \$\$select false\$\$;
        create function $1.no(pg_catalog.int8, pg_catalog.int8) returns boolean language sql as \$\$select false\$\$;
        create function $1.no(pg_catalog.timestamptz, pg_catalog.timestamptz) returns boolean language sql as \$\$select false\$\$"
    local type operator operators=
    for type in text int8 timestamptz; do
        for operator in = '<>' '<' '>' '<=' '>='; do
            operators+="create operator $1.$operator (function = $1.no, leftarg = pg_catalog.$type, rightarg = pg_catalog.$type);"
        done
    done
    pg_sql main "$2" "$operators"
}

# ---- a pooler between ------------------------------------------------------------------------

# PgBouncer in transaction mode with one connection to the server; sets LEASERUN_STORE.
bouncer_start() {
    local folder
    folder=$(mktemp -d "$PG_ROOT/bouncer.XXXXXX")
    cat >"$folder/ini" <<-END
	[databases]
	$DATABASE = host=$PG_ROOT/main port=$(cat "$PG_ROOT/main/port") user=postgres
	[pgbouncer]
	listen_addr =
	listen_port = 6432
	unix_socket_dir = $folder
	auth_type = any
	pool_mode = transaction
	default_pool_size = 1
	END
    _pg_own "$folder"
    chmod 755 "$folder"
    local as_owner=()
    [ "$(id -u)" -ne 0 ] || as_owner=(setpriv --reuid postgres --regid postgres --init-groups --)
    start "${as_owner[@]}" pgbouncer "$folder/ini"
    await 10 test -S "$folder/.s.PGSQL.6432"
    LEASERUN_STORE="postgresql:///$DATABASE?host=$folder&port=6432&user=postgres"
}

# ---- expectations ----------------------------------------------------------------------------

# After `run`: shows everything when the status is another.
expect_status() { # STATUS
    [ "$status" -eq "$1" ] || {
        echo "status $status instead of $1; output: $output; stderr: ${stderr:-}" >&2
        return 1
    }
}

expect_equal() { # ACTUAL EXPECTED
    [ "$1" = "$2" ] || {
        printf 'instead of: %q\ncame:       %q\n' "$2" "$1" >&2
        return 1
    }
}

expect_contains() { # TEXT PART
    [[ $1 == *"$2"* ]] || {
        printf 'not found:  %q\nin:         %q\n' "$2" "$1" >&2
        return 1
    }
}

# One line on stderr after `run --separate-stderr`.
expect_one_line() {
    [ "${#stderr_lines[@]}" -eq 1 ] || {
        printf '%d lines on stderr instead of one:\n%s\n' "${#stderr_lines[@]}" "${stderr:-}" >&2
        return 1
    }
}

no_overlaps() { # FILE
    python3 "$TESTS/lib/overlaps.py" "$1"
}
