/* SPDX-License-Identifier: ISC */
#include "store/store_module.h"

#include "base/program.h"
#include "build_id.h"
#include "store/stand_in.h"
#include "store/store.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct scheme {
    const char *prefix;
    const char *module;
    const char *needs;
    bool has_stand_ins;
    bool is_local; /* see store_url_is_local */
};

static const struct scheme schemes[] = {
    {.prefix = "postgresql:",
     .module = "leaserun-postgresql.so",
     .needs = "libpq",
     .has_stand_ins = true},
    {.prefix = "postgres:",
     .module = "leaserun-postgresql.so",
     .needs = "libpq",
     .has_stand_ins = true},
    {.prefix = "sqlite:", .module = "leaserun-sqlite.so", .needs = "libsqlite3", .is_local = true},
};

static const struct scheme *find_scheme(const char *url)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncmp(url, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
            return &schemes[i];
    /* libpq's other form: "host=... dbname=..." */
    return strchr(url, '=') != NULL ? &schemes[0] : NULL;
}

bool store_check_url(const char *url, struct error *err)
{
    return find_scheme(url) != NULL ||
           error_set(err, ERROR_CONFIG,
                     "the store's URL must start with postgresql: or sqlite: (or be a libpq "
                     "connection string)");
}

bool store_url_is_local(const char *url)
{
    const struct scheme *scheme = find_scheme(url);
    return scheme != NULL && scheme->is_local;
}

static void *open_module(const struct scheme *scheme, const char *folder, const char *url,
                         const char *path)
{
    struct stand_ins stand_ins = {0};
    if (scheme->has_stand_ins)
        stand_in_load(folder, url, &stand_ins);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* a missing symbol shows here or never */
    if (module == NULL && stand_in_unload(&stand_ins))
        module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return module;
}

const struct store_backend *store_module_load(const char *url, struct error *err)
{
    char path[PATH_MAX];
    char folder[PATH_MAX];
    const struct scheme *scheme = find_scheme(url);
    if (!store_check_url(url, err))
        return NULL;
    if (!program_folder(folder, sizeof folder, err))
        return NULL;
    snprintf(path, sizeof path, "%.4000s/%s", folder, scheme->module);
    void *module = open_module(scheme, folder, url, path);
    if (module == NULL) {
        error_set(err, ERROR_CONFIG, "the store module cannot be loaded (is %s installed?): %s",
                  scheme->needs, dlerror());
        return NULL;
    }
    const struct store_backend *backend = dlsym(module, "store_backend_v1");
    if (backend == NULL || strcmp(backend->build_id, BUILD_ID) != 0) {
        error_set(err, ERROR_CONFIG, "%s is of another build than leaserun (%s): reinstall both",
                  path, BUILD_ID);
        dlclose(module);
        return NULL;
    }
    return backend;
}
