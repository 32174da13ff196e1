#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# run JOB: a job of the table is run now, with its key, limits, user and environment.
# stores: sqlite postgresql

load ../lib/helpers

setup() {
    fresh_key
    TABLE=$BATS_TEST_TMPDIR/leaserun.ini
}

table() { # ; leaserun.ini on stdin
    cat >"$TABLE"
}

run_job() { # ARGUMENT...
    "$LEASERUN" run --config "$TABLE" "$@"
}

@test "the job's command runs under its key and name, with what its section says" {
    chmod 755 "$BATS_TEST_TMPDIR"
    echo 'FROM_FILE=yes' >"$BATS_TEST_TMPDIR/job.env"
    table <<EOT
[defaults]
umask = 027
user = nobody
[job nightly-$$]
schedule = 0 2 * * *
timezone = Europe/Paris
key = $KEY
cwd = /usr
env = WORDS='a b' EMPTY=
env-file = $BATS_TEST_TMPDIR/job.env
command = echo "\$LEASERUN_JOB|\$LEASERUN_KEY|\$(id -un)|\$(pwd)|\$(umask)|\$WORDS|\$FROM_FILE" ; exit 7
EOT
    run -7 --separate-stderr run_job "nightly-$$"
    expect_equal "$output" "nightly-$$|$KEY|nobody|/usr|0027|a b|yes"
    expect_equal "$(run_field "$KEY" job)" "nightly-$$"
    expect_equal "$(run_field "$KEY" outcome)" failed
    expect_equal "$(run_field "$KEY" slot)" None
}

@test "a command of 64 KiB with ; # % and quotes arrives whole" {
    python3 - "$TABLE" "$KEY" <<'EOT'
import sys
tail = "' | wc -c ; echo done # %"
head = "printf %s '"
body = (";#%:=" * 14000)[:65536 - len(head) - len(tail)]
with open(sys.argv[1], "w") as table:
    table.write(f"[job long]\nschedule = @daily\nkey = {sys.argv[2]}\ncommand = {head}{body}{tail}\n")
EOT
    run -0 run_job long
    expect_equal "${lines[0]}" "$((65536 - 11 - 25))"
    expect_equal "${lines[1]}" done
}

@test "exec is run without a shell, its words quoted as for one" {
    table <<EOT
[job words]
schedule = @daily
key = $KEY
exec = printf '[%s]' 'a b' "c'd" e\ f \$HOME * ; #x
EOT
    run -0 run_job words
    expect_equal "$output" "[a b][c'd][e f][\$HOME][*][;][#x]"
}

@test "options count over the job, the job over the defaults" {
    table <<EOT
[defaults]
timeout = 1s
[job slow]
schedule = @daily
key = $KEY
exec = sleep 30
EOT
    run -124 run_job slow
    printf 'timeout = 1m\n' >>"$TABLE"
    run -124 run_job --timeout 500ms slow
}

@test "a job that is not enabled is run when it is asked for" {
    table <<EOT
[job off]
schedule = @daily
enabled = no
key = $KEY
exec = echo ran
EOT
    run -0 run_job off
    expect_equal "$output" ran
}

