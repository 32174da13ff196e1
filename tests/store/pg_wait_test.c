/* SPDX-License-Identifier: ISC */
/* A claim that waits: it marks the row, a marked row that is given back notifies, and where nobody
 * waits nothing is written and nobody is told. */
#include "pg_fixture.h"

#include <string.h>

/* client 0 holds, client 1 waits; the person listens. */
static int set_up(void **state)
{
    if (pg_fixture_open(state) != 0)
        return -1;
    struct pg_fixture *fixture = *state;
    pg_client_open(fixture, NULL, NULL);
    pg_person(fixture, "LISTEN leaserun");
    return 0;
}

static struct pg_contender holder(struct pg_fixture *fixture)
{
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&one, &fixture->clients[0]), CLAIM_WON);
    return one;
}

static void waiter_init(struct pg_contender *waiter, const char *key)
{
    pg_contender_init(waiter, key);
    waiter->item.is_waiting = true;
}

/* Claimed in the key's name by one who waits: held. */
static void wait_for(struct pg_fixture *fixture, const char *key)
{
    struct pg_contender waiter;
    waiter_init(&waiter, key);
    assert_int_equal(pg_contender_claim(&waiter, &fixture->clients[1]), CLAIM_HELD);
}

static bool is_marked(struct pg_fixture *fixture, const char *key)
{
    return strcmp(pg_person(fixture, "SELECT waited FROM leases WHERE key = '%s'", key), "t") == 0;
}

/* What the person heard since the last time: the number, and the last key. */
static int count_heard(struct pg_fixture *fixture, char last[64])
{
    int count = 0;
    pg_person(fixture, "SELECT 1");
    for (PGnotify *n; (n = PQnotifies(fixture->person)) != NULL; PQfreemem(n)) {
        snprintf(last, 64, "%s", n->extra);
        count++;
    }
    return count;
}

static void expect_heard(struct pg_fixture *fixture, const char *key)
{
    char last[64] = "";
    assert_int_equal(count_heard(fixture, last), 1);
    assert_string_equal(last, key);
    for (int i = 0; fixture->clients[1].released_count == 0 && i < 100; i++)
        pg_fixture_turn_ms(fixture, 50);
    assert_int_equal(fixture->clients[1].released_count, 1);
    assert_string_equal(fixture->clients[1].last_released, key);
    fixture->clients[1].released_count = 0;
}

/* ---- nobody waits ------------------------------------------------------------------------ */

static void nobody_waits__loser_and_release__mark_nothing_and_tell_nobody(void **state)
{
    struct pg_fixture *fixture = *state;
    char last[64] = "";
    struct pg_contender one = holder(fixture), loser;
    pg_contender_init(&loser, one.item.key);
    assert_int_equal(pg_contender_claim(&loser, &fixture->clients[1]), CLAIM_HELD);
    assert_false(is_marked(fixture, one.item.key));
    assert_string_equal(pg_person(fixture, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
                                           "'LISTEN%%' AND application_name LIKE 'leaserun%%'"),
                        "0");
    pg_contender_give_back(&one, &fixture->clients[0], STORE_RELEASE);
    assert_int_equal(count_heard(fixture, last), 0);
}

static void waiter_gone__next_mandate__is_given_back_without_a_word(void **state)
{
    struct pg_fixture *fixture = *state;
    char last[64] = "";
    struct pg_contender one = holder(fixture), next;
    wait_for(fixture, one.item.key);
    pg_contender_give_back(&one, &fixture->clients[0], STORE_RELEASE);
    expect_heard(fixture, one.item.key);
    pg_contender_init(&next, one.item.key);
    assert_int_equal(pg_contender_claim(&next, &fixture->clients[0]), CLAIM_WON);
    assert_false(is_marked(fixture, one.item.key));
    pg_contender_give_back(&next, &fixture->clients[0], STORE_RELEASE);
    assert_int_equal(count_heard(fixture, last), 0);
}

static void on_hold__claim_that_waits__marks_nothing(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    one.item.hold_ms = 60000;
    assert_int_equal(pg_contender_claim(&one, &fixture->clients[0]), CLAIM_WON);
    pg_contender_give_back(&one, &fixture->clients[0], STORE_RELEASE);
    wait_for(fixture, one.item.key);
    assert_false(is_marked(fixture, one.item.key));
}

/* ---- somebody waits ---------------------------------------------------------------------- */

static void held__claim_that_waits__marks_the_row_once(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one = holder(fixture);
    wait_for(fixture, one.item.key);
    assert_true(is_marked(fixture, one.item.key));
    const char *xid =
        "SELECT xmin::text::int8 FROM leases WHERE waited ORDER BY fence DESC LIMIT 1";
    int64_t before = pg_person_number(fixture, xid);
    wait_for(fixture, one.item.key);
    assert_int_equal(pg_person_number(fixture, xid), before);
    assert_int_equal(pg_contender_renew(&one, &fixture->clients[0]).verdict, RENEW_RENEWED);
    assert_true(is_marked(fixture, one.item.key));
    pg_contender_give_back(&one, &fixture->clients[0], STORE_RELEASE);
    expect_heard(fixture, one.item.key);
}

