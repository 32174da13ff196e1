#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Leases in the table of another program, beside that program, which sends what it always has.
# stores: postgresql

load ../lib/helpers

# A database of its own, with our schema in it, or without; sets DATABASE and LEASERUN_STORE.
database_with_our_own() {
    fresh_store
}

database_alone() {
    DATABASE=t_$$_${RANDOM}_${RANDOM}
    pg_sql main postgres "create database $DATABASE"
    LEASERUN_STORE=$(pg_url main "$DATABASE")
    export LEASERUN_STORE
}

shedlock_table() {
    OPTIONS=(--dialect shedlock)
    FOREIGN=(shedlock "$LEASERUN_STORE" shedlock)
    psql -X -q -d "$LEASERUN_STORE" -c 'create table shedlock (name varchar(64) not null,
        lock_until timestamp not null, locked_at timestamp not null,
        locked_by varchar(255) not null, primary key (name))'
}

# Odd names, a short holder, and a demand on the instants.
odd_table() {
    ODD='"My ""ops"""."Weird Table; --"'
    OPTIONS=(--dialect fenceless --table "$ODD"
        --columns 'key="key", holder="Owner #%", acquired_at="order", expires_at="end"')
    FOREIGN=(fenceless "$LEASERUN_STORE" "$ODD")
    FOREIGN_COLUMNS=('"key"' '"Owner #%"' '"order"' '"end"')
    pg_sql main "$DATABASE" 'create schema "My ""ops"""' "create table $ODD
        (\"key\" text unique not null, \"Owner #%\" varchar(64) not null,
        \"order\" timestamptz not null default clock_timestamp(), \"end\" timestamptz not null,
        check (\"end\" > \"order\"))"
    # An upsert calls its table by the last part of the name.
    pg_sql main postgres "alter database $DATABASE set search_path = \"My \"\"ops\"\"\""
    FOREIGN[2]='"Weird Table; --"'
}

setup_file() {
    true # each test has a database of its own
}

setup() {
    fresh_key
    FOREIGN_COLUMNS=()
    STAMPS=$BATS_TEST_TMPDIR/stamps
}

teardown() {
    stop_started
    [ -z "${SERVER:-}" ] || pg_stop "$SERVER" immediate
}

# Claims KEY again and again until the time is over.
claim_for() { # SECONDS
    local end=$((SECONDS + $1))
    while [ "$SECONDS" -lt "$end" ]; do
        "$LEASERUN" run "${OPTIONS[@]}" --held-exit 0 "$KEY" -- "$TOOLS/stamp" "$STAMPS" 15 ||
            return
    done
}

# Two of leaserun and two of the other program for some seconds: each side has its turns, and no two
# of them lived at one time.
contend() { # SECONDS
    local pid ours=() theirs=()
    for _ in 1 2; do
        start claim_for "$1"
        ours+=("$PID")
        start python3 "$TESTS/lib/foreign_program.py" "${FOREIGN[@]}" "$KEY" "$STAMPS" "$1" \
            "${FOREIGN_COLUMNS[@]}"
        theirs+=("$PID")
    done
    for pid in "${ours[@]}" "${theirs[@]}"; do
        finish "$pid" 60
        expect_equal "$STATUS $(started_stderr "$pid")" "0 "
    done
    run no_overlaps "$STAMPS"
    expect_status 0
    echo "# $output; the other programs: $(started_stdout "${theirs[0]}")," \
        "$(started_stdout "${theirs[1]}")" >&3
    [ "$(grep -c ' start .* f' "$STAMPS")" -ge 5 ]
    [ "$(grep ' start ' "$STAMPS" | grep -vc ' f')" -ge 5 ]
}

@test "P1 shedlock alone, on a server of another zone: neither side overlaps the other" {
    database_alone
    pg_sql main postgres "alter database $DATABASE set timezone = 'America/St_Johns'"
    shedlock_table
    contend 5
    expect_equal "$(pg_sql main "$DATABASE" 'select count(*) from shedlock')" 1
}

@test "P1 shedlock beside our own tables: neither side overlaps the other, and fences grow" {
    database_with_our_own
    shedlock_table
    contend 5
    run leaserun history "${OPTIONS[@]}" --json --limit 1000 "$KEY"
    expect_equal "$(printf '%s\n' "${lines[@]}" | json_field outcome | sort -u)" succeeded
}

@test "P1 fenceless with odd names and a CHECK: neither side overlaps the other" {
    database_alone
    odd_table
    contend 5
    expect_equal "$(server_errors)" ''
}

@test "P1 fenceless with odd names beside our own tables: neither side overlaps the other" {
    database_with_our_own
    odd_table
    contend 5
    expect_equal "$(server_errors)" ''
}

@test "what is in a file is what options say" {
    database_alone
    odd_table
    cat >"$BATS_TEST_TMPDIR/leaserun.ini" <<-END
	[store]
	url = $LEASERUN_STORE
	dialect = fenceless
	table = $ODD
	columns = key="key", holder="Owner #%", acquired_at="order", expires_at="end"
	END
    unset LEASERUN_STORE
    leaserun run --config "$BATS_TEST_TMPDIR/leaserun.ini" "$KEY" -- true
    expect_equal "$(pg_sql main "$DATABASE" "select \"key\", \"end\" <= now() from $ODD")" "$KEY|t"
}

@test "check tells what the table lacks, and what is kept where" {
    database_alone
    run leaserun check --connect --dialect shedlock
    expect_status 78
    expect_contains "$output" 'there is no table "public"."shedlock"'
    shedlock_table
    run leaserun check --connect "${OPTIONS[@]}"
    expect_status 0
    expect_contains "$output" 'there is no schema "leaserun" here'
    expect_contains "$output" 'taken as UTC'
    leaserun init "${OPTIONS[@]}"
    run leaserun check --connect "${OPTIONS[@]}"
    expect_status 0
    expect_contains "$output" 'runs, slots and fences live in the schema "leaserun"'
    pg_sql main "$DATABASE" 'alter table shedlock drop constraint shedlock_pkey'
    run leaserun check --connect "${OPTIONS[@]}"
    expect_status 78
    expect_contains "$output" 'no unique constraint'
    run --separate-stderr leaserun run "${OPTIONS[@]}" "$KEY" -- true
    expect_status 78
    expect_one_line
}

@test "what the table cannot keep is refused without our own tables, and kept with them" {
    database_alone
    shedlock_table
    for option in --once '--once-per=hour'; do
        run --separate-stderr leaserun run "${OPTIONS[@]}" "$option" "$KEY" -- true
        expect_status 78
        expect_one_line
        expect_contains "$stderr" "need leaserun's own tables"
    done
    leaserun init "${OPTIONS[@]}"
    leaserun run "${OPTIONS[@]}" --once "$KEY" -- true
    run leaserun run "${OPTIONS[@]}" --once "$KEY" -- echo again
    expect_status 0
    expect_equal "$output" ''
    leaserun run "${OPTIONS[@]}" --once-per hour "$KEY.slot" -- true
    run leaserun run "${OPTIONS[@]}" --once-per hour "$KEY.slot" -- true
    expect_status 75
}

@test "P4 a scheduler and --slot without our own tables: 78 at once, with the job, its key and what to do" {
    database_alone
    shedlock_table
    for schedule in 'every 1s' @once '0 2 * * *'; do
        printf '[job keeps]\nschedule = %s\ntimezone = UTC\nkey = some-key\nexec = true\n' "$schedule" \
            >"$BATS_TEST_TMPDIR/jobs.ini"
        run --separate-stderr timeout 10 "$LEASERUN" schedule "${OPTIONS[@]}" "$BATS_TEST_TMPDIR/jobs.ini"
        expect_status 78
        expect_equal "$(grep -c 'level=error event=' <<<"$stderr")" 1
        expect_contains "$stderr" 'event=scheduler_refused msg="nothing is scheduled: what became of job keeps (key some-key)'
        expect_contains "$stderr" 'create it with \"leaserun init\"'
    done
    run --separate-stderr leaserun run "${OPTIONS[@]}" --config "$BATS_TEST_TMPDIR/jobs.ini" \
        --slot 2026-01-01T02:00:00Z keeps
    expect_status 78
    expect_one_line
    expect_contains "$stderr" 'leaserun init'
    # Each start of a scheduler needs no memory. A job with slots that comes later ends nothing.
    printf '[job starts]\nschedule = @reboot\nexec = touch %s\n' "$BATS_TEST_TMPDIR/ran" >"$BATS_TEST_TMPDIR/jobs.ini"
    start "$LEASERUN" schedule "${OPTIONS[@]}" "$BATS_TEST_TMPDIR/jobs.ini"
    await 10 test -e "$BATS_TEST_TMPDIR/ran"
    printf '[job keeps]\nschedule = every 1s\nexec = true\n' >>"$BATS_TEST_TMPDIR/jobs.ini"
    kill -HUP "$PID"
    await 10 grep -q 'event=claim_failed job=keeps .*leaserun init' "${OUTPUT[$PID]}.err"
    kill -TERM "$PID"
    finish "$PID" 10
    expect_equal "$STATUS" 0
    leaserun init "${OPTIONS[@]}"
    printf '[job keeps]\nschedule = every 1s\nexec = touch %s\n' "$BATS_TEST_TMPDIR/kept" >"$BATS_TEST_TMPDIR/jobs.ini"
    start "$LEASERUN" schedule "${OPTIONS[@]}" "$BATS_TEST_TMPDIR/jobs.ini"
    await 10 test -e "$BATS_TEST_TMPDIR/kept"
}

@test "there is a fence with our own tables, and none without" {
    database_alone
    shedlock_table
    LEASERUN_FENCE=7 run leaserun run "${OPTIONS[@]}" "$KEY" -- sh -c 'echo "${LEASERUN_FENCE-none}"'
    expect_equal "$output" none
    expect_equal "$(leaserun status "${OPTIONS[@]}" --json "$KEY" | json_field fence)" None
    leaserun init "${OPTIONS[@]}"
    run leaserun run "${OPTIONS[@]}" "$KEY" -- sh -c 'echo "${LEASERUN_FENCE-none}"'
    expect_equal "$output" 1
}

@test "P7 leaserun killed: the guard gives the row back, alone and beside our own tables" {
    for database in database_alone database_with_our_own; do
        $database
        odd_table
        start_holder "${OPTIONS[@]}"
        kill -KILL "$PID"
        await 10 leaserun run "${OPTIONS[@]}" --held-exit 75 "$KEY" -- true
    done
}

@test "release --stop ends a run of ours, and leaves a foreign program's lock alone" {
    database_alone
    shedlock_table
    start_holder "${OPTIONS[@]}" --ttl 5s
    run leaserun release "${OPTIONS[@]}" "$KEY"
    expect_status 75
    leaserun release "${OPTIONS[@]}" --stop "$KEY"
    finish "$PID" 10
    expect_equal "$STATUS" 76
    leaserun run "${OPTIONS[@]}" "$KEY" -- true
    pg_sql main "$DATABASE" "insert into shedlock values
        ('foreign', timezone('utc', now()) + interval '1 minute', now(), 'java')"
    run leaserun release "${OPTIONS[@]}" --stop foreign
    expect_status 75
    expect_contains "$output" 'no run of leaserun'
}

@test "P6 a row that somebody takes away: the command is ended" {
    database_with_our_own
    shedlock_table
    start_holder "${OPTIONS[@]}" --ttl 5s
    pg_sql main "$DATABASE" "update shedlock set locked_by = 'by hand'"
    finish "$PID" 10
    expect_equal "$STATUS" 76
    expect_contains "$(started_stderr "$PID")" 'by hand'
    expect_equal "$(pg_sql main "$DATABASE" 'select locked_by from shedlock')" 'by hand'
}

@test "nothing of the table is altered, and no row deleted" {
    database_with_our_own
    shedlock_table
    local before after
    before=$(pg_dump -s -t shedlock "$LEASERUN_STORE" | grep -v '^\\')
    pg_sql main "$DATABASE" "insert into shedlock values ('old', '2001-01-01', '2001-01-01', 'x')"
    leaserun init "${OPTIONS[@]}"
    leaserun run "${OPTIONS[@]}" "$KEY" -- true
    leaserun purge "${OPTIONS[@]}" --retention 1ms
    after=$(pg_dump -s -t shedlock "$LEASERUN_STORE" | grep -v '^\\')
    expect_equal "$after" "$before"
    expect_equal "$(pg_sql main "$DATABASE" 'select count(*) from shedlock')" 2
}

@test "every name and operator of the dialects' statements is qualified" {
    SERVER=logged_$RANDOM
    pg_start "$SERVER" log_statement=all
    LEASERUN_STORE=$(pg_url "$SERVER" postgres)
    export LEASERUN_STORE
    for dialect in fenceless shedlock; do
        for part in claim slots renew release lists; do
            LEASERUN_TEST_PG=$LEASERUN_STORE LEASERUN_TEST_STORE=$dialect \
                "$BUILD/tests/store/contract-$part" >"$BATS_TEST_TMPDIR/out" 2>&1 ||
                { cat "$BATS_TEST_TMPDIR/out" && false; }
        done
    done
    shedlock_table
    leaserun run "${OPTIONS[@]}" "$KEY" -- true
    leaserun status "${OPTIONS[@]}"
    leaserun check --connect "${OPTIONS[@]}"
    grep -qF '"locked_by"::pg_catalog.text OPERATOR(pg_catalog.~)' "$(pg_log "$SERVER")"
    run python3 "$TESTS/lib/qualified.py" --log "$(pg_log "$SERVER")"
    echo "# $output"
    expect_status 0
}

@test "waiting for a foreign program's lock: the command is run once it is given back" {
    database_alone
    shedlock_table
    pg_sql main "$DATABASE" "insert into shedlock values
        ('$KEY', timezone('utc', now()) + interval '1 minute', now(), 'java')"
    start "$LEASERUN" run "${OPTIONS[@]}" --wait 30s --log-level info "$KEY" -- echo ran
    await 10 has_stderr "$PID" 'waiting for java'
    pg_sql main "$DATABASE" "update shedlock set lock_until = timezone('utc', now())"
    finish "$PID" 10
    expect_equal "$STATUS $(started_stdout "$PID")" '0 ran'
}

has_stderr() { # PID TEXT
    [[ $(started_stderr "$1") == *"$2"* ]]
}
