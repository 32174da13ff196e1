/* SPDX-License-Identifier: ISC */
/* init creates and never alters; check says what is wrong with a schema. */
#include "base/mem.h"
#include "pg_fixture.h"

#include <stdlib.h>
#include <string.h>

static void close_clients(struct pg_fixture *fixture, int keep)
{
    while (fixture->client_count > keep)
        store_close(fixture->clients[--fixture->client_count].store, NULL, NULL);
    pg_fixture_turn_ms(fixture, 1);
}

static struct store_request ask(struct pg_fixture *fixture, const char *url, const char *schema,
                                enum store_kind kind)
{
    int keep = fixture->client_count;
    struct store_request request = {.kind = kind};
    pg_client_ask(pg_client_open(fixture, url, schema), &request);
    if (request.outcome == STORE_FAILED)
        print_message("# %s\n", request.error.text);
    close_clients(fixture, keep);
    return request;
}

static void expect_fault(struct pg_fixture *fixture, const char *schema, const char *part)
{
    struct store_request request = ask(fixture, NULL, schema, STORE_INSPECT);
    bool is_found = false;
    assert_int_equal(request.outcome, STORE_ANSWERED);
    for (size_t i = 0; i < request.u.inspection.fault_count; i++) {
        print_message("# %s\n", request.u.inspection.faults[i].text);
        is_found |= strstr(request.u.inspection.faults[i].text, part) != NULL;
    }
    assert_true(is_found);
    store_request_clear(&request);
}

static void everything_there__init__only_reads_and_changes_nothing(void **state)
{
    struct pg_fixture *fixture = *state;
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "LOCK TABLE leases, runs, steps, fences IN EXCLUSIVE MODE");
    pg_person(fixture, "SELECT pg_advisory_xact_lock(7810756276995126638)");
    struct store_request request = ask(fixture, NULL, NULL, STORE_INIT);
    pg_person(fixture, "COMMIT");
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_false(request.u.init.is_created);
}

static void table_dropped__init__creates_that_one(void **state)
{
    struct pg_fixture *fixture = *state;
    pg_person(fixture, "CREATE TABLE kept AS SELECT 'leases'::regclass::oid AS oid");
    pg_person(fixture, "DROP TABLE runs");
    expect_fault(fixture, NULL, "not complete");
    struct store_request request = ask(fixture, NULL, NULL, STORE_INIT);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_true(request.u.init.is_created);
    assert_string_equal(pg_person(fixture, "SELECT oid = 'leases'::regclass FROM kept"), "t");
    pg_person(fixture, "DROP TABLE kept");
    request = ask(fixture, NULL, NULL, STORE_INSPECT);
    assert_int_equal(request.u.inspection.fault_count, 0);
    print_message("# %s\n", request.u.inspection.description);
    store_request_clear(&request);
}

static void ten_at_once__init__all_succeed(void **state)
{
    struct pg_fixture *fixture = *state;
    int keep = fixture->client_count;
    struct store_request requests[10];
    int created = 0;
    char *url = pg_fixture_url_with("options=-c%20default_transaction_isolation%3Dserializable");
    pg_person(fixture, "DROP SCHEMA IF EXISTS ten CASCADE");
    for (int i = 0; i < 10; i++) {
        requests[i] = (struct store_request){.kind = STORE_INIT};
        pg_client_submit(pg_client_open(fixture, url, "ten"), &requests[i], 10000);
    }
    pg_fixture_settle(fixture);
    for (int i = 0; i < 10; i++) {
        if (requests[i].outcome == STORE_FAILED)
            fail_msg("%s", requests[i].error.text);
        created += requests[i].u.init.is_created;
    }
    assert_true(created >= 1);
    assert_string_equal(pg_person(fixture, "SELECT count(*) FROM ten.schema_version"), "1");
    pg_person(fixture, "DROP SCHEMA ten CASCADE");
    close_clients(fixture, keep);
    free(url);
}

static void slots_index_dropped__init__makes_it_again(void **state)
{
    struct pg_fixture *fixture = *state;
    pg_person(fixture, "DROP INDEX runs_key_slot_key");
    struct store_request request = ask(fixture, NULL, NULL, STORE_INIT);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_true(request.u.init.is_created);
    assert_string_equal(pg_person(fixture, "SELECT indisunique FROM pg_index WHERE indexrelid = "
                                           "'runs_key_slot_key'::regclass"),
                        "t");
}

static void another_init_beside__init__fails_within_its_lock_timeout(void **state)
{
    struct pg_fixture *fixture = *state;
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "SELECT pg_advisory_xact_lock(7810756276995126638)");
    struct store_request request = ask(fixture, NULL, "another", STORE_INIT);
    pg_person(fixture, "COMMIT");
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_int_equal(request.failure, FAILURE_CONFLICT);
    assert_string_equal(
        pg_person(fixture, "SELECT count(*) FROM pg_namespace WHERE nspname = 'another'"), "0");
}

