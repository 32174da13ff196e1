#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# libpq without libldap and GSSAPI, where nobody can need them (COST in leaserun(7)).
# stores: postgresql

load ../lib/helpers

# Copies what was built, for a test to break.
copy_programs() {
    mkdir "$BATS_TEST_TMPDIR/programs"
    PROGRAMS=$BATS_TEST_TMPDIR/programs
    cp "$BUILD"/src/leaserun "$BUILD"/src/leaserun-* "$PROGRAMS" 2>/dev/null || true
    [ -x "$PROGRAMS/leaserun-guard" ]
}

libraries_of_a_run() { # LEASERUN [OPTION...]
    local program=$1
    shift
    LD_DEBUG=files "$program" run "$@" "$KEY" -- true 2>&1 | sed -n 's/.*calling init: //p'
}

libpq() {
    ldd "$BUILD/src/leaserun-postgresql.so" | awk '$1 ~ /^libpq[.]so/ { print $3 }'
}

# The symbols, with their versions, of a library that match.
undefined() { # FILE PATTERN
    nm -D --with-symbol-versions "$1" | awk '$1 == "U" { print $2 }' | grep -E "$2" | sort
}

defined() { # FILE
    nm -D --defined-only --with-symbol-versions "$1" | awk '{ sub("@@", "@", $NF); print $NF }' |
        sort
}

@test "a run loads neither libldap nor GSSAPI" {
    loaded=$(libraries_of_a_run "$LEASERUN")
    expect_contains "$loaded" /libpq.so
    expect_contains "$loaded" /leaserun-without-ldap.so
    expect_contains "$loaded" /leaserun-without-gssapi.so
    [[ $loaded != */libldap* && $loaded != */libgssapi* && $loaded != */libkrb5* ]]
}

@test "with a service named it loads both" {
    printf '[app]\nport=%s\n' "$(cat "$PG_ROOT/main/port")" >"$BATS_TEST_TMPDIR/services"
    export PGSERVICEFILE=$BATS_TEST_TMPDIR/services
    loaded=$(libraries_of_a_run "$LEASERUN" \
        --store "postgresql:///$DATABASE?host=$PG_ROOT/main&user=postgres&service=app")
    expect_contains "$loaded" /libldap
    expect_contains "$loaded" /libgssapi
    [[ $loaded != *leaserun-without* ]]
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "with a variable of Kerberos it loads GSSAPI for TCP" {
    loaded=$(KRB5CCNAME=FILE:/nonexistent libraries_of_a_run "$LEASERUN" \
        --store "$(pg_tcp_url main "$DATABASE" postgres)" 2>&1)
    expect_contains "$loaded" /libgssapi
    expect_contains "$loaded" /leaserun-without-ldap.so
}

@test "whatever libpq takes from the two libraries the stand-ins have" {
    for pair in 'ldap ^(ldap|ber)_' 'gssapi ^(gss|GSS|krb5)_'; do
        wanted=$(undefined "$(libpq)" "${pair#* }")
        [ -n "$wanted" ]
        missing=$(comm -23 <(echo "$wanted") <(defined "$BUILD/src/leaserun-without-${pair%% *}.so"))
        expect_equal "$missing" ''
    done
}

@test "with everything bound at once it runs" {
    LD_BIND_NOW=1 run --separate-stderr leaserun run "$KEY" -- true
    expect_status 0
    expect_equal "$stderr" ''
}

@test "the command sees nothing of them" {
    run --separate-stderr leaserun run "$KEY" -- \
        sh -c 'cat /proc/self/maps /proc/self/environ | tr "\0" "\n"; ls -l /proc/self/fd'
    expect_status 0
    expect_contains "$output" libc.so
    [[ $output != *leaserun-without* && $output != *LD_* ]]
}

@test "a libpq that asks for more than they have gets the real ones" {
    copy_programs
    for library in ldap gssapi; do
        file=$PROGRAMS/leaserun-without-$library.so
        soname=$(readelf -d "$file" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
        version=$(defined "$file" | sed -n 's/.*@//p' | sort -u)
        echo "$version { global: none; local: *; };" >"$BATS_TEST_TMPDIR/map"
        echo 'int none;' | cc -x c -shared -fPIC -nostdlib -Wl,-soname,"$soname" \
            -Wl,--version-script,"$BATS_TEST_TMPDIR/map" -o "$file" -
    done
    loaded=$(libraries_of_a_run "$PROGRAMS/leaserun")
    expect_contains "$loaded" /libldap
    expect_contains "$loaded" /libgssapi
    expect_equal "$(run_field "$KEY" outcome)" succeeded
}

@test "without their files it loads the real ones" {
    copy_programs
    rm "$PROGRAMS"/leaserun-without-*
    loaded=$(libraries_of_a_run "$PROGRAMS/leaserun")
    expect_contains "$loaded" /libldap
    expect_contains "$loaded" /libgssapi
}

@test "a server that asks for Kerberos is told why it cannot be had" {
    start python3 "$TESTS/lib/hostilepg.py" "$BATS_TEST_TMPDIR" kerberos
    await 10 test -S "$BATS_TEST_TMPDIR/.s.PGSQL.5432"
    run --separate-stderr leaserun run --store "host=$BATS_TEST_TMPDIR" --start-within 2s "$KEY" -- true
    expect_status 69
    expect_one_line
    expect_contains "$stderr" 'leaserun runs without Kerberos'
}
