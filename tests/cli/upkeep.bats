#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# What people do to a store: look at it, give leases back, purge, prepare and check it.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/faults

setup() {
    fresh_key
    STARTS=$BATS_TEST_TMPDIR/starts
    STAMPS=$BATS_TEST_TMPDIR/stamps
    : >"$STARTS"
}

field_names() {
    python3 -c 'import json, sys
for line in sys.stdin: print(*json.loads(line))' | sort -u
}

# A run whose leaserun, guard and command are gone at once, as with their host; sets HOLDER.
start_dead() { # OPTION...
    start_stamp "$STAMPS" "$@"
    HOLDER=$(lease_field "$KEY" holder)
    local guard
    guard=$(guard_of "$PID")
    strike STOP "$PID" "$guard" >/dev/null
    strike KILL "$guard" "$PID" >/dev/null
    await 5 all_gone "$STAMPS"
}

# ---- purge -----------------------------------------------------------------------------------

# Twenty-five runs after one another, of three keys that all the others want too.
work() { # NUMBER
    local status
    for i in {1..25}; do
        status=0
        "$LEASERUN" run "$KEY.$((i % 3))" -- \
            sh -c 'echo "$LEASERUN_KEY $LEASERUN_FENCE" >>"$0"' "$STARTS" || status=$?
        echo "$status"
    done
}

@test "P2 P8 keys come and go while all is purged that may be: nothing live goes, every run is told, fences grow" {
    pids=()
    for number in 1 2 3; do
        start work $number
        pids+=("$PID")
    done
    deleted=0
    until is_gone "${pids[0]}" && is_gone "${pids[1]}" && is_gone "${pids[2]}"; do
        run -0 --separate-stderr leaserun purge --retention 0
        expect_equal "$stderr" ''
        deleted=$((deleted + ${output%% *}))
    done
    [ $deleted -gt 3 ]
    # A lease that was taken away would be lost at the release: 76.
    for pid in "${pids[@]}"; do
        expect_equal "$(started_stdout "$pid" | grep -cxE '0|75') $(started_stderr "$pid")" "25 "
    done
    for number in 0 1 2; do
        fences=$(grep -F "$KEY.$number " "$STARTS" | awk '{ print $NF }')
        expect_equal "$fences" "$(sort -n -u <<<"$fences")"
    done
    expect_equal "$(leaserun history --json --limit 1000 | json_field outcome | sort | uniq -c | awk '{ print $2, $1 }')" \
        "succeeded $(wc -l <"$STARTS")"
}

@test "P2 a purge takes what was released, and the key's next fence is greater" {
    run leaserun run "$KEY" -- sh -c 'echo $LEASERUN_FENCE'
    first=$output
    run -0 leaserun purge
    expect_contains "$output" '0 leases'
    sleep 0.01
    run -0 leaserun purge --retention 1ms
    expect_equal "$(leaserun status --json "$KEY")" ''
    run leaserun run "$KEY" -- sh -c 'echo $LEASERUN_FENCE'
    [ "$output" -gt "$first" ]
    expect_equal "$(leaserun history --json "$KEY" | wc -l)" 2
}

@test "P3 P4 a purge spares a live lease, a hold, a slot, what has succeeded once, and a run whose end is unknown" {
    mine=$KEY
    KEY="$mine dead" start_dead --ttl 5s
    KEY="$mine live" start_holder --ttl 5s
    run -0 leaserun run --hold-at-least 1h "$mine hold" -- true
    run -0 leaserun run --once-per day "$mine slot" -- true
    run -0 leaserun run --once "$mine once" -- true
    run -0 leaserun run "$mine plain" -- true
    await 10 eval '[ "$(lease_field "$mine dead" state)" = expired ]'
    run -0 leaserun purge --retention 1ms
    expect_equal "$(leaserun status --json | json_field key | grep -F "$mine " | sort | tr '\n' ,)" \
        "$(printf '%s\n' "$mine "{dead,hold,live,once,slot} | tr '\n' ,)"
    run -75 leaserun run --once-per day "$mine slot" -- true
    # The dead one's run is told by the next, and may go then.
    run -0 --separate-stderr leaserun run "$mine dead" -- true
    expect_contains "$stderr" event=run_abandoned
    run -0 leaserun purge --retention 1ms
    expect_equal "$(leaserun status --json "$mine dead")" ''
    run -0 leaserun purge --forget "$mine live"
    expect_contains "$output" '0 leases'
    is_held "$mine live"
}

