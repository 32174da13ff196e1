#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# schedule: replicas of one table on one store start each slot once and tell what became of it.
# stores: postgresql sqlite

load ../lib/helpers

setup() {
    TABLE=$BATS_TEST_TMPDIR/jobs.ini
    RAN=$BATS_TEST_TMPDIR/ran
    : >"$RAN"
    NAME=job$BATS_TEST_NUMBER-$RANDOM
}

# A table with one job of the test's own name, from standard input.
table() {
    {
        printf '[defaults]\ntimezone = UTC\nttl = 10s\n[job %s]\n' "$NAME"
        cat
    } >"$TABLE"
}

# A scheduler that has begun; sets PID.
start_scheduler() { # [OPTION...]
    start "$LEASERUN" schedule "$@" "$TABLE"
    await 10 tells "$PID" scheduler_ready
}

tells() { # PID EVENT
    started_stderr "$1" | grep -q "event=$2 "
}

ran_at_least() { # LINES
    [ "$(wc -l <"$RAN")" -ge "$1" ]
}

# What a scheduler told at warn and above.
complaints() { # PID
    started_stderr "$1" | grep -E ' level=(warn|error) ' || true
}

end_scheduler() { # PID
    kill -TERM "$1"
    finish "$1" 10
    expect_equal "$STATUS" 0
}

@test "every few seconds, one replica: each slot runs once, in its second" {
    table <<-END
	schedule = every 1s
	command = echo "\$LEASERUN_SLOT \$(date -u +%Y-%m-%dT%H:%M:%SZ)" >>$RAN
	END
    start_scheduler
    await 15 ran_at_least 4
    end_scheduler "$PID"
    expect_equal "$(cut -d ' ' -f 1 "$RAN" | sort | uniq -d)" ''
    expect_equal "$(complaints "$PID")" ''
}

@test "P3: three replicas, a command of a few milliseconds: each slot starts once" {
    table <<-END
	schedule = every 1s
	command = echo "\$LEASERUN_SLOT" >>$RAN
	END
    local replicas=()
    for _ in 1 2 3; do
        start_scheduler
        replicas+=("$PID")
    done
    await 20 ran_at_least 6
    for replica in "${replicas[@]}"; do
        end_scheduler "$replica"
        expect_equal "$(complaints "$replica")" ''
    done
    expect_equal "$(sort "$RAN" | uniq -d)" ''
    # Every run is in the history, and no slot between the first and the last is missing there.
    expect_equal "$(leaserun history --json --limit 1000 "$NAME" | json_field slot | sed s/.000000// | sort)" \
        "$(sort "$RAN")"
}

@test "the command fails: run_failed at error, and the outcome with its status in the history" {
    table <<-END
	schedule = every 1s
	command = echo x >>$RAN; exit 3
	END
    start_scheduler
    await 10 tells "$PID" run_failed
    end_scheduler "$PID"
    expect_contains "$(complaints "$PID")" 'level=error event=run_failed'
    expect_equal "$(run_field "$NAME" outcome) $(run_field "$NAME" status)" 'failed 3'
}

@test "retries: the command is started again under the same fence, and the attempts are counted" {
    table <<-END
	schedule = every 2s
	retries = 2
	retry-delay = 100ms
	command = echo "\$LEASERUN_FENCE \$LEASERUN_ATTEMPT" >>$RAN; [ \$LEASERUN_ATTEMPT = 3 ]
	END
    start_scheduler
    await 10 tells "$PID" run_finished
    end_scheduler "$PID"
    expect_equal "$(head -n 3 "$RAN" | cut -d ' ' -f 2 | tr '\n' ' ')" '1 2 3 '
    expect_equal "$(head -n 3 "$RAN" | cut -d ' ' -f 1 | sort -u | wc -l)" 1
    expect_contains "$(started_stderr "$PID" | grep run_finished | head -n 1)" 'outcome=succeeded'
}

