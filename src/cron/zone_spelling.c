/* SPDX-License-Identifier: ISC */
#include "cron/zone_spelling.h"

#include "base/mem.h"

#include <dirent.h>
#include <string.h>
#include <strings.h>

/* Adds the entry of the folder that is the part, whatever the size of its letters. */
static bool add_part(const char *folder, const char *part, size_t length, struct text *out)
{
    bool is_found = false;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (strlen(entry->d_name) != length || strncasecmp(entry->d_name, part, length) != 0)
            continue;
        is_found = true;
        text_add(out, entry->d_name);
        break;
    }
    if (entries != NULL)
        closedir(entries);
    return is_found;
}

bool zone_spelling_find(const char *folder, const char *name, struct text *out)
{
    const char *part = name;
    for (;;) {
        size_t length = strcspn(part, "/");
        MEM_AUTOFREE char *within = mem_printf("%s/%s", folder, text_string(out));
        if (!add_part(within, part, length, out))
            return false;
        if (part[length] == '\0')
            return true;
        text_add_char(out, '/');
        part += length + 1;
    }
}
