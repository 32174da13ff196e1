/* SPDX-License-Identifier: ISC */
#include "cron/zone.h"

#include "base/mem.h"
#include "cron/zone_file.h"
#include "cron/zone_rule.h"
#include "cron/zone_spelling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONE_DATA      "/usr/share/zoneinfo"
#define LOCALTIME      "/etc/localtime"
#define TIMEZONE       "/etc/timezone"
#define FILE_BYTES_MAX (1 << 16) /* the largest that is known has 4 KiB */
#define NAME_MAX_BYTES 255
#define NAME_CHARS                                                                                 \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/" /* no dot: no ".." */

/* All that were read, in no order. They are never given back. */
static struct zone **zones;
static size_t zone_count;

static struct zone *keep(struct zone *zone, const char *name)
{
    zone->name = mem_strdup(name);
    zones = mem_grow(zones, zone_count + 1, sizeof(struct zone *));
    zones[zone_count++] = zone;
    return zone;
}

static const struct zone *find_kept(const char *name)
{
    for (size_t i = 0; i < zone_count; i++)
        if (strcmp(zones[i]->name, name) == 0)
            return zones[i];
    return NULL;
}

/* ---- files ---- */

static const char *data_folder(void)
{
    const char *folder = getenv("TZDIR");
    return folder != NULL && folder[0] != '\0' ? folder : ZONE_DATA;
}

static bool is_data_there(void)
{
    MEM_AUTOFREE char *utc = mem_printf("%s/UTC", data_folder());
    return access(utc, F_OK) == 0;
}

/* The file's length, -1 with errno. */
static ssize_t read_whole(const char *path, unsigned char *buffer)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO of that name is no wait */
    if (fd < 0)
        return -1;
    ssize_t length = 0, count;
    do {
        count = read(fd, buffer + length, (size_t)(FILE_BYTES_MAX - length));
        length += count > 0 ? count : 0;
    } while (count > 0 || (count < 0 && errno == EINTR));
    int saved = errno;
    close(fd);
    errno = saved;
    return count < 0 ? -1 : length;
}

/* A zone without name, or NULL; errno is ENOENT when there is no such file, 0 when it is broken. */
static struct zone *read_file(const char *path, struct error *err)
{
    MEM_AUTOFREE unsigned char *buffer = mem_alloc(FILE_BYTES_MAX);
    ssize_t length = read_whole(path, buffer);
    if (length < 0) {
        int saved = errno;
        error_set_errno(err, ERROR_CONFIG, saved, "time zone file %s", path);
        errno = saved;
        return NULL;
    }
    struct zone *zone = mem_alloc(sizeof *zone);
    if (zone_file_parse(buffer, (size_t)length, zone, err))
        return zone;
    error_prefix(err, "time zone file %s", path);
    zone_file_free(zone);
    errno = 0;
    return NULL;
}

/* ---- by name ---- */

static bool is_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= NAME_MAX_BYTES && strspn(name, NAME_CHARS) == length &&
           name[0] != '/' && name[length - 1] != '/';
}

/* There is no file of that name. */
static const struct zone *refuse_unknown(const char *name, struct error *err)
{
    TEXT_AUTODONE struct text spelling = TEXT_INIT;
    const char *folder = data_folder();
    if (!is_data_there())
        error_set(err, ERROR_CONFIG,
                  "time zone %s: there is no zone data in %s: install tzdata, or set TZDIR", name,
                  folder);
    else if (zone_spelling_find(folder, name, &spelling) && strcmp(name, spelling.bytes) != 0)
        error_set(err, ERROR_CONFIG, "unknown time zone \"%s\": write %s", name, spelling.bytes);
    else
        error_set(err, ERROR_CONFIG, "unknown time zone \"%s\": there is no %s/%s", name, folder,
                  name);
    return NULL;
}

const struct zone *zone_find(const char *name, struct error *err)
{
    if (strcmp(name, "UTC") == 0 || strcmp(name, "Etc/UTC") == 0)
        return zone_utc();
    if (!is_name(name))
        return error_set(err, ERROR_CONFIG,
                         "\"%.80s\" is no name of a time zone, such as Europe/Paris", name),
               NULL;
    const struct zone *kept = find_kept(name);
    if (kept != NULL)
        return kept;
    MEM_AUTOFREE char *path = mem_printf("%s/%s", data_folder(), name);
    struct zone *zone = read_file(path, err);
    if (zone != NULL)
        return keep(zone, name);
    bool is_unknown = errno == ENOENT || errno == ENOTDIR || errno == EISDIR;
    return is_unknown ? refuse_unknown(name, err) : NULL;
}

const struct zone *zone_utc(void)
{
    const struct zone *kept = find_kept("UTC");
    if (kept != NULL)
        return kept;
    struct zone *zone = mem_alloc(sizeof *zone);
    zone_file_add_type(zone, 0, "UTC", 3);
    return keep(zone, "UTC");
}

/* ---- the host's ---- */

/* "Europe/Paris" of "/usr/share/zoneinfo/Europe/Paris"; NULL when the path is another. */
static const char *name_in(const char *path)
{
    const char *mark = strstr(path, "/zoneinfo/");
    if (mark == NULL)
        return NULL;
    const char *name = mark + strlen("/zoneinfo/");
    if (strncmp(name, "posix/", 6) == 0)
        name += 6;
    return is_name(name) ? name : NULL;
}

