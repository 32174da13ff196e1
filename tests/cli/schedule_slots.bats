#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# leaserun schedule: what becomes of slots when replicas die, stand still, come late or differ.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/scheduler

# The slot in a line of STARTS, in seconds since 1970.
started_slot() { # LINE
    date -d "$(sed -n "$1p" "$STARTS" | cut -d ' ' -f 2)" +%s
}

each_started_once() {
    expect_equal "$(sort "$STARTS" | uniq -d)" ''
}

# ---- each slot once ----------------------------------------------------------------------------

@test "P3 three replicas, 400 ms apart: a job of few milliseconds starts once a slot, whatever its interval" {
    table <<END
[job fast]
schedule = every 1s
command = $NOTE

[job slower]
schedule = every 3s
command = $NOTE
END
    replica
    until_phase 400 1000
    replica
    until_phase 800 1000
    replica
    await 12 has_started 2 slower
    until_phase 500 1000 # nothing runs
    stop_replicas
    each_slot_once fast 1
    each_slot_once slower 3
    expect_equal "$(count_complaints)" 0
    expect_equal "$(count_told 'event=claim_won')" "$(wc -l <"$STARTS")"
    expect_equal "$(count_told 'event=run_finished .* outcome=succeeded')" "$(wc -l <"$STARTS")"
}

@test "P3 a replica dies between a slot and its claim: the next one starts that slot" {
    table <<END
[job a]
schedule = every 3s
command = $NOTE
END
    replica
    await 8 has_started 1
    freeze "$PID"
    until_phase 50 3000
    kill -KILL "$PID"
    expect_equal "$(wc -l <"$STARTS")" 1
    replica
    await 2 has_started 2
    each_slot_once a 3
    told "$PID" 'event=claim_won job=a'
}

@test "P3 a slot that came while no scheduler was there is started within its window, and older ones are told as missed" {
    table <<END
[job a]
schedule = every 4s
command = $NOTE
END
    replica
    await 8 has_started 1
    stop_replica "$PID"
    before=$(wc -l <"$STARTS")
    until_phase 100 4000
    until_phase 100 4000
    until_phase 100 4000
    came=$(($(date +%s) / 4 * 4))
    replica
    await 10 has_started $((before + 1))
    stop_replica "$PID"
    expect_equal "$(started_slot $((before + 1)))" "$came"
    # Those between are over, two of them at least.
    missed=$(((came - $(started_slot "$before")) / 4 - 1))
    [ "$missed" -ge 2 ]
    expect_equal "$(count_told 'event=slot_missed job=a' "$PID")" "$missed"
    recorded=$(leaserun history --slots --json a "$TABLE" | grep -c '"outcome":"missed".*"run_id":"')
    expect_equal "$recorded" "$missed"
    each_started_once
}

@test "misfire = all: the slots that passed run in order, before those of now" {
    table <<END
[job a]
schedule = every 1s
misfire = all
command = $NOTE
END
    replica
    await 5 has_started 1
    stop_replica "$PID"
    until_phase 300 1000
    until_phase 300 1000
    until_phase 300 1000
    replica
    await 5 has_started 6
    stop_replica "$PID"
    each_slot_once a 1
    expect_equal "$(sort "$STARTS")" "$(cat "$STARTS")"
}

@test "misfire = all: slots that are found started hold up none of those to come" {
    [ "$STORE_KIND" = postgresql ] || skip 'elsewhere a slot that is started is never open again'
    table <<END
[job a]
schedule = every 1s
misfire = all
command = $NOTE
END
    replica
    await 12 has_started 8
    stop_replica "$PID"
    before=$(wc -l <"$STARTS")
    # As if the slots since the first had not been told: each is asked for again.
    first=$(date -d "$(sed -n '1s/^a //p' "$STARTS")" +%s)
    pg_sql main "$DATABASE" "update leaserun.leases set fingerprint =
        left(fingerprint, 17) || to_hex($first * 1000000::bigint) where key = 'a'"
    replica --log-level debug
    await 8 has_started $((before + 3))
    expect_equal "$(count_told 'event=slot_done job=a' "$PID")" $((before - 2))
    stop_replica "$PID"
    each_slot_once a 1
}

@test "an edited schedule invents no past slot" {
    table <<END
[job a]
schedule = every 1s
command = $NOTE
END
    replica
    await 5 has_started 1
    stop_replica "$PID"
    # Its last slot by the new schedule passes while nobody is there, and its window is open.
    sed -i 's/every 1s/every 4s/' "$TABLE"
    until_phase 100 4000
    before=$(wc -l <"$STARTS")
    now=$(date -u +%FT%TZ)
    replica
    until_phase 3000 4000
    expect_equal "$(wc -l <"$STARTS")" "$before"
    await 3 has_started $((before + 1))
    [[ $(tail -n 1 "$STARTS" | cut -d ' ' -f 2) > $now ]]
    stop_replica "$PID"
    expect_equal "$(count_complaints)" 0
}

@test "replicas with different tables: each says so, once, at WARN" {
    table <<END
[job a]
schedule = every 1s
command = true
END
    replica
    first=$PID
    TABLE=$BATS_TEST_TMPDIR/other.ini
    table <<END
[job a]
schedule = * * * * * *
timezone = UTC
command = true
END
    replica
    second=$PID
    # Each must win a slot after the other has: which is faster each time is chance.
    await 60 told "$first" 'level=warn event=schedule_differs job=a'
    await 60 told "$second" 'level=warn event=schedule_differs job=a'
}

# ---- jobs without slots ------------------------------------------------------------------------

