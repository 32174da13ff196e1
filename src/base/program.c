/* SPDX-License-Identifier: ISC */
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GUARD "leaserun-guard"

/* After an upgrade the link reads ".../leaserun (deleted)": the folder is right all the same. */
static bool read_own_folder(char *ret_folder, size_t room, struct error *err)
{
    ssize_t length = readlink("/proc/self/exe", ret_folder, room - 1);
    if (length < 0)
        return error_set_errno(err, ERROR_SYSTEM, errno,
                               "cannot read /proc/self/exe (is /proc mounted?)");
    ret_folder[length] = '\0';
    char *slash = strrchr(ret_folder, '/');
    if (slash == NULL)
        return error_set(err, ERROR_SYSTEM, "/proc/self/exe names no file: \"%s\"", ret_folder);
    *slash = '\0';
    return true;
}

static bool has_guard(const char *folder)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/" GUARD, folder);
    return access(path, X_OK) == 0;
}

bool program_folder(char *ret_path, size_t room, struct error *err)
{
    char own[PATH_MAX];
    char installed[PATH_MAX + 32];
    if (!read_own_folder(own, sizeof own, err))
        return false;
    snprintf(installed, sizeof installed, "%s/../libexec/leaserun", own);
    const char *found = has_guard(own) ? own : has_guard(installed) ? installed : NULL;
    if (found == NULL)
        return error_set(err, ERROR_SYSTEM,
                         "the program " GUARD " is neither in %s nor in %s: is leaserun installed "
                         "completely?",
                         own, installed);
    if ((size_t)snprintf(ret_path, room, "%s", found) >= room)
        return error_set(err, ERROR_SYSTEM, "the path of %s is too long", found);
    return true;
}

int program_self_fd(void)
{
    return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}
