/* SPDX-License-Identifier: ISC */
#include "guard/guard_setup.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS_MOST 65536 /* NGROUPS_MAX */

/* The struct, whose pointers mean nothing, the groups, and cwd with its NUL ("" for none). */
bool guard_setup_write(int fd, const struct guard_setup *setup)
{
    const char *cwd = setup->cwd == NULL ? "" : setup->cwd;
    size_t groups_size = setup->group_count * sizeof *setup->groups, cwd_size = strlen(cwd) + 1;
    return write(fd, setup, sizeof *setup) == (ssize_t)sizeof *setup &&
           (groups_size == 0 || write(fd, setup->groups, groups_size) == (ssize_t)groups_size) &&
           write(fd, cwd, cwd_size) == (ssize_t)cwd_size && lseek(fd, 0, SEEK_SET) == 0;
}

static bool read_groups(struct guard_setup *setup, int fd)
{
    size_t size = setup->group_count * sizeof *setup->groups;
    if (setup->group_count > GROUPS_MOST)
        return false;
    setup->groups = mem_array(setup->group_count, sizeof *setup->groups);
    return read(fd, setup->groups, size) == (ssize_t)size;
}

static bool read_cwd(struct guard_setup *setup, int fd)
{
    off_t at = lseek(fd, 0, SEEK_CUR), end = lseek(fd, 0, SEEK_END);
    if (at < 0 || end <= at || lseek(fd, at, SEEK_SET) != at)
        return false;
    size_t size = (size_t)(end - at);
    setup->cwd = mem_alloc(size + 1);
    if (read(fd, setup->cwd, size) != (ssize_t)size)
        return false;
    if (setup->cwd[0] == '\0') {
        free(setup->cwd);
        setup->cwd = NULL;
    }
    return true;
}

bool guard_setup_read(struct guard_setup *ret_setup, int fd)
{
    if (read(fd, ret_setup, sizeof *ret_setup) != (ssize_t)sizeof *ret_setup) {
        *ret_setup = (struct guard_setup){0};
        return false;
    }
    ret_setup->groups = NULL;
    ret_setup->cwd = NULL;
    return read_groups(ret_setup, fd) && read_cwd(ret_setup, fd);
}

void guard_setup_let_go(struct guard_setup *setup)
{
    if (setup->stdin_fd > 0)
        close(setup->stdin_fd);
    if (setup->stdout_fd >= 0)
        close(setup->stdout_fd);
    if (setup->stderr_fd >= 0 && setup->stderr_fd != setup->stdout_fd)
        close(setup->stderr_fd);
    setup->stdin_fd = 0;
    setup->stdout_fd = setup->stderr_fd = -1;
}

void guard_setup_done(struct guard_setup *setup)
{
    free(setup->groups);
    free(setup->cwd);
    *setup = (struct guard_setup){.stdout_fd = -1, .stderr_fd = -1, .umask = -1};
}
