/* SPDX-License-Identifier: ISC */
/* Tables of other programs as they are: what is refused, in which words, and what is fitted. */
#include "base/mem.h"
#include "pg_dialect_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pg_client *open_alone(struct pg_fixture *fixture, const char *parameters)
{
    return open_dialect(fixture, NOWHERE, DIALECT_FENCELESS, "odd", parameters);
}

/* A claim that must be refused; returns the sentence. */
static const char *refused(struct pg_client *client, struct pg_contender *contender)
{
    pg_contender_submit(contender, client);
    pg_fixture_settle(client->fixture);
    assert_int_equal(contender->request.outcome, STORE_FAILED);
    assert_int_equal(contender->request.failure, FAILURE_SCHEMA);
    return contender->request.error.text;
}

static void expect_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* The table is told to be faulty by `check`, and a claim is refused in the same words. */
static void expect_fault(struct pg_fixture *fixture, const char *parameters, const char *part)
{
    struct pg_client *client = open_alone(fixture, parameters);
    struct pg_contender one;
    struct store_request request = {.kind = STORE_INSPECT};
    pg_contender_init(&one, "k");
    expect_part(refused(client, &one), part);
    assert_int_equal(pg_client_ask(client, &request), STORE_ANSWERED);
    bool is_told = false;
    for (size_t i = 0; i < request.u.inspection.fault_count; i++)
        is_told = is_told || strstr(request.u.inspection.faults[i].text, part) != NULL;
    assert_true(is_told);
    store_request_clear(&request);
}

static void table_with_a_fault__check_and_claim__tell_it(void **state)
{
    static const struct {
        const char *alter, *part;
    } cases[] = {
        {"DROP TABLE odd", "there is no table"},
        {"ALTER TABLE odd DROP CONSTRAINT odd_pkey", "no unique constraint on (\"key\")"},
        {"ALTER TABLE odd DROP COLUMN holder", "has no column \"holder\""},
        {"ALTER TABLE odd ALTER key TYPE varchar(8), ALTER holder TYPE varchar(16)",
         "takes 16 characters, and a holder"},
        {"ALTER TABLE odd DROP CONSTRAINT odd_check, ALTER expires_at TYPE date",
         "\"expires_at\" is date"},
        {"ALTER TABLE odd ALTER holder TYPE char(60)", "\"holder\" is character,"},
        {"ALTER TABLE odd ADD tenant int NOT NULL", "\"tenant\" must have a value"},
        {"ALTER TABLE odd DROP CONSTRAINT odd_pkey; CREATE UNIQUE INDEX ON odd (key) "
         "WHERE holder <> ''",
         "no unique constraint"},
        {"ALTER TABLE odd DROP CONSTRAINT odd_pkey, ADD UNIQUE (key) DEFERRABLE",
         "no unique constraint"},
        {"ALTER TABLE odd RENAME TO base; CREATE VIEW odd AS SELECT * FROM base", "is no table"},
    };
    for (size_t i = 0; i < CASE_COUNT(cases); i++) {
        pg_person(*state, "SET client_min_messages = error");
        pg_person(*state, "DROP TABLE IF EXISTS base CASCADE");
        make_fenceless(*state, "odd", "text", "timestamptz");
        pg_person(*state, "%s", cases[i].alter);
        expect_fault(*state, NULL, cases[i].part);
    }
    pg_person(*state, "DROP TABLE base CASCADE");
}

