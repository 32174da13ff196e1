/* SPDX-License-Identifier: ISC */
/* What the rows, the WAL and the server's clock show. */
#include "base/mem.h"
#include "pg_fixture.h"

#include <stdlib.h>
#include <string.h>

#define RACERS 20

static int count_winners(struct pg_contender *racers, struct pg_client **clients)
{
    int winners = 0;
    for (int i = 0; i < RACERS; i++)
        pg_contender_submit(&racers[i], clients[i]);
    pg_fixture_settle(clients[0]->fixture);
    for (int i = 0; i < RACERS; i++) {
        const struct store_request *request = &racers[i].request;
        if (request->outcome == STORE_FAILED && request->failure != FAILURE_CONFLICT)
            fail_msg("%s", request->error.text);
        winners += request->outcome == STORE_ANSWERED && racers[i].item.verdict == CLAIM_WON;
    }
    return winners;
}

static void close_clients(struct pg_fixture *fixture, int keep)
{
    while (fixture->client_count > keep)
        store_close(fixture->clients[--fixture->client_count].store, NULL, NULL);
    pg_fixture_turn_ms(fixture, 1);
}

/* Twenty claim at once, again and again: one wins, whatever they find: no row, a released one. */
static void race(struct pg_fixture *fixture, const char *url)
{
    const char *key = pg_fixture_key(fixture);
    struct pg_client *clients[RACERS];
    static struct pg_contender racers[RACERS];
    int keep = fixture->client_count;
    int64_t last_fence = 0;
    for (int i = 0; i < RACERS; i++)
        clients[i] = pg_client_open(fixture, url, NULL);
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < RACERS; i++)
            pg_contender_init(&racers[i], key);
        int winners = count_winners(racers, clients);
        assert_true(winners <= 1);
        if (winners == 0) /* all of them met one another at serializable */
            assert_int_equal(pg_contender_claim(&racers[0], clients[0]), CLAIM_WON);
        for (int i = 0; i < RACERS; i++) {
            if (racers[i].item.verdict != CLAIM_WON || racers[i].item.fence == 0)
                continue;
            assert_true(racers[i].item.fence > last_fence);
            last_fence = racers[i].item.fence;
            assert_int_equal(pg_contender_give_back(&racers[i], clients[i], STORE_RELEASE),
                             RELEASE_RELEASED);
        }
    }
    close_clients(fixture, keep);
}

static void twenty_race__read_committed__one_wins(void **state)
{
    race(*state, NULL);
}

static void twenty_race__serializable__one_wins(void **state)
{
    char *url = pg_fixture_url_with("options=-c%20default_transaction_isolation%3Dserializable");
    race(*state, url);
    free(url);
}

/* The same slot at once, with a first that has finished before the others come to their turn. */
static void twenty_race_for_a_slot__one_starts_it(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *clients[RACERS];
    static struct pg_contender racers[RACERS];
    int keep = fixture->client_count;
    for (int i = 0; i < RACERS; i++)
        clients[i] = pg_client_open(fixture, NULL, NULL);
    for (int round = 0; round < 20; round++) {
        const char *key = pg_fixture_key(fixture);
        int started = 0;
        for (int i = 0; i < RACERS; i++) {
            pg_contender_init(&racers[i], key);
            racers[i].item.slot_us = now_wall_us() / 1000000 * 1000000;
            pg_contender_submit(&racers[i], clients[i]);
        }
        for (int i = 0; i < RACERS; i++) {
            while (clients[i]->open_calls > 0)
                uv_run(&fixture->loop, UV_RUN_ONCE);
            if (racers[i].request.outcome != STORE_ANSWERED ||
                racers[i].item.verdict == CLAIM_RACED)
                pg_contender_claim(&racers[i], clients[i]);
            if (racers[i].item.verdict != CLAIM_WON)
                continue;
            started++;
            pg_contender_give_back(&racers[i], clients[i], STORE_RELEASE);
        }
        assert_int_equal(started, 1);
    }
    close_clients(fixture, keep);
}

struct losers {
    struct pg_client *client;
    const char *key;
    int count;
};

