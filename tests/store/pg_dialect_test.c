/* SPDX-License-Identifier: ISC */
/* Leases in the table of another program: what the two make of one another. */
#include "base/mem.h"
#include "pg_dialect_fixture.h"

#include <stdlib.h>
#include <string.h>

static enum claim_verdict claim(struct pg_client *client, const char *key,
                                struct pg_contender *ret_contender)
{
    pg_contender_init(ret_contender, key);
    return pg_contender_claim(ret_contender, client);
}

/* One try, as it is. */
static enum claim_verdict try(struct pg_client *client, struct pg_contender *contender)
{
    pg_contender_submit(contender, client);
    pg_fixture_settle(client->fixture);
    if (contender->request.outcome != STORE_ANSWERED)
        fail_msg("%s", contender->request.error.text);
    return contender->item.verdict;
}

static void give_back(struct pg_client *client, struct pg_contender *contender)
{
    assert_int_equal(pg_contender_give_back(contender, client, STORE_RELEASE), RELEASE_RELEASED);
}

static struct lease_row status(struct pg_client *client, const char *key)
{
    static struct store_request request;
    store_request_clear(&request);
    request = (struct store_request){.kind = STORE_STATUS, .u.leases = {.key = key}};
    assert_int_equal(pg_client_ask(client, &request), STORE_ANSWERED);
    assert_int_equal(request.u.leases.count, 1);
    return request.u.leases.rows[0];
}

static struct revoke release_by_hand(struct pg_client *client, const char *key, bool is_stop)
{
    struct store_request request = {.kind = STORE_REVOKE,
                                    .u.revoke = {.key = key, .is_stop = is_stop}};
    assert_int_equal(pg_client_ask(client, &request), STORE_ANSWERED);
    return request.u.revoke;
}

/* ---- the dialect alone -------------------------------------------------------------------- */

static struct pg_client *open_alone(struct pg_fixture *fixture)
{
    make_shedlock(fixture, "alone");
    return open_dialect(fixture, NOWHERE, DIALECT_SHEDLOCK, "alone", NULL);
}

static void foreign_lock__claim__is_held_until_it_is_given_back(void **state)
{
    struct pg_client *client = open_alone(*state);
    struct pg_contender one;
    assert_true(shedlock_locks(*state, "alone", "k"));
    assert_int_equal(claim(client, "k", &one), CLAIM_HELD);
    assert_string_equal(one.item.other, "java-host");
    assert_in_range(one.item.wait_ms, 50000, 60000);
    shedlock_unlocks(*state, "alone", "k");
    assert_int_equal(claim(client, "k", &one), CLAIM_WON);
    assert_int_equal(one.item.fence, FENCE_ABSENT);
}

static void our_lease__foreign_lock__is_refused_until_it_is_given_back(void **state)
{
    struct pg_client *client = open_alone(*state);
    struct pg_contender one;
    assert_int_equal(claim(client, "k", &one), CLAIM_WON);
    assert_false(shedlock_locks(*state, "alone", "k"));
    shedlock_unlocks(*state, "alone", "k"); /* a late one of an earlier mandate */
    assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
    assert_false(shedlock_locks(*state, "alone", "k"));
    give_back(client, &one);
    assert_string_equal(pg_person(*state, "SELECT count(*) FROM alone"), "1");
    assert_true(shedlock_locks(*state, "alone", "k"));
    assert_int_equal(pg_contender_renew(&one, client).reason, LOST_TAKEN);
}

static void sessions_in_other_zones__the_two__exclude_one_another_all_the_same(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_contender one;
    make_shedlock(fixture, "alone");
    pg_person(fixture, "SET TimeZone = 'Asia/Tokyo'");
    struct pg_client *client = open_dialect(fixture, NOWHERE, DIALECT_SHEDLOCK, "alone",
                                            "options=-c%20TimeZone%3DAmerica/New_York");
    assert_true(shedlock_locks(fixture, "alone", "theirs"));
    assert_int_equal(claim(client, "theirs", &one), CLAIM_HELD);
    assert_in_range(one.item.wait_ms, 50000, 60000);
    assert_int_equal(claim(client, "ours", &one), CLAIM_WON);
    assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
    assert_false(shedlock_locks(fixture, "alone", "ours"));
    assert_in_range(pg_person_number(fixture, "SELECT date_part('epoch', lock_until - timezone("
                                              "'utc', now())) FROM alone WHERE name = 'ours'"),
                    50, 60);
    assert_in_range(status(client, "ours").expires_us - now_wall_us(), 50000000, 61000000);
    pg_person(fixture, "RESET TimeZone");
}

