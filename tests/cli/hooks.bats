#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# on-success, on-failure, on-lost, on-missed, on-abandoned: what is run when something has become
# of a run or slot; by `run JOB` and by `schedule`.
# stores: postgresql sqlite

load ../lib/helpers
load ../lib/scheduler
load ../lib/faults

eval "scheduler_$(declare -f setup)"
setup() {
    scheduler_setup
    fresh_key
}

# All five, each of which writes a line to STARTS: its name, and what it was told.
all_hooks() {
    local hook
    for hook in success failure lost missed abandoned; do
        echo "on-$hook = echo \"$hook \$LEASERUN_JOB \$LEASERUN_OUTCOME \${LEASERUN_STATUS--}\" >>\"\$STARTS\""
    done
}

start_job() { # JOB [OPTION...]; in the background; sets PID
    start "$LEASERUN" run --config "$TABLE" "${@:2}" "$1"
}

run_job() { # JOB [OPTION...]
    "$LEASERUN" run --config "$TABLE" "${@:2}" "$1"
}

# Stopped first, it cannot notice that its guard is dead.
kill_with_guard() { # PID of leaserun
    kill -STOP "$1"
    kill -KILL "$(guard_of "$1")" "$1"
}

hooks_told() { # EVENT
    grep -c "event=$1 " <<<"$stderr" || true
}

# ---- which, and when -----------------------------------------------------------------------------

@test "each outcome of a run has its hook and no other" {
    table <<END
[defaults]
timezone = UTC
$(all_hooks)
[job fine]
schedule = @daily
command = true
[job failing]
schedule = @daily
command = exit 3
[job absent]
schedule = @daily
exec = /no/such/program
[job slow]
schedule = @daily
timeout = 1s
command = exec sleep 60
[job stopped]
schedule = @daily
command = exec sleep 60
[job again]
schedule = @daily
retries = 2
retry-delay = 0
command = exit 4
END
    run -0 run_job fine
    run -3 run_job failing
    run -127 run_job absent
    run -124 run_job slow
    run -4 run_job again
    start_job stopped
    await 10 is_held stopped
    kill -TERM "$PID"
    finish "$PID" 10
    expect_equal "$STATUS" 143
    expect_equal "$(cat "$STARTS")" "success fine succeeded 0
failure failing failed 3
failure absent not_started -
failure slow timed_out 143
failure again failed 4
failure stopped stopped 143"
}

@test "a lease that is lost: on-lost, once the command is dead" {
    table <<END
[job a]
schedule = @daily
timezone = UTC
ttl = 6s
command = echo \$\$ >"$BATS_TEST_TMPDIR/pid"; exec sleep 600
on-lost = kill -0 \$(cat "$BATS_TEST_TMPDIR/pid") 2>/dev/null || echo "dead \$LEASERUN_OUTCOME \$LEASERUN_ERROR" >>"\$STARTS"
on-failure = echo failure >>"\$STARTS"
END
    start_job a
    await 10 test -s "$BATS_TEST_TMPDIR/pid"
    run -0 leaserun release --stop a
    finish "$PID" 15
    expect_equal "$STATUS" 76
    expect_contains "$(cat "$STARTS")" 'dead lost '
    expect_equal "$(wc -l <"$STARTS")" 1
}

@test "a command that was typed has no hook, whatever [defaults] says" {
    table <<<$'[defaults]\n'"$(all_hooks)"
    run -1 leaserun run --config "$TABLE" "$KEY" -- false
    run -0 leaserun run --config "$TABLE" "$KEY" -- true
    expect_equal "$(cat "$STARTS")" ''
}

@test "a run that never told its end: on-abandoned, by who has the key next, of the run that it is about" {
    table <<END
[defaults]
timezone = UTC
[job a]
schedule = @daily
ttl = 5s
command = if [ -e "$BATS_TEST_TMPDIR/again" ]; then true; else echo \$LEASERUN_RUN_ID \$LEASERUN_FENCE >>"\$STARTS"; exec sleep 600; fi
on-abandoned = echo "\$LEASERUN_RUN_ID \$LEASERUN_FENCE" "\$LEASERUN_OUTCOME \${LEASERUN_STATUS--} \${LEASERUN_ATTEMPT--} \${LEASERUN_SLOT--}" >>"\$STARTS"
END
    start_job a
    await 10 has_started 1
    kill_with_guard "$PID"
    finish "$PID" 5
    touch "$BATS_TEST_TMPDIR/again"
    run -0 run_job a --wait 20s
    run -0 run_job a
    expect_equal "$(wc -l <"$STARTS")" 2
    expect_equal "$(tail -n 1 "$STARTS")" "$(head -n 1 "$STARTS") abandoned - - -"
}

