/* SPDX-License-Identifier: ISC */
#include "conf/suggest.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LENGTH_MAX 32

static int least(int a, int b)
{
    return a < b ? a : b;
}

static bool is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements and swaps of neighbours between the two. */
static int distance(const char *a, const char *b)
{
    int cost[LENGTH_MAX + 1][LENGTH_MAX + 1];
    int rows = (int)strlen(a);
    int columns = (int)strlen(b);
    if (rows > LENGTH_MAX || columns > LENGTH_MAX)
        return LENGTH_MAX;
    for (int i = 0; i <= rows; i++)
        cost[i][0] = i;
    for (int j = 0; j <= columns; j++)
        cost[0][j] = j;
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j <= columns; j++) {
            int replaced = cost[i - 1][j - 1] + !is_same(a[i - 1], b[j - 1]);
            cost[i][j] = least(replaced, 1 + least(cost[i - 1][j], cost[i][j - 1]));
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1]))
                cost[i][j] = least(cost[i][j], 1 + cost[i - 2][j - 2]);
        }
    return cost[rows][columns];
}

/* A name that was not finished, or has the rest of another behind it, is near too. */
static int judge(const char *typed, const char *name)
{
    size_t length = strlen(typed);
    if (length >= 3 && strncmp(typed, name, length) == 0)
        return 1;
    int edits = distance(typed, name);
    int allowed = least(3, (int)(strlen(name) + 2) / 3);
    return edits <= allowed ? edits : LENGTH_MAX;
}

const char *suggest_nearer(const char *typed, const char *nearest, const char *candidate)
{
    int best = nearest == NULL ? LENGTH_MAX : judge(typed, nearest);
    return judge(typed, candidate) < best ? candidate : nearest;
}

bool suggest_add(struct error *err, const char *nearest, const char *prefix)
{
    if (nearest == NULL)
        return false;
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, "; did you mean %s%s?", prefix, nearest);
    return false;
}
