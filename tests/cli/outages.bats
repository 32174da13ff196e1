#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# The store fails in every way under a run: what is shorter than the lease ends nothing, what is
# longer ends the command before another may start, and each is told in few lines.
# stores: postgresql

load ../lib/helpers
load ../lib/faults

setup() {
    fresh_key
    STAMPS=$BATS_TEST_TMPDIR/stamps
}

# A server for this test alone, which may be stopped; sets SERVER and LEASERUN_STORE.
own_server() { # NAME
    SERVER=$1
    pg_start "$SERVER"
    pg_sql "$SERVER" postgres 'create database app'
    LEASERUN_STORE=$(pg_url "$SERVER" app)
    leaserun init >/dev/null
}

teardown() {
    stop_started
    if [ -n "${SERVER:-}" ]; then
        kill -CONT "$(pg_pid "$SERVER")" 2>/dev/null || true
        pg_stop "$SERVER" immediate
        rm -rf "${PG_ROOT:?}/$SERVER"
    fi
}

direct() {
    LEASERUN_STORE=$STORE_URL leaserun "$@"
}

sql() { # SQL, in this file's database
    pg_sql main "$DATABASE" "$@"
}

row() { # KEY: the whole row
    sql "select leases from leaserun.leases where key = '$1'"
}

backends() { # KEY: of the leaserun that holds it
    sql "select pid from pg_stat_activity where datname = current_database()
        and pid <> pg_backend_pid() and application_name like 'leaserun%'"
}

# It ended well, and said no more of each outage than that the store was lost, and twice that a
# renewal failed: at once and with half of the time gone.
survived() { # PID SECONDS [OUTAGES]
    finish "$1" "$2"
    started_stderr "$1" # shown when it fails
    expect_equal "$STATUS" 0
    [ "$(count_events "$1" store_lost)" -le "${3:-1}" ]
    [ "$(count_events "$1" renew_failed)" -le $((${3:-1} * 2)) ]
    expect_equal "$(started_stderr "$1" | grep -vE 'level=warn event=(store_lost|renew_failed) ')" ''
}

# Ended because the lease was lost, which stands in the log once.
ended_by_loss() { # PID SECONDS
    finish "$1" "$2"
    expect_equal "$STATUS $(count_events "$1" lease_lost)" "76 1"
    all_gone "$STAMPS"
}

start_lasting() { # MS OPTION...
    local length=$1
    shift
    start "$LEASERUN" run "$@" "$KEY" -- "$TOOLS/stamp" "$STAMPS" "$length"
    await 15 test -s "$STAMPS"
}

