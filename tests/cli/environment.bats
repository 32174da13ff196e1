#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Whatever leaserun is started from and with, the command runs the same.
# stores: postgresql sqlite

load ../lib/helpers

@test "descriptors 0, 1 and 2 closed: the command has /dev/null there" {
    "$TOOLS/start_as" --close 0 --close 1 --close 2 -- "$LEASERUN" run "$KEY" -- \
        sh -c 'readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 >"$1"' sh "$BATS_TEST_TMPDIR/fds"
    # readlink's own 1 is the file; 0 and 2 are what was given.
    expect_equal "$(sed -n '1p;3p' "$BATS_TEST_TMPDIR/fds")" $'/dev/null\n/dev/null'
}

@test "only stdin closed, only stdout closed, only stderr closed: the status is the command's" {
    for fd in 0 1 2; do
        run "$TOOLS/start_as" --close $fd -- "$LEASERUN" run "$KEY" -- sh -c 'exit 7'
        expect_status 7
    done
}

@test "SIGCHLD blocked at the start: the status is the command's" {
    run timeout 10 "$TOOLS/start_as" --block 17 -- "$LEASERUN" run "$KEY" -- sh -c 'exit 7'
    expect_status 7
}

@test "SIGCHLD ignored at the start: the status is the command's" {
    run timeout 10 "$TOOLS/start_as" --ignore 17 -- "$LEASERUN" run "$KEY" -- sh -c 'exit 7'
    expect_status 7
}

@test "TERM blocked or ignored at the start: TERM ends the run all the same" {
    for how in --block --ignore; do
        start "$TOOLS/start_as" $how 15 -- "$LEASERUN" run "$KEY" -- sh -c 'echo running; sleep 60'
        await 10 has_said "$PID" running
        kill -TERM "$PID"
        finish "$PID" 10
        [ "$STATUS" -ne 0 ]
    done
}

@test "SIGPIPE ignored at the start: it is default in the command" {
    run "$TOOLS/start_as" --ignore 13 -- "$LEASERUN" run "$KEY" -- sh -c 'kill -PIPE $$; sleep 5'
    expect_status 141
}

@test "a cron-like environment: no LANG, no USER, no terminal, cwd /" {
    cd /
    run env -i PATH=/usr/bin:/bin HOME=/ LEASERUN_STORE="$LEASERUN_STORE" \
        "$LEASERUN" run "$KEY" -- sh -c 'exit 3'
    expect_status 3
}

@test "LANG=C and LANG=C.UTF-8 name the same key" {
    start_holder
    LC_ALL=C run leaserun run "$KEY" -- true
    expect_status 75
    LC_ALL=C.UTF-8 run leaserun run "$KEY" -- true
    expect_status 75
}

@test "an empty environment but for the store" {
    run env -i LEASERUN_STORE="$LEASERUN_STORE" "$LEASERUN" run "$KEY" -- /bin/true
    expect_status 0
}

@test "no HOME" {
    run env -u HOME "$LEASERUN" run "$KEY" -- true
    expect_status 0
}

@test "a user without passwd entry" {
    # The build may lie in a folder that only root may enter.
    mkdir "$BATS_TEST_TMPDIR/own"
    cp "$LEASERUN" "$LEASERUN-guard" "$BUILD"/src/*.so "$BATS_TEST_TMPDIR/own"
    chown 54321 "$BATS_TEST_TMPDIR/own"
    chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
    if [ "$STORE_KIND" = sqlite ]; then
        LEASERUN_STORE=sqlite:$BATS_TEST_TMPDIR/own/leaserun.db
    fi
    run setpriv --reuid 54321 --regid 54321 --clear-groups env -u HOME \
        "$BATS_TEST_TMPDIR/own/leaserun" run "$KEY" -- id -u
    expect_status 0
    expect_equal "$output" 54321
}

@test "a full disk under stderr changes nothing for the command" {
    start_holder
    run sh -c '"$@" 2>/dev/full' sh "$LEASERUN" run "$KEY" -- true
    expect_status 75
    stop_started
    run sh -c '"$@" 2>/dev/full' sh "$LEASERUN" run --timeout 300ms "$KEY" -- sleep 30
    expect_status 124
}

@test "a reader of stderr that has gone changes nothing" {
    run bash -c '"$@" 2> >(exec 0<&-; exit 0)' bash "$LEASERUN" run --timeout 500ms "$KEY" -- sleep 30
    expect_status 124
}

@test "a host name with odd characters, or none, is no obstacle" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
    for name in 'a/b c' 'x'; do
        run unshare --uts sh -c 'hostname "$1" 2>/dev/null || printf %s "$1" >/proc/sys/kernel/hostname; shift; "$@"' \
            sh "$name" "$LEASERUN" run "$KEY" -- true
        expect_status 0
    done
}

@test "leaserun in leaserun, with another key and with its own" {
    run --separate-stderr leaserun run "$KEY" -- env LEASERUN_STORE="$LEASERUN_STORE" \
        "$LEASERUN" run "$KEY.inner" -- sh -c 'echo "$LEASERUN_KEY"; exit 4'
    expect_status 4
    expect_equal "$output" "$KEY.inner"
    run leaserun run "$KEY" -- env LEASERUN_STORE="$LEASERUN_STORE" "$LEASERUN" run "$KEY" -- true
    expect_status 75
}

@test "nothing is left behind: no child, no open lease" {
    leaserun run "$KEY" -- sh -c 'sleep 0.05 & exit 0'
    expect_equal "$(lease_field "$KEY" state)" released
    run pgrep -f -- "leaserun-guard.*$KEY"
    expect_status 1
}
