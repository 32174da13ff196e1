/* SPDX-License-Identifier: ISC */
/* What is wrong in one or more files, gathered: a sentence each, by file and line. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct ini_fault {
    size_t file;
    int line; /* 0: of the file as a whole */
    char *text;
};

struct ini_faults {
    char **files; /* in the order in which they were read */
    size_t file_count;
    size_t file; /* to which faults are added */
    struct ini_fault *faults;
    size_t count, room;
};

/* Faults that are added from now on are of this file, which was not read before. Returns its
 * number, with which ini_faults_turn_to comes back to it. */
size_t ini_faults_begin_file(struct ini_faults *faults, const char *path);
void ini_faults_turn_to(struct ini_faults *faults, size_t file);

/* The same by path, which may be a new one. Quick when it is the same as before. */
void ini_faults_turn_to_path(struct ini_faults *faults, const char *path);

/* Always returns false. */
bool ini_faults_add(struct ini_faults *faults, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* By file and line; faults of one line stay in the order in which they were added. */
void ini_faults_sort(struct ini_faults *faults);

/* "FILE:LINE: sentence", "FILE: sentence" without a line. The caller frees. */
char *ini_faults_sentence(const struct ini_faults *faults, size_t index);

/* "FILE:LINE", or "line N" when that is the file to which faults are added. The caller frees. */
char *ini_faults_place(const struct ini_faults *faults, size_t file, int line);
void ini_faults_done(struct ini_faults *faults);
