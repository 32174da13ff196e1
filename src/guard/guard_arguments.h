/* SPDX-License-Identifier: ISC */
/* How the guard is started (guard_protocol.h): numbers and words from argv. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* argv's word for the fence, long enough for every int64_t. */
#define GUARD_FENCE_WORD "fence=00000000000000000000"

struct guard_arguments {
    const char *key;
    char *fence_word; /* within argv */
    int socket_fd, store_fd, leaserun_fd, setup_fd;
    char **command; /* within argv, NULL at its end */
};

/* False when this is not how leaserun starts a guard. */
bool guard_arguments_parse(struct guard_arguments *ret_arguments, int argc, char **argv);

/* Writes the fence over the digits of fence_word, where ps(1) sees it. */
void guard_arguments_show_fence(struct guard_arguments *arguments, int64_t fence);
