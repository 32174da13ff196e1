/* SPDX-License-Identifier: ISC */
/* What a job's settings come to: the words and the environment of its command, and what its
 * process changes about itself before it becomes that.
 *
 * Environment: leaserun's own, less the LEASERUN_ words that name a store; with `user`, nothing of
 * that but HOME LOGNAME USER SHELL PATH as cron(8) sets them. Over it the lines of env-file, over
 * those the words of env. The working folder is cwd; without it, with `user`, its home, or / when
 * that cannot be entered. */
#pragma once
#include "base/error.h"
#include "command/account.h"
#include "conf/job.h"

#include <uv.h>

/* Fill it by hand, over COMMAND_PLAN_INIT, with what you own; or have it made. */
struct command_plan {
    char *const *argv;
    char *const *environment;
    char *cwd;            /* NULL: where leaserun is */
    bool is_cwd_optional; /* / will do where cwd cannot be entered */
    int umask;            /* -1: leaserun's */
    struct account account;
    bool has_account;
    struct command_plan_texts *texts; /* what of it was made; NULL by hand */
};
#define COMMAND_PLAN_INIT ((struct command_plan){.umask = -1})

/* argv is what was typed, NULL for the job's own exec or command. Borrows argv, and nothing of
 * environment and job. Fails (ERROR_CONFIG, file:line where the fault is env-file's)
 * with nothing to be given back. Reads files and asks for users: not for the loop. */
bool command_plan_make(struct command_plan *ret_plan, const struct job *job, char *const *argv,
                       char *const *environment, struct error *err);
/* One more variable of a plan that was made; value NULL: none of that name. */
void command_plan_put_variable(struct command_plan *plan, const char *name, const char *value);
void command_plan_done(struct command_plan *plan);

/* Whether making it reads no file and asks for no user: then it is made in the loop. */
bool command_plan_is_at_hand(const struct job *job);

/* The same in libuv's pool (pool_prepare comes before), one after the other; made is called from
 * the loop. There the plan is NULL when it failed, and else the callee's to keep (a copy of the
 * struct) and to give back. job and environment live until then. */
typedef void (*command_plan_cb)(void *owner, const struct command_plan *plan,
                                const struct error *why);
void command_plan_ask(uv_loop_t *loop, const struct job *job, char *const *environment,
                      command_plan_cb made, void *owner);
