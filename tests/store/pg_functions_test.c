/* SPDX-License-Identifier: ISC */
/* What a job may ask of the database itself, and how far the functions are trusted. */
#include "base/mem.h"
#include "pg_fixture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A job's own connection, or its neighbour's. */
static PGconn *open_job(struct pg_fixture *fixture, const char *user)
{
    char *url = pg_fixture_url_as(user, "postgres", "");
    PGconn *job = PQconnectdb(url);
    char *quoted = PQescapeIdentifier(job, fixture->schema, strlen(fixture->schema));
    char *sql = mem_printf("SET search_path = %s", quoted);
    assert_int_equal(PQstatus(job), CONNECTION_OK);
    PQclear(PQexec(job, sql));
    free(sql);
    PQfreemem(quoted);
    free(url);
    return job;
}

/* The SQLSTATE, "" when all went well; lives until the next call. */
static const char *tell(PGconn *job, const char *sql)
{
    static char sqlstate[6];
    PGresult *result = PQexec(job, sql);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    snprintf(sqlstate, sizeof sqlstate, "%s", state == NULL ? "" : state);
    if (sqlstate[0] != '\0')
        print_message("# %s", PQresultErrorMessage(result));
    PQclear(result);
    return sqlstate;
}

static const char *require(PGconn *job, const char *key, const char *fence)
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT require_fence_v1('%s', %s)", key, fence);
    return tell(job, sql);
}

static const char *require_number(PGconn *job, const char *key, int64_t fence)
{
    char number[32];
    snprintf(number, sizeof number, "%" PRId64, fence);
    return require(job, key, number);
}

static struct pg_contender winner(struct pg_fixture *fixture, const char *key)
{
    struct pg_contender one;
    pg_contender_init(&one, key);
    assert_int_equal(pg_contender_claim(&one, &fixture->clients[0]), CLAIM_WON);
    return one;
}

/* A later mandate, as after an expiry. */
static int64_t pass_on(struct pg_fixture *fixture, const char *key)
{
    pg_person(fixture, "UPDATE leases SET expires_at = now() - interval '1 s' WHERE key = '%s'",
              key);
    return winner(fixture, key).item.fence;
}

/* ---- the fence --------------------------------------------------------------------------- */

static void current_mandate__require_fence__passes_for_every_write(void **state)
{
    struct pg_fixture *fixture = *state;
    const char *key = pg_fixture_key(fixture);
    PGconn *job = open_job(fixture, "postgres");
    int64_t fence = winner(fixture, key).item.fence;
    for (int write = 0; write < 3; write++) {
        assert_string_equal(tell(job, "BEGIN"), "");
        assert_string_equal(require_number(job, key, fence), "");
        assert_string_equal(require_number(job, key, fence), "");
        assert_string_equal(tell(job, "COMMIT"), "");
    }
    PQfinish(job);
}

static void later_mandate_given__require_fence__refuses_the_earlier_one(void **state)
{
    struct pg_fixture *fixture = *state;
    const char *key = pg_fixture_key(fixture);
    PGconn *job = open_job(fixture, "postgres");
    int64_t earlier = winner(fixture, key).item.fence;
    assert_string_equal(require_number(job, key, earlier), "");
    int64_t later = pass_on(fixture, key);
    assert_string_equal(require_number(job, key, earlier), "LR001");
    assert_string_equal(require_number(job, key, later), "");
    PQfinish(job);
}

static void lease_purged__require_fence__remembers_what_has_written(void **state)
{
    struct pg_fixture *fixture = *state;
    const char *key = pg_fixture_key(fixture);
    PGconn *job = open_job(fixture, "postgres");
    int64_t earlier = winner(fixture, key).item.fence;
    int64_t later = pass_on(fixture, key);
    assert_string_equal(require_number(job, key, later), "");
    pg_person(fixture, "DELETE FROM leases WHERE key = '%s'", key);
    assert_string_equal(require_number(job, key, earlier), "LR001");
    assert_string_equal(require_number(job, key, later), "");
    PQfinish(job);
}

static void never_given__require_fence__refuses_and_remembers_nothing(void **state)
{
    struct pg_fixture *fixture = *state;
    const char *key = pg_fixture_key(fixture), *other = pg_fixture_key(fixture);
    PGconn *job = open_job(fixture, "postgres");
    int64_t fence = winner(fixture, key).item.fence;
    int64_t of_other = winner(fixture, other).item.fence;
    assert_string_equal(require(job, key, "4611686018427387904"), "LR002");
    assert_string_equal(require(job, "no such key", "4611686018427387904"), "LR002");
    assert_string_equal(require_number(job, key, of_other), "LR002");
    assert_string_equal(require(job, key, "0"), "LR002");
    assert_string_equal(require(job, key, "-1"), "LR002");
    assert_string_equal(require(job, key, "NULL"), "LR002");
    assert_string_equal(tell(job, "SELECT require_fence_v1(NULL, 1)"), "LR002");
    assert_string_equal(require_number(job, key, fence), "");
    PQfinish(job);
}