static void role_with_few_rights__check_and_claim__name_the_missing_one(void **state)
{
    struct pg_fixture *fixture = *state;
    make_fenceless(fixture, "odd", "text", "timestamptz");
    pg_person(fixture, "DROP ROLE IF EXISTS odd_role");
    pg_person(fixture, "CREATE ROLE odd_role");
    expect_fault(fixture, "options=-c%20role%3Dodd_role", "it needs USAGE");
    char *quoted = PQescapeIdentifier(fixture->person, fixture->schema, strlen(fixture->schema));
    pg_person(fixture, "GRANT USAGE ON SCHEMA %s TO odd_role", quoted);
    PQfreemem(quoted);
    pg_person(fixture, "GRANT SELECT, INSERT ON odd TO odd_role");
    expect_fault(fixture, "options=-c%20role%3Dodd_role", "lacks the right UPDATE on the column");
    pg_person(fixture, "GRANT UPDATE ON odd TO odd_role");
    pg_person(fixture, "ALTER TABLE odd ENABLE ROW LEVEL SECURITY");
    expect_fault(fixture, "options=-c%20role%3Dodd_role", "row security hides rows");
    pg_person(fixture, "ALTER TABLE odd DISABLE ROW LEVEL SECURITY");
    struct pg_contender one;
    pg_contender_init(&one, "k");
    struct pg_client *client = open_alone(fixture, "options=-c%20role%3Dodd_role");
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
    assert_int_equal(pg_contender_give_back(&one, client, STORE_RELEASE), RELEASE_RELEASED);
    pg_person(fixture, "DROP OWNED BY odd_role");
    pg_person(fixture, "DROP ROLE odd_role");
}

static void fault_mended__same_store__claims(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one;
    make_fenceless(fixture, "odd", "text", "timestamptz");
    pg_person(fixture, "DROP TABLE odd");
    struct pg_client *client = open_alone(fixture, NULL);
    pg_contender_init(&one, "k");
    expect_part(refused(client, &one), "there is no table");
    make_fenceless(fixture, "odd", "text", "timestamptz");
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    /* and when it is altered under a living store: the first failure makes it look again */
    pg_person(fixture, "ALTER TABLE odd RENAME holder TO owner");
    pg_contender_init(&one, "l");
    refused(client, &one);
    expect_part(refused(client, &one), "has no column \"holder\"");
    pg_person(fixture, "ALTER TABLE odd RENAME owner TO holder");
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
}

static void holder_column_of_any_length__holders__fit_and_differ(void **state)
{
    static const char *const types[] = {"text",        "varchar(255)", "varchar(64)", "varchar(40)",
                                        "varchar(33)", "varchar(20)",  "varchar(17)"};
    for (size_t i = 0; i < CASE_COUNT(types); i++) {
        struct pg_contender one, two;
        make_fenceless(*state, "odd", types[i], "timestamptz");
        struct pg_client *client = open_alone(*state, NULL);
        pg_contender_init(&one, "a");
        pg_contender_init(&two, "b");
        assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
        assert_int_equal(pg_contender_claim(&two, client), CLAIM_WON);
        assert_string_equal(pg_person(*state, "SELECT count(DISTINCT holder) FROM odd "
                                              "WHERE holder ~ '#[a-z2-7]{16,26}$'"),
                            "2");
        two.item.key = "a";
        assert_int_equal(pg_contender_renew(&two, client).verdict, RENEW_LOST);
        assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
        assert_int_equal(pg_contender_give_back(&one, client, STORE_RELEASE), RELEASE_RELEASED);
        pg_contender_init(&two, "a");
        assert_int_equal(pg_contender_claim(&two, client), CLAIM_WON);
    }
}

static void check_of_the_end__short_mandates__never_break_it(void **state)
{
    static const char *const types[] = {"timestamptz", "timestamp", "timestamptz(0)",
                                        "timestamp(3)"};
    for (size_t i = 0; i < CASE_COUNT(types); i++) {
        make_fenceless(*state, "odd", "text", types[i]);
        struct pg_client *client = open_alone(*state, NULL);
        for (int round = 0; round < 20; round++) {
            char key[16];
            struct pg_contender one;
            snprintf(key, sizeof key, "k%d", round);
            pg_contender_init(&one, key);
            assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
            assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
            assert_int_equal(pg_contender_give_back(&one, client, STORE_RELEASE), RELEASE_RELEASED);
        }
    }
}

/* acquired_at lies an hour ahead: what a renewal and a release write must lie behind it. */
static void clock_stepped_back__renewal_and_release__keep_the_check(void **state)
{
    struct pg_contender one;
    make_fenceless(*state, "odd", "text", "timestamptz");
    struct pg_client *client = open_alone(*state, NULL);
    pg_contender_init(&one, "k");
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    pg_person(*state, "UPDATE odd SET acquired_at = acquired_at + interval '1 hour', "
                      "expires_at = expires_at + interval '1 hour'");
    assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
    assert_int_equal(pg_contender_give_back(&one, client, STORE_RELEASE), RELEASE_RELEASED);
}

