/* SPDX-License-Identifier: ISC */
/* Whether libpq may be loaded without two of the libraries it is linked with. libldap looks up the
 * options of a service; GSSAPI logs in by Kerberos and encrypts by it. They bring some fifteen more
 * libraries, a quarter of the time of a short run and half its memory, and nearly nobody uses them.
 * Decided by what the user has set, before libpq can be asked; in doubt they are loaded. */
#pragma once
#include <stdbool.h>

struct stand_in_facts {
    const char *url;                /* of a PostgreSQL store */
    const char *const *environment; /* NAME=value, ends with NULL */
    const char *name_services;      /* the text of /etc/nsswitch.conf, "" when there is none */
    bool has_kerberos;              /* Kerberos has files on this machine */
};

struct stand_in_choice {
    bool without_ldap;
    bool without_gssapi;
};

struct stand_in_choice stand_in_choose(const struct stand_in_facts *facts);
