/* SPDX-License-Identifier: ISC */
#include "store/stand_in_choice.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- what the URL sets ------------------------------------------------------------------- */

/* The value that follows "keyword=" at or after from, NULL when there is none. Right for both of
 * libpq's forms; a password that reads like an option is taken for one, which costs only time. */
static const char *find_value(const char *from, const char *keyword)
{
    size_t length = strlen(keyword);
    for (const char *at = from; (at = strstr(at, keyword)) != NULL; at += length) {
        bool is_whole = at == from || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        const char *end = at + length + strspn(at + length, " \t\r\n");
        if (is_whole && *end == '=')
            return end + 1 + strspn(end + 1, " \t\r\n'");
    }
    return NULL;
}

/* libpq decodes names too: s%65rvice= is service=. */
static bool has_encoded_name(const char *url)
{
    const char *at = strstr(url, "://");
    for (at = at == NULL ? NULL : strchr(at, '?'); at != NULL; at = strpbrk(at, "?&")) {
        at++;
        if (memchr(at, '%', strcspn(at, "=&")) != NULL)
            return true;
    }
    return false;
}

/* ---- what the environment sets ----------------------------------------------------------- */

static const char *find_variable(const char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return (*environment)[length + 1] == '\0' ? NULL : *environment + length + 1;
    return NULL;
}

static bool has_variable_like(const char *const *environment, const char *prefix)
{
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

/* ---- the host ---------------------------------------------------------------------------- */

/* One folder. A comma makes a list; where it stands is not looked at closely. */
static bool is_socket_folder(const char *host)
{
    bool is_path = host[0] == '/' || strncasecmp(host, "%2F", 3) == 0;
    return is_path && strchr(host, ',') == NULL && strcasestr(host, "%2C") == NULL;
}

/* NULL when the URL is not of that form or has none: postgresql:///db?host=/run/postgresql */
static const char *find_authority_host(const char *url)
{
    const char *authority = strstr(url, "://");
    if (authority == NULL)
        return NULL;
    authority += strlen("://");
    const char *at = memchr(authority, '@', strcspn(authority, "/")); /* as libpq finds it */
    const char *host = at == NULL ? authority : at + 1;
    return strcspn(host, "/?") == 0 ? NULL : host;
}

/* A server cannot ask for Kerberos on a unix socket. False where that is not plain to see. */
static bool is_by_unix_socket(const struct stand_in_facts *facts)
{
    const char *authority = find_authority_host(facts->url);
    const char *option = find_value(facts->url, "host");
    const char *variable = find_variable(facts->environment, "PGHOST");
    if (find_value(facts->url, "hostaddr") != NULL ||
        find_variable(facts->environment, "PGHOSTADDR") != NULL)
        return false;
    if (authority == NULL && option == NULL)
        return variable != NULL && is_socket_folder(variable);
    return (authority == NULL || is_socket_folder(authority)) &&
           (option == NULL || (is_socket_folder(option) && find_value(option, "host") == NULL));
}

/* ---- other users of the same libraries --------------------------------------------------- */

/* Sources of names whose modules are known to need neither library. */
static const char *const plain_services[] = {
    "altfiles",   "compat",     "db",    "dns",          "extrausers",    "files",
    "mdns",       "mdns4",      "mdns6", "mdns_minimal", "mdns4_minimal", "mdns6_minimal",
    "myhostname", "mymachines", "nis",   "resolve",      "sss",           "systemd",
};

static bool is_plain_service(const char *word, size_t length)
{
    for (size_t i = 0; i < COUNT(plain_services); i++)
        if (strlen(plain_services[i]) == length && memcmp(plain_services[i], word, length) == 0)
            return true;
    return false;
}

/* One line of nsswitch.conf: "hosts: files dns [NOTFOUND=return] # comment". */
static bool has_only_plain_services(const char *line, size_t length)
{
    const char *comment = memchr(line, '#', length);
    const char *end = comment == NULL ? line + length : comment;
    const char *at = memchr(line, ':', (size_t)(end - line));
    while (at != NULL && ++at < end) {
        size_t count = strcspn(at, *at == '[' ? "]\n" : " \t\r\n#[");
        if (count > 0 && *at != '[' && !is_plain_service(at, count))
            return false;
        at += count > 0 && at[count] == '[' ? count - 1 : count;
    }
    return true;
}

/* The module of another source (libnss_ldap) would be given a stand-in too. */
static bool are_names_plain(const char *text)
{
    for (; *text != '\0'; text += strspn(text, "\n")) {
        size_t length = strcspn(text, "\n");
        if (!has_only_plain_services(text, length))
            return false;
        text += length;
    }
    return true;
}

/* So would what OpenSSL is told to load: an engine that holds a key. */
static bool is_openssl_plain(const struct stand_in_facts *facts)
{
    return !has_variable_like(facts->environment, "OPENSSL_") &&
           find_variable(facts->environment, "PGSSLKEY") == NULL &&
           find_value(facts->url, "sslkey") == NULL;
}

/* ---- the choice -------------------------------------------------------------------------- */

/* gssencmode is prefer unless set; disable is the other one that does without. */
static bool demands_encryption(const char *gssencmode)
{
    return gssencmode != NULL && gssencmode[0] != 'd' && gssencmode[0] != 'p';
}

static bool asks_for_gssapi(const struct stand_in_facts *facts)
{
    static const char *const options[] = {"krbsrvname", "gsslib", "gssdelegation", "require_auth"};
    static const char *const variables[] = {"PGKRBSRVNAME", "PGGSSLIB", "PGGSSDELEGATION",
                                            "PGREQUIREAUTH"};
    for (size_t i = 0; i < COUNT(options); i++)
        if (find_value(facts->url, options[i]) != NULL ||
            find_variable(facts->environment, variables[i]) != NULL)
            return true;
    return demands_encryption(find_value(facts->url, "gssencmode")) ||
           demands_encryption(find_variable(facts->environment, "PGGSSENCMODE"));
}

static bool may_have_kerberos(const struct stand_in_facts *facts)
{
    return facts->has_kerberos || has_variable_like(facts->environment, "KRB5") ||
           has_variable_like(facts->environment, "GSS");
}

struct stand_in_choice stand_in_choose(const struct stand_in_facts *facts)
{
    bool has_service = find_value(facts->url, "service") != NULL ||
                       find_variable(facts->environment, "PGSERVICE") != NULL;
    if (has_service || has_encoded_name(facts->url) || !are_names_plain(facts->name_services) ||
        !is_openssl_plain(facts))
        return (struct stand_in_choice){0};
    return (struct stand_in_choice){
        .without_ldap = true,
        .without_gssapi =
            !asks_for_gssapi(facts) && (is_by_unix_socket(facts) || !may_have_kerberos(facts)),
    };
}