static void reply_lost__next_attempt__wins_and_late_duplicates_do_not(void **state)
{
    struct pg_client *client = open_alone(*state);
    struct pg_contender one, duplicate;
    assert_int_equal(claim(client, "k", &one), CLAIM_WON);
    one.item.attempt = 2;
    assert_int_equal(try(client, &one), CLAIM_WON);
    duplicate = one;
    duplicate.item.attempt = 1;
    assert_int_equal(try(client, &duplicate), CLAIM_HELD);
    assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
    give_back(client, &one);
    assert_int_equal(try(client, &duplicate), CLAIM_RACED);
    duplicate.item.attempt = 3;
    assert_int_equal(try(client, &duplicate), CLAIM_RACED);
    assert_true(shedlock_locks(*state, "alone", "k"));
}

static void ended_and_not_given_back__next_attempt_of_the_holder__wins(void **state)
{
    struct pg_client *client = open_alone(*state);
    struct pg_contender one;
    pg_contender_init(&one, "k");
    one.item.ttl_ms = 100;
    assert_int_equal(try(client, &one), CLAIM_WON);
    pg_fixture_turn_ms(*state, 150);
    assert_int_equal(status(client, "k").state, LEASE_EXPIRED);
    assert_int_equal(pg_contender_renew(&one, client).reason, LOST_EXPIRED);
    one.item.attempt = 2;
    assert_int_equal(try(client, &one), CLAIM_WON);
}

static void held_by_us__revoked__is_lost_and_free_once_given_back(void **state)
{
    struct pg_client *client = open_alone(*state);
    struct pg_contender one;
    assert_int_equal(claim(client, "k", &one), CLAIM_WON);
    assert_int_equal(release_by_hand(client, "k", false).verdict, REVOKE_LIVE);
    struct revoke stopped = release_by_hand(client, "k", true);
    assert_int_equal(stopped.verdict, REVOKE_MARKED);
    assert_string_equal(stopped.other, one.holder);
    assert_true(status(client, "k").is_revoked);
    assert_int_equal(pg_contender_renew(&one, client).reason, LOST_REVOKED);
    assert_false(shedlock_locks(*state, "alone", "k")); /* not before its holder is done */
    give_back(client, &one);
    assert_int_equal(status(client, "k").state, LEASE_RELEASED);
    assert_true(shedlock_locks(*state, "alone", "k"));
}

static void held_by_a_foreign_program__revoked__is_left_alone(void **state)
{
    struct pg_client *client = open_alone(*state);
    assert_true(shedlock_locks(*state, "alone", "k"));
    assert_int_equal(release_by_hand(client, "k", true).verdict, REVOKE_FOREIGN);
    assert_string_equal(pg_person(*state, "SELECT locked_by FROM alone"), "java-host");
    shedlock_unlocks(*state, "alone", "k");
    assert_int_equal(release_by_hand(client, "k", true).verdict, REVOKE_FREED);
    assert_int_equal(release_by_hand(client, "other", true).verdict, REVOKE_UNKNOWN);
}

static void hold__released__keeps_the_foreign_program_out(void **state)
{
    struct pg_client *client = open_alone(*state);
    struct pg_contender one;
    pg_contender_init(&one, "k");
    one.item.hold_ms = 30000;
    assert_int_equal(try(client, &one), CLAIM_WON);
    give_back(client, &one);
    assert_int_equal(status(client, "k").state, LEASE_ON_HOLD);
    assert_in_range(status(client, "k").remaining_ms, 20000, 30000);
    assert_false(shedlock_locks(*state, "alone", "k"));
    struct pg_contender two;
    assert_int_equal(claim(client, "k", &two), CLAIM_HELD);
    assert_true(two.item.is_on_hold);
}

static void claim_undone_without_an_answer__key__is_free(void **state)
{
    struct pg_client *client = open_alone(*state);
    struct pg_contender one;
    assert_int_equal(claim(client, "k", &one), CLAIM_WON);
    one.item.fence = 0;
    assert_int_equal(pg_contender_give_back(&one, client, STORE_UNDO), RELEASE_RELEASED);
    assert_int_equal(pg_contender_give_back(&one, client, STORE_FREE), RELEASE_RELEASED);
    assert_true(shedlock_locks(*state, "alone", "k"));
    assert_int_equal(pg_contender_give_back(&one, client, STORE_FREE), RELEASE_NOT_OURS);
    assert_false(shedlock_locks(*state, "alone", "k"));
}

static void rows_without_an_end__claim__is_held_for_ever(void **state)
{
    struct pg_client *client = open_alone(*state);
    struct pg_contender one;
    pg_person(*state, "ALTER TABLE alone ALTER lock_until DROP NOT NULL");
    pg_person(*state, "INSERT INTO alone VALUES ('a', 'infinity', '-infinity', 'x'), "
                      "('b', NULL, now(), 'x')");
    assert_int_equal(claim(client, "a", &one), CLAIM_HELD);
    assert_int_equal(claim(client, "b", &one), CLAIM_HELD);
    assert_int_equal(status(client, "a").state, LEASE_HELD);
    pg_person(*state, "UPDATE alone SET lock_until = '-infinity' WHERE name = 'a'");
    assert_int_equal(claim(client, "a", &one), CLAIM_WON);
}

