#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# leaserun on a terminal: keys, job control, and the shells around it.
# stores: sqlite

load ../lib/helpers

# What a person does on a terminal, step by step (see pty.py), in an interactive bash whose prompt
# is the last status in brackets. There `lr` is `leaserun run`; NOTES is a file for commands.
on_bash() { # steps on stdin
    on_terminal bash --noprofile --rcfile "$RC" --noediting -i
}

on_terminal() { # PROGRAM..., steps on stdin
    timeout --kill-after=5 80 python3 "$TESTS/lib/pty.py" "$@"
}

setup() {
    fresh_key
    export KEY LEASERUN HISTFILE=/dev/null NOTES=$BATS_TEST_TMPDIR/notes GO=$BATS_TEST_TMPDIR/go
    RC=$BATS_TEST_TMPDIR/rc
    : >"$NOTES"
    mkfifo "$GO" # a command that reads it waits without a child that Ctrl-Z could meet half-born
    cat >"$RC" <<'END'
PS1='[$?]> '
lr() { "$LEASERUN" run "$@"; }
END
    # For `outside`: until the key is held, or free; until no guard of it is left.
    HELD='"$LEASERUN" status --json "$KEY" | grep held'
    FREE='"$LEASERUN" status --json "$KEY" | grep released'
    GONE='! pgrep -f -- "^leaserun-guard $KEY "'
}

teardown() {
    stop_started
    local pid
    for pid in $(pgrep -f -- "^$LEASERUN run .*$KEY"); do # of a test that failed
        kill -KILL "$pid"
    done
}

@test "P10 Ctrl-C reaches the command once; what it makes of it is its own" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sh -c 'trap "echo got >>\$NOTES" INT; echo up; until [ -s \$NOTES ]; do sleep 0.1; done; sleep 0.3; exit 5'
        expect up
        front sleep 0.1
        key C
        expect [5]>
END
    expect_equal "$(cat "$NOTES")" got
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'failed 5'
}

@test "P10 Ctrl-C ends the command and leaserun with 130; it counts as stopped, and the key is free" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sleep 60
        front sleep 60
        key C
        expect [130]>
        outside $FREE
        outside $GONE
END
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'stopped 130'
}

@test "P10 Ctrl-C ends a script around leaserun as well, in sh and bash, with and without the terminal" {
    for shell in sh bash; do
        for input in /dev/tty /dev/null; do
            on_bash <<END
                expect [0]>
                line $shell -c '"\$LEASERUN" run "\$KEY" -- sleep 60 <$input; echo went "on"'
                outside pgrep -f -- "^leaserun-guard \$KEY .* sleep 60"
                outside pgrep -x -f 'sleep 60'
                pause 0.3
                key C
                expect [130]>
                never went on
END
        done
    done
}

@test "P10 Ctrl-backslash ends the command and leaserun with 131" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sh -c 'ulimit -c 0; exec sleep 60'
        front sleep 60
        key \\
        expect [131]>
        outside $FREE
END
}

@test "P10 the command reads what is typed" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sh -c 'echo up; read w; echo "<\$w>"; exit 4'
        expect up
        line hello
        expect <hello>
        expect [4]>
END
}

