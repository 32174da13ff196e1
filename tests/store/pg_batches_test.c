/* SPDX-License-Identifier: ISC */
/* Many leases on one connection, and somebody who has locked the row of one. */
#include "base/now.h"
#include "pg_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY    1000
#define SOON_MS 2500 /* far less than a second for each who waits */

static struct crowd {
    struct pg_contender each[MANY];
    char keys[MANY][64];
    struct store_request requests[MANY];
    struct renew_item renewals[MANY];
    struct release_item releases[MANY];
} crowd;

static void init_crowd(struct pg_fixture *fixture, int count)
{
    const char *base = pg_fixture_key(fixture);
    for (int i = 0; i < count; i++) {
        snprintf(crowd.keys[i], sizeof crowd.keys[i], "%.40s/%d", base, i);
        pg_contender_init(&crowd.each[i], crowd.keys[i]);
    }
}

static int64_t claim_all(struct pg_client *client, int count)
{
    int64_t before = now_boot_ms();
    for (int i = 0; i < count; i++)
        pg_contender_submit(&crowd.each[i], client);
    pg_fixture_settle(client->fixture);
    return now_boot_ms() - before;
}

static void renew_all(struct pg_client *client, int count)
{
    for (int i = 0; i < count; i++) {
        crowd.renewals[i] = (struct renew_item){.key = crowd.keys[i],
                                                .holder = crowd.each[i].holder,
                                                .fence = crowd.each[i].item.fence,
                                                .ttl_ms = 60000};
        crowd.requests[i] = (struct store_request){
            .kind = STORE_RENEW, .u.renew = {.items = &crowd.renewals[i], .count = 1}};
        pg_client_submit(client, &crowd.requests[i], 5000);
    }
    pg_fixture_settle(client->fixture);
}

static void release_all(struct pg_client *client, int count)
{
    for (int i = 0; i < count; i++) {
        crowd.releases[i] = (struct release_item){.key = crowd.keys[i],
                                                  .holder = crowd.each[i].holder,
                                                  .fence = crowd.each[i].item.fence,
                                                  .run_id = crowd.each[i].run_id,
                                                  .outcome = OUTCOME_SUCCEEDED};
        crowd.requests[i] = (struct store_request){
            .kind = STORE_RELEASE, .u.release = {.items = &crowd.releases[i], .count = 1}};
        pg_client_submit(client, &crowd.requests[i], 5000);
    }
    pg_fixture_settle(client->fixture);
}

static void lock_row(struct pg_fixture *fixture, const char *key)
{
    pg_person(fixture, "BEGIN");
    pg_person(fixture, "SELECT 1 FROM leases WHERE key = '%s' FOR UPDATE", key);
}

static bool has_won(const struct pg_contender *one)
{
    return one->request.outcome == STORE_ANSWERED && one->item.verdict == CLAIM_WON;
}

static void expect_all_but(int locked, int count)
{
    for (int i = 0; i < count; i++)
        if (has_won(&crowd.each[i]) != (i != locked))
            fail_msg("%s: %s", crowd.keys[i], crowd.each[i].request.error.text);
}

/* ---- cases --------------------------------------------------------------------------------- */

static void one_row_locked__a_thousand_claims__the_others_win_soon(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    init_crowd(fixture, MANY);
    claim_all(client, MANY);
    expect_all_but(-1, MANY);
    release_all(client, MANY);
    for (int i = 0; i < MANY; i++)
        pg_contender_init(&crowd.each[i], crowd.keys[i]);
    lock_row(fixture, crowd.keys[123]);
    int64_t took_ms = claim_all(client, MANY);
    pg_person(fixture, "COMMIT");
    expect_all_but(123, MANY);
    assert_in_range(took_ms, 0, SOON_MS);
    assert_int_equal(crowd.each[123].item.verdict, CLAIM_RACED);
    assert_int_equal(client->lost_count, 0);
    assert_int_equal(pg_contender_claim(&crowd.each[123], client), CLAIM_WON);
}

/* A row that nobody sees yet cannot be left out: each claim is tried by itself. */
static void one_key_is_being_inserted__hundred_claims__the_others_win_soon(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    init_crowd(fixture, 100);
    pg_person(fixture, "BEGIN");
    pg_person(fixture,
              "INSERT INTO leases (key, holder, run_id, fence, attempt, acquired_at, expires_at, "
              "released, revoked, ttl_ms) VALUES ('%s', 'p', 'p', 1, 1, now(), now(), true, false, "
              "1)",
              crowd.keys[50]);
    int64_t took_ms = claim_all(client, 100);
    pg_person(fixture, "ROLLBACK");
    expect_all_but(50, 100);
    assert_in_range(took_ms, 0, SOON_MS);
    assert_int_equal(crowd.each[50].request.failure, FAILURE_CONFLICT);
    assert_string_equal(crowd.each[50].request.error.sqlstate, "55P03");
}

