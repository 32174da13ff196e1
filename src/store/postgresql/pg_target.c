/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_target.h"

#include "base/mem.h"
#include "conf/store_url.h"
#include "store/postgresql/pg_failure.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static const char *find_value(const PQconninfoOption *options, const char *keyword)
{
    for (const PQconninfoOption *o = options; o != NULL && o->keyword != NULL; o++)
        if (strcmp(o->keyword, keyword) == 0)
            return o->val != NULL && o->val[0] != '\0' ? o->val : NULL;
    return NULL;
}

static void free_options(PQconninfoOption *options)
{
    for (PQconninfoOption *o = options; o != NULL && o->keyword != NULL; o++)
        if (o->val != NULL)
            explicit_bzero(o->val, strlen(o->val));
    PQconninfoFree(options);
}

/* ---- reading ----------------------------------------------------------------------------- */

/* The variables' and the service file's values. PQconndefaults knows a service only by its
 * variable. Called before any thread of ours exists. */
static PQconninfoOption *read_defaults(const char *service)
{
    char *before = mem_strdup(getenv("PGSERVICE"));
    if (service != NULL)
        setenv("PGSERVICE", service, 1);
    PQconninfoOption *defaults = PQconndefaults();
    if (service != NULL && before == NULL)
        unsetenv("PGSERVICE");
    else if (service != NULL)
        setenv("PGSERVICE", before, 1);
    free(before);
    return defaults;
}

static const char *merged(const struct pg_target *target, const PQconninfoOption *defaults,
                          const char *keyword)
{
    const char *value = find_value(target->options, keyword);
    return value != NULL ? value : find_value(defaults, keyword);
}

/* The n-th of a comma-separated list, NULL when it is empty or there is none. */
static char *list_item(const char *list, size_t n)
{
    for (; list != NULL && n > 0; n--) {
        list = strchr(list, ',');
        list = list == NULL ? NULL : list + 1;
    }
    if (list == NULL)
        return NULL;
    size_t length = strcspn(list, ",");
    return length == 0 ? NULL : mem_strndup(list, length);
}

static size_t list_count(const char *list)
{
    size_t count = list == NULL ? 0 : 1;
    for (; list != NULL && *list != '\0'; list++)
        count += *list == ',';
    return count;
}

static bool read_hosts(struct pg_target *target, const PQconninfoOption *defaults,
                       struct error *err)
{
    const char *names = merged(target, defaults, "host");
    const char *addresses = merged(target, defaults, "hostaddr");
    const char *ports = merged(target, defaults, "port");
    size_t name_count = list_count(names), address_count = list_count(addresses);
    size_t port_count = list_count(ports);
    size_t count = address_count > 0 ? address_count : name_count > 0 ? name_count : 1;
    if (name_count > 0 && name_count != count)
        return error_set(err, ERROR_CONFIG, "the store's URL names %zu hosts but %zu hostaddr",
                         name_count, address_count);
    if (port_count > 1 && port_count != count)
        return error_set(err, ERROR_CONFIG, "the store's URL names %zu hosts but %zu ports", count,
                         port_count);
    target->hosts = mem_array(count, sizeof target->hosts[0]);
    target->host_count = count;
    for (size_t i = 0; i < count; i++)
        target->hosts[i] = (struct pg_host){
            .name = list_item(names, i),
            .address = list_item(addresses, i),
            .port = list_item(ports, port_count > 1 ? i : 0),
        };
    return true;
}

static void read_rest(struct pg_target *target, const PQconninfoOption *defaults)
{
    const char *timeout = merged(target, defaults, "connect_timeout");
    int64_t seconds = timeout == NULL ? 0 : strtol(timeout, NULL, 10);
    target->attempt_ms = seconds <= 0 ? 0 : (seconds > 3600 ? 3600 : seconds) * 1000;
    target->has_application_name = merged(target, defaults, "application_name") != NULL;
    target->has_user_timeout = merged(target, defaults, "tcp_user_timeout") != NULL;
    target->has_keepalives = merged(target, defaults, "keepalives") != NULL ||
                             merged(target, defaults, "keepalives_idle") != NULL ||
                             merged(target, defaults, "keepalives_interval") != NULL ||
                             merged(target, defaults, "keepalives_count") != NULL;
}

bool pg_target_parse(const char *url, struct pg_target *ret_target, struct error *err)
{
    char *message = NULL;
    *ret_target = (struct pg_target){.options = PQconninfoParse(url, &message)};
    if (ret_target->options == NULL) {
        /* libpq's sentence may quote a part of the URL */
        bool is_secret = store_url_has_password(url);
        error_set(err, ERROR_CONFIG, "libpq cannot read the store's URL%s%s", is_secret ? "" : ": ",
                  is_secret || message == NULL ? " (see \"Connection URIs\" in its manual)"
                                               : message);
        PQfreemem(message);
        return false;
    }
    PQconninfoOption *defaults = read_defaults(find_value(ret_target->options, "service"));
    bool is_read = read_hosts(ret_target, defaults, err);
    read_rest(ret_target, defaults);
    free_options(defaults);
    if (!is_read)
        pg_target_done(ret_target);
    return is_read;
}

