#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# check finds every fault of a job table in one go, each with file and line, and says of a table
# without fault what is worth knowing.
# stores: sqlite

load ../lib/helpers

setup() {
    export TZ=UTC
    TABLE=$BATS_TEST_TMPDIR/jobs.ini
    printf '[job good]\nschedule = @daily\nexec = true\n' >"$BATS_TEST_TMPDIR/good.ini"
}

table() { # ; the table on stdin
    cat >"$TABLE"
}

check_it() { # ARGUMENT...
    run --separate-stderr timeout 20 "$LEASERUN" check "$@" "$TABLE"
}

# The one fault of the table on stdin.
fault() { # LINE PART
    table
    check_it
    expect_status 78
    expect_one_line
    expect_contains "$stderr" "$TABLE:$1: "
    expect_contains "$stderr" "$2"
    expect_equal "$output" ''
}

# The note or warning on the table on stdin, which has no fault.
told() { # KIND LINE PART
    table
    check_it
    expect_status 0
    expect_contains "$output" "$1: $TABLE:$2: "
    expect_contains "$output" "$3"
}

JOB=$'[job a]\nschedule = @daily\ncommand = true'

@test "an unknown key, with the nearest one" {
    fault 4 'did you mean timeout?' <<<"$JOB"$'\ntimout = 5s'
}

@test "a key of another section, with the section" {
    fault 4 'it belongs to [schedule]' <<<"$JOB"$'\nmax-running = 4'
}

@test "an unknown section, with the nearest one" {
    fault 4 'did you mean [job NAME]?' <<<"$JOB"$'\n[jobs b]\nschedule = @daily'
}

@test "a key twice, with both lines" {
    fault 4 'here and in line 3' <<<"$JOB"$'\ncommand = false'
}

@test "a job twice in one file, with both lines" {
    fault 4 'here and in line 1' <<<"$JOB"$'\n[job a]\nschedule = @daily\nexec = true'
}

@test "a job twice in two files, with both places" {
    table <<<"$JOB"
    printf '\n%s\n' "$JOB" >"$BATS_TEST_TMPDIR/more.ini"
    check_it "$BATS_TEST_TMPDIR/more.ini"
    expect_status 78
    expect_one_line
    expect_contains "$stderr" "$TABLE:1: the job a stands here and in $BATS_TEST_TMPDIR/more.ini:2"
}

@test "a bad unit, and none" {
    fault 4 'units ms, s, m, h, d or w' <<<"$JOB"$'\ntimeout = 5 sec'
    fault 4 'write 5s for seconds' <<<"$JOB"$'\ntimeout = 5'
}

@test "a ttl under 5 s" {
    fault 4 'the least possible is 5s' <<<"$JOB"$'\nttl = 4999ms'
}

@test "an unknown zone" {
    fault 4 'timezone' <<<"$JOB"$'\ntimezone = Europe/Pariss'
    fault 2 'timezone' <<<$'[defaults]\ntimezone = ../etc/passwd'
}

@test "missing zone data is told apart from an unknown zone" {
    table <<<"$JOB"$'\ntimezone = Europe/Paris'
    mkdir "$BATS_TEST_TMPDIR/nothing"
    TZDIR=$BATS_TEST_TMPDIR/nothing check_it
    expect_status 78
    expect_contains "$stderr" "$TABLE:4: timezone"
    missing=$stderr
    table <<<"$JOB"$'\ntimezone = Europe/Pariss'
    check_it
    [ "${missing/Paris/}" != "${stderr/Pariss/}" ]
}

@test "a calendar schedule without timezone on a shared store, unless this host's zone is UTC" {
    table <<<"$JOB"
    TZ=Europe/Paris check_it --store postgresql:///app
    expect_status 78
    expect_one_line
    expect_contains "$stderr" "$TABLE:1: [job a] has no timezone"
    TZ=UTC check_it --store postgresql:///app
    expect_status 0
    TZ=Europe/Paris check_it --store "sqlite:$BATS_TEST_TMPDIR/x.db"
    expect_status 0
    table <<<$'[job a]\nschedule = every 1h\ncommand = true\n[job b]\nschedule = @once\ncommand = true'
    TZ=Europe/Paris check_it --store postgresql:///app
    expect_status 0
}

@test "names over 49 bytes" {
    name=$(printf 'n%.0s' {1..49})
    table <<<"[job $name]"$'\nschedule = @daily\nexec = true'
    check_it
    expect_status 0
    fault 1 'at most 49 bytes' <<<"[job n$name]"$'\nschedule = @daily\nexec = true'
    fault 4 'at most 49 bytes' <<<"$JOB"$'\n'"n$name = x"
}

