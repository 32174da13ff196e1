/* SPDX-License-Identifier: ISC */
#include "pg_fixture.h"

#include "base/mem.h"
#include "base/program.h"
#include "loop/alarm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_MS 10000

/* In the place of base/program.c's, which looks beside the running binary. */
bool program_folder(char *ret_path, size_t room, struct error *err)
{
    snprintf(ret_path, room, "%s", MODULE_FOLDER);
    return true;
}

/* ---- URLs -------------------------------------------------------------------------------- */

const char *pg_fixture_url(void)
{
    return getenv("LEASERUN_TEST_PG");
}

char *pg_fixture_url_with(const char *parameters)
{
    const char *url = pg_fixture_url();
    return mem_printf("%s%c%s", url, strchr(url, '?') == NULL ? '?' : '&', parameters);
}

char *pg_fixture_url_as(const char *user, const char *database, const char *parameters)
{
    PGconn *conn = PQconnectdb(pg_fixture_url());
    char *url = mem_printf("host=%s port=%s user=%s dbname=%s %s", PQhost(conn), PQport(conn), user,
                           database, parameters);
    PQfinish(conn);
    return url;
}

/* ---- stores ------------------------------------------------------------------------------ */

static void on_lost(void *owner, const struct error *why)
{
    struct pg_client *client = owner;
    client->lost_count++;
    client->last_lost = *why;
}

static void on_restored(void *owner)
{
    struct pg_client *client = owner;
    client->restored_count++;
    uv_stop(&client->fixture->loop);
}

static void on_note(void *owner, bool is_grave, const char *text)
{
    struct pg_client *client = owner;
    client->note_count++;
}

static void on_released(void *owner, const char *key)
{
    struct pg_client *client = owner;
    client->released_count++;
    snprintf(client->last_released, sizeof client->last_released, "%s", key);
    uv_stop(&client->fixture->loop);
}

struct pg_client *pg_client_open_config(struct pg_fixture *fixture,
                                        const struct store_config *config)
{
    assert_true(fixture->client_count < PG_CLIENTS_MAX);
    struct pg_client *client = &fixture->clients[fixture->client_count++];
    const struct store_listener listener = {
        .lost = on_lost,
        .restored = on_restored,
        .note = on_note,
        .released = on_released,
        .owner = client,
    };
    struct error err;
    *client = (struct pg_client){.fixture = fixture};
    if (!store_open(&fixture->loop, config, &listener, &client->store, &err))
        fail_msg("%s", err.text);
    return client;
}

struct pg_client *pg_client_open(struct pg_fixture *fixture, const char *url, const char *schema)
{
    struct store_config config = {
        .url = mem_strdup(url == NULL ? pg_fixture_url() : url),
        .schema = mem_strdup(schema == NULL ? fixture->schema : schema),
    };
    struct pg_client *client = pg_client_open_config(fixture, &config);
    free(config.url);
    free(config.schema);
    return client;
}

static void on_done(struct store_request *request)
{
    struct pg_client *client = request->owner;
    client->open_calls--;
    uv_stop(&client->fixture->loop); /* or a turn that rang a timer goes on to wait for sockets */
}

void pg_client_submit(struct pg_client *client, struct store_request *request, int64_t limit_ms)
{
    request->limit_ms = limit_ms;
    request->owner = client;
    request->done = on_done;
    client->open_calls++;
    store_submit(client->store, request);
}

static int count_open(const struct pg_fixture *fixture)
{
    int count = 0;
    for (int i = 0; i < fixture->client_count; i++)
        count += fixture->clients[i].open_calls;
    return count;
}