@test "the lease is free while the hook runs, and the next run does not wait for it" {
    table <<END
[job a]
schedule = @daily
timezone = UTC
command = true
on-success = echo hook >>"\$STARTS"; while [ ! -e "$BATS_TEST_TMPDIR/end" ]; do sleep 0.05; done
END
    start_job a
    first=$PID
    await 10 has_started 1 hook
    expect_equal "$(lease_field a state)" released
    start_job a
    await 10 has_started 2 hook
    ! is_gone "$first"
    touch "$BATS_TEST_TMPDIR/end"
    finish "$first" 5
    expect_equal "$STATUS" 0
    finish "$PID" 5
    expect_equal "$STATUS" 0
}

# ---- what it gets, and where it writes -----------------------------------------------------------

@test "its environment: the words of the run, outcome, status and error, and no store" {
    export LEASERUN_OUTCOME=stale LEASERUN_ERROR=stale
    table <<END
[job a]
schedule = @daily
timezone = UTC
key = $KEY
env = FLAVOUR='dark blue'
shell = /bin/sh -u
command = env | grep -E '^LEASERUN_|^FLAVOUR' | sort >"$BATS_TEST_TMPDIR/command"; exit 5
on-failure = env | grep -E '^LEASERUN_|^FLAVOUR' | sort >"$BATS_TEST_TMPDIR/hook"
on-success = env | grep -E '^LEASERUN_(OUT|ERR|STA)' | sort >"$BATS_TEST_TMPDIR/success"
END
    unset LEASERUN_TEST_PG
    run -5 run_job a --store "$STORE_URL"
    expect_equal "$(diff "$BATS_TEST_TMPDIR/command" "$BATS_TEST_TMPDIR/hook" | sed -n 's/^> //p')" \
        'LEASERUN_ERROR=the command failed with exit status 5
LEASERUN_OUTCOME=failed
LEASERUN_STATUS=5'
    expect_equal "$(sed 's/RUN_ID=.*/RUN_ID=/; s/FENCE=[1-9][0-9]*$/FENCE=/' "$BATS_TEST_TMPDIR/hook")" \
        "FLAVOUR=dark blue
LEASERUN_ATTEMPT=1
LEASERUN_ERROR=the command failed with exit status 5
LEASERUN_FENCE=
LEASERUN_JOB=a
LEASERUN_KEY=$KEY
LEASERUN_OUTCOME=failed
LEASERUN_RUN_ID=
LEASERUN_STATUS=5"
    sed -i 's/; exit 5//' "$TABLE"
    run -0 run_job a
    # What an outer leaserun had told is not there.
    expect_equal "$(cat "$BATS_TEST_TMPDIR/success")" $'LEASERUN_OUTCOME=succeeded\nLEASERUN_STATUS=0'
}

@test "stdin: the kept tail of the output, byte for byte; without output-tail nothing" {
    table <<END
[defaults]
timezone = UTC
on-success = od -An -tx1 >"$BATS_TEST_TMPDIR/\$LEASERUN_JOB"; readlink /proc/self/fd/0 >>"\$STARTS"
[job discard]
schedule = @daily
output = discard
output-tail = 5
command = printf 'abc\\0d\\377\\n'
[job lines]
schedule = @daily
output = lines
output-tail = 1M
command = head -c 2097152 /dev/zero | tr '\\0' x; echo end
on-success = wc -c >"\$STARTS.lines"
[job without]
schedule = @daily
output = discard
command = echo text
END
    run -0 run_job discard
    run -0 run_job without </dev/zero
    run -0 run_job lines
    expect_equal "$(cat "$BATS_TEST_TMPDIR/discard")" ' 63 00 64 ff 0a'
    expect_equal "$(cat "$BATS_TEST_TMPDIR/without")" ''
    expect_equal "$(tail -n 1 "$STARTS")" /dev/null
    expect_equal "$(cat "$STARTS.lines")" 1048576
}

