#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# What becomes of what a command writes: --output raw, lines, discard; --output-tail.
# stores: postgresql sqlite

load ../lib/helpers

LINES=(--output lines --log-format json)

# The log of a run in FILE; what the command wrote, from it.
lines_of() { # STREAM
    python3 "$TESTS/lib/lines.py" "$1" <"$BATS_TEST_TMPDIR/log"
}

run_lines() { # [OPTION...] -- COMMAND...
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    STATUS=0
    leaserun run "${LINES[@]}" "${options[@]}" "$KEY" "$@" 2>"$BATS_TEST_TMPDIR/log" || STATUS=$?
}

same() { # FILE: as standard input
    cmp - "$1"
}

# ---- each way --------------------------------------------------------------------------------

@test "in every way /dev/stdout and /dev/stderr can be opened anew" {
    for way in raw lines discard; do
        leaserun run --output $way "$KEY" -- sh -c 'echo out >/dev/stdout && echo err >/dev/stderr' \
            >"$BATS_TEST_TMPDIR/out.$way" 2>"$BATS_TEST_TMPDIR/err.$way"
    done
    expect_equal "$(cat "$BATS_TEST_TMPDIR/out.raw" "$BATS_TEST_TMPDIR/err.raw")" $'out\nerr'
    [ ! -s "$BATS_TEST_TMPDIR/out.lines" ]
    expect_equal "$(wc -l <"$BATS_TEST_TMPDIR/err.lines")" 2
    [ ! -s "$BATS_TEST_TMPDIR/out.discard" ]
    [ ! -s "$BATS_TEST_TMPDIR/err.discard" ]
}

@test "a line is told with its key, run, fence and stream, whatever the log's level" {
    run_lines --quiet -- sh -c 'echo one; echo two >&2'
    expect_equal "$STATUS" 0
    python3 - "$BATS_TEST_TMPDIR/log" "$KEY" "$(run_field "$KEY" run_id)" <<'END'
import json, sys
name, key, run_id = sys.argv[1:]
events = [json.loads(line) for line in open(name, encoding='utf-8')]
told = sorted((e['event'], e['level'], e['stream'], e['message']) for e in events)
assert told == [('output', 'info', 'stderr', 'two'), ('output', 'info', 'stdout', 'one')], told
assert all(e['key'] == key and e['run_id'] == run_id and e['fence'] > 0 for e in events), events
END
}

@test "in text a line stands behind its key and stream, in logfmt it is the message" {
    leaserun run --output lines --log-format text k -- echo 'a "b" \c' 2>"$BATS_TEST_TMPDIR/text"
    expect_equal "$(cat "$BATS_TEST_TMPDIR/text")" 'k: stdout: a "b" \c'
    leaserun run --output lines --log-format logfmt k -- sh -c 'echo "a b" >&2' 2>"$BATS_TEST_TMPDIR/logfmt"
    expect_contains "$(cat "$BATS_TEST_TMPDIR/logfmt")" ' event=output key=k fence='
    expect_contains "$(cat "$BATS_TEST_TMPDIR/logfmt")" ' stream=stderr msg="a b"'
}

@test "a command keeps its status, its stdin and its arguments in every way" {
    for way in raw lines discard; do
        STATUS=0
        echo given | leaserun run --output $way "$KEY" -- \
            sh -c 'read -r line && [ "$line $1" = "given *" ] && exit 7' sh '*' 2>/dev/null || STATUS=$?
        expect_equal "$way $STATUS" "$way 7"
    done
}

# ---- any length, any bytes -------------------------------------------------------------------

@test "lines of every length up to 64 KiB are whole, and one more byte makes two pieces" {
    python3 - >"$BATS_TEST_TMPDIR/in" <<'END'
for length in [0, 1, 4095, 4096, 4097, 16384, 65534, 65535, 65536, 65537, 131072, 131073, 0, 3]:
    print('x' * length)
END
    run_lines -- cat "$BATS_TEST_TMPDIR/in"
    lines_of stdout | same "$BATS_TEST_TMPDIR/in"
    expect_equal "$(grep -c '"continues":true' "$BATS_TEST_TMPDIR/log")" 4
}

@test "64 KiB lines by the hundred on both streams are whole and in order" {
    python3 -c 'for i in range(100): print(str(i % 10) * 65536)' >"$BATS_TEST_TMPDIR/in"
    # shellcheck disable=SC2016
    run_lines -- sh -c 'cat "$1" & cat "$1" >&2; wait' sh "$BATS_TEST_TMPDIR/in"
    for stream in stdout stderr; do
        lines_of $stream | same "$BATS_TEST_TMPDIR/in"
    done
    run ! grep -q '"continues"' "$BATS_TEST_TMPDIR/log"
}

