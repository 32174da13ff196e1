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

# ---- another user ----------------------------------------------------------------------------

# Settings for the jobs of a test: defaults LINE...
defaults() {
    INI=$BATS_TEST_TMPDIR/leaserun.ini
    DEFAULTS=$(printf '%s\n' '[defaults]' "$@")
}

# A job of that command, under $KEY; for `run --config "$INI" job`.
job() { # COMMAND...
    {
        printf '%s\n[job job]\nkey = %s\nschedule = @reboot\nexec =' "$DEFAULTS" "$KEY"
        printf " '%s'" "${@//\'/\'\\\'\'}"
        echo
    } >"$INI"
}

needs_root() {
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
}

run_as() { # COMMAND...
    job "$@"
    leaserun run --config "$INI" job
}

@test "user: its uid, gid and groups, all of them and no other" {
    needs_root
    for user in nobody daemon postgres 54321; do
        group=
        [ $user != 54321 ] || group='group = 54322'
        defaults "user = $user" "$group"
        run_as grep -E '^(Uid|Gid|Groups):' /proc/self/status >"$BATS_TEST_TMPDIR/out"
        case $user in
        54321) uid=54321 gid=54322 groups=54322 ;;
        *) uid=$(id -u $user) gid=$(id -g $user) groups=$(id -G $user) ;;
        esac
        # shellcheck disable=SC2086  # words
        expect_equal "$(tr -s '\t ' ' ' <"$BATS_TEST_TMPDIR/out" | sed 's/ $//')" "Uid: $uid $uid $uid $uid
Gid: $gid $gid $gid $gid
Groups: $(printf '%s\n' $groups | sort -n | xargs)"
    done
}

@test "group: alone it changes the group and nothing else" {
    needs_root
    defaults 'group = nogroup'
    expect_equal "$(run_as sh -c 'id -u; id -gn; echo "$MARK"; pwd' | xargs)" "0 nogroup $PWD"
    expect_equal "$(MARK=here run_as sh -c 'echo "$MARK"')" here
}

@test "user: no capability is left, whatever leaserun was started with" {
    needs_root
    defaults 'user = nobody'
    for start in 'setpriv' 'setpriv --inh-caps +chown,+setuid' \
        'setpriv --securebits +no_setuid_fixup' 'setpriv --inh-caps +chown,+setuid --ambient-caps +chown,+setuid'; do
        job grep -E '^Cap(Inh|Prm|Eff|Amb):' /proc/self/status
        # shellcheck disable=SC2086  # words
        $start "$LEASERUN" run --config "$INI" job >"$BATS_TEST_TMPDIR/out"
        expect_equal "$(cut -f2 "$BATS_TEST_TMPDIR/out" | sort | uniq -c | xargs)" '4 0000000000000000'
    done
}

@test "user: it cannot become root again, nor read or signal what watches over it" {
    needs_root
    defaults 'user = nobody'
    run_as python3 - "$(id -g)" <<'END'
import os, signal, sys
def must_fail(what, *arguments):
    try:
        what(*arguments)
    except PermissionError:
        return
    raise SystemExit(f'{what} {arguments} was allowed')
must_fail(os.setuid, 0)
must_fail(os.seteuid, 0)
must_fail(os.setgid, 0)
must_fail(os.setegid, 0)
must_fail(os.setgroups, [0])
must_fail(os.chroot, '/')
guard = os.getppid()
leaserun = int(open(f'/proc/{guard}/stat').read().rsplit(')', 1)[1].split()[1])
for pid in guard, leaserun:
    for name in 'environ', 'mem', 'maps':
        must_fail(open, f'/proc/{pid}/{name}')
    must_fail(os.listdir, f'/proc/{pid}/fd')
    for number in 0, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP:
        must_fail(os.kill, pid, number)
END
}

@test "user: nothing of leaserun's environment and descriptors comes along" {
    needs_root
    printf '# of the job\n\nFROM_FILE=a "b" $c\r\nBOTH=file\n' >"$BATS_TEST_TMPDIR/env"
    defaults 'user = daemon' "env-file = $BATS_TEST_TMPDIR/env" "env = BOTH=words 'WORDS=a  b'"
    echo secret >"$BATS_TEST_TMPDIR/secret"
    chmod 600 "$BATS_TEST_TMPDIR/secret"
    SECRET=1 LEASERUN_JOB=outer run_as env 7<"$BATS_TEST_TMPDIR/secret" | grep -v ^LEASERUN_ | sort >"$BATS_TEST_TMPDIR/out"
    expect_equal "$(cat "$BATS_TEST_TMPDIR/out")" 'BOTH=words
FROM_FILE=a "b" $c
HOME=/usr/sbin
LOGNAME=daemon
PATH=/usr/bin:/bin
SHELL=/bin/sh
USER=daemon
WORDS=a  b'
    # shellcheck disable=SC2016
    expect_equal "$(run_as sh -c 'for n in 2 3 4 5 6 7 8 9 10 11 12; do [ ! -e /proc/$$/fd/$n ] || echo $n; done; pwd' 7<"$BATS_TEST_TMPDIR/secret" | xargs)" '2 /usr/sbin'
    defaults 'user = nobody'
    expect_equal "$(run_as pwd)" / # it has no home
}

