#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# PostgreSQL as others set it up: weak commits, a pooler, hostile names, few rights, passwords, TLS,
# several hosts.
# stores: postgresql

load ../lib/helpers

setup() {
    fresh_key
    STARTS=$BATS_TEST_TMPDIR/starts
}

teardown() {
    stop_started
    for server in $SERVERS; do
        pg_stop "$server" immediate
    done
}

# A server for this test alone, with our schema in the database app; sets LEASERUN_STORE.
own_server() { # NAME [SETTING...]
    SERVERS="${SERVERS:-} $1"
    pg_start "$@"
    pg_sql "$1" postgres 'create database app'
    LEASERUN_STORE=$(pg_url "$1" app)
    leaserun init >/dev/null
}

# One run from claim to release, told by nobody.
expect_run() { # [OPTION...]
    run --separate-stderr leaserun run "$@" "$KEY" -- echo ran
    expect_status 0
    expect_equal "$output|$stderr" 'ran|'
    expect_equal "$(leaserun history --json "$KEY" | head -n 1 | json_field outcome)" succeeded
    expect_equal "$(lease_field "$KEY" state)" released
}

# ---- settings --------------------------------------------------------------------------------

@test "synchronous_commit is off: a claim and a release that were answered outlive an immediate stop" {
    own_server durable fsync=on wal_writer_delay=10s
    pg_sql durable app 'create table lost (n int)' 'alter role postgres set synchronous_commit = off'
    start_holder --ttl 60s
    fence=$(lease_field "$KEY" fence)
    # What the server may forget, so that we see it forget.
    pg_sql durable app 'insert into lost values (1)'
    pg_restart durable immediate
    expect_equal "$(pg_sql durable app 'select count(*) from lost')" 0
    expect_equal "$(lease_field "$KEY" state) $(lease_field "$KEY" fence)" "held $fence"
    kill -TERM "$PID"
    finish "$PID" 10
    expect_equal "$STATUS" 143
    pg_restart durable immediate
    expect_equal "$(lease_field "$KEY" state) $(run_field "$KEY" outcome)" "released stopped"
}

# ---- a pooler --------------------------------------------------------------------------------

@test "PgBouncer in transaction mode with one connection: claims, renewals, losers, releases and lists" {
    bouncer_start
    expect_run
    start "$LEASERUN" run --ttl 5s "$KEY" -- sh -c 'echo running; exec sleep 6'
    holder=$PID
    await 10 has_said "$holder" running
    pids=()
    for _ in 1 2 3 4 5; do
        start "$LEASERUN" run "$KEY" -- true
        pids+=("$PID")
    done
    for pid in "${pids[@]}"; do
        finish "$pid" 10
        expect_equal "$STATUS $(started_stderr "$pid")" "75 "
    done
    is_held "$KEY"
    start "$LEASERUN" run --wait 20s "$KEY" -- true
    finish "$holder" 10
    expect_equal "$STATUS $(started_stderr "$holder")" "0 "
    finish "$PID" 5
    expect_equal "$STATUS" 0
    expect_equal "$(leaserun history --json "$KEY" | json_field outcome | sort -u)" succeeded
    run -0 leaserun check --connect
    expect_contains "$output" pooler
    run -0 leaserun purge
    # Nothing of ours stays in the session that others get.
    expect_equal "$(psql -X -q -A -t -d "$LEASERUN_STORE" -c 'show lock_timeout')" 0
}

# ---- names -----------------------------------------------------------------------------------

