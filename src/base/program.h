/* SPDX-License-Identifier: ISC */
/* Where our own programs and modules are: found relative to the running binary, so that neither
 * PATH nor the environment can put another in their place. */
#pragma once
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The folder of the guard and the store modules: that of the running binary when the guard lies
 * beside it (a build tree), else ../libexec/leaserun from there. Absolute. Fails (ERROR_SYSTEM)
 * when neither has the guard, naming both. */
bool program_folder(char *ret_path, size_t room, struct error *err);

/* The running binary itself, opened close-on-exec: the same file after an upgrade has put another
 * in its place. -1 with errno when it cannot be opened. */
int program_self_fd(void);
