/* SPDX-License-Identifier: ISC */
/* From the entries of one or more ini files to a struct config. Inside conf/ only. */
#pragma once
#include "conf/config.h"
#include "conf/ini_text.h"
#include "conf/settings.h"

struct config_reader {
    struct config *config;
    struct ini_faults *faults;
    struct config_place {
        size_t file;
        int line; /* 0: it was not read */
    } * places;   /* of each setting, in the order of settings_next */
};

void config_reader_init(struct config_reader *reader, struct config *config,
                        struct ini_faults *faults);

/* Adds a fault for every section that leaserun.ini does not have, and for every key or value of
 * [store], [log], [schedule] and [defaults] that does not fit or stood in another file; puts all
 * others into the config. Leaves out the sections whose bits are in left_out, and [job NAME]. The
 * text is of the file to which faults are added. */
void config_reader_take(struct config_reader *reader, const struct ini_text *text,
                        unsigned left_out);

/* When all files were taken: what no single key shows. */
void config_reader_finish(struct config_reader *reader);

/* A bit for each row of settings_sections that stands in the text. */
unsigned config_reader_sections(const struct ini_text *text);

/* settings_put; a value that does not fit is added as a fault of its line. */
bool config_reader_put(const struct setting *setting, const struct ini_entry *entry, void *object,
                       struct ini_faults *faults);
bool config_reader_refuse_key(const struct setting_section *section, const char *header,
                              const struct ini_entry *entry, struct ini_faults *faults);
