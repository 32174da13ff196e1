#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Many want one key: one runs, the others are told, and losing costs the store nothing.
# stores: postgresql sqlite

load ../lib/helpers

# The winner's command: runs until it is told that it is enough.
write_winner() {
    cat >"$BATS_TEST_TMPDIR/winner" <<-END
	#!/bin/sh
	echo start >>"$BATS_TEST_TMPDIR/starts"
	while [ ! -e "$BATS_TEST_TMPDIR/enough" ]; do sleep 0.05; done
	END
    chmod +x "$BATS_TEST_TMPDIR/winner"
}

# Ends the winner once nineteen have come to an end.
end_after_losers() {
    local ended=0 pid
    while [ "$ended" -lt 19 ]; do
        ended=0
        for pid in "$@"; do
            ! is_gone "$pid" || ended=$((ended + 1))
        done
        sleep 0.1
    done
    touch "$BATS_TEST_TMPDIR/enough"
}

# Twenty for one key; sets WON, LOST and OTHER.
twenty() {
    local pid pids=()
    write_winner
    for _ in {1..20}; do
        start "$LEASERUN" run "$KEY" -- "$BATS_TEST_TMPDIR/winner"
        pids+=("$PID")
    done
    end_after_losers "${pids[@]}" 3>&- &
    WON=0 LOST=0 OTHER=0
    for pid in "${pids[@]}"; do
        finish "$pid" 60
        case $STATUS in
        0) WON=$((WON + 1)) ;;
        75) LOST=$((LOST + 1)) ;;
        *)
            OTHER=$((OTHER + 1))
            echo "status $STATUS: $(started_stderr "$pid")" >&2
            ;;
        esac
    done
}

@test "P1 of twenty contenders one runs and nineteen are turned away" {
    twenty
    expect_equal "$WON $LOST $OTHER" "1 19 0"
    expect_equal "$(wc -l <"$BATS_TEST_TMPDIR/starts")" 1
}

@test "P1 twenty contenders with different keys all run" {
    local pid pids=()
    for i in {1..20}; do
        start "$LEASERUN" run "$KEY.$i" -- true
        pids+=("$PID")
    done
    for pid in "${pids[@]}"; do
        finish "$pid" 60
        expect_equal "$STATUS $(started_stderr "$pid")" "0 "
    done
}

@test "P1 P2 mandates that follow one another never overlap and their fences grow" {
    local pid pids=()
    for _ in {1..12}; do
        start "$LEASERUN" run --wait 60s "$KEY" -- "$TOOLS/stamp" "$BATS_TEST_TMPDIR/stamps" 60
        pids+=("$PID")
    done
    for pid in "${pids[@]}"; do
        finish "$pid" 80
        expect_equal "$STATUS $(started_stderr "$pid")" "0 "
    done
    expect_equal "$(no_overlaps "$BATS_TEST_TMPDIR/stamps")" "12 lives, no overlap"
}

@test "contention leaves no ERROR line in the server's log" {
    [ "$STORE_KIND" = postgresql ] || skip 'a file has no log'
    expect_equal "$(server_errors)" ''
}

@test "contention under serializable and repeatable read isolation surfaces no error" {
    [ "$STORE_KIND" = postgresql ] || skip 'a matter of PostgreSQL'
    for isolation in serializable 'repeatable read'; do
        fresh_key
        rm -f "$BATS_TEST_TMPDIR/starts" "$BATS_TEST_TMPDIR/enough"
        pg_sql main postgres \
            "alter database $DATABASE set default_transaction_isolation = '$isolation'"
        twenty
        pg_sql main postgres "alter database $DATABASE reset default_transaction_isolation"
        expect_equal "$WON $LOST $OTHER" "1 19 0"
        expect_equal "$(run_field "$KEY" outcome)" succeeded
    done
}

# A server of its own, so that nobody else's transactions are counted.
@test "losing costs the server no transaction id" {
    [ "$STORE_KIND" = postgresql ] || skip 'a matter of PostgreSQL'
    pg_start alone autovacuum=off
    pg_sql alone postgres 'create database app'
    LEASERUN_STORE=$(pg_url alone app)
    leaserun init
    start_holder
    before=$(pg_sql alone app 'select pg_snapshot_xmax(pg_current_snapshot())')
    for _ in 1 2 3 4 5; do
        run leaserun run "$KEY" -- true
        expect_status 75
    done
    after=$(pg_sql alone app 'select pg_snapshot_xmax(pg_current_snapshot())')
    stop_started
    pg_stop alone immediate
    expect_equal "$after" "$before"
}

@test "more contenders than the server has connections all end with an answer" {
    [ "$STORE_KIND" = postgresql ] || skip 'a matter of PostgreSQL'
    pg_start few max_connections=10
    pg_sql few postgres 'create database app'
    LEASERUN_STORE=$(pg_url few app)
    leaserun init
    twenty
    pg_stop few immediate
    expect_equal "$WON $LOST $OTHER" "1 19 0"
}