@test "what it writes: leaserun's stderr, events of the log, or nothing, as output says; never stdout" {
    table <<END
[defaults]
timezone = UTC
on-success = echo to stdout; echo to stderr >&2
[job raw]
schedule = @daily
command = echo command
[job lines]
schedule = @daily
output = lines
command = true
[job discard]
schedule = @daily
output = discard
command = true
END
    run -0 --separate-stderr run_job raw
    expect_equal "$output" command
    expect_equal "$stderr" $'to stdout\nto stderr'
    run -0 --separate-stderr run_job lines --log-format logfmt
    expect_equal "$output" ''
    expect_equal "$(grep -c 'event=output job=lines key=lines .* hook=on-success stream=stdout msg="to stdout"' <<<"$stderr")" 1
    expect_equal "$(grep -c ' hook=on-success stream=stderr msg="to stderr"' <<<"$stderr")" 1
    run -0 --separate-stderr run_job discard
    expect_equal "$output$stderr" ''
}

@test "whoever reads the command's stdout does not wait for the hook, retries or not" {
    table <<END
[defaults]
timezone = UTC
command = echo text
on-success = while [ ! -e "$BATS_TEST_TMPDIR/read" ]; do sleep 0.05; done; echo \$LEASERUN_JOB >>"\$STARTS"
[job a]
schedule = @daily
[job b]
schedule = @daily
retries = 1
END
    sed -i '/^command/d; /^schedule/a command = echo text' "$TABLE"
    for job in a b; do
        rm -f "$BATS_TEST_TMPDIR/read"
        "$LEASERUN" run --config "$TABLE" $job | { cat && touch "$BATS_TEST_TMPDIR/read"; }
        await 5 has_started 1 $job
    done
}

@test "it runs as the job's user, in its folder, with its umask and a clean environment" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
    table <<END
[job a]
schedule = @daily
timezone = UTC
user = nobody
cwd = /usr
umask = 027
output = lines
output-tail = 100
command = echo secret
on-success = echo "\$(id -un) \$(id -gn) \$(pwd) \$(umask) \${STARTS-clean} \$LEASERUN_OUTCOME \$(cat /dev/stdin)"
END
    run -0 --separate-stderr run_job a --log-format logfmt
    expect_contains "$stderr" 'hook=on-success stream=stdout msg="nobody nogroup /usr 0027 clean succeeded secret"'
    expect_equal "$(hooks_told hook_failed)" 0
}

# ---- its end -------------------------------------------------------------------------------------

@test "one that hangs is killed with all it has started, and told; the exit status is the command's" {
    table <<END
[job a]
schedule = @daily
timezone = UTC
command = exit 7
hook-timeout = 1s
on-failure = trap '' TERM; setsid sleep 600 & echo \$\$ \$! >>"\$STARTS"; wait; sleep 600
END
    before=$(now_ms)
    run -7 --separate-stderr run_job a --log-format logfmt
    [ $(($(now_ms) - before)) -lt 3000 ]
    expect_equal "$(hooks_told hook_failed)" 1
    expect_contains "$stderr" 'level=warn event=hook_failed job=a key=a '
    expect_contains "$stderr" ' hook=on-failure status=137 '
    expect_contains "$stderr" 'it ran longer than 1s and was ended (hook-timeout)'
    for pid in $(cat "$STARTS"); do
        is_gone "$pid"
    done
}

