/* SPDX-License-Identifier: ISC */
/* Crontabs: any bytes, in both formats. What comes out is a job table without a fault, with a job
 * for each line that was not refused, and every line that was is named. */
#include "cli/import.h"
#include "conf/job_table.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_table(const struct text *bytes, struct config *config, struct job_table *ret_table)
{
    static int fd = -1;
    char path[64];
    struct ini_faults faults = {0};
    if (fd < 0)
        fd = memfd_create("leaserun.ini", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && fchmod(fd, 0600) == 0 && ftruncate(fd, 0) == 0);
    FUZZ_CHECK(pwrite(fd, text_string(bytes), bytes->length, 0) == (ssize_t)bytes->length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    config_init(config);
    config->path = strdup(path);
    bool is_good = job_table_read(config, NULL, 0, ret_table, &faults);
    if (!is_good)
        fprintf(stderr, "%s\n%s", ini_faults_sentence(&faults, 0), text_string(bytes));
    FUZZ_CHECK(is_good);
    ini_faults_done(&faults);
}

static int count_lines(const uint8_t *bytes, size_t count)
{
    int lines = count > 0 && bytes[count - 1] != '\n';
    for (size_t i = 0; i < count; i++)
        lines += bytes[i] == '\n';
    return lines;
}

static void check_import(struct import *import, const uint8_t *bytes, size_t count)
{
    struct config config;
    struct job_table table;
    import_file(import, (const char *)bytes, count);
    FUZZ_CHECK(import->line == count_lines(bytes, count));
    for (size_t i = 0; i < import->faults.count; i++)
        FUZZ_CHECK(import->faults.faults[i].line >= 1);
    read_table(&import->out, &config, &table);
    FUZZ_CHECK(table.count == import->job_count);
    for (size_t i = 0; i < table.count; i++)
        FUZZ_CHECK(strcmp(table.jobs[i].name, import->names[i]) == 0);
    job_table_done(&table);
    config_done(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    for (int kind = 0; kind < 3; kind++) {
        struct import import = {
            .format = kind == 2 ? CRONTAB_SUPERCRONIC : CRONTAB_CRON,
            .has_user_column = kind == 1,
            .file = "crontab",
            .timezone = kind == 0 ? NULL : "Europe/Paris",
        };
        check_import(&import, bytes, count);
        import_done(&import);
    }
    return 0;
}
