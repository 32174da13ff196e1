/* SPDX-License-Identifier: ISC */
/* leaserun.ini: any bytes. What is accepted is written out and read again, and is the same; a table
 * of jobs is whole or empty. */
#include "base/text.h"
#include "base/utf8.h"
#include "conf/config.h"
#include "conf/ini_text.h"
#include "conf/job_table.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_faults(const struct ini_faults *faults)
{
    int line = 0;
    for (size_t i = 0; i < faults->count; i++) {
        char *sentence = ini_faults_sentence(faults, i);
        FUZZ_CHECK(faults->faults[i].line >= line);
        FUZZ_CHECK(faults->faults[i].text[0] != '\0');
        FUZZ_CHECK(fuzz_is_one_line(sentence));
        line = faults->faults[i].line;
        free(sentence);
    }
}

static void check_entry(const struct ini_entry *entry, int line)
{
    FUZZ_CHECK(entry->line > line);
    FUZZ_CHECK(entry->key[0] != '\0' && strlen(entry->key) <= INI_WORD_MAX);
    FUZZ_CHECK(entry->value[0] != '\0' && strlen(entry->value) <= INI_VALUE_MAX);
    FUZZ_CHECK(strpbrk(entry->value, "\r\n") == NULL);
}

static void check_entries(const struct ini_text *text)
{
    int line = 0;
    size_t next = 0;
    for (size_t i = 0; i < text->section_count; i++) {
        const struct ini_section *section = &text->sections[i];
        FUZZ_CHECK(section->line > line && section->first == next);
        line = section->line;
        for (size_t k = 0; k < section->count; k++, next++) {
            check_entry(&text->entries[next], line);
            line = text->entries[next].line;
        }
    }
    FUZZ_CHECK(next == text->entry_count);
}

static void format(const struct ini_text *text, struct text *out)
{
    for (size_t i = 0; i < text->section_count; i++) {
        const struct ini_section *section = &text->sections[i];
        text_addf(out, "[%s]\n", section->name);
        for (size_t k = section->first; k < section->first + section->count; k++) {
            text_addf(out, "%s = ", text->entries[k].key);
            text_add(out, text->entries[k].value);
            text_add_char(out, '\n');
        }
    }
}

static void check_read_again(const struct ini_text *text)
{
    struct text written = TEXT_INIT;
    struct ini_text again;
    struct ini_faults faults = {0};
    format(text, &written);
    FUZZ_CHECK(ini_text_parse(text_string(&written), written.length, &again, &faults));
    FUZZ_CHECK(again.section_count == text->section_count);
    FUZZ_CHECK(again.entry_count == text->entry_count);
    for (size_t i = 0; i < text->section_count; i++)
        FUZZ_CHECK(strcmp(again.sections[i].name, text->sections[i].name) == 0 &&
                   again.sections[i].count == text->sections[i].count);
    for (size_t i = 0; i < text->entry_count; i++)
        FUZZ_CHECK(strcmp(again.entries[i].key, text->entries[i].key) == 0 &&
                   strcmp(again.entries[i].value, text->entries[i].value) == 0);
    ini_text_done(&again);
    ini_faults_done(&faults);
    text_done(&written);
}

static void check_job(const struct job_table *table, const struct job *job)
{
    struct error err;
    FUZZ_CHECK(job_table_find(table, job->name) == job);
    FUZZ_CHECK(ini_text_is_word(job->name) && utf8_check_key(job->key, &err));
    FUZZ_CHECK(job->schedule != NULL && job->schedule[0] != '\0');
    FUZZ_CHECK((job->command == NULL) != (job->exec == NULL));
    FUZZ_CHECK(job->ttl_ms >= 5000 && job->file != NULL && job->line > 0);
}

static void check_table(const char *path, bool is_good_config)
{
    struct config config;
    struct job_table table;
    struct ini_faults faults = {0};
    config_init(&config);
    config.path = strdup(path);
    bool is_good = job_table_read(&config, NULL, 0, &table, &faults);
    FUZZ_CHECK(is_good == (faults.count == 0));
    FUZZ_CHECK(is_good ? is_good_config : table.count == 0);
    for (size_t i = 0; i < table.count; i++)
        check_job(&table, &table.jobs[i]);
    check_faults(&faults);
    job_table_check_store(&table, true, &faults);
    ini_faults_done(&faults);
    job_table_done(&table);
    config_done(&config);
}

/* The same bytes as a file, down to the settings. */
static void check_config(const uint8_t *bytes, size_t count, bool is_good_text)
{
    static int fd = -1;
    char path[64];
    if (fd < 0)
        fd = memfd_create("leaserun.ini", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && fchmod(fd, 0600) == 0 && ftruncate(fd, 0) == 0);
    FUZZ_CHECK(pwrite(fd, bytes, count, 0) == (ssize_t)count);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct config config;
    struct ini_faults faults = {0};
    config_init(&config);
    bool is_good = config_read(&config, path, true, &faults);
    FUZZ_CHECK(is_good == (faults.count == 0));
    FUZZ_CHECK(!is_good || is_good_text);
    check_faults(&faults);
    ini_faults_done(&faults);
    config_done(&config);
    check_table(path, is_good);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct ini_text text;
    struct ini_faults faults = {0};
    bool is_good = ini_text_parse((const char *)bytes, count, &text, &faults);
    FUZZ_CHECK(is_good == (faults.count == 0));
    check_faults(&faults);
    check_entries(&text);
    if (is_good)
        check_read_again(&text);
    check_config(bytes, count, is_good);
    ini_text_done(&text);
    ini_faults_done(&faults);
    return 0;
}
