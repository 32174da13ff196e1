#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# When a schedule or a job is due, for people and for programs.
# stores: sqlite

load ../lib/helpers

setup() {
    TABLE=$BATS_TEST_TMPDIR/leaserun.ini
    cat >"$TABLE" <<'END'
[defaults]
timezone = Europe/Paris

[job nightly]
schedule = 0 2 * * *
command = true

[job first]
schedule = @once
command = true

[job minutely]
schedule = every 60s
command = true
timezone = UTC

[job off]
schedule = * * * * *
command = true
enabled = no
END
}

next_of() { # SCHEDULE ZONE FROM [OPTION...]
    leaserun next --schedule "$1" --timezone "$2" --from "$3" "${@:4}"
}

@test "a schedule: five slots, in UTC and as the zone's clock shows them" {
    run -0 --separate-stderr next_of '30 2 * * *' Europe/Paris '2027-03-26 12:00'
    expect_equal "$output" "\
SLOT                  LOCAL
2027-03-27T01:30:00Z  Sat 2027-03-27 02:30:00 CET
2027-03-28T01:00:00Z  Sun 2027-03-28 03:00:00 CEST
2027-03-29T00:30:00Z  Mon 2027-03-29 02:30:00 CEST
2027-03-30T00:30:00Z  Tue 2027-03-30 02:30:00 CEST
2027-03-31T00:30:00Z  Wed 2027-03-31 02:30:00 CEST"
    expect_equal "$stderr" ''
}

