/* SPDX-License-Identifier: ISC */
#include "store/stand_in.h"

#include "store/stand_in_choice.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define NAME_SERVICES     "/etc/nsswitch.conf"
#define NAME_SERVICES_MAX 8192
#define UNKNOWN_SERVICE   "hosts: unknown\n"

/* A text that cannot be read whole stands for one that names a source nobody knows. */
static void read_name_services(char ret_text[NAME_SERVICES_MAX])
{
    int fd = open(NAME_SERVICES, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        ret_text[0] = '\0';
        return;
    }
    ssize_t length = read(fd, ret_text, NAME_SERVICES_MAX - 1);
    close(fd);
    if (length < 0 || length == NAME_SERVICES_MAX - 1)
        length = snprintf(ret_text, NAME_SERVICES_MAX, UNKNOWN_SERVICE);
    ret_text[length] = '\0';
}

/* Configuration, keys, and the tickets of a user who needs no configuration: where MIT's and
 * Heimdal's libraries look when no variable says otherwise. */
static bool has_kerberos(void)
{
    static const char *const paths[] = {"/etc/krb5.conf", "/etc/krb5.keytab", "/etc/krb5"};
    char tickets[64];
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (access(paths[i], F_OK) == 0)
            return true;
    snprintf(tickets, sizeof tickets, "/tmp/krb5cc_%u", (unsigned)getuid());
    return access(tickets, F_OK) == 0;
}

static void *open_one(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/leaserun-without-%s.so", folder, name);
    return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

void stand_in_load(const char *folder, const char *url, struct stand_ins *ret_loaded)
{
    char name_services[NAME_SERVICES_MAX];
    read_name_services(name_services);
    const struct stand_in_facts facts = {
        .url = url,
        .environment = (const char *const *)environ,
        .name_services = name_services,
        .has_kerberos = has_kerberos(),
    };
    const struct stand_in_choice choice = stand_in_choose(&facts);
    ret_loaded->handles[0] = choice.without_ldap ? open_one(folder, "ldap") : NULL;
    ret_loaded->handles[1] = choice.without_gssapi ? open_one(folder, "gssapi") : NULL;
}

bool stand_in_unload(struct stand_ins *loaded)
{
    bool is_any = false;
    for (int i = 0; i < 2; i++)
        if (loaded->handles[i] != NULL)
            is_any = dlclose(loaded->handles[i]) == 0 || is_any;
    *loaded = (struct stand_ins){0};
    return is_any;
}
