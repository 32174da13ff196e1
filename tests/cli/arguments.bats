#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# `run` is transparent: arguments, streams, descriptors, signals and limits are the command's.
# stores: postgresql sqlite

load ../lib/helpers

in_command() { # COMMAND...
    leaserun run "$KEY" -- "$@"
}

@test "P10 arguments arrive untouched, options of the command among them" {
    run in_command printf '%s|' -v --help '' 'a b' '*' $'new\nline' -- --held-exit '$HOME' \\ \'
    expect_status 0
    expect_equal "$output" $'-v|--help||a b|*|new\nline|--|--held-exit|$HOME|\\|\'|'
}

@test "P10 an argument of 131000 bytes arrives whole" {
    long=$(head -c 131000 /dev/zero | tr '\0' x)
    run in_command sh -c 'printf %s "$1" | wc -c' sh "$long"
    expect_equal "$output" 131000
}

@test "P10 five megabytes of random bytes pass from stdin to stdout" {
    head -c 5000000 /dev/urandom >"$BATS_TEST_TMPDIR/in"
    in_command cat <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out"
    cmp "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out"
    in_command cat <"$BATS_TEST_TMPDIR/in" | cmp - "$BATS_TEST_TMPDIR/in"
    in_command sh -c 'cat >&2' <"$BATS_TEST_TMPDIR/in" 2>"$BATS_TEST_TMPDIR/err"
    cmp "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/err"
}

@test "P10 the command has exactly the descriptors that leaserun was given" {
    list='ls /proc/self/fd | sort -n | tr "\n" " "'
    outside=$(sh -c "$list" 3>&- 4>&-)
    inside=$(in_command sh -c "$list" 3>&- 4>&-)
    expect_equal "$inside" "$outside"
    outside=$(sh -c "$list" 3>&- 4>&- 7</dev/null 201>/dev/null)
    inside=$(in_command sh -c "$list" 3>&- 4>&- 7</dev/null 201>/dev/null)
    expect_equal "$inside" "$outside"
}

@test "P10 process substitution and extra descriptors work" {
    expect_equal "$(in_command cat <(echo one) <(echo two))" $'one\ntwo'
    expect_equal "$(in_command sh -c 'cat <&9' 9< <(echo nine))" nine
    in_command sh -c 'echo written >&9' 9>"$BATS_TEST_TMPDIR/nine"
    expect_equal "$(cat "$BATS_TEST_TMPDIR/nine")" written
}

@test "P10 writing to /dev/stdout and /dev/stderr works" {
    expect_equal "$(in_command sh -c 'echo x >/dev/stdout')" x
    expect_equal "$(in_command sh -c 'echo y >/dev/stderr' 2>&1)" y
}

@test "P10 no descriptor was made non-blocking" {
    flags=$(in_command grep flags /proc/self/fdinfo/1 | awk '{print $2}')
    [ $((flags & 04000)) -eq 0 ]
}

@test "P10 a reader at the other end sees the end when the command closes its output" {
    before=$(now_ms)
    "$LEASERUN" run "$KEY" -- sh -c 'echo said; exec >&- 2>&-; sleep 1.5' 2>/dev/null | {
        cat
        [ $(($(now_ms) - before)) -lt 1300 ]
    }
}

@test "P10 signals are default and none is blocked in the command" {
    masks=$(in_command cat /proc/self/status | awk '/^Sig(Blk|Ign|Cgt)/ { print $2 }' | sort -u)
    expect_equal "$masks" 0000000000000000
}

@test "P10 a nohup stays a nohup" {
    ignored=$("$TOOLS/start_as" --ignore 1 -- "$LEASERUN" run "$KEY" -- \
        awk '/^SigIgn/ { print $2 }' /proc/self/status)
    expect_equal "$ignored" 0000000000000001
    ignored=$("$TOOLS/start_as" --ignore 2 --ignore 3 -- "$LEASERUN" run "$KEY" -- \
        awk '/^SigIgn/ { print $2 }' /proc/self/status)
    expect_equal "$ignored" 0000000000000006
}

@test "P10 the working folder, umask and limits are the command's" {
    cd "$BATS_TEST_TMPDIR"
    umask 027
    ulimit -S -n 321
    ulimit -S -c 0
    expect_equal "$(in_command sh -c 'pwd; umask; ulimit -S -n; ulimit -S -c')" \
        "$BATS_TEST_TMPDIR"$'\n0027\n321\n0'
}

@test "P10 the core limit that leaserun lowers for itself is not the command's" {
    ulimit -S -c unlimited 2>/dev/null || skip 'no right to dump core here'
    expect_equal "$(in_command sh -c 'ulimit -S -c')" unlimited
}

@test "P10 the environment is the command's, with the facts of the run added" {
    run env -i PATH="$PATH" LEASERUN_STORE="$LEASERUN_STORE" MINE='a b' EMPTY= \
        "$LEASERUN" run "$KEY" -- env
    expect_status 0
    expect_contains "$output" 'MINE=a b'
    expect_contains "$output" "LEASERUN_KEY=$KEY"
    [[ $output =~ LEASERUN_FENCE=[1-9][0-9]* ]]
    [[ $output =~ LEASERUN_RUN_ID=[a-z2-7]{26} ]]
    grep -qx 'EMPTY=' <<<"$output"
    # Nothing but these: what was given less the store, what is told of the run, what sh adds.
    unexpected=$(grep -vE '^(PATH|MINE|EMPTY|LEASERUN_(KEY|FENCE|RUN_ID|SLOT|JOB|ATTEMPT|SOCKET))=' <<<"$output") || true
    expect_equal "$unexpected" ''
}

@test "P10 the store's address, which may hold a password, is not in the command's environment" {
    run in_command env
    [[ $output != *LEASERUN_STORE* ]]
}

@test "P10 the command is in a process group of its own, in leaserun's session" {
    read -r pid group session < <(in_command sh -c 'ps -o pid=,pgid=,sid= -p $$')
    expect_equal "$group" "$pid"
    expect_equal "$session" "$(ps -o sid= -p $$ | tr -d ' ')"
}

@test "P11 output of a background child that ends with the command is whole" {
    run in_command sh -c 'for i in 1 2 3; do (echo $i) & done; wait'
    expect_equal "$(printf '%s\n' "${lines[@]}" | sort | tr -d '\n')" 123
}

@test "P12 ps shows key and fence of what runs, even without the database" {
    start_holder
    fence=$(lease_field "$KEY" fence)
    guard=$(ps -eo args | grep -F -- "$KEY" | grep -F guard | head -n 1)
    expect_contains "$guard" "$KEY"
    expect_contains "$guard" "$fence"
}