static bool has_same_bytes(const char *path, const char *other)
{
    MEM_AUTOFREE unsigned char *bytes = mem_alloc(FILE_BYTES_MAX);
    MEM_AUTOFREE unsigned char *others = mem_alloc(FILE_BYTES_MAX);
    ssize_t length = read_whole(path, bytes);
    return length > 0 && read_whole(other, others) == length &&
           memcmp(bytes, others, (size_t)length) == 0;
}

/* Where /etc/localtime is a copy, Debian's /etc/timezone may say of what; "" when not. */
static void read_name_of_copy(char ret_name[NAME_MAX_BYTES + 1])
{
    ret_name[0] = '\0';
    FILE *file = fopen(TIMEZONE, "re");
    bool is_read = file != NULL && fgets(ret_name, NAME_MAX_BYTES + 1, file) != NULL;
    if (file != NULL)
        fclose(file);
    ret_name[is_read ? strcspn(ret_name, " \t\r\n") : 0] = '\0';
    MEM_AUTOFREE char *path = mem_printf("%s/%s", data_folder(), ret_name);
    if (!is_name(ret_name) || !has_same_bytes(LOCALTIME, path))
        ret_name[0] = '\0';
}

static const struct zone *of_path(const char *path, struct error *err)
{
    char target[PATH_MAX], copied[NAME_MAX_BYTES + 1] = "";
    const char *name = realpath(path, target) != NULL ? name_in(target) : NULL;
    if (name == NULL && strcmp(path, LOCALTIME) == 0)
        read_name_of_copy(copied);
    const struct zone *named =
        name != NULL || copied[0] != '\0' ? zone_find(name != NULL ? name : copied, err) : NULL;
    if (named != NULL)
        return named;
    struct zone *zone = read_file(path, err);
    return zone != NULL ? keep(zone, "") : NULL;
}

static const struct zone *of_rule(const char *rule, struct error *err)
{
    struct zone *zone = mem_alloc(sizeof *zone);
    if (zone_rule_apply(zone, rule, err))
        return keep(zone, "");
    zone_file_free(zone);
    return NULL;
}

static const struct zone *of_variable(const char *value, struct error *err)
{
    struct error ignored;
    if (value[0] == ':')
        value++;
    if (value[0] == '\0')
        return zone_utc();
    if (value[0] == '/')
        return of_path(value, err);
    const struct zone *zone = zone_find(value, err);
    if (zone == NULL)
        zone = of_rule(value, &ignored);
    if (zone == NULL)
        error_prefix(err, "TZ");
    return zone;
}

const struct zone *zone_host(struct error *err)
{
    static const struct zone *host;
    if (host != NULL)
        return host;
    const char *value = getenv("TZ");
    if (value != NULL)
        host = of_variable(value, err);
    else if (access(LOCALTIME, F_OK) != 0)
        host = zone_utc();
    else
        host = of_path(LOCALTIME, err);
    return host;
}

/* ---- asking ---- */

const char *zone_name(const struct zone *zone)
{
    return zone->name;
}

bool zone_is_utc(const struct zone *zone)
{
    for (size_t i = 0; i < zone->change_count; i++)
        if (zone->types[zone->changes[i].type].offset_s != 0)
            return false;
    return zone->types[0].offset_s == 0;
}

/* How many changes are at or before the instant. */
static size_t changes_until(const struct zone *zone, int64_t at_s)
{
    size_t low = 0, high = zone->change_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct zone_type *type_after(const struct zone *zone, size_t change_count)
{
    return &zone->types[change_count == 0 ? 0 : zone->changes[change_count - 1].type];
}

void zone_span_at(const struct zone *zone, int64_t at_s, struct zone_span *ret_span)
{
    int64_t shift_s = 0;
    if (zone->is_periodic) {
        int64_t last_s = zone->changes[zone->change_count - 1].at_s;
        if (at_s >= last_s)
            shift_s = ((at_s - last_s) / CIVIL_400_YEARS_S + 1) * CIVIL_400_YEARS_S;
    }
    size_t passed = changes_until(zone, at_s - shift_s);
    const struct zone_type *type = type_after(zone, passed);
    *ret_span = (struct zone_span){
        .start_s = passed == 0 ? INT64_MIN : zone->changes[passed - 1].at_s + shift_s,
        .end_s = passed == zone->change_count ? INT64_MAX : zone->changes[passed].at_s + shift_s,
        .offset_s = type->offset_s,
        .previous_offset_s = type_after(zone, passed == 0 ? 0 : passed - 1)->offset_s,
        .abbreviation = type->abbreviation,
    };
}

struct civil zone_to_civil(const struct zone *zone, int64_t wall_us)
{
    struct zone_span span;
    int64_t at_s = civil_floor_divide(wall_us, 1000000);
    zone_span_at(zone, at_s, &span);
    return civil_of_seconds(at_s + span.offset_s);
}

int zone_from_civil(const struct zone *zone, const struct civil *civil, int64_t ret_us[2])
{
    int64_t local_s = civil_seconds(civil);
    int count = 0;
    struct zone_span span;
    zone_span_at(zone, local_s - ZONE_OFFSET_MAX_S, &span);
    for (;;) {
        int64_t at_s = local_s - span.offset_s;
        if (at_s >= span.start_s && at_s < span.end_s && count < 2)
            ret_us[count++] = at_s * 1000000;
        if (span.end_s > local_s + ZONE_OFFSET_MAX_S)
            return count;
        int64_t change_s = span.end_s;
        int64_t before_s = span.offset_s;
        zone_span_at(zone, change_s, &span);
        if (count == 0 && local_s >= change_s + before_s && local_s < change_s + span.offset_s)
            ret_us[0] = change_s * 1000000;
    }
}
