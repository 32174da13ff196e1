/* SPDX-License-Identifier: ISC */
#include "guard/guard_account.h"

#include "base/mem.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel does so by itself unless it was told not to (SECBIT_KEEP_CAPS), and never for the
 * inheritable ones. What a set-user-ID program may give (the bounding set) stays as it was. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    static const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
           syscall(SYS_capset, &header, none) == 0;
}

static bool has_capability(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, sets) != 0)
        return true;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        if ((sets[i].effective | sets[i].permitted | sets[i].inheritable) != 0)
            return true;
    return false;
}

static bool contains(const gid_t *groups, uint32_t count, gid_t group)
{
    for (uint32_t i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return false;
}

/* Not one that was not meant; the kernel keeps them in an order of its own. */
static bool has_meant_groups(const struct guard_setup *setup)
{
    int count = getgroups(0, NULL);
    if (count < 0)
        return false;
    MEM_AUTOFREE gid_t *groups = mem_array((size_t)count, sizeof *groups);
    if (getgroups(count, groups) != count)
        return false;
    for (int i = 0; i < count; i++)
        if (!contains(setup->groups, setup->group_count, groups[i]))
            return false;
    return true;
}

static bool has_meant_numbers(const struct guard_setup *setup)
{
    uid_t uids[3];
    gid_t gids[3];
    if (getresuid(&uids[0], &uids[1], &uids[2]) != 0 ||
        getresgid(&gids[0], &gids[1], &gids[2]) != 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (uids[i] != setup->uid || gids[i] != setup->gid)
            return false;
    return true;
}

static bool can_go_back(const struct guard_setup *setup)
{
    bool is_other_gid = setup->gid != 0;
    return has_capability() || setuid(0) == 0 || seteuid(0) == 0 || setgroups(0, NULL) == 0 ||
           (is_other_gid && (setgid(0) == 0 || setegid(0) == 0));
}

bool guard_account_take(const struct guard_setup *setup)
{
    bool is_root = setup->uid == 0;
    if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0 ||
        setgroups(setup->group_count, setup->groups) != 0 ||
        setresgid(setup->gid, setup->gid, setup->gid) != 0 ||
        setresuid(setup->uid, setup->uid, setup->uid) != 0 || (!is_root && !drop_capabilities()))
        return false;
    errno = EPERM;
    return has_meant_numbers(setup) && has_meant_groups(setup) && (is_root || !can_go_back(setup));
}
