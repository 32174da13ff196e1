/* SPDX-License-Identifier: ISC */
/* Lines of crontab files, as cron and as supercronic read them. A line comes to its parts; what
 * they mean here is for whoever asks. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum crontab_format {
    CRONTAB_CRON,        /* Debian's crontab(5), and what cronie adds */
    CRONTAB_SUPERCRONIC, /* 5 fields, 6 with a year behind, 7 with seconds and year; no % */
};

enum crontab_kind {
    CRONTAB_BLANK,
    CRONTAB_COMMENT,
    CRONTAB_VARIABLE,
    CRONTAB_JOB,
    CRONTAB_FAULT, /* neither, or what cannot be a job here */
};

struct crontab_line {
    enum crontab_kind kind;
    char *text;     /* CRONTAB_COMMENT: with its "#"; CRONTAB_FAULT: why, in a sentence */
    char *name;     /* CRONTAB_VARIABLE */
    char *value;    /* CRONTAB_VARIABLE, without its quotes */
    char *schedule; /* CRONTAB_JOB: cron_parse takes it, and it means the same */
    char *user;     /* CRONTAB_JOB with a column for it; NULL without */
    char *command;  /* CRONTAB_JOB: for the shell, without the backslashes that cron takes off */
    char *input;    /* CRONTAB_JOB: what the command gets on its standard input, with newlines; ""
                       when that is empty, NULL when nothing was said */
    bool is_quiet;  /* CRONTAB_JOB: a "-" stood before it, cronie's wish not to log it */
};

/* Takes a line of `length` bytes without its newline apart. Always fills *ret_line, which
 * crontab_line_done gives back. */
void crontab_line_parse(const char *bytes, size_t length, enum crontab_format format,
                        bool has_user_column, struct crontab_line *ret_line);
void crontab_line_done(struct crontab_line *line);
