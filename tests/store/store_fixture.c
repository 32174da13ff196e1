/* SPDX-License-Identifier: ISC */
#include "store_fixture.h"

#include "base/mem.h"
#include "base/program.h"
#include "foreign_table.h"
#include "loop/alarm.h"

#include <dirent.h>
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

/* ---- which store ------------------------------------------------------------------------- */

static void choose_sqlite(struct store_fixture *fixture)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(fixture->folder, sizeof fixture->folder, "%.40s/contract.XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(fixture->folder) == NULL)
        abort();
    fixture->url = mem_printf("sqlite:%s/store.db", fixture->folder);
}

/* In the words of TAP, whose readers take any other status for a failure. */
static const char *server_url(void)
{
    const char *url = getenv("LEASERUN_TEST_PG");
    if (url != NULL)
        return url;
    puts("1..0 # SKIP LEASERUN_TEST_PG names no PostgreSQL server");
    exit(0);
}

/* Leases in the table of another program, runs, slots and fences in our own. */
static bool choose_dialect(struct store_fixture *fixture, const char *name)
{
    static char table[96], columns[] = FOREIGN_TABLE_COLUMNS;
    bool is_fenceless = strcmp(name, "fenceless") == 0;
    if (!is_fenceless && strcmp(name, "shedlock") != 0)
        return false;
    fixture->url = mem_strdup(server_url());
    snprintf(fixture->foreign_schema, sizeof fixture->foreign_schema, "others_%d", (int)getpid());
    snprintf(table, sizeof table, "%s.%s", fixture->foreign_schema,
             is_fenceless ? FOREIGN_TABLE_NAME : "shedlock");
    fixture->config.dialect = is_fenceless ? DIALECT_FENCELESS : DIALECT_SHEDLOCK;
    fixture->config.table = table;
    fixture->config.columns = is_fenceless ? columns : NULL;
    foreign_table_create(fixture->url, fixture->foreign_schema, name);
    return true;
}

static void choose(struct store_fixture *fixture)
{
    const char *named = getenv("LEASERUN_TEST_STORE");
    fixture->schema = mem_printf("contract_%d", (int)getpid());
    if (named == NULL || strcmp(named, "sqlite") == 0 || strcmp(named, "sqlite:") == 0)
        choose_sqlite(fixture);
    else if (strcmp(named, "postgresql") == 0)
        fixture->url = mem_strdup(server_url());
    else if (!choose_dialect(fixture, named))
        fixture->url = mem_strdup(named);
    fixture->config.url = fixture->url;
    fixture->config.schema = fixture->schema;
}

static void on_note(void *owner, bool is_grave, const char *text)
{
    struct store_fixture *fixture = owner;
    fixture->note_count++;
    fprintf(stderr, "# note: %s\n", text);
}

static int open_store(void **state)
{
    struct store_fixture *fixture = mem_alloc(sizeof *fixture);
    struct error err;
    *state = fixture;
    choose(fixture);
    uv_loop_init(&fixture->loop);
    const struct store_listener listener = {.note = on_note, .owner = fixture};
    if (!store_open(&fixture->loop, &fixture->config, &listener, &fixture->store, &err)) {
        fprintf(stderr, "# %s\n", err.text);
        return -1;
    }
    struct store_request request = {.kind = STORE_INIT};
    store_fixture_ask(fixture, &request);
    assert_true(request.u.init.is_created);
    return 0;
}

static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    rmdir(folder);
}

static int close_store(void **state)
{
    struct store_fixture *fixture = *state;
    if (fixture->store != NULL)
        store_close(fixture->store, NULL, NULL);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&fixture->loop);
    if (fixture->folder[0] != '\0')
        remove_folder(fixture->folder);
    if (fixture->foreign_schema[0] != '\0')
        foreign_table_drop(fixture->url, fixture->foreign_schema);
    free(fixture->url);
    free(fixture->schema);
    free(fixture);
    return left;
}

int store_fixture_run(const char *name, const struct CMUnitTest *cases, size_t count)
{
    return _cmocka_run_group_tests(name, cases, count, open_store, close_store);
}

/* ---- asking ------------------------------------------------------------------------------ */

const char *store_fixture_key(struct store_fixture *fixture)
{
    static char keys[256][48];
    char *key = keys[fixture->key_count++ % 256];
    snprintf(key, sizeof keys[0], "case %d of %d", fixture->key_count, (int)getpid());
    return key;
}

int store_fixture_longest_key(const struct store_fixture *fixture)
{
    return fixture->config.dialect == DIALECT_SHEDLOCK ? 64 : 1024;
}

static void on_alarm(struct alarm *alarm)
{
    struct handles *handles = alarm->timer.loop->data;
    alarm_close(alarm, handles);
}

