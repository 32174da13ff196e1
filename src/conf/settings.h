/* SPDX-License-Identifier: ISC */
/* What can be set: settings[] in settings.c is the one table. The parser of leaserun.ini, that of
 * the command line, their complaints, help, sample and manual all read its rows. */
#pragma once
#include "base/error.h"
#include "conf/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose setting: decides which commands take it as an option, in which section it is a key, and
 * which struct its offset is of. */
enum setting_group {
    SETTING_FILE,    /* every command that reads leaserun.ini; struct config */
    SETTING_STORE,   /* commands that use the store, [store]; struct config */
    SETTING_LOG,     /* run, [log]; struct config */
    SETTING_JOB,     /* run, [defaults]; struct job */
    SETTING_COMMAND, /* of one command alone, in commands.c; struct options */
    SETTING_GROUP_COUNT
};
#define SETTING_MASK(group) (1u << (group))

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
    const char *key;    /* in its group's section; NULL: not in leaserun.ini */
    enum setting_group group;
    enum setting_type type;
    size_t offset;        /* of the member in its group's struct */
    const char *argument; /* as help shows it: "DURATION"; NULL for a switch */
    const char *initial;  /* the default as text; NULL: none */
    int64_t least, most;  /* of a number; most 0: no upper bound */
    const char *endless;  /* a word for "without end" (INT64_MAX); NULL: there is none */
    const struct value_choice *choices;
    const char *example; /* the value in the sample where there is no default */
    const char *help;    /* one line of help */
    const char *manual;  /* sentences for the manual */
    bool is_hidden;      /* not in help and manual */
};

extern const struct setting settings[];
extern const size_t settings_count;

/* Section of a group in leaserun.ini ("store"), NULL for none; and one sentence on the section. */
const char *settings_section(enum setting_group group);
const char *settings_section_about(enum setting_group group);

/* The row of a key in a section; NULL when there is none. */
const struct setting *settings_find_key(const char *section, const char *key);

/* Puts a value into the member of the group's struct. The sentence of a value that does not fit
 * names neither key nor option: the caller puts that before it. */
bool settings_put(const struct setting *setting, const char *value, void *object,
                  struct error *err);
void settings_put_initial(const struct setting *setting, void *object);

/* Bounds and default for help: "at least 5s, default 3m". "" when there is nothing to say. */
struct text;
void settings_describe(const struct setting *setting, struct text *out);
