#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Nothing is left behind, and nothing gets out: processes, files, descriptors, connections, secrets.
# RUNS is the number of runs in the loops.
# stores: postgresql sqlite

load ../lib/helpers

RUNS=${RUNS:-200}

# The many runs take as long as a busy host needs: what is left is counted, not the time.
setup_file() {
    fresh_store
    export BATS_TEST_TIMEOUT=500
}

# Those of our processes that name the key in their arguments.
named() {
    pgrep -f -- "$KEY" || true
}

# A guard ends a moment after its leaserun.
await_none_named() {
    await 10 eval '[ -z "$(named)" ]'
}

count_descriptors() { # PID
    find "/proc/$1/fd" -mindepth 1 | wc -l
}

connections() {
    pg_sql main postgres "select count(*) from pg_stat_activity where datname = '$DATABASE'"
}

@test "P7 many runs: no process, no zombie, no file, no connection is left" {
    export TMPDIR=$BATS_TEST_TMPDIR/tmp HOME=$BATS_TEST_TMPDIR/home
    mkdir "$TMPDIR" "$HOME"
    shared_before=$(find /dev/shm /run -name '*leaserun*' 2>/dev/null)
    for run in $(seq "$RUNS"); do
        leaserun run "$KEY" -- true || { echo "run $run: status $?" >&2 && return 1; }
    done
    await_none_named
    expect_equal "$(find "$TMPDIR" "$HOME" -mindepth 1)" ''
    expect_equal "$(find /dev/shm /run -name '*leaserun*' 2>/dev/null)" "$shared_before"
    expect_equal "$(ps -o stat= --ppid $$ | grep -c '^Z' || true)" 0
    expect_equal "$(lease_field "$KEY" state)" released
    [ "$(lease_field "$KEY" fence)" -ge "$RUNS" ]
    expect_equal "$(leaserun history --json "$KEY" | grep -c . || true)" \
        "$(leaserun history --json "$KEY" | grep -c '"succeeded"')"
    if [ "$STORE_KIND" = postgresql ]; then
        await 20 eval '[ "$(connections)" -eq 0 ]'
    else
        expect_equal "$(find "${STORE_FILE%/*}" -type f ! -name 'leaserun.db' ! -name 'leaserun.db-*')" ''
        # 1 KiB for each run that is kept, and as much again for what is written ahead
        size=$(find "${STORE_FILE%/*}" -type f -printf '%s\n' | paste -sd + | bc)
        [ "$size" -le $((1000000 + RUNS * 2048)) ]
    fi
}

@test "losers, failures and stops leave nothing either" {
    start_holder
    holder=$PID
    for _ in $(seq 20); do
        leaserun run "$KEY" -- true 2>/dev/null || expect_equal $? 75
        leaserun run "$KEY.other" -- false 2>/dev/null || expect_equal $? 1
        leaserun run "$KEY.other" -- no-such-command 2>/dev/null || expect_equal $? 127
        leaserun run --timeout 20ms "$KEY.other" -- sleep 60 2>/dev/null || expect_equal $? 124
    done
    kill -TERM "$holder"
    finish "$holder" 10
    await_none_named
    [ "$STORE_KIND" != postgresql ] || await 5 eval '[ "$(connections)" -eq 0 ]'
}

@test "renewals and orphans: the descriptors of leaserun and its guard stay as many" {
    start "$LEASERUN" run --ttl 5s "$KEY" -- sh -c 'echo running
        while :; do (sleep 0.01 &); sleep 0.05; done'
    await 10 has_said "$PID" running
    guard=$(pgrep -P "$PID")
    sleep 1.5 # one renewal at least
    own=$(count_descriptors "$PID") guards=$(count_descriptors "$guard")
    sleep 4
    expect_equal "$(count_descriptors "$PID") $(count_descriptors "$guard")" "$own $guards"
    [ "$(ps -o stat= --ppid "$PID","$guard" | grep -c '^Z')" -le 1 ]
}

@test "the command's user cannot look into leaserun or its guard: memory, environment, descriptors" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
    if [ "$STORE_KIND" = sqlite ]; then
        mkdir "$BATS_TEST_TMPDIR/own"
        chown 54321 "$BATS_TEST_TMPDIR/own"
        chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
        LEASERUN_STORE=sqlite:$BATS_TEST_TMPDIR/own/leaserun.db
    fi
    run setpriv --reuid 54321 --regid 54321 --clear-groups "$LEASERUN" run "$KEY" -- sh -c '
        guard=$PPID
        leaserun=$(ps -o ppid= -p $guard | tr -d " ")
        for pid in $guard $leaserun; do
            [ "$(stat -c %u /proc/$pid/mem)" -eq 0 ] || echo "mem of $pid is ours"
            for file in environ maps mem auxv; do
                ! cat /proc/$pid/$file >/dev/null 2>&1 || echo "$file of $pid can be read"
            done
            ! ls /proc/$pid/fd >/dev/null 2>&1 || echo "descriptors of $pid can be listed"
            for fd in 0 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
                ! head -c 1 /proc/$pid/fd/$fd >/dev/null 2>&1 || echo "$fd of $pid can be opened"
            done
        done
        ps -o comm= -p $guard,$leaserun'
    expect_status 0
    expect_equal "$output" $'leaserun\nleaserun-guard'
}

@test "the password is in no argument, in no environment but leaserun's own, and in no message" {
    [ "$STORE_KIND" = postgresql ] || skip 'needs no password'
    for source in variable file variable-of-file; do
        pg_tcp_url main "$DATABASE" >"$BATS_TEST_TMPDIR/url"
        chmod 600 "$BATS_TEST_TMPDIR/url"
        printf '[store]\nurl-file = %s\n' "$BATS_TEST_TMPDIR/url" >"$BATS_TEST_TMPDIR/ini"
        chmod 600 "$BATS_TEST_TMPDIR/ini"
        case $source in
        variable) set -- env LEASERUN_STORE="$(cat "$BATS_TEST_TMPDIR/url")" "$LEASERUN" run ;;
        file) set -- env -u LEASERUN_STORE "$LEASERUN" run --config "$BATS_TEST_TMPDIR/ini" ;;
        variable-of-file) set -- env -u LEASERUN_STORE LEASERUN_STORE_FILE="$BATS_TEST_TMPDIR/url" "$LEASERUN" run ;;
        esac
        start "$@" --leftovers kill "$KEY" -- sh -c 'sleep 60 & echo running; wait'
        await 10 has_said "$PID" running
        guard=$(pgrep -P "$PID")
        command=$(pgrep -P "$guard")
        for pid in "$PID" "$guard" "$command" $(pgrep -P "$command"); do
            run ! grep -a -o "$PG_PASSWORD" "/proc/$pid/cmdline"
            [ "$pid" = "$PID" ] || run ! grep -a -o "$PG_PASSWORD" "/proc/$pid/environ"
        done
        kill -TERM "$PID"
        finish "$PID" 10
        run ! grep "$PG_PASSWORD" "${OUTPUT[$PID]}.out" "${OUTPUT[$PID]}.err"
    done
    # nor in the words about a server that refuses
    url=$(pg_tcp_url main no-such-database)
    LEASERUN_STORE=$url run leaserun run --start-within 1s "$KEY" -- true
    expect_status 69
    [[ $output != *"$PG_PASSWORD"* ]]
    LEASERUN_STORE=${url/5432/1} run leaserun run --wait 1s "$KEY" -- true
    [[ $output != *"$PG_PASSWORD"* ]]
}