static void one_row_locked__renewal_of_many__renews_the_others(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = open_alone(fixture);
    struct pg_contender all[3];
    struct renew_item items[3];
    const char *keys[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(claim(client, keys[i], &all[i]), CLAIM_WON);
        items[i] = (struct renew_item){
            .key = keys[i], .holder = all[i].holder, .fence = FENCE_ABSENT, .ttl_ms = 60000};
    }
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "SELECT 1 FROM alone WHERE name = 'b' FOR UPDATE");
    struct store_request request = {.kind = STORE_RENEW, .u.renew = {.items = items, .count = 3}};
    assert_int_equal(pg_client_ask(client, &request), STORE_ANSWERED);
    pg_person(fixture, "ROLLBACK");
    assert_int_equal(items[0].verdict, RENEW_RENEWED);
    assert_int_equal(items[1].verdict, RENEW_LOCKED);
    assert_int_equal(items[2].verdict, RENEW_RENEWED);
}

#define RACERS 12

static bool has_won(const struct pg_contender *contender)
{
    return contender->request.outcome == STORE_ANSWERED && contender->item.verdict == CLAIM_WON;
}

static void many_of_ours_and_the_foreign_program__race__one_wins(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *clients[RACERS] = {open_alone(fixture)};
    static struct pg_contender racers[RACERS];
    int foreign_count = 0, ours_count = 0;
    for (int i = 1; i < RACERS; i++)
        clients[i] = open_dialect(fixture, NOWHERE, DIALECT_SHEDLOCK, "alone", NULL);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < RACERS; i++) {
            pg_contender_init(&racers[i], "k");
            pg_contender_submit(&racers[i], clients[i]);
        }
        pg_fixture_turn_ms(fixture, round % 3);
        bool is_foreign = shedlock_locks(fixture, "alone", "k");
        pg_fixture_settle(fixture);
        int winners = is_foreign ? 1 : 0;
        foreign_count += winners;
        for (int i = 0; i < RACERS; i++)
            winners += has_won(&racers[i]) ? 1 : 0;
        assert_true(winners <= 1); /* none, where all of them met one another at serializable */
        ours_count += winners - (is_foreign ? 1 : 0);
        shedlock_unlocks(fixture, "alone", "k");
        for (int i = 0; i < RACERS; i++)
            if (has_won(&racers[i]))
                give_back(clients[i], &racers[i]);
    }
    printf("# the foreign program won %d of 40, we %d\n", foreign_count, ours_count);
    assert_true(foreign_count + ours_count >= 20);
}

/* ---- beside our own tables ---------------------------------------------------------------- */

static struct pg_client *open_beside(struct pg_fixture *fixture)
{
    make_shedlock(fixture, "beside");
    return open_dialect(fixture, NULL, DIALECT_SHEDLOCK, "beside", NULL);
}

static void foreign_lock__slot_claimed__is_held_and_open_again(void **state)
{
    struct pg_client *client = open_beside(*state);
    const char *key = pg_fixture_key(*state);
    struct pg_contender one, two;
    assert_true(shedlock_locks(*state, "beside", key));
    pg_contender_init(&one, key);
    one.item.slot_us = now_wall_us();
    assert_int_equal(try(client, &one), CLAIM_HELD);
    assert_string_equal(one.item.other, "java-host");
    shedlock_unlocks(*state, "beside", key);
    pg_contender_init(&two, key);
    two.item.slot_us = one.item.slot_us;
    assert_int_equal(try(client, &two), CLAIM_WON);
    assert_true(two.item.fence > 0);
    assert_string_equal(two.item.abandoned, "");
}

static void foreign_lock__slot_that_is_given_up__is_recorded_as_skipped_once(void **state)
{
    struct pg_client *client = open_beside(*state);
    const char *key = pg_fixture_key(*state);
    struct pg_contender one, two;
    assert_true(shedlock_locks(*state, "beside", key));
    pg_contender_init(&one, key);
    one.item.slot_us = now_wall_us();
    one.item.is_skipping = true;
    two = one;
    assert_int_equal(try(client, &one), CLAIM_SKIPPED);
    assert_true(one.item.is_first_to_tell);
    pg_contender_init(&two, key);
    two.item.slot_us = one.item.slot_us;
    two.item.is_skipping = true;
    assert_int_not_equal(try(client, &two), CLAIM_WON);
    assert_false(two.item.verdict == CLAIM_SKIPPED && two.item.is_first_to_tell);
    shedlock_unlocks(*state, "beside", key);
    pg_contender_init(&two, key);
    two.item.slot_us = one.item.slot_us;
    assert_int_not_equal(try(client, &two), CLAIM_WON);
    assert_string_equal(pg_person(*state,
                                  "SELECT string_agg(outcome, ',') FROM runs "
                                  "WHERE key = '%s'",
                                  key),
                        "skipped");
}