@test "retries start the command again with its own descriptors: the second attempt succeeds" {
    table <<EOT
[job again]
schedule = @daily
key = $KEY
command = echo "attempt \$LEASERUN_ATTEMPT"; echo three >&3; [ "\$LEASERUN_ATTEMPT" = 2 ]
retries = 3
retry-delay = 10ms
EOT
    run -0 --separate-stderr run_job --quiet again 3>"$BATS_TEST_TMPDIR/three"
    expect_equal "$output" $'attempt 1\nattempt 2'
    expect_equal "$(cat "$BATS_TEST_TMPDIR/three")" $'three\nthree'
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "held elsewhere: not run here, 75, as any run of the key" {
    table <<EOT
[job nightly]
schedule = @daily
key = $KEY
exec = touch $BATS_TEST_TMPDIR/ran
EOT
    start_holder
    run -75 run_job nightly
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "jobs lie in leaserun.ini and in jobs.d beside it" {
    mkdir "$BATS_TEST_TMPDIR/jobs.d"
    table <<<$'[log]\nlevel = warn'
    printf '[job beside]\nschedule = @daily\nkey = %s\nexec = echo beside\n' "$KEY" \
        >"$BATS_TEST_TMPDIR/jobs.d/a.ini"
    run -0 run_job beside
    expect_equal "$output" beside
}

@test "a job that is not there: 64, one line, the nearest name" {
    table <<<$'[job nightly]\nschedule = @daily\nexec = true'
    run -64 --separate-stderr run_job nigthly
    expect_one_line
    expect_contains "$stderr" 'did you mean nightly?'
    run -64 --separate-stderr run_job something-else
    expect_one_line
    expect_contains "$stderr" 'leaserun run something-else -- COMMAND'
}

@test "one fault in any file of the table: 78, and nothing runs" {
    mkdir "$BATS_TEST_TMPDIR/jobs.d"
    table <<<$'[job good]\nschedule = @daily\nexec = touch ran'
    printf '[job bad\nschedule = @daily\nexec = true\n' >"$BATS_TEST_TMPDIR/jobs.d/b.ini"
    cd "$BATS_TEST_TMPDIR"
    run -78 --separate-stderr run_job good
    expect_contains "$stderr" 'jobs.d/b.ini:1: '
    [ ! -e ran ]
}

@test "a command that was typed has none of the table's settings, though [defaults] says them" {
    table <<<$'[defaults]\nuser = nobody\ncwd = /usr\nenv = A=b\nretries = 5\nretry-delay = 0\n[job a]\nno-such-key = x'
    cd "$BATS_TEST_TMPDIR"
    run -3 --separate-stderr run_job "$KEY" -- sh -c 'echo "$(id -u) $PWD ${A-unset}"; exit 3'
    expect_equal "$output" "$(id -u) $PWD unset"
}

@test "--slot makes up for a slot that nobody started, once" {
    table <<EOT
[job hourly]
schedule = @hourly
timezone = UTC
key = $KEY
command = echo "slot \$LEASERUN_SLOT"
EOT
    slot=$(date -u -d '3 hours ago' +%FT%H:00:00Z)
    run -0 --separate-stderr run_job --slot "$slot" hourly
    expect_equal "$output" "slot $slot"
    expect_equal "$(run_field "$KEY" slot)" "${slot%Z}.000000Z"
    run -75 --separate-stderr run_job --slot "$slot" hourly
    expect_one_line
    expect_contains "$stderr" 'was started already (succeeded)'
}

# A scheduler that finds the key held gives the slot up.
@test "--slot of a slot that is recorded as skipped: it is run once, and the record is the run's" {
    table <<EOT
[job often]
schedule = every 1s
key = $KEY
command = echo "slot \$LEASERUN_SLOT"
EOT
    start_holder
    holder=$PID
    start "$LEASERUN" schedule "$BATS_TEST_TMPDIR/leaserun.ini"
    await 10 eval 'leaserun history --json "$KEY" | grep -q skipped'
    stop_started
    slot=$(leaserun history --json "$KEY" | grep skipped | head -n 1 | json_field slot)
    await 5 eval '! is_held "$KEY"'
    run -0 --separate-stderr run_job --slot "$slot" often
    expect_equal "$output" "slot ${slot%.000000Z}Z"
    of_slot() {
        leaserun history --slots --json --limit 9999 often "$BATS_TEST_TMPDIR/leaserun.ini" |
            grep -F "\"slot\":\"$slot\"" | json_field outcome
    }
    expect_equal "$(of_slot)" succeeded
    run -75 --separate-stderr run_job --slot "$slot" often
    expect_one_line
    expect_contains "$stderr" 'was started already (succeeded)'
}

@test "--slot of what is no slot, lies ahead, or has no job: 64 and why" {
    table <<EOT
[job hourly]
schedule = @hourly
timezone = UTC
key = $KEY
exec = true
[job once]
schedule = @once
exec = true
EOT
    run -64 --separate-stderr run_job --slot 2026-01-01T00:30:00Z hourly
    expect_contains "$stderr" 'is no slot of hourly'
    run -64 --separate-stderr run_job --slot 2199-01-01T00:00:00Z hourly
    expect_contains "$stderr" 'lies ahead'
    run -64 --separate-stderr run_job --slot yesterday hourly
    expect_one_line
    run -64 --separate-stderr run_job --slot 2026-01-01T00:00:00Z once
    expect_contains "$stderr" 'has slots'
    run -64 --separate-stderr run_job --slot 2026-01-01T00:00:00Z "$KEY" -- true
    expect_contains "$stderr" 'run --slot TIME JOB'
}

@test "--dry-run of a job shows its key and command and runs nothing" {
    table <<<"[job dry]"$'\n'"schedule = @daily"$'\n'"key = $KEY"$'\n'"command = touch $BATS_TEST_TMPDIR/ran"
    run -0 run_job --dry-run dry
    expect_contains "$output" "key: $KEY"
    expect_contains "$output" "command: touch $BATS_TEST_TMPDIR/ran"
    run -0 run_job --dry-run --slot 2026-01-01 dry
    expect_contains "$output" 'slot: 2026-01-01'
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}