@test "P8 functions, operators, types and tables of our names come first on the role's search_path: nothing changes" {
    fresh_database
    set_trap trap "$DATABASE"
    ROLE=trapped_$$_$RANDOM
    pg_sql main "$DATABASE" "create role $ROLE superuser login" \
        "alter role $ROLE set search_path = trap, pg_catalog, leaserun"
    LEASERUN_STORE=$(pg_url main "$DATABASE" | sed "s/user=postgres/user=$ROLE/")
    expect_equal "$(psql -X -A -t -d "$LEASERUN_STORE" -c "select 'a'::pg_catalog.text = 'a'::pg_catalog.text")" f
    expect_run
    expect_run --once-per hour
    start_holder
    run leaserun run "$KEY" -- true
    expect_status 75
    run -75 leaserun release "$KEY"
    run -0 leaserun release --stop "$KEY"
    stop_started
    KEY=$KEY.2
    run leaserun run "$KEY" -- sh -c 'kill -KILL $PPID'
    run -0 leaserun init
    run -0 leaserun purge --retention 1ms
    run -0 leaserun purge --forget "$KEY"
    run -0 leaserun check --connect
    expect_equal "$(pg_sql main "$DATABASE" 'select (select count(*) from trap.leases) + (select count(*) from trap.runs)')" 0
    pg_sql main postgres "drop database $DATABASE" "drop role $ROLE"
}

@test "init makes its schema where another search_path would hide it" {
    ROLE=trapped_$$_$RANDOM
    pg_sql main postgres 'create database by_trapped' "create role $ROLE superuser login"
    pg_sql main by_trapped 'create schema leaserun2' "alter role $ROLE set search_path = leaserun2"
    LEASERUN_STORE=$(pg_url main by_trapped | sed "s/user=postgres/user=$ROLE/")
    run -0 leaserun init
    expect_run
    expect_equal "$(pg_sql main by_trapped "select distinct schemaname from pg_tables where tablename = 'leases'")" leaserun
    pg_sql main postgres 'drop database by_trapped' "drop role $ROLE"
}

@test "--schema names another for every command" {
    pg_sql main postgres 'create database two_schemas'
    LEASERUN_STORE=$(pg_url main two_schemas)
    for schema in leaserun 'an other "one"'; do
        run -0 leaserun init --schema "$schema"
        run -0 leaserun run --schema "$schema" "$KEY" -- true
        run -0 leaserun history --schema "$schema" --json
        expect_equal "${#lines[@]}" 1
        run -0 leaserun check --schema "$schema" --connect
        expect_contains "$output" "$schema"
    done
    run -0 leaserun purge --schema 'an other "one"' --forget "$KEY"
    run -0 leaserun release --schema leaserun "$KEY"
    run leaserun release --schema 'an other "one"' "$KEY"
    expect_status 64
    run --separate-stderr leaserun run --schema none "$KEY" -- true
    expect_status 78
    expect_one_line
    expect_contains "$stderr" none
    pg_sql main postgres 'drop database two_schemas'
}

# ---- rights ----------------------------------------------------------------------------------

# A database that a DBA has prepared with what init --print-sql prints; sets DATABASE,
# ROLE, and LEASERUN_STORE for that role, which has exactly the grants.
by_hand() {
    DATABASE=by_hand_$$_$RANDOM ROLE=lowly_$$_$RANDOM
    pg_sql main postgres "create database $DATABASE" "create role $ROLE login"
    leaserun init --print-sql >"$BATS_TEST_TMPDIR/init.sql"
    sed -n 's/^-- \(GRANT .*\)/\1/p' "$BATS_TEST_TMPDIR/init.sql" | sed "s/app_role/$ROLE/" >"$BATS_TEST_TMPDIR/grants.sql"
    [ -s "$BATS_TEST_TMPDIR/grants.sql" ]
    psql -X -q -v ON_ERROR_STOP=1 -d "$(pg_url main "$DATABASE")" -f "$BATS_TEST_TMPDIR/init.sql" \
        -f "$BATS_TEST_TMPDIR/grants.sql" >/dev/null
    LEASERUN_STORE=$(pg_url main "$DATABASE" | sed "s/user=postgres/user=$ROLE/")
}

