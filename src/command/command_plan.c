/* SPDX-License-Identifier: ISC */
#include "command/command_plan.h"

#include "base/list.h"
#include "base/mem.h"
#include "command/command_environment.h"
#include "conf/value.h"
#include "conf/words.h"

#include <stdlib.h>
#include <string.h>

#define SHELL_DEFAULT "/bin/sh"

struct command_plan_texts {
    struct command_environment environment;
    char **words; /* of exec or shell */
    char **argv;  /* shell's words, -c and the command */
    char *command;
    char *cwd;
};

static const char *shell_of(const struct job *job)
{
    return job->shell != NULL ? job->shell : SHELL_DEFAULT;
}

/* "cannot be split: ..." is of the key that has the words. */
static char **split(const char *key, const char *line, size_t *ret_count, struct error *err)
{
    char **words = words_split(line, ret_count, err);
    if (words != NULL && words[0] != NULL)
        return words;
    if (words != NULL)
        error_set(err, ERROR_CONFIG, "there is no word in it");
    free(words);
    error_prefix(err, "%s", key);
    return NULL;
}

static bool make_argv(struct command_plan *plan, const struct job *job, struct error *err)
{
    static char option[] = "-c";
    struct command_plan_texts *texts = plan->texts;
    size_t count;
    if (job->exec != NULL) {
        texts->words = split("exec", job->exec, NULL, err);
        plan->argv = texts->words;
        return texts->words != NULL;
    }
    texts->words = split("shell", shell_of(job), &count, err);
    if (texts->words == NULL)
        return false;
    texts->command = mem_strdup(job->command);
    texts->argv = mem_array(count + 3, sizeof *texts->argv);
    memcpy(texts->argv, texts->words, count * sizeof *texts->argv);
    texts->argv[count] = option;
    texts->argv[count + 1] = texts->command;
    plan->argv = texts->argv;
    return true;
}

static bool make_environment(struct command_plan *plan, const struct job *job,
                             char *const *own_environment, struct error *err)
{
    struct command_environment *environment = &plan->texts->environment;
    if (job->user != NULL)
        command_environment_put_account(environment, &plan->account, shell_of(job));
    else
        command_environment_put_own(environment, own_environment);
    if (job->env_file != NULL && !command_environment_put_file(environment, job->env_file, err))
        return false;
    if (job->env != NULL && !command_environment_put_words(environment, job->env, err))
        return false;
    plan->environment = environment->words;
    return true;
}

static bool make_place(struct command_plan *plan, const struct job *job, struct error *err)
{
    plan->is_cwd_optional = job->cwd == NULL && job->user != NULL;
    plan->texts->cwd = mem_strdup(plan->is_cwd_optional ? plan->account.home : job->cwd);
    plan->cwd = plan->texts->cwd;
    if (job->umask == NULL || value_parse_umask(job->umask, &plan->umask, err))
        return true;
    return error_prefix(err, "umask");
}

static bool make_account(struct command_plan *plan, const struct job *job, struct error *err)
{
    plan->has_account = job->user != NULL || job->group != NULL;
    return !plan->has_account || account_find(&plan->account, job->user, job->group, err);
}

bool command_plan_make(struct command_plan *ret_plan, const struct job *job, char *const *argv,
                       char *const *environment, struct error *err)
{
    struct command_plan plan = COMMAND_PLAN_INIT;
    plan.texts = mem_alloc(sizeof *plan.texts);
    plan.argv = argv;
    if ((argv != NULL || make_argv(&plan, job, err)) && make_account(&plan, job, err) &&
        make_environment(&plan, job, environment, err) && make_place(&plan, job, err)) {
        *ret_plan = plan;
        return true;
    }
    command_plan_done(&plan);
    return false;
}

void command_plan_put_variable(struct command_plan *plan, const char *name, const char *value)
{
    command_environment_put_variable(&plan->texts->environment, name, value);
    plan->environment = plan->texts->environment.words;
}

bool command_plan_is_at_hand(const struct job *job)
{
    return job->user == NULL && job->group == NULL && job->env_file == NULL;
}

void command_plan_done(struct command_plan *plan)
{
    if (plan->texts != NULL) {
        command_environment_done(&plan->texts->environment);
        free(plan->texts->words);
        free(plan->texts->argv);
        free(plan->texts->command);
        free(plan->texts->cwd);
        free(plan->texts);
    }
    account_done(&plan->account);
    *plan = COMMAND_PLAN_INIT;
}

/* ---- in the pool ----------------------------------------------------------------------------- */

/* One after the other: a directory of users that does not answer holds one thread, not all. */
static struct {
    struct list waiting;
    bool has_begun, is_busy;
} asked;

struct request {
    uv_work_t work;
    struct list node;
    uv_loop_t *loop;
    const struct job *job;
    char *const *environment;
    command_plan_cb made;
    void *owner;
    struct command_plan plan;
    bool is_made;
    struct error error;
};

static void make(uv_work_t *work)
{
    struct request *request = LIST_OBJECT(work, struct request, work);
    request->is_made = command_plan_make(&request->plan, request->job, NULL, request->environment,
                                         &request->error);
}

static void begin_next(void);

static void on_made(uv_work_t *work, int status)
{
    struct request *request = LIST_OBJECT(work, struct request, work);
    asked.is_busy = false;
    begin_next();
    request->made(request->owner, request->is_made ? &request->plan : NULL, &request->error);
    free(request);
}

static void begin_next(void)
{
    if (asked.is_busy || list_is_empty(&asked.waiting))
        return;
    struct request *request = LIST_OBJECT(asked.waiting.next, struct request, node);
    list_remove(&request->node);
    asked.is_busy = true;
    if (uv_queue_work(request->loop, &request->work, make, on_made) != 0)
        abort(); /* it fails only without a function */
}

void command_plan_ask(uv_loop_t *loop, const struct job *job, char *const *environment,
                      command_plan_cb made, void *owner)
{
    if (!asked.has_begun)
        list_init(&asked.waiting);
    asked.has_begun = true;
    struct request *request = mem_alloc(sizeof *request);
    *request = (struct request){
        .loop = loop, .job = job, .environment = environment, .made = made, .owner = owner};
    list_push(&asked.waiting, &request->node);
    begin_next();
}
