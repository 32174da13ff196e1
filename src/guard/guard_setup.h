/* SPDX-License-Identifier: ISC */
/* What the command's process makes of itself before it becomes the command. leaserun, which knows
 * users by name, writes it into a memfd and hands that to the guard: numbers alone, and in no
 * argv. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guard_setup {
    int32_t stdin_fd;             /* to stand as 0; 0: what the guard has there */
    int32_t stdout_fd, stderr_fd; /* to stand as 1 and 2; -1: what the guard has there */
    int32_t umask;                /* -1: the guard's */
    bool takes_account;           /* uid, gid and groups */
    bool is_cwd_optional;         /* / will do where cwd cannot be entered */
    uid_t uid;
    gid_t gid;
    uint32_t group_count;
    gid_t *groups;
    char *cwd; /* NULL: where the guard is */
};

/* False, with errno, when the memory cannot be had. */
bool guard_setup_write(int fd, const struct guard_setup *setup);

/* False when there is no such thing. guard_setup_done gives back what it owns. */
bool guard_setup_read(struct guard_setup *ret_setup, int fd);
void guard_setup_done(struct guard_setup *setup);

/* Closes stdin_fd, stdout_fd and stderr_fd, once the command has them. */
void guard_setup_let_go(struct guard_setup *setup);