static void every_way_to_give_back__tells_who_waits(void **state)
{
    struct pg_fixture *fixture = *state;
    static const enum store_kind ways[] = {STORE_RELEASE, STORE_FREE, STORE_UNDO};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct pg_contender one = holder(fixture);
        wait_for(fixture, one.item.key);
        pg_contender_give_back(&one, &fixture->clients[0], ways[i]);
        expect_heard(fixture, one.item.key);
        char last[64];
        pg_contender_give_back(&one, &fixture->clients[0], ways[i]); /* repeated: nothing new */
        assert_int_equal(count_heard(fixture, last), 0);
    }
}

static void released_without_an_outcome__tells_who_waits(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one = holder(fixture);
    wait_for(fixture, one.item.key);
    struct release_item item = {
        .key = one.item.key,
        .holder = one.holder,
        .fence = one.item.fence,
        .run_id = one.run_id,
        .outcome = OUTCOME_NONE,
        .status = -1,
    };
    struct store_request request = {
        .kind = STORE_RELEASE,
        .u.release = {.items = &item, .count = 1},
    };
    assert_int_equal(pg_client_ask(&fixture->clients[0], &request), STORE_ANSWERED);
    expect_heard(fixture, one.item.key);
}

static void freed_by_hand__tells_who_waits(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one = holder(fixture);
    wait_for(fixture, one.item.key);
    pg_person(fixture, "UPDATE leases SET expires_at = now() WHERE key = '%s'", one.item.key);
    struct store_request request = {.kind = STORE_REVOKE, .u.revoke = {.key = one.item.key}};
    assert_int_equal(pg_client_ask(&fixture->clients[0], &request), STORE_ANSWERED);
    assert_int_equal(request.u.revoke.verdict, REVOKE_FREED);
    expect_heard(fixture, one.item.key);
}

static void reconnected__claim_that_waits__listens_again(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one = holder(fixture);
    wait_for(fixture, one.item.key);
    int restored = fixture->clients[1].restored_count;
    pg_person(fixture, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                       "WHERE application_name = 'leaserun' AND query LIKE '%%is_marked%%' "
                       "AND pid <> pg_backend_pid()");
    while (fixture->clients[1].restored_count == restored)
        pg_fixture_turn_ms(fixture, 50);
    wait_for(fixture, one.item.key);
    pg_contender_give_back(&one, &fixture->clients[0], STORE_RELEASE);
    expect_heard(fixture, one.item.key);
}

/* ---- between the look and the mark --------------------------------------------------------- */

/* The waiter's mark waits for the row's lock. */
static void submit_behind_a_lock(struct pg_fixture *fixture, struct pg_contender *waiter,
                                 const char *key)
{
    wait_for(fixture, key); /* it listens already */
    pg_person(fixture, "UPDATE leases SET waited = false WHERE key = '%s'", key);
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "SELECT 1 FROM leases WHERE key = '%s' FOR UPDATE", key);
    waiter_init(waiter, key);
    pg_contender_submit(waiter, &fixture->clients[1]);
}

static void released_before_the_mark__claim_that_waits__asks_again(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one = holder(fixture);
    struct pg_contender waiter;
    submit_behind_a_lock(fixture, &waiter, one.item.key);
    pg_fixture_turn_ms(fixture, 100);
    assert_int_equal(fixture->clients[1].open_calls, 1);
    pg_person(fixture, "UPDATE leases SET released = true WHERE key = '%s'", one.item.key);
    pg_person(fixture, "COMMIT");
    pg_fixture_settle(fixture);
    assert_int_equal(waiter.request.outcome, STORE_ANSWERED);
    assert_int_equal(waiter.item.verdict, CLAIM_RACED);
}

static void row_locked_for_long__claim_that_waits__is_held_all_the_same(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one = holder(fixture);
    struct pg_contender waiter;
    submit_behind_a_lock(fixture, &waiter, one.item.key);
    pg_fixture_settle(fixture);
    pg_person(fixture, "COMMIT");
    assert_int_equal(waiter.request.outcome, STORE_ANSWERED);
    assert_int_equal(waiter.item.verdict, CLAIM_HELD);
    assert_string_equal(waiter.item.other, one.holder);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(nobody_waits__loser_and_release__mark_nothing_and_tell_nobody),
        cmocka_unit_test(waiter_gone__next_mandate__is_given_back_without_a_word),
        cmocka_unit_test(on_hold__claim_that_waits__marks_nothing),
        cmocka_unit_test(held__claim_that_waits__marks_the_row_once),
        cmocka_unit_test(every_way_to_give_back__tells_who_waits),
        cmocka_unit_test(released_without_an_outcome__tells_who_waits),
        cmocka_unit_test(freed_by_hand__tells_who_waits),
        cmocka_unit_test(reconnected__claim_that_waits__listens_again),
        cmocka_unit_test(released_before_the_mark__claim_that_waits__asks_again),
        cmocka_unit_test(row_locked_for_long__claim_that_waits__is_held_all_the_same),
    };
    if (pg_fixture_url() == NULL)
        return 77;
    return _cmocka_run_group_tests("postgresql wait", cases, CASE_COUNT(cases), set_up,
                                   pg_fixture_close);
}
