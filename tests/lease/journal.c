/* SPDX-License-Identifier: ISC */
#include "journal.h"

#include "base/now.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct text lines;

void journal_start(void)
{
    now_freeze(JOURNAL_START_BOOT_MS, JOURNAL_START_WALL_US);
    text_clear(&lines);
}

void journal_done(void)
{
    text_done(&lines);
}

void journal_add(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_addf(&lines, "%" PRId64 " %s\n", journal_ms(now_boot_ms()), line);
}

const char *journal_text(void)
{
    return text_string(&lines);
}

int journal_count(const char *part)
{
    int count = 0;
    for (const char *at = journal_text(); (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

int64_t journal_ms(int64_t boot_ms)
{
    return boot_ms - JOURNAL_START_BOOT_MS;
}
