/* SPDX-License-Identifier: ISC */
#include "conf/store_choice.h"

#include "base/mem.h"
#include "base/text.h"
#include "conf/ini_file.h"
#include "conf/store_table.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty variable is how a compose file or a unit unsets one. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || *value == '\0' ? NULL : value;
}

static const char *home(void)
{
    const char *named = variable("HOME");
    if (named != NULL)
        return named;
    const struct passwd *user = getpwuid(geteuid());
    return user == NULL ? NULL : user->pw_dir;
}

bool store_choice_is_named(const struct config *config)
{
    return config->store_option != NULL || config->is_local || config->store_url != NULL ||
           config->store_url_file != NULL || variable("LEASERUN_STORE") != NULL ||
           variable("LEASERUN_STORE_FILE") != NULL;
}

char *store_choice_local_path(struct error *err)
{
    if (geteuid() == 0)
        return mem_strdup("/var/lib/leaserun/leaserun.db");
    const char *state = variable("XDG_STATE_HOME");
    if (state != NULL && *state == '/')
        return mem_printf("%s/leaserun/leaserun.db", state);
    const char *folder = home();
    if (folder != NULL && *folder == '/')
        return mem_printf("%s/.local/state/leaserun/leaserun.db", folder);
    error_set(err, ERROR_CONFIG,
              "--local has no place for its file, since neither XDG_STATE_HOME nor HOME is set: "
              "name one with --store sqlite:PATH");
    return NULL;
}

static bool take_url(const char *url, struct store_config *ret_store, char **ret_source,
                     char *source)
{
    ret_store->url = mem_strdup(url);
    if (ret_source != NULL)
        *ret_source = source;
    else
        free(source);
    return true;
}

static bool check_url_file(const char *path, const char *url, mode_t mode, struct error *err)
{
    if (*url == '\0')
        return error_set(err, ERROR_CONFIG, "%s: the first line should be the store's URL", path);
    if ((mode & S_IROTH) != 0 && store_url_has_password(url))
        return error_set(err, ERROR_CONFIG,
                         "%s: the URL holds a password and every user may read the file: chmod "
                         "o-r it",
                         path);
    return true;
}

static bool take_url_file(const char *path, struct store_config *ret_store, char **ret_source,
                          char *source, struct error *err)
{
    struct text bytes = TEXT_INIT;
    struct ini_file file;
    bool is_good = ini_file_read(path, &bytes, &file, err);
    char *url = text_detach(&bytes);
    if (!is_good) {
        error_prefix(err, "%s (named by %s)", path, source);
    } else {
        url[strcspn(url, "\r\n")] = '\0';
        is_good = check_url_file(path, url, file.mode, err);
    }
    if (is_good)
        take_url(url, ret_store, ret_source, source);
    else
        free(source);
    mem_wipe(url);
    return is_good;
}

static bool take_local(struct store_config *ret_store, char **ret_source, struct error *err)
{
    MEM_AUTOFREE char *path = store_choice_local_path(err);
    if (path == NULL)
        return false;
    MEM_AUTOFREE char *url = mem_printf("sqlite:%s", path);
    return take_url(url, ret_store, ret_source, mem_strdup("--local"));
}

static bool take_option(const struct config *config, struct store_config *ret_store,
                        char **ret_source, struct error *err)
{
    if (config->store_option != NULL && config->is_local)
        return error_set(err, ERROR_USAGE, "--store and --local name two stores: keep one of them");
    if (config->is_local)
        return take_local(ret_store, ret_source, err);
    if (store_url_has_password(config->store_option))
        return error_set(err, ERROR_USAGE,
                         "--store holds a password, which every user could read with ps(1): put "
                         "the URL into a file that LEASERUN_STORE_FILE or url-file in [store] "
                         "names");
    return take_url(config->store_option, ret_store, ret_source, mem_strdup("--store"));
}

static bool take_store(const struct config *config, struct store_config *ret_store,
                       char **ret_source, struct error *err)
{
    const char *path = config->path == NULL ? CONFIG_PATH : config->path;
    if (config->store_option != NULL || config->is_local)
        return take_option(config, ret_store, ret_source, err);
    if (variable("LEASERUN_STORE") != NULL)
        return take_url(variable("LEASERUN_STORE"), ret_store, ret_source,
                        mem_strdup("LEASERUN_STORE"));
    if (variable("LEASERUN_STORE_FILE") != NULL)
        return take_url_file(variable("LEASERUN_STORE_FILE"), ret_store, ret_source,
                             mem_strdup("LEASERUN_STORE_FILE"), err);
    if (config->store_url != NULL)
        return take_url(config->store_url, ret_store, ret_source,
                        mem_printf("url in [store] of %s", config->store_file));
    if (config->store_url_file != NULL)
        return take_url_file(config->store_url_file, ret_store, ret_source,
                             mem_printf("url-file in [store] of %s", config->store_file), err);
    return error_set(err, ERROR_CONFIG,
                     "no store is named: give --store URL, LEASERUN_STORE, LEASERUN_STORE_FILE, or "
                     "url or url-file in [store] of %s, or --local to keep leases on this host "
                     "alone",
                     path);
}

static bool check_table(const struct store_config *store, struct error *err)
{
    struct store_table table;
    if (!store_table_read(store, &table, err))
        return false;
    store_table_done(&table);
    return true;
}

bool store_choice_make(const struct config *config, struct store_config *ret_store,
                       char **ret_source, struct error *err)
{
    struct store_config store = {0};
    if (!take_store(config, &store, ret_source, err))
        return false;
    store.schema = mem_strdup(config->schema == NULL ? STORE_SCHEMA_DEFAULT : config->schema);
    store.dialect = (enum store_dialect)config->dialect;
    store.table = mem_strdup(config->table);
    store.columns = mem_strdup(config->columns);
    if (!check_table(&store, err)) {
        store_config_done(&store);
        return false;
    }
    *ret_store = store;
    return true;
}
