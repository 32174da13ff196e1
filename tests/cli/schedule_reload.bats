#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# leaserun schedule reads its table again: what becomes of commands that run and of jobs that wait.
# stores: sqlite

load ../lib/helpers
load ../lib/scheduler

# SIGHUP, and its answer; for the Nth time.
reread() { # EVENT [N]
    kill -HUP "$PID"
    await 5 all_told "${2:-1}" "event=$1 "
}

# shellcheck disable=SC2016  # the command's own shell expands it
LASTING='echo "$LEASERUN_JOB begun" >>"$STARTS"; until [ -e "$STARTS.end" ]; do sleep 0.05; done; echo "$LEASERUN_JOB ended" >>"$STARTS"'

@test "jobs that are removed, disabled or changed while their commands run: these go on and are told, by the lease they have" {
    table <<END
[job removed]
schedule = every 1s
command = $LASTING

[job disabled]
schedule = every 1s
command = $LASTING

[job moved]
schedule = every 1s
command = $LASTING
END
    replica
    await 5 has_started 3
    table <<END
[job disabled]
schedule = every 1s
enabled = no
command = $LASTING

[job moved]
schedule = every 1s
key = elsewhere
command = echo anew >>"\$STARTS"
END
    reread table_reloaded
    for key in removed disabled moved; do
        is_held $key
    done
    await 5 has_started 1 anew # under its new key it need not wait
    touch "$STARTS.end"
    await 5 all_told 3 'event=run_finished job=(removed|disabled|moved) key=(removed|disabled|moved) .* outcome=succeeded'
    before=$(wc -l <"$STARTS")
    await 5 has_started 3 anew
    stop_replica "$PID"
    expect_equal "$(grep -c begun "$STARTS") $(grep -c ended "$STARTS")" '3 3'
    expect_equal "$(count_complaints)" 0
}

@test "max-running is changed: who waits for a place comes at once" {
    cat >"$BATS_TEST_TMPDIR/leaserun.ini" <<<$'[schedule]\nmax-running = 1'
    table <<END
[job a]
schedule = @once
command = $LASTING

[job b]
schedule = @once
command = $LASTING
END
    replica --config "$BATS_TEST_TMPDIR/leaserun.ini"
    await 5 has_started 1
    sed -i 's/= 1/= 2/' "$BATS_TEST_TMPDIR/leaserun.ini"
    reread table_reloaded
    await 2 has_started 2
    touch "$STARTS.end"
    await 5 all_told 2 'event=run_finished .* outcome=succeeded'
    # A fault in this file is told with its line as well.
    echo 'colour = red' >>"$BATS_TEST_TMPDIR/leaserun.ini"
    reread reload_failed
    expect_equal "$(count_told 'level=error event=reload_failed .*leaserun.ini:3: ')" 1
}

@test "a table that is gone, is cut short, cannot be read: the one before stays, each time with the reason; then a good one" {
    table <<END
[job a]
schedule = every 1s
command = $NOTE
END
    cp "$TABLE" "$BATS_TEST_TMPDIR/good"
    replica
    rm "$TABLE"
    reread reload_failed 1
    : >"$TABLE"
    reread reload_failed 2
    printf '[job a]\nschedule = every 1s\ncommand = true\n[job' >"$TABLE"
    reread reload_failed 3
    rm "$TABLE"
    mkfifo "$TABLE"
    reread reload_failed 4
    expect_equal "$(count_told "level=error event=reload_failed .*the job table stays as it was: $TABLE")" 4
    rm "$TABLE"
    await 5 has_started 2
    sed 's/1s/2s/' "$BATS_TEST_TMPDIR/good" | table
    reread table_reloaded
    stop_replica "$PID"
    each_slot_once a 1
}

@test "fifty HUPs in a row: no slot is lost, none starts twice" {
    table <<END
[job a]
schedule = every 1s
command = $NOTE

[job b]
schedule = every 1s
overlap = wait
command = $NOTE; sleep 0.6
END
    replica
    await 5 has_started 1 a
    for _ in $(seq 50); do
        kill -HUP "$PID"
        sleep 0.05
    done
    await 5 has_started 5 b
    stop_replica "$PID"
    each_slot_once a 1
    each_slot_once b 1
}

@test "once, @reboot and streaks are kept: what has run does not run again for a new table" {
    table <<END
[job once]
schedule = @once
command = $NOTE

[job boot]
schedule = @reboot
command = $NOTE
END
    replica
    await 5 has_started 2
    await 5 all_told 2 'event=run_finished .* outcome=succeeded'
    cat >>"$TABLE" <<END

[job late-boot]
schedule = @reboot
command = $NOTE

[job late-once]
schedule = @once
command = $NOTE
END
    reread table_reloaded
    await 5 has_started 1 late-once
    sleep 0.2
    stop_replica "$PID"
    expect_equal "$(cut -d ' ' -f 1 "$STARTS" | sort | xargs)" 'boot late-once once'
}
