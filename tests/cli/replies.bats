#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P5, the bad days of messages: several lost in one run, late ones under the next holder, and
# processes that are killed while a message is under way. (One message at a time: messages.bats.)
# stores: postgresql

load ../lib/helpers
load ../lib/faults

# What tells the statements apart (no blanks: patterns are words to the proxy).
CLAIM=won.AS
RENEW=renewed.AS
RELEASE=written.AS
FREE=false.AS.is_recorded

setup() {
    fresh_key
    proxy_start
    STAMPS=$BATS_TEST_TMPDIR/stamps
    STARTS=$BATS_TEST_TMPDIR/starts
    # ttl 12 s: an attempt is given up after 1 s, renewals come every 2.5 s.
    OPTIONS=(--ttl 12s --grace 1s)
}

sql() { # SQL, in this file's database
    pg_sql main "$DATABASE" "$@"
}

rows() { # of KEY, in both tables, whole
    sql "select leases from leaserun.leases where key = '$KEY'" \
        "select runs from leaserun.runs where key = '$KEY' order by run_id"
}

# The row, but for what a renewal moves.
mandate() {
    sql "select holder, run_id, fence, attempt, acquired_at, released, revoked
        from leaserun.leases where key = '$KEY'"
}

# What is left of an undone claim is no run; it has no beginning.
outcomes() { # oldest first
    sql "select string_agg(coalesce(outcome, 'unfinished'), ' ' order by started_at)
        from leaserun.runs where key = '$KEY' and started_at is not null"
}

through_proxy() { # OPTION... KEY -- COMMAND...
    start env LEASERUN_STORE="$PROXY_URL" "$LEASERUN" run "${OPTIONS[@]}" "$@"
}

noted() { # COMMAND: noted in STARTS first, with its fence
    printf 'echo $LEASERUN_FENCE >>"%s"; %s' "$STARTS" "$1"
}

# Noted too; says so, and goes on when it is told to, however long the test's own steps take.
noted_until_told() { # [COMMAND]
    noted "echo running; until [ -e '$BATS_TEST_TMPDIR/told' ]; do sleep 0.05; done; ${1:-}"
}

# The command ran once, under the fence that stands in both tables.
started_once() {
    expect_equal "$(sort -u "$STARTS")" "$(cat "$STARTS")"
    expect_equal "$(sql "select runs.fence || ' ' || leases.fence from leaserun.runs
        join leaserun.leases using (key) where key = '$KEY' and started_at is not null")" "$(cat "$STARTS") $(cat "$STARTS")"
}

@test "P5 two replies to the claim, one to a renewal and one to the release are lost: one run, its status" {
    for pattern in $CLAIM $CLAIM $RENEW $RELEASE; do
        proxy lose-reply $pattern
    done
    through_proxy "$KEY" -- sh -c "$(noted 'sleep 3.2; exit 3')"
    finish "$PID" 20
    expect_equal "$STATUS" 3
    started_once
    expect_equal "$(outcomes) $(lease_field "$KEY" state)" "failed released"
    [ "$(proxy count $CLAIM)" -ge 3 ]
    [ "$(proxy count $RELEASE)" -ge 2 ]
}

@test "P5 a claim is given up, won by a second one, and arrives late: during the run and after it" {
    proxy remember $CLAIM
    proxy hold-request $CLAIM
    through_proxy "$KEY" -- sh -c "$(noted_until_told 'exit 4')"
    await 15 has_said "$PID" running
    before=$(mandate)
    proxy go
    proxy replay
    expect_equal "$(mandate)" "$before"
    touch "$BATS_TEST_TMPDIR/told"
    finish "$PID" 15
    expect_equal "$STATUS" 4
    before=$(rows)
    proxy replay
    expect_equal "$(rows)" "$before"
    started_once
    expect_equal "$(outcomes) $(lease_field "$KEY" state)" "failed released"
}

