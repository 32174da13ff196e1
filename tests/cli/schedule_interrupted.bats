#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# if-interrupted: a run whose scheduler was stopped or killed begins again, or is reported.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/scheduler

# The command: a line of STARTS (run, fence, attempt, slot); its first attempts, so many, take long.
takes_long() { # ATTEMPTS
    cat <<END
echo "\$LEASERUN_RUN_ID \$LEASERUN_FENCE \$LEASERUN_ATTEMPT \$LEASERUN_SLOT" >>"\$STARTS"; [ \$LEASERUN_ATTEMPT -gt $1 ] || exec sleep 60
END
}

# One job, every 10 s: what interrupts a run here is over long before its next slot.
interruptible() { # ATTEMPTS [LINE...]
    {
        printf '[job %s]\nschedule = */10 * * * * *\ntimezone = UTC\ncommand = %s\n' job "$(takes_long "$1")"
        shift
        printf '%s\n' "$@"
    } | table
}

# A field of a line of STARTS.
nth() { # LINE FIELD
    sed -n "$1p" "$STARTS" | cut -d ' ' -f "$2"
}

# The first run of all, as it is in the history now.
first_run() { # FIELD
    leaserun history --json job | grep -F "\"$(nth 1 1)\"" | json_field "$1"
}

first_run_is() { # OUTCOME
    [ "$(first_run outcome)" = "$1" ]
}

# Two starts of one run: the same slot, a later mandate, counted on; one row of history.
is_one_run_begun_twice() {
    expect_equal "$(nth 2 1) $(nth 2 4)" "$(nth 1 1) $(nth 1 4)"
    expect_equal "$(nth 1 3) $(nth 2 3)" '1 2'
    [ "$(nth 2 2)" -gt "$(nth 1 2)" ]
    await 5 first_run_is succeeded
    expect_equal "$(first_run fence)" "$(nth 2 2)"
}

# The replica that started the first run; sets WINNER and OTHER.
two_replicas() {
    replica
    WINNER=$PID
    replica
    OTHER=$PID
    await 15 has_started 1
    if told "$OTHER" 'event=claim_won'; then
        OTHER=$WINNER
        WINNER=$PID
    fi
}

@test "P11 rerun: a scheduler is stopped while a run is at work, and begins it again when it is started again" {
    interruptible 1 'if-interrupted = rerun'
    replica
    await 15 has_started 1
    stop_replica "$PID"
    expect_equal "$(first_run outcome)" stopped
    expect_equal "$(count_told 'level=warn event=run_stopped')" 1
    replica
    await 6 has_started 2
    is_one_run_begun_twice
    told "$PID" "level=warn event=run_taken_over job=job key=job .*run_id=$(nth 1 1)"
    stop_replica "$PID"
    expect_equal "$(count_told 'level=error')" 0
}

@test "P11 rerun: one of two replicas is stopped while a run is at work: the other begins it again" {
    interruptible 1 'if-interrupted = rerun'
    two_replicas
    stop_replica "$WINNER"
    await 8 has_started 2
    is_one_run_begun_twice
    told "$OTHER" 'event=run_taken_over'
    stop_replica "$OTHER"
    expect_equal "$(count_told 'level=error')" 0
}

@test "P11 rerun: one of two replicas is killed while a run is at work: the other begins it again" {
    interruptible 1 'if-interrupted = rerun'
    two_replicas
    kill -KILL "$WINNER"
    await 8 has_started 2
    is_one_run_begun_twice
    expect_equal "$(count_told 'event=run_abandoned')" 0
    stop_replica "$OTHER"
}

@test "max-attempts: a run that was begun as often is given up, which is told once" {
    interruptible 9 'if-interrupted = rerun' 'max-attempts = 2'
    replica
    await 15 has_started 1
    stop_replica "$PID"
    replica
    await 6 has_started 2
    stop_replica "$PID"
    expect_equal "$(count_told 'level=error event=run_stopped')" 1
    replica
    replica
    await 6 all_told 1 'level=error event=run_given_up'
    await 15 has_started 3 # the next slot
    expect_equal "$(grep -c "^$(nth 1 1) " "$STARTS")" 2
    expect_equal "$(count_told 'event=run_given_up')" 1
    expect_equal "$(first_run outcome)" stopped
    for pid in "${REPLICAS[@]:2}"; do
        stop_replica "$pid"
    done
}

@test "report, the usual: a run that was stopped is not begun again" {
    interruptible 9
    replica
    await 15 has_started 1
    stop_replica "$PID"
    expect_equal "$(count_told 'level=error event=run_stopped')" 1
    replica
    await 15 has_started 2 # the next slot
    expect_equal "$(grep -c "^$(nth 1 1) " "$STARTS")" 1
    stop_replica "$PID"
}
