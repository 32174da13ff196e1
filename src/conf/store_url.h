/* SPDX-License-Identifier: ISC */
/* Which store: its URL and schema. The URL may be a secret: it is shown only as store_url_redacted
 * gives it, and wiped when it is given back. */
#pragma once
#include <stdbool.h>

#define STORE_SCHEMA_DEFAULT "leaserun"

struct store_config {
    char *url;         /* postgresql://..., a libpq conninfo, or sqlite:PATH; a secret */
    char *schema;      /* PostgreSQL's schema, "leaserun" by default */
    const char *label; /* what it is used for, shown to the server's people; borrowed, NULL: none */
};

/* True when the URL or conninfo holds a password: in the authority, or as the parameter password
 * or sslpassword, percent-encoded or not. */
bool store_url_has_password(const char *url);

/* The URL with every password replaced by "***", for logs and check. The caller frees. */
char *store_url_redacted(const char *url);

void store_config_done(struct store_config *config); /* wipes and frees */
