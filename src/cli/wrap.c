/* SPDX-License-Identifier: ISC */
#include "cli/wrap.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int start_text(int indent, const char *name, int column)
{
    int used = *name == '\0' ? 0 : printf("%*s%s", indent, "", name);
    if (used > column - 2 && *name != '\0') {
        putchar('\n');
        used = 0;
    }
    printf("%*s", column - used, "");
    return column;
}

void wrap_print(int indent, const char *name, int column, const char *text)
{
    if (*text == '\0') {
        printf("%*s%s\n", indent, "", name);
        return;
    }
    int used = start_text(indent, name, column);
    bool is_first = true;
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (!is_first && used + 1 + length >= WRAP_COLUMNS) {
            printf("\n%*s", column, "");
            used = column;
            is_first = true;
        }
        used += printf("%s%.*s", is_first ? "" : " ", length, text);
        is_first = false;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}