# The backend that got the claim stands still, and goes on when its client has long won by another.
@test "P5 a claim is executed by a stalled backend when its run goes on: the run is not disturbed" {
    proxy hold-request $CLAIM
    through_proxy "$KEY" -- sh -c "$(noted_until_told)"
    proxy await-fired 1 10
    stalled=$(sql "select pid from pg_stat_activity where datname = current_database()
        and application_name like 'leaserun%'")
    freeze $stalled
    proxy go
    await 15 has_said "$PID" running
    before=$(mandate)
    kill -CONT $stalled
    await 10 is_gone $stalled
    expect_equal "$(mandate)" "$before"
    touch "$BATS_TEST_TMPDIR/told"
    finish "$PID" 15
    expect_equal "$STATUS" 0
    started_once
    expect_equal "$(outcomes) $(lease_field "$KEY" state)" "succeeded released"
}

@test "P5 a claim is executed by a stalled backend when its leaserun has gone: the key is free, no run is left" {
    proxy hold-request $CLAIM
    proxy lose-request $CLAIM always
    through_proxy --start-within 2s "$KEY" -- sh -c "$(noted true)"
    proxy await-fired 1 10
    stalled=$(sql "select pid from pg_stat_activity where datname = current_database()
        and application_name like 'leaserun%'")
    freeze $stalled
    proxy go
    finish "$PID" 15
    expect_equal "$STATUS $(count_events "$PID" claim_failed)" "69 1"
    kill -CONT $stalled
    await 10 is_gone $stalled
    [ ! -e "$STARTS" ]
    run --separate-stderr leaserun run "$KEY" -- true
    expect_status 0
    expect_equal "$stderr $(outcomes)" " succeeded"
}

@test "P3 P5 the replies to a slot's claim are lost until its leaserun gives up: another host starts the slot" {
    proxy lose-reply $CLAIM always
    through_proxy --once-per hour --start-within 2s "$KEY" -- sh -c "$(noted true)"
    finish "$PID" 15
    expect_equal "$STATUS" 69
    [ "$(proxy count $CLAIM)" -ge 2 ]
    expect_equal "$(lease_field "$KEY" state)" released
    run --separate-stderr leaserun run --once-per hour "$KEY" -- sh -c "$(noted true)"
    expect_status 0
    started_once
}

@test "P3 P5 TERM comes while the reply to a slot's claim is under way: another host starts the slot" {
    proxy hold-reply $CLAIM
    through_proxy --once-per hour "$KEY" -- sh -c "$(noted true)"
    proxy await-fired 1 10
    before=$(now_ms)
    kill -TERM "$PID"
    finish "$PID" 10
    ms=$(($(now_ms) - before))
    expect_equal "$STATUS" 143
    expect_within "$ms" 0 2000 # a second, and one for a machine that is busy
    await 5 eval '[ "$(lease_field "$KEY" state)" = released ]'
    run --separate-stderr leaserun run --once-per hour "$KEY" -- sh -c "$(noted true)"
    expect_status 0
    started_once
}

@test "P7 P5 leaserun is killed while the reply to its claim is under way: its guard gives the key back" {
    proxy hold-reply $CLAIM
    through_proxy --ttl 60s "$KEY" -- sh -c "$(noted true)"
    proxy await-fired 1 10
    expect_equal "$(lease_field "$KEY" state)" held
    kill -KILL "$PID"
    await 10 eval '[ "$(lease_field "$KEY" state)" = released ]'
    proxy go
    run --separate-stderr leaserun run "$KEY" -- sh -c "$(noted true)"
    expect_status 0
    expect_equal "$(wc -l <"$STARTS")" 1
}

@test "P7 P5 leaserun is killed while its release is under way: what arrived first stands" {
    # Arrived, unanswered: the outcome is recorded, the guard's release finds nothing to do.
    proxy hold-reply $RELEASE
    through_proxy --ttl 60s "$KEY" -- sh -c "$(noted 'exit 5')"
    proxy await-fired 1 10
    before=$(rows)
    kill -KILL "$PID"
    proxy await $FREE 1 10
    proxy go
    expect_equal "$(rows)" "$before"
    expect_equal "$(outcomes)" failed

    # Not arrived: the guard's release is first, the next winner tells; the late one changes nothing.
    KEY=$KEY.2
    proxy hold-request $RELEASE
    through_proxy --ttl 60s "$KEY" -- sh -c "$(noted 'exit 5')"
    proxy await-fired 2 10
    kill -KILL "$PID"
    await 10 eval '[ "$(lease_field "$KEY" state)" = released ]'
    run --separate-stderr leaserun run "$KEY" -- true
    expect_status 0
    expect_contains "$stderr" event=run_abandoned
    before=$(rows)
    proxy go
    await 10 eval '[ "$(proxy connections)" = 0 ]'
    expect_equal "$(rows)" "$before"
    expect_equal "$(outcomes)" "abandoned succeeded"
}

@test "P5 P6 a renewal and a release stay under way until another holds the key: its row is untouched" {
    through_proxy --ttl 5s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0
    first=$PID
    await 10 test -s "$STAMPS"
    proxy hold-request . always
    LEASERUN_STORE=$STORE_URL start "$LEASERUN" run --wait 30s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 0
    second=$PID
    finish "$first" 20
    expect_equal "$STATUS" 76
    await 10 has_lives "$STAMPS" 2
    before=$(rows)
    proxy clear
    await 10 eval '[ "$(proxy connections)" = 0 ]'
    expect_equal "$(rows)" "$before"
    kill -TERM "$second"
    finish "$second" 10
    expect_equal "$(no_overlaps "$STAMPS")" "2 lives, no overlap"
    expect_equal "$(outcomes)" "abandoned stopped"
}

@test "P5 every message of a run is repeated under the next holder, in order and reversed: nothing changes" {
    proxy remember . always
    through_proxy "$KEY" -- sh -c "$(noted 'sleep 3')"
    finish "$PID" 15
    expect_equal "$STATUS" 0
    # A claim that was taken back, a key that a dead leaserun's guard freed.
    through_proxy "$KEY" -- sh -c "$(noted 'sleep 600')"
    await 10 eval '[ "$(wc -l <"$STARTS")" = 2 ]'
    kill -KILL "$PID"
    proxy await $FREE 1 10
    await 10 eval '[ "$(proxy connections)" = 0 ]'
    LEASERUN_STORE=$STORE_URL start_holder --ttl 60s
    before=$(rows)
    proxy replay >"$BATS_TEST_TMPDIR/replayed"
    proxy replay reversed >>"$BATS_TEST_TMPDIR/replayed"
    expect_equal "$(rows)" "$before"
    [ "$(grep -ao SELECT "$BATS_TEST_TMPDIR/replayed" | wc -l)" -ge 10 ]
    kill -TERM "$PID"
    finish "$PID" 10
    before=$(rows)
    proxy replay >/dev/null
    proxy replay reversed >/dev/null
    expect_equal "$(rows)" "$before"
    expect_equal "$(outcomes) $(lease_field "$KEY" state)" "succeeded abandoned stopped released"
}

@test "P5 no late or repeated message failed at the server" {
    expect_equal "$(server_errors | grep -v 'FATAL:  connection to client lost$')" ''
}
