#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# check --live: what the store knows of the jobs of a table, and of keys without a job.
# stores: postgresql sqlite

load ../lib/helpers

setup() {
    fresh_store
    JOBS=$BATS_TEST_TMPDIR/jobs.ini
    GO=$BATS_TEST_TMPDIR/go
}

teardown() {
    touch "$GO"
    stop_started
}

# One job of each kind. `long` holds its key until the file go is there.
write_jobs() { # SCHEDULE-OF-TICK
    cat >"$JOBS" <<-END
	[job tick]
	schedule = $1
	timezone = UTC
	exec = true

	[job long]
	schedule = every 1s
	key = a key
	command = until [ -e $GO ]; do sleep 0.1; done

	[job start]
	schedule = @reboot
	exec = true

	[job never]
	schedule = 0 0 1 1 *
	timezone = UTC
	exec = true

	[job off]
	schedule = @hourly
	timezone = UTC
	enabled = no
	exec = true
	END
}

live() { # FIELD JOB: of the job's row
    leaserun check --live --json "$JOBS" | python3 -c '
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    if row["job"] == (sys.argv[2] or None): print(row[sys.argv[1]])' "$1" "$2"
}

has_come() { # FIELD JOB VALUE
    [ "$(live "$1" "$2")" = "$3" ]
}

@test "jobs that run, rest and never ran, and a key without a job: each is told" {
    leaserun init
    write_jobs 'every 1s'
    start "$LEASERUN" schedule "$JOBS"
    await 10 has_come outcome tick succeeded
    await 10 has_come state long held
    await 10 has_come state start released
    leaserun run typed -- true
    expect_equal "$(live job long) $(live key long)" 'long a key'
    expect_contains "$(live holder long)" "$(hostname)/$PID/"
    expect_equal "$(live schedule tick) $(live schedule long)" 'same same'
    expect_equal "$(live key start)" "start@$(hostname)"
    for job in never off; do
        expect_equal "$(live state $job) $(live slot $job) $(live schedule $job)" 'None None None'
    done
    expect_equal "$(live key '') $(live state '')" 'typed released'
    run -0 leaserun check --live "$JOBS"
    expect_contains "$output" 'jobs.ini: no fault'
    [[ $(grep '^long ' <<<"$output") =~ ^long\ +a\ key\ +held\ +[^\ ]+/$PID/.*\ same$ ]]
}

@test "another table has started the last slot: its schedule is told as another, until this one wins" {
    leaserun init
    write_jobs 'every 1s'
    start "$LEASERUN" schedule "$JOBS"
    await 10 has_come outcome tick succeeded
    stop_started
    expect_equal "$(live schedule tick)" same
    write_jobs '* * * * * *'
    expect_equal "$(live schedule tick)" another
    start "$LEASERUN" schedule "$JOBS"
    await 10 has_come schedule tick same
}

@test "a slot that was given up for the run before it is told as skipped, and who runs" {
    leaserun init
    write_jobs 'every 1s'
    sed -i 's/^exec = true/command = sleep 60/' "$JOBS"
    start "$LEASERUN" schedule "$JOBS"
    await 10 has_come outcome tick skipped
    expect_equal "$(live state tick)" held
}

@test "a table with a fault, no store, --json alone: said as ever, and nothing else" {
    printf '[job bad]\nschedule = nonsense\nexec = true\n' >"$JOBS"
    run -78 --separate-stderr leaserun check --live --json "$JOBS"
    expect_equal "$output" ''
    expect_contains "$stderr" 'jobs.ini:2: '
    printf '[job good]\nschedule = @hourly\ntimezone = UTC\nexec = true\n' >"$JOBS"
    LEASERUN_STORE='' run -78 --separate-stderr leaserun check --live "$JOBS"
    expect_contains "$stderr" 'no store is named'
    LEASERUN_STORE=postgresql://u@127.0.0.1:1/none?connect_timeout=1 run -69 --separate-stderr \
        leaserun check --live --json "$JOBS"
    expect_equal "$output" ''
    expect_one_line
    run -64 --separate-stderr leaserun check --json "$JOBS"
    expect_contains "$stderr" '--live'
}

@test "no job and no lease: said in words, and no rows for programs" {
    leaserun init
    echo '[defaults]' >"$JOBS"
    run -0 leaserun check --live "$JOBS"
    expect_contains "$output" 'no job, and no lease'
    run -0 leaserun check --live --json "$JOBS"
    expect_equal "$output" ''
}
