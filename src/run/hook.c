/* SPDX-License-Identifier: ISC */
#include "run/hook.h"

#include "base/exit_code.h"
#include "base/mem.h"
#include "base/now.h"
#include "conf/settings.h"
#include "loop/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREAD_COUNT  4    /* as `run` has: a look-up's among them */
#define LEFT_GRACE_MS 1000 /* TERM to KILL for what it has left */

const char *hook_name(enum job_hook hook)
{
    const size_t offset = offsetof(struct job, hooks) + hook * sizeof(char *);
    const struct setting *setting = NULL;
    while ((setting = settings_next(setting)) != NULL)
        if (setting->group == SETTING_JOB && setting->offset == offset)
            return setting->key;
    abort();
}

bool hook_is_wanted(const struct hook_facts *facts)
{
    return facts->job->hooks[facts->hook] != NULL;
}

/* ---- made and given back --------------------------------------------------------------------- */

/* What a plan is made of, beside the line. */
static const size_t plan_texts[] = {
    offsetof(struct job, name),  offsetof(struct job, shell),    offsetof(struct job, user),
    offsetof(struct job, group), offsetof(struct job, cwd),      offsetof(struct job, umask),
    offsetof(struct job, env),   offsetof(struct job, env_file), offsetof(struct job, command),
};
#define PLAN_TEXT_COUNT (sizeof plan_texts / sizeof plan_texts[0])

static char **text_at(struct job *job, size_t offset)
{
    return (char **)(void *)((char *)job + offset);
}

/* The table may be gone before the hook has ended. */
static struct job copy_job(const struct job *job, enum job_hook hook)
{
    struct job copy = *job;
    copy.exec = NULL;
    copy.command = job->hooks[hook];
    for (size_t i = 0; i < PLAN_TEXT_COUNT; i++) {
        char **text = text_at(&copy, plan_texts[i]);
        *text = mem_strdup(*text);
    }
    return copy;
}

struct hook *hook_make(struct hook_place *place, const struct hook_facts *facts)
{
    struct hook *hook = mem_alloc(sizeof *hook);
    *hook = (struct hook){
        .place = place,
        .job = copy_job(facts->job, facts->hook),
        .kind = facts->hook,
        .key = mem_strdup(facts->key),
        .fence = facts->fence,
        .slot_us = facts->slot_us,
        .attempt = facts->attempt,
        .outcome = mem_strdup(run_outcome_name(facts->outcome)),
        .status = facts->status < 0 ? NULL : mem_printf("%d", facts->status),
        .error = mem_strdup(facts->error),
        .tail = mem_alloc(facts->tail_length + 1),
        .tail_length = facts->tail_length,
        .plan = COMMAND_PLAN_INIT,
        .end = {.status = -1},
    };
    if (facts->tail_length > 0)
        memcpy(hook->tail, facts->tail, facts->tail_length);
    snprintf(hook->run_id, sizeof hook->run_id, "%s", facts->run_id);
    snprintf(hook->slot, sizeof hook->slot, "%s", facts->slot);
    list_init(&hook->node);
    return hook;
}

void hook_free(struct hook *hook)
{
    command_plan_done(&hook->plan);
    for (size_t i = 0; i < PLAN_TEXT_COUNT; i++)
        mem_wipe(*text_at(&hook->job, plan_texts[i]));
    free(hook->tail);
    free(hook->key);
    free(hook->outcome);
    free(hook->status);
    free(hook->error);
    free(hook);
}

/* ---- told ------------------------------------------------------------------------------------ */

static struct log_scope scope_of(const struct hook *hook)
{
    struct log_scope scope = LOG_SCOPE_NONE;
    scope.job = hook->job.name;
    scope.key = hook->key;
    scope.run_id = hook->run_id;
    scope.fence = hook->fence < 0 ? 0 : hook->fence;
    scope.slot_us = hook->slot_us;
    scope.hook = hook_name(hook->kind);
    return scope;
}

void hook_tell(const struct hook *hook)
{
    struct log_scope scope = scope_of(hook);
    const struct error *why = &hook->end.why;
    scope.status = hook->end.status;
    if (hook->started_boot_ms != 0)
        scope.took_ms = now_boot_ms() - hook->started_boot_ms;
    if (why->kind == ERROR_NONE) {
        log_event(hook->place->log, EVENT_HOOK_FINISHED, &scope, "%s has ended", scope.hook);
        return;
    }
    scope.error = why;
    log_event(hook->place->log, EVENT_HOOK_FAILED, &scope, "%s: %s", scope.hook, why->text);
}

/* ---- its command ----------------------------------------------------------------------------- */

static void on_started(void *owner, int64_t pid)
{
}

static void on_not_started(void *owner, int exit_code, const struct error *why)
{
    struct hook *hook = owner;
    hook->end.why = *why;
}

/* By the terminal: it goes on when somebody continues it, or ends at its limit. */
static void on_stopped(void *owner, int number)
{
}

static void explain_killed(struct hook *hook)
{
    char limit[TIME_TEXT_MAX];
    if (hook->is_cut_short)
        error_set(&hook->end.why, ERROR_SYSTEM, "leaserun ends, and it was ended for that");
    else
        error_set(&hook->end.why, ERROR_SYSTEM,
                  "it ran longer than %s and was ended (hook-timeout)",
                  time_text_span(hook->job.hook_timeout_ms, limit));
}

