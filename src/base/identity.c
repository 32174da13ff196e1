/* SPDX-License-Identifier: ISC */
#include "base/identity.h"

#include "base/now.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIME_DIGITS 11 /* 5 bits each: until the year 3111 */

/* Reads a small file of /proc whole; "" when it cannot be read. */
static void read_file(const char *path, char *ret_text, size_t room)
{
    ssize_t count = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        count = read(fd, ret_text, room - 1);
        close(fd);
    }
    ret_text[count < 0 ? 0 : count] = '\0';
}

void identity_host(char *ret_host, size_t room)
{
    char name[HOST_NAME_MAX + 1] = "";
    if (gethostname(name, sizeof name) != 0 || name[0] == '\0')
        strcpy(name, "localhost");
    name[HOST_NAME_MAX] = '\0';
    snprintf(ret_host, room, "%.64s", name);
    for (char *c = ret_host; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~' || *c == '/')
            *c = '_';
}

void identity_holder(char ret_holder[IDENTITY_HOLDER_MAX])
{
    char host[65];
    char nonce[RANDOM_NONCE_CHARS + 1];
    identity_host(host, sizeof host);
    random_nonce(nonce);
    snprintf(ret_holder, IDENTITY_HOLDER_MAX, "%s/%d/%s", host, (int)getpid(), nonce);
}

void identity_run_id(char ret_run_id[IDENTITY_RUN_ID_MAX])
{
    static const char in_order[] = "234567abcdefghijklmnopqrstuvwxyz"; /* the nonce's digits */
    uint64_t time = (uint64_t)now_wall_us();
    random_nonce(ret_run_id);
    for (int i = TIME_DIGITS - 1; i >= 0; i--, time >>= 5)
        ret_run_id[i] = in_order[time & 31];
}

void identity_boot_id(char *ret_boot_id, size_t room)
{
    read_file("/proc/sys/kernel/random/boot_id", ret_boot_id, room);
    ret_boot_id[strcspn(ret_boot_id, "\n")] = '\0';
}

uint64_t identity_namespace(const char *name)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    return stat(path, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

bool identity_proc_is_ours(void)
{
    char link[32];
    ssize_t length = readlink("/proc/self", link, sizeof link - 1);
    if (length <= 0)
        return false;
    link[length] = '\0';
    return strtoll(link, NULL, 10) == getpid();
}

int64_t identity_start_ticks(int64_t pid)
{
    char path[64];
    char line[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    read_file(path, line, sizeof line);
    /* The name in field 2 may hold blanks and brackets: count from its last bracket. */
    char *field = strrchr(line, ')');
    if (field == NULL || field[1] == '\0' || field[2] == 'Z' || field[2] == 'X')
        return -1;
    for (int number = 2; number < 22; number++) {
        field = strchr(field + 1, ' ');
        if (field == NULL)
            return -1;
    }
    return strtoll(field + 1, NULL, 10);
}
