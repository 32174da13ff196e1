#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# What is kept of a command's output with its run, and how history shows it.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/scheduler

KEY=nightly

# A run of sh -c SCRIPT whose tail is kept; its log is not of interest here.
run_kept() { # BYTES SCRIPT [OPTION...]
    leaserun run --output discard --output-tail "$1" "${@:3}" "$KEY" -- sh -c "$2" 2>/dev/null || true
}

# Of the newest run, as bytes: those that stand there, or the text when that is all.
kept_bytes() {
    leaserun history --json "$KEY" | head -n 1 | python3 -c 'import base64, json, sys
run = json.load(sys.stdin)
whole = run["output_tail_base64"]
sys.stdout.buffer.write(run["output_tail"].encode() if whole is None else base64.b64decode(whole))'
}

@test "history --output-tail shows each run with the end of its output, newest first" {
    run_kept 9 'seq 1 1000; exit 3'
    leaserun run "$KEY" -- true
    run_kept 1k 'echo out; echo err >&2'
    run -0 leaserun history --output-tail "$KEY"
    expect_equal "${#lines[@]}" 8
    expect_contains "${lines[0]}" "key $KEY, run "
    expect_contains "${lines[0]}" ": succeeded, status 0, finished "
    expect_equal "$(printf '%s\n' "${lines[@]:1:2}" | sort)" $'    err\n    out'
    expect_equal "${lines[4]}" "    (no output is kept)"
    expect_contains "${lines[5]}" ": failed, status 3, finished "
    expect_equal "${lines[6]}/${lines[7]}" '    999/    1000'
    run -0 leaserun history "$KEY"
    [[ $output != *999* ]]
}

@test "what would drive a terminal is shown escaped, every line on its own" {
    run_kept 1k 'printf "a\033[2Jb\r\n\n\tc\000d\377"'
    run -0 --keep-empty-lines leaserun history --output-tail "$KEY"
    expect_equal "$(printf '%s\n' "${lines[@]:1}" | head -n 3)" $'    a\\u001b[2Jb\\r\n    \n    \\tc\\u0000d\xef\xbf\xbd'
}

@test "history --json has the text, and the bytes where it is not all UTF-8" {
    run_kept 1k 'printf "gr\303\274n\000\n"'
    expect_equal "$(run_field "$KEY" output_tail_base64)" None
    cmp <(kept_bytes) <(printf 'gr\303\274n\0\n')
    run_kept 4 'printf "\303\251\303\251\303\251\n"' # the first character is cut
    expect_equal "$(run_field "$KEY" output_tail)" $'\xef\xbf\xbd\xc3\xa9'
    cmp <(kept_bytes) <(printf '\251\303\251\n')
}

@test "bytes of any kind and as many as may be kept are those that were written" {
    head -c 1500000 /dev/urandom >"$BATS_TEST_TMPDIR/bytes"
    run_kept 1M "cat '$BATS_TEST_TMPDIR/bytes'"
    cmp <(kept_bytes) <(tail -c 1048576 "$BATS_TEST_TMPDIR/bytes")
    run_kept 70000 "cat '$BATS_TEST_TMPDIR/bytes'"
    cmp <(kept_bytes) <(tail -c 70000 "$BATS_TEST_TMPDIR/bytes")
}

@test "lines and discard keep it, raw keeps none, and so does a command that writes nothing" {
    for way in lines discard; do
        leaserun run --output $way --output-tail 100 "$KEY" -- echo kept 2>/dev/null
        expect_equal "$(run_field "$KEY" output_tail)" kept
    done
    run -0 leaserun run --output-tail 100 "$KEY" -- echo passed
    expect_equal "$output" passed
    expect_equal "$(run_field "$KEY" output_tail)" None
    run_kept 100 true
    expect_equal "$(run_field "$KEY" output_tail)" None
}

@test "of several attempts the last one's is kept" {
    table <<'END'
[job nightly]
schedule = @daily
timezone = UTC
retries = 5
retry-delay = 10ms
output = discard
output-tail = 100
command = echo "attempt $LEASERUN_ATTEMPT"; [ $LEASERUN_ATTEMPT = 3 ]
END
    leaserun run --config "$TABLE" nightly 2>/dev/null
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" output_tail)" "succeeded attempt 3"
}

@test "a run that is ended, by its time limit or by a person, keeps it too" {
    run_kept 100 'echo begun; exec sleep 60' --timeout 300ms
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" output_tail)" "timed_out begun"
    start "$LEASERUN" run --output discard --output-tail 100 "$KEY" -- \
        sh -c 'echo begun; touch "$1"; exec sleep 60' sh "$BATS_TEST_TMPDIR/begun"
    await 10 test -e "$BATS_TEST_TMPDIR/begun"
    kill -TERM "$PID"
    finish "$PID" 10
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" output_tail)" "stopped begun"
}

@test "one run is found by its id" {
    run_kept 100 'echo one'
    id=$(run_field "$KEY" run_id)
    run_kept 100 'echo two'
    run -0 leaserun history --output-tail "$id"
    expect_equal "${lines[1]}" '    one'
    expect_equal "${#lines[@]}" 2
    expect_equal "$(leaserun history --json "$id" | json_field run_id)" "$id"
}

@test "runs that a scheduler ends together keep each its own" {
    {
        printf '[defaults]\noutput = lines\noutput-tail = 1k\n'
        for i in 1 2 3 4 5 6 7 8; do
            printf '[job j%d]\nschedule = every 1s\ncommand = echo "I am $LEASERUN_JOB"\n' $i
        done
    } | table
    replica
    for i in 1 8; do
        await 20 told "$PID" "event=run_finished job=j$i"
    done
    stop_replica "$PID"
    leaserun history --json --limit 1000 | python3 -c 'import json, sys
runs = [r for r in map(json.loads, sys.stdin) if r["outcome"] == "succeeded"]
assert len({r["job"] for r in runs}) == 8, runs
assert all(r["output_tail"] == "I am " + r["job"] + "\n" for r in runs), runs'
}

@test "--slots has no room for it: 64 and why" {
    run -64 leaserun history --slots --output-tail "$KEY"
    expect_contains "$output" 'not with --slots'
}
