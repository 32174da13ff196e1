/* SPDX-License-Identifier: ISC */
#include "conf/ini_faults.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t ini_faults_begin_file(struct ini_faults *faults, const char *path)
{
    faults->files = mem_grow(faults->files, faults->file_count + 1, sizeof(char *));
    faults->files[faults->file_count] = mem_strdup(path);
    faults->file = faults->file_count++;
    return faults->file;
}

void ini_faults_turn_to(struct ini_faults *faults, size_t file)
{
    faults->file = file;
}

void ini_faults_turn_to_path(struct ini_faults *faults, const char *path)
{
    if (faults->file < faults->file_count && strcmp(faults->files[faults->file], path) == 0)
        return;
    for (size_t i = 0; i < faults->file_count; i++)
        if (strcmp(faults->files[i], path) == 0) {
            faults->file = i;
            return;
        }
    ini_faults_begin_file(faults, path);
}

bool ini_faults_add(struct ini_faults *faults, int line, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_fold_line(text);
    if (faults->count == faults->room) {
        faults->room = faults->room == 0 ? 16 : faults->room * 2;
        faults->faults = mem_grow(faults->faults, faults->room, sizeof *faults->faults);
    }
    faults->faults[faults->count++] = (struct ini_fault){faults->file, line, mem_strdup(text)};
    return false;
}

static bool is_behind(const struct ini_fault *a, const struct ini_fault *b)
{
    return a->file != b->file ? a->file > b->file : a->line > b->line;
}

/* Merges two neighbouring runs, of which each is in order; what is equal keeps its order. */
static void merge(struct ini_fault *faults, size_t middle, size_t end, struct ini_fault *room)
{
    size_t left = 0, right = middle;
    for (size_t i = 0; i < end; i++) {
        bool is_right = left == middle || (right < end && is_behind(&faults[left], &faults[right]));
        room[i] = is_right ? faults[right++] : faults[left++];
    }
    memcpy(faults, room, end * sizeof *faults);
}

void ini_faults_sort(struct ini_faults *faults)
{
    struct ini_fault *room = mem_array(faults->count, sizeof *room);
    for (size_t step = 1; step < faults->count; step *= 2)
        for (size_t at = 0; at + step < faults->count; at += 2 * step) {
            size_t left = faults->count - at;
            merge(faults->faults + at, step, left < 2 * step ? left : 2 * step, room);
        }
    free(room);
}

static const char *path_of(const struct ini_faults *faults, size_t file)
{
    return file < faults->file_count ? faults->files[file] : "leaserun.ini";
}

char *ini_faults_sentence(const struct ini_faults *faults, size_t index)
{
    const struct ini_fault *fault = &faults->faults[index];
    const char *path = path_of(faults, fault->file);
    if (fault->line == 0)
        return mem_printf("%s: %s", path, fault->text);
    return mem_printf("%s:%d: %s", path, fault->line, fault->text);
}

char *ini_faults_place(const struct ini_faults *faults, size_t file, int line)
{
    if (file == faults->file)
        return mem_printf("line %d", line);
    return mem_printf("%s:%d", path_of(faults, file), line);
}

void ini_faults_done(struct ini_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        free(faults->faults[i].text);
    for (size_t i = 0; i < faults->file_count; i++)
        free(faults->files[i]);
    free(faults->faults);
    free(faults->files);
    *faults = (struct ini_faults){0};
}
