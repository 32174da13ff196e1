#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# What is missing or wrong is told in one line that a person can act on, with a status of its own,
# and a password is never repeated.
# stores: postgresql

load ../lib/helpers

PASSWORD='s3cret-Pa55word'

setup() {
    fresh_key
    host=127.0.0.1:$(cat "$PG_ROOT/main/port")
}

attempt() { # URL [OPTION...]
    local url=$1
    shift
    run --separate-stderr env LEASERUN_STORE="$url" "$LEASERUN" run "$@" "$KEY" -- \
        touch "$BATS_TEST_TMPDIR/ran"
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    [[ $output$stderr != *"$PASSWORD"* ]]
}

make_role() { # NAME
    pg_sql main postgres "drop role if exists $1" "create role $1 login password '$PASSWORD'"
}

@test "no store at all: 78, and the ways to name one" {
    run --separate-stderr env -u LEASERUN_STORE HOME=/nonexistent "$LEASERUN" run "$KEY" -- true
    expect_status 78
    expect_one_line
    for way in --store --local LEASERUN_STORE LEASERUN_STORE_FILE url; do
        expect_contains "$stderr" "$way"
    done
}

@test "a store of an unknown kind: one line that names what there is" {
    attempt mysql://db/app
    [[ $status -eq 64 || $status -eq 78 ]]
    expect_one_line
    expect_contains "$stderr" postgresql
    expect_contains "$stderr" sqlite
}

@test "a password in --store is refused before it is used: 64" {
    for url in "postgresql://u:$PASSWORD@$host/app" "host=/x password=$PASSWORD" \
        "postgresql:///app?user=u&password=$PASSWORD"; do
        run --separate-stderr leaserun run --store "$url" "$KEY" -- true
        expect_status 64
        expect_one_line
        [[ $stderr != *"$PASSWORD"* ]]
        expect_contains "$stderr" LEASERUN_STORE_FILE
    done
}

@test "a host that refuses the connection: 69 within --start-within, with host and reason" {
    closed=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
    before=$(now_ms)
    attempt "postgresql://u@127.0.0.1:$closed/app" --start-within 2s
    expect_status 69
    expect_one_line
    expect_contains "$stderr" 127.0.0.1
    expect_contains "$stderr" refused
    [ $(($(now_ms) - before)) -lt 5000 ]
}

@test "a host name that does not exist: 69 with the name" {
    attempt 'postgresql://u@no-such-host.invalid/app' --start-within 2s
    expect_status 69
    expect_one_line
    expect_contains "$stderr" no-such-host.invalid
}

@test "a server that accepts and says nothing: 69 in time" {
    proxy_start
    proxy blackhole on
    before=$(now_ms)
    attempt "$PROXY_URL" --start-within 2s
    expect_status 69
    expect_one_line
    [ $(($(now_ms) - before)) -lt 6000 ]
}

@test "a wrong password: 69 at once, with the server's words and without the password" {
    make_role wrong_password
    before=$(now_ms)
    attempt "postgresql://wrong_password:not-$PASSWORD@$host/$DATABASE"
    expect_status 69
    expect_one_line
    expect_contains "$stderr" 'password authentication failed'
    [ $(($(now_ms) - before)) -lt 3000 ]
}

@test "a missing database: 69 at once, with its name" {
    attempt "$(pg_url main no_such_database)"
    expect_status 69
    expect_one_line
    expect_contains "$stderr" no_such_database
}

@test "a missing schema: 78 at once, with its name and the command that makes it" {
    pg_sql main postgres 'create database empty_one'
    attempt "$(pg_url main empty_one)"
    expect_status 78
    expect_one_line
    expect_contains "$stderr" 'leaserun init'
    expect_contains "$stderr" 'the schema'
    pg_sql main postgres 'drop database empty_one'
}

@test "missing rights on the tables: one line with SQLSTATE and what to grant" {
    make_role no_rights
    attempt "postgresql://no_rights:$PASSWORD@$host/$DATABASE"
    [[ $status -eq 69 || $status -eq 78 ]]
    expect_one_line
    expect_contains "$stderr" 42501
    expect_contains "$stderr" 'permission denied'
}

@test "a read-only server: 69 within --start-within, and it says so" {
    pg_sql main postgres "create database read_only template leaserun_template" \
        "alter database read_only set default_transaction_read_only = on"
    attempt "$(pg_url main read_only)" --start-within 2s
    expect_status 69
    expect_one_line
    expect_contains "$stderr" 25006
    pg_sql main postgres 'drop database read_only'
}