@test "user: its output's pipe is its own" {
    needs_root
    defaults 'user = nobody' 'output = lines'
    job sh -c 'echo a >/dev/stdout; echo b >/dev/stderr'
    leaserun run --config "$INI" --log-format text job 2>"$BATS_TEST_TMPDIR/err"
    expect_equal "$(sort "$BATS_TEST_TMPDIR/err")" "$KEY: stderr: b
$KEY: stdout: a"
}

@test "user: it dies with its guard, though leaserun stands still" {
    needs_root
    defaults 'user = nobody'
    job sh -c 'echo $$; exec sleep 60'
    start "$LEASERUN" run --config "$INI" job
    await 10 test -s "${OUTPUT[$PID]}.out"
    command=$(started_stdout "$PID")
    guard=$(pgrep -P "$PID")
    freeze "$PID"
    kill -KILL "$guard"
    await 2 is_gone "$command"
}

@test "user, group and folder: what there is not is told in a sentence, and nothing starts" {
    needs_root
    while IFS='|' read -r line code sentence; do
        defaults "$line"
        run --separate-stderr run_as touch "$BATS_TEST_TMPDIR/ran"
        [ "$line $status" = "$line $code" ]
        expect_contains "$stderr" "$sentence"
    done <<'END'
user = no-such-user|78|there is no user "no-such-user" on this host
user = 54321|78|no database of users knows the number 54321: give it a group
group = no-such-group|78|there is no group "no-such-group" on this host
cwd = /no/such/folder|71|cannot enter /no/such/folder, the working folder of touch: No such file
env-file = /no/such/file|78|env-file /no/such/file: No such file
END
    mkdir -m 700 "$BATS_TEST_TMPDIR/closed"
    defaults 'user = nobody' "cwd = $BATS_TEST_TMPDIR/closed"
    run --separate-stderr run_as true
    expect_status 71
    expect_contains "$stderr" "cannot enter $BATS_TEST_TMPDIR/closed, the working folder of true: Permission denied"
    expect_equal "$(run_field "$KEY" outcome)" not_started
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "an env-file that everybody may write is refused, and a fault in one has its line" {
    needs_root
    printf 'A=1\nB\n' >"$BATS_TEST_TMPDIR/env"
    defaults "env-file = $BATS_TEST_TMPDIR/env"
    run --separate-stderr run_as true
    expect_status 78
    expect_contains "$stderr" "$BATS_TEST_TMPDIR/env:2: this is not NAME=VALUE"
    chmod 666 "$BATS_TEST_TMPDIR/env"
    run --separate-stderr run_as true
    expect_status 78
    expect_contains "$stderr" 'may be written by every user: chmod o-w it'
}

@test "who is not root runs no other user's command, and claims nothing for it; its own it does" {
    needs_root
    other_user 54321
    mkdir "$BATS_TEST_TMPDIR/state"
    chown 54321 "$BATS_TEST_TMPDIR/state"
    defaults 'user = nobody'
    job true
    run --separate-stderr "${OTHER[@]}" run --config "$INI" --store "sqlite:$BATS_TEST_TMPDIR/state/db" job
    expect_status 78
    expect_contains "$stderr" 'may not run a command as user 65534, group 65534: start it as root'
    [ ! -e "$BATS_TEST_TMPDIR/state/db" ]
    defaults 'user = 54321' 'group = 54321'
    job id -u
    run --separate-stderr "${OTHER[@]}" run --config "$INI" --store "sqlite:$BATS_TEST_TMPDIR/state/db" job
    expect_status 0
    expect_equal "$output" 54321
}

@test "umask and cwd are the command's alone" {
    mkdir "$BATS_TEST_TMPDIR/place"
    printf '#!/bin/sh\numask\npwd\n' >"$BATS_TEST_TMPDIR/place/here"
    chmod 755 "$BATS_TEST_TMPDIR/place/here"
    defaults 'umask = 027' "cwd = $BATS_TEST_TMPDIR/place"
    expect_equal "$(run_as ./here | xargs)" "0027 $BATS_TEST_TMPDIR/place"
    run -127 --separate-stderr run_as ./gone
    expect_contains "$stderr" "cannot start $BATS_TEST_TMPDIR/place/./gone: No such file"
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

@test "a server that has crashed warns those who connect: one line of ours, none of libpq" {
    [ "$STORE_KIND" = postgresql ] || skip 'needs a server'
    hostile_server crash
    run --separate-stderr leaserun run --log-format json --start-within 0 "$KEY" -- true
    expect_status 69
    expect_one_line
    expect_equal "$(json_field sqlstate <<<"$stderr")" 57P03
    stop_started
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
