/* SPDX-License-Identifier: ISC */
#include "conf/store_url.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Pieces of a URL that are secrets, in order; copied with "***" in their places. */
struct redaction {
    const char *copied_to;
    struct text text;
    bool has_secret;
};

static void hide(struct redaction *redaction, const char *from, const char *to)
{
    if (to <= from)
        return;
    text_add_bytes(&redaction->text, redaction->copied_to, (size_t)(from - redaction->copied_to));
    text_add(&redaction->text, "***");
    redaction->copied_to = to;
    redaction->has_secret = true;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* libpq decodes parameter names too: p%61ssword is password. */
static bool is_secret_name(const char *name, size_t length)
{
    char decoded[32];
    size_t used = 0;
    for (size_t i = 0; i < length && used < sizeof decoded - 1; i++) {
        char c = name[i];
        if (c == '%' && i + 2 < length && hex_value(name[i + 1]) >= 0 &&
            hex_value(name[i + 2]) >= 0) {
            c = (char)(hex_value(name[i + 1]) * 16 + hex_value(name[i + 2]));
            i += 2;
        }
        decoded[used++] = c;
    }
    decoded[used] = '\0';
    return strcasecmp(decoded, "password") == 0 || strcasecmp(decoded, "sslpassword") == 0;
}

static void hide_parameters(struct redaction *redaction, const char *query)
{
    while (*query != '\0') {
        const char *end = query + strcspn(query, "&");
        const char *value = memchr(query, '=', (size_t)(end - query));
        if (value != NULL && is_secret_name(query, (size_t)(value - query)))
            hide(redaction, value + 1, end);
        query = *end == '\0' ? end : end + 1;
    }
}

/* A password with an unencoded "/" or "@" is wrong, and no less secret: everything from the first
 * ":" to the last "@" before the parameters is hidden. */
static void hide_in_uri(struct redaction *redaction, const char *authority)
{
    const char *query = authority + strcspn(authority, "?");
    const char *at = memrchr(authority, '@', (size_t)(query - authority));
    const char *colon = memchr(authority, ':', (size_t)(query - authority));
    if (at != NULL && colon != NULL && colon < at)
        hide(redaction, colon + 1, at);
    if (*query == '?')
        hide_parameters(redaction, query + 1);
}

static const char *skip_blanks(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* The end of a conninfo value: quoted with ' and \ inside, or up to a blank. */
static const char *value_end(const char *at)
{
    bool is_quoted = *at == '\'';
    for (at += is_quoted; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        else if (is_quoted ? *at == '\'' : isspace((unsigned char)*at))
            return is_quoted ? at + 1 : at;
    }
    return at;
}

static void hide_in_conninfo(struct redaction *redaction, const char *at)
{
    for (at = skip_blanks(at); *at != '\0'; at = skip_blanks(at)) {
        const char *name = at;
        while (*at != '\0' && *at != '=' && !isspace((unsigned char)*at))
            at++;
        size_t length = (size_t)(at - name);
        at = skip_blanks(at);
        if (*at != '=')
            continue;
        at = skip_blanks(at + 1);
        const char *end = value_end(at);
        if (is_secret_name(name, length) && strncmp(at, "''", 2) != 0)
            hide(redaction, at, end);
        at = end;
    }
}

static struct redaction redact(const char *url)
{
    struct redaction redaction = {.copied_to = url, .text = TEXT_INIT};
    const char *authority = strstr(url, "://");
    const char *separator = strpbrk(url, "= ");
    if (strncasecmp(url, "sqlite:", 7) == 0)
        ;
    else if (authority != NULL && (separator == NULL || authority < separator))
        hide_in_uri(&redaction, authority + 3);
    else
        hide_in_conninfo(&redaction, url);
    text_add(&redaction.text, redaction.copied_to);
    return redaction;
}

bool store_url_has_password(const char *url)
{
    struct redaction redaction = redact(url);
    text_done(&redaction.text);
    return redaction.has_secret;
}

char *store_url_redacted(const char *url)
{
    struct redaction redaction = redact(url);
    return text_detach(&redaction.text);
}

void store_config_done(struct store_config *config)
{
    mem_wipe(config->url);
    free(config->schema);
    *config = (struct store_config){NULL, NULL};
}
