#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Signals to leaserun: what reaches the command, how a run ends by them, and that nothing stays.
# stores: postgresql sqlite

load ../lib/helpers

STOPS='HUP INT QUIT TERM'

# Writes the name of each signal that comes to FILE, a line each, until FILE.end is there.
RECORDER='for name in HUP INT QUIT TERM USR1 USR2; do trap "echo $name >>\"$1\"" $name; done
echo running
until [ -e "$1.end" ]; do sleep 0.05; done'

start_recorder() { # [OPTION...]; sets PID and RECORD
    RECORD=$BATS_TEST_TMPDIR/record.$RANDOM
    : >"$RECORD"
    start "$TOOLS/start_as" --default 1 --default 2 --default 3 -- "$LEASERUN" run "$@" "$KEY" -- \
        sh -c "$RECORDER" sh "$RECORD"
    await 10 has_said "$PID" running
}

has_recorded() { # COUNT
    [ "$(wc -l <"$RECORD")" -eq "$1" ]
}

# Ends it, and expects what was recorded.
expect_recorded() { # STATUS NAME...
    sleep 0.2 # for what would come twice
    : >"$RECORD.end"
    finish "$PID" 10
    expect_equal "$STATUS" "$1"
    shift
    expect_equal "$(tr '\n' ' ' <"$RECORD")" "$* "
}

# A run that signals can end: in a shell's background INT and QUIT would be ignored. Sets PID.
start_plain() { # ARGUMENT... of leaserun
    start "$TOOLS/start_as" --default 1 --default 2 --default 3 -- "$LEASERUN" "$@"
}

# Within a second, with the status for the signal, and without a process that names the key.
expect_ended_by() { # NAME PID SINCE_MS
    finish "$2" 5
    expect_equal "$STATUS" $((128 + $(kill -l "$1")))
    local took=$(($(now_ms) - $3))
    [ $took -le 1000 ] || { echo "$1 took $took ms" >&2 && return 1; }
    run pgrep -f -- "$KEY"
    expect_equal "$output" ''
}

@test "P10 each signal to leaserun reaches the command exactly once" {
    start_recorder --grace 60s
    count=0
    for name in USR1 USR2 TERM HUP INT QUIT; do
        kill -$name "$PID"
        count=$((count + 1))
        await 5 has_recorded $count
    done
    expect_recorded 0 USR1 USR2 TERM HUP INT QUIT
}

@test "P10 a signal that is sent again arrives again" {
    start_recorder --grace 60s
    for count in 1 2 3; do
        kill -TERM "$PID"
        await 5 has_recorded $count
    done
    expect_recorded 0 TERM TERM TERM
}

