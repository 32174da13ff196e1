#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# The status of `leaserun run`: the command's own, and what leaserun says for itself.
# stores: postgresql sqlite

load ../lib/helpers

# Runs a command under KEY and expects a status.
ends_with() { # STATUS COMMAND...
    local wanted=$1
    shift
    run -"$wanted" --separate-stderr leaserun run "$KEY" -- "$@"
}

@test "the command's status is leaserun's" {
    for wanted in 0 1 2 63 64 69 75 76 78 124 125 126 127 128 129 137 143 255; do
        ends_with "$wanted" sh -c "exit $wanted"
        expect_equal "$output" ""
        # cron mails what is printed: nothing when it went well, one line when it did not
        expect_equal "${#stderr_lines[@]}" $((wanted != 0))
    done
}

@test "a command that a signal ended gives 128 and the signal's number" {
    for name in HUP INT QUIT KILL USR1 SEGV PIPE ALRM TERM; do
        number=$(kill -l "$name")
        ends_with $((128 + number)) sh -c "ulimit -c 0; kill -$name \$\$; sleep 5"
    done
}

@test "a real-time signal gives 128 and its number" {
    ends_with 192 sh -c 'kill -64 $$; sleep 5'
}

@test "a command that does not exist gives 127 and names it" {
    ends_with 127 no-such-command-anywhere
    expect_one_line
    expect_contains "$stderr" no-such-command-anywhere
}

@test "a file that cannot be executed gives 126 and names it" {
    printf 'no program\n' >"$BATS_TEST_TMPDIR/plain"
    ends_with 126 "$BATS_TEST_TMPDIR/plain"
    expect_one_line
    expect_contains "$stderr" "$BATS_TEST_TMPDIR/plain"
}

@test "a script whose interpreter is not there, or ends with a carriage return, gives 126 and says so" {
    printf '#!/no/such/interpreter\n' >"$BATS_TEST_TMPDIR/script"
    chmod +x "$BATS_TEST_TMPDIR/script"
    ends_with 126 "$BATS_TEST_TMPDIR/script"
    expect_one_line
    expect_contains "$stderr" 'its interpreter /no/such/interpreter does not exist'
    printf '#!/bin/sh\r\necho\r\n' >"$BATS_TEST_TMPDIR/script"
    ends_with 126 "$BATS_TEST_TMPDIR/script"
    expect_one_line
    expect_contains "$stderr" 'ends with a carriage return'
}

@test "a folder gives 126" {
    ends_with 126 "$BATS_TEST_TMPDIR"
    expect_one_line
}

@test "a command that could not be started leaves no lease" {
    ends_with 127 no-such-command-anywhere
    ends_with 0 true
}

@test "the outcome of each is in the history" {
    ends_with 0 true
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" "succeeded 0"
    ends_with 3 sh -c 'exit 3'
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" "failed 3"
    ends_with 137 sh -c 'kill -9 $$'
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" "failed 137"
    ends_with 127 no-such-command-anywhere
    expect_equal "$(run_field "$KEY" outcome)" not_started
}

@test "a key that another holds gives 75, without a word off a terminal" {
    start_holder
    ends_with 75 true
    expect_equal "$output$stderr" ""
}

@test "--held-exit names another status for that" {
    start_holder
    for wanted in 0 1 99 255; do
        run leaserun run --held-exit "$wanted" "$KEY" -- true
        expect_status "$wanted"
    done
}

@test "--held-exit takes nothing but a status" {
    for wrong in -1 256 600 abc '' 1.5 '7 '; do
        run --separate-stderr leaserun run --held-exit "$wrong" "$KEY" -- true
        expect_status 64
        expect_contains "$stderr" held-exit
    done
}

@test "--held-exit changes nothing for the one that runs" {
    run leaserun run --held-exit 9 "$KEY" -- sh -c 'exit 3'
    expect_status 3
}

@test "a command that runs too long is ended: 124" {
    run --separate-stderr leaserun run --timeout 300ms "$KEY" -- sleep 60
    expect_status 124
    expect_one_line
    expect_equal "$(run_field "$KEY" outcome)" timed_out
}

@test "an expired --wait gives 75 in time" {
    start_holder
    before=$(now_ms)
    run leaserun run --wait 1s "$KEY" -- true
    expect_status 75
    took=$(($(now_ms) - before))
    [ $took -ge 1000 ]
    [ $took -le 2500 ]
}

@test "a waiter runs as soon as the key is free" {
    start_holder
    holder=$PID
    start "$LEASERUN" run --wait 30s "$KEY" -- true
    waiter=$PID
    await 10 is_held "$KEY"
    kill -TERM "$holder"
    finish "$holder" 10
    before=$(now_ms)
    finish "$waiter" 10
    expect_equal "$STATUS" 0
    [ $(($(now_ms) - before)) -le 2500 ]
}

@test "TERM to leaserun ends the command and gives the lease back" {
    start_holder
    kill -TERM "$PID"
    finish "$PID" 10
    expect_equal "$(run_field "$KEY" outcome)" stopped
    run leaserun run "$KEY" -- true
    expect_status 0
}

@test "what makes no sense gives 64 and one line" {
    for wrong in "run" "run $KEY" "run --no-such-option k -- true" "no-such-command" \
        "run --ttl 1s k -- true" "run --ttl -5s k -- true" "run --timeout 5x k -- true"; do
        # shellcheck disable=SC2086  # words
        run --separate-stderr leaserun $wrong
        expect_status 64
        [ -n "$stderr" ]
        expect_equal "$output" ""
    done
}

@test "an empty key, a key that is not UTF-8, one with a newline and one too long give 64" {
    long=$(printf '%01025d' 0)
    for wrong in '' $'a\xffb' $'two\nlines' "$long"; do
        run --separate-stderr leaserun run "$wrong" -- true
        expect_status 64
        expect_one_line
    done
}

@test "output that cannot be written gives 74" {
    leaserun run "$KEY" -- true
    for command in status history help 'help run' 'status --json'; do
        # shellcheck disable=SC2086  # words
        run --separate-stderr sh -c '"$@" >/dev/full' sh "$LEASERUN" $command
        expect_status 74
        expect_one_line
    done
}