void pg_fixture_settle(struct pg_fixture *fixture)
{
    while (count_open(fixture) > 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
}

enum store_outcome pg_client_ask(struct pg_client *client, struct store_request *request)
{
    pg_client_submit(client, request, LIMIT_MS);
    while (client->open_calls > 0)
        uv_run(&client->fixture->loop, UV_RUN_ONCE);
    return request->outcome;
}

static void on_alarm(struct alarm *alarm)
{
    uv_stop(alarm->timer.loop);
}

void pg_fixture_turn_ms(struct pg_fixture *fixture, int64_t ms)
{
    struct handles handles = {.closing_count = 0};
    struct alarm alarm;
    alarm_init(&alarm, &fixture->loop, on_alarm);
    alarm_set_in(&alarm, ms);
    while (alarm.is_set)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    alarm_close(&alarm, &handles);
    while (handles.closing_count > 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
}

/* ---- a person ---------------------------------------------------------------------------- */

static void ignore_notice(void *owner, const PGresult *result)
{
}

const char *pg_person(struct pg_fixture *fixture, const char *format, ...)
{
    static PGresult *result;
    char sql[16384];
    va_list args;
    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    PQclear(result);
    result = PQexec(fixture->person, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQresultErrorMessage(result));
    return PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
}

void pg_person_grant(struct pg_fixture *fixture, const char *role)
{
    struct error err;
    char *url = mem_strdup(pg_fixture_url()), *schema = mem_strdup(fixture->schema), *sql;
    const struct store_config config = {.url = url, .schema = schema};
    if (!store_print_sql(&config, &sql, &err))
        fail_msg("%s", err.text);
    for (char *line, *rest = sql; (line = strsep(&rest, "\n")) != NULL;) {
        char *end = strstr(line, "app_role;");
        if (strncmp(line, "-- GRANT ", 9) == 0 && end != NULL)
            pg_person(fixture, "%.*s%s", (int)(end - line - 3), line + 3, role);
    }
    free(sql);
    free(url);
    free(schema);
}

int64_t pg_person_number(struct pg_fixture *fixture, const char *sql)
{
    return strtoll(pg_person(fixture, "%s", sql), NULL, 10);
}

static struct pg_cost written_so_far(struct pg_fixture *fixture)
{
    return (struct pg_cost){
        .xids = pg_person_number(fixture, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"),
        .wal_bytes = pg_person_number(fixture, "SELECT pg_current_wal_insert_lsn() - '0/0'"),
    };
}

struct pg_cost pg_fixture_cost(struct pg_fixture *fixture, void (*act)(void *owner), void *owner)
{
    struct pg_cost least = {.xids = INT64_MAX, .wal_bytes = INT64_MAX};
    for (int i = 0; i < 8 && least.xids > 0; i++) {
        struct pg_cost before = written_so_far(fixture);
        act(owner);
        struct pg_cost after = written_so_far(fixture);
        if (after.xids - before.xids < least.xids)
            least.xids = after.xids - before.xids;
        if (after.wal_bytes - before.wal_bytes < least.wal_bytes)
            least.wal_bytes = after.wal_bytes - before.wal_bytes;
    }
    return least;
}

/* ---- its life ---------------------------------------------------------------------------- */

int pg_fixture_open(void **state)
{
    struct pg_fixture *fixture = mem_alloc(sizeof *fixture);
    uv_loop_init(&fixture->loop);
    snprintf(fixture->schema, sizeof fixture->schema, "pg \"test\" %d", (int)getpid());
    fixture->person = PQconnectdb(pg_fixture_url());
    if (PQstatus(fixture->person) != CONNECTION_OK)
        return -1;
    PQsetNoticeReceiver(fixture->person, ignore_notice, NULL);
    char *quoted = PQescapeIdentifier(fixture->person, fixture->schema, strlen(fixture->schema));
    pg_person(fixture, "SET search_path = %s", quoted);
    PQfreemem(quoted);
    struct store_request request = {.kind = STORE_INIT};
    enum store_outcome outcome = pg_client_ask(pg_client_open(fixture, NULL, NULL), &request);
    *state = fixture;
    return outcome == STORE_ANSWERED && request.u.init.is_created ? 0 : -1;
}

int pg_fixture_close(void **state)
{
    struct pg_fixture *fixture = *state;
    for (int i = 0; i < fixture->client_count; i++)
        store_close(fixture->clients[i].store, NULL, NULL);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&fixture->loop);
    char *quoted = PQescapeIdentifier(fixture->person, fixture->schema, strlen(fixture->schema));
    pg_person(fixture, "DROP SCHEMA %s CASCADE", quoted);
    PQfreemem(quoted);
    PQfinish(fixture->person);
    free(fixture);
    return left;
}

int pg_fixture_run(const char *name, const struct CMUnitTest *cases, size_t count)
{
    if (pg_fixture_url() == NULL)
        return 77;
    return _cmocka_run_group_tests(name, cases, count, pg_fixture_open, pg_fixture_close);
}

/* ---- contenders -------------------------------------------------------------------------- */

const char *pg_fixture_key(struct pg_fixture *fixture)
{
    static char keys[64][32];
    char *key = keys[fixture->key_count++ % 64];
    snprintf(key, sizeof keys[0], "key %d", fixture->key_count);
    return key;
}

void pg_contender_init(struct pg_contender *contender, const char *key)
{
    memset(contender, 0, sizeof *contender);
    identity_holder(contender->holder);
    identity_run_id(contender->run_id);
    contender->item = (struct claim_item){
        .key = key,
        .holder = contender->holder,
        .run_id = contender->run_id,
        .attempt = 1,
        .ttl_ms = 60000,
        .limit_ms = LIMIT_MS,
        .slot_us = NO_INSTANT,
        .start_within_ms = -1,
    };
}

void pg_contender_submit(struct pg_contender *contender, struct pg_client *client)
{
    contender->request = (struct store_request){
        .kind = STORE_CLAIM,
        .u.claim = {.items = &contender->item, .count = 1},
    };
    pg_client_submit(client, &contender->request, LIMIT_MS);
}

enum claim_verdict pg_contender_claim(struct pg_contender *contender, struct pg_client *client)
{
    for (;;) {
        pg_contender_submit(contender, client);
        while (client->open_calls > 0)
            uv_run(&client->fixture->loop, UV_RUN_ONCE);
        if (contender->request.outcome == STORE_FAILED &&
            contender->request.failure != FAILURE_CONFLICT)
            fail_msg("%s", contender->request.error.text);
        if (contender->request.outcome == STORE_ANSWERED && contender->item.verdict != CLAIM_RACED)
            return contender->item.verdict;
        contender->item.attempt++;
    }
}

enum release_verdict pg_contender_give_back(struct pg_contender *contender,
                                            struct pg_client *client, enum store_kind kind)
{
    struct release_item item = {
        .key = contender->item.key,
        .holder = contender->holder,
        .fence = contender->item.fence,
        .run_id = contender->run_id,
        .outcome = kind == STORE_RELEASE ? OUTCOME_SUCCEEDED : OUTCOME_NONE,
        .status = kind == STORE_RELEASE ? 0 : -1,
        .hold_ms = contender->item.hold_ms,
    };
    struct store_request request = {.kind = kind, .u.release = {.items = &item, .count = 1}};
    if (pg_client_ask(client, &request) != STORE_ANSWERED)
        fail_msg("%s", request.error.text);
    return item.verdict;
}

struct renew_item pg_contender_renew(struct pg_contender *contender, struct pg_client *client)
{
    struct renew_item item = {
        .key = contender->item.key,
        .holder = contender->holder,
        .fence = contender->item.fence,
        .ttl_ms = contender->item.ttl_ms,
    };
    struct store_request request = {.kind = STORE_RENEW, .u.renew = {.items = &item, .count = 1}};
    if (pg_client_ask(client, &request) != STORE_ANSWERED)
        fail_msg("%s", request.error.text);
    return item;
}