@test "a purge that makes no sense is refused" {
    for words in '--retention -1s' '--retention x' '--forget' '--forget ""'; do
        run --separate-stderr eval "leaserun purge $words"
        expect_status 64
        expect_one_line
    done
}

# ---- release by hand -------------------------------------------------------------------------

@test "release by hand: a live lease is left alone and 75, with --stop its tree ends, 76, and the key is free" {
    start_stamp "$STAMPS" --ttl 5s
    holder=$(lease_field "$KEY" holder)
    run --separate-stderr leaserun release "$KEY"
    expect_status 75
    expect_one_line
    expect_contains "$stderr" "$holder"
    expect_contains "$stderr" --stop
    sleep 1
    is_held "$KEY"
    struck=$(boot_us)
    run -0 --separate-stderr leaserun release --stop "$KEY"
    expect_equal "$stderr" ''
    expect_contains "$output" "$holder"
    finish "$PID" 5
    expect_equal "$STATUS $(count_events "$PID" lease_lost)" "76 1"
    all_gone "$STAMPS"
    expect_within "$(last_stamp "$STAMPS" "$struck")" 0 1300
    expect_equal "$(lease_field "$KEY" state) $(run_field "$KEY" outcome)" "released lost"
    run -0 leaserun run "$KEY" -- true
    run -0 leaserun release "$KEY"
    expect_equal "$output" "$KEY is free"
    run -0 leaserun release --stop "$KEY"
}

@test "P1 release --stop of a frozen host: the key is free when its lease would have ended, not before" {
    start_stamp "$STAMPS" --ttl 8s
    strike STOP "$PID" "$(guard_of "$PID")" $(stamp_pids "$STAMPS") >/dev/null
    ends=$(lease_field "$KEY" expires_at)
    run -0 leaserun release --stop "$KEY"
    expect_equal "$(lease_field "$KEY" expires_at)" "$ends"
    run -75 leaserun run "$KEY" -- true
    run -0 leaserun run --wait 20s "$KEY" -- true
    starts=$(run_field "$KEY" started_at) # by the store's clock, as $ends is
    expect_within "$(($(date -d "$starts" +%s%3N) - $(date -d "$ends" +%s%3N)))" 0 1500
    strike KILL "$(guard_of "$PID")" "$PID" $(stamp_pids "$STAMPS")
}

@test "release of a dead holder's lease frees it, its run is told by the next" {
    start_dead --ttl 5s
    await 10 eval '[ "$(lease_field "$KEY" state)" = expired ]'
    run -0 leaserun release "$KEY"
    expect_equal "$(lease_field "$KEY" state)" released
    run -0 --separate-stderr leaserun run "$KEY" -- true
    expect_contains "$stderr" event=run_abandoned
    expect_equal "$(leaserun history --json "$KEY" | json_field outcome | tr '\n' ' ')" 'succeeded abandoned '
}

@test "release of a key that nobody knows: 64, and where keys are listed" {
    run --separate-stderr leaserun release "$KEY"
    expect_status 64
    expect_one_line
    expect_contains "$stderr" 'leaserun status'
    expect_equal "$(leaserun status --json "$KEY")" ''
}

# ---- status and history ----------------------------------------------------------------------

