#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# --wait: how soon the next one starts, directly and behind a pooler.
# stores: postgresql

load ../lib/helpers

sql() {
    pg_sql main "$DATABASE" "$@"
}

# From the end of the holder's command to the start of the waiter's, in ms; sets HANDOFF.
hand_over() { # OPTION...
    local stamps=$BATS_TEST_TMPDIR/stamps.$RANDOM
    start "$LEASERUN" run "$KEY" -- sh -c 'echo running; read -r _ <"$1"; date +%s%3N >>"$2"' sh "$GATE" "$stamps"
    local holder=$PID
    await 10 has_said "$holder" running
    start "$LEASERUN" run "$@" "$KEY" -- sh -c 'date +%s%3N >>"$1"' sh "$stamps"
    local waiter=$PID
    "${BEFORE[@]}"
    echo >"$GATE"
    finish "$holder" 10
    finish "$waiter" 10
    expect_equal "$STATUS" 0
    { read -r ended && read -r began; } <"$stamps"
    HANDOFF=$((began - ended))
}

setup() {
    fresh_key
    GATE=$BATS_TEST_TMPDIR/gate
    mkfifo "$GATE"
    BEFORE=(await 10 is_marked)
}

is_marked() {
    [ "$(sql "select waited from leaserun.leases where key = '$KEY'")" = t ]
}

@test "a waiter on a direct connection starts as soon as the key is released, and not at its next poll" {
    fastest=10000
    for _ in 1 2 3; do
        hand_over --wait 20s
        echo "# $HANDOFF ms"
        [ "$HANDOFF" -ge "$fastest" ] || fastest=$HANDOFF
    done
    [ "$fastest" -lt 300 ]
    is_marked && return 1
    expect_equal "$(server_errors)" ''
}

@test "of three waiters one after the other starts soon" {
    start_holder
    holder=$PID
    waiters=()
    for _ in 1 2 3; do
        start "$LEASERUN" run --wait 30s "$KEY" -- true
        waiters+=("$PID")
    done
    await 10 is_marked
    kill -TERM "$holder"
    for pid in "${waiters[@]}"; do
        finish "$pid" 5
        expect_equal "$STATUS" 0
    done
}

@test "behind PgBouncer a waiter polls alone: no mark, nothing listens, and it starts within its second" {
    bouncer_start
    BEFORE=(sleep 1.5)
    hand_over --wait 20s
    echo "# $HANDOFF ms"
    [ "$HANDOFF" -lt 2000 ]
    # The pool's one session, which others get, listens to nothing.
    expect_equal "$(psql -X -q -A -t -d "$LEASERUN_STORE" -c 'select count(*) from pg_listening_channels()')" 0
    expect_equal "$(sql 'select bool_or(waited) from leaserun.leases')" f
}

@test "the key is given back by the guard of a run that was killed: the waiter starts soon" {
    start_holder
    holder=$PID
    start "$LEASERUN" run --wait 30s "$KEY" -- true
    waiter=$PID
    await 10 is_marked
    before=$(now_ms)
    kill -KILL "$holder"
    finish "$waiter" 10
    expect_equal "$STATUS" 0
    [ $(($(now_ms) - before)) -lt 2000 ]
}
