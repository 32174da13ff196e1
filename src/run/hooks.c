/* SPDX-License-Identifier: ISC */
#include "run/hooks.h"

bool hooks_are_idle(const struct hooks *hooks)
{
    return hooks->running_count == 0 && hooks->waiting_count == 0;
}

static void refuse(struct hook *hook)
{
    hook_tell(hook);
    hook_free(hook);
}

static void start_next(struct hooks *hooks)
{
    struct hook *hook = LIST_OBJECT(hooks->waiting.next, struct hook, node);
    list_remove(&hook->node);
    hooks->waiting_count--;
    if (!hook_start(hook, hooks->end_boot_ms, &hook->end.why)) {
        refuse(hook);
        return;
    }
    list_push(&hooks->running, &hook->node);
    hooks->running_count++;
}

static void start_waiting(struct hooks *hooks)
{
    while (hooks->waiting_count > 0 && hooks->running_count < HOOKS_RUNNING_MOST)
        start_next(hooks);
}

static void on_finished(struct hook *hook)
{
    struct hooks *hooks = LIST_OBJECT(hook->place, struct hooks, place);
    list_remove(&hook->node);
    hooks->running_count--;
    hook_tell(hook);
    hook_free(hook);
    start_waiting(hooks);
    if (hooks_are_idle(hooks))
        hooks->idle(hooks->owner);
}

void hooks_init(struct hooks *hooks, uv_loop_t *loop, struct log *log, char *const *environment,
                const struct signals_given *signals, void (*idle)(void *owner), void *owner)
{
    *hooks = (struct hooks){
        .place = {loop, log, environment, signals, on_finished},
        .end_boot_ms = INT64_MAX,
        .idle = idle,
        .owner = owner,
    };
    list_init(&hooks->waiting);
    list_init(&hooks->running);
}

void hooks_add(struct hooks *hooks, const struct hook_facts *facts)
{
    if (!hook_is_wanted(facts))
        return;
    struct hook *hook = hook_make(&hooks->place, facts);
    if (hooks->waiting_count == HOOKS_WAITING_MOST) {
        error_set(&hook->end.why, ERROR_SYSTEM, "not started: %d hooks wait before it",
                  HOOKS_WAITING_MOST);
        refuse(hook);
        return;
    }
    list_push(&hooks->waiting, &hook->node);
    hooks->waiting_count++;
    start_waiting(hooks);
}

void hooks_end_by(struct hooks *hooks, int64_t boot_ms)
{
    if (boot_ms >= hooks->end_boot_ms)
        return;
    hooks->end_boot_ms = boot_ms;
    for (struct list *at = hooks->running.next; at != &hooks->running; at = at->next)
        hook_end_by(LIST_OBJECT(at, struct hook, node), boot_ms);
}
