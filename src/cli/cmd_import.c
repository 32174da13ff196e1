/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "cli/commands.h"
#include "cli/import.h"
#include "cli/say.h"
#include "cron/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX (64 << 20)

static bool read_all(int fd, const char *name, struct text *ret_text, struct error *err)
{
    char buffer[65536];
    for (;;) {
        ssize_t count = read(fd, buffer, sizeof buffer);
        if (count == 0)
            return true;
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return error_set_errno(err, ERROR_CONFIG, errno, "%s", name);
        text_add_bytes(ret_text, buffer, (size_t)count);
        if (ret_text->length > FILE_BYTES_MAX)
            return error_set(err, ERROR_CONFIG, "%s: no crontab is larger than 64 MiB", name);
    }
}

static bool read_file(const char *path, struct text *ret_text, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, ERROR_CONFIG, errno, "%s", path);
    bool is_read = read_all(fd, path, ret_text, err);
    close(fd);
    return is_read;
}

/* What cron itself reads from these places has a column for users. */
static bool is_system_crontab(const char *path)
{
    return strcmp(path, "/etc/crontab") == 0 || strncmp(path, "/etc/cron.d/", 12) == 0;
}

/* The zone that the file's schedules were written for: the one that was typed, else this host's,
 * if it must be named at all. */
static bool find_zone(const struct options *options, const char **ret_name, struct error *err)
{
    const struct zone *host = NULL;
    *ret_name = options->timezone;
    if (options->timezone == NULL) {
        host = zone_host(err);
        if (host != NULL && !zone_is_utc(host) && zone_name(host)[0] != '\0')
            *ret_name = zone_name(host);
        return host != NULL;
    }
    if (zone_find(options->timezone, err) != NULL)
        return true;
    err->kind = ERROR_USAGE;
    return error_prefix(err, "--timezone");
}

static int import(const struct options *options, const char *path, const char *zone)
{
    struct error error;
    TEXT_AUTODONE struct text bytes = TEXT_INIT;
    bool is_input = strcmp(path, "-") == 0;
    if (is_input ? !read_all(STDIN_FILENO, "stdin", &bytes, &error)
                 : !read_file(path, &bytes, &error))
        return say_error(&error);
    struct import import = {
        .format = (enum crontab_format)options->format,
        .has_user_column = options->is_user_column || is_system_crontab(path),
        .file = is_input ? "stdin" : path,
        .timezone = zone,
    };
    import_file(&import, text_string(&bytes), bytes.length);
    fputs(text_string(&import.out), stdout);
    int code = import.faults.count == 0 ? 0 : say_faults(&import.faults);
    import_done(&import);
    return code;
}

int cmd_import(struct invocation *invocation)
{
    const struct options *options = &invocation->options;
    struct error error;
    const char *zone;
    if (!find_zone(options, &zone, &error))
        return say_error(&error);
    return import(options, options->operand_count > 0 ? options->operands[0] : "-", zone);
}
