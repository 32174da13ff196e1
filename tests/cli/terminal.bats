#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# leaserun on a terminal: keys, job control, and the shells around it.
# stores: sqlite

load ../lib/helpers

# What a person does on a terminal (see pty.py), in a bash whose prompt shows the last status. In
# it `lr` is `leaserun run` with a key, and NOTES a file for the commands' notes.
on_bash() { # the steps on stdin
    on_terminal bash --noprofile --rcfile "$RC" --noediting -i
}

on_terminal() { # PROGRAM...
    timeout --kill-after=5 80 python3 "$TESTS/lib/pty.py" "$@"
}

setup() {
    fresh_key
    export KEY LEASERUN
    export NOTES=$BATS_TEST_TMPDIR/notes RC=$BATS_TEST_TMPDIR/rc
    export HISTFILE=/dev/null PS1='[$?]> '
    : >"$NOTES"
    cat >"$RC" <<'END'
PS1='[$?]> '
lr() { "$LEASERUN" run "$@"; }
END
}

held() { # for the steps: a command line that succeeds while KEY is held
    printf '"$LEASERUN" status --json "$KEY" | grep -q ".state.: *.%s"' "$1"
}

@test "Ctrl-C ends the command, once, and leaserun with 130; the lease is free" {
    on_bash <<END
        expect [0]>
        line lr "\$KEY" -- sh -c 'trap "echo got >>\$NOTES" INT; echo run''ning; sleep 60; sleep 0.2; exit 5'
        expect running
        front sleep
        key C
        expect [5]>
        line lr "\$KEY" -- sh -c 'echo run''ning; sleep 60'
        expect running
        front sleep
        key C
        expect [130]>
        outside $(held released)
END
    expect_equal "$(cat "$NOTES")" got
}