static void writer_at_work__require_fence__waits_and_renewals_do_not(void **state)
{
    struct pg_fixture *fixture = *state;
    const char *key = pg_fixture_key(fixture), *other = pg_fixture_key(fixture);
    PGconn *job = open_job(fixture, "postgres"), *second = open_job(fixture, "postgres");
    struct pg_contender one = winner(fixture, key);
    int64_t of_other = winner(fixture, other).item.fence;
    tell(second, "SET lock_timeout = '200ms'");
    assert_string_equal(tell(job, "BEGIN"), "");
    assert_string_equal(require_number(job, key, one.item.fence), "");
    assert_string_equal(require_number(second, key, one.item.fence), "55P03");
    assert_string_equal(require_number(second, other, of_other), "");
    assert_int_equal(pg_contender_renew(&one, &fixture->clients[0]).verdict, RENEW_RENEWED);
    assert_string_equal(tell(job, "COMMIT"), "");
    assert_string_equal(require_number(second, key, one.item.fence), "");
    PQfinish(job);
    PQfinish(second);
}

static void waits_while_the_later_one_writes__require_fence__refuses(void **state)
{
    struct pg_fixture *fixture = *state;
    const char *key = pg_fixture_key(fixture);
    PGconn *late = open_job(fixture, "postgres"), *job = open_job(fixture, "postgres");
    char sql[200];
    int64_t earlier = winner(fixture, key).item.fence;
    int64_t later = pass_on(fixture, key);
    pg_person(fixture, "UPDATE leases SET fence = %" PRId64 " WHERE key = '%s'", earlier, key);
    assert_string_equal(require_number(late, key, earlier), "");
    assert_string_equal(tell(job, "BEGIN"), "");
    pg_person(fixture, "UPDATE leases SET fence = %" PRId64 " WHERE key = '%s'", later, key);
    assert_string_equal(require_number(job, key, later), "");
    pg_person(fixture, "DELETE FROM leases WHERE key = '%s'", key); /* fences alone can tell */
    snprintf(sql, sizeof sql, "SELECT require_fence_v1('%s', %" PRId64 ")", key, earlier);
    assert_int_equal(PQsendQuery(late, sql), 1);
    while (pg_person_number(fixture, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
        ;
    assert_string_equal(tell(job, "COMMIT"), "");
    PGresult *result = PQgetResult(late);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "LR001");
    PQclear(result);
    PQfinish(job);
    PQfinish(late);
}

static void role_with_execute_alone__require_fence__serves_it_and_no_other(void **state)
{
    struct pg_fixture *fixture = *state;
    const char *key = pg_fixture_key(fixture);
    int64_t fence = winner(fixture, key).item.fence;
    char *schema = PQescapeIdentifier(fixture->person, fixture->schema, strlen(fixture->schema));
    pg_person(fixture, "DROP ROLE IF EXISTS jobber");
    pg_person(fixture, "CREATE ROLE jobber LOGIN");
    pg_person(fixture, "GRANT USAGE ON SCHEMA %s TO jobber", schema);
    PGconn *job = open_job(fixture, "jobber");
    assert_string_equal(require_number(job, key, fence), "42501");
    pg_person(fixture, "GRANT EXECUTE ON FUNCTION require_fence_v1(text, bigint) TO jobber");
    assert_string_equal(require_number(job, key, fence), "");
    assert_string_equal(tell(job, "SELECT next_seq_v1('run')"), "42501");
    assert_string_equal(tell(job, "SELECT * FROM fences"), "42501");
    PQfinish(job);
    pg_person(fixture, "DROP OWNED BY jobber");
    pg_person(fixture, "DROP ROLE jobber");
    PQfreemem(schema);
}

/* ---- positions --------------------------------------------------------------------------- */

#define STEP                                                                                       \
    "INSERT INTO steps (run_id, seq, name, state, command_hash, call_nonce, fence, attempts, "     \
    "started_at) VALUES ('run', next_seq_v1('run'), '%s', 'done', '', '', 1, 1, now())"

static void two_add_to_a_run__next_seq__orders_them_without_a_conflict(void **state)
{
    struct pg_fixture *fixture = *state;
    PGconn *first = open_job(fixture, "postgres"), *second = open_job(fixture, "postgres");
    char sql[400];
    assert_string_equal(tell(first, "BEGIN"), "");
    snprintf(sql, sizeof sql, STEP, "one");
    assert_string_equal(tell(first, sql), "");
    snprintf(sql, sizeof sql, STEP, "two");
    assert_int_equal(PQsendQuery(second, sql), 1);
    while (pg_person_number(fixture, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
        ;
    assert_string_equal(tell(first, "COMMIT"), "");
    PGresult *result = PQgetResult(second);
    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
    assert_string_equal(pg_person(fixture, "SELECT string_agg(seq || name, ' ' ORDER BY seq) "
                                           "FROM steps WHERE run_id = 'run'"),
                        "1one 2two");
    PQfinish(first);
    PQfinish(second);
}

/* ---- purge ------------------------------------------------------------------------------- */

static void purge(struct pg_fixture *fixture, int64_t slot_retention_ms)
{
    struct store_request request = {
        .kind = STORE_PURGE,
        .u.purge = {.lease_retention_ms = 1,
                    .slot_retention_ms = slot_retention_ms,
                    .run_retention_ms = 1},
    };
    pg_fixture_turn_ms(fixture, 20);
    assert_int_equal(pg_client_ask(&fixture->clients[0], &request), STORE_ANSWERED);
}

static void old_run__purge__takes_its_steps_and_no_others(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender done = winner(fixture, pg_fixture_key(fixture));
    struct pg_contender unfinished = winner(fixture, pg_fixture_key(fixture));
    pg_person(fixture,
              "INSERT INTO steps (run_id, seq, name, state, command_hash, call_nonce, fence, "
              "attempts, started_at) SELECT run_id, n, 'step ' || n, 'done', '', '', 1, 1, now() "
              "FROM runs, generate_series(1, 3) AS n WHERE run_id IN ('%s', '%s')",
              done.run_id, unfinished.run_id);
    pg_contender_give_back(&done, &fixture->clients[0], STORE_RELEASE);
    purge(fixture, 1);
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM steps WHERE run_id = '%s'", done.run_id);
    assert_int_equal(pg_person_number(fixture, sql), 0);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM steps WHERE run_id = '%s'", unfinished.run_id);
    assert_int_equal(pg_person_number(fixture, sql), 3);
}

static void purged_key__purge__keeps_its_fence_as_long_as_slots(void **state)
{
    struct pg_fixture *fixture = *state;
    const char *key = pg_fixture_key(fixture);
    PGconn *job = open_job(fixture, "postgres");
    struct pg_contender one = winner(fixture, key);
    int64_t later = pass_on(fixture, key);
    assert_string_equal(require_number(job, key, later), "");
    pg_person(fixture, "UPDATE leases SET released = true, expires_at = now() WHERE key = '%s'",
              key);
    pg_person(fixture, "UPDATE runs SET outcome = 'failed', finished_at = now() WHERE key = '%s'",
              key);
    purge(fixture, 60000);
    assert_int_equal(pg_person_number(fixture, "SELECT count(*) FROM leases WHERE released"), 0);
    assert_string_equal(require_number(job, key, one.item.fence), "LR001");
    purge(fixture, 1);
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM fences WHERE key = '%s'", key);
    assert_int_equal(pg_person_number(fixture, sql), 0);
    PQfinish(job);
}

/* ---- trust ------------------------------------------------------------------------------- */

static struct store_request ask(struct pg_fixture *fixture, const char *schema,
                                enum store_kind kind)
{
    struct store_request request = {.kind = kind};
    struct pg_client *client = pg_client_open(fixture, NULL, schema);
    pg_client_ask(client, &request);
    store_close(client->store, NULL, NULL);
    fixture->client_count--;
    pg_fixture_turn_ms(fixture, 1);
    return request;
}

/* Both say the same, and what to do. */
static void expect_refused(struct pg_fixture *fixture, const char *schema, const char *part)
{
    struct store_request request = ask(fixture, schema, STORE_INSPECT);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_int_equal(request.u.inspection.fault_count, 1);
    print_message("# %s\n", request.u.inspection.faults[0].text);
    assert_non_null(strstr(request.u.inspection.faults[0].text, part));
    store_request_clear(&request);
    request = ask(fixture, schema, STORE_INIT);
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_int_equal(request.failure, FAILURE_SCHEMA);
    assert_int_equal(request.error.kind, ERROR_CONFIG);
    assert_non_null(strstr(request.error.text, part));
}

static void refuse_after(struct pg_fixture *fixture, const char *change, const char *part)
{
    pg_person(fixture, "DROP SCHEMA IF EXISTS changed CASCADE");
    assert_int_equal(ask(fixture, "changed", STORE_INIT).outcome, STORE_ANSWERED);
    pg_person(fixture, "%s", change);
    expect_refused(fixture, "changed", part);
}

static void another_function__init_and_inspection__refuse_it(void **state)
{
    struct pg_fixture *fixture = *state;
    refuse_after(fixture,
                 "CREATE OR REPLACE FUNCTION changed.require_fence_v1(text, bigint) RETURNS void "
                 "LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp "
                 "AS 'BEGIN END'",
                 "another body");
    refuse_after(fixture, "ALTER FUNCTION changed.next_seq_v1(text) STABLE", "not VOLATILE");
    refuse_after(fixture, "ALTER FUNCTION changed.next_seq_v1(text) SECURITY DEFINER",
                 "is SECURITY DEFINER");
    refuse_after(fixture, "ALTER FUNCTION changed.require_fence_v1(text, bigint) SECURITY INVOKER",
                 "is not SECURITY DEFINER");
    refuse_after(fixture, "ALTER FUNCTION changed.next_seq_v1(text) RESET search_path",
                 "search_path");
    refuse_after(fixture, "ALTER FUNCTION changed.next_seq_v1(text) SET search_path = changed",
                 "search_path");
    refuse_after(fixture, "ALTER FUNCTION changed.next_seq_v1(text) SET work_mem = '1MB'",
                 "search_path");
    pg_person(fixture, "DROP SCHEMA changed CASCADE");
}

static void another_owner__init_and_inspection__refuse_the_function(void **state)
{
    struct pg_fixture *fixture = *state;
    pg_person(fixture, "DROP ROLE IF EXISTS intruder");
    pg_person(fixture, "CREATE ROLE intruder");
    refuse_after(fixture, "ALTER FUNCTION changed.require_fence_v1(text, bigint) OWNER TO intruder",
                 "OWNER TO");
    pg_person(fixture, "DROP SCHEMA changed CASCADE");
    pg_person(fixture, "DROP ROLE intruder");
}

static void schema_renamed__init__refuses_until_the_functions_are_dropped(void **state)
{
    struct pg_fixture *fixture = *state;
    pg_person(fixture, "DROP SCHEMA IF EXISTS renamed CASCADE");
    assert_int_equal(ask(fixture, "before", STORE_INIT).outcome, STORE_ANSWERED);
    pg_person(fixture, "ALTER SCHEMA before RENAME TO renamed");
    struct store_request request = ask(fixture, "renamed", STORE_INIT);
    assert_int_equal(request.failure, FAILURE_SCHEMA);
    assert_non_null(strstr(request.error.text, "DROP FUNCTION"));
    pg_person(fixture, "DROP FUNCTION renamed.next_seq_v1, renamed.require_fence_v1");
    request = ask(fixture, "renamed", STORE_INIT);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_true(request.u.init.is_created);
    request = ask(fixture, "renamed", STORE_INSPECT);
    assert_int_equal(request.u.inspection.fault_count, 0);
    store_request_clear(&request);
    pg_person(fixture, "DROP SCHEMA renamed CASCADE");
}

/* The quotes of the bodies are no letters that a schema may not have. */
static void quote_in_the_name__init__makes_functions_that_work(void **state)
{
    struct pg_fixture *fixture = *state;
    const char *schema = "a $body$ $body_$ $create$ b";
    pg_person(fixture, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", schema);
    assert_int_equal(ask(fixture, schema, STORE_INIT).outcome, STORE_ANSWERED);
    assert_string_equal(pg_person(fixture, "SELECT \"%s\".next_seq_v1('run')", schema), "1");
    struct store_request request = ask(fixture, schema, STORE_INSPECT);
    assert_int_equal(request.u.inspection.fault_count, 0);
    store_request_clear(&request);
    pg_person(fixture, "DROP SCHEMA \"%s\" CASCADE", schema);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(current_mandate__require_fence__passes_for_every_write),
        cmocka_unit_test(later_mandate_given__require_fence__refuses_the_earlier_one),
        cmocka_unit_test(lease_purged__require_fence__remembers_what_has_written),
        cmocka_unit_test(never_given__require_fence__refuses_and_remembers_nothing),
        cmocka_unit_test(writer_at_work__require_fence__waits_and_renewals_do_not),
        cmocka_unit_test(waits_while_the_later_one_writes__require_fence__refuses),
        cmocka_unit_test(role_with_execute_alone__require_fence__serves_it_and_no_other),
        cmocka_unit_test(two_add_to_a_run__next_seq__orders_them_without_a_conflict),
        cmocka_unit_test(old_run__purge__takes_its_steps_and_no_others),
        cmocka_unit_test(purged_key__purge__keeps_its_fence_as_long_as_slots),
        cmocka_unit_test(another_function__init_and_inspection__refuse_it),
        cmocka_unit_test(another_owner__init_and_inspection__refuse_the_function),
        cmocka_unit_test(schema_renamed__init__refuses_until_the_functions_are_dropped),
        cmocka_unit_test(quote_in_the_name__init__makes_functions_that_work),
    };
    return pg_fixture_run("postgresql functions", cases, CASE_COUNT(cases));
}
