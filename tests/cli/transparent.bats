#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P10 further: what a command inherits, files that are shared with others, and leaserun as process 1.
# stores: postgresql sqlite

load ../lib/helpers

in_command() { # COMMAND...
    leaserun run "$KEY" -- "$@"
}

# The same inside and outside.
expect_same() { # SHELL COMMAND
    expect_equal "$(in_command sh -c "$1")" "$(sh -c "$1")"
}

@test "P10 every limit, soft and hard, is the command's" {
    ulimit -S -n 123
    ulimit -H -n 456
    ulimit -S -s 4096
    ulimit -S -c 0
    limits='grep -v "^Max pending signals" /proc/self/limits'
    expect_same "$limits"
    expect_contains "$(in_command cat /proc/self/limits)" '456'
}

@test "P10 niceness, affinity, groups, capabilities and the session are the command's" {
    expect_equal "$(nice -n 7 "$LEASERUN" run "$KEY" -- nice)" "$(nice -n 7 nice)"
    expect_equal "$(taskset -c 0 "$LEASERUN" run "$KEY" -- taskset -c -p 0 | sed 's/.*: //')" \
        "$(taskset -c 0 taskset -c -p 0 | sed 's/.*: //')"
    expect_same 'id'
    expect_same 'grep -E "^(Cap|NoNewPrivs|Seccomp|Groups|CoreDumping)" /proc/self/status'
    expect_same 'ps -o sid= -p $$'
    expect_same 'cat /proc/self/oom_score_adj /proc/self/cgroup'
    expect_same 'readlink /proc/self/cwd /proc/self/root'
}

@test "P10 supplementary groups of another user are the command's" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
    if [ "$STORE_KIND" = sqlite ]; then
        mkdir "$BATS_TEST_TMPDIR/own"
        chown 54321 "$BATS_TEST_TMPDIR/own"
        chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
        LEASERUN_STORE=sqlite:$BATS_TEST_TMPDIR/own/leaserun.db
    fi
    as_user='setpriv --reuid 54321 --regid 54322 --groups 54323,54324'
    expect_equal "$($as_user "$LEASERUN" run "$KEY" -- id)" "$($as_user id)"
}

@test "P10 leaserun's own safety is not the command's: it can be traced and dump core as any other" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
    expect_same 'stat -c %u /proc/$$/environ'
    uid=$(setpriv --reuid 65534 sh -c 'stat -c %u /proc/$$/environ')
    expect_equal "$uid" 65534
}

@test "P10 a writer into a command that has closed its input is told at once" {
    since=$(now_ms)
    status=0
    { yes || status=$?; echo $(($(now_ms) - since)) "$status" >"$BATS_TEST_TMPDIR/yes"; } |
        "$LEASERUN" run "$KEY" -- sh -c 'exec <&-; sleep 2' 2>/dev/null
    read -r took status <"$BATS_TEST_TMPDIR/yes"
    [ "$took" -lt 1500 ]
    [ "$status" -ne 0 ]
}

@test "P10 no flag of the three standard files is changed, also after leaserun has written to them" {
    start_holder
    mkfifo "$BATS_TEST_TMPDIR/pipe"
    exec 7<>"$BATS_TEST_TMPDIR/pipe"
    before=$(grep flags /proc/self/fdinfo/7)
    "$LEASERUN" run "$KEY" -- true <&7 >&7 2>&7 || true # held
    "$LEASERUN" run "$KEY.2" -- sh -c 'exit 3' <&7 >&7 2>&7 || true
    "$LEASERUN" run "$KEY.2" -- grep flags /proc/self/fdinfo/0 /proc/self/fdinfo/1 \
        /proc/self/fdinfo/2 <&7 2>&7 >"$BATS_TEST_TMPDIR/flags"
    expect_equal "$(grep flags /proc/self/fdinfo/7)" "$before"
    run ! grep -E 'flags:.*[0-9]*[4-7][0-9]{3}$' "$BATS_TEST_TMPDIR/flags"
    exec 7>&-
}

@test "P10 as process 1 it ends with the command's status and reaps strangers and orphans" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
    start unshare --pid --fork --kill-child --mount-proc "$LEASERUN" run "$KEY" -- sh -c '
        i=0
        while [ $i -lt 50 ]; do (sleep 1 &); i=$((i + 1)); done
        echo running
        until [ -e "$1" ]; do sleep 0.05; done
        exit 7' sh "$BATS_TEST_TMPDIR/end"
    await 10 has_said "$PID" running
    first=$(pgrep -P "$PID")
    # Strangers: started by somebody else in its process namespace, they come to process 1.
    nsenter -t "$first" -p -m sh -c 'i=0
        while [ $i -lt 50 ]; do (sleep 1 &); i=$((i + 1)); done'
    inside() { pgrep --ns "$first" --nslist pid "$@"; }
    all_are_gone() {
        ! inside -x -f 'sleep 1' && ! inside --runstates Z .
    }
    await 5 inside -x -f 'sleep 1'
    await 10 all_are_gone
    : >"$BATS_TEST_TMPDIR/end"
    finish "$PID" 10
    expect_equal "$STATUS" 7
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'failed 7'
}

@test "P10 as process 1 it heeds TERM, INT and HUP and passes them on" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
    for name in TERM INT HUP; do
        start "$TOOLS/start_as" --default 2 -- unshare --pid --fork --kill-child --mount-proc \
            "$LEASERUN" run "$KEY" -- sh -c 'echo running; exec sleep 60'
        await 10 has_said "$PID" running
        kill -$name "$(pgrep -P "$PID")"
        finish "$PID" 10
        expect_equal "$STATUS" $((128 + $(kill -l $name)))
        expect_equal "$(lease_field "$KEY" state)" released
    done
}

@test "leaserun in leaserun: the inner one's facts are the inner command's, the outer one waits for all" {
    run --separate-stderr leaserun run "$KEY" -- env LEASERUN_STORE="$LEASERUN_STORE" "$LEASERUN" run \
        "$KEY.inner" -- sh -c 'echo "$LEASERUN_KEY"; exit 5'
    expect_status 5
    expect_equal "$output" "$KEY.inner"
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY.inner" outcome)" 'failed failed'
    [ "$(lease_field "$KEY" fence)" != "$(lease_field "$KEY.inner" fence)" ]
    # TERM to the outer one ends both, each gives its lease back
    start "$LEASERUN" run "$KEY" -- env LEASERUN_STORE="$LEASERUN_STORE" "$LEASERUN" run \
        "$KEY.inner" -- sh -c 'echo running; exec sleep 60'
    await 10 has_said "$PID" running
    kill -TERM "$PID"
    finish "$PID" 10
    expect_equal "$STATUS" 143
    expect_equal "$(lease_field "$KEY" state) $(lease_field "$KEY.inner" state)" 'released released'
}