@test "the store's address may stand in a file, which keeps the password out of sight" {
    make_role in_a_file
    pg_sql main "$DATABASE" 'grant usage on schema leaserun to in_a_file' \
        'grant all on all tables in schema leaserun to in_a_file' \
        'grant all on all sequences in schema leaserun to in_a_file'
    (umask 077 && echo "postgresql://in_a_file:$PASSWORD@$host/$DATABASE" >"$BATS_TEST_TMPDIR/url")
    unset LEASERUN_STORE
    export LEASERUN_STORE_FILE="$BATS_TEST_TMPDIR/url"
    run --separate-stderr leaserun run "$KEY" -- sh -c 'echo ran; cat /proc/*/cmdline 2>/dev/null; env' 
    expect_status 0
    expect_contains "$output" ran
    [[ ${output//$'\0'/ } != *"$PASSWORD"* ]]
    for command in status history check; do
        run leaserun $command
        [[ $output != *"$PASSWORD"* ]]
    done
}

@test "a file with the store's address that is missing or empty: 78 with its path" {
    unset LEASERUN_STORE
    export LEASERUN_STORE_FILE="$BATS_TEST_TMPDIR/nowhere"
    run --separate-stderr leaserun run "$KEY" -- true
    expect_status 78
    expect_one_line
    expect_contains "$stderr" "$BATS_TEST_TMPDIR/nowhere"
    : >"$BATS_TEST_TMPDIR/nowhere"
    run --separate-stderr leaserun run "$KEY" -- true
    expect_status 78
    expect_contains "$stderr" "$BATS_TEST_TMPDIR/nowhere"
}

@test "--store is stronger than LEASERUN_STORE, and that than a file" {
    export LEASERUN_STORE=mysql://wrong/one LEASERUN_STORE_FILE=/nonexistent
    run leaserun run --store "sqlite:$BATS_TEST_TMPDIR/a.db" "$KEY" -- true
    expect_status 0
    LEASERUN_STORE=sqlite:$BATS_TEST_TMPDIR/b.db run leaserun run "$KEY" -- true
    expect_status 0
    [ -e "$BATS_TEST_TMPDIR/a.db" ]
    [ -e "$BATS_TEST_TMPDIR/b.db" ]
}

@test "init makes the schema once, says so, and is content with one that is there" {
    pg_sql main postgres 'create database brand_new'
    url=$(pg_url main brand_new)
    run --separate-stderr leaserun init --store "$url"
    expect_status 0
    expect_equal "$stderr" ''
    run --separate-stderr leaserun init --store "$url"
    expect_status 0
    expect_equal "$stderr" ''
    run leaserun run --store "$url" "$KEY" -- true
    expect_status 0
    pg_sql main postgres 'drop database brand_new'
}

@test "eight at once may init one database" {
    pg_sql main postgres 'create database by_eight'
    url=$(pg_url main by_eight)
    pids=()
    for _ in {1..8}; do
        start "$LEASERUN" init --store "$url"
        pids+=("$PID")
    done
    for pid in "${pids[@]}"; do
        finish "$pid" 20
        expect_equal "$STATUS $(started_stderr "$pid")" "0 "
    done
    pg_sql main postgres 'drop database by_eight'
}

@test "a schema of another name works the same" {
    pg_sql main postgres 'create database other_schema'
    url=$(pg_url main other_schema)
    cat >"$BATS_TEST_TMPDIR/leaserun.ini" <<-END
	[store]
	url = $url
	schema = Other "Name"
	END
    unset LEASERUN_STORE
    run --separate-stderr leaserun init --config "$BATS_TEST_TMPDIR/leaserun.ini"
    expect_status 0
    run --separate-stderr leaserun run --config "$BATS_TEST_TMPDIR/leaserun.ini" "$KEY" -- true
    expect_status 0
    expect_equal "$(pg_sql main other_schema "select count(*) from \"Other \"\"Name\"\"\".leases")" 1
    pg_sql main postgres 'drop database other_schema'
}

@test "a search_path of others changes nothing" {
    pg_sql main "$DATABASE" 'create schema trap' 'create table trap.leases (key text)' \
        'create table trap.runs (key text)' \
        'create function trap.clock_timestamp() returns timestamptz language sql as $$select null::timestamptz$$' \
        "alter role postgres in database $DATABASE set search_path = trap, leaserun"
    run leaserun run "$KEY" -- true
    pg_sql main "$DATABASE" "alter role postgres in database $DATABASE reset search_path"
    expect_status 0
    expect_equal "$(pg_sql main "$DATABASE" 'select count(*) from trap.leases')" 0
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "synchronous_commit off for the role is raised for our statements" {
    pg_sql main postgres "alter database $DATABASE set synchronous_commit = off"
    run --separate-stderr leaserun run "$KEY" -- true
    pg_sql main postgres "alter database $DATABASE reset synchronous_commit"
    expect_status 0
    expect_equal "$stderr" ''
}

@test "what was logged at the server holds no password" {
    run grep -F "$PASSWORD" "$(pg_log main)"
    expect_status 1
}
