/* SPDX-License-Identifier: ISC */
/* The store of the world: the verdicts of store.h by a clock of its own. */
#include "base/mem.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what is kept -----------------------------------------------------------------------------
 */

struct model_run *model_runs;
size_t model_run_count;
static size_t run_room;
static struct lease_of_key leases[32];
static size_t lease_count;
static int64_t last_fence, skew_us;

/* The newest run of each key, + 1; each has the one before it. */
static struct {
    const char *key;
    size_t newest;
} chains[32];
static size_t chain_count;

static int64_t clock_us(void)
{
    return WORLD_EPOCH_US + world.now_ms * 1000 + skew_us;
}

static struct lease_of_key *find_lease(const char *key)
{
    for (size_t i = 0; i < lease_count; i++)
        if (strcmp(leases[i].key, key) == 0)
            return &leases[i];
    return NULL;
}

#define NEWEST_IN_USE 2000 /* of a key's runs, older ones are not asked for */

static size_t *chain_of(const char *key)
{
    for (size_t i = 0; i < chain_count; i++)
        if (strcmp(chains[i].key, key) == 0)
            return &chains[i].newest;
    return NULL;
}

static struct model_run *find(const char *key, const char *run_id, int64_t slot_us)
{
    const size_t *chain = chain_of(key);
    size_t at = chain == NULL ? 0 : *chain;
    for (int i = 0; at != 0 && i < NEWEST_IN_USE; i++) {
        struct model_run *run = &model_runs[at - 1];
        bool is_it = run_id != NULL ? strcmp(run->run_id, run_id) == 0 : run->slot_us == slot_us;
        if (is_it && !run->is_undone)
            return run;
        at = run->before;
    }
    return NULL;
}

#define NEWEST_UNDONE 100 /* a request is on its way for a few seconds */

/* A claim of it is late. */
static bool is_undone(const char *key, const char *run_id)
{
    const size_t *chain = chain_of(key);
    size_t at = chain == NULL ? 0 : *chain;
    for (int i = 0; at != 0 && i < NEWEST_UNDONE; i++, at = model_runs[at - 1].before)
        if (model_runs[at - 1].is_undone && strcmp(model_runs[at - 1].run_id, run_id) == 0)
            return true;
    return false;
}

static struct model_run *find_run(const char *key, const char *run_id)
{
    return find(key, run_id, NO_INSTANT);
}

bool model_store_is_live(const struct lease_of_key *lease)
{
    return lease != NULL && !lease->is_released && lease->expires_us > clock_us();
}

struct model_run *model_store_newest(const char *key, struct model_run *after)
{
    const size_t *chain = chain_of(key);
    size_t at = after != NULL ? after->before : chain != NULL ? *chain : 0;
    return at == 0 ? NULL : &model_runs[at - 1];
}

static struct model_run *find_slot(const char *key, int64_t slot_us)
{
    return find(key, NULL, slot_us);
}

static bool has_succeeded(const char *key)
{
    for (size_t i = 0; i < model_run_count; i++)
        if (model_runs[i].is_once && model_runs[i].outcome == OUTCOME_SUCCEEDED &&
            strcmp(model_runs[i].key, key) == 0)
            return true;
    return false;
}

static const char *keep_text(const char *text)
{
    static char *kept[64];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(kept[i], text) == 0)
            return kept[i];
    assert_true(count < CASE_COUNT(kept));
    return kept[count++] = mem_strdup(text);
}

static struct model_run *push_run(const char *key_text, const char *job)
{
    if (model_run_count == run_room) {
        run_room = run_room == 0 ? 1024 : run_room * 2;
        model_runs = mem_grow(model_runs, run_room, sizeof *model_runs);
    }
    const char *key = keep_text(key_text);
    if (chain_of(key) == NULL) {
        assert_true(chain_count < CASE_COUNT(chains));
        chains[chain_count].newest = 0;
        chains[chain_count++].key = key;
    }
    size_t *chain = chain_of(key);
    struct model_run *run = &model_runs[model_run_count++];
    *run = (struct model_run){.key = key,
                              .job = keep_text(job),
                              .slot_us = NO_INSTANT,
                              .written_ms = world.now_ms,
                              .ended_ms = NEVER,
                              .before = *chain};
    *chain = model_run_count;
    return run;
}

