/* SPDX-License-Identifier: ISC */
#include "base/error.h"
#include "base/mem.h"
#include "conf/ini_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ini_faults_add(struct ini_faults *faults, int line, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_fold_line(text);
    faults->faults = mem_grow(faults->faults, faults->count + 1, sizeof *faults->faults);
    size_t at = faults->count;
    while (at > 0 && faults->faults[at - 1].line > line)
        at--;
    memmove(faults->faults + at + 1, faults->faults + at,
            (faults->count - at) * sizeof *faults->faults);
    faults->faults[at] = (struct ini_fault){line, mem_strdup(text)};
    faults->count++;
    return false;
}

char *ini_faults_sentence(const struct ini_faults *faults, size_t index)
{
    const struct ini_fault *fault = &faults->faults[index];
    const char *path = faults->path == NULL ? "leaserun.ini" : faults->path;
    if (fault->line == 0)
        return mem_printf("%s: %s", path, fault->text);
    return mem_printf("%s:%d: %s", path, fault->line, fault->text);
}

void ini_faults_done(struct ini_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        free(faults->faults[i].text);
    free(faults->faults);
    free(faults->path);
    *faults = (struct ini_faults){0};
}
