/* SPDX-License-Identifier: ISC */
#include "lines.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

void lines_open(struct lines *lines, const char *name)
{
    const char *folder = getenv("CRON_TEST_DATA");
    *lines = (struct lines){0};
    assert_non_null(folder);
    snprintf(lines->path, sizeof lines->path, "%s/%s", folder, name);
    lines->file = fopen(lines->path, "re");
    assert_non_null(lines->file);
}

static void unescape(char *text)
{
    static const char letters[] = "tnr\\", characters[] = "\t\n\r\\";
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        const char *letter = *from == '\\' && from[1] != '\0' ? strchr(letters, from[1]) : NULL;
        if (letter != NULL)
            from++;
        *to++ = letter != NULL ? characters[letter - letters] : *from;
    }
    *to = '\0';
}

bool lines_next(struct lines *lines, int least_columns)
{
    ssize_t length;
    do {
        length = getline(&lines->line, &lines->room, lines->file);
        if (length < 0)
            return false;
        lines->number++;
    } while (strncmp(lines->line, "# ", 2) == 0);
    lines->line[strcspn(lines->line, "\n")] = '\0';
    lines->column_count = 0;
    for (char *at = lines->line; at != NULL && lines->column_count < LINES_COLUMNS_MAX;)
        lines->columns[lines->column_count++] = strsep(&at, "\t");
    assert_true(lines->column_count >= least_columns);
    unescape(lines->columns[0]);
    lines->row_count++;
    return true;
}

void lines_close(struct lines *lines)
{
    fclose(lines->file);
    free(lines->line);
}