@test "one that fails, cannot be started, or leaves something behind is told by one line" {
    table <<END
[defaults]
timezone = UTC
[job failing]
schedule = @daily
command = true
on-success = exit 9
[job killed]
schedule = @daily
command = true
on-success = kill -KILL \$\$
[job absent]
schedule = @daily
shell = /no/such/shell
exec = true
on-success = true
[job elsewhere]
schedule = @daily
command = rm -r "\$PWD"
cwd = $BATS_TEST_TMPDIR/gone
on-success = true
[job leaving]
schedule = @daily
command = true
on-success = sleep 601 & echo \$! >>"\$STARTS"
END
    mkdir "$BATS_TEST_TMPDIR/gone"
    declare -A expected=([failing]='status=9 .*exit status 9' [killed]='status=137 .*signal 9 \(Killed\)'
        [absent]='/no/such/shell' [elsewhere]="$BATS_TEST_TMPDIR/gone" [leaving]='status=0 .*it has left 1 process.*sleep')
    for job in failing killed absent elsewhere leaving; do
        run -0 --separate-stderr run_job $job --log-format logfmt
        expect_one_line
        grep -E "level=warn event=hook_failed job=$job .* hook=on-success .*${expected[$job]}" <<<"$stderr"
    done
    is_gone "$(cat "$STARTS")"
}

@test "one that ends with 0 is told at debug" {
    table <<END
[job a]
schedule = @daily
timezone = UTC
command = true
on-success = true
END
    run -0 --separate-stderr run_job a --log-format logfmt --log-level debug
    grep -E 'level=debug event=hook_finished job=a key=a fence=[0-9]+ run_id=[^ ]+ hook=on-success status=0 took_ms=[0-9]+' <<<"$stderr"
    run -0 --separate-stderr run_job a
    expect_equal "$stderr" ''
}

@test "a signal to run JOB while its hook runs ends the hook at once; the exit status stays the command's" {
    table <<END
[job a]
schedule = @daily
timezone = UTC
command = exit 4
on-failure = echo \$\$ >>"\$STARTS"; exec sleep 600
END
    start_job a --log-format logfmt
    await 10 has_started 1
    kill -TERM "$PID"
    finish "$PID" 3
    expect_equal "$STATUS" 4
    is_gone "$(cat "$STARTS")"
    expect_contains "$(started_stderr "$PID")" 'event=hook_failed'
}

@test "P7 leaserun is killed: its hook dies with all it has started" {
    table <<END
[job a]
schedule = @daily
timezone = UTC
command = true
on-success = setsid sleep 600 & echo \$\$ >>"\$STARTS"; echo \$! >>"\$STARTS"; sleep 600
END
    start_job a
    await 10 has_started 2
    kill -KILL "$PID"
    for pid in $(cat "$STARTS"); do
        await 2 is_gone "$pid"
    done
}

# ---- by a scheduler ------------------------------------------------------------------------------

@test "a scheduler runs them beside the next slots, without a place of max-running" {
    cat >"$BATS_TEST_TMPDIR/leaserun.ini" <<<$'[schedule]\nmax-running = 1'
    table <<END
[job a]
schedule = every 1s
command = echo "command \$LEASERUN_SLOT" >>"\$STARTS"
on-success = echo "hook \$LEASERUN_SLOT \$LEASERUN_OUTCOME" >>"\$STARTS"; sleep 2
END
    replica --config "$BATS_TEST_TMPDIR/leaserun.ini" --log-level debug
    await 10 has_started 4 command
    await 5 has_started 4 hook
    await 5 all_told 1 'level=debug event=hook_finished job=a .* hook=on-success status=0'
    stop_replica "$PID"
    expect_equal "$(grep ^hook "$STARTS" | sort | uniq -d)" ''
    expect_equal "$(awk '$1 == "hook" { print $2 }' "$STARTS" | head -n 4)" \
        "$(awk '$1 == "command" { print $2 }' "$STARTS" | head -n 4)"
}

@test "at a shutdown a run cut short has its hook, in what time is left" {
    table <<END
[job a]
schedule = every 1s
command = trap 'exit 5' TERM; echo command >>"\$STARTS"; while :; do sleep 0.05; done
on-failure = echo "begun \$LEASERUN_OUTCOME \$LEASERUN_STATUS" >>"\$STARTS"; sleep 1; echo "ended" >>"\$STARTS"
END
    replica
    await 5 has_started 1 command
    stop_replica "$PID"
    expect_equal "$(cat "$STARTS")" $'command\nbegun stopped 5\nended'
    expect_equal "$(count_told 'event=hook_failed')" 0
}