struct loser {
    struct pg_client *client;
    const char *key;
};

static void lose_five_times(void *owner)
{
    struct loser *loser = owner;
    struct pg_contender one;
    for (int i = 0; i < 5; i++)
        assert_int_equal(claim(loser->client, loser->key, &one), CLAIM_HELD);
}

static void foreign_lock__plain_claims__write_nothing(void **state)
{
    struct loser loser = {.client = open_beside(*state), .key = pg_fixture_key(*state)};
    assert_true(shedlock_locks(*state, "beside", loser.key));
    lose_five_times(&loser);
    assert_int_equal(pg_fixture_cost(*state, lose_five_times, &loser).xids, 0);
}

static void store_of_our_own__beside_the_dialect__the_two_exclude_one_another(void **state)
{
    struct pg_client *client = open_beside(*state);
    struct pg_client *own = pg_client_open(*state, NULL, NULL);
    const char *key = pg_fixture_key(*state);
    struct pg_contender one, two;
    assert_int_equal(claim(own, key, &one), CLAIM_WON);
    assert_int_equal(claim(client, key, &two), CLAIM_HELD);
    assert_string_equal(two.item.other, one.holder);
    give_back(own, &one);
    assert_int_equal(claim(client, key, &two), CLAIM_WON);
    assert_true(two.item.fence > one.item.fence);
    assert_int_equal(claim(own, key, &one), CLAIM_HELD);
    assert_int_equal(pg_contender_renew(&two, client).verdict, RENEW_RENEWED);
    assert_false(shedlock_locks(*state, "beside", key));
}

static void given_back_by_the_guard_alone__hold__is_kept_in_both(void **state)
{
    struct pg_client *client = open_beside(*state);
    const char *key = pg_fixture_key(*state);
    struct pg_contender one;
    pg_contender_init(&one, key);
    one.item.hold_ms = 30000;
    assert_int_equal(try(client, &one), CLAIM_WON);
    one.item.hold_ms = 0; /* the guard does not know it */
    assert_int_equal(pg_contender_give_back(&one, client, STORE_FREE), RELEASE_RELEASED);
    assert_false(shedlock_locks(*state, "beside", key));
    assert_int_equal(status(client, key).state, LEASE_ON_HOLD);
    assert_int_equal(status(client, key).fence, one.item.fence);
}

static void row_taken_by_hand__renewal__is_lost_though_our_own_table_agrees(void **state)
{
    struct pg_client *client = open_beside(*state);
    const char *key = pg_fixture_key(*state);
    struct pg_contender one;
    assert_int_equal(claim(client, key, &one), CLAIM_WON);
    pg_person(*state, "UPDATE beside SET locked_by = 'java-host' WHERE name = '%s'", key);
    struct renew_item item = pg_contender_renew(&one, client);
    assert_int_equal(item.reason, LOST_TAKEN);
    assert_string_equal(item.other, "java-host");
}

#define CASE(case) cmocka_unit_test_teardown(case, close_dialects)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(foreign_lock__claim__is_held_until_it_is_given_back),
        CASE(our_lease__foreign_lock__is_refused_until_it_is_given_back),
        CASE(sessions_in_other_zones__the_two__exclude_one_another_all_the_same),
        CASE(reply_lost__next_attempt__wins_and_late_duplicates_do_not),
        CASE(ended_and_not_given_back__next_attempt_of_the_holder__wins),
        CASE(held_by_us__revoked__is_lost_and_free_once_given_back),
        CASE(held_by_a_foreign_program__revoked__is_left_alone),
        CASE(hold__released__keeps_the_foreign_program_out),
        CASE(claim_undone_without_an_answer__key__is_free),
        CASE(rows_without_an_end__claim__is_held_for_ever),
        CASE(one_row_locked__renewal_of_many__renews_the_others),
        CASE(many_of_ours_and_the_foreign_program__race__one_wins),
        CASE(foreign_lock__slot_claimed__is_held_and_open_again),
        CASE(foreign_lock__slot_that_is_given_up__is_recorded_as_skipped_once),
        CASE(foreign_lock__plain_claims__write_nothing),
        CASE(store_of_our_own__beside_the_dialect__the_two_exclude_one_another),
        CASE(given_back_by_the_guard_alone__hold__is_kept_in_both),
        CASE(row_taken_by_hand__renewal__is_lost_though_our_own_table_agrees),
    };
    return pg_fixture_run("pg_dialect", cases, CASE_COUNT(cases));
}
