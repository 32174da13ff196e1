#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# leaserun schedule on hosts whose clocks are wrong, and over the weeks: the server's clock judges.
# stores: postgresql

load ../lib/helpers
load ../lib/clocks
load ../lib/scheduler

setup_file() {
    clocks_begin
    clocked_server weeks
}

teardown_file() {
    pg_stop weeks immediate
    clocks_end
}

# As replica, on a host whose clock is so many seconds ahead of the true time.
replica_ahead() { # SECONDS [OPTION...]
    local clock
    clock=$(clock_file "$1")
    shift
    start under_clock "$clock" "$LEASERUN" schedule --log-format logfmt "$@" "$TABLE"
    REPLICAS+=("$PID")
    await 20 told "$PID" event=scheduler_ready
}

@test "P3 replicas whose clocks are 400 ms apart, a job of few milliseconds: one run a slot" {
    table <<END
[job a]
schedule = every 1s
command = $NOTE
END
    replica_ahead -0.4
    replica_ahead 0
    replica_ahead 0.4
    await 10 has_started 5
    stop_replicas
    each_slot_once a 1
    expect_equal "$(count_complaints)" 0
}

@test "P3 P4 a replica one year ahead uses up no slot and says so, once; alone it keeps the store's time" {
    table <<END
[job a]
schedule = every 2s
command = $NOTE
END
    replica
    right=$PID
    replica_ahead 31536000
    ahead=$PID
    await 10 told "$ahead" 'level=error event=clock_ahead .*1y|level=error event=clock_ahead'
    await 10 has_started 3
    stop_replica "$right"
    now=$(date -u +%FT%TZ)
    before=$(wc -l <"$STARTS")
    await 8 has_started $((before + 2))
    stop_replica "$ahead"
    each_slot_once a 2
    expect_equal "$(count_complaints "$ahead")" 1
    # None is of next year.
    [[ $(sort "$STARTS" | tail -n 1 | cut -d ' ' -f 2) < $(date -u -d '+1 minute' +%FT%TZ) ]]
    expect_equal "$(leaserun history --slots --json a "$TABLE" | json_field outcome | sort -u | grep -v due)" succeeded
}

@test "a replica one year behind starts nothing, and harms nobody" {
    table <<END
[job a]
schedule = every 2s
command = $NOTE
END
    replica_ahead -31536000
    replica
    await 10 has_started 3
    stop_replicas
    each_slot_once a 2
}

# On the server and on a new replica it is now so many seconds after Monday, 2031-05-05T07:00:00Z.
replica_after() { # SECONDS
    OFFSET=$(awk -v slot="$(date -u -d 2031-05-05T07:00:00Z +%s)" -v after="$1" -v now="$EPOCHREALTIME" \
        'BEGIN { printf "%.3f", slot + after - now }')
    server_clock weeks "$OFFSET"
    replica_ahead "$OFFSET"
}

@test "a weekly job keeps its memory through restarts and purges: the slot of the week after is started late" {
    pg_sql weeks postgres 'create database app'
    LEASERUN_STORE=$(pg_url weeks app)
    leaserun init >/dev/null
    table <<END
[job weekly]
schedule = 0 7 * * mon
timezone = UTC
command = $NOTE
END
    replica_after -1
    await 5 has_started 1
    await 5 told "$PID" 'event=run_finished job=weekly'
    stop_replica "$PID"
    # No second time, whatever is purged.
    replica_after 600
    leaserun purge
    stop_replica "$PID"
    # Nobody was there at the next slot, half an hour ago; all else of last week is old.
    replica_after $((7 * 86400 - 3600))
    stop_replica "$PID"
    server_clock weeks "$(awk -v offset="$OFFSET" 'BEGIN { print offset + 5400 }')"
    leaserun purge
    replica_after $((7 * 86400 + 1800))
    await 5 has_started 2
    stop_replica "$PID"
    expect_equal "$(cat "$STARTS")" $'weekly 2031-05-05T07:00:00Z\nweekly 2031-05-12T07:00:00Z'
    # By another schedule there was no such slot.
    sed -i 's/0 7 \* \* mon/30 6 * * mon/' "$TABLE"
    replica_after $((14 * 86400 + 600))
    sleep 0.5
    stop_replica "$PID"
    expect_equal "$(wc -l <"$STARTS")" 2
    expect_equal "$(count_complaints)" 0
}