/* A slot that has not come is used up by nobody. */
static void add_run(const struct claim_item *item, int64_t fence, enum run_outcome outcome,
                    struct replica *replica)
{
    assert_true(item->slot_us == NO_INSTANT || item->slot_us <= clock_us() + 1000000);
    struct model_run *run = push_run(item->key, item->job);
    run->slot_us = item->slot_us;
    run->fence = fence;
    run->outcome = outcome;
    run->writer = replica;
    run->writer_skew_us = replica->skew_us;
    run->is_once = item->is_once;
    run->starts = item->is_rerun ? 1 : 0;
    snprintf(run->run_id, sizeof run->run_id, "%s", item->run_id);
    snprintf(run->holder, sizeof run->holder, "%s", item->holder);
}

/* Of a claim that has not come yet: it is to win no more. */
static void add_undone(const struct release_item *item)
{
    struct model_run *run = push_run(item->key, "");
    run->is_undone = true;
    run->undone_ms = world.now_ms;
    snprintf(run->run_id, sizeof run->run_id, "%s", item->run_id);
}

/* ---- verdicts ---------------------------------------------------------------------------------
 */

static bool is_not_started(enum run_outcome outcome)
{
    return outcome == OUTCOME_MISSED || outcome == OUTCOME_SKIPPED;
}

static enum claim_verdict judge_slot(const struct claim_item *item, const struct model_run *own,
                                     const struct lease_of_key *lease)
{
    const struct model_run *other = find_slot(item->key, item->slot_us);
    const struct model_run *run = own != NULL ? own : other;
    int64_t now_us = clock_us();
    if (item->slot_us > now_us + 1000000)
        return CLAIM_EARLY;
    if (run != NULL && is_not_started(run->outcome))
        return run->outcome == OUTCOME_MISSED ? CLAIM_MISSED : CLAIM_SKIPPED;
    if ((other != NULL && other != own) || (lease != NULL && lease->slot_us == item->slot_us))
        return CLAIM_DONE;
    if (item->start_within_ms >= 0 && item->slot_us + item->start_within_ms * 1000 < now_us)
        return CLAIM_MISSED;
    return CLAIM_WON;
}

static enum claim_verdict judge(struct claim_item *item, int64_t not_after_ms)
{
    const struct lease_of_key *lease = find_lease(item->key);
    struct model_run *own = find_run(item->key, item->run_id);
    bool is_live = model_store_is_live(lease);
    bool is_ours = lease != NULL && strcmp(lease->holder, item->holder) == 0;
    if (item->interrupted_fence != 0)
        return world.now_ms > not_after_ms ? CLAIM_RACED : model_takeover_judge(item, own, lease);
    if ((own != NULL && own->outcome != OUTCOME_NONE && !is_not_started(own->outcome)) ||
        world.now_ms > not_after_ms || is_undone(item->key, item->run_id))
        return CLAIM_RACED;
    if (is_ours && !lease->is_released && item->attempt > lease->attempt)
        return CLAIM_WON;
    if (is_ours)
        return is_live ? CLAIM_HELD : CLAIM_RACED;
    if (item->is_once && has_succeeded(item->key))
        return CLAIM_DONE;
    if (item->slot_us != NO_INSTANT) {
        enum claim_verdict verdict = judge_slot(item, own, lease);
        if (verdict != CLAIM_WON)
            return verdict;
    }
    if (is_live)
        return item->is_skipping && item->slot_us != NO_INSTANT ? CLAIM_SKIPPED : CLAIM_HELD;
    return CLAIM_WON;
}