@test "P6 the connection is cut: the run survives and tells it once" {
    start_lasting 4000 --ttl 6s
    sql "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
        and pid <> pg_backend_pid()" >/dev/null
    survived "$PID" 10
    expect_equal "$(count_events "$PID" renew_failed)" 0
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "P6 packets vanish without a word: TERM in time, the tree is dead before another host starts" {
    proxy_start
    LEASERUN_STORE=$PROXY_URL start "$LEASERUN" run --ttl 5s "$KEY" -- \
        "$TOOLS/stamp" "$STAMPS" 0 --ignore-term
    first=$PID
    await 10 test -s "$STAMPS"
    start "$LEASERUN" run --ttl 5s --wait 30s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 200
    second=$PID
    proxy blackhole on
    struck=$(boot_us)
    ended_by_loss "$first" 15
    # The last renewal left within 0.8 s before: TERM after 3167 ms, KILL after 4000 ms from there.
    told=$(first_stamp "$STAMPS" "$struck" told)
    dead=$(awk -v from="$struck" '{ if (!fence) fence = $4 } $4 == fence { last = $1 }
        END { print int((last - from) / 1000) }' "$STAMPS")
    measured "from the silence to TERM at most 3167, to the tree's end at most 4000" "$told $dead"
    expect_within "$told" 1000 3600
    expect_within "$dead" 1800 4400
    expect_within $((dead - told)) 500 1200
    expect_contains "$(started_stderr "$first")" 'no renewal came through for'
    [ "$(count_events "$first" renew_failed)" -le 2 ]
    expect_equal "$(count_events "$first" release_failed)" 1
    finish "$second" 15
    expect_equal "$STATUS" 0
    expect_equal "$(no_overlaps "$STAMPS")" "2 lives, no overlap"
}

@test "P6 only the answers vanish: the command is ended, for nobody can know that the lease is kept" {
    proxy_start
    LEASERUN_STORE=$PROXY_URL start_stamp "$STAMPS" --ttl 5s
    first=$PID
    start "$LEASERUN" run --ttl 5s --wait 30s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 200
    second=$PID
    struck=$(boot_us)
    proxy drop-reply . always
    finish "$first" 15
    expect_equal "$STATUS $(count_events "$first" lease_lost)" "76 1"
    finish "$second" 15
    expect_equal "$STATUS" 0
    expect_equal "$(no_overlaps "$STAMPS")" "2 lives, no overlap"
}

@test "P6 the server is down for longer than the ttl: the tree is dead before the lease expires" {
    own_server down
    start_stamp "$STAMPS" --ttl 5s
    struck=$(boot_us)
    pg_stop down fast
    ended_by_loss "$PID" 15
    ms=$(last_stamp "$STAMPS" "$struck")
    measured 'from the stop to the last beat, deadline 4000' "$ms"
    expect_within "$ms" 1500 4400
    expect_equal "$(count_events "$PID" store_lost)" 1
    expect_equal "$(count_events "$PID" release_failed)" 1
    [ "$(started_stderr "$PID" | wc -l)" -le 5 ]
    pg_start down
    run --separate-stderr leaserun run --wait 10s "$KEY" -- true
    expect_status 0
    expect_contains "$stderr" event=run_abandoned
}

@test "P6 the server restarts, fast and then immediately, within the ttl: the run survives" {
    own_server restarts
    start_lasting 6000 --ttl 10s
    pg_restart restarts fast
    sleep 1.5
    pg_restart restarts immediate
    survived "$PID" 15 2
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "P6 the server takes no writes for a while: the run survives" {
    own_server readonly
    start_lasting 5000 --ttl 10s
    pg_sql readonly postgres "alter system set default_transaction_read_only = on" \
        "select pg_reload_conf()" >/dev/null
    sleep 3
    PGOPTIONS='-c default_transaction_read_only=off' pg_sql readonly postgres \
        "alter system reset default_transaction_read_only" "select pg_reload_conf()" >/dev/null
    finish "$PID" 15
    expect_equal "$STATUS $(count_events "$PID" lease_lost)" "0 0"
    expect_contains "$(started_stderr "$PID")" 25006
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "P6 the backend is stopped for good: another connection serves, and its late word changes nothing" {
    start_lasting 4000 --ttl 6s
    stopped=$(backends)
    freeze $stopped
    survived "$PID" 10
    before=$(row "$KEY")
    kill -CONT $stopped
    await 5 eval '[ "$(backends | wc -l)" = 0 ]'
    expect_equal "$(row "$KEY")" "$before"
    expect_equal "$(run_field "$KEY" outcome) $(lease_field "$KEY" state)" "succeeded released"
}

@test "P6 the server is frozen, and thaws within the ttl: the run survives" {
    own_server frozen
    start_lasting 5000 --ttl 10s
    all=$(pgrep -P "$(pg_pid frozen)") || true
    freeze "$(pg_pid frozen)" $all
    sleep 2.5
    kill -CONT "$(pg_pid frozen)" $all
    survived "$PID" 15
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "P6 new connections are refused for a while after a cut: the run survives" {
    proxy_start
    LEASERUN_STORE=$PROXY_URL start "$LEASERUN" run --ttl 10s "$KEY" -- \
        sh -c 'echo running; until [ -e "$0" ]; do sleep 0.05; done' "$BATS_TEST_TMPDIR/go"
    await 15 has_said "$PID" running
    proxy refuse on
    proxy cut
    sleep 2.5
    renewals=$(proxy count renewed.AS)
    proxy refuse off
    before=$(now_ms)
    proxy await renewed.AS $((renewals + 1)) 5
    measured 'from the end of the outage to the next renewal' $(($(now_ms) - before))
    expect_within $(($(now_ms) - before)) 0 1800 # what failed is repeated within a second
    touch "$BATS_TEST_TMPDIR/go"
    survived "$PID" 10
    expect_equal "$(direct history --json "$KEY" | json_field outcome)" succeeded
}

# 3.5 s: `check` promises that a run with this ttl survives 4.7 s.
@test "P6 silence swallows the connection and the next one, for less than the lease lasts: the run survives" {
    proxy_start
    LEASERUN_STORE=$PROXY_URL start_lasting 10500 --ttl 12s
    proxy blackhole on
    sleep 3.5
    proxy blackhole off
    survived "$PID" 20
    expect_equal "$(direct history --json "$KEY" | json_field outcome)" succeeded
}

@test "P6 P5 the row is another's: the tree is dead within a renewal, the row is untouched, 76" {
    start_stamp "$STAMPS" --ttl 6s
    struck=$(boot_us)
    sql "update leaserun.leases set holder = 'other/1/x', fence = fence + 1,
        expires_at = now() + '1 hour' where key = '$KEY'"
    before=$(row "$KEY")
    ended_by_loss "$PID" 10
    ms=$(last_stamp "$STAMPS" "$struck")
    measured 'from the takeover to the last beat, renewals every 1000' "$ms"
    expect_within "$ms" 0 1300
    expect_contains "$(started_stderr "$PID")" other/1/x
    expect_equal "$(row "$KEY")" "$before"
    expect_equal "$(run_field "$KEY" outcome)" lost
}

@test "P6 P5 the same holder's row has a newer fence: the tree is dead, the row is untouched, 76" {
    start_stamp "$STAMPS" --ttl 6s
    sql "update leaserun.leases set fence = fence + 1, expires_at = now() + '1 hour' where key = '$KEY'"
    before=$(row "$KEY")
    ended_by_loss "$PID" 10
    expect_equal "$(row "$KEY")" "$before"
}

@test "P6 P5 the row is deleted: the tree is dead within a renewal and its grace, no row comes back, 76" {
    start_stamp "$STAMPS" --ttl 6s
    struck=$(boot_us)
    sql "delete from leaserun.leases where key = '$KEY'"
    ended_by_loss "$PID" 10
    expect_within "$(last_stamp "$STAMPS" "$struck")" 0 2300
    expect_equal "$(row "$KEY")" ''
    expect_equal "$(run_field "$KEY" outcome)" lost
    run --separate-stderr leaserun run "$KEY" -- true
    expect_status 0
}

# One session locks the row, then one the table, each for longer than a renewal takes.
@test "P8 the row and then the table are locked for longer than a renewal: the run survives" {
    start_lasting 6500 --ttl 6s
    sql "begin; select 1 from leaserun.leases where key = '$KEY' for update; select pg_sleep(2); commit" >/dev/null
    sleep 1
    sql "begin; lock table leaserun.leases in access exclusive mode; select pg_sleep(2); commit" >/dev/null
    survived "$PID" 12 2
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "P8 the row is locked for longer than the ttl: the command is ended, the lock is not ours to break" {
    start_stamp "$STAMPS" --ttl 5s
    # It says at which second since boot it has the lock.
    start psql -X -q -A -t -d "$STORE_URL" -c begin \
        -c "select 1 from leaserun.leases where key = '$KEY' for update" \
        -c '\! cut -d " " -f 1 /proc/uptime' -c 'select pg_sleep(60)'
    locker=$PID holder=${STARTED[0]}
    await 10 has_said "$locker" .
    struck=$(started_stdout "$locker" | awk '/\./ { print int($1 * 1000000) }')
    ended_by_loss "$holder" 15
    expect_within "$(last_stamp "$STAMPS" "$struck")" 1200 4400
    expect_contains "$(started_stderr "$holder")" lock
    sql "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
        and query like '%pg_sleep(60)%' and pid <> pg_backend_pid()" >/dev/null
    finish "$locker" 5
    run leaserun run --wait 10s "$KEY" -- true
    expect_status 0
}

# A host that swallows: one that accepts nothing (the kernel does, up to its backlog), and one
# whose backlog is full, so that not even that comes back.
silent_host() { # FULL; prints the port
    cat >"$BATS_TEST_TMPDIR/silent.py" <<-'END'
	import socket, sys, time
	host = socket.socket()
	host.bind(('127.0.0.1', 0))
	host.listen(0)
	filling = [socket.socket() for _ in range(4 if sys.argv[1] == 'full' else 0)]
	for one in filling:
	    one.setblocking(False)
	    one.connect_ex(host.getsockname())
	time.sleep(0.3)
	print(host.getsockname()[1], flush=True)
	time.sleep(600)
	END
    start python3 "$BATS_TEST_TMPDIR/silent.py" "$1"
    await 10 test -s "${OUTPUT[$PID]}.out"
    SILENT_PORT=$(started_stdout "$PID")
}

@test "P4 the database host is silent: a signal ends leaserun within a second" {
    for kind in open full; do
        silent_host $kind
        for name in TERM HUP; do
            LEASERUN_STORE=postgresql://u@127.0.0.1:$SILENT_PORT/app start "$LEASERUN" run "$KEY" -- \
                "$TOOLS/stamp" "$STAMPS" 0
            await 5 guard_of "$PID" >/dev/null
            sleep 0.3
            before=$(now_ms)
            kill -"$name" "$PID"
            finish "$PID" 5
            measured "from $name to the end, $kind" $(($(now_ms) - before))
            expect_within $(($(now_ms) - before)) 0 1000
            expect_equal "$STATUS" $((128 + $(kill -l $name)))
        done
    done
    [ ! -e "$STAMPS" ]
}

@test "P4 P11 the database is down when the command ends: its status within 5 s, in one line more" {
    own_server away
    for status in 0 7; do
        start "$LEASERUN" run --ttl 60s "$KEY.$status" -- \
            sh -c "while [ ! -e $BATS_TEST_TMPDIR/go ]; do sleep 0.02; done; echo said; exit $status"
        eval "run_$status=$PID"
    done
    await 10 is_held "$KEY.0"
    await 10 is_held "$KEY.7"
    pg_stop away immediate
    before=$(now_ms)
    touch "$BATS_TEST_TMPDIR/go"
    for status in 0 7; do
        pid=run_$status pid=${!pid}
        finish "$pid" 10
        ms=$(($(now_ms) - before))
        expect_equal "$STATUS $(started_stdout "$pid")" "$status said"
        expect_within "$ms" 0 6500
        expect_equal "$(count_events "$pid" release_failed)" 1
        # beside it: that the store was lost, and that the command failed
        [ "$(started_stderr "$pid" | wc -l)" -le $((2 + (status != 0))) ]
    done
    measured 'from the end of the command to that of leaserun, limit 5000' "$ms"
}

@test "P6 the guard is stopped and packets vanish: leaserun ends the tree by itself before the expiry" {
    proxy_start
    LEASERUN_STORE=$PROXY_URL start_stamp "$STAMPS" --ttl 5s
    first=$PID
    start "$LEASERUN" run --ttl 5s --wait 30s "$KEY" -- "$TOOLS/stamp" "$STAMPS" 200
    second=$PID
    kill -STOP "$(guard_of "$first")"
    struck=$(boot_us)
    proxy blackhole on
    finish "$first" 15
    expect_equal "$STATUS" 76
    finish "$second" 15
    expect_equal "$STATUS" 0
    expect_equal "$(no_overlaps "$STAMPS")" "2 lives, no overlap"
}
