/* SPDX-License-Identifier: ISC */
#include "command/account.h"

#include "base/mem.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRY_MOST 1048576 /* a group may have very many members */

/* getpwnam_r(3) and its like, as one shape. They return 0 with no entry, or an errno. */
typedef int (*entry_look)(const void *what, void *entry, char *buffer, size_t room, void *found);

static int look_user_name(const void *what, void *entry, char *buffer, size_t room, void *found)
{
    return getpwnam_r(what, entry, buffer, room, found);
}

static int look_user_number(const void *what, void *entry, char *buffer, size_t room, void *found)
{
    return getpwuid_r(*(const uid_t *)what, entry, buffer, room, found);
}

static int look_group_name(const void *what, void *entry, char *buffer, size_t room, void *found)
{
    return getgrnam_r(what, entry, buffer, room, found);
}

/* Fills entry, whose texts are in *ret_buffer, which the caller frees. Returns 0, ENOENT when there
 * is no such entry, or what kept the database from answering. */
static int look(entry_look ask, const void *what, void *entry, char **ret_buffer)
{
    void *found = NULL;
    int rc = ERANGE;
    *ret_buffer = NULL;
    for (size_t room = 1024; rc == ERANGE && room <= ENTRY_MOST; room *= 4) {
        *ret_buffer = mem_grow(*ret_buffer, room, 1);
        rc = ask(what, entry, *ret_buffer, room, &found);
    }
    return rc != 0 ? rc : found == NULL ? ENOENT : 0;
}

static bool parse_number(const char *text, uint32_t *ret_number)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *ret_number = (uint32_t)value;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value < UINT32_MAX;
}

static bool refuse_unknown(struct error *err, int rc, const char *kind, const char *name)
{
    /* Some databases say this where they mean that there is none. */
    if (rc == ENOENT || rc == ESRCH || rc == EBADF || rc == EPERM)
        return error_set(err, ERROR_CONFIG, "there is no %s \"%s\" on this host", kind, name);
    return error_set_errno(err, ERROR_SYSTEM, rc, "the %s \"%s\" cannot be looked up", kind, name);
}

static bool find_user(struct account *account, const char *user, bool has_group, struct error *err)
{
    struct passwd entry;
    MEM_AUTOFREE char *texts = NULL;
    uint32_t number;
    int rc = look(look_user_name, user, &entry, &texts);
    if (rc == ENOENT && parse_number(user, &number)) {
        free(texts);
        rc = look(look_user_number, &number, &entry, &texts);
        if (rc == ENOENT && !has_group)
            return error_set(err, ERROR_CONFIG,
                             "no database of users knows the number %s: give it a group", user);
        if (rc == ENOENT) {
            account->uid = number;
            account->name = mem_strdup(user);
            account->home = mem_strdup("/");
            return true;
        }
    }
    if (rc != 0)
        return refuse_unknown(err, rc, "user", user);
    account->uid = entry.pw_uid;
    account->gid = entry.pw_gid;
    account->name = mem_strdup(entry.pw_name);
    account->home = mem_strdup(entry.pw_dir[0] == '\0' ? "/" : entry.pw_dir);
    return true;
}

static bool find_group(struct account *account, const char *group, struct error *err)
{
    struct group entry;
    MEM_AUTOFREE char *texts = NULL;
    uint32_t number;
    int rc = look(look_group_name, group, &entry, &texts);
    if (rc == 0)
        account->gid = entry.gr_gid;
    else if (rc == ENOENT && parse_number(group, &number))
        account->gid = number;
    else
        return refuse_unknown(err, rc, "group", group);
    return true;
}

static void find_groups_of(struct account *account)
{
    int count = 16, rc = -1;
    for (int tries = 0; rc < 0 && tries < 4; tries++) { /* it may grow meanwhile */
        account->groups = mem_grow(account->groups, (size_t)count, sizeof *account->groups);
        rc = getgrouplist(account->name, account->gid, account->groups, &count);
    }
    account->group_count = rc < 0 ? 0 : (size_t)count;
}

static void keep_own_groups(struct account *account)
{
    int count = getgroups(0, NULL);
    account->groups = mem_array((size_t)(count < 0 ? 0 : count) + 1, sizeof *account->groups);
    count = getgroups(count, account->groups);
    account->group_count = count < 0 ? 0 : (size_t)count;
}

/* Root may be without it, in a container; others may have it. */
static bool may_change(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    const uint32_t both = 1U << CAP_SETUID | 1U << CAP_SETGID;
    return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective & both) == both;
}

static bool settle_change(struct account *account, struct error *err)
{
    account->is_change = may_change();
    if (account->is_change || (account->uid == getuid() && account->gid == getgid()))
        return true;
    return error_set(err, ERROR_CONFIG,
                     "leaserun runs as user %lu, group %lu, and may not run a command as user %lu, "
                     "group %lu: start it as root, with CAP_SETUID and CAP_SETGID",
                     (unsigned long)getuid(), (unsigned long)getgid(), (unsigned long)account->uid,
                     (unsigned long)account->gid);
}

bool account_find(struct account *ret_account, const char *user, const char *group,
                  struct error *err)
{
    struct account account = {.uid = getuid(), .gid = getgid()};
    bool is_found = (user == NULL || find_user(&account, user, group != NULL, err)) &&
                    (group == NULL || find_group(&account, group, err)) &&
                    settle_change(&account, err);
    if (!is_found) {
        account_done(&account);
        return false;
    }
    if (user != NULL)
        find_groups_of(&account);
    else
        keep_own_groups(&account);
    *ret_account = account;
    return true;
}

void account_done(struct account *account)
{
    free(account->groups);
    free(account->name);
    free(account->home);
    *account = (struct account){0};
}
