/* SPDX-License-Identifier: ISC */
/* Rows of a tab separated file in data/. Lines that begin with "# " are its legend. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#define LINES_COLUMNS_MAX 8

struct lines {
    char path[256];
    FILE *file;
    char *line;
    size_t room;
    int number;    /* of the line */
    int row_count; /* so far */
    char *columns[LINES_COLUMNS_MAX];
    int column_count;
};

/* CRON_TEST_DATA is the folder. Ends the test when there is no such file. */
void lines_open(struct lines *lines, const char *name);

/* The next row, with at least so many columns; false at the end. In the first one \t, \n and \r
 * stand for characters, and blanks at its ends belong to it. */
bool lines_next(struct lines *lines, int least_columns);

void lines_close(struct lines *lines);