@test "5 MB without a newline are told in pieces that break no character" {
    python3 -c 'print("añ€😀" * 500000)' >"$BATS_TEST_TMPDIR/in"
    run_lines -- sh -c 'head -c -1 "$1"' sh "$BATS_TEST_TMPDIR/in"
    lines_of stdout | same "$BATS_TEST_TMPDIR/in"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/log")" -ge 70 ]
}

@test "every byte there is: each line is one line, is UTF-8 and drives no terminal" {
    python3 - >"$BATS_TEST_TMPDIR/in" <<'END'
import sys
out = sys.stdout.buffer
for byte in range(256):
    out.write(b'a' + bytes([byte]) + b'b\n')
END
    for format in text logfmt json; do
        leaserun run --output lines --log-format $format "$KEY" -- cat "$BATS_TEST_TMPDIR/in" \
            2>"$BATS_TEST_TMPDIR/log"
        expect_equal "$format $(wc -l <"$BATS_TEST_TMPDIR/log")" "$format 257"
        iconv -f UTF-8 -t UTF-8 "$BATS_TEST_TMPDIR/log" >/dev/null
        run ! env LC_ALL=C grep -a -q -P '[\x00-\x09\x0b-\x1f\x7f]' "$BATS_TEST_TMPDIR/log"
    done
    python3 - "$BATS_TEST_TMPDIR/log" <<'END' # which is of the last format, json
import json, sys
told = ''.join(json.loads(line)['message'] + '\n' for line in open(sys.argv[1], encoding='utf-8'))
expected = ''.join('a' + (chr(b) if b < 128 else '\ufffd') + 'b\n' for b in range(256))
assert told == expected, told
END
}

@test "a last line without newline is told, an empty output is none" {
    run_lines -- printf 'one\n\ntwo'
    expect_equal "$(lines_of stdout | od -An -c | tr -d ' ')" 'one\n\ntwo\n'
    run_lines -- true
    [ ! -s "$BATS_TEST_TMPDIR/log" ]
}

@test "each stream keeps its order" {
    # shellcheck disable=SC2016
    run_lines -- sh -c 'i=0; while [ $i -lt 3000 ]; do echo $i; echo $i >&2; i=$((i + 1)); done'
    for stream in stdout stderr; do
        lines_of $stream | same <(seq 0 2999)
    done
}

# ---- readers ---------------------------------------------------------------------------------

@test "a reader that stands still for 10 s loses nothing, and the lease with a ttl of 5 s is kept" {
    # shellcheck disable=SC2016
    start python3 "$TESTS/lib/slow_reader.py" 10 "$BATS_TEST_TMPDIR/log" "$LEASERUN" run \
        "${LINES[@]}" --ttl 5s "$KEY" -- sh -c 'seq 1 1000000; echo done >"$1"' sh "$BATS_TEST_TMPDIR/done"
    await 5 is_held "$KEY"
    for _ in 1 2 3 4 5 6 7 8; do
        sleep 1
        await 2 is_held "$KEY"
        [ ! -e "$BATS_TEST_TMPDIR/done" ] # the command waits too
    done
    finish "$PID" 60
    read -r status peak_kib <<<"$(started_stdout "$PID")"
    expect_equal "$status" 0
    skip_with_sanitizer
    [ "$peak_kib" -lt 40000 ]
    lines_of stdout | same <(seq 1 1000000)
    expect_equal "$(python3 "$TESTS/lib/lines.py" --others <"$BATS_TEST_TMPDIR/log")" ''
}

@test "a reader that stands still after the command's end holds neither lease nor outcome" {
    start python3 "$TESTS/lib/slow_reader.py" 3 "$BATS_TEST_TMPDIR/log" "$LEASERUN" run \
        "${LINES[@]}" "$KEY" -- seq 1 1500
    await 2 eval '[ "$(run_field "$KEY" outcome 2>/dev/null)" = succeeded ]'
    run ! is_held "$KEY"
    finish "$PID" 20
    expect_equal "$(started_stdout "$PID" | cut -d' ' -f1)" 0
    lines_of stdout | same <(seq 1 1500)
}

@test "a reader that never reads ends with a signal: 74" {
    mkfifo "$BATS_TEST_TMPDIR/fifo"
    exec 7<>"$BATS_TEST_TMPDIR/fifo"
    start sh -c 'exec "$@" 2>"$0"' "$BATS_TEST_TMPDIR/fifo" "$LEASERUN" run "${LINES[@]}" "$KEY" -- seq 1 1500
    await 10 eval '[ "$(run_field "$KEY" outcome 2>/dev/null)" = succeeded ]'
    kill -TERM "$PID"
    finish "$PID" 3
    expect_equal "$STATUS" 74
    exec 7>&-
}

