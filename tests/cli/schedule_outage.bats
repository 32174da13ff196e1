#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# leaserun schedule while the store is away: what is said, what starts when it is back, and claims
# whose answer comes late.
# stores: postgresql

load ../lib/helpers
load ../lib/scheduler

# A server of its own for each test, which may be stopped.
own_server() {
    SERVER=away$BATS_TEST_NUMBER
    pg_start "$SERVER"
    pg_sql "$SERVER" postgres 'create database app'
    LEASERUN_STORE=$(pg_url "$SERVER" app)
    leaserun init >/dev/null
}

teardown() {
    stop_started
    if [ -n "${SERVER:-}" ]; then
        pg_stop "$SERVER" immediate
        rm -rf "${PG_ROOT:?}/$SERVER"
    fi
}

# A calendar schedule with one slot a day, so many seconds from now.
daily_in() { # SECONDS
    date -u -d "+$1 seconds" +'%S %M %H * * *'
}

# The levels of a job's lines of an event in one replica's log, in order.
levels_of() { # PID EVENT JOB
    told "$1" "event=$2 job=$3 " | grep -o 'level=[a-z]*' | cut -d = -f 2 | xargs
}

@test "P4 P11 down for three slots: WARN, WARN, ERROR, a cron job ERROR each time, told once as lost and restored; what waits starts within 2 s of the return" {
    own_server
    until_phase 0 2000
    table <<END
[job tick]
schedule = every 2s
command = $NOTE

[job cron]
schedule = */2 * * * * *
timezone = UTC
command = $NOTE

[job daily]
schedule = $(daily_in 5)
timezone = UTC
command = $NOTE
END
    replica
    first=$PID
    replica
    await 5 has_started 1 tick
    until_phase 1500 2000
    pg_stop "$SERVER"
    await 10 all_told 2 'event=claim_failed job=tick .*streak=3 '
    await 10 all_told 6 'level=error event=claim_failed job=cron '
    await 10 all_told 2 'event=claim_failed job=daily '
    ! has_started 1 daily
    until_phase 500 2000
    pg_start "$SERVER"
    await 2 has_started 1 daily
    await 5 told "$first" 'event=store_restored '
    await 5 told "$PID" 'event=store_restored '
    for pid in "${REPLICAS[@]}"; do
        expect_equal "$(count_told 'level=warn event=store_lost ' "$pid") $(count_told 'level=info event=store_restored ' "$pid")" '1 1'
        # Each slot that the outage touches counts, also the last, which may start in the end.
        [[ $(levels_of "$pid" claim_failed tick) =~ ^warn\ warn\ error(\ error)*$ ]]
        [[ $(levels_of "$pid" claim_failed cron) =~ ^error\ error\ error(\ error)*$ ]]
        expect_equal "$(levels_of "$pid" claim_failed daily)" error
        # One slot, one line: each has another slot.
        expect_equal "$(told "$pid" event=claim_failed | grep -oE 'job=[a-z]+ .*slot=[^ ]+' | sort | uniq -d)" ''
    done
    stop_replicas
    expect_equal "$(sort "$STARTS" | uniq -d)" ''
    expect_equal "$(grep -c ^daily "$STARTS")" 1
    # Every slot has its one outcome; those that nobody could start are missed.
    expect_equal "$(leaserun history --slots --json cron "$TABLE" | json_field slot | sort | uniq -d)" ''
    # A missed slot is told by one replica.
    expect_equal "$(count_told 'level=error event=slot_missed job=cron')" \
        "$(leaserun history --slots --json cron "$TABLE" | json_field outcome | grep -c missed)"
    # Of a slot of a job that comes again at once a replica says no more than that it failed.
    for pid in "${REPLICAS[@]}"; do
        expect_equal "$(told "$pid" 'level=(warn|error) .*job=tick' | grep -oE 'slot=[^ ]+' | sort | uniq -d)" ''
    done
}

@test "P11 the store is down when it starts: it is ready, says so, and begins with the store" {
    own_server
    pg_stop "$SERVER"
    table <<END
[job tick]
schedule = every 1s
command = $NOTE

[job once]
schedule = @once
command = $NOTE
END
    replica
    await 5 told "$PID" 'level=error event=claim_failed job=once '
    await 5 told "$PID" 'event=claim_failed job=tick .*streak=3 '
    pg_start "$SERVER"
    await 3 has_started 1 tick
    await 3 has_started 1 once
    stop_replica "$PID"
    expect_equal "$(count_told 'event=store_lost ') $(count_told 'event=store_restored ')" '1 1'
    expect_equal "$(grep -c ^once "$STARTS")" 1
}