@test "commands of 64 KiB with ; # % are right, one byte more is not" {
    body=$(printf ';#%%:=%.0s' {1..13107})
    table <<<$'[job a]\nschedule = @daily\ncommand = x'"$body"
    [ "$(sed -n 3p "$TABLE" | wc -c)" -eq $((65536 + 11)) ]
    check_it
    expect_status 0
    fault 3 'has 65537 bytes' <<<$'[job a]\nschedule = @daily\ncommand = xx'"$body"
}

@test "CRLF and a byte order mark are right" {
    printf '\xef\xbb\xbf[job a]\r\nschedule = @daily\r\nexec = true\r\n' | table
    check_it
    expect_status 0
    printf '\xef\xbb\xbf[job a]\r\nschedule = @daly\r\nexec = true\r\n' | fault 2 'schedule: '
}

@test "a carriage return within a line" {
    printf '[job a]\nschedule = @daily\rexec = true\ncommand = true\n' >"$TABLE"
    check_it
    expect_status 78
    expect_contains "$stderr" "$TABLE:2: there is a carriage return"
}

@test "UTF-16" {
    printf '%s\n' "$JOB" | iconv -t UTF-16 >"$TABLE"
    check_it
    expect_status 78
    expect_one_line
    expect_contains "$stderr" "$TABLE: the file is UTF-16"
}

@test "a NUL" {
    printf '[job a]\nschedule = @daily\ncommand = tr\0ue\n' >"$TABLE"
    check_it
    expect_status 78
    expect_contains "$stderr" "$TABLE:3: there is a NUL byte"
}

@test "an indented line" {
    fault 4 'begins with a blank' <<<"$JOB"$'\n  && more'
    fault 4 'begins with a blank' <<<"$JOB"$'\n\tttl = 10s'
}

@test "an unclosed header" {
    fault 4 '"]" is missing' <<<"$JOB"$'\n[job b\nschedule = @daily\ncommand = rm'
}

@test "a folder in place of a file of jobs.d" {
    mkdir -p "$BATS_TEST_TMPDIR/jobs.d/x.ini"
    TABLE=$BATS_TEST_TMPDIR/jobs.d
    check_it
    expect_status 78
    expect_one_line
    expect_contains "$stderr" "$TABLE/x.ini: this is a folder"
}

@test "a file that is not there, or is empty" {
    check_it
    expect_status 78
    expect_contains "$stderr" "$TABLE: the file cannot be opened: No such file"
    : >"$TABLE"
    check_it
    expect_status 78
    expect_contains "$stderr" "$TABLE: there is no [section]"
}

@test "a table without jobs is no fault, and warned of" {
    table <<<$'[defaults]\nttl = 1m'
    check_it
    expect_status 0
    expect_contains "$output" 'warning: there is no job in the table'
    mkdir "$BATS_TEST_TMPDIR/jobs.d"
    TABLE=$BATS_TEST_TMPDIR/jobs.d
    check_it
    expect_status 0
    expect_contains "$output" 'warning: there is no job in the table'
}

@test "a schedule that cannot be read" {
    fault 2 'schedule: hour "24"' <<<$'[job a]\nschedule = 0 24 * * *\ncommand = true'
}

@test "no schedule, no command, two commands" {
    fault 1 'has no schedule' <<<$'[job a]\ncommand = true'
    fault 1 'neither command nor exec' <<<$'[job a]\nschedule = @daily'
    fault 4 'beside command in line 3' <<<"$JOB"$'\nexec = true'
}

@test "exec, env, umask and words that cannot be meant" {
    fault 3 'has no end' <<<$'[job a]\nschedule = @daily\nexec = echo "a'
    fault 4 'not NAME=VALUE' <<<"$JOB"$'\nenv = A=1 B'
    fault 4 'octal' <<<"$JOB"$'\numask = 0x2'
    fault 4 'skip, latest or all' <<<"$JOB"$'\nmisfire = never'
}

@test "an unknown user, an unknown group" {
    fault 1 'user: there is no user "no-such-user"' <<<"$JOB"$'\nuser = no-such-user'
    fault 1 'no-such-group' <<<"$JOB"$'\ngroup = no-such-group'
}

@test "a folder, an env-file, a shell that are not there, or not what they should be" {
    fault 1 'cwd: the folder /no/where' <<<"$JOB"$'\ncwd = /no/where'
    fault 1 'cwd: /etc/passwd is no folder' <<<"$JOB"$'\ncwd = /etc/passwd'
    fault 1 'env-file' <<<"$JOB"$'\nenv-file = /no/where'
    fault 1 '/etc/passwd:1: ' <<<"$JOB"$'\nenv-file = /etc/passwd'
    fault 1 'shell: /no/sh' <<<"$JOB"$'\nshell = /no/sh'
    fault 1 'shell: /etc/passwd is no program' <<<"$JOB"$'\nshell = /etc/passwd -e'
    fault 1 'exec: /no/report' <<<$'[job a]\nschedule = @daily\nexec = /no/report --all'
}