@test "Ctrl-Z stops both and tells how long the lease lasts; fg in time renews it and goes on" {
    on_bash <<END
        expect [0]>
        line lr --ttl 12s "\$KEY" -- sh -c 'sleep 1; read w; echo "<\$w>"; exit 4'
        front sleep 1
        key Z
        expect continue within
        expect Stopped
        expect [148]>
        outside [ "\$(ps -o stat= -p \$(pgrep -f -- "^\$LEASERUN run .*\$KEY") | cut -c1)" = T ]
        outside [ "\$("$LEASERUN" status --json "\$KEY" | sed 's/.*remaining_ms":\([0-9]*\).*/\1/')" -lt 10000 ]
        line fg
        outside [ "\$("$LEASERUN" status --json "\$KEY" | sed 's/.*remaining_ms":\([0-9]*\).*/\1/')" -gt 10000 ]
        front sh -c sleep 1
        line hello
        expect <hello>
        expect [4]>
        outside $FREE
END
}

@test "P6 Ctrl-Z for longer than the lease lasts: the command is gone when fg comes, and leaserun says so with 76" {
    on_bash <<END
        expect [0]>
        line lr --ttl 5s "\$KEY" -- sh -c 'echo \$\$ >\$NOTES; exec sleep 600'
        front sleep 600
        key Z
        expect [148]>
        outside ! kill -0 \$(cat \$NOTES)
        outside "\$LEASERUN" run "\$KEY" -- true
        absent lost
        line fg
        expect the lease is lost
        expect [76]>
        outside $GONE
END
}

@test "bg lets both go on, and the lease is renewed" {
    on_bash <<END
        expect [0]>
        line lr --ttl 5s "\$KEY" -- sh -c 'sleep 2; exec sleep 7'
        front sleep 2
        key Z
        expect [148]>
        line bg
        expect [0]>
        outside pgrep -x -f 'sleep 7'
        pause 6
        outside $HELD
        outside [ "\$(ps -o stat= -p \$(pgrep -f -- "^\$LEASERUN run .*\$KEY") | cut -c1)" = S ]
        line fg
        expect [0]>
        outside $FREE
END
}

@test "P10 a background job that reads the terminal is stopped, and gets it by fg" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sh -c 'read w; echo "<\$w>"; exit 4' &
        expect wants the terminal
        outside [ "\$(ps -o stat= -p \$(pgrep -f -- "^\$LEASERUN run \$KEY") | cut -c1)" = T ]
        line true
        expect Stopped
        line fg
        front sh -c read
        line hello
        expect <hello>
        expect [4]>
END
}

@test "P10 a job brought to the front while it runs gets the terminal when it reads, and Ctrl-Z stops it" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sh -c 'echo u"p"; read w <\$GO; read w; echo "<\$w>"; exit 4' &
        expect up
        line fg
        front $LEASERUN
        key Z
        expect [148]>
        line fg
        outside echo >\$GO
        front sh -c echo
        line hello
        expect <hello>
        expect [4]>
END
}

@test "P10 in a pipeline the rest keeps the terminal: a reader at its end can ask the person" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- seq 1 100 | cat
        expect 100
        expect [0]>
        line lr "\$KEY" -- seq 1 100 | sh -c 'read w </dev/tty; echo "<\$w>"; tail -n 1'
        front sh -c read
        line hello
        expect <hello>
        expect 100
        expect [0]>
        line lr "\$KEY" -- sleep 60 | cat
        front cat
        outside pgrep -x -f 'sleep 60'
        key C
        expect [130]>
        outside $FREE
END
}

@test "Ctrl-Z and fg for a pipeline" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sh -c 'echo u"p"; read w <\$GO; echo "done"' | cat
        front cat
        expect up
        key Z
        expect [148]>
        outside [ "\$(ps -o stat= -p \$(pgrep -f -- "^\$LEASERUN run \$KEY") | cut -c1)" = T ]
        line fg
        front cat
        outside [ "\$(ps -o stat= -p \$(pgrep -f -- "^\$LEASERUN run \$KEY") | cut -c1)" = S ]
        front cat
        outside echo >\$GO
        expect done
        expect [0]>
END
}

@test "Ctrl-Z of a script around leaserun stops all of it, and fg continues all of it" {
    on_bash <<END
        expect [0]>
        line sh -c '"\$LEASERUN" run "\$KEY" -- sleep 1; echo next "step"; read w; echo "<\$w>"'
        front sleep 1
        key Z
        expect [148]>
        line fg
        expect next step
        line hello
        expect <hello>
END
}

@test "a command that stops itself by SIGSTOP on the terminal gives the shell back" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sh -c 'kill -STOP \$\$; echo "done"'
        expect [148]>
        line fg
        expect done
        expect [0]>
END
}

@test "P10 without a shell that could continue it Ctrl-Z stops nothing, as without leaserun" {
    on_terminal sh -c '"$LEASERUN" run "$KEY" -- sleep 2; echo status $?' <<END
        front sleep 2
        key Z
        expect status 0
        never continue within
END
}

@test "Ctrl-Z while the command is being ended does not hold that up" {
    on_bash <<END
        expect [0]>
        line lr --timeout 500ms --grace 60s "\$KEY" -- sh -c 'trap "echo got >\$NOTES" TERM; until [ -s \$NOTES ]; do sleep 0.1; done; sleep 1; exit 3'
        outside [ -s \$NOTES ]
        front sleep 1
        key Z
        expect [124]>
END
}

@test "Ctrl-C while it waits for the lease ends it with 130, and a script around it" {
    start_holder
    on_bash <<END
        expect [0]>
        line bash -c '"\$LEASERUN" run --wait 60s "\$KEY" -- true; echo went "on"'
        expect waiting for
        key C
        expect [130]>
        never went on
END
}

