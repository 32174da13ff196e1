/* SPDX-License-Identifier: ISC */
/* Loads the stand-ins of stand_ins/ before the PostgreSQL module is loaded: the dynamic linker then
 * finds the names of libldap and GSSAPI taken and does not open the real ones. They are of this
 * process alone, no child inherits them. Whatever cannot be read or loaded, the real ones come. */
#pragma once
#include <stdbool.h>

struct stand_ins {
    void *handles[2]; /* of dlopen */
};

/* What stand_in_choice.h makes of url and this machine; folder: of the modules. A process has one
 * store: what is loaded serves every later connection. */
void stand_in_load(const char *folder, const char *url, struct stand_ins *ret_loaded);

/* Takes them out again, when the module cannot be loaded with them: a libpq that was upgraded since
 * may ask for more. False when there was none. */
bool stand_in_unload(struct stand_ins *loaded);