@test "status tells held, expired, released and on hold, with who, since when, until when" {
    mine=$KEY
    KEY="$mine.1" start_dead --ttl 5s
    dead=$HOLDER
    KEY="$mine.2" start_holder --ttl 1m
    run -0 leaserun run "$mine.3" -- true
    run -0 leaserun run --hold-at-least 1h --once-per day "$mine.4" -- true
    await 10 eval '[ "$(lease_field "$mine.1" state)" = expired ]'
    all=$(leaserun status --json | grep -F "\"$mine.")
    expect_equal "$(json_field state <<<"$all" | tr '\n' ,)" 'expired,held,released,on_hold,'
    expect_equal "$(field_names <<<"$all")" 'key state holder fence acquired_at expires_at remaining_ms slot'
    expect_equal "$(lease_field "$mine.1" holder)" "$dead"
    expect_equal "$(lease_field "$mine.1" remaining_ms) $(lease_field "$mine.3" remaining_ms)" '0 0'
    left=$(lease_field "$mine.2" remaining_ms)
    expect_within "$left" 30000 60000
    left=$(lease_field "$mine.4" remaining_ms)
    expect_within "$left" 3500000 3600000
    expect_equal "$(lease_field "$mine.3" slot)" None
    [[ $(lease_field "$mine.4" slot) =~ ^20[0-9-]+T[0-9:.]+Z$ ]]
    # In microseconds, and in the order of things.
    python3 - "$(lease_field "$mine.2" acquired_at)" "$(lease_field "$mine.2" expires_at)" <<-'END'
	import sys
	from datetime import datetime
	since, until = (datetime.strptime(text, '%Y-%m-%dT%H:%M:%S.%fZ') for text in sys.argv[1:])
	assert 59 < (until - since).total_seconds() < 90, (since, until)
	END
    run -0 leaserun status
    for key in "$mine".{1,2,3,4}; do
        expect_contains "$output" "$key"
    done
    run -0 leaserun status "$mine.2"
    expect_equal "${#lines[@]}" 2
}

@test "status says which live lease is to stop" {
    start_stamp "$STAMPS" --ttl 5s
    strike STOP "$PID" "$(guard_of "$PID")" $(stamp_pids "$STAMPS") >/dev/null
    run -0 leaserun release --stop "$KEY"
    run -0 leaserun status "$KEY"
    expect_contains "$output" 'stop asked'
    expect_equal "$(lease_field "$KEY" state)" held
    strike KILL "$(guard_of "$PID")" "$PID" $(stamp_pids "$STAMPS")
}

@test "history has every run with its facts, newest first, and no more than --limit" {
    leaserun run "$KEY" -- true
    run leaserun run "$KEY" -- sh -c 'exit 7'
    leaserun run --once-per day "$KEY" -- true
    start_holder
    all=$(leaserun history --json "$KEY")
    expect_equal "$(field_names <<<"$all")" 'run_id job key slot fence holder started_at finished_at outcome status output_tail output_tail_base64'
    expect_equal "$(json_field outcome <<<"$all" | tr '\n' ' ')" 'unfinished succeeded failed succeeded '
    expect_equal "$(json_field status <<<"$all" | tr '\n' ' ')" 'None 0 7 0 '
    expect_equal "$(json_field job <<<"$all" | sort -u)" None
    expect_equal "$(json_field run_id <<<"$all" | sort -u | grep -cE '^[a-z2-7]{26}$')" 4
    fences=$(json_field fence <<<"$all")
    expect_equal "$fences" "$(sort -rn -u <<<"$fences")"
    started=$(json_field started_at <<<"$all")
    expect_equal "$started" "$(sort -r <<<"$started")"
    expect_equal "$(json_field finished_at <<<"$all" | head -n 1)" None
    expect_equal "$(json_field slot <<<"$all" | grep -c ^20)" 1
    run -0 leaserun history --json --limit 2 "$KEY"
    expect_equal "$output" "$(head -n 2 <<<"$all")"
    run -0 leaserun history "$KEY"
    expect_equal "${#lines[@]}" 5
    run -0 leaserun history "$KEY, another"
    expect_equal "$output" 'no runs'
}