@test "P3 @once: after a failure it runs again, after a success not, also not after a purge" {
    table <<END
[job migrate]
schedule = @once
command = echo "\$LEASERUN_JOB \${LEASERUN_SLOT-none}" >>"\$STARTS"; [ -e "\$STARTS.ready" ]
END
    replica
    await 5 has_started 1
    await 5 told "$PID" 'level=error event=run_failed job=migrate'
    stop_replica "$PID"
    touch "$STARTS.ready"
    replica
    await 5 told "$PID" 'event=run_finished job=migrate .* outcome=succeeded'
    stop_replica "$PID"
    leaserun purge --retention 0
    replica --log-level debug
    await 5 told "$PID" 'event=slot_done job=migrate'
    stop_replica "$PID"
    expect_equal "$(cat "$STARTS")" $'migrate none\nmigrate none'
    leaserun purge --forget migrate
    replica
    await 5 has_started 3
}

@test "@once of three replicas that start together: one runs it" {
    table <<END
[job migrate]
schedule = @once
command = sleep 0.5; $NOTE
END
    start_replica
    start_replica
    start_replica
    await 10 has_started 1
    for pid in "${REPLICAS[@]}"; do
        await 10 told "$pid" 'event=(claim_won|claim_held|slot_done)'
    done
    stop_replicas
    expect_equal "$(wc -l <"$STARTS")" 1
}

@test "@reboot runs at each start of a scheduler, not when the table is read again" {
    table <<END
[job boot]
schedule = @reboot
command = echo "\$LEASERUN_KEY \${LEASERUN_SLOT-none}" >>"\$STARTS"
END
    replica
    await 5 has_started 1
    kill -HUP "$PID"
    await 5 told "$PID" event=table_reloaded
    stop_replica "$PID"
    expect_equal "$(cat "$STARTS")" "boot@$(uname -n) none"
    replica
    await 5 has_started 2
}

# ---- what is said -------------------------------------------------------------------------------

@test "P4 every slot has one outcome at its level: won and finished INFO, a failure ERROR, held INFO, done DEBUG" {
    table <<END
[job good]
schedule = every 2s
command = true

[job bad]
schedule = every 2s
command = exit 3

[job long]
schedule = every 2s
overlap = wait
command = sleep 2.5
END
    replica --log-level debug
    replica --log-level debug
    await 10 all_told 2 'event=run_finished job=good'
    await 10 all_told 2 'event=run_failed job=bad'
    await 10 all_told 1 'event=claim_held job=long'
    stop_replicas
    expect_equal "$(count_told 'event=(claim_won|run_finished)')" "$(count_told 'level=info event=(claim_won|run_finished)')"
    expect_equal "$(count_told 'event=run_failed')" "$(count_told 'level=error event=run_failed job=bad .* outcome=failed status=3')"
    expect_equal "$(count_told 'event=claim_held')" "$(count_told 'level=info event=claim_held')"
    expect_equal "$(count_told 'event=slot_done')" "$(count_told 'level=debug event=slot_done')"
    # Of a slot of two replicas one says what became of it, and the other nothing above DEBUG.
    for slot in $(leaserun history --json bad | json_field slot); do
        slot=${slot%%.*}
        expect_equal "$slot $(count_told "level=(info|warn|error) event=.* job=bad key=bad slot=${slot%Z}Z .*event=|event=claim_won job=bad key=bad slot=${slot%Z}Z")" "$slot 1"
    done
}

# ---- when it may start -------------------------------------------------------------------------

@test "overlap = skip leaves out the slots that come while the job runs, overlap = wait starts them late" {
    table <<END
[job skips]
schedule = every 1s
command = $NOTE; sleep 1.3

[job waits]
schedule = every 2s
overlap = wait
command = $NOTE; sleep 1.5

[job waits-longer]
schedule = every 2s
overlap = wait
start-within = 10s
command = $NOTE; [ -e "\$STARTS.late" ] || { touch "\$STARTS.late"; sleep 3; }
END
    replica
    await 15 has_started 3 'waits '
    stop_replica "$PID"
    each_slot_once skips 2
    each_slot_once waits 2
    each_slot_once waits-longer 2
    [ "$(count_told 'level=info event=claim_held job=skips .* outcome=skipped')" -ge 2 ]
    expect_equal "$(leaserun history --slots --json skips "$TABLE" | json_field outcome | sort -u | grep -vx due | xargs)" \
        'skipped stopped succeeded'
    expect_equal "$(count_told 'event=slot_missed')" 0
}

@test "start-within: a slot whose key stays held beyond it is missed, once, and told" {
    table <<END
[job a]
schedule = every 4s
overlap = wait
start-within = 1s
command = $NOTE
END
    replica
    replica
    until_phase 3500 4000
    KEY=a
    start_holder
    holder=$PID
    until_phase 2500 4000
    stop_started_one "$holder"
    await 6 has_started 1
    stop_replicas
    expect_equal "$(count_told 'event=claim_held job=a')" 2
    expect_equal "$(count_told 'level=(warn|error) event=slot_missed job=a')" 1
    expect_equal "$(leaserun history --slots --json a "$TABLE" | json_field outcome | sort | uniq -c | grep -v due | xargs)" \
        '1 missed 1 succeeded'
}

@test "two jobs with one key never run together, and each has all its slots" {
    table <<END
[job a]
schedule = every 2s
key = shared
command = $NOTE; $ALONE

[job b]
schedule = every 2s
key = shared
command = $NOTE; $ALONE
END
    replica
    replica
    await 12 has_started 4
    stop_replicas
    [ ! -e "$STARTS.two" ]
    each_slot_once a 2
    each_slot_once b 2
    expect_equal "$(count_told 'event=slot_missed')" 0
}

