#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Where the system gives little, or not what leaserun needs: it says so in one line and ends, or
# runs the command all the same; it never crashes, hangs, or does harm.
# stores: postgresql sqlite

load ../lib/helpers

# Of nobody else, for the limit on processes counts all of a user's.
LIMITED_USER=54331
[ "$STORE_KIND" = postgresql ] || LIMITED_USER=54332

setup_file() {
    fresh_store
    mkdir "$BATS_FILE_TMPDIR/bin"
    cp "$LEASERUN" "$LEASERUN-guard" "$BUILD"/src/*.so "$BATS_FILE_TMPDIR/bin"
    chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/file" "$BATS_FILE_TMPDIR" 2>/dev/null || true
    chown $LIMITED_USER "$BATS_FILE_TMPDIR/bin"
}

setup() {
    fresh_key
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
}

# As a user without rights, under limits of prlimit(1). No file of ours stands at stderr.
under_limits() { # LIMIT... -- ARGUMENT...
    [ "$STORE_KIND" = postgresql ] || local -x LEASERUN_STORE=sqlite:$BATS_FILE_TMPDIR/bin/leaserun.db
    local limits=()
    while [ "$1" != -- ]; do
        limits+=("$1")
        shift
    done
    run --separate-stderr bash -o pipefail -c '{ "$@" 2>&1 >&4 4>&- | cat >&2; } 4>&1' bash timeout --signal KILL 30 setpriv --reuid $LIMITED_USER --regid $LIMITED_USER --clear-groups \
        prlimit "${limits[@]}" -- "$BATS_FILE_TMPDIR/bin/leaserun" "${@:2}"
}

limited() { # LIMIT...
    under_limits "$@" -- run --start-within "${PATIENCE:-200ms}" "$KEY" -- sh -c 'exit 3'
}

# Runs the command, or says in one line why not.
expect_run_or_reason() { # WORD...
    [ "$status" -eq 3 ] || [ "$status" -eq 69 ] || [ "$status" -eq 71 ] || [ "$status" -eq 78 ] ||
        { echo "status $status: $stderr" >&2; return 1; }
    expect_one_line
    [ "$status" -eq 3 ] || expect_contains "$stderr" "$1"
}

@test "too few processes: a line that says so, or the run" {
    skip_with_sanitizer
    for count in 1 2 3 4 5 6 8; do
        limited --nproc=$count
        expect_run_or_reason ' '
    done
    expect_status 3
    limited --nproc=1
    expect_status 71
    limited --nproc=2
    [ "$status" -ne 3 ]
}

@test "too few processes for a scheduler: a line that says so" {
    skip_with_sanitizer
    printf '[job one]\nschedule = every 1h\nexec = true\n' >"$BATS_FILE_TMPDIR/bin/jobs.ini"
    for count in 1 3; do
        under_limits --nproc=$count -- schedule "$BATS_FILE_TMPDIR/bin/jobs.ini"
        expect_status 71
        expect_one_line
        expect_contains "$stderr" 'no thread can be made'
    done
}

@test "no thread for a name's look-up: a line that says so" {
    [ "$STORE_KIND" = postgresql ] || skip 'looks no name up'
    # Time for one attempt at least, however busy the host is: it is the reason that counts.
    LEASERUN_STORE="postgresql://localhost:$(cat "$PG_ROOT/main/port")/x" PATIENCE=3s limited --nproc=3
    expect_status 69
    expect_contains "$stderr" 'no thread can be made'
}

@test "too few descriptors: a line that names the limit, and 20 are enough" {
    for count in 8 12 14 16 20; do
        limited --nofile=$count
        expect_run_or_reason 'ulimit -n'
    done
    expect_status 3
}

@test "no file may grow: a line that says so" {
    limited --fsize=0
    expect_status 71
    expect_contains "$stderr" 'File too large'
    [ "$STORE_KIND" = sqlite ] || skip 'needs no file'
    limited --fsize=20000
    expect_status 69
    expect_contains "$stderr" 'File too large'
}

@test "little memory: a line that says so, or the run" {
    skip_with_sanitizer
    for bytes in 20000000 40000000 60000000; do
        limited --as=$bytes
        expect_run_or_reason ' '
    done
}

@test "/proc is not mounted, or is another pid namespace's: refused, no process is touched" {
    skip_with_sanitizer
    run --separate-stderr unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
        "$LEASERUN" run "$KEY" -- true
    expect_status 71
    expect_contains "$stderr" '/proc'
    run --separate-stderr unshare --pid --fork --kill-child "$LEASERUN" run "$KEY" -- true
    expect_status 71
    expect_contains "$stderr" 'another pid namespace'
}

@test "the file system is read-only, /dev has no tty, /tmp cannot be written: no matter, or a line" {
    run --separate-stderr unshare --mount sh -c 'mount -t tmpfs -o ro none /var/tmp && mount -t tmpfs none /dev && exec "$@"' sh \
        "$LEASERUN" run "$KEY" -- sh -c 'exit 3'
    expect_status 3
    [ "$STORE_KIND" = sqlite ] || return 0
    leaserun run "$KEY" -- true
    run --separate-stderr unshare --mount sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"' \
        "${STORE_FILE%/*}" "$LEASERUN" run "$KEY" -- sh -c 'exit 3'
    expect_status 78
    expect_one_line
}

@test "system calls that a sandbox does not know: the run, or a line that says so" {
    [ "$(uname -m)" = x86_64 ] || skip 'knows the numbers of x86-64'
    # pidfd_open pidfd_send_signal memfd_create socketpair signalfd4 timerfd_create eventfd2 execveat
    for number in 434 424 319 53 289 283 290 322; do
        run --separate-stderr timeout --signal KILL 20 python3 "$TESTS/lib/without_syscall.py" $number \
            "$LEASERUN" run "$KEY" -- sh -c 'exit 3'
        [ "$status" -eq 3 ] || [ "$status" -eq 71 ] || { echo "$number: $status, $stderr" >&2; false; }
        [ "$status" -eq 3 ] || expect_contains "${stderr,,}" 'function not implemented'
    done
    expect_status 3
}

@test "pidfds that a sandbox forbids: the tree is ended all the same" {
    [ "$(uname -m)" = x86_64 ] || skip 'knows the numbers of x86-64'
    mark=8$RANDOM$RANDOM
    run timeout --signal KILL 20 python3 "$TESTS/lib/without_syscall.py" 434 "$LEASERUN" run --grace 1s "$KEY" -- sh -c '
        setsid sh -c "trap \"\" TERM; setsid sleep $1 & sleep $1 & wait" & sleep 0.3; exit 3' sh $mark
    expect_status 3
    run ! pgrep -f "sleep $mark\$"
}

@test "a pipe on stderr that is full and that nobody reads: the run ends in time, with its status" {
    run timeout --signal KILL 30 python3 - "$LEASERUN" "$KEY" <<'END'
import fcntl, os, subprocess, sys
reader, writer = os.pipe()
fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
os.write(writer, b'x' * 4096)
for words, wanted in ((['sh', '-c', 'exit 5'], 5), (['nosuch'], 127), (['sh', '-c', 'kill -9 $$'], 137)):
    child = subprocess.run([sys.argv[1], 'run', '--log-level', 'debug', sys.argv[2], '--'] + words, stderr=writer, timeout=15)
    assert child.returncode == wanted, child.returncode
END
    expect_status 0
}

@test "a pipe on stderr that is full and that nobody reads: a wrong command line ends in time" {
    run timeout --signal KILL 20 python3 - "$LEASERUN" <<'END'
import fcntl, os, subprocess, sys
reader, writer = os.pipe()
fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
os.write(writer, b'x' * 4096)
for words in (['run', '--nosuch'], ['nosuch'], ['status', '--store', 'what:ever']):
    child = subprocess.run([sys.argv[1]] + words, stderr=writer, timeout=5)
    assert child.returncode in (64, 78), child.returncode
END
    expect_status 0
}

@test "twenty thousand descriptors are the command's, and little time is lost" {
    run timeout --signal KILL 60 python3 - "$LEASERUN" "$KEY" <<'END'
import os, resource, subprocess, sys
most = min(20000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 100)
resource.setrlimit(resource.RLIMIT_NOFILE, (most + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
for _ in range(most):
    os.set_inheritable(os.dup(0), True)
shell = ['sh', '-c', 'ls /proc/self/fd | wc -l']
plain = subprocess.run(shell, close_fds=False, capture_output=True)
ours = subprocess.run([sys.argv[1], 'run', sys.argv[2], '--'] + shell, close_fds=False, capture_output=True, timeout=20)
assert int(plain.stdout) > most and ours.stdout == plain.stdout, (plain, ours)
END
    expect_status 0
}
