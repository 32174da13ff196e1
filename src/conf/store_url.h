/* SPDX-License-Identifier: ISC */
/* Which store: its URL and schema, and the table of another program, if leases live in one. The URL
 * may be a secret: it is shown only as store_url_redacted gives it, and wiped when it is given
 * back. */
#pragma once
#include "base/text.h"

#include <stdbool.h>

#define STORE_SCHEMA_DEFAULT "leaserun"

/* Whose table the leases are in, and so whose statements they exclude. */
enum store_dialect {
    DIALECT_LEASERUN,
    DIALECT_FENCELESS, /* key, holder and two instants; a mandate is (key, holder) */
    DIALECT_SHEDLOCK,
};
const char *store_dialect_name(enum store_dialect dialect);

struct store_config {
    char *url;    /* postgresql://..., a libpq conninfo, or sqlite:PATH; a secret */
    char *schema; /* PostgreSQL's schema, "leaserun" by default */
    enum store_dialect dialect;
    char *table, *columns; /* as given, for store_table.h; NULL: the dialect's own */
    const char *label; /* what it is used for, shown to the server's people; borrowed, NULL: none */
};

/* True when the URL or conninfo holds a password: in the authority, or as the parameter password
 * or sslpassword, percent-encoded or not. */
bool store_url_has_password(const char *url);

/* The URL with every password replaced by "***", for logs and check. The caller frees. */
char *store_url_redacted(const char *url);

/* All of it but the label as bytes, for the guard, and back; false when these are no such bytes. */
void store_config_pack(const struct store_config *config, struct text *ret_bytes);
bool store_config_unpack(const struct text *bytes, struct store_config *ret_config);

void store_config_done(struct store_config *config); /* wipes and frees */
