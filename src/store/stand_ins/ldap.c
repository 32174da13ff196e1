/* SPDX-License-Identifier: ISC */
/* What libpq takes from libldap: it asks a directory for the options of a service, and does so
 * only when a service is named. Every function fails as OpenLDAP's does without a server. */
#include <stddef.h>

#define LDAP_UNAVAILABLE 0x34
#define LDAP_LOCAL_ERROR (-2)

/* The arguments are not looked at, so they are not declared: libpq is no caller of this source. */
#define FAILS(type, name, value)                                                                   \
    __attribute__((visibility("default"))) type name(void);                                        \
    type name(void)                                                                                \
    {                                                                                              \
        return value;                                                                              \
    }

FAILS(void *, ldap_init, NULL)
FAILS(int, ldap_initialize, LDAP_UNAVAILABLE)
FAILS(int, ldap_set_option, -1)
FAILS(int, ldap_simple_bind, -1)
FAILS(int, ldap_simple_bind_s, LDAP_UNAVAILABLE)
FAILS(int, ldap_sasl_bind, LDAP_UNAVAILABLE)
FAILS(int, ldap_result, -1)
FAILS(int, ldap_search_st, LDAP_UNAVAILABLE)
FAILS(int, ldap_search_ext_s, LDAP_UNAVAILABLE)
FAILS(int, ldap_count_entries, -1)
FAILS(void *, ldap_first_entry, NULL)
FAILS(void *, ldap_get_values_len, NULL)
FAILS(void *, ldap_value_free_len, NULL)
FAILS(int, ldap_msgfree, 0)
FAILS(int, ldap_unbind, LDAP_LOCAL_ERROR)
FAILS(int, ldap_unbind_ext, LDAP_LOCAL_ERROR)
FAILS(const char *, ldap_err2string, "leaserun runs without libldap, since no service is named")