@test "without a reader the command goes on, and then it is 74, or its own status" {
    for own in 0 3; do
        STATUS=0
        # shellcheck disable=SC2016
        python3 - "$LEASERUN" run "${LINES[@]}" "$KEY" -- sh -c 'seq 1 200000; echo x >"$1"; exit $2' sh \
            "$BATS_TEST_TMPDIR/done.$own" $own <<'END' || STATUS=$?
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
child.stderr.read(100)
child.stderr.close()
sys.exit(child.wait())
END
        [ -e "$BATS_TEST_TMPDIR/done.$own" ]
        expect_equal "$own $STATUS" "$own $((own == 0 ? 74 : own))"
        expect_equal "$(run_field "$KEY" outcome)" "$([ $own -eq 0 ] && echo succeeded || echo failed)"
    done
}

@test "a full disk stops no command; it is 74" {
    STATUS=0
    # shellcheck disable=SC2016
    leaserun run "${LINES[@]}" "$KEY" -- sh -c 'seq 1 100000; echo x >"$1"' sh "$BATS_TEST_TMPDIR/done" \
        2>/dev/full || STATUS=$?
    expect_equal "$STATUS" 74
    [ -e "$BATS_TEST_TMPDIR/done" ]
}

@test "the descriptor that leaserun was given as stderr keeps its flags" {
    start "$LEASERUN" run "${LINES[@]}" "$KEY" -- sh -c 'echo running; exec sleep 60'
    await 10 grep -q running "${OUTPUT[$PID]}.err"
    flags=$(awk '$1 == "flags:" { print $2 }' "/proc/$PID/fdinfo/2")
    expect_equal $((flags & 04000)) 0
}

# ---- what is left ----------------------------------------------------------------------------

@test "what a leftover writes until it is ended is told, before the lease is given back" {
    # shellcheck disable=SC2016
    run_lines -- sh -c '
        sh -c "trap \"echo bye; exit\" TERM; echo \$\$ >\"\$1\"; while :; do sleep 0.1; done" sh "$1" &
        until [ -s "$1" ]; do sleep 0.01; done
        echo main' sh "$BATS_TEST_TMPDIR/up"
    expect_equal "$STATUS" 0
    expect_equal "$(lines_of stdout)" $'main\nbye'
    expect_equal "$(python3 "$TESTS/lib/lines.py" --others <"$BATS_TEST_TMPDIR/log")" leftovers
}

@test "what a leftover that is waited for writes is told" {
    run_lines --leftovers wait -- sh -c '(sleep 1; echo late; printf later) & echo main'
    expect_equal "$(lines_of stdout)" $'main\nlate\nlater'
}

@test "a leftover that is left alone does not hold the run, though it has the pipe" {
    before=$(now_ms)
    # shellcheck disable=SC2016
    run_lines --leftovers leave -- sh -c 'sleep 30 & echo $! >"$1"; echo main' sh "$BATS_TEST_TMPDIR/pid"
    [ $(($(now_ms) - before)) -lt 5000 ]
    expect_equal "$(lines_of stdout)" main
    kill "$(cat "$BATS_TEST_TMPDIR/pid")"
}

@test "a command that has closed its output runs on, and its status is told" {
    run_lines -- sh -c 'echo last; exec >&- 2>&-; sleep 0.3; exit 5'
    expect_equal "$STATUS" 5
    expect_equal "$(lines_of stdout)" last
}

# ---- the tail --------------------------------------------------------------------------------

@test "the last bytes of the output stand with the end of the run" {
    for way in lines discard; do
        leaserun run --output $way --output-tail 12 --log-format json "$KEY" -- \
            sh -c 'seq 1 1000; exit 3' 2>"$BATS_TEST_TMPDIR/log" || true
        expect_equal "$(grep run_failed "$BATS_TEST_TMPDIR/log" | json_field output_tail)" $'98\n999\n1000'
    done
    leaserun run --output-tail 12 --log-format json "$KEY" -- sh -c 'echo x; exit 3' \
        2>"$BATS_TEST_TMPDIR/log" || true
    run ! grep -q output_tail "$BATS_TEST_TMPDIR/log"
}

@test "the tail may be of any bytes" {
    leaserun run --output discard --output-tail 100 --log-format json "$KEY" -- \
        sh -c 'printf "a\000b\377c\n"; exit 3' 2>"$BATS_TEST_TMPDIR/log" || true
    expect_equal "$(json_field output_tail <"$BATS_TEST_TMPDIR/log" | od -An -c | tr -d ' \n')" \
        'a\0b357277275c\n\n'
}
