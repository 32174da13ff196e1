#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
# Which schema is leaserun's, and when it is refused: newer schemas, schemas found on the search
# path, tables and functions that are not what leaserun made, rights that are missing.
# stores: postgresql

load ../lib/helpers

setup() {
    fresh_key
    fresh_store
}

teardown() {
    stop_started
    pg_sql main postgres "drop database $DATABASE with (force)"
    [ -z "${ROLE:-}" ] || pg_sql main postgres "drop role $ROLE"
}

sql() {
    pg_sql main "$DATABASE" "$@"
}

# Every command that uses the tables, in turn.
each_command() { # FUNCTION
    "$1" run "$KEY" -- touch "$BATS_TEST_TMPDIR/ran"
    "$1" run --once-per hour "$KEY.slot" -- touch "$BATS_TEST_TMPDIR/ran"
    "$1" run --once "$KEY.once" -- touch "$BATS_TEST_TMPDIR/ran"
    "$1" status
    "$1" history
    "$1" purge
    "$1" purge --forget "$KEY"
    "$1" check --connect
    "$1" init
}

# ---- versions --------------------------------------------------------------------------------

works() {
    run --separate-stderr leaserun "$@"
    expect_status 0
    expect_equal "$stderr" ''
}

refuses_newer() {
    run --separate-stderr leaserun "$@"
    expect_status 78
    expect_one_line
    expect_contains "$stderr" 'its oldest reader is version 2, this one is 1'
    expect_contains "$stderr" 'install a newer leaserun'
}