static void on_exited(void *owner, int wait_status, enum guard_killer killer)
{
    struct hook *hook = owner;
    struct error *why = &hook->end.why;
    bool is_signalled = WIFSIGNALED(wait_status);
    int number = is_signalled ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    hook->end.status = is_signalled ? EXIT_SIGNAL_BASE + number : number;
    if (killer != GUARD_KILLER_NONE)
        explain_killed(hook);
    else if (is_signalled)
        error_set(why, ERROR_SYSTEM, "it was ended by signal %d (%s), not by leaserun", number,
                  strsignal(number));
    else if (number != 0)
        error_set(why, ERROR_SYSTEM, "it failed with exit status %d", number);
}

static void on_leftovers(void *owner, int count, const char *names)
{
    struct hook *hook = owner;
    if (hook->end.why.kind == ERROR_NONE)
        error_set(&hook->end.why, ERROR_SYSTEM, "it has left %d process%s, which %s ended: %s",
                  count, count == 1 ? "" : "es", count == 1 ? "is" : "are", names);
}

static void on_guard_died(void *owner)
{
    struct hook *hook = owner;
    if (hook->end.why.kind == ERROR_NONE)
        error_set(&hook->end.why, ERROR_SYSTEM, "its guard was killed, and it was ended with it");
}

static void on_line(void *owner, const struct command_line *line)
{
    const struct hook *hook = owner;
    struct log_scope scope = scope_of(hook);
    log_output(hook->place->log, &scope,
               &(struct log_output){.stream = line->stream,
                                    .bytes = line->bytes,
                                    .length = line->length,
                                    .continues = line->continues});
}

static void on_closed(void *owner)
{
    struct hook *hook = owner;
    hook->command = NULL;
    hook->place->finished(hook);
}

static void on_empty(void *owner, enum guard_killer killer)
{
    struct hook *hook = owner;
    if (killer == GUARD_KILLER_DEADLINE && hook->end.why.kind == ERROR_NONE)
        explain_killed(hook);
    hook->has_ended = true;
    command_dismiss(hook->command);
    command_close(hook->command, on_closed);
}

static const struct command_listener listener = {
    .started = on_started,
    .not_started = on_not_started,
    .stopped = on_stopped,
    .exited = on_exited,
    .leftovers = on_leftovers,
    .guard_died = on_guard_died,
    .empty = on_empty,
    .line = on_line,
};

/* ---- start and end --------------------------------------------------------------------------- */

static void put_facts(struct hook *hook)
{
    command_plan_put_variable(&hook->plan, "LEASERUN_OUTCOME", hook->outcome);
    command_plan_put_variable(&hook->plan, "LEASERUN_STATUS", hook->status);
    command_plan_put_variable(&hook->plan, "LEASERUN_ERROR", hook->error);
}

/* -1 where it cannot be had. */
static int open_stdin(const struct hook *hook)
{
    if (hook->tail_length == 0)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = memfd_create("leaserun-output", MFD_CLOEXEC);
    if (fd < 0 || (write(fd, hook->tail, hook->tail_length) == (ssize_t)hook->tail_length &&
                   lseek(fd, 0, SEEK_SET) == 0))
        return fd;
    close(fd);
    return -1;
}

static bool open_command(struct hook *hook, struct error *err)
{
    const struct hook_place *place = hook->place;
    int stdin_fd = open_stdin(hook);
    if (stdin_fd < 0)
        return error_set_errno(err, ERROR_SYSTEM, errno, "its stdin cannot be opened");
    const struct command_spec spec = {
        .key = hook->key,
        .plan = &hook->plan,
        .signals = place->signals,
        .job = hook->job.name,
        .stdin_fd = stdin_fd,
        .output = hook->job.output,
        .has_stdout_as_stderr = true,
        .writer = place->log->writer,
    };
    put_facts(hook);
    bool is_open = command_open(&hook->command, place->loop, &spec, &listener, hook, err);
    close(stdin_fd);
    if (!is_open)
        return false;
    command_start(hook->command, &(struct command_start){
                                     .fence = hook->fence,
                                     .run_id = hook->run_id,
                                     .slot = hook->slot,
                                     .attempt = hook->attempt,
                                     .term_at_boot_ms = hook->kill_boot_ms,
                                     .kill_at_boot_ms = hook->kill_boot_ms,
                                     .grace_ms = LEFT_GRACE_MS,
                                     .leftovers = GUARD_LEFTOVERS_KILL,
                                 });
    return true;
}

static void on_planned(void *owner, const struct command_plan *plan, const struct error *why)
{
    struct hook *hook = owner;
    struct error *err = &hook->end.why;
    if (plan == NULL)
        *err = *why;
    else
        hook->plan = *plan;
    if (plan == NULL || !open_command(hook, err))
        hook->place->finished(hook);
}

bool hook_start(struct hook *hook, int64_t end_boot_ms, struct error *err)
{
    const struct hook_place *place = hook->place;
    int64_t now = now_boot_ms();
    if (end_boot_ms <= now)
        return error_set(err, ERROR_SYSTEM, "not started: leaserun ends, and no time is left");
    hook->started_boot_ms = now;
    hook->kill_boot_ms = now + hook->job.hook_timeout_ms;
    hook_end_by(hook, end_boot_ms);
    if (!command_plan_is_at_hand(&hook->job)) {
        if (!pool_prepare(THREAD_COUNT, err))
            return false;
        command_plan_ask(place->loop, &hook->job, place->environment, on_planned, hook);
        return true;
    }
    return command_plan_make(&hook->plan, &hook->job, NULL, place->environment, err) &&
           open_command(hook, err);
}

void hook_end_by(struct hook *hook, int64_t boot_ms)
{
    if (boot_ms >= hook->kill_boot_ms)
        return;
    hook->kill_boot_ms = boot_ms;
    hook->is_cut_short = true;
    if (hook->command != NULL && !hook->has_ended)
        command_stop(hook->command, 0, boot_ms);
}