@test "the grants that init --print-sql prints suffice for every command" {
    by_hand
    expect_run
    expect_run --once-per hour
    expect_run --hold-at-least 1ms --wait 1s
    start_holder
    run -75 leaserun run "$KEY" -- true
    run -0 leaserun status
    run -0 leaserun release --stop "$KEY"
    stop_started
    KEY=$KEY.2
    run leaserun run "$KEY" -- sh -c 'kill -KILL $PPID'
    run -0 leaserun run --wait 10s "$KEY" -- true
    run -0 leaserun purge --retention 1ms
    run -0 leaserun purge --forget "$KEY"
    run -0 --separate-stderr leaserun init
    expect_equal "$stderr" ''
    run -0 leaserun check --connect
    pg_sql main postgres "drop database $DATABASE" "drop role $ROLE"
}

@test "with one grant less, the first command that needs it says which, 42501, and what to do: 78" {
    by_hand
    while read -r right object command; do
        pg_sql main "$DATABASE" "revoke $right on ${object/:/ } from $ROLE"
        name=${object##*[.:]}
        case $command in
        run) words=(run --start-within 5s "$KEY" -- touch "$BATS_TEST_TMPDIR/ran") ;;
        purge) words=(purge) ;;
        check) words=(check --connect) ;;
        esac
        run --separate-stderr leaserun "${words[@]}"
        echo "# $right on $object: $command: $stderr"
        expect_status 78
        expect_one_line
        expect_contains "$stderr" "$name"
        [ ! -e "$BATS_TEST_TMPDIR/ran" ]
        if [ "$command" != check ]; then
            expect_contains "$stderr" 42501
            expect_contains "$stderr" 'leaserun init --print-sql'
        fi
        run --separate-stderr leaserun check --connect
        expect_status 78
        expect_contains "$stderr" "$name"
        expect_contains "$stderr" "$right"
        pg_sql main "$DATABASE" "grant $right on ${object/:/ } to $ROLE"
    done <<-'END'
	USAGE schema:leaserun run
	USAGE sequence:leaserun.fence_seq run
	SELECT leaserun.leases run
	INSERT leaserun.leases run
	UPDATE leaserun.leases run
	DELETE leaserun.leases purge
	SELECT leaserun.runs run
	INSERT leaserun.runs run
	UPDATE leaserun.runs run
	DELETE leaserun.runs purge
	SELECT leaserun.schema_version check
	END
    expect_run
    pg_sql main postgres "drop database $DATABASE" "drop role $ROLE"
}

# ---- who we are ------------------------------------------------------------------------------

tcp_url() { # USER
    echo "postgresql://$1@localhost:$(cat "$PG_ROOT/main/port")/$DATABASE"
}

@test "a password file of mode 0600 serves a host that is named, by PGPASSFILE and by passfile=" {
    (umask 077 && echo "localhost:*:*:postgres:$PG_PASSWORD" >"$BATS_TEST_TMPDIR/pass")
    export LEASERUN_STORE
    LEASERUN_STORE="$(tcp_url postgres)?passfile=$BATS_TEST_TMPDIR/pass"
    expect_run
    LEASERUN_STORE=$(tcp_url postgres)
    export PGPASSFILE=$BATS_TEST_TMPDIR/pass
    expect_run
}

@test "a password file that others may read is ignored by libpq: 69, and what to do" {
    echo "localhost:*:*:postgres:$PG_PASSWORD" >"$BATS_TEST_TMPDIR/pass"
    chmod 644 "$BATS_TEST_TMPDIR/pass"
    LEASERUN_STORE="$(tcp_url postgres)?passfile=$BATS_TEST_TMPDIR/pass"
    before=$(now_ms)
    run --separate-stderr leaserun run --start-within 5s "$KEY" -- true
    echo "# $stderr"
    expect_status 69
    [ $(($(now_ms) - before)) -lt 3000 ]
    expect_contains "$stderr" "$BATS_TEST_TMPDIR/pass"
    expect_contains "$stderr" 0600
    [ "${#stderr_lines[@]}" -le 2 ] # libpq's own warning comes with it
    [[ $stderr != *"$PG_PASSWORD"* ]]
}