static void lose(void *owner)
{
    struct losers *losers = owner;
    for (int i = 0; i < losers->count; i++) {
        struct pg_contender loser;
        pg_contender_init(&loser, losers->key);
        assert_int_equal(pg_contender_claim(&loser, losers->client), CLAIM_HELD);
    }
}

static void held__two_hundred_lose__no_wal_and_no_xid(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender winner;
    pg_contender_init(&winner, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&winner, client), CLAIM_WON);
    struct losers losers = {.client = client, .key = winner.item.key, .count = 1};
    lose(&losers); /* sets hint bits */
    pg_person(fixture, "CHECKPOINT");
    losers.count = 200;
    struct pg_cost cost = pg_fixture_cost(fixture, lose, &losers);
    assert_int_equal(cost.xids, 0);
    assert_true(cost.wal_bytes < 200 * 4); /* a standby snapshot may fall into it */
}

static void on_hold__twenty_lose__no_xid(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = pg_client_open(fixture, NULL, NULL);
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    one.item.hold_ms = 600000;
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    pg_contender_give_back(&one, client, STORE_RELEASE);
    struct losers losers = {.client = client, .key = one.item.key, .count = 20};
    assert_int_equal(pg_fixture_cost(fixture, lose, &losers).xids, 0);
}

static void thousand_cycles__updates_of_leases_are_hot(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    const char *key = pg_fixture_key(fixture);
    /* Not few: the server extends a table by 20 pages for each who waits to extend it. */
    int64_t pages = pg_person_number(fixture, "SELECT pg_relation_size('leases') / 8192");
    pg_person(fixture, "SELECT pg_stat_force_next_flush()");
    pg_person(fixture, "SELECT pg_stat_reset_single_table_counters('leases'::regclass)");
    for (int i = 0; i < 1000; i++) {
        struct pg_contender one;
        pg_contender_init(&one, key);
        assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
        assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
        assert_int_equal(pg_contender_give_back(&one, client, STORE_RELEASE), RELEASE_RELEASED);
    }
    close_clients(fixture, 0); /* their counters are flushed when they leave */
    pg_fixture_turn_ms(fixture, 300);
    pg_client_open(fixture, NULL, NULL);
    int64_t updates = pg_person_number(
        fixture, "SELECT n_tup_upd FROM pg_stat_all_tables WHERE relid = 'leases'::regclass");
    int64_t hot = pg_person_number(
        fixture, "SELECT n_tup_hot_upd FROM pg_stat_all_tables WHERE relid = 'leases'::regclass");
    pages = pg_person_number(fixture, "SELECT pg_relation_size('leases') / 8192") - pages;
    print_message("# %d updates, %d HOT, %d pages more\n", (int)updates, (int)hot, (int)pages);
    assert_true(updates >= 2999);
    /* A snapshot that somebody else holds for a moment may fill a page. */
    assert_true(hot * 100 >= updates * 99);
    assert_true(pages <= 16);
}

