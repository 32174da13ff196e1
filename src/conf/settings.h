/* SPDX-License-Identifier: ISC */
/* What can be set: one table, whose rows stand by topic in settings_general.c, settings_run.c,
 * settings_job.c and settings_hook.c. The parser of leaserun.ini, that of the command line, their
 * complaints, help, sample and manual all read them. */
#pragma once
#include "base/error.h"
#include "conf/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose setting: decides which commands take it as an option, in which sections it is a key, and
 * which struct its offset is of. */
enum setting_group {
    SETTING_FILE,     /* every command that reads leaserun.ini; struct config */
    SETTING_STORE,    /* commands that use the store, [store]; struct config */
    SETTING_LOG,      /* run, [log]; struct config */
    SETTING_SCHEDULE, /* [schedule]; struct config */
    SETTING_RUN,      /* run, [defaults]; struct job */
    SETTING_JOB,      /* run, [defaults], [job NAME]; struct job */
    SETTING_TABLE,    /* [job NAME]; struct job */
    SETTING_COMMAND,  /* of one command alone, in commands.c; struct options */
};
#define SETTING_MASK(group) (1u << (group))
#define SETTING_OF_RUN      (SETTING_MASK(SETTING_RUN) | SETTING_MASK(SETTING_JOB))

enum setting_type {
    SETTING_TEXT,     /* char *, owned by the struct */
    SETTING_DURATION, /* int64_t, milliseconds */
    SETTING_COUNT,    /* int64_t */
    SETTING_SIZE,     /* int64_t, bytes */
    SETTING_SWITCH,   /* bool; as an option without argument */
    SETTING_CHOICE,   /* an enum or int */
};

struct setting {
    const char *option; /* without the dashes; NULL: not an option */
    char letter;        /* its short form beside it: "-n"; 0: none */
    const char *key;    /* in its group's section; NULL: not in leaserun.ini */
    enum setting_group group;
    enum setting_type type;
    size_t offset;        /* of the member in its group's struct */
    const char *argument; /* as help shows it: "DURATION"; NULL for a switch */
    const char *initial;  /* the default as text; NULL: none */
    int64_t least, most;  /* of a number; most 0: no upper bound */
    const char *word;     /* a word that a number may be instead; NULL: there is none */
    int64_t word_value;
    const struct value_choice *choices;
    bool (*check)(const char *value, struct error *err); /* of a text, what it must be; or NULL */
    const char *example; /* the value in the sample where there is no default */
    const char *help;    /* one line of help */
    const char *manual;  /* sentences for the manual */
    bool is_hidden;      /* not in help and manual */
};

/* The row behind previous, the first one for NULL; NULL behind the last. */
const struct setting *settings_next(const struct setting *previous);

/* The place of a row in that order, from 0; how many there are for NULL. */
size_t settings_number(const struct setting *setting);

/* A section of leaserun.ini. */
struct setting_section {
    const char *name;    /* "store"; "job": of [job NAME] */
    const char *title;   /* as help writes it: "job NAME" */
    const char *about;   /* sentences */
    unsigned groups;     /* whose keys may stand in it */
    unsigned told;       /* which of these help and manual tell of here, not at another section */
    const char *example; /* in the sample file, where it cannot stand without keys */
};
extern const struct setting_section settings_sections[]; /* ends with a row without name */

/* The section of a header, "store" or "job nightly"; NULL when there is none. */
const struct setting_section *settings_find_section(const char *header);

/* The row of a key in a section; NULL when there is none. */
const struct setting *settings_find_key(const struct setting_section *section, const char *key);

/* Of the keys of a section the one that is near to what was typed; NULL: none is. */
const char *settings_suggest_key(const struct setting_section *section, const char *key);

/* Puts a value into the member of the group's struct. The sentence of a value that does not fit
 * names neither key nor option: the caller puts that before it. */
bool settings_put(const struct setting *setting, const char *value, void *object,
                  struct error *err);

/* Whether a text setting would take the value. */
bool settings_check_text(const struct setting *setting, const char *value, struct error *err);

/* The default, where there is one. put_back: else nothing (0, false, NULL). */
void settings_put_back(const struct setting *setting, void *object);
void settings_put_initial(const struct setting *setting, void *object);

/* Bounds and default for help: "at least 5s, default 3m". "" when there is nothing to say. */
struct text;
void settings_describe(const struct setting *setting, struct text *out);