static void win(struct claim_item *item, struct replica *replica)
{
    struct lease_of_key *lease = find_lease(item->key);
    if (lease == NULL) {
        assert_true(lease_count < CASE_COUNT(leases));
        lease = &leases[lease_count++];
        *lease = (struct lease_of_key){.slot_us = NO_INSTANT};
        snprintf(lease->key, sizeof lease->key, "%s", item->key);
    }
    struct model_run *before = find_run(lease->key, lease->run_id);
    struct model_run *own = find_run(item->key, item->run_id);
    bool is_again = own != NULL && strcmp(lease->holder, item->holder) == 0;
    if (!is_again && before != own && before != NULL && before->outcome == OUTCOME_NONE) {
        before->outcome = OUTCOME_ABANDONED;
        before->closer = replica;
        before->closed_ms = world.now_ms;
        snprintf(before->closed_by, sizeof before->closed_by, "%s", item->run_id);
        snprintf(lease->abandoned, sizeof lease->abandoned, "%s", before->run_id);
    } else if (!is_again) {
        lease->abandoned[0] = '\0';
    }
    snprintf(item->abandoned, sizeof item->abandoned, "%s", lease->abandoned);
    snprintf(item->previous_fingerprint, sizeof item->previous_fingerprint, "%s",
             lease->fingerprint);
    item->fence = lease->fence = ++last_fence;
    snprintf(lease->holder, sizeof lease->holder, "%s", item->holder);
    snprintf(lease->run_id, sizeof lease->run_id, "%s", item->run_id);
    lease->attempt = item->attempt;
    lease->is_released = false;
    lease->written_us = clock_us();
    lease->expires_us = clock_us() + item->ttl_ms * 1000;
    if (item->slot_us != NO_INSTANT)
        lease->slot_us = item->slot_us;
    if (item->fingerprint != NULL)
        snprintf(lease->fingerprint, sizeof lease->fingerprint, "%s", item->fingerprint);
    if (own != NULL)
        own->fence = item->fence;
    if (item->interrupted_fence != 0)
        model_takeover_win(item, own, is_again, replica);
    else if (own == NULL)
        add_run(item, item->fence, OUTCOME_NONE, replica);
}

void model_store_claim(struct claim_item *item, int64_t not_after_ms, struct replica *replica)
{
    const struct lease_of_key *lease = find_lease(item->key);
    item->abandoned[0] = '\0';
    item->verdict = judge(item, not_after_ms);
    item->wait_ms = item->verdict == CLAIM_EARLY ? (item->slot_us - clock_us()) / 1000
                    : lease != NULL              ? (lease->expires_us - clock_us()) / 1000
                                                 : 0;
    snprintf(item->other, sizeof item->other, "%s", lease != NULL ? lease->holder : "");
    if (item->verdict == CLAIM_WON)
        win(item, replica);
    if (item->verdict != CLAIM_MISSED && item->verdict != CLAIM_SKIPPED)
        return;
    const struct model_run *run = find_slot(item->key, item->slot_us);
    item->is_first_to_tell = run == NULL || strcmp(run->run_id, item->run_id) == 0;
    if (run == NULL)
        add_run(item, 0, item->verdict == CLAIM_MISSED ? OUTCOME_MISSED : OUTCOME_SKIPPED, replica);
}

void model_store_renew(struct renew_item *item)
{
    struct lease_of_key *lease = find_lease(item->key);
    bool is_ours =
        lease != NULL && strcmp(lease->holder, item->holder) == 0 && lease->fence == item->fence;
    item->verdict = RENEW_LOST;
    item->reason = !is_ours ? LOST_TAKEN : lease->is_released ? LOST_GONE : LOST_EXPIRED;
    if (!is_ours || lease->is_released || lease->expires_us <= clock_us())
        return;
    lease->expires_us = clock_us() + item->ttl_ms * 1000;
    item->verdict = RENEW_RENEWED;
}