/* A run whose release told no outcome is unfinished: the next claim closes it, short or not. */
static void released_without_outcome__next_claim__closes_the_run(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender one, next;
    pg_contender_init(&one, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    struct release_item item = {.key = one.item.key,
                                .holder = one.holder,
                                .fence = one.item.fence,
                                .run_id = one.run_id,
                                .status = -1};
    struct store_request request = {.kind = STORE_RELEASE,
                                    .u.release = {.items = &item, .count = 1}};
    assert_int_equal(pg_client_ask(client, &request), STORE_ANSWERED);
    assert_int_equal(item.verdict, RELEASE_RELEASED);
    assert_false(item.is_recorded);
    pg_contender_init(&next, one.item.key);
    assert_int_equal(pg_contender_claim(&next, client), CLAIM_WON);
    assert_string_equal(next.item.abandoned, one.run_id);
}

/* The server's clock was stepped back by an hour after the claim. */
static void clock_stepped_back__release__frees_the_key_and_its_hold(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender one, next;
    pg_contender_init(&one, pg_fixture_key(fixture));
    one.item.hold_ms = 30000;
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    pg_person(fixture,
              "UPDATE leases SET acquired_at = acquired_at + '1 hour', expires_at = expires_at + "
              "'1 hour', not_before = not_before + '1 hour' WHERE key = '%s'",
              one.item.key);
    pg_contender_init(&next, one.item.key);
    assert_int_equal(pg_contender_claim(&next, client), CLAIM_HELD);
    assert_true(next.item.wait_ms <= one.item.ttl_ms);
    assert_int_equal(pg_contender_renew(&one, client).verdict, RENEW_RENEWED);
    assert_int_equal(pg_contender_give_back(&one, client, STORE_RELEASE), RELEASE_RELEASED);
    assert_string_equal(pg_person(fixture,
                                  "SELECT expires_at >= acquired_at FROM leases WHERE key = '%s'",
                                  one.item.key),
                        "t");
    assert_int_equal(pg_contender_claim(&next, client), CLAIM_WON);
    assert_true(next.item.fence > one.item.fence);
}

static void clock_stepped_forward__renewal__says_expired(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender one, next;
    pg_contender_init(&one, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    pg_person(fixture,
              "UPDATE leases SET expires_at = clock_timestamp() - interval '1 s' "
              "WHERE key = '%s'",
              one.item.key);
    struct renew_item renewal = pg_contender_renew(&one, client);
    assert_int_equal(renewal.verdict, RENEW_LOST);
    assert_int_equal(renewal.reason, LOST_EXPIRED);
    pg_contender_init(&next, one.item.key);
    assert_int_equal(pg_contender_claim(&next, client), CLAIM_WON);
    assert_string_equal(next.item.abandoned, one.run_id);
    renewal = pg_contender_renew(&one, client);
    assert_int_equal(renewal.reason, LOST_TAKEN);
    assert_string_equal(renewal.other, next.holder);
}

static void one_of_three_rows_locked__renewal__renews_the_others(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender three[3];
    struct renew_item items[3];
    for (int i = 0; i < 3; i++) {
        pg_contender_init(&three[i], pg_fixture_key(fixture));
        assert_int_equal(pg_contender_claim(&three[i], client), CLAIM_WON);
        items[i] = (struct renew_item){
            .key = three[i].item.key,
            .holder = three[i].holder,
            .fence = three[i].item.fence,
            .ttl_ms = 60000,
        };
    }
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "SELECT 1 FROM leases WHERE key = '%s' FOR UPDATE", three[1].item.key);
    struct store_request request = {.kind = STORE_RENEW, .u.renew = {.items = items, .count = 3}};
    pg_client_submit(client, &request, 2000);
    pg_fixture_settle(fixture);
    pg_person(fixture, "COMMIT");
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_int_equal(items[0].verdict, RENEW_RENEWED);
    assert_int_equal(items[1].verdict, RENEW_LOCKED);
    assert_int_equal(items[2].verdict, RENEW_RENEWED);
    assert_int_equal(client->lost_count, 0);
}

/* A claim that waits on the row longer than the lease is long gets a whole lease, or none. */
static void locked_row__claim__fails_in_conflict_and_soon(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender one, next;
    pg_contender_init(&one, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    pg_contender_give_back(&one, client, STORE_RELEASE);
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "SELECT 1 FROM leases WHERE key = '%s' FOR UPDATE", one.item.key);
    pg_contender_init(&next, one.item.key);
    pg_contender_submit(&next, client);
    pg_fixture_settle(fixture);
    pg_person(fixture, "COMMIT");
    assert_int_equal(next.request.outcome, STORE_FAILED);
    assert_int_equal(next.request.failure, FAILURE_CONFLICT);
    assert_string_equal(next.request.error.sqlstate, "55P03");
    next.item.attempt++;
    assert_int_equal(pg_contender_claim(&next, client), CLAIM_WON);
}

/* Two claims wait for the row, one of them wins and gives back: the fence that the other drew
 * before it waited is old by then. By either statement: one key alone, and one that succeeds once.
 */
static void waits_for_the_row_while_the_fence_grows__claim__wins_with_a_greater_one(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    for (int form = 0; form < 2; form++) {
        struct pg_contender one, next;
        pg_contender_init(&one, pg_fixture_key(fixture));
        assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
        pg_contender_give_back(&one, client, STORE_RELEASE);
        pg_contender_init(&next, one.item.key);
        next.item.is_once = form == 1;
        pg_person(fixture, "BEGIN");
        pg_person(fixture, "UPDATE leases SET fence = fence + 1000 WHERE key = '%s'", one.item.key);
        pg_contender_submit(&next, client);
        while (pg_person_number(fixture, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
            pg_fixture_turn_ms(fixture, 5);
        pg_person(fixture, "COMMIT");
        pg_fixture_settle(fixture);
        assert_int_equal(next.request.outcome, STORE_ANSWERED);
        assert_int_equal(next.item.verdict, CLAIM_WON);
        assert_true(next.item.fence > one.item.fence + 1000);
    }
}

/* Purges without any retention beside claims and releases: no live lease is ever deleted. */
static void purge_beside_claims__no_live_lease_goes(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *worker = &fixture->clients[0];
    struct pg_client *purger = pg_client_open(fixture, NULL, NULL);
    const char *key = pg_fixture_key(fixture);
    int64_t purged = 0, last_fence = 0;
    for (int i = 0; i < 200; i++) {
        struct pg_contender one;
        struct store_request purge = {.kind = STORE_PURGE};
        pg_contender_init(&one, key);
        pg_client_submit(purger, &purge, 10000);
        assert_int_equal(pg_contender_claim(&one, worker), CLAIM_WON);
        assert_true(one.item.fence > last_fence);
        last_fence = one.item.fence;
        pg_fixture_settle(fixture);
        if (purge.outcome == STORE_FAILED)
            assert_int_equal(purge.failure, FAILURE_CONFLICT);
        purged += purge.u.purge.leases_deleted;
        purge = (struct store_request){.kind = STORE_PURGE};
        pg_client_submit(purger, &purge, 10000);
        assert_int_equal(pg_contender_renew(&one, worker).verdict, RENEW_RENEWED);
        pg_fixture_settle(fixture);
        assert_int_equal(pg_contender_give_back(&one, worker, STORE_RELEASE), RELEASE_RELEASED);
    }
    print_message("# %d leases purged in between\n", (int)purged);
    close_clients(fixture, 1);
}

/* A database, role or server whose commits do not wait: ours do. */
static void weak_commits_by_default__claim__raises_them_for_itself(void **state)
{
    struct pg_fixture *fixture = *state;
    char *url = pg_fixture_url_with("options=-c%20synchronous_commit%3Doff");
    struct pg_client *client = pg_client_open(fixture, url, NULL);
    struct pg_contender one;
    free(url);
    pg_contender_init(&one, pg_fixture_key(fixture));
    pg_person(fixture, "CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS "
                       "'BEGIN NEW.job := current_setting(''synchronous_commit''); "
                       "RETURN NEW; END'");
    pg_person(fixture, "CREATE TRIGGER note_commit BEFORE INSERT ON runs FOR EACH ROW EXECUTE "
                       "FUNCTION note_commit()");
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    assert_string_equal(pg_person(fixture, "SELECT job FROM runs WHERE run_id = '%s'", one.run_id),
                        "on");
    pg_person(fixture, "DROP TRIGGER note_commit ON runs");
    pg_person(fixture, "DROP FUNCTION note_commit()");
    close_clients(fixture, 1);
}

/* A server that stops waiting for its standby says so in a warning and then answers success. */
static void warning_before_the_answer__claim__is_in_doubt(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    pg_person(fixture, "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS "
                       "'BEGIN RAISE WARNING ''canceling wait for synchronous replication''; "
                       "RETURN NEW; END'");
    pg_person(fixture,
              "CREATE TRIGGER warn BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION warn()");
    pg_contender_submit(&one, client);
    pg_fixture_settle(fixture);
    pg_person(fixture, "DROP TRIGGER warn ON runs");
    pg_person(fixture, "DROP FUNCTION warn()");
    assert_int_equal(one.request.outcome, STORE_FAILED);
    assert_int_equal(one.request.failure, FAILURE_UNREACHABLE);
    one.item.attempt++;
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
}

/* At serializable a statement may deliver its rows and fail at the commit. */
static void rows_and_then_an_error__claim__has_failed(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender one;
    pg_contender_init(&one, pg_fixture_key(fixture));
    pg_person(fixture, "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
                       "'BEGIN RAISE EXCEPTION ''at commit'' USING ERRCODE = ''40001''; END'");
    pg_person(fixture, "CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON runs DEFERRABLE INITIALLY "
                       "DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()");
    pg_contender_submit(&one, client);
    pg_fixture_settle(fixture);
    pg_person(fixture, "DROP TRIGGER fail ON runs");
    pg_person(fixture, "DROP FUNCTION fail()");
    assert_int_equal(one.request.outcome, STORE_FAILED);
    assert_int_equal(one.request.failure, FAILURE_CONFLICT);
    assert_string_equal(one.request.error.sqlstate, "40001");
    assert_string_equal(
        pg_person(fixture, "SELECT count(*) FROM leases WHERE key = '%s'", one.item.key), "0");
}

/* Its outcome is written, and not committed, when the take-over looks. */
static void last_holder_is_just_ending__take_over__waits_and_does_not_win(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender one, two;
    pg_contender_init(&one, pg_fixture_key(fixture));
    one.item.slot_us = now_wall_us();
    one.item.is_rerun = true;
    assert_int_equal(pg_contender_claim(&one, client), CLAIM_WON);
    pg_contender_give_back(&one, client, STORE_FREE);
    pg_contender_init(&two, one.item.key);
    snprintf(two.run_id, sizeof two.run_id, "%s", one.run_id);
    two.item.interrupted_fence = one.item.fence;
    two.item.max_starts = 3;
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "UPDATE runs SET outcome = 'succeeded' WHERE run_id = '%s'", one.run_id);
    pg_contender_submit(&two, client);
    pg_fixture_turn_ms(fixture, 100);
    pg_person(fixture, "COMMIT");
    pg_fixture_settle(fixture);
    assert_int_equal(two.request.outcome, STORE_ANSWERED);
    assert_int_equal(two.item.verdict, CLAIM_RACED);
    assert_string_equal(
        pg_person(fixture, "SELECT released FROM leases WHERE key = '%s'", one.item.key), "t");
    assert_string_equal(
        pg_person(fixture, "SELECT outcome FROM runs WHERE run_id = '%s'", one.run_id),
        "succeeded");
    assert_int_equal(pg_contender_claim(&two, client), CLAIM_DONE);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(twenty_race__read_committed__one_wins),
        cmocka_unit_test(twenty_race__serializable__one_wins),
        cmocka_unit_test(twenty_race_for_a_slot__one_starts_it),
        cmocka_unit_test(held__two_hundred_lose__no_wal_and_no_xid),
        cmocka_unit_test(on_hold__twenty_lose__no_xid),
        cmocka_unit_test(thousand_cycles__updates_of_leases_are_hot),
        cmocka_unit_test(released_without_outcome__next_claim__closes_the_run),
        cmocka_unit_test(clock_stepped_back__release__frees_the_key_and_its_hold),
        cmocka_unit_test(clock_stepped_forward__renewal__says_expired),
        cmocka_unit_test(one_of_three_rows_locked__renewal__renews_the_others),
        cmocka_unit_test(locked_row__claim__fails_in_conflict_and_soon),
        cmocka_unit_test(waits_for_the_row_while_the_fence_grows__claim__wins_with_a_greater_one),
        cmocka_unit_test(purge_beside_claims__no_live_lease_goes),
        cmocka_unit_test(weak_commits_by_default__claim__raises_them_for_itself),
        cmocka_unit_test(warning_before_the_answer__claim__is_in_doubt),
        cmocka_unit_test(rows_and_then_an_error__claim__has_failed),
        cmocka_unit_test(last_holder_is_just_ending__take_over__waits_and_does_not_win),
    };
    return pg_fixture_run("postgresql leases", cases, CASE_COUNT(cases));
}
