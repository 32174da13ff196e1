/* SPDX-License-Identifier: ISC */
/* Which of the ways to name a store counts: --store or --local, LEASERUN_STORE,
 * LEASERUN_STORE_FILE, [store] url or url-file, in this order; empty variables count as unset.
 * None is implied. */
#pragma once
#include "base/error.h"
#include "conf/config.h"
#include "conf/store_url.h"

/* Fills *ret_store (store_config_done gives it back). *ret_source, when asked for, says where the
 * URL came from: "--store", "LEASERUN_STORE", "[store] url of FILE"; the caller frees it.
 * ERROR_USAGE: a password in --store, or --store beside --local. ERROR_CONFIG: no store is named,
 * a url file that cannot be read, has an empty first line, or holds a password that others may
 * read. */
bool store_choice_make(const struct config *config, struct store_config *ret_store,
                       char **ret_source, struct error *err);

/* Whether any of them is given at all. */
bool store_choice_is_named(const struct config *config);

/* The file of --local: /var/lib/leaserun/leaserun.db for root, leaserun/leaserun.db in
 * XDG_STATE_HOME or ~/.local/state for others. The caller frees; NULL with *err filled when there
 * is no home at all. */
char *store_choice_local_path(struct error *err);