@test "P10 USR1 and USR2 end nothing, and do not count as a stop" {
    start_recorder
    kill -USR1 "$PID"
    await 5 has_recorded 1
    expect_recorded 0 USR1
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "HUP, INT, QUIT and TERM end the run with 128 and the number; it counts as stopped" {
    for name in $STOPS; do
        start_plain run "$KEY" -- sh -c 'ulimit -c 0; echo running; exec sleep 60'
        await 10 has_said "$PID" running
        since=$(now_ms)
        kill -"$name" "$PID"
        expect_ended_by "$name" "$PID" "$since"
        expect_equal "$(run_field "$KEY" outcome)" stopped
        expect_equal "$(lease_field "$KEY" state)" released
    done
}

@test "P7 TERM to every process of the session at once: the key is free, the outcome told" {
    start setsid "$LEASERUN" run "$KEY" -- sh -c 'echo running; sleep 60'
    await 10 has_said "$PID" running
    # shellcheck disable=SC2046  # words
    kill -TERM $(ps -o pid= --sid "$PID")
    finish "$PID" 10
    expect_equal "$STATUS" 143
    expect_equal "$(lease_field "$KEY" state)" released
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'stopped 143'
}

@test "a command that ignores TERM is killed after --grace: 137, stopped" {
    start_plain run --grace 1s "$KEY" -- sh -c 'trap "" TERM; echo running; sleep 60'
    await 10 has_said "$PID" running
    since=$(now_ms)
    kill -TERM "$PID"
    finish "$PID" 10
    took=$(($(now_ms) - since))
    expect_equal "$STATUS" 137
    [ $took -ge 1000 ]
    [ $took -le 2500 ]
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'stopped 137'
}

@test "a command that ends in its own way within --grace keeps its status" {
    start_plain run --grace 10s "$KEY" -- sh -c 'trap "sleep 0.5; exit 9" TERM; echo running; sleep 60 & wait'
    await 10 has_said "$PID" running
    kill -TERM "$PID"
    finish "$PID" 5
    expect_equal "$STATUS" 9
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'stopped 9'
}

@test "a command that ignores TERM and runs longer than --timeout is killed: 124, timed_out" {
    run --separate-stderr leaserun run --timeout 500ms --grace 500ms "$KEY" -- sh -c 'trap "" TERM; sleep 60'
    expect_status 124
    expect_one_line
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'timed_out 137'
}

@test "P1 a grace longer than the ttl: the lease is renewed until the last process has ended" {
    log=$BATS_TEST_TMPDIR/stamps
    start_plain run --ttl 5s --grace 8s "$KEY" -- "$TOOLS/stamp" "$log" 0 --ignore-term
    holder=$PID
    await 10 test -s "$log"
    start "$LEASERUN" run --wait 60s "$KEY" -- "$TOOLS/stamp" "$log" 50
    waiter=$PID
    since=$(now_ms)
    kill -TERM "$holder"
    finish "$holder" 20
    expect_equal "$STATUS" 137
    [ $(($(now_ms) - since)) -ge 8000 ]
    finish "$waiter" 10
    expect_equal "$STATUS" 0
    expect_equal "$(no_overlaps "$log")" '2 lives, no overlap'
}

@test "a signal while it waits for the lease ends it within a second" {
    start_holder
    holder=$PID
    fence=$(lease_field "$KEY" fence)
    for name in $STOPS; do
        start_plain run --wait 60s "$KEY" -- touch "$BATS_TEST_TMPDIR/ran"
        waiter=$PID
        sleep 0.3
        since=$(now_ms)
        kill -"$name" "$waiter"
        finish "$waiter" 5
        expect_equal "$STATUS" $((128 + $(kill -l "$name")))
        [ $(($(now_ms) - since)) -le 1000 ]
    done
    expect_equal "$(lease_field "$KEY" state) $(lease_field "$KEY" fence)" "held $fence"
    kill -0 "$holder"
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "a signal while the server does not answer the connection ends it within a second" {
    [ "$STORE_KIND" = postgresql ] || skip 'needs no server'
    start python3 -c 'import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(60)'
    await 10 eval '[ -n "$(started_stdout '"$PID"')" ]'
    silent="postgresql://127.0.0.1:$(started_stdout "$PID")/none"
    for name in $STOPS; do
        start_plain run --store "$silent" --wait 60s "$KEY" -- true
        sleep 0.3
        since=$(now_ms)
        kill -"$name" "$PID"
        expect_ended_by "$name" "$PID" "$since"
    done
}

@test "a signal while the name server is silent ends it within a second" {
    [ "$STORE_KIND" = postgresql ] || skip 'needs no server'
    [ "$(id -u)" -eq 0 ] || skip 'needs root'
    printf 'nameserver 127.0.0.1\noptions timeout:5 attempts:2\n' >"$BATS_TEST_TMPDIR/resolv.conf"
    for name in $STOPS; do
        start unshare --net --mount sh -ec '
            ip link set lo up
            mount --bind "$1/resolv.conf" /etc/resolv.conf
            python3 -c "import socket, sys, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((\"127.0.0.1\", 53))
server.recv(1000)
print(\"asked\", flush=True)
time.sleep(20)" & resolver=$!
            trap "kill $resolver" EXIT
            "$2" --default 1 --default 2 --default 3 -- "$3" run --wait 60s \
                --store postgresql://database.example/none "$4" -- true &
            echo $! >"$1/pid"
            wait $!' sh "$BATS_TEST_TMPDIR" "$TOOLS/start_as" "$LEASERUN" "$KEY"
        await 10 has_said "$PID" asked
        since=$(now_ms)
        kill -"$name" "$(cat "$BATS_TEST_TMPDIR/pid")"
        await 5 is_gone "$(cat "$BATS_TEST_TMPDIR/pid")"
        [ $(($(now_ms) - since)) -le 1000 ]
        finish "$PID" 5
        expect_equal "$STATUS" $((128 + $(kill -l "$name")))
    done
}

@test "P7 TERM at any time of the first 50 ms: no process is left, no lease held" {
    log=$BATS_TEST_TMPDIR/stamps
    : >"$log"
    for try in $(seq 60); do
        "$LEASERUN" run "$KEY" -- "$TOOLS/stamp" "$log" 0 2>>"$BATS_TEST_TMPDIR/said" &
        sleep "0.0$(printf %02d $((RANDOM % 50)))"
        kill -TERM $!
        STATUS=0
        wait $! || STATUS=$?
        expect_equal "$STATUS" 143
        run pgrep -f -- "$BATS_TEST_TMPDIR|leaserun-guard $KEY"
        expect_equal "$output" ''
    done
    echo "$(grep -c start "$log") of 60 had started"
    run leaserun run "$KEY" -- true
    expect_status 0
    [ ! -s "$log" ] || no_overlaps "$log"
    run ! grep -v 'ended: SIGTERM came' "$BATS_TEST_TMPDIR/said"
}
