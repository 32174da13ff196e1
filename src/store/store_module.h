/* SPDX-License-Identifier: ISC */
/* The backend of a URL, from the folder of libexec programs. It stays loaded: a thread of its
 * resolver or pool may be inside it for longer than its store lives. */
#pragma once
#include "base/error.h"
#include "store/store_backend.h"

/* NULL (ERROR_CONFIG): an unknown scheme, or a module that is missing or of another build. */
const struct store_backend *store_module_load(const char *url, struct error *err);