@test "overlap = skip: a slot that comes while a run holds the key is recorded as skipped" {
    table <<-END
	schedule = every 1s
	command = echo x >>$RAN; sleep 2.5
	END
    start_scheduler
    await 10 tells "$PID" claim_held
    end_scheduler "$PID"
    expect_contains "$(leaserun history --json "$NAME")" '"outcome":"skipped"'
}

@test "@once: runs once, and not again after a restart and a purge" {
    table <<-END
	schedule = @once
	command = echo x >>$RAN
	END
    start_scheduler
    await 10 tells "$PID" run_finished
    end_scheduler "$PID"
    leaserun purge --retention 0s
    start_scheduler --log-level debug
    await 10 tells "$PID" slot_done
    end_scheduler "$PID"
    expect_equal "$(wc -l <"$RAN")" 1
}

@test "@reboot: runs at each start, under NAME@HOST" {
    table <<-END
	schedule = @reboot
	command = echo "\$LEASERUN_KEY" >>$RAN
	END
    for _ in 1 2; do
        start_scheduler
        await 10 tells "$PID" run_finished
        end_scheduler "$PID"
    done
    expect_equal "$(sort -u "$RAN")" "$NAME@$(hostname)"
    expect_equal "$(wc -l <"$RAN")" 2
}

@test "slots that passed while nobody was there are told as missed, once" {
    table <<-END
	schedule = every 1s
	command = echo "\$LEASERUN_SLOT" >>$RAN
	END
    start_scheduler
    await 10 ran_at_least 1
    end_scheduler "$PID"
    sleep 3
    local before=$PID
    start_scheduler
    local first=$PID
    start_scheduler
    await 10 tells "$first" slot_missed
    end_scheduler "$first"
    end_scheduler "$PID"
    local told
    told=$(cat "${OUTPUT[$before]}.err" "${OUTPUT[$first]}.err" "${OUTPUT[$PID]}.err" |
        grep -E 'level=(warn|error) event=slot_missed' | grep -o 'slot=[^ ]*' | sort)
    expect_equal "$(uniq -d <<<"$told")" ''
    [ "$(wc -l <<<"$told")" -ge 2 ]
}

@test "misfire = latest: the newest slot that passed is run, however late" {
    table <<-END
	schedule = every 3s
	start-within = 100ms
	misfire = latest
	command = echo "\$LEASERUN_SLOT" >>$RAN
	END
    start_scheduler
    await 10 ran_at_least 1
    end_scheduler "$PID"
    local last
    last=$(tail -n 1 "$RAN")
    sleep 4
    start_scheduler
    await 2 ran_at_least 2
    end_scheduler "$PID"
    [ "$(sed -n 2p "$RAN")" \> "$last" ]
}

@test "a user that does not exist here: nothing starts, the slot stays open, told once" {
    table <<-END
	schedule = @once
	user = nobody-of-that-name
	command = echo x >>$RAN
	END
    start_scheduler
    await 10 tells "$PID" run_failed
    end_scheduler "$PID"
    expect_contains "$(complaints "$PID")" 'nobody-of-that-name'
    expect_equal "$(complaints "$PID" | wc -l)" 1
    expect_equal "$(wc -c <"$RAN")" 0
}

@test "an empty table: starts, warns, ends in order" {
    printf '[defaults]\ntimezone = UTC\n' >"$TABLE"
    start "$LEASERUN" schedule "$TABLE"
    await 10 tells "$PID" table_empty
    end_scheduler "$PID"
}

@test "a table with faults: all of them with file and line, nothing starts" {
    printf '[job a]\nschedule = 61 * * * *\ncommand = true\n[job b]\ncolour = red\n' >"$TABLE"
    run --separate-stderr leaserun schedule "$TABLE"
    expect_status 78
    expect_contains "$stderr" "$TABLE:2:"
    expect_contains "$stderr" "$TABLE:5:"
}