static void key_that_is_too_long__claim__is_refused_and_others_are_not(void **state)
{
    struct pg_contender one, two;
    make_fenceless(*state, "odd", "text", "timestamptz");
    pg_person(*state, "ALTER TABLE odd ALTER key TYPE varchar(8)");
    struct pg_client *client = open_alone(*state, NULL);
    pg_contender_init(&one, "neun\xc3\xa4"
                            "chen!");
    expect_part(refused(client, &one), "the key has 10 characters");
    pg_contender_init(&two, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
    assert_int_equal(pg_contender_claim(&two, client), CLAIM_WON);
    pg_contender_init(&two, "short");
    struct claim_item items[] = {one.item, two.item};
    struct store_request request = {.kind = STORE_CLAIM, .u.claim = {.items = items, .count = 2}};
    assert_int_equal(pg_client_ask(client, &request), STORE_ANSWERED);
    assert_int_equal(items[0].verdict, CLAIM_RACED);
    assert_int_equal(items[1].verdict, CLAIM_WON);
}

static enum store_outcome ask(struct pg_client *client, struct store_request *request)
{
    enum store_outcome outcome = pg_client_ask(client, request);
    if (outcome == STORE_FAILED)
        assert_int_equal(request->failure, FAILURE_SCHEMA);
    return outcome;
}

static void without_our_own_tables__what_they_keep__is_refused(void **state)
{
    struct pg_contender one;
    make_fenceless(*state, "odd", "text", "timestamptz");
    struct pg_client *client = open_alone(*state, NULL);
    pg_contender_init(&one, "k");
    one.item.slot_us = now_wall_us();
    expect_part(refused(client, &one), "need leaserun's own tables");
    pg_contender_init(&one, "k");
    one.item.is_once = true;
    expect_part(refused(client, &one), "need leaserun's own tables");
    for (int i = 0; i < 2; i++) { /* with the catalog known, and not */
        struct store_request history = {.kind = STORE_HISTORY, .u.runs = {.limit = 10}};
        assert_int_equal(ask(client, &history), STORE_FAILED);
        expect_part(history.error.text, "runs and slots are kept");
        struct store_request forget = {.kind = STORE_FORGET, .u.purge = {.forget_key = "k"}};
        assert_int_equal(ask(client, &forget), STORE_FAILED);
        client = open_alone(*state, NULL);
    }
}

static void purge_and_init__rows_of_the_table__stay(void **state)
{
    make_fenceless(*state, "odd", "text", "timestamptz");
    pg_person(*state, "INSERT INTO odd VALUES ('old', 'x', '2000-01-01', '2000-01-02')");
    const char *const schemas[] = {NOWHERE, NULL};
    for (int i = 0; i < 2; i++) {
        struct pg_client *client = open_dialect(*state, schemas[i], DIALECT_FENCELESS, "odd", NULL);
        struct store_request purge = {.kind = STORE_PURGE};
        assert_int_equal(pg_client_ask(client, &purge), STORE_ANSWERED);
    }
    struct pg_client *client = open_dialect(*state, NULL, DIALECT_FENCELESS, "odd", NULL);
    struct store_request init = {.kind = STORE_INIT};
    assert_int_equal(pg_client_ask(client, &init), STORE_ANSWERED);
    assert_string_equal(pg_person(*state, "SELECT string_agg(key, ',') FROM odd"), "old");
}

#define CASE(case) cmocka_unit_test_teardown(case, close_dialects)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(table_with_a_fault__check_and_claim__tell_it),
        CASE(role_with_few_rights__check_and_claim__name_the_missing_one),
        CASE(fault_mended__same_store__claims),
        CASE(holder_column_of_any_length__holders__fit_and_differ),
        CASE(check_of_the_end__short_mandates__never_break_it),
        CASE(clock_stepped_back__renewal_and_release__keep_the_check),
        CASE(key_that_is_too_long__claim__is_refused_and_others_are_not),
        CASE(without_our_own_tables__what_they_keep__is_refused),
        CASE(purge_and_init__rows_of_the_table__stay),
    };
    return pg_fixture_run("pg_dialect_table", cases, CASE_COUNT(cases));
}