@test "what [defaults] says and this host lacks is told once" {
    fault 3 'no-such-user' <<<$'[defaults]\nuser = no-such-user\n[job a]\nschedule = @daily\nexec = true\n[job b]\nschedule = @daily\nexec = true'
}

@test "all faults of all files in one go, by file and line" {
    table <<'EOT'
[defaults]
ttl = 1s
[job a]
schedule = @dayly
comand = true
command = true
 indented
[job b]
schedule = @daily
exec = true
user = no-such-user
cwd = /no/where
[job c
command = true
EOT
    printf '[job d]\nschedule = @daily\nexec = true\ntimeout = x\n[job b]\nschedule = @daily\nexec = true\n' \
        >"$BATS_TEST_TMPDIR/more.ini"
    run --separate-stderr timeout 20 "$LEASERUN" check "$TABLE" "$BATS_TEST_TMPDIR/more.ini"
    expect_status 78
    places=$(sed -E 's/^leaserun: [^:]*\/([a-z]+\.ini:[0-9]+): .*/\1/' <<<"$stderr" | tr '\n' ' ')
    expect_equal "$places" "jobs.ini:2 jobs.ini:4 jobs.ini:5 jobs.ini:7 jobs.ini:8 jobs.ini:8 \
jobs.ini:13 more.ini:4 more.ini:5 "
}

@test "a file or folder that others may write is refused for root" {
    table <<<"$JOB"
    chmod 666 "$TABLE"
    check_it
    expect_status 78
    expect_contains "$stderr" 'chmod go-w'
    mkdir -m 777 "$BATS_TEST_TMPDIR/jobs.d"
    TABLE=$BATS_TEST_TMPDIR/jobs.d
    check_it
    expect_status 78
    expect_contains "$stderr" 'chmod go-w'
}

@test "neither the store's password nor a job's environment is ever shown" {
    table <<<$'[store]\nurl = mysql://u:s3cret@h/db\n'"$JOB"$'\nenv = TOKEN=s3cret s3cret'
    chmod 600 "$TABLE"
    check_it
    expect_status 78
    [[ $output$stderr != *s3cret* ]]
    table <<<$'[store]\nurl = postgresql://u:s3cret@h/db\n'"$JOB"$'\nenv = TOKEN=s3cret'
    (unset LEASERUN_STORE && check_it && expect_status 0 && [[ $output$stderr != *s3cret* ]])
}

@test "a store that the table names: the file that says so is told" {
    table <<<$'[store]\nurl = sqlite:leases.db\n'"$JOB"
    unset LEASERUN_STORE
    check_it
    expect_status 0
    expect_contains "$output" "(from url in [store] of $TABLE)"
}

@test "a schedule that is never due" {
    told warning 1 'never due' <<<$'[job a]\nschedule = 0 0 30 2 *\ncommand = true'
}

@test "day fields that are joined in a way nobody expects" {
    told warning 1 'either' <<<$'[job a]\nschedule = 0 0 1 * 1\ncommand = true'
}

@test "days on which the clock changes" {
    told note 1 'Europe/Paris goes from' <<<$'[job a]\nschedule = 30 2 * * *\ntimezone = Europe/Paris\ncommand = true'
}

@test "two jobs with one key are allowed, and told" {
    told note 4 'the two never run at the same time' <<<"$JOB"$'\n[job b]\nschedule = @daily\ncommand = true\nkey = a'
}

@test "for each job the longest outage that a running command survives" {
    table <<<"$JOB"$'\n[job b]\nschedule = @daily\ncommand = true\nttl = 10s'
    check_it
    expect_status 0
    expect_contains "$output" 'job a: a running command survives an outage of the store of 2m 2s (ttl 3m)'
    expect_contains "$output" 'job b: a running command survives an outage of the store of 3s (ttl 10s)'
}

@test "files beside each other: each is named as without fault" {
    table <<<"$JOB"
    check_it "$BATS_TEST_TMPDIR/good.ini"
    expect_status 0
    expect_contains "$output" "$BATS_TEST_TMPDIR/good.ini: no fault"
    expect_contains "$output" "$TABLE: no fault"
}

@test "100,000 jobs are checked in seconds" {
    seq 100000 | sed 's/.*/[job n&]\nschedule = & * * * *\ncommand = run &/' |
        sed -E 's/^(schedule = )[0-9]*([0-5]?[0-9]) /\1\2 /' | table
    check_it
    expect_status 0
    [ "$(grep -c '^job n' <<<"$output")" -eq 100000 ]
}
