#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# leaserun schedule: what a job's keys and [schedule] mean, whatever the store.
# stores: sqlite

load ../lib/helpers
load ../lib/scheduler

@test "an empty table starts, and warns; a file without any section is refused" {
    table <<<'[defaults]'
    replica
    told "$PID" 'level=warn event=table_empty'
    stop_replica "$PID"
    expect_equal "$(count_told 'level=warn')" 1
    mkdir "$BATS_TEST_TMPDIR/jobs.d"
    TABLE=$BATS_TEST_TMPDIR/jobs.d replica
    told "$PID" 'level=warn event=table_empty'
    # It may have been cut short.
    : >"$TABLE"
    run --separate-stderr leaserun schedule "$TABLE"
    expect_status 78
    expect_contains "$stderr" "$TABLE: there is no [section]"
}

@test "a job that is not enabled does not run, and the others do" {
    table <<END
[job off]
schedule = every 1s
enabled = no
command = $NOTE

[job on]
schedule = every 1s
command = $NOTE
END
    replica
    told "$PID" 'ready: 1 job, the next is on at'
    await 5 has_started 2
    stop_replica "$PID"
    expect_equal "$(cut -d ' ' -f 1 "$STARTS" | sort -u)" on
}

@test "max-running = 1: one command at a time, and no slot is lost" {
    cat >"$BATS_TEST_TMPDIR/leaserun.ini" <<<$'[schedule]\nmax-running = 1'
    table <<END
[job a]
schedule = every 2s
command = $NOTE; $ALONE

[job b]
schedule = every 2s
command = $NOTE; $ALONE

[job c]
schedule = every 2s
command = $NOTE; $ALONE
END
    replica --config "$BATS_TEST_TMPDIR/leaserun.ini"
    await 12 has_started 6
    stop_replica "$PID"
    [ ! -e "$STARTS.two" ]
    for job in a b c; do
        each_slot_once $job 2
    done
    expect_equal "$(count_complaints)" 0
}

@test "timezone: a calendar schedule follows its zone's clock" {
    at() { TZ=$1 date -d '+3 seconds' +'%S %M %H %d %m *'; }
    table <<END
[job here]
schedule = $(at Asia/Kathmandu)
timezone = Asia/Kathmandu
command = $NOTE

[job elsewhere]
schedule = $(at Asia/Kathmandu)
timezone = America/St_Johns
command = $NOTE
END
    replica
    await 6 has_started 1
    sleep 0.3
    stop_replica "$PID"
    expect_equal "$(cut -d ' ' -f 1 "$STARTS")" here
}

@test "commands read /dev/null, whatever the scheduler's own stdin is" {
    mkfifo "$BATS_TEST_TMPDIR/fifo" # opened for both, it has no end
    table <<END
[job a]
schedule = @once
command = cat >"\$STARTS"; readlink /proc/self/fd/0 >>"\$STARTS"
END
    # shellcheck disable=SC2016
    start bash -c 'exec "$@" <>"$0"' "$BATS_TEST_TMPDIR/fifo" "$LEASERUN" schedule --log-format logfmt "$TABLE"
    await 5 told "$PID" 'event=run_finished job=a .* outcome=succeeded'
    expect_equal "$(cat "$STARTS")" /dev/null
}

# ---- output ------------------------------------------------------------------------------------

@test "output = raw, lines, discard: on the scheduler's own stdout, in its log, nowhere" {
    table <<END
[job raw]
schedule = every 5s
command = echo out of raw; echo err of raw >&2; echo again >>/dev/stdout

[job lines]
schedule = every 5s
output = lines
command = echo out of lines; printf 'no newline' >&2

[job discard]
schedule = every 5s
output = discard
output-tail = 100
command = echo out of discard; exit 1
END
    replica
    await 8 told "$PID" 'event=run_finished job=raw'
    await 8 told "$PID" 'event=run_finished job=lines'
    await 8 told "$PID" 'event=run_finished job=discard'
    stop_replica "$PID"
    expect_equal "$(started_stdout "$PID")" $'out of raw\nagain'
    expect_equal "$(count_told '^err of raw$')" 1
    expect_equal "$(count_told 'level=info event=output job=lines .* slot=.* fence=.* run_id=.* stream=stdout msg="out of lines"')" 1
    expect_equal "$(count_told 'event=output job=lines .* stream=stderr msg="no newline"')" 1
    expect_equal "$(count_told 'out of discard')" "$(count_told 'event=run_(failed|finished) job=discard .*output_tail=')"
}

is_over() { [ "$(run_field "$1" outcome)" = succeeded ]; }

@test "nobody reads the log for 7 s while a job floods it: leases with a ttl of 5 s are kept, other slots start, nothing is lost" {
    table <<END
[job flood]
schedule = @once
ttl = 5s
output = lines
command = echo started >>"\$STARTS"; seq 1 400000

[job tick]
schedule = every 1s
command = $NOTE
END
    start python3 "$TESTS/lib/slow_reader.py" 7 "$BATS_TEST_TMPDIR/log" \
        "$LEASERUN" schedule --log-format json "$TABLE"
    await 5 has_started 1 started
    sleep 6
    is_held flood
    await 30 is_over flood
    kill -TERM "$(pgrep -P "$PID")"
    finish "$PID" 10
    expect_equal "$(started_stdout "$PID" | cut -d ' ' -f 1)" 0
    echo "memory: $(started_stdout "$PID")"
    [ "$(started_stdout "$PID" | cut -d ' ' -f 2)" -lt 65536 ]
    each_slot_once tick 1
    python3 - "$BATS_TEST_TMPDIR/log" <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1], encoding='utf-8')]
lines = [e['message'] for e in events if e['event'] == 'output']
assert lines == [str(n) for n in range(1, 400001)], len(lines)
loud = [e for e in events if e['level'] in ('warn', 'error')]
assert not loud, loud[:3]
END
}
