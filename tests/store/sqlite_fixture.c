/* SPDX-License-Identifier: ISC */
#include "sqlite_fixture.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_MS 5000

int sqlite_fixture_set_up(void **state)
{
    struct sqlite_fixture *fixture = mem_alloc(sizeof *fixture);
    const char *tmp = getenv("TMPDIR");
    snprintf(fixture->folder, sizeof fixture->folder, "%.40s/sqlite.XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(fixture->folder) == NULL)
        return -1;
    snprintf(fixture->path, sizeof fixture->path, "%s/store.db", fixture->folder);
    fixture->link = sqlite_fixture_link(fixture);
    *state = fixture;
    return 0;
}

static void remove_all(const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (unlinkat(dirfd(dir), entry->d_name, 0) != 0)
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    if (dir != NULL)
        closedir(dir);
    rmdir(folder);
}

int sqlite_fixture_tear_down(void **state)
{
    struct sqlite_fixture *fixture = *state;
    sqlite_link_done(&fixture->link);
    remove_all(fixture->folder);
    free(fixture);
    return 0;
}

struct sqlite_link sqlite_fixture_link(const struct sqlite_fixture *fixture)
{
    char url[128];
    struct sqlite_file file;
    struct sqlite_link link;
    struct error err;
    snprintf(url, sizeof url, "sqlite:%s", fixture->path);
    assert_true(sqlite_file_resolve(url, &file, &err));
    sqlite_link_init(&link, &file);
    return link;
}

struct sqlite_link sqlite_fixture_host(const struct sqlite_fixture *fixture, const char *clock)
{
    struct error err;
    struct sqlite_link link = sqlite_fixture_link(fixture);
    link.self = mem_alloc(sizeof *link.self);
    assert_true(sqlite_self_read(link.self, &err));
    snprintf(link.self->clock, sizeof link.self->clock, "%s", clock);
    return link;
}

void sqlite_fixture_serve(struct sqlite_link *link, struct store_request *request)
{
    if (request->limit_ms == 0)
        request->limit_ms = LIMIT_MS;
    request->sent_boot_ms = now_boot_ms();
    request->give_up_boot_ms = request->sent_boot_ms + request->limit_ms;
    sqlite_ops_serve(link, request);
}

static void serve_well(struct sqlite_link *link, struct store_request *request)
{
    sqlite_fixture_serve(link, request);
    if (request->outcome != STORE_ANSWERED)
        fail_msg("%s", request->error.text);
}

struct claim_item sqlite_fixture_item(const char *key)
{
    static char holders[64][IDENTITY_HOLDER_MAX];
    static char run_ids[64][IDENTITY_RUN_ID_MAX];
    static int count;
    int at = count++ % 64;
    identity_holder(holders[at]);
    identity_run_id(run_ids[at]);
    return (struct claim_item){
        .key = key,
        .holder = holders[at],
        .run_id = run_ids[at],
        .attempt = 1,
        .ttl_ms = 60000,
        .limit_ms = LIMIT_MS,
        .slot_us = NO_INSTANT,
        .start_within_ms = -1,
    };
}

enum claim_verdict sqlite_fixture_claim(struct sqlite_link *link, struct claim_item *item)
{
    struct store_request request = {.kind = STORE_CLAIM, .u.claim = {.items = item, .count = 1}};
    serve_well(link, &request);
    return item->verdict;
}

enum renew_verdict sqlite_fixture_renew(struct sqlite_link *link, const struct claim_item *item,
                                        enum lost_reason *ret_reason)
{
    struct renew_item renewal = {
        .key = item->key,
        .holder = item->holder,
        .fence = item->fence,
        .ttl_ms = item->ttl_ms,
    };
    struct store_request request = {.kind = STORE_RENEW,
                                    .u.renew = {.items = &renewal, .count = 1}};
    serve_well(link, &request);
    if (ret_reason != NULL)
        *ret_reason = renewal.reason;
    return renewal.verdict;
}

enum release_verdict sqlite_fixture_release(struct sqlite_link *link, const struct claim_item *item)
{
    struct release_item release = {
        .key = item->key,
        .holder = item->holder,
        .fence = item->fence,
        .run_id = item->run_id,
        .outcome = OUTCOME_SUCCEEDED,
    };
    struct store_request request = {.kind = STORE_RELEASE,
                                    .u.release = {.items = &release, .count = 1}};
    serve_well(link, &request);
    return release.verdict;
}