@test "no password at all where one is asked for: 69 at once, and what to do" {
    LEASERUN_STORE=$(tcp_url postgres)
    before=$(now_ms)
    HOME=/nonexistent run --separate-stderr leaserun run --start-within 5s "$KEY" -- true
    echo "# $stderr"
    expect_status 69
    expect_one_line
    expect_contains "$stderr" password
    [ $(($(now_ms) - before)) -lt 3000 ]
}

@test "a libpq service file names the store, by service= and by PGSERVICE" {
    cat >"$BATS_TEST_TMPDIR/services" <<-END
	[leases]
	host=$PG_ROOT/main
	port=$(cat "$PG_ROOT/main/port")
	dbname=$DATABASE
	user=postgres
	END
    export PGSERVICEFILE=$BATS_TEST_TMPDIR/services
    LEASERUN_STORE='postgresql:///?service=leases'
    expect_run
    export PGSERVICE=leases
    LEASERUN_STORE='postgresql:///'
    expect_run
    LEASERUN_STORE='postgresql:///?service=no-such'
    run --separate-stderr leaserun run --start-within 2s "$KEY" -- true
    echo "# $stderr"
    [[ $status -eq 69 || $status -eq 78 ]]
    expect_one_line
    expect_contains "$stderr" no-such
}

@test "PG* variables fill what the URL leaves out, and the URL comes first" {
    export PGHOST=$PG_ROOT/main PGPORT PGUSER=postgres PGDATABASE=$DATABASE
    PGPORT=$(cat "$PG_ROOT/main/port")
    LEASERUN_STORE='postgresql://'
    expect_run
    PGDATABASE=no_such_database
    LEASERUN_STORE="postgresql:///$DATABASE"
    expect_run
    LEASERUN_STORE='postgresql://'
    run --separate-stderr leaserun run "$KEY" -- true
    expect_status 69
    expect_contains "$stderr" no_such_database
}

shown_name() {
    pg_sql main "$DATABASE" "select application_name from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
}

@test "application_name is leaserun: and the key, unless the URL or PGAPPNAME names another" {
    KEY=plain-key
    start_holder
    expect_equal "$(shown_name)" "leaserun:$KEY"
    stop_started
    PGAPPNAME=mine start_holder
    expect_equal "$(shown_name)" mine
    stop_started
    LEASERUN_STORE="$STORE_URL&application_name=ours" start_holder
    expect_equal "$(shown_name)" ours
}

# ---- TLS -------------------------------------------------------------------------------------

@test "a server with TLS: sslmode=require and verify-full connect, a certificate of another name or maker does not" {
    certificates=$BATS_TEST_TMPDIR
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout "$certificates/key" -out "$certificates/crt" 2>/dev/null
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other \
        -keyout "$certificates/other.key" -out "$certificates/other.crt" 2>/dev/null
    _pg_make tls # and no second start: its port would be free meanwhile, for anyone
    install -m 600 "$certificates/key" "$certificates/crt" "$PG_ROOT/tls/data"
    _pg_own "$PG_ROOT/tls/data/key" "$PG_ROOT/tls/data/crt"
    sed -i 's/^host /hostssl /' "$PG_ROOT/tls/data/pg_hba.conf"
    own_server tls ssl=on ssl_cert_file=crt ssl_key_file=key
    (umask 077 && echo "*:*:*:postgres:$PG_PASSWORD" >"$BATS_TEST_TMPDIR/pass")
    export PGPASSFILE=$BATS_TEST_TMPDIR/pass
    port=$(cat "$PG_ROOT/tls/port")
    for url in "localhost:$port/app?sslmode=require" "127.0.0.1:$port/app?sslmode=require" \
        "localhost:$port/app?sslmode=verify-full&sslrootcert=$certificates/crt"; do
        LEASERUN_STORE="postgresql://postgres@$url"
        expect_run
    done
    start_holder
    expect_equal "$(pg_sql tls app "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid)
        where application_name like 'leaserun%'")" t
    kill "$PID"
    finish "$PID" 10
    expect_equal "$STATUS" 143
    for url in "127.0.0.1:$port/app?sslmode=verify-full&sslrootcert=$certificates/crt" \
        "localhost:$port/app?sslmode=verify-full&sslrootcert=$certificates/other.crt"; do
        run --separate-stderr env LEASERUN_STORE="postgresql://postgres@$url" "$LEASERUN" run --start-within 3s "$KEY" -- true
        [[ $status -eq 69 || $status -eq 78 ]]
        expect_one_line
        expect_contains "$stderr" certificate
    done
}

