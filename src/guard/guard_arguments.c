/* SPDX-License-Identifier: ISC */
#include "guard/guard_arguments.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROGRAM,
    KEY,
    FENCE,
    SOCKET,
    STORE,
    LEASERUN,
    SETUP,
    DASHES,
    COMMAND
};

static bool parse_fd(const char *word, int *ret_fd)
{
    char *end;
    long value = strtol(word, &end, 10);
    *ret_fd = (int)value;
    return end != word && *end == '\0' && value > 2 && value < INT_MAX;
}

bool guard_arguments_parse(struct guard_arguments *ret_arguments, int argc, char **argv)
{
    if (argc <= COMMAND || strcmp(argv[DASHES], "--") != 0 ||
        strcmp(argv[FENCE], GUARD_FENCE_WORD) != 0)
        return false;
    ret_arguments->key = argv[KEY];
    ret_arguments->fence_word = argv[FENCE];
    ret_arguments->command = argv + COMMAND;
    return parse_fd(argv[SOCKET], &ret_arguments->socket_fd) &&
           parse_fd(argv[STORE], &ret_arguments->store_fd) &&
           parse_fd(argv[LEASERUN], &ret_arguments->leaserun_fd) &&
           parse_fd(argv[SETUP], &ret_arguments->setup_fd);
}

void guard_arguments_show_fence(struct guard_arguments *arguments, int64_t fence)
{
    char digits[sizeof GUARD_FENCE_WORD];
    if (fence > 0)
        snprintf(digits, sizeof digits, "fence=%020" PRId64, fence);
    else
        snprintf(digits, sizeof digits, "fence=%-20s", "none");
    memcpy(arguments->fence_word, digits, strlen(arguments->fence_word));
}
