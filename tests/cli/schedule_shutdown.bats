#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# leaserun schedule ends: what becomes of commands, how loud it is; and what it does as
# process 1.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/scheduler

is_free() { [ "$(lease_field "$1" state)" = released ]; }

# A replica whose table is on standard input, with these lines in [schedule].
replica_with() { # SETTING...
    table
    { echo '[schedule]' && printf '%s\n' "$@"; } >"$BATS_TEST_TMPDIR/leaserun.ini"
    replica --config "$BATS_TEST_TMPDIR/leaserun.ini"
}

# TERM to a replica, and its end; sets STATUS and TOOK (ms).
terminate() { # PID SECONDS
    local before
    before=$(now_ms)
    kill -TERM "$1"
    finish "$1" "$2"
    # shellcheck disable=SC2034  # for tests
    TOOK=$(($(now_ms) - before))
}

@test "TERM reaches the commands at once; those that end with 0 are no error, the leases are free, and so it ends with 0" {
    replica_with <<END
[job a]
schedule = every 1s
command = trap 'echo term; exit 0' TERM; echo \$\$ >>"\$STARTS"; while :; do sleep 0.05; done

[job b]
schedule = 0 0 1 1 *
timezone = UTC
command = true

[job once]
schedule = @once
command = trap 'exit 0' TERM; echo \$\$ >>"\$STARTS"; while :; do sleep 0.05; done
END
    await 5 has_started 2
    terminate "$PID" 5
    expect_equal "$STATUS" 0
    [ "$TOOK" -lt 2000 ]
    expect_equal "$(started_stdout "$PID")" term
    is_free a
    is_free once
    expect_equal "$(count_told 'level=error')" 0
    expect_equal "$(leaserun history --json a | json_field outcome)" stopped
    expect_equal "$(count_told 'event=scheduler_stopping .* 2 commands run')" 1
    expect_equal "$(count_told 'level=warn event=run_stopped job=(a|once)')" 2
}

@test "on-shutdown = wait: nothing more is started while a command runs on; a second TERM ends it" {
    replica_with 'on-shutdown = wait' <<END
[job a]
schedule = every 1s
command = echo \$\$ >>"\$STARTS"; exec sleep 60

[job b]
schedule = every 1s
command = true
END
    await 5 has_started 1
    await 5 told "$PID" 'event=run_finished job=b'
    kill -TERM "$PID"
    await 2 told "$PID" event=scheduler_stopping
    before=$(count_told 'event=claim_won')
    until_phase 300 1000
    until_phase 300 1000
    expect_equal "$(count_told 'event=claim_won')" "$before"
    ! is_gone "$(cat "$STARTS")"
    terminate "$PID" 3
    expect_equal "$STATUS" 0
    is_free a
}

@test "a job that ends by itself during the shutdown with a failure is told as such" {
    replica_with <<END
[job a]
schedule = every 1s
command = trap 'exit 7' TERM; echo \$\$ >>"\$STARTS"; while :; do sleep 0.05; done

[job daily]
schedule = @once
command = trap 'exit 7' TERM; echo \$\$ >>"\$STARTS"; while :; do sleep 0.05; done
END
    await 5 has_started 2
    terminate "$PID" 5
    expect_equal "$STATUS" 0
    # It comes again within the minute; the other does not.
    expect_equal "$(count_told 'level=warn event=run_stopped job=a .* outcome=stopped status=7')" 1
    expect_equal "$(count_told 'level=error event=run_stopped job=daily .* outcome=stopped status=7')" 1
}

# ---- as process 1 --------------------------------------------------------------------------------

@test "as process 1: no zombie among 1,000 orphans, and the commands' own statuses" {
    cat >"$BATS_TEST_TMPDIR/orphans.py" <<'END'
"""Forks 1,000 processes, 50 at a time, that leave their parent at once and end soon after."""
import os, sys, time
for group in range(20):
    middles = []
    for _ in range(50):
        pid = os.fork()
        if pid == 0:
            if os.fork() == 0:
                time.sleep(0.05)
            os._exit(0)
        middles.append(pid)
    for pid in middles:
        os.waitpid(pid, 0)
sys.exit(3)
END
    cat >"$BATS_TEST_TMPDIR/count" <<'END'
#!/bin/sh
# The zombies of this pid namespace, and how many processes there are.
cat /proc/[0-9]*/stat 2>/dev/null | awk '$3 == "Z" { zombies++ } END { print zombies + 0, NR }'
END
    chmod 755 "$BATS_TEST_TMPDIR/count"
    table <<END
[job orphans]
schedule = @once
leftovers = leave
command = python3 "$BATS_TEST_TMPDIR/orphans.py"

[job seven]
schedule = every 1s
command = exit 7

[job fine]
schedule = every 1s
command = true
END
    start unshare --pid --fork --mount-proc --kill-child "$LEASERUN" schedule --log-format logfmt "$TABLE"
    await 10 told "$PID" event=scheduler_ready
    await 20 told "$PID" 'event=run_failed job=orphans .* outcome=failed status=3'
    await 5 all_told 2 'event=run_failed job=seven .* outcome=failed status=7' "$PID"
    await 5 all_told 2 'event=run_finished job=fine .* outcome=succeeded status=0' "$PID"
    init=$(pgrep -P "$PID")
    no_zombies() { [ "$(nsenter --target "$init" --pid --mount "$BATS_TEST_TMPDIR/count" | cut -d ' ' -f 1)" -eq 0 ]; }
    await 5 no_zombies
    kill -TERM "$init"
    finish "$PID" 8
    expect_equal "$STATUS" 0
    # Nobody's status was taken for another's.
    expect_equal "$(leaserun history --json --limit 1000 seven | json_field status | sort -u)" 7
    expect_equal "$(leaserun history --json --limit 1000 fine | json_field status | sort -u)" 0
}