@test "--json: one object a line, -n and --count are the same" {
    run -0 next_of '30 2 * * *' Europe/Paris 2027-03-28T00:59:59Z --json -n 2
    expect_equal "$output" "\
{\"job\":null,\"slot\":\"2027-03-28T01:00:00.000000Z\",\"local\":\"2027-03-28T03:00:00+02:00\"}
{\"job\":null,\"slot\":\"2027-03-29T00:30:00.000000Z\",\"local\":\"2027-03-29T02:30:00+02:00\"}"
    expect_equal "$(next_of '30 2 * * *' Europe/Paris 2027-03-28T00:59:59Z --json --count=2)" \
        "$output"
    expect_equal "$(next_of '30 2 * * *' Europe/Paris 2027-03-28T00:59:59Z --json -n2)" "$output"
}

@test "a date that no calendar has: never, at once" {
    SECONDS=0
    run -0 next_of '0 0 30 2 *' America/New_York 2027-01-01
    expect_equal "${lines[1]}" 'never  -'
    run -0 next_of '0 0 31 2,4,6 *' America/New_York 2027-01-01 --json
    expect_equal "$output" '{"job":null,"slot":"never","local":null}'
    [ $SECONDS -lt 5 ]
}

@test "a schedule that is wrong: 64, and one line with the field and the reason" {
    run --separate-stderr leaserun next --schedule '0 24 * * *'
    expect_status 64
    expect_one_line
    expect_equal "$stderr" 'leaserun: --schedule: hour "24": must be 0 to 23'
    expect_equal "$output" ''
    run --separate-stderr leaserun next --schedule '5/15 * * * *'
    expect_status 64
    expect_contains "$stderr" 'minute "5/15": a step needs a range: write 5-59/15'
    run --separate-stderr leaserun next --schedule ''
    expect_status 64
    expect_contains "$stderr" '--schedule: the value is empty'
}

@test "a zone or an instant that is wrong: 64, and which option it is" {
    run --separate-stderr next_of '@daily' Europe/Pariss 2027-01-01
    expect_status 64
    expect_contains "$stderr" '--timezone: unknown time zone "Europe/Pariss"'
    run --separate-stderr next_of '@daily' ../../etc/passwd 2027-01-01
    expect_status 64
    run --separate-stderr next_of '@daily' UTC yesterday
    expect_status 64
    expect_contains "$stderr" '--from: "yesterday" is no instant'
}

@test "without --timezone the host's clock counts: a name, a file, a rule, nothing" {
    noon() { # COMMAND...: the instant of a noon in winter
        "$@" "$LEASERUN" next --schedule '0 12 * * *' --from 2027-01-01T00:00:00Z -n1 --json |
            json_field slot
    }
    expect_equal "$(noon env TZ=Asia/Tokyo)" 2027-01-01T03:00:00.000000Z
    expect_equal "$(noon env TZ=:Asia/Tokyo)" 2027-01-01T03:00:00.000000Z
    expect_equal "$(noon env TZ=/usr/share/zoneinfo/Asia/Tokyo)" 2027-01-01T03:00:00.000000Z
    expect_equal "$(noon env 'TZ=<+09>-9')" 2027-01-01T03:00:00.000000Z
    expect_equal "$(noon env 'TZ=CET-1CEST,M3.5.0,M10.5.0/3')" 2027-01-01T11:00:00.000000Z
    expect_equal "$(noon env TZ=)" 2027-01-01T12:00:00.000000Z
    run --separate-stderr env TZ=Nowhere/City "$LEASERUN" next --schedule '@daily'
    expect_status 78
    expect_contains "$stderr" 'TZ: unknown time zone "Nowhere/City"'
}

@test "the host's zone has its name: by a link, by a copy that /etc/timezone names" {
    on_host() { # COMMAND: sets up /etc; prints the zone that import writes down
        echo '0 0 * * * true' | env -u TZ unshare --mount sh -c "
            mount --make-rprivate / && mount -t tmpfs none /etc && $1 &&
            exec '$(realpath "$LEASERUN")' import" | sed -n 's/^timezone = //p'
    }
    zones=/usr/share/zoneinfo
    expect_equal "$(on_host "ln -s ..$zones/Asia/Tokyo /etc/localtime")" Asia/Tokyo
    expect_equal "$(on_host "cp $zones/Asia/Tokyo /etc/localtime && echo Asia/Tokyo >/etc/timezone")" \
        Asia/Tokyo
    expect_equal "$(on_host "cp $zones/Asia/Tokyo /etc/localtime && echo Asia/Seoul >/etc/timezone")" ''
    expect_equal "$(on_host "echo Asia/Tokyo >/etc/timezone")" ''
}

@test "no zone data on the host: the sentence says so, and UTC works all the same" {
    run --separate-stderr env TZDIR=/nonexistent "$LEASERUN" next --schedule '@daily' \
        --timezone Asia/Tokyo
    expect_status 64
    expect_contains "$stderr" 'install tzdata'
    run -0 env TZDIR=/nonexistent "$LEASERUN" next --schedule '@daily' --timezone UTC -n1
}

@test "a job of the table: its own zone; without JOB each that is enabled, the soonest first" {
    run -0 leaserun next --config "$TABLE" nightly --from 2027-07-01T00:00:00Z -n 1 --json
    expect_equal "$output" \
        '{"job":"nightly","slot":"2027-07-02T00:00:00.000000Z","local":"2027-07-02T02:00:00+02:00"}'
    run -0 leaserun next --config "$TABLE" --from 2027-07-01T00:00:00Z
    expect_equal "$output" "\
JOB       SLOT                  LOCAL
minutely  2027-07-01T00:01:00Z  Thu 2027-07-01 00:01:00 UTC
nightly   2027-07-02T00:00:00Z  Fri 2027-07-02 02:00:00 CEST
first     once                  -"
}

@test "a job that is not there, a job beside --schedule, a zone for a job: 64" {
    run --separate-stderr leaserun next --config "$TABLE" weekly
    expect_status 64
    expect_contains "$stderr" 'there is no job "weekly"'
    run --separate-stderr leaserun next --config "$TABLE" nightly --schedule @daily
    expect_status 64
    run --separate-stderr leaserun next --config "$TABLE" nightly --timezone UTC
    expect_status 64
}

@test "a table with a fault: 78, and where it is" {
    echo 'schedule = 61 * * * *' >>"$TABLE"
    run --separate-stderr leaserun next --config "$TABLE"
    expect_status 78
    expect_contains "$stderr" "$TABLE:"
}

@test "a table without a job that is enabled: said in words, and no rows" {
    printf '[job off]\nschedule = @daily\ncommand = true\nenabled = no\n' >"$TABLE"
    run -0 --separate-stderr leaserun next --config "$TABLE"
    expect_equal "$output" ''
    expect_contains "$stderr" 'no job of the job table is enabled'
}