void store_fixture_wait_ms(struct store_fixture *fixture, int64_t ms)
{
    struct handles handles = {.closing_count = 0};
    struct alarm alarm;
    fixture->loop.data = &handles;
    alarm_init(&alarm, &fixture->loop, on_alarm);
    alarm_set_in(&alarm, ms);
    while (!uv_is_closing((uv_handle_t *)&alarm.timer) || handles.closing_count > 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
}

static void on_done(struct store_request *request)
{
    int *calls = request->owner;
    ++*calls;
}

void store_fixture_submit(struct store_fixture *fixture, struct store_request *request)
{
    if (request->limit_ms == 0)
        request->limit_ms = LIMIT_MS;
    if (request->done == NULL)
        request->done = on_done;
    store_submit(fixture->store, request);
}

enum store_outcome store_fixture_ask(struct store_fixture *fixture, struct store_request *request)
{
    int calls = 0;
    request->owner = &calls;
    store_fixture_submit(fixture, request);
    assert_int_equal(calls, 0); /* never from within submit */
    while (calls == 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    assert_int_equal(calls, 1);
    if (request->outcome == STORE_FAILED)
        fail_msg("%s", request->error.text);
    return request->outcome;
}

/* ---- contenders -------------------------------------------------------------------------- */

struct contender contender(const char *key)
{
    struct contender one;
    identity_holder(one.holder);
    identity_run_id(one.run_id);
    one.item = (struct claim_item){
        .key = key,
        .attempt = 1,
        .ttl_ms = FOREVER_MS,
        .limit_ms = LIMIT_MS,
        .slot_us = NO_INSTANT,
        .start_within_ms = -1,
    };
    return one;
}

enum claim_verdict contender_claim(struct store_fixture *fixture, struct contender *contender)
{
    contender->item.holder = contender->holder;
    contender->item.run_id = contender->run_id;
    contender_claim_all(fixture, &contender->item, 1);
    return contender->item.verdict;
}

enum claim_verdict contender_claim_again(struct store_fixture *fixture, struct contender *contender)
{
    contender->item.attempt++;
    return contender_claim(fixture, contender);
}

void contender_claim_all(struct store_fixture *fixture, struct claim_item *items, size_t count)
{
    struct store_request request = {
        .kind = STORE_CLAIM,
        .u.claim = {.items = items, .count = count},
    };
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    assert_true(request.sent_boot_ms > 0);
    assert_true(request.answered_boot_ms >= request.sent_boot_ms);
}

struct contender contender_winner(struct store_fixture *fixture, const char *key)
{
    struct contender winner = contender(key);
    assert_int_equal(contender_claim(fixture, &winner), CLAIM_WON);
    winner.item.holder = winner.item.run_id = NULL; /* the copy has its own */
    return winner;
}

enum renew_verdict contender_renew(struct store_fixture *fixture, const struct contender *holder,
                                   struct renew_item *ret_item)
{
    struct renew_item item = {
        .key = holder->item.key,
        .holder = holder->holder,
        .fence = holder->item.fence,
        .ttl_ms = holder->item.ttl_ms,
    };
    struct store_request request = {
        .kind = STORE_RENEW,
        .u.renew = {.items = &item, .count = 1},
    };
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    if (ret_item != NULL)
        *ret_item = item;
    return item.verdict;
}

static struct release_item give_back(struct store_fixture *fixture, enum store_kind kind,
                                     const struct contender *holder, enum run_outcome outcome,
                                     int status)
{
    struct release_item item = {
        .key = holder->item.key,
        .holder = holder->holder,
        .fence = holder->item.fence,
        .run_id = holder->run_id,
        .outcome = outcome,
        .status = status,
    };
    struct store_request request = {
        .kind = kind,
        .u.release = {.items = &item, .count = 1},
    };
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    return item;
}

struct release_item contender_release(struct store_fixture *fixture, const struct contender *holder,
                                      enum run_outcome outcome, int status)
{
    return give_back(fixture, STORE_RELEASE, holder, outcome, status);
}

struct release_item contender_undo(struct store_fixture *fixture, const struct contender *holder)
{
    return give_back(fixture, STORE_UNDO, holder, OUTCOME_NONE, -1);
}

struct release_item contender_free(struct store_fixture *fixture, const struct contender *holder)
{
    return give_back(fixture, STORE_FREE, holder, OUTCOME_NONE, -1);
}

struct revoke store_fixture_revoke(struct store_fixture *fixture, const char *key, bool is_stop)
{
    struct store_request request = {
        .kind = STORE_REVOKE,
        .u.revoke = {.key = key, .is_stop = is_stop},
    };
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    return request.u.revoke;
}

/* ---- lists ------------------------------------------------------------------------------- */

struct lease_row store_fixture_lease(struct store_fixture *fixture, const char *key,
                                     bool *ret_exists)
{
    static struct store_request request;
    store_request_clear(&request);
    request = (struct store_request){.kind = STORE_STATUS, .u.leases = {.key = key}};
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    assert_true(request.u.leases.count <= 1);
    *ret_exists = request.u.leases.count == 1;
    return *ret_exists ? request.u.leases.rows[0] : (struct lease_row){.key = NULL};
}

struct lease_row store_fixture_held(struct store_fixture *fixture, const char *key)
{
    bool exists;
    struct lease_row row = store_fixture_lease(fixture, key, &exists);
    assert_true(exists);
    return row;
}

struct run_row store_fixture_last_run(struct store_fixture *fixture, const char *key,
                                      size_t *ret_count)
{
    static struct store_request request;
    store_request_clear(&request);
    request = (struct store_request){
        .kind = STORE_HISTORY, .u.runs = {.key = key, .limit = 100, .wants_output_tail = true}};
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    *ret_count = request.u.runs.count;
    return *ret_count > 0 ? request.u.runs.rows[0] : (struct run_row){.run_id = NULL};
}

struct purge store_fixture_purge(struct store_fixture *fixture, struct purge purge)
{
    struct store_request request = {.kind = STORE_PURGE, .u.purge = purge};
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    return request.u.purge;
}

struct purge store_fixture_forget(struct store_fixture *fixture, const char *key)
{
    struct store_request request = {.kind = STORE_FORGET, .u.purge = {.forget_key = key}};
    assert_int_equal(store_fixture_ask(fixture, &request), STORE_ANSWERED);
    return request.u.purge;
}