@test "at a shutdown a hook that hangs is ended before shutdown-grace is over, and told; a second signal hastens it" {
    printf '[schedule]\nshutdown-grace = 4s\n' >"$BATS_TEST_TMPDIR/leaserun.ini"
    table <<END
[job a]
schedule = every 1s
command = trap 'exit 5' TERM; echo command >>"\$STARTS"; while :; do sleep 0.05; done
on-failure = echo hook >>"\$STARTS"; echo \$\$ >"$BATS_TEST_TMPDIR/pid"; exec sleep 600
END
    replica --config "$BATS_TEST_TMPDIR/leaserun.ini"
    await 5 has_started 1 command
    before=$(now_ms)
    stop_replica "$PID" 6
    took=$(($(now_ms) - before))
    [ "$took" -gt 3000 ] && [ "$took" -lt 4200 ]
    is_gone "$(cat "$BATS_TEST_TMPDIR/pid")"
    expect_equal "$(count_told 'level=warn event=hook_failed job=a .* hook=on-failure status=137 .*leaserun ends')" 1
    : >"$STARTS"
    replica --config "$BATS_TEST_TMPDIR/leaserun.ini"
    await 5 has_started 1 command
    before=$(now_ms)
    kill -TERM "$PID"
    await 3 has_started 1 hook
    stop_replica "$PID" 3
    [ $(($(now_ms) - before)) -lt 2500 ]
}

