#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# P4: history --slots has one outcome for every slot of a job, also for those that nobody tried.
# stores: postgresql sqlite

load ../lib/helpers

setup() {
    fresh_store
    JOBS=$BATS_TEST_TMPDIR/jobs.ini
    cat >"$JOBS" <<-'END'
	[job tick]
	schedule = every 1s
	exec = true

	[job nightly]
	schedule = 0 2 * * *
	timezone = UTC
	exec = true

	[job start]
	schedule = @reboot
	exec = true
	END
}

# The slots of tick, oldest first: second since 1970, outcome, run.
tick_slots() {
    leaserun history --slots --json tick "$JOBS" | python3 -c '
import json, sys
from datetime import datetime
rows = [json.loads(line) for line in sys.stdin]
for row in reversed(rows):
    at = datetime.fromisoformat(row["slot"].replace("Z", "+00:00"))
    print(int(at.timestamp()), row["outcome"], row["run_id"] or "-")'
}

has_succeeded_twice() { [ "$(tick_slots | grep -c ' succeeded ')" -ge 2 ]; }

has_missed_twice() { [ "$(tick_slots | grep -c ' missed -$')" -ge 2 ]; }

@test "a scheduler stops and time goes on: every slot has one outcome, those after it are missed" {
    start "$LEASERUN" schedule "$JOBS"
    await 10 has_succeeded_twice
    stop_started
    await 10 has_missed_twice
    tick_slots >"$BATS_TEST_TMPDIR/slots"
    cat "$BATS_TEST_TMPDIR/slots"
    # no second is left out, none comes twice
    awk 'NR > 1 && $1 != last + 1 { exit 1 } { last = $1 }' "$BATS_TEST_TMPDIR/slots"
    # whoever has a run was started, and nobody else
    awk '($3 == "-") != ($2 == "missed" || $2 == "due") { exit 1 }' "$BATS_TEST_TMPDIR/slots"
}

@test "no slot was ever started: said in words, and no rows for programs" {
    leaserun init
    run -0 leaserun history --slots nightly "$JOBS"
    expect_equal "$output" 'no slot of this job has been started yet'
    run -0 leaserun history --slots --json nightly "$JOBS"
    expect_equal "$output" ''
}

@test "a job without slots, one that is not there, no job: 64 and one line" {
    leaserun init
    run -64 --separate-stderr leaserun history --slots start "$JOBS"
    expect_one_line
    expect_contains "$stderr" 'job "start" has no slots: @once and @reboot have none'
    run -64 --separate-stderr leaserun history --slots nobody "$JOBS"
    expect_one_line
    expect_contains "$stderr" 'there is no enabled job "nobody" in the job table'
    run -64 --separate-stderr leaserun history --slots
    expect_contains "$stderr" '--slots needs a job'
    run -64 --separate-stderr leaserun history nightly "$JOBS"
    expect_contains "$stderr" 'belong to --slots'
}

has_skipped() { leaserun history --slots --json slow "$JOBS" | grep -q '"skipped"'; }

@test "a slot that was skipped: no fence and no start, since nobody ran it" {
    printf '[job slow]\nschedule = every 1s\nexec = sleep 60\n' >"$JOBS"
    start "$LEASERUN" schedule "$JOBS"
    await 10 has_skipped
    run -0 leaserun history --json slow
    expect_contains "$(grep '"skipped"' <<<"$output" | head -1)" '"fence":null'
}
