#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# The contract suite where the defaults of isolation are others, and behind a pooler.
# stores: postgresql

load ../lib/helpers

setup() {
    fresh_key
}

teardown() {
    stop_started
    [ -z "${SERVER:-}" ] || pg_stop "$SERVER" immediate
}

# All programs of the suite at once, or one after the other, against the database of LEASERUN_STORE.
contract() { # together | in_turn
    local program pids=() outputs=() failed=0
    export LEASERUN_TEST_STORE=postgresql LEASERUN_TEST_PG=$LEASERUN_STORE
    for program in "$BUILD"/tests/store/contract-*; do
        [ -f "$program" ] && [ -x "$program" ] || continue
        outputs+=("$BATS_TEST_TMPDIR/${program##*/}")
        "$program" >"${outputs[-1]}" 2>&1 3>&- &
        pids+=($!)
        [ "$1" = together ] || wait $! || failed=1
    done
    for program in "${pids[@]}"; do
        wait "$program" || failed=1
    done
    [ "${#pids[@]}" -ge 7 ]
    [ "$failed" -eq 0 ] || {
        grep -h -B 3 -E '^not ok|\[  (ERROR|FAILED)' "${outputs[@]}"
        return 1
    }
}

own_server() { # [SETTING...]
    SERVER=contract_$RANDOM
    pg_start "$SERVER" "$@"
    pg_sql "$SERVER" postgres 'create database app' 'create role plain superuser login'
    LEASERUN_STORE=$(pg_url "$SERVER" app | sed 's/user=postgres/user=plain/')
}

expect_isolation() { # LEVEL
    expect_equal "$(psql -X -q -A -t -d "$LEASERUN_STORE" -c 'show transaction_isolation')" "$1"
}

@test "the contract suite at read committed, repeatable read and serializable, as the server's default" {
    own_server
    for level in 'read committed' 'repeatable read' serializable; do
        pg_sql "$SERVER" postgres "alter system set default_transaction_isolation = '$level'" 'select pg_reload_conf()'
        await 5 expect_isolation "$level"
        contract together
    done
}

@test "the contract suite at read committed, repeatable read and serializable, as the database's and the role's default" {
    own_server default_transaction_isolation=serializable
    for object in 'database app' 'role plain'; do
        for level in 'repeatable read' 'read committed' serializable; do
            pg_sql "$SERVER" postgres "alter $object set default_transaction_isolation = '$level'"
            expect_isolation "$level"
            contract together
        done
    done
}

@test "the contract suite through PgBouncer in transaction mode with one connection" {
    bouncer_start
    contract in_turn
    # The one connection is the one that they all had.
    expect_equal "$(psql -X -q -A -t -d "$LEASERUN_STORE" -c 'select count(*) from pg_prepared_statements')" 0
}

@test "a claim that met a locked row until its time was over tells both: the limit and the last fault" {
    leaserun run "$KEY" -- true
    for level in 'read committed' 'repeatable read' serializable; do
        start psql -X -q -d "$STORE_URL" -c 'begin' \
            -c "select 1 from leaserun.leases where key = '$KEY' for update" -c '\! echo locked' -c 'select pg_sleep(60)'
        locker=$PID
        await 10 has_said "$locker" locked
        PGOPTIONS="-c default_transaction_isolation=${level// /\\ }" run --separate-stderr leaserun run --start-within 2s "$KEY" -- true
        kill "$locker"
        expect_status 69
        expect_one_line
        echo "# $level: $stderr"
        expect_contains "$stderr" 'no lease within 2s: '
        expect_contains "$stderr" 'SQLSTATE 55P03'
        pg_sql main "$DATABASE" "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
            and query like '%pg_sleep(60)%' and pid <> pg_backend_pid()"
    done
}
