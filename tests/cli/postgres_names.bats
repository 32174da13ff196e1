#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# The search path decides nothing: all statements are read, and hostile objects come first.
# stores: postgresql

load ../lib/helpers

setup() {
    fresh_key
}

teardown() {
    stop_started
    [ -z "${SERVER:-}" ] || pg_stop "$SERVER" immediate
}

qualified() {
    python3 "$TESTS/lib/qualified.py" "$@"
}

@test "whoever reads the statements finds a name or operator without its schema" {
    run -0 qualified --self-test
}

@test "what init creates, its functions' bodies and its grants: every name and operator is qualified" {
    leaserun init --print-sql --schema 'an other' | sed 's/^-- GRANT/GRANT/' >"$BATS_TEST_TMPDIR/init.sql"
    run -0 qualified "$BATS_TEST_TMPDIR/init.sql"
    echo "# $output"
}

# Each of these parts stands in a statement of its own.
seen_all() { # LOG
    local part missing=
    while read -r part; do
        grep -qF -- "$part" "$1" || missing+="$part; "
    done <<-'END'
	pg_control_system
	current_schemas(
	oldest_reader
	has_table_privilege(
	previous_run_id
	SKIP LOCKED), renewed
	is_recorded
	array_position(
	undone AS (INSERT
	run_locked AS
	kept_out AS
	SET revoked = true
	is_stop
	on_hold
	abandoned_by
	leases_gone
	runs_gone
	backend_pid
	is_marked
	LISTEN leaserun
	pg_get_userbyid
	highest_fence
	CREATE FUNCTION
	END
    expect_equal "$missing" ''
}

@test "all statements of the contract suite and of every command: every name and operator is qualified" {
    SERVER=names_$RANDOM
    pg_start "$SERVER" log_statement=all
    pg_sql "$SERVER" postgres 'create database app'
    export LEASERUN_STORE LEASERUN_TEST_STORE=postgresql LEASERUN_TEST_PG
    LEASERUN_STORE=$(pg_url "$SERVER" app)
    LEASERUN_TEST_PG=$LEASERUN_STORE
    for program in "$BUILD"/tests/store/contract-* "$BUILD"/tests/store/test-pg_{wait,leases,batches}; do
        [ ! -f "$program" ] || [ ! -x "$program" ] || "$program" >"$BATS_TEST_TMPDIR/out" 2>&1 || {
            cat "$BATS_TEST_TMPDIR/out"
            return 1
        }
    done
    leaserun init
    start_holder --ttl 5s
    sleep 1.2 # the cluster is asked for its identity
    run -75 leaserun run "$KEY" -- true
    run -0 leaserun release --stop "$KEY"
    stop_started
    run -0 leaserun run --once-per hour "$KEY.2" -- true
    run leaserun status --schema search-path
    run -0 leaserun history
    run -0 leaserun purge
    run -0 leaserun purge --forget "$KEY"
    run -0 leaserun check --connect
    seen_all "$(pg_log "$SERVER")"
    run qualified --log "$(pg_log "$SERVER")"
    echo "# $output"
    expect_status 0
}

@test "a schema of the role's own name, first on the default search path, changes nothing" {
    fresh_database
    ROLE=trapped_$$_$RANDOM
    pg_sql main "$DATABASE" "create role $ROLE superuser login" "alter role $ROLE set search_path = \"\$user\", pg_catalog, public"
    set_trap "$ROLE" "$DATABASE"
    LEASERUN_STORE=$(pg_url main "$DATABASE" | sed "s/user=postgres/user=$ROLE/")
    expect_equal "$(psql -X -A -t -d "$LEASERUN_STORE" -c "select 1::pg_catalog.int8 = 1::pg_catalog.int8")" f
    start_holder --ttl 5s
    start "$LEASERUN" run --wait 20s "$KEY" -- sh -c 'echo "$LEASERUN_FENCE"'
    waiter=$PID
    await 10 eval '[ "$(pg_sql main "$DATABASE" "select waited from leaserun.leases")" = t ]'
    run -0 leaserun release --stop "$KEY"
    finish "$waiter" 10
    expect_equal "$STATUS" 0
    fence=$(started_stdout "$waiter")
    require() {
        psql -X -q -A -t -d "$LEASERUN_STORE" -v key="$KEY" -v fence="$1" <<<"select leaserun.require_fence_v1(:'key'::pg_catalog.text, :fence::pg_catalog.int8)"
    }
    run -0 --separate-stderr require "$fence"
    run --separate-stderr require $((fence - 1))
    expect_contains "$stderr" 'is over'
    run --separate-stderr require $((fence + 1))
    expect_contains "$stderr" 'was never given'
    run -0 psql -X -q -A -t -d "$LEASERUN_STORE" -c "select leaserun.next_seq_v1('run'::pg_catalog.text)"
    expect_equal "$output" 1
    run -0 leaserun check --connect
    run -0 leaserun purge
    expect_equal "$(pg_sql main "$DATABASE" "select (select count(*) from $ROLE.leases) + (select count(*) from $ROLE.runs) + (select count(*) from $ROLE.fences)")" 0
    pg_sql main postgres "drop database $DATABASE with (force)" "drop role $ROLE"
}