void pg_target_done(struct pg_target *target)
{
    for (size_t i = 0; i < target->host_count; i++) {
        free(target->hosts[i].name);
        free(target->hosts[i].address);
        free(target->hosts[i].port);
    }
    free(target->hosts);
    free_options(target->options);
    *target = (struct pg_target){0};
}

bool pg_target_needs_lookup(const struct pg_host *host)
{
    struct in6_addr ignored;
    return host->address == NULL && host->name != NULL && host->name[0] != '/' &&
           host->name[0] != '@' && inet_pton(AF_INET, host->name, &ignored) != 1 &&
           inet_pton(AF_INET6, host->name, &ignored) != 1;
}

/* ---- connecting -------------------------------------------------------------------------- */

#define KEYWORDS_MAX 96

struct keywords {
    const char *names[KEYWORDS_MAX + 1]; /* end with NULL */
    const char *values[KEYWORDS_MAX + 1];
    int count;
};

/* The last one of a keyword counts with libpq. */
static void add(struct keywords *keywords, const char *name, const char *value)
{
    if (value == NULL || keywords->count == KEYWORDS_MAX)
        return;
    keywords->names[keywords->count] = name;
    keywords->values[keywords->count++] = value;
}

static bool is_about_hosts(const char *keyword)
{
    return strcmp(keyword, "host") == 0 || strcmp(keyword, "hostaddr") == 0 ||
           strcmp(keyword, "port") == 0;
}

static void add_given(struct keywords *keywords, const struct pg_target *target)
{
    for (const PQconninfoOption *o = target->options; o->keyword != NULL; o++)
        if (!is_about_hosts(o->keyword) && o->val != NULL && o->val[0] != '\0')
            add(keywords, o->keyword, o->val);
}

static void add_ours(struct keywords *keywords, const struct pg_target *target,
                     const char *application_name)
{
    add(keywords, "client_encoding", "UTF8"); /* our texts are */
    if (!target->has_application_name)
        add(keywords, "application_name", application_name);
    if (!target->has_keepalives) {
        add(keywords, "keepalives_idle", "10");
        add(keywords, "keepalives_interval", "3");
        add(keywords, "keepalives_count", "3");
    }
    if (!target->has_user_timeout) /* keepalive does not watch a request in flight */
        add(keywords, "tcp_user_timeout", "10000");
}

/* A notice on the way is followed by the fault that it announces; libpq would print it. */
static void ignore_notice(void *owner, const PGresult *notice)
{
}

PGconn *pg_target_connect(const struct pg_target *target, const struct pg_host *host,
                          const char *address, const char *application_name)
{
    struct keywords keywords = {.count = 0};
    add_given(&keywords, target);
    add(&keywords, "host", host->name);
    add(&keywords, "hostaddr", address != NULL ? address : host->address);
    add(&keywords, "port", host->port);
    add_ours(&keywords, target, application_name);
    PGconn *conn = PQconnectStartParams(keywords.names, keywords.values, 0);
    if (conn != NULL) {
        PQsetErrorVerbosity(conn, PQERRORS_VERBOSE); /* or a failed connect has no SQLSTATE */
        PQsetNoticeReceiver(conn, ignore_notice, NULL);
    }
    return conn;
}

#define PROBE_VALUE "leaserun-probe"

/* libpq checks all options before it opens a socket, target_session_attrs after the others. With
 * a value that cannot be right there, another complaint is about what the user gave. */
bool pg_target_is_faulty(const struct pg_target *target, struct error *err)
{
    struct keywords keywords = {.count = 0};
    const char *wanted = find_value(target->options, "target_session_attrs");
    add_given(&keywords, target);
    add(&keywords, "port", target->hosts[0].port);
    add(&keywords, "target_session_attrs", PROBE_VALUE);
    PGconn *conn = PQconnectStartParams(keywords.names, keywords.values, 0);
    struct error fault = {0};
    pg_failure_of_connection(conn, &fault);
    PQfinish(conn);
    bool is_faulty = strstr(fault.text, PROBE_VALUE) == NULL;
    if (is_faulty)
        error_set(err, ERROR_CONFIG, "libpq refuses the store's options: %s", fault.text);
    else if (wanted != NULL && strstr(err->text, "target_session_attrs") != NULL)
        is_faulty = true;
    return is_faulty;
}