/* What init creates on a table that is in use has to wait for those who write there. */
static void writer_beside__init__fails_fast_and_a_lease_is_kept(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&one, &fixture->clients[0]), CLAIM_WON);
    pg_person(fixture, "DROP INDEX runs_once");
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "UPDATE runs SET status = 1 WHERE key = 'nobody''s'");
    int64_t before = now_boot_ms();
    struct store_request init = {.kind = STORE_INIT};
    int keep = fixture->client_count;
    pg_client_submit(pg_client_open(fixture, NULL, NULL), &init, 10000);
    pg_fixture_turn_ms(fixture, 500);
    assert_int_equal(pg_contender_renew(&one, &fixture->clients[0]).verdict, RENEW_RENEWED);
    assert_int_equal(fixture->clients[keep].open_calls, 1);
    pg_fixture_settle(fixture);
    assert_in_range(now_boot_ms() - before, 0, 5000);
    assert_int_equal(init.outcome, STORE_FAILED);
    assert_int_equal(init.failure, FAILURE_CONFLICT);
    pg_person(fixture, "COMMIT");
    close_clients(fixture, keep);
    init = ask(fixture, NULL, NULL, STORE_INIT);
    assert_int_equal(init.outcome, STORE_ANSWERED);
    assert_true(init.u.init.is_created);
    pg_contender_give_back(&one, &fixture->clients[0], STORE_RELEASE);
}

static void reloptions__after_init__are_those_of_a_small_hot_table(void **state)
{
    const char *options =
        pg_person(*state, "SELECT reloptions::text FROM pg_class WHERE oid = 'leases'::regclass");
    assert_non_null(strstr(options, "fillfactor=50"));
    assert_non_null(strstr(options, "vacuum_truncate=off"));
    assert_non_null(strstr(options, "autovacuum_vacuum_scale_factor=0"));
    assert_string_equal(
        pg_person(*state, "SELECT count(*) FROM pg_index WHERE indrelid = 'leases'::regclass"),
        "1");
    assert_string_equal(pg_person(*state, "SELECT seqcache FROM pg_sequence WHERE seqrelid = "
                                          "'fence_seq'::regclass"),
                        "1");
}

/* ---- refused ----------------------------------------------------------------------------- */

static void broken_schema(struct pg_fixture *fixture, const char *breakage, const char *part)
{
    pg_person(fixture, "DROP SCHEMA IF EXISTS broken CASCADE");
    struct store_request request = ask(fixture, NULL, "broken", STORE_INIT);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    pg_person(fixture, "%s", breakage);
    expect_fault(fixture, "broken", part);
    request = ask(fixture, NULL, "broken", STORE_INIT);
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_int_equal(request.failure, FAILURE_SCHEMA);
    assert_int_equal(request.error.kind, ERROR_CONFIG);
    pg_person(fixture, "DROP SCHEMA broken CASCADE");
}

static void no_schema__inspection__says_so(void **state)
{
    expect_fault(*state, "nowhere", "does not exist");
}

static void no_uniqueness__init__refuses(void **state)
{
    broken_schema(*state,
                  "DROP INDEX broken.runs_key_slot_key; CREATE INDEX runs_key_slot_key ON "
                  "broken.runs (key, slot)",
                  "no unique constraint on (key,slot)");
    broken_schema(*state, "ALTER TABLE broken.leases DROP CONSTRAINT leases_pkey",
                  "no unique constraint on (key)");
}

static void view_instead_of_table__init__refuses(void **state)
{
    broken_schema(*state,
                  "ALTER TABLE broken.runs RENAME TO runs2; "
                  "CREATE VIEW broken.runs AS SELECT * FROM broken.runs2",
                  "another kind of object");
}

static void other_column__init__refuses(void **state)
{
    broken_schema(*state, "ALTER TABLE broken.leases ALTER fence TYPE int", "must be bigint");
    broken_schema(*state, "ALTER TABLE broken.leases DROP COLUMN revoked", "missing");
    broken_schema(*state, "ALTER TABLE broken.leases ALTER key TYPE text COLLATE \"default\"",
                  "must be text C");
}

static void newer_schema__init__refuses_by_its_oldest_reader(void **state)
{
    struct pg_fixture *fixture = *state;
    pg_person(fixture, "INSERT INTO schema_version VALUES (7, 1)"); /* newer, and we may read */
    assert_int_equal(ask(fixture, NULL, NULL, STORE_INIT).outcome, STORE_ANSWERED);
    pg_person(fixture, "UPDATE schema_version SET oldest_reader = 5 WHERE version = 7");
    expect_fault(fixture, NULL, "newer leaserun");
    struct store_request request = ask(fixture, NULL, NULL, STORE_INIT);
    assert_int_equal(request.failure, FAILURE_SCHEMA);
    pg_person(fixture, "DELETE FROM schema_version WHERE version = 7");
}