@test "a newer schema that this leaserun may still use: every command works" {
    sql 'insert into leaserun.schema_version values (2, 1)'
    each_command works
    [ -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "a newer schema that is not for this leaserun: every command refuses, 78, and nothing is started" {
    sql 'insert into leaserun.schema_version values (2, 2)'
    each_command refuses_newer
    refuses_newer release "$KEY"
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    expect_equal "$(sql 'select count(*) from leaserun.leases')" 0
}

@test "a migration beside a run: what was begun is renewed and released, the next one is refused" {
    start "$LEASERUN" run --ttl 5s "$KEY" -- sh -c 'echo running; sleep 6'
    await 10 has_said "$PID" running
    sql 'insert into leaserun.schema_version values (2, 2)'
    finish "$PID" 15
    expect_equal "$STATUS $(started_stderr "$PID")" '0 '
    expect_equal "$(sql "select released from leaserun.leases")" t
    refuses_newer run "$KEY" -- true
}

is_released() {
    [ "$(sql 'select released from leaserun.leases')" = t ]
}

@test "of a run that was killed after such a migration the guard still gives the lease back" {
    start_holder
    sql 'insert into leaserun.schema_version values (2, 2)'
    kill -KILL "$PID"
    await 10 is_released
}

# ---- a migration that does not go on ---------------------------------------------------------

# Locks of this database: others may migrate theirs.
HERE='database = (select oid from pg_database where datname = current_database())'

upkeep_locks() {
    sql "select count(*) from pg_locks where locktype = 'advisory' and granted and $HERE"
}

has_locks() { # NUMBER
    [ "$(upkeep_locks)" -eq "$1" ]
}

# By the server's clock, of the same instant: how long the transaction that holds it has lasted.
is_unlocked() {
    sql "select (extract(epoch from clock_timestamp() - a.xact_start) * 1000)::int
        from pg_locks l join pg_stat_activity a using (pid)
        where l.locktype = 'advisory' and l.granted and l.$HERE" >"$BATS_TEST_TMPDIR/now"
    cat "$BATS_TEST_TMPDIR/now" >>"$BATS_TEST_TMPDIR/held"
    [ ! -s "$BATS_TEST_TMPDIR/now" ]
}

@test "init is stopped in the middle of its transaction: it holds the lock no longer than its timeout" {
    sql 'drop index leaserun.runs_once'
    start psql -X -q -d "$STORE_URL" -c 'begin' -c 'update leaserun.runs set status = 1' -c '\! echo locked' \
        -c 'select pg_sleep(60)'
    writer=$PID
    await 10 has_said "$writer" locked
    start "$LEASERUN" init
    freeze_at=$PID
    await 10 has_locks 1
    freeze "$freeze_at"
    await 20 is_unlocked
    echo "seen to hold it for $(sort -n "$BATS_TEST_TMPDIR/held" | tail -n 1) ms"
    [ "$(sort -n "$BATS_TEST_TMPDIR/held" | tail -n 1)" -lt 4000 ]
    run -0 leaserun run --start-within 10s "$KEY" -- true
    kill -CONT "$freeze_at"
    finish "$freeze_at" 10
    [ "$STATUS" -ne 0 ]
    expect_contains "$(started_stderr "$freeze_at")" 55P03
    kill "$writer"
    sql "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
        and query like '%pg_sleep(60)%' and pid <> pg_backend_pid()"
    works init
}

# ---- found on the search path ----------------------------------------------------------------

# The store's URL with a search_path for its sessions.
on_path() { # SCHEMAS
    LEASERUN_STORE="$STORE_URL&options=-csearch_path%3D${1//,/%2C}"
}

@test "schema = search-path: the first schema with a table leases is used, with a warning, by every command" {
    sql 'create schema early' 'create schema late'
    on_path early
    run -0 leaserun init --schema search-path
    expect_equal "$(sql "select to_regclass('early.leases') is not null")" t
    on_path late,early
    run --separate-stderr leaserun run --schema search-path "$KEY" -- true
    expect_status 0
    expect_one_line
    expect_contains "$stderr" 'the schema \"early\" was found on the search path'
    expect_contains "$stderr" 'level=warn'
    expect_equal "$(sql 'select count(*) from early.leases')" 1
    run -0 leaserun history --schema search-path --json
    expect_equal "${#lines[@]}" 1
    run -0 leaserun check --schema search-path --connect
    expect_contains "$output" 'schema early'
    run --separate-stderr leaserun init --print-sql --schema search-path
    expect_status 64
    expect_one_line
}

@test "schema = search-path: a schema that comes earlier meanwhile changes nothing for who has begun" {
    on_path '"$user",leaserun'
    start "$LEASERUN" run --schema search-path --ttl 5s "$KEY" -- sh -c 'echo running; sleep 3'
    await 10 has_said "$PID" running
    sql 'create schema postgres'
    leaserun init --schema postgres >/dev/null
    sql "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
        and application_name like 'leaserun:%'"
    finish "$PID" 15
    expect_equal "$STATUS" 0
    expect_equal "$(sql 'select released from leaserun.leases')" t
    expect_equal "$(sql 'select count(*) from postgres.leases')" 0
}

@test "schema = search-path: refused when the first leases is no table, or when there is no schema" {
    sql 'create schema trap' 'create view trap.leases as select 1'
    on_path trap,leaserun
    for words in "run $KEY" status init 'check --connect'; do
        [[ $words != run* ]] || words="run --schema search-path k -- true"
        # shellcheck disable=SC2086  # words
        run --separate-stderr leaserun $words $([[ $words = run* ]] || echo --schema search-path)
        expect_status 78
        expect_one_line
        expect_contains "$stderr" trap
        expect_contains "$stderr" '--schema'
    done
    on_path nowhere
    run --separate-stderr leaserun status --schema search-path
    expect_status 78
    expect_contains "$stderr" 'no schema on the search path exists'
    on_path trap2,public
    run --separate-stderr leaserun status --schema search-path
    expect_status 78
    expect_contains "$stderr" 'leaserun init'
}

# ---- refused ---------------------------------------------------------------------------------

@test "what leaserun did not make so is refused by init and check: 78, one sentence, and what to do" {
    while IFS='|' read -r change back what todo; do
        sql "$change"
        for words in init 'check --connect'; do
            # shellcheck disable=SC2086  # words
            run --separate-stderr leaserun $words
            echo "# $words after: $change: $stderr"
            expect_status 78
            expect_one_line
            expect_contains "$stderr" "$what"
            expect_contains "$stderr" "$todo"
        done
        sql "$back"
        works check --connect
    done <<-'END'
	drop index leaserun.runs_key_slot_key; create index runs_key_slot_key on leaserun.runs (key, slot)|drop index leaserun.runs_key_slot_key; alter table leaserun.runs add unique (key, slot)|no unique constraint on (key,slot)|ADD UNIQUE
	alter table leaserun.steps drop constraint steps_pkey|alter table leaserun.steps add primary key (run_id, seq)|no unique constraint on (run_id,seq)|ADD UNIQUE
	alter table leaserun.steps drop constraint steps_run_id_name_key|alter table leaserun.steps add unique (run_id, name)|no unique constraint on (run_id,name)|ADD UNIQUE
	alter table leaserun.leases drop constraint leases_pkey|alter table leaserun.leases add primary key (key)|two claims can both win|ADD UNIQUE
	alter table leaserun.fences rename to fences2; create view leaserun.fences as select * from leaserun.fences2|drop view leaserun.fences; alter table leaserun.fences2 rename to fences|another kind of object|another schema
	alter table leaserun.leases alter ttl_ms type int4|alter table leaserun.leases alter ttl_ms type int8|must be bigint|another schema
	alter function leaserun.next_seq_v1 stable|alter function leaserun.next_seq_v1 volatile|not VOLATILE|DROP FUNCTION
	alter function leaserun.require_fence_v1 reset search_path|alter function leaserun.require_fence_v1 set search_path = pg_catalog, pg_temp|search_path|DROP FUNCTION
	insert into leaserun.fences values ('k', 7, now())|delete from leaserun.fences|behind the fence 7|setval
	delete from leaserun.schema_version|insert into leaserun.schema_version values (1, 1)|schema_version is empty|another schema
	END
}

@test "a schema that is missing, or not complete, is refused by every command but init: 78, naming it" {
    for change in 'drop table leaserun.schema_version' 'drop schema leaserun cascade'; do
        sql "$change"
        for words in "run k -- true" "run --once-per hour k -- true" status history purge 'check --connect'; do
            # shellcheck disable=SC2086  # words
            run --separate-stderr leaserun $words
            echo "# $words after: $change: $stderr"
            expect_status 78
            expect_one_line
            expect_contains "$stderr" 'leaserun init'
        done
    done
    works init
    works run "$KEY" -- true
}

# ---- rights ----------------------------------------------------------------------------------

@test "with any one of the printed grants less, check names that grant and nothing else: 78" {
    ROLE=lowly_$$_$RANDOM
    sql "create role $ROLE login"
    leaserun init --print-sql | sed -n "s/^-- \(GRANT .*\) TO app_role;/\1/p" >"$BATS_TEST_TMPDIR/grants"
    while read -r grant; do
        sql "$grant to $ROLE"
    done <"$BATS_TEST_TMPDIR/grants"
    LEASERUN_STORE=$(pg_url main "$DATABASE" | sed "s/user=postgres/user=$ROLE/")
    works check --connect
    count=0
    while read -r grant; do
        rights=${grant#GRANT } rights=${rights%% ON *} on=${grant#* ON }
        for right in ${rights//,/}; do
            sql "revoke $right on $on from $ROLE"
            run --separate-stderr leaserun check --connect
            echo "# without $right on $on: $stderr"
            expect_status 78
            object=${on//pg_catalog.int8/bigint}
            expect_contains "$stderr" "GRANT $right ON ${object//pg_catalog./} TO it"
            # Without the schema's USAGE nothing in it can be looked at.
            expect_one_line
            sql "grant $right on $on to $ROLE"
            count=$((count + 1))
        done
    done <"$BATS_TEST_TMPDIR/grants"
    echo "# $count rights"
    [ "$count" -eq 21 ]
    works check --connect
    sql "drop owned by $ROLE"
}

@test "a scheduler on a store without schema: one ERROR line that names init, 78; with it, it begins" {
    sql 'drop schema leaserun cascade'
    printf '[job tick]\nschedule = every 5s\nexec = true\n' >"$BATS_TEST_TMPDIR/jobs.ini"
    run --separate-stderr timeout 20 "$LEASERUN" schedule --log-level warn "$BATS_TEST_TMPDIR/jobs.ini"
    expect_status 78
    expect_one_line
    expect_contains "$stderr" 'event=scheduler_refused'
    expect_contains "$stderr" 'create it with \"leaserun init\"'
    start "$LEASERUN" schedule --init "$BATS_TEST_TMPDIR/jobs.ini"
    begun() { started_stderr "$PID" | grep -q 'event=claim_won'; }
    await 15 begun
}
