/* SPDX-License-Identifier: ISC */
/* Whom a command runs as, as the system's databases of users and groups have it at this moment.
 * They are asked here and never by the guard, which is linked statically; an answer may take
 * seconds (a directory service), so the loop does not ask: command_plan_ask does it in the pool. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct account {
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* supplementary ones */
    size_t group_count;
    char *name, *home;
    bool is_change; /* false: it is what this process is already, and has no right to set anew */
};

/* user is a name, or a number (one that no database knows needs a group with it); NULL stays who
 * this process is. group takes the place of the user's own; NULL is that one. Fails
 * (ERROR_CONFIG) when either is unknown, and when this process may not become that. */
bool account_find(struct account *ret_account, const char *user, const char *group,
                  struct error *err);
void account_done(struct account *account);