# ---- several hosts ---------------------------------------------------------------------------

# Accepts connections, as the kernel does, and says nothing; sets SILENT_PORT.
silent_host() {
    start python3 -c 'import signal, socket
host = socket.create_server(("127.0.0.1", 0))
print(host.getsockname()[1], flush=True)
signal.pause()'
    await 10 test -s "${OUTPUT[$PID]}.out"
    SILENT_PORT=$(started_stdout "$PID")
}

several() { # HOSTS PORTS [REST]
    LEASERUN_STORE="postgresql:///$DATABASE?user=postgres&host=$1&port=$2${3:-}"
}

@test "of several hosts the first refuses: the second serves, without a word" {
    closed=$(_pg_free_port)
    several "127.0.0.1,$PG_ROOT/main" "$closed,$(cat "$PG_ROOT/main/port")"
    before=$(now_ms)
    expect_run
    [ $(($(now_ms) - before)) -lt 3000 ]
}

@test "of several hosts the first is silent: the second serves within 4 s, and renewals do not suffer" {
    silent_host
    several "127.0.0.1,$PG_ROOT/main" "$SILENT_PORT,$(cat "$PG_ROOT/main/port")"
    before=$(now_ms)
    run --separate-stderr leaserun run --ttl 5s "$KEY" -- true
    expect_status 0
    [ $(($(now_ms) - before)) -lt 4500 ]
}

@test "of several hosts the first takes no writes: the second serves, with target_session_attrs and without" {
    own_server writable
    pg_start standing default_transaction_read_only=on
    SERVERS+=' standing'
    PGOPTIONS='-c default_transaction_read_only=off' pg_sql standing postgres 'create database app'
    DATABASE=app
    LEASERUN_STORE=$(pg_url standing app) PGOPTIONS='-c default_transaction_read_only=off' leaserun init
    for rest in '&target_session_attrs=read-write' ''; do
        several "$PG_ROOT/standing,$PG_ROOT/writable" "$(cat "$PG_ROOT/standing/port"),$(cat "$PG_ROOT/writable/port")" "$rest"
        run --separate-stderr leaserun run "$KEY" -- true
        expect_status 0
        expect_equal "$stderr" ''
        expect_equal "$(pg_sql writable app "select count(*) from leaserun.runs where outcome = 'succeeded'")" 1
        pg_sql writable app 'delete from leaserun.leases' 'delete from leaserun.runs'
    done
}

@test "of several hosts none can be used: 69 within --start-within, and why" {
    closed=$(_pg_free_port)
    silent_host
    several "127.0.0.1,127.0.0.1" "$closed,$SILENT_PORT"
    before=$(now_ms)
    run --separate-stderr leaserun run --start-within 4s "$KEY" -- true
    expect_status 69
    expect_one_line
    [ $(($(now_ms) - before)) -lt 6000 ]
}

@test "databases in SQL_ASCII and LATIN1: output of any bytes, a key they can hold, one they cannot" {
    for encoding in SQL_ASCII LATIN1; do
        database=in_${encoding,,}_$RANDOM
        pg_sql main postgres "create database $database encoding '$encoding' template template0 locale 'C'"
        LEASERUN_STORE=$(pg_url main "$database")
        leaserun init
        run -1 --separate-stderr leaserun run --output lines clé -- sh -c 'printf "a\0b\377"; exit 1'
        expect_contains "$(leaserun history --json clé)" '"outcome":"failed"'
        run -0 leaserun run clé -- true
    done
    run -69 --separate-stderr leaserun run k€ -- true
    expect_one_line
    expect_contains "$stderr" 22P05
}