@test "Ctrl-Z while it waits for the lease stops it; fg goes on waiting" {
    start_holder
    on_bash <<END
        expect [0]>
        line lr --wait 60s "\$KEY" -- echo my "turn"
        expect waiting for
        key Z
        expect [148]>
        outside kill $PID
        outside $FREE
        pause 1.5
        absent my turn
        line fg
        expect my turn
        expect [0]>
END
}

@test "P10 the terminal's modes survive a command that a signal ended in the middle of a password" {
    on_bash <<END
        expect [0]>
        line BEFORE=\$(stty -g)
        expect [0]>
        line lr "\$KEY" -- true
        expect [0]>
        line [ "\$(stty -g)" = "\$BEFORE" ] && echo un"harmed"
        expect unharmed
        line lr "\$KEY" -- sh -c 'stty -echo; exec sleep 60'
        front sleep 60
        key C
        expect [130]>
        line [ "\$(stty -g)" = "\$BEFORE" ] && echo un"harmed"
        expect unharmed
        line lr --timeout 500ms "\$KEY" -- sh -c 'stty raw -echo; exec sleep 60'
        expect [124]>
        line [ "\$(stty -g)" = "\$BEFORE" ] && echo un"harmed"
        expect unharmed
        line lr "\$KEY" -- stty -echo
        expect [0]>
        line [ "\$(stty -g)" = "\$BEFORE" ] || echo its "own"
        expect its own
END
}

@test "P10 in dash: Ctrl-Z, fg, bg and Ctrl-C" {
    ENV=$RC on_terminal dash -i <<END
        expect [0]>
        line "\$LEASERUN" run "\$KEY" -- sleep 60
        front sleep 60
        key Z
        expect ]>
        line bg
        expect ]>
        outside pgrep -x -f 'sleep 60'
        line fg
        front sleep 60
        key Z
        expect ]>
        line fg
        front sleep 60
        key C
        expect [130]>
        outside $FREE
END
}

@test "P10 a shell with job control runs under leaserun" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- bash --noprofile --norc --noediting -i
        expect bash
        line sleep 60
        front sleep 60
        key Z
        expect Stopped
        line kill %1; fg >/dev/null; PS1='in:\$?> '
        expect in:
        line exit 6
        expect [6]>
        line lr "\$KEY" -- bash --noprofile --norc --noediting -i
        expect bash
        line sleep 61
        front sleep 61
        outside kill -KILL \$(pgrep -f -- '^bash --noprofile --norc --noediting -i\$')
        expect [137]>
        line lr "\$KEY" -- sh -c 'read w; echo "<\$w>"'
        front sh -c read
        line hello
        expect <hello>
END
}

@test "a terminal that hangs up ends the command, and the key is free" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sleep 60
        front sleep 60
        hang-up
        end 129
        outside $GONE
        outside $FREE
END
    # sh is the leader of the session, and stops being when it is hung up
    on_terminal sh -c '"$LEASERUN" run "$KEY" -- sleep 60' <<END
        front sleep 60
        hang-up
        end 129
        outside $GONE
        outside $FREE
END
}

@test "P10 a terminal that hangs up ends a script around leaserun as well" {
    ENV=$RC on_terminal dash -i <<END
        expect [0]>
        line sh -c '"\$LEASERUN" run "\$KEY" -- sleep 60; echo went on >\$NOTES'
        front sleep 60
        hang-up
        end 129
        outside $GONE
        outside $FREE
        outside ! pgrep -f -- "^sh -c .* went o[n]"
END
    [ ! -s "$NOTES" ]
    expect_equal "$(run_field "$KEY" outcome)" stopped
}

@test "a terminal that hangs up while all is stopped ends it, and the key is free" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sleep 60
        front sleep 60
        key Z
        expect [148]>
        hang-up
        end 129
        outside $GONE
        outside $FREE
END
}

@test "P10 nohup: a terminal that hangs up leaves it running, to its end" {
    on_bash <<END
        expect [0]>
        line nohup "\$LEASERUN" run "\$KEY" -- sh -c 'read w <\$GO; exit 7' >/dev/null &
        outside $HELD
        hang-up
        end 129
        outside $HELD
        pause 1
        outside $HELD
        outside echo >\$GO
        outside $GONE
        outside $FREE
END
    expect_equal "$(run_field "$KEY" outcome) $(run_field "$KEY" status)" 'failed 7'
}

@test "who holds the key is told on a terminal" {
    start_holder
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- true
        expect holds the lease, for
        expect [75]>
END
}
