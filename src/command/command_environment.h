/* SPDX-License-Identifier: ISC */
/* A command's environment while it is put together: NAME=VALUE words, of each name the last one
 * that was put. Owns its words. */
#pragma once
#include "base/error.h"
#include "command/account.h"

#include <stddef.h>

struct command_environment {
    char **words; /* NULL-terminated once anything was put */
    size_t count;
};

/* leaserun's own, less the LEASERUN_ words that name a store: they may hold a password. */
void command_environment_put_own(struct command_environment *environment, char *const *own);

/* HOME LOGNAME USER SHELL PATH, as cron(8) has them. */
void command_environment_put_account(struct command_environment *environment,
                                     const struct account *account, const char *shell);

/* The words of env, and the lines of a file: NAME=VALUE to the end of the line, nothing quoted;
 * empty lines and those that begin with # are left out. On a fault (ERROR_CONFIG) some may have
 * been put. */
bool command_environment_put_words(struct command_environment *environment, const char *words,
                                   struct error *err);
bool command_environment_put_file(struct command_environment *environment, const char *path,
                                  struct error *err);

/* One variable; value NULL: there is none of that name. */
void command_environment_put_variable(struct command_environment *environment, const char *name,
                                      const char *value);

void command_environment_done(struct command_environment *environment);