void model_store_give_back(struct release_item *item, bool is_undo)
{
    struct lease_of_key *lease = find_lease(item->key);
    struct model_run *run = find_run(item->key, item->run_id);
    bool is_ours = lease != NULL && strcmp(lease->holder, item->holder) == 0 &&
                   (lease->fence == item->fence || (is_undo && item->fence == 0));
    item->verdict = is_ours ? RELEASE_RELEASED : RELEASE_NOT_OURS;
    if (is_ours)
        lease->is_released = true;
    if (is_undo && run == NULL) {
        add_undone(item);
    } else if (is_undo && model_takeover_undo(item, run)) {
        return;
    } else if (is_undo && run->outcome == OUTCOME_NONE) {
        run->is_undone = true;
        run->undone_ms = world.now_ms;
        if (is_ours && lease->slot_us == run->slot_us)
            lease->slot_us = NO_INSTANT;
    } else if (!is_undo && run != NULL && run->fence == item->fence &&
               run->outcome == OUTCOME_NONE) {
        run->outcome = item->outcome;
        run->ended_ms = world.now_ms;
    }
}

void model_store_note_heard(const struct claim_item *answer)
{
    bool is_not_run = answer->verdict == CLAIM_MISSED || answer->verdict == CLAIM_SKIPPED;
    struct model_run *run = NULL;
    if (is_not_run && answer->is_first_to_tell) {
        run = find_slot(answer->key, answer->slot_us);
        assert_non_null(run);
        run->is_outcome_heard = true;
    } else if (answer->verdict == CLAIM_WON && answer->abandoned[0] != '\0') {
        run = find_run(answer->key, answer->abandoned);
        assert_non_null(run);
        run->is_closing_heard = true;
    }
    if (answer->interrupted_fence == 0)
        return;
    run = find_run(answer->key, answer->run_id);
    assert_non_null(run);
    run->taken_over_count += answer->verdict == CLAIM_WON;
    run->is_giving_up_heard |= answer->verdict == CLAIM_DONE && answer->is_first_to_tell;
}

void model_store_recall(struct recall_item *item)
{
    const struct lease_of_key *lease = find_lease(item->key);
    model_takeover_recall(item, lease);
    if (item->wants_interrupted)
        return;
    bool counts = lease != NULL && item->job == NULL && lease->slot_us < item->before_us;
    item->slot_us = counts ? lease->slot_us : NO_INSTANT;
    item->written_us = lease == NULL ? NO_INSTANT : lease->written_us;
    snprintf(item->fingerprint, sizeof item->fingerprint, "%s",
             lease == NULL ? "" : lease->fingerprint);
    for (size_t i = model_run_count; i-- > 0;)
        if (strcmp(model_runs[i].key, item->key) == 0 && !model_runs[i].is_undone &&
            (item->job == NULL || strcmp(model_runs[i].job, item->job) == 0) &&
            model_runs[i].slot_us > item->slot_us && model_runs[i].slot_us < item->before_us)
            item->slot_us = model_runs[i].slot_us;
}

void model_store_note_start(const char *run_id, int64_t fence, bool is_first)
{
    for (size_t i = model_run_count; i-- > 0;) {
        struct model_run *run = &model_runs[i];
        if (strcmp(run->run_id, run_id) != 0)
            continue;
        run->start_count += is_first;
        if (fence == run->started_fence && run->starts > 0)
            fail_msg("one mandate has started its command twice: %s", run_id);
        run->mandate_count += fence != run->started_fence;
        run->started_fence = fence;
        return;
    }
    fail_msg("a command was started without a run: %s", run_id);
}

void model_store_free_lease(const char *key, const char *holder)
{
    struct lease_of_key *lease = find_lease(key);
    if (lease != NULL && strcmp(lease->holder, holder) == 0)
        lease->is_released = true;
}

void model_store_set_clock(int64_t by_us)
{
    skew_us = by_us;
}

int64_t model_store_skew_us(void)
{
    return skew_us;
}

bool model_store_has_live_lease(void)
{
    for (size_t i = 0; i < lease_count; i++)
        if (model_store_is_live(&leases[i]))
            return true;
    return false;
}

void model_store_reset(void)
{
    chain_count = 0;
    model_run_count = lease_count = 0;
    last_fence = skew_us = 0;
    model_network_reset();
}
