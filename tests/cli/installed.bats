#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# An installed leaserun finds its guard and its stores, wherever it was installed to.
# stores: postgresql sqlite

load ../lib/helpers

setup() {
    fresh_key
    PLACE=$BATS_FILE_TMPDIR/place
    if [ ! -d "$PLACE" ]; then
        DESTDIR=$PLACE meson install --no-rebuild --quiet -C "$BUILD"
    fi
    INSTALLED=$(find "$PLACE" -path '*/bin/leaserun')
}

@test "installed, it runs a command" {
    run --separate-stderr "$INSTALLED" run "$KEY" -- sh -c 'echo ran; exit 5'
    expect_status 5
    expect_equal "$output" ran
}

@test "installed and reached by a symbolic link or by PATH, it runs a command" {
    ln -sf "$INSTALLED" "$BATS_TEST_TMPDIR/lr"
    run "$BATS_TEST_TMPDIR/lr" run "$KEY" -- sh -c 'exit 5'
    expect_status 5
    PATH=${INSTALLED%/*}:$PATH run env leaserun run "$KEY" -- sh -c 'exit 5'
    expect_status 5
}

@test "without its guard it says where it looked" {
    guard=$(find "$PLACE" -name leaserun-guard)
    mv "$guard" "$guard.away"
    run --separate-stderr "$INSTALLED" run "$KEY" -- true
    mv "$guard.away" "$guard"
    expect_status 71
    expect_one_line
    expect_contains "$stderr" leaserun-guard
}

@test "without the store's module it says which file is missing" {
    module=$(find "$PLACE" -name "leaserun-$STORE_KIND.so")
    mv "$module" "$module.away"
    run --separate-stderr "$INSTALLED" run "$KEY" -- true
    mv "$module.away" "$module"
    [[ $status -eq 78 || $status -eq 71 ]]
    expect_one_line
    expect_contains "$stderr" "leaserun-$STORE_KIND.so"
}

@test "a run with SQLite loads neither libpq nor TLS" {
    [ "$STORE_KIND" = sqlite ] || skip 'a matter of SQLite'
    run --separate-stderr env LD_DEBUG=files "$INSTALLED" run "$KEY" -- true
    expect_status 0
    [[ $stderr == *libuv* ]]
    [[ $stderr != *libpq* && $stderr != *libssl* && $stderr != *libldap* ]]
}

@test "a run while it is being replaced by another file goes on to its end" {
    cp -a "$PLACE" "$BATS_TEST_TMPDIR/other"
    own=$(find "$BATS_TEST_TMPDIR/other" -path '*/bin/leaserun')
    start "$own" run "$KEY" -- sh -c 'echo running; exec sleep 1'
    await 10 has_said "$PID" running
    rm "$own" "$(find "$BATS_TEST_TMPDIR/other" -name leaserun-guard)"
    finish "$PID" 10
    expect_equal "$STATUS $(started_stderr "$PID")" "0 "
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "every manual is installed" {
    for page in leaserun.1 leaserun.7 leaserun.ini.5; do
        [ -n "$(find "$PLACE" -name "$page*")" ]
    done
}