@test "on-missed: of three replicas the one that tells the slot runs it, once for each slot" {
    table <<END
[job a]
schedule = every 2s
command = $NOTE
on-missed = echo "missed \$LEASERUN_SLOT \$LEASERUN_OUTCOME \${LEASERUN_RUN_ID--} \${LEASERUN_FENCE--} \${LEASERUN_ATTEMPT--}" >>"\$STARTS"
END
    replica
    await 8 has_started 1
    stop_replica "$PID"
    REPLICAS=()
    until_phase 100 2000
    until_phase 100 2000
    until_phase 100 2000
    until_phase 100 2000
    start_replica
    start_replica
    start_replica
    await 10 has_started 2 missed
    await 10 has_started 2 a
    stop_replicas
    missed=$(leaserun history --slots --json a "$TABLE" | python3 -c 'import json, sys
print(*sorted(row["slot"].replace(".000000", "") for row in map(json.loads, sys.stdin) if row["outcome"] == "missed"), sep="\n")')
    expect_equal "$(grep ^missed "$STARTS" | sort)" \
        "$(sed 's/.*/missed & missed - - -/' <<<"$missed")"
    expect_equal "$(count_told 'event=slot_missed job=a')" "$(count_told 'level=(warn|error) event=slot_missed job=a')"
    [ "$(wc -l <<<"$missed")" -ge 2 ]
}

@test "on-abandoned: of two replicas one runs it, for a run whose scheduler was killed with its guard" {
    table <<END
[job a]
schedule = every 2s
ttl = 5s
start-within = 1h
command = if mkdir "$BATS_TEST_TMPDIR/first" 2>/dev/null; then echo "\$LEASERUN_RUN_ID" >>"\$STARTS"; exec sleep 600; fi
on-abandoned = echo "abandoned \$LEASERUN_RUN_ID" >>"\$STARTS"
END
    replica
    await 8 has_started 1
    kill_with_guard "$PID"
    REPLICAS=()
    replica
    replica
    await 20 has_started 1 abandoned
    await 10 all_told 2 'event=run_finished job=a .* outcome=succeeded'
    stop_replicas
    expect_equal "$(tail -n +2 "$STARTS")" "abandoned $(head -n 1 "$STARTS")"
}

@test "on-abandoned: of two replicas one runs it, for a run that is given up after max-attempts" {
    table <<END
[job a]
schedule = */20 * * * * *
timezone = UTC
misfire = latest
if-interrupted = rerun
max-attempts = 1
command = echo "command \$LEASERUN_RUN_ID \$LEASERUN_FENCE \$LEASERUN_SLOT" >>"\$STARTS"; exec sleep 600
on-abandoned = echo "abandoned \$LEASERUN_RUN_ID \$LEASERUN_FENCE \$LEASERUN_SLOT \$LEASERUN_OUTCOME" >>"\$STARTS"
END
    until_phase 19000 20000
    replica
    await 25 has_started 1 command
    kill -KILL "$PID"
    REPLICAS=()
    replica
    replica
    await 15 has_started 1 abandoned
    stop_replicas
    expect_equal "$(count_told 'event=run_given_up')" 1
    expect_equal "$(grep ^abandoned "$STARTS")" \
        "$(grep -m 1 ^command "$STARTS" | sed 's/^command/abandoned/') abandoned"
}

@test "a hook belongs to the table its run was started with, and outlives it" {
    table <<END
[job a]
schedule = every 1s
command = echo command >>"\$STARTS"; while [ ! -e "$BATS_TEST_TMPDIR/end" ]; do sleep 0.05; done
on-success = echo hook >>"\$STARTS"; while [ ! -e "$BATS_TEST_TMPDIR/hook-end" ]; do sleep 0.05; done; echo "\$LEASERUN_JOB ended" >>"\$STARTS"
END
    replica
    await 5 has_started 1 command
    table <<<$'[job b]\nschedule = @daily\ntimezone = UTC\ncommand = true'
    kill -HUP "$PID"
    await 5 told "$PID" event=table_reloaded
    touch "$BATS_TEST_TMPDIR/end"
    await 5 has_started 1 hook
    table <<<$'[job c]\nschedule = @daily\ntimezone = UTC\ncommand = true'
    kill -HUP "$PID"
    await 5 all_told 2 event=table_reloaded
    touch "$BATS_TEST_TMPDIR/hook-end"
    await 5 has_started 1 'a ended'
    stop_replica "$PID"
    expect_equal "$(cat "$STARTS")" $'command\nhook\na ended'
}

@test "as process 1: hooks and what they orphan leave no zombie and no process" {
    cat >"$BATS_TEST_TMPDIR/count" <<'END'
#!/bin/sh
# The zombies of this pid namespace, and the sleeps.
cat /proc/[0-9]*/stat 2>/dev/null | awk '$3 == "Z" { zombies++ } $2 == "(sleep)" { sleeps++ } END { print zombies + 0, sleeps + 0 }'
END
    chmod 755 "$BATS_TEST_TMPDIR/count"
    table <<END
[job a]
schedule = every 1s
command = true
on-success = (setsid sleep 600 &); (sleep 0.02 &); echo hook >>"\$STARTS"; exit 3
END
    start unshare --pid --fork --mount-proc --kill-child "$LEASERUN" schedule --log-format logfmt "$TABLE"
    await 10 has_started 3
    init=$(pgrep -P "$PID")
    is_clean() { [ "$(nsenter --target "$init" --pid --mount "$BATS_TEST_TMPDIR/count")" = '0 0' ]; }
    await 5 is_clean
    kill -TERM "$init"
    finish "$PID" 10
    expect_equal "$STATUS" 0
    grep -E 'event=hook_failed .* status=3 ' "${OUTPUT[$PID]}.err"
}

# ---- its settings --------------------------------------------------------------------------------

@test "check tells a hook that has no value, a NUL or no such name, and a bad hook-timeout, with file and line" {
    table <<'END'
[job a]
schedule = @daily
timezone = UTC
command = true
on-success =
on-failed = true
hook-timeout = 5

[defaults]
hook-timeout = 0
on-lost =
END
    run --separate-stderr leaserun check "$TABLE"
    expect_status 78
    expect_equal "${#stderr_lines[@]}" 5
    expect_contains "$stderr" "$TABLE:5: there is no value"
    expect_contains "$stderr" "$TABLE:6: "
    expect_contains "$stderr" on-failure
    expect_contains "$stderr" "$TABLE:7: hook-timeout: \"5\" has no unit"
    expect_contains "$stderr" "$TABLE:10: hook-timeout: the least possible is 1s"
    expect_contains "$stderr" "$TABLE:11: there is no value"
    printf '[job a]\nschedule = @daily\ntimezone = UTC\ncommand = true\non-failure = a\0b\n' >"$TABLE"
    run --separate-stderr leaserun check "$TABLE"
    expect_status 78
    expect_contains "$stderr" "$TABLE:5: "
    expect_contains "$stderr" NUL
}