@test "status --max-age tells by its status whether a run has succeeded lately" {
    run --separate-stderr leaserun status --max-age 1h "$KEY"
    expect_status 1
    leaserun run "$KEY" -- true
    run leaserun run "$KEY" -- false
    run -0 leaserun status --max-age 1h "$KEY"
    sleep 0.05
    run --separate-stderr leaserun status --max-age 10ms "$KEY"
    expect_status 1
    expect_one_line
    run --separate-stderr leaserun status --max-age 1h
    expect_status 64
}

# ---- init and check --------------------------------------------------------------------------

# Runs SQL in this file's store.
store_sql() { # SQL
    if [ "$STORE_KIND" = postgresql ]; then
        pg_sql main "$DATABASE" "$1"
    else
        python3 -c 'import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
file.executescript(sys.argv[2])' "$STORE_FILE" "$1"
    fi
}

@test "init twice, and while it is used: nothing changes" {
    start_holder
    before=$(leaserun status --json "$KEY" | json_field fence)
    for _ in 1 2; do
        run -0 --separate-stderr leaserun init
        expect_equal "$stderr" ''
    done
    is_held "$KEY"
    expect_equal "$(lease_field "$KEY" fence)" "$before"
}

@test "check --connect tells what it has met, and of no fault" {
    run -0 --separate-stderr leaserun check --connect
    expect_equal "$stderr" ''
    case $STORE_KIND in
    postgresql) expect_contains "$output" 'connected: PostgreSQL 15' ;;
    sqlite) expect_contains "$output" 'connected: SQLite 3' ;;
    esac
    expect_contains "$output" 'survives an outage'
}

@test "check --connect where there is nothing: 78 and what to do, or the file that is made" {
    case $STORE_KIND in
    postgresql)
        pg_sql main postgres 'create database nothing_there'
        run --separate-stderr leaserun check --connect --store "$(pg_url main nothing_there)"
        expect_status 78
        expect_one_line
        expect_contains "$stderr" 'leaserun init'
        pg_sql main postgres 'drop database nothing_there'
        ;;
    sqlite)
        run -0 leaserun check --connect --store "sqlite:$BATS_TEST_TMPDIR/new.db"
        run --separate-stderr leaserun check --connect --store sqlite:/proc/none/new.db
        [[ $status -eq 69 || $status -eq 78 ]]
        expect_contains "$stderr" /proc/none
        ;;
    esac
}

@test "P2 check --connect finds a fence counter that stands behind the fences given, as after a restore" {
    [ "$STORE_KIND" = postgresql ] || skip 'the counter of a file cannot be restored without it'
    run -0 leaserun run "$KEY" -- true
    pg_sql main "$DATABASE" "select setval('leaserun.fence_seq', 1)" >/dev/null
    run --separate-stderr leaserun check --connect
    expect_status 78
    expect_contains "$stderr" fence_seq
    # And the key's own fence grows all the same.
    before=$(lease_field "$KEY" fence)
    run -0 leaserun run "$KEY" -- true
    [ "$(lease_field "$KEY" fence)" -gt "$before" ]
    pg_sql main "$DATABASE" "select setval('leaserun.fence_seq', (select max(fence) from leaserun.runs))" >/dev/null
    run -0 leaserun check --connect
}

# The last one: it spoils the store.
@test "a schema that is for newer programs is refused by init and check, 78, and left as it is" {
    case $STORE_KIND in
    postgresql) store_sql 'update leaserun.schema_version set oldest_reader = 99' ;;
    sqlite) store_sql 'update schema_version set oldest_reader = 99; pragma user_version = 99' ;;
    esac
    refused=(init 'check --connect')
    # A run asks a server nothing but its claim.
    [ "$STORE_KIND" = postgresql ] || refused+=("run '$KEY' -- true" status)
    for words in "${refused[@]}"; do
        run --separate-stderr eval "leaserun $words"
        expect_status 78
        expect_contains "$stderr" newer
    done
}
