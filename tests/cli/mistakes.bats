#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# What people mistype, and forget: one line that names it and says what to write instead.
# stores: sqlite

load ../lib/helpers

# Fails with this status, in one line of stderr with all these parts.
expect_line() { # STATUS PART...
    local part
    expect_status "$1"
    expect_one_line
    for part in "${@:2}"; do
        expect_contains "$stderr" "$part"
    done
}

mistake() { # STATUS PART -- ARGUMENT...
    run --separate-stderr "$LEASERUN" "${@:4}"
    expect_line "$1" "$2"
    expect_equal "$output" ''
}

@test "a word is missing, too many, or in the wrong place" {
    mistake 64 'leaserun run KEY -- COMMAND' -- run
    mistake 64 'the key is missing before "--"' -- run -- true
    mistake 64 'leaserun run k -- true' -- run k true
    mistake 64 'leaserun run k -- COMMAND' -- run k
    mistake 64 'the command is missing behind "--"' -- run k --
    mistake 64 'an empty word' -- run k -- ''
    mistake 64 'options come before it' -- run k --timeout 5s -- true
    mistake 64 'such as leaserun run --wait' -- --wait 1s run k -- true
    mistake 64 'leaserun release [options] KEY' -- release
    mistake 64 '"b" is one word too many' -- status a b
    mistake 64 'leaserun status --max-age 26h KEY' -- status --max-age 1h
}

@test "a name is mistyped: the nearest one is offered" {
    mistake 64 'did you mean leaserun run?' -- runn k -- true
    mistake 64 'did you mean leaserun run?' -- RUN k -- true
    mistake 64 'did you mean --timeout?' -- run --tiemout 5s k -- true
    mistake 64 'did you mean --timeout?' -- run --time 5s k -- true
    mistake 64 'did you mean status?' -- help sttus
    mistake 64 'leaserun help lists' -- help foo
    mistake 64 'see leaserun help' -- foo
    mistake 64 'did you mean kill?' -- run --leftovers kil k -- true
}

@test "a value is wrong: which would be right" {
    mistake 64 'write 5s for seconds' -- run --timeout 5 k -- true
    mistake 64 '--timeout: "k" is no duration' -- run --timeout k -- true
    mistake 64 '--forget needs a value: --forget KEY' -- purge --forget
    mistake 64 'the least possible is 5s' -- run --ttl 1s k -- true
    mistake 64 'the most possible is 1w' -- run --ttl 400d k -- true
    mistake 64 'the most possible is 255' -- run --held-exit 256 k -- true
    mistake 64 'minute, hour or day' -- run --once-per week k -- true
    mistake 64 '--dry-run takes no value' -- run --dry-run=yes k -- true
    mistake 64 'give the lease a name' -- run '' -- true
    mistake 64 'a key is one line' -- run $'a\nb' -- true
}

@test "the store: none, two, unknown, not there" {
    unset LEASERUN_STORE
    mistake 78 '--local to keep leases on this host' -- run k -- true
    mistake 64 'keep one of them' -- run --local --store sqlite:x k -- true
    mistake 78 'must start with postgresql: or sqlite:' -- run --store mysql://h/db k -- true
    mistake 78 'must start with postgresql: or sqlite:' -- run --store "$BATS_TEST_TMPDIR/x.db" k -- true
    mistake 78 'the store is a file' -- run --store "sqlite:$BATS_TEST_TMPDIR/" k -- true
    LEASERUN_STORE_FILE=/nowhere mistake 78 'named by LEASERUN_STORE_FILE' -- run k -- true
    mistake 78 'No such file' -- run --config /nowhere k -- true
}

@test "the command: a whole line in one word, a folder, no program" {
    run -127 --separate-stderr leaserun run "$KEY" -- 'echo hello'
    expect_line 127 'needs sh -c'
    run -127 --separate-stderr leaserun run "$KEY" -- no-such-program
    expect_line 127 'no such program in PATH'
    run -126 --separate-stderr leaserun run "$KEY" -- /tmp
    expect_line 126 'it is a folder'
    run -126 --separate-stderr leaserun run "$KEY" -- /etc/passwd
    expect_line 126 'chmod +x'
}

fault() { # LINE PART ; leaserun.ini on stdin
    cat >"$BATS_TEST_TMPDIR/leaserun.ini"
    run --separate-stderr leaserun check "$BATS_TEST_TMPDIR/leaserun.ini"
    expect_line 78 "leaserun.ini:$1: " "$2"
}

@test "leaserun.ini: each fault with its line and what would be right" {
    fault 1 'did you mean [store]?' <<<$'[Store]\nurl = x'
    fault 2 'did you mean url?' <<<$'[store]\nURL = sqlite:/x'
    fault 2 'did you mean timeout?' <<<$'[defaults]\ntimout = 3m'
    fault 2 'a comment needs a line of its own' <<<$'[defaults]\nttl = 3m ; three minutes'
    fault 2 'neither [section] nor key = value' <<<$'[store]\nurl: x'
    fault 1 'before the first [section]' <<<'url = x'
    fault 2 'did you mean json?' <<<$'[log]\nformat = "json"'
    fault 2 'not indented' <<<$'[store]\n url = x'
}

@test "leaserun.ini: a store that nobody knows is found without a connection" {
    unset LEASERUN_STORE
    echo $'[store]\nurl = mysql://h/db' >"$BATS_TEST_TMPDIR/leaserun.ini"
    run --separate-stderr leaserun check "$BATS_TEST_TMPDIR/leaserun.ini"
    expect_line 78 'must start with postgresql: or sqlite:'
}
