/* SPDX-License-Identifier: ISC */
#include "zones.h"

#include "check.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ZONES_MAX 2000

static char *names[ZONES_MAX];
static size_t count;

static int gather(const char *path, const struct stat *status, int type, struct FTW *at)
{
    char magic[4] = "";
    (void)status;
    (void)at;
    if ((type != FTW_F && type != FTW_SL) || count == ZONES_MAX)
        return 0;
    const char *name = path + strlen(ZONES_FOLDER) + 1;
    if (strncmp(name, "right/", 6) == 0 || strncmp(name, "posix/", 6) == 0 ||
        strchr(name, '.') != NULL)
        return 0;
    FILE *file = fopen(path, "re");
    if (file != NULL && fread(magic, 1, sizeof magic, file) == sizeof magic &&
        memcmp(magic, "TZif", 4) == 0)
        names[count++] = strdup(name);
    if (file != NULL)
        fclose(file);
    return 0;
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

const char *const *zones_all(size_t *ret_count)
{
    if (count == 0) {
        nftw(ZONES_FOLDER, gather, 16, FTW_PHYS);
        qsort(names, count, sizeof names[0], compare);
    }
    *ret_count = count;
    return (const char *const *)names;
}

void zones_use(const char *name)
{
    setenv("TZ", name, 1);
    tzset();
}

static uint64_t state;

void zones_seed(void)
{
    const char *given = getenv("CRON_TEST_SEED");
    state = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    printf("# CRON_TEST_SEED=%" PRIu64 "\n", state);
}

int64_t zones_random(int64_t least, int64_t most)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = state;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    mixed ^= mixed >> 31;
    return least + (int64_t)(mixed % (uint64_t)(most - least + 1));
}
