#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Others cannot read, forge or drive what they should not: core dumps, hostile names and servers,
# the files of the local store, the options that are the guard's alone. (Memory, environment and
# passwords: leaks.bats; least rights: databases.bats.)
# stores: postgresql sqlite

load ../lib/helpers

NASTY=$'evil\e[2J\a\t\x7f\xc2\x9b31m\xe2\x80\xae\xff=" \\'

# leaserun as another user, from a folder that it may enter, with a store of its own; sets OTHER.
other_user() { # UID
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    cp "$LEASERUN" "$LEASERUN-guard" "$BUILD"/src/*.so "$BATS_TEST_TMPDIR/bin"
    chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
    OTHER=(setpriv --reuid "$1" --regid "$1" --clear-groups env -u HOME "$BATS_TEST_TMPDIR/bin/leaserun")
}

no_control_characters() { # FILE...
    run ! env LC_ALL=C grep -a -n -P '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]' "$@"
}

hostile_server() { # MODE
    local folder
    folder=$(mktemp -d "$BATS_TEST_TMPDIR/hostile.XXXXXX")
    start python3 "$TESTS/lib/hostilepg.py" "$folder" "$1"
    await 10 test -S "$folder/.s.PGSQL.5432"
    LEASERUN_STORE=postgresql:///x?host=$folder
}

# ---- core dumps ------------------------------------------------------------------------------

# Whether a process that a signal ended has left a core, as the kernel says.
dies_with_core() { # SIGNAL COMMAND...
    python3 - "$@" <<'END'
import os, resource, signal, subprocess, sys
def prepare():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    os.chdir(os.environ['BATS_TEST_TMPDIR'])
child = subprocess.Popen(sys.argv[2:], preexec_fn=prepare, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
child.stdout.readline()
victim = child.pid
if sys.argv[1] == 'guard':
    victim = int(subprocess.run(['pgrep', '-P', str(child.pid)], capture_output=True, text=True).stdout)
os.kill(victim, signal.SIGSEGV)
if victim == child.pid:
    print('core' if os.WCOREDUMP(os.waitpid(child.pid, 0)[1]) else 'no core')
else:
    child.wait()
    print('core' if os.path.exists('core') or any(name.startswith('core.') for name in os.listdir(os.environ['BATS_TEST_TMPDIR'])) else 'no core')
END
}

@test "leaserun and its guard leave no core, whatever the limit" {
    expect_equal "$(dies_with_core self "$LEASERUN" run "$KEY" -- sh -c 'echo running; exec sleep 60')" 'no core'
    await 10 eval '! is_held "$KEY"'
    expect_equal "$(dies_with_core guard "$LEASERUN" run "$KEY" -- sh -c 'echo running; exec sleep 60')" 'no core'
}

@test "the command may leave a core: its limit and its dumpable flag are its own" {
    # A sanitizer would lower the limit.
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:disable_coredump=0 run bash -c 'ulimit -c 4096 && "$@"' bash "$LEASERUN" run "$KEY" -- bash -c 'ulimit -c; stat -c %u /proc/self/environ'
    expect_equal "$output" "4096"$'\n'"$(id -u)"
}

# ---- hostile names ---------------------------------------------------------------------------

@test "a key with control characters reaches no terminal: three formats, all commands" {
    key="${NASTY/$'\xff'/}$KEY" # which is UTF-8
    start "$LEASERUN" run "$key" -- sh -c 'echo running; exec sleep 60'
    await 10 has_said "$PID" running
    for format in text logfmt json; do
        leaserun run --log-level debug --log-format $format "$key" -- true 2>>"$BATS_TEST_TMPDIR/err" || true
    done
    [ "$(wc -l <"$BATS_TEST_TMPDIR/err")" -eq 3 ]
    for words in status 'status --json' history 'history --json' release 'release --stop' \
        'status --max-age 1h' 'run --dry-run'; do
        # shellcheck disable=SC2086
        case $words in
        run*) leaserun $words "$key" -- "$NASTY" ;;
        *) leaserun $words "$key" ;;
        esac >>"$BATS_TEST_TMPDIR/out" 2>>"$BATS_TEST_TMPDIR/err" || true
    done
    no_control_characters "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/err"
}

@test "a command, a user and a host with control characters in their names forge no line" {
    name=$'no\nat=2000-01-01T00:00:00.000000Z level=error event=forged\e[2J'
    for format in text logfmt json; do
        run -127 --separate-stderr leaserun run --log-format $format "$KEY" -- "$name"
        expect_one_line
        printf '%s\n' "$stderr" >>"$BATS_TEST_TMPDIR/err"
    done
    no_control_characters "$BATS_TEST_TMPDIR/err"
    [ "$(id -u)" -eq 0 ] || skip 'the rest needs root'
    unshare --uts sh -c 'printf "a\033[2J/b" >/proc/sys/kernel/hostname; exec "$@"' sh \
        "$LEASERUN" run "$KEY" -- true
    expect_contains "$(lease_field "$KEY" holder)" 'a_[2J_b/'
}

@test "what another wrote into the store reaches no terminal" {
    leaserun run "$KEY" -- true
    case $STORE_KIND in
    postgresql)
        [ -n "$DATABASE" ]
        pg_sql main "$DATABASE" "update leaserun.leases set holder = E'a\\x1b[2J\\u009b', released = false, expires_at = now() + '1 minute'" \
            "update leaserun.runs set holder = E'a\\x1b[2J'" 'create index "a'$'\e''[2J" on leaserun.leases (fence)'
        ;;
    sqlite)
        python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("update leases set holder = ?, is_released = 0, pid = 1, start_ticks = -1, expires_boot_ms = 1 << 60", ("a\x1b[2J\x9b",))
db.execute("update runs set holder = ?", ("a\x1b[2J",))
db.commit()' "$STORE_FILE"
        ;;
    esac
    for words in "status" "history" "run --log-level debug $KEY" "run --dry-run $KEY" 'check --connect'; do
        case $words in
        run*) leaserun ${words% "$KEY"} "$KEY" -- true ;;
        *) leaserun $words ;;
        esac >>"$BATS_TEST_TMPDIR/out" 2>&1 || true
    done
    grep -q 'u001b' "$BATS_TEST_TMPDIR/out"
    no_control_characters "$BATS_TEST_TMPDIR/out"
    fresh_store
}

# ---- hostile servers -------------------------------------------------------------------------

@test "whatever a hostile server answers: no crash, no hang, no command, one printable line each" {
    [ "$STORE_KIND" = postgresql ] || skip 'needs a server'
    for mode in refuse refuse-big noise endless no-clock odd-clock fault fault-big fault-code \
        farewell held no-fence copy-in copy-out copy-both; do
        hostile_server $mode
        for format in text logfmt json; do
            run --separate-stderr timeout --signal KILL 20 "$LEASERUN" run --log-format $format \
                --start-within 0 "$KEY" -- touch "$BATS_TEST_TMPDIR/ran"
            [ "$status" -eq 69 ] || [ "$mode $status" = 'held 75' ] ||
                { echo "$mode, $format: $status, $stderr" >&2; false; }
            [ "${#stderr_lines[@]}" -le 2 ]
            [ "${#stderr}" -lt 8000 ]
            printf '%s\n' "$stderr" >>"$BATS_TEST_TMPDIR/err"
        done
        stop_started
    done
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    no_control_characters "$BATS_TEST_TMPDIR/err"
}

@test "lists of a hostile server stay within their lines" {
    [ "$STORE_KIND" = postgresql ] || skip 'needs a server'
    hostile_server held
    for words in status 'status --json' 'run --dry-run k -- true' 'run --log-level debug k -- true'; do
        # shellcheck disable=SC2086
        timeout --signal KILL 20 "$LEASERUN" $words >>"$BATS_TEST_TMPDIR/out" 2>&1 || true
    done
    grep -q 'u001b' "$BATS_TEST_TMPDIR/out"
    no_control_characters "$BATS_TEST_TMPDIR/out"
}

# ---- passwords -------------------------------------------------------------------------------

@test "a password in a URL that is written wrongly is not shown either" {
    [ "$STORE_KIND" = postgresql ] || skip 'needs no password'
    for url in 'postgresql://u:s3?cret@nowhere.invalid/db' ' postgresql://u:s3cret@nowhere.invalid/db' \
        'postgresql://u:s3/?cret@nowhere.invalid/db' 'postgresql:u:s3cret@nowhere.invalid/db' \
        'u:s3cret@nowhere.invalid/db' 'url=postgresql://u:s3cret@nowhere.invalid/db' \
        'postgresql//u:s3cret@nowhere.invalid/db' '"postgresql://u:s3cret@nowhere.invalid/db"'; do
        for words in check 'check --connect' 'run --log-level debug --start-within 0 k -- true' init; do
            # shellcheck disable=SC2086
            LEASERUN_STORE=$url timeout 20 "$LEASERUN" $words >>"$BATS_TEST_TMPDIR/out" 2>&1 || true
        done
    done
    [ -s "$BATS_TEST_TMPDIR/out" ]
    run ! grep -n -e cret -e 's3' "$BATS_TEST_TMPDIR/out"
}

# ---- the local store's files -----------------------------------------------------------------

@test "the local store is its user's alone, whatever the umask" {
    [ "$STORE_KIND" = sqlite ] || skip 'is about files'
    other_user 54321
    mkdir "$BATS_TEST_TMPDIR/state"
    chown 54321 "$BATS_TEST_TMPDIR/state"
    umask 0
    XDG_STATE_HOME="$BATS_TEST_TMPDIR/state" "${OTHER[@]}" run --local "$KEY" -- true
    umask 022
    expect_equal "$(stat -c %a "$BATS_TEST_TMPDIR/state/leaserun")" 700
    expect_equal "$(stat -c %a "$BATS_TEST_TMPDIR"/state/leaserun/* | sort -u)" 600
    run --separate-stderr setpriv --reuid 54322 --regid 54322 --clear-groups \
        "$BATS_TEST_TMPDIR/bin/leaserun" status --store "sqlite:$BATS_TEST_TMPDIR/state/leaserun/leaserun.db"
    expect_status 78
}

@test "a file, or a link to one, where others may put more beside it is refused: 78" {
    [ "$STORE_KIND" = sqlite ] || skip 'is about files'
    mkdir -m 1777 "$BATS_TEST_TMPDIR/shared"
    mkdir -m 700 "$BATS_TEST_TMPDIR/own"
    (umask 077 && : >"$BATS_TEST_TMPDIR/shared/db")
    ln -s "$BATS_TEST_TMPDIR/shared/db" "$BATS_TEST_TMPDIR/own/db"
    for file in shared/db shared/new own/db; do
        run --separate-stderr leaserun run --store "sqlite:$BATS_TEST_TMPDIR/$file" "$KEY" -- true
        expect_status 78
        expect_contains "$stderr" 'may be written by other users'
    done
    expect_equal "$(ls "$BATS_TEST_TMPDIR/shared")" db
}

# ---- the guard and its options ---------------------------------------------------------------

@test "the options of the guard give nobody anything" {
    start_holder
    fence=$(lease_field "$KEY" fence)
    printf '%s\0leaserun\0' "$LEASERUN_STORE" >"$BATS_TEST_TMPDIR/store"
    leaserun release --store-fd 7 --holder 'host/1/guessed' -- "$KEY" 7<"$BATS_TEST_TMPDIR/store"
    expect_equal "$(lease_field "$KEY" fence) $(lease_field "$KEY" state)" "$fence held"
    run leaserun release --store-fd 7 "$KEY"
    expect_status 64
    run leaserun release --holder x "$KEY"
    expect_status 64
    for text in '' 'no end' "$(head -c 100000 /dev/zero | tr '\0' x)"; do
        run leaserun release --store-fd 7 --holder x "$KEY" 7<<<"$text"
        expect_status 71
    done
    run leaserun release --store-fd 99 --holder x "$KEY"
    expect_status 71
}

@test "the guard started by hand does nothing" {
    run --separate-stderr "$LEASERUN-guard"
    expect_status 71
    expect_contains "$stderr" 'of no use alone'
    run --separate-stderr "$LEASERUN-guard" k fence=00000000000000000000 7 8 9 10 -- touch "$BATS_TEST_TMPDIR/ran"
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}