static void sequence_behind__inspection__says_so(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&one, &fixture->clients[0]), CLAIM_WON);
    pg_person(fixture, "SELECT setval('fence_seq', 1, false)");
    expect_fault(fixture, NULL, "fence_seq");
    pg_person(fixture, "SELECT setval('fence_seq', %d)", (int)one.item.fence + 10);
}

static void powerless_role__inspection__names_each_right(void **state)
{
    struct pg_fixture *fixture = *state;
    pg_person(fixture, "DROP ROLE IF EXISTS powerless");
    pg_person(fixture, "CREATE ROLE powerless LOGIN");
    char *url = pg_fixture_url_as("powerless", "postgres", "");
    struct store_request request = ask(fixture, url, NULL, STORE_INSPECT);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_int_equal(request.u.inspection.fault_count, 1 + 1 + 4 * 4 + 1 + 2);
    print_message("# %s\n", request.u.inspection.faults[3].text);
    store_request_clear(&request);
    request = ask(fixture, url, "elsewhere", STORE_INIT);
    assert_int_equal(request.failure, FAILURE_RIGHTS);
    pg_person(fixture, "DROP ROLE powerless");
    free(url);
}

static void strange_defaults__inspection__notes_them(void **state)
{
    struct pg_fixture *fixture = *state;
    char *url =
        pg_fixture_url_with("options=-c%20default_transaction_isolation%3Dserializable%20-c%20"
                            "synchronous_commit%3Doff");
    pg_person(fixture, "CREATE INDEX by_expiry ON leases (expires_at)");
    struct store_request request = ask(fixture, url, NULL, STORE_INSPECT);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_int_equal(request.u.inspection.fault_count, 0);
    for (size_t i = 0; i < request.u.inspection.note_count; i++)
        print_message("# %s\n", request.u.inspection.notes[i]);
    assert_int_equal(request.u.inspection.note_count, 3);
    store_request_clear(&request);
    pg_person(fixture, "DROP INDEX by_expiry");
    free(url);
}

static void printed_sql__run_by_a_person__is_all_that_is_needed(void **state)
{
    struct pg_fixture *fixture = *state;
    char *url = mem_strdup(pg_fixture_url()), *schema = mem_strdup("by \"hand\"");
    const struct store_config config = {.url = url, .schema = schema};
    char *sql;
    struct error err;
    assert_true(store_print_sql(&config, &sql, &err));
    pg_person(fixture, "DROP SCHEMA IF EXISTS \"by \"\"hand\"\"\" CASCADE");
    pg_person(fixture, "%s", sql);
    pg_person(fixture, "%s", sql); /* again changes nothing */
    struct store_request request = ask(fixture, NULL, schema, STORE_INIT);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_false(request.u.init.is_created);
    assert_non_null(strstr(sql, "GRANT SELECT, INSERT, UPDATE, DELETE"));
    request = ask(fixture, NULL, schema, STORE_INSPECT);
    assert_int_equal(request.u.inspection.fault_count, 0);
    store_request_clear(&request);
    pg_person(fixture, "DROP SCHEMA \"by \"\"hand\"\"\" CASCADE");
    free(sql);
    free(url);
    free(schema);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(everything_there__init__only_reads_and_changes_nothing),
        cmocka_unit_test(table_dropped__init__creates_that_one),
        cmocka_unit_test(ten_at_once__init__all_succeed),
        cmocka_unit_test(slots_index_dropped__init__makes_it_again),
        cmocka_unit_test(another_init_beside__init__fails_within_its_lock_timeout),
        cmocka_unit_test(writer_beside__init__fails_fast_and_a_lease_is_kept),
        cmocka_unit_test(reloptions__after_init__are_those_of_a_small_hot_table),
        cmocka_unit_test(no_schema__inspection__says_so),
        cmocka_unit_test(no_uniqueness__init__refuses),
        cmocka_unit_test(view_instead_of_table__init__refuses),
        cmocka_unit_test(other_column__init__refuses),
        cmocka_unit_test(newer_schema__init__refuses_by_its_oldest_reader),
        cmocka_unit_test(sequence_behind__inspection__says_so),
        cmocka_unit_test(powerless_role__inspection__names_each_right),
        cmocka_unit_test(strange_defaults__inspection__notes_them),
        cmocka_unit_test(printed_sql__run_by_a_person__is_all_that_is_needed),
    };
    return pg_fixture_run("postgresql schema", cases, CASE_COUNT(cases));
}