@test "P11 an outage in which a command ends: it is told, and its outcome is recorded when the store is back" {
    own_server
    table <<END
[job once]
schedule = @once
ttl = 12s
command = echo begun >>"\$STARTS"; until [ -e "\$STARTS.end" ]; do sleep 0.05; done; echo ended >>"\$STARTS"
END
    replica
    await 5 has_started 1 begun
    pg_stop "$SERVER"
    touch "$STARTS.end"
    await 3 has_started 1 ended
    sleep 1
    pg_start "$SERVER"
    await 3 told "$PID" 'event=run_finished job=once .* outcome=succeeded'
    stop_replica "$PID"
    expect_equal "$(leaserun history --json once | json_field outcome)" succeeded
    expect_equal "$(count_told 'level=error')" 0
}

@test "P11 packets vanish without a word: slots are told, and start when they come through again" {
    proxy_start
    table <<END
[job tick]
schedule = every 3s
ttl = 12s
command = $NOTE

[job daily]
schedule = $(daily_in 5)
timezone = UTC
ttl = 12s
command = $NOTE
END
    LEASERUN_STORE=$PROXY_URL replica
    await 5 has_started 1 tick
    proxy blackhole on
    await 15 told "$PID" 'level=warn event=claim_failed job=tick .*streak=1 '
    await 15 told "$PID" 'level=error event=claim_failed job=daily '
    proxy blackhole off
    before=$(now_ms)
    await 20 has_started 1 daily # a connection of that time is given up first
    echo "after $(($(now_ms) - before)) ms"
    await 15 told "$PID" 'event=store_restored '
    stop_replica "$PID"
    expect_equal "$(count_told 'event=store_lost ') $(count_told 'event=store_restored ')" '1 1'
    expect_equal "$(sort "$STARTS" | uniq -d)" ''
}

@test "P8 one row is locked by someone: the others go on, and its slot starts when it is free" {
    table <<END
[job locked]
schedule = every 3s
command = $NOTE

[job free]
schedule = every 1s
command = $NOTE

[job free-too]
schedule = every 1s
command = $NOTE
END
    replica
    replica
    await 10 all_told 1 'event=run_finished job=locked '
    # In each replica's claims the rows go together.
    start psql -X -q -d "$STORE_URL" -c "begin" -c "select 1 from leaserun.leases where key = 'locked' for update" \
        -c 'select pg_sleep(5)' -c rollback
    locker=$PID
    : >"$STARTS"
    until_phase 2500 3000
    until_phase 1000 3000 # its next slot has come, and the row is locked
    ! has_started 1 'locked '
    each_slot_once free 1
    each_slot_once free-too 1
    finish "$locker" 12
    await 3 has_started 1 'locked '
    until_phase 300 1000
    stop_replicas
    each_slot_once free 1
    each_slot_once free-too 1
    expect_equal "$(sort "$STARTS" | uniq -d)" ''
}

# ---- answers that come late ----------------------------------------------------------------------

# A replica behind a proxy is told to end after its claim was won and before it knows. Sets FIRST.
ends_while_claiming() {
    proxy_start
    LEASERUN_STORE=$PROXY_URL replica
    FIRST=$PID
    [ -z "${OTHER:-}" ] || freeze "$OTHER" # or it would be faster
    proxy hold-reply 'insert into .*leases'
    proxy await-fired 1 8
    kill -TERM "$FIRST"
    await 2 told "$FIRST" event=scheduler_stopping
    [ -z "${OTHER:-}" ] || kill -CONT "$OTHER"
    sleep 0.2
    proxy go
    finish "$FIRST" 8
    expect_equal "$STATUS" 0
    expect_equal "$(count_told 'event=claim_won' "$FIRST")" 0
    expect_equal "$(count_told 'level=(warn|error)' "$FIRST")" 0
}

@test "P3 a claim that is won during a shutdown leaves its slot to the others" {
    table <<END
[job a]
schedule = every 5s
command = $NOTE
END
    replica
    OTHER=$PID
    ends_while_claiming
    await 4 has_started 1
    expect_equal "$(count_told 'event=claim_won job=a' "$OTHER")" 1
}

@test "P3 a claim that is won during a shutdown leaves its slot to the replica that is started next" {
    table <<END
[job a]
schedule = every 4s
command = $NOTE
END
    replica
    await 6 has_started 1
    stop_replica "$PID"
    ends_while_claiming
    replica
    await 2 has_started 2
    each_slot_once a 4
}