static void one_row_locked__fifty_renewals__the_others_are_renewed(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    init_crowd(fixture, 50);
    claim_all(client, 50);
    lock_row(fixture, crowd.keys[20]);
    renew_all(client, 50);
    pg_person(fixture, "COMMIT");
    for (int i = 0; i < 50; i++)
        assert_int_equal(crowd.renewals[i].verdict, i == 20 ? RENEW_LOCKED : RENEW_RENEWED);
}

static void one_row_locked__fifty_releases__the_others_are_released(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    init_crowd(fixture, 50);
    claim_all(client, 50);
    lock_row(fixture, crowd.keys[20]);
    release_all(client, 50);
    pg_person(fixture, "COMMIT");
    for (int i = 0; i < 50; i++) {
        if (i == 20)
            continue;
        assert_int_equal(crowd.requests[i].outcome, STORE_ANSWERED);
        assert_int_equal(crowd.releases[i].verdict, RELEASE_RELEASED);
        assert_true(crowd.releases[i].is_recorded);
    }
    assert_int_equal(crowd.requests[20].failure, FAILURE_CONFLICT);
}

static void lose_all(void *client)
{
    for (int i = 0; i < 100; i++)
        pg_contender_init(&crowd.each[i], crowd.keys[i]);
    claim_all(client, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(crowd.each[i].item.verdict, CLAIM_HELD);
}

static void batch__losing_to_live_leases__no_wal_and_no_xid(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    init_crowd(fixture, 100);
    claim_all(client, 100);
    struct pg_cost cost = pg_fixture_cost(fixture, lose_all, client);
    assert_int_equal(cost.xids, 0);
    assert_in_range(cost.wal_bytes, 0, 2000); /* the server's own; each loser would add 96 */
}

/* ---- prepared ------------------------------------------------------------------------------- */

static void claim_and_release_all(struct pg_client *client, int count)
{
    for (int i = 0; i < count; i++)
        pg_contender_init(&crowd.each[i], crowd.keys[i]);
    claim_all(client, count);
    expect_all_but(-1, count);
    release_all(client, count);
    for (int i = 0; i < count; i++)
        assert_true(crowd.releases[i].is_recorded);
}

/* Runs within the session that claims. */
static void at_each_claim(struct pg_fixture *fixture, const char *act)
{
    pg_person(fixture, "CREATE TABLE seen (name text)");
    pg_person(fixture,
              "CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT "
              "AS $$BEGIN %s; RETURN NULL; END$$",
              act);
    pg_person(fixture, "CREATE TRIGGER act AFTER INSERT ON leases EXECUTE FUNCTION act()");
}

static void leave_claims_alone(struct pg_fixture *fixture)
{
    pg_person(fixture, "DROP FUNCTION act CASCADE");
    pg_person(fixture, "DROP TABLE seen");
}

static void batch_after_batch__on_one_connection__is_prepared(void **state)
{
    struct pg_fixture *fixture = *state;
    init_crowd(fixture, 50);
    at_each_claim(fixture, "INSERT INTO seen SELECT name FROM pg_prepared_statements");
    struct pg_client *client = pg_client_open(fixture, NULL, NULL);
    for (int round = 0; round < 2; round++)
        claim_and_release_all(client, 50);
    assert_int_equal(pg_person_number(fixture, "SELECT count(*) FROM seen"), 0);
    for (int round = 0; round < 40; round++)
        claim_and_release_all(client, 50);
    assert_int_equal(pg_person_number(fixture, "SELECT count(DISTINCT name) FROM seen"), 2);
    assert_int_equal(
        pg_person_number(fixture, "SELECT count(*) FROM seen WHERE name NOT LIKE 'leaserun_%'"), 0);
    leave_claims_alone(fixture);
}

static void prepared_batches__somebody_deallocates_all__nothing_is_lost(void **state)
{
    struct pg_fixture *fixture = *state;
    init_crowd(fixture, 50);
    struct pg_client *client = pg_client_open(fixture, NULL, NULL);
    for (int round = 0; round < 5; round++)
        claim_and_release_all(client, 50);
    at_each_claim(fixture, "DEALLOCATE ALL");
    for (int round = 0; round < 3; round++)
        claim_and_release_all(client, 50);
    leave_claims_alone(fixture);
    assert_int_equal(client->lost_count, 0);
}

static void prepared_batches__tables_are_altered__nothing_is_lost(void **state)
{
    struct pg_fixture *fixture = *state;
    init_crowd(fixture, 50);
    struct pg_client *client = pg_client_open(fixture, NULL, NULL);
    for (int round = 0; round < 10; round++)
        claim_and_release_all(client, 50);
    pg_person(fixture, "ALTER TABLE leases ADD COLUMN note text");
    pg_person(fixture, "ALTER TABLE runs ADD COLUMN note text");
    for (int round = 0; round < 3; round++)
        claim_and_release_all(client, 50);
    pg_person(fixture, "ALTER TABLE leases DROP COLUMN note");
    pg_person(fixture, "ALTER TABLE runs DROP COLUMN note");
    claim_and_release_all(client, 50);
    assert_int_equal(client->lost_count, 0);
}

/* Runs of two hundred thousand keys, of which no statistics were made: the plan would show it. */
static void fill_runs(struct pg_fixture *fixture)
{
    pg_person(fixture, "ALTER TABLE runs SET (autovacuum_enabled = off)");
    pg_person(fixture,
              "INSERT INTO runs (run_id, key, is_once, fence, holder, attempt, started_at, "
              "finished_at, outcome) SELECT 'run' || n, 'key' || n, false, 1, 'p', 1, "
              "now(), now(), 'succeeded' FROM generate_series(1, 200000) AS n");
}

/* What a session has read is told when it ends. */
static int64_t count_rows_read(struct pg_fixture *fixture, int64_t *ret_by_index)
{
    *ret_by_index = pg_person_number(
        fixture, "SELECT idx_scan FROM pg_stat_user_tables WHERE relid = 'runs'::regclass");
    return pg_person_number(
        fixture, "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = 'runs'::regclass");
}

static void many_runs_without_statistics__batches__find_theirs_by_index(void **state)
{
    struct pg_fixture *fixture = *state;
    static struct crowd winners;
    int64_t by_index_before, by_index;
    init_crowd(fixture, 100);
    fill_runs(fixture);
    struct pg_client *client = pg_client_open(fixture, NULL, NULL);
    int64_t before = count_rows_read(fixture, &by_index_before);
    for (int round = 0; round < 12; round++) { /* the server tries five plans before it keeps one */
        claim_and_release_all(client, 100);
        for (int i = 0; i < 100; i++)
            pg_contender_init(&crowd.each[i], crowd.keys[i]);
        claim_all(client, 100);
        winners = crowd;
        lose_all(client);
        crowd = winners;
        renew_all(client, 100);
        release_all(client, 100);
    }
    store_close(client->store, NULL, NULL);
    fixture->client_count--;
    int64_t after = count_rows_read(fixture, &by_index);
    for (; by_index == by_index_before; after = count_rows_read(fixture, &by_index))
        pg_fixture_turn_ms(fixture, 20);
    assert_int_equal(after - before, 0);
    pg_person(fixture, "DELETE FROM runs WHERE holder = 'p'");
}

/* ---- undone while the claim is under way ---------------------------------------------------- */

static void undo(struct pg_client *client, struct store_request *request,
                 struct release_item *ret_item, const struct pg_contender *one)
{
    *ret_item = (struct release_item){
        .key = one->item.key, .holder = one->holder, .run_id = one->run_id, .status = -1};
    *request =
        (struct store_request){.kind = STORE_UNDO, .u.release = {.items = ret_item, .count = 1}};
    pg_client_submit(client, request, 5000);
}

static void wait_for_lock(struct pg_fixture *fixture)
{
    while (pg_person_number(fixture, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
        pg_fixture_turn_ms(fixture, 5);
}

/* By each form of the statement. */
static void claim_waits_for_the_row__undone_meanwhile__wins_nothing(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_client *other = pg_client_open(fixture, NULL, NULL);
    for (int form = 0; form < 3; form++) {
        struct pg_contender before, late;
        struct store_request request;
        struct release_item undone;
        pg_contender_init(&before, pg_fixture_key(fixture));
        assert_int_equal(pg_contender_claim(&before, client), CLAIM_WON);
        pg_contender_give_back(&before, client, STORE_RELEASE);
        pg_contender_init(&late, before.item.key);
        late.item.is_once = form == 1;
        late.item.slot_us = form == 2 ? now_wall_us() : NO_INSTANT;
        lock_row(fixture, late.item.key);
        pg_contender_submit(&late, client);
        wait_for_lock(fixture);
        undo(other, &request, &undone, &late);
        while (other->open_calls > 0)
            pg_fixture_turn_ms(fixture, 1);
        assert_int_equal(request.outcome, STORE_ANSWERED);
        assert_true(undone.is_recorded);
        pg_person(fixture, "COMMIT");
        pg_fixture_settle(fixture);
        assert_false(has_won(&late));
        assert_string_equal(
            pg_person(fixture, "SELECT released FROM leases WHERE key = '%s'", late.item.key), "t");
    }
    store_close(fixture->clients[--fixture->client_count].store, NULL, NULL);
    pg_fixture_turn_ms(fixture, 1);
}

/* The person does what a claim does, slowly. */
static void undo_waits_for_the_claim__committed_meanwhile__the_key_is_free(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *client = &fixture->clients[0];
    struct pg_contender before, slow;
    struct store_request request;
    struct release_item undone;
    pg_contender_init(&before, pg_fixture_key(fixture));
    assert_int_equal(pg_contender_claim(&before, client), CLAIM_WON);
    pg_contender_give_back(&before, client, STORE_RELEASE);
    pg_contender_init(&slow, before.item.key);
    pg_person(fixture, "BEGIN");
    pg_person(
        fixture,
        "UPDATE leases SET holder = '%s', run_id = '%s', fence = fence + 1, released = false, "
        "expires_at = now() + interval '1 hour' WHERE key = '%s'",
        slow.holder, slow.run_id, slow.item.key);
    pg_person(fixture,
              "INSERT INTO runs (run_id, key, is_once, fence, holder, attempt, started_at) "
              "VALUES ('%s', '%s', false, 1, '%s', 1, now())",
              slow.run_id, slow.item.key, slow.holder);
    undo(client, &request, &undone, &slow);
    wait_for_lock(fixture);
    pg_person(fixture, "COMMIT");
    pg_fixture_settle(fixture);
    assert_int_equal(undone.verdict, RELEASE_RELEASED);
    assert_true(undone.is_recorded);
    pg_contender_init(&before, slow.item.key);
    assert_int_equal(pg_contender_claim(&before, client), CLAIM_WON);
    assert_string_equal(before.item.abandoned, "");
}

/* ---- replicas ------------------------------------------------------------------------------ */

#define REPLICAS 3
#define SLOTS    60

/* Each claims the same slots at the same time; one of them gives a slot up when it finds the key
 * held, as overlap = skip does. However that goes, a slot has one story. */
static void replicas_claim_the_same_slots__each_slot_has_one_story(void **state)
{
    struct pg_fixture *fixture = *state;
    struct pg_client *clients[REPLICAS];
    init_crowd(fixture, REPLICAS * SLOTS);
    for (int r = 0; r < REPLICAS; r++)
        clients[r] = r == 0 ? &fixture->clients[0] : pg_client_open(fixture, NULL, NULL);
    for (int round = 0; round < 20; round++) {
        int64_t slot_us = now_wall_us() / 1000 * 1000 - round;
        for (int i = 0; i < REPLICAS * SLOTS; i++) {
            struct pg_contender *one = &crowd.each[i];
            pg_contender_init(one, crowd.keys[i % SLOTS]);
            one->item.slot_us = slot_us;
            one->item.is_skipping = i % 2 == 0;
            pg_contender_submit(one, clients[i / SLOTS]);
        }
        pg_fixture_settle(fixture);
        for (int s = 0; s < SLOTS; s++) {
            int winners = 0;
            for (int r = 0; r < REPLICAS; r++) {
                struct pg_contender *one = &crowd.each[r * SLOTS + s];
                winners += has_won(one);
                if (has_won(one))
                    pg_contender_give_back(one, clients[r], STORE_RELEASE);
            }
            assert_true(winners <= 1);
        }
    }
    assert_int_equal(pg_person_number(fixture, "SELECT count(*) FROM (SELECT FROM runs WHERE slot "
                                               "IS NOT NULL GROUP BY key, slot "
                                               "HAVING count(*) > 1) AS twice"),
                     0);
    while (fixture->client_count > 1)
        store_close(fixture->clients[--fixture->client_count].store, NULL, NULL);
    pg_fixture_turn_ms(fixture, 1);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(one_row_locked__a_thousand_claims__the_others_win_soon),
        cmocka_unit_test(one_key_is_being_inserted__hundred_claims__the_others_win_soon),
        cmocka_unit_test(one_row_locked__fifty_renewals__the_others_are_renewed),
        cmocka_unit_test(one_row_locked__fifty_releases__the_others_are_released),
        cmocka_unit_test(batch__losing_to_live_leases__no_wal_and_no_xid),
        cmocka_unit_test(batch_after_batch__on_one_connection__is_prepared),
        cmocka_unit_test(prepared_batches__somebody_deallocates_all__nothing_is_lost),
        cmocka_unit_test(prepared_batches__tables_are_altered__nothing_is_lost),
        cmocka_unit_test(many_runs_without_statistics__batches__find_theirs_by_index),
        cmocka_unit_test(claim_waits_for_the_row__undone_meanwhile__wins_nothing),
        cmocka_unit_test(undo_waits_for_the_claim__committed_meanwhile__the_key_is_free),
        cmocka_unit_test(replicas_claim_the_same_slots__each_slot_has_one_story),
    };
    return pg_fixture_run("postgresql batches", cases, CASE_COUNT(cases));
}
