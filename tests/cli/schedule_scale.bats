#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# leaserun schedule with many jobs, and with few descriptors.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/scheduler

# So many jobs that are due in the same second, so many seconds from now, and one that runs all the
# time and lives from its renewals.
crowd() { # COUNT SECONDS COMMAND
    local at
    at=$(date -u -d "+$2 seconds" +'%S %M %H * * *')
    {
        printf '[defaults]\ntimezone = UTC\n[job lasting]\nschedule = @once\nttl = 10s\n'
        # shellcheck disable=SC2016
        printf 'command = echo "$LEASERUN_JOB" >>"$STARTS"; exec sleep 600\n'
        for i in $(seq "$1"); do
            printf '[job j%d]\nschedule = %s\ncommand = %s\n' "$i" "$at" "$3"
        done
    } | table
}

# All of them have run once each, and the one that lasts still does.
ended_well() { # COUNT PID...
    local count=$1
    shift
    expect_equal "$(grep -c '^j' "$STARTS") $(grep '^j' "$STARTS" | sort -u | wc -l)" "$count $count"
    expect_equal "$(count_told 'level=info event=run_finished .* outcome=succeeded' "$@")" "$count"
    is_held lasting
    expect_equal "$(count_told 'event=claim_won job=lasting' "$@")" 1
    for pid; do # on a busy disk a renewal may need a second attempt
        expect_equal "$(told "$pid" 'level=(warn|error)' | grep -v 'level=warn event=renew_failed')" ''
    done
}

@test "1,000 jobs due in one second, kept by two replicas: none is lost, none starts twice, renewals are on time" {
    local count=1000
    ! has_sanitizer || count=200 # a process takes several times as long to start
    crowd $count 3 "$NOTE"
    replica
    replica
    await 90 has_started $count 'j'
    await 20 all_told $count 'event=run_finished'
    ended_well $count "${REPLICAS[@]}"
    stop_replicas
}

@test "256 descriptors, and more commands at a time than they allow: the others wait for a place, none is lost" {
    crowd 120 3 "$NOTE; sleep 0.3"
    start bash -c 'ulimit -n 256; exec "$@"' bash "$LEASERUN" schedule --log-format logfmt "$TABLE"
    REPLICAS=("$PID")
    await 10 told "$PID" event=scheduler_ready
    await 60 all_told 120 'event=run_finished'
    ended_well 120 "$PID"
    stop_replicas
}

@test "a table of 100,000 jobs: it is ready in bounded time and memory, runs what is due and ends" {
    {
        printf '[defaults]\ntimezone = UTC\n[job due]\nschedule = every 1s\ncommand = %s\n' "$NOTE"
        seq 100000 | sed 's/.*/[job n&]\nschedule = 0 3 1 1 *\ncommand = run &/'
    } | table
    start_replica
    await 30 told "$PID" 'event=scheduler_ready .*ready: 100001 jobs, the next is due at'
    await 20 has_started 3 due
    peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$PID/status")
    echo "peak: $peak KiB"
    [ "$peak" -lt 262144 ] || ldd "$LEASERUN" | grep -q libasan
    stop_replica "$PID" 10
    each_slot_once due 1
    expect_equal "$(count_complaints)" 0
}
