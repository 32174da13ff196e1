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

/* Values of secret names, from parameter to parameter; a name begins after the last "?" before its
 * "=". */
static void hide_parameters(struct redaction *redaction, const char *query, const char *to)
{
    while (query < to) {
        size_t length = strcspn(query, "&");
        const char *end = (size_t)(to - query) < length ? to : query + length;
        const char *value = memchr(query, '=', (size_t)(end - query));
        const char *mark = value == NULL ? NULL : memrchr(query, '?', (size_t)(value - query));
        const char *name = mark == NULL ? query : mark + 1;
        if (value != NULL && is_secret_name(name, (size_t)(value - name)))
            hide(redaction, value + 1, end);
        query = end < to ? end + 1 : end;
    }
}

/* How many bytes stand before the "?" of the parameters. User and password come before it, up to an
 * "@" that no "/" precedes; a "?" that no name follows is a part of a wrongly written password. */
static size_t count_before_query(const char *from, size_t count)
{
    size_t at = strcspn(from, "@/");
    if (at >= count || from[at] == '/')
        at = 0;
    for (; at < count; at++) {
        if (from[at] != '?')
            continue;
        size_t end = at + 1;
        while (end < count && (isalnum((unsigned char)from[end]) || strchr("_%", from[end])))
            end++;
        if (end == count || from[end] == '=' || from[end] == '&')
            return at;
    }
    return count;
}

/* Parameters in whose values an "@" is no sign of a user before it. */
static const char *const at_home[] = {
    "application_name", "dbname", "fallback_application_name", "host", "options",
    "passfile",         "user"};

static bool is_at_home(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof at_home / sizeof at_home[0]; i++)
        if (strlen(at_home[i]) == length && memcmp(at_home[i], name, length) == 0)
            return true;
    return is_secret_name(name, length);
}

/* host:5432,[::1]:5433 before "/": what follows a ":" outside brackets is a number. */
static bool has_only_ports(const char *authority, const char *to)
{
    bool is_bracketed = false;
    for (const char *at = authority; at < to && *at != '/'; at++) {
        is_bracketed = *at == '[' || (is_bracketed && *at != ']');
        if (*at != ':' || is_bracketed)
            continue;
        size_t digits = strspn(at + 1, "0123456789");
        if (at + 1 + digits < to && at[1 + digits] != ',' && at[1 + digits] != '/')
            return false;
    }
    return true;
}

/* Whether an "@" after the "?" is one of a value, not the end of a password that has a "?". */
static bool is_plain_query(const char *query, const char *to)
{
    while (query < to) {
        const char *and = memchr(query, '&', (size_t)(to - query));
        const char *end = and == NULL ? to : and;
        const char *value = memchr(query, '=', (size_t)(end - query));
        if (memchr(query, '@', (size_t)(end - query)) != NULL &&
            (value == NULL || !is_at_home(query, (size_t)(value - query))))
            return false;
        query = end < to ? end + 1 : end;
    }
    return true;
}

/* A password with an unencoded "/", "@" or "?" is wrong, and no less secret. Returns the "@" before
 * which it may be anywhere: the last of all, unless what stands before and after the "?" at query
 * is as it should be. */
static const char *find_stray_at(const char *authority, const char *query, const char *to)
{
    const char *at = memrchr(query, '@', (size_t)(to - query));
    bool has_user = memchr(authority, '@', (size_t)(query - authority)) != NULL;
    bool is_plain = at == NULL || (is_plain_query(query + 1, to) &&
                                   (has_user || has_only_ports(authority, query)));
    return is_plain ? NULL : at;
}

static void hide_in_uri(struct redaction *redaction, const char *authority, const char *to)
{
    const char *query = authority + count_before_query(authority, (size_t)(to - authority));
    const char *stray = find_stray_at(authority, query, to);
    const char *at = memrchr(authority, '@', (size_t)(query - authority));
    const char *colon = memchr(authority, ':', (size_t)(query - authority));
    if (stray != NULL)
        hide(redaction, authority, stray);
    else if (at != NULL && colon != NULL && colon < at)
        hide(redaction, colon + 1, at);
    hide_parameters(redaction, stray == NULL ? query : stray, to);
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

/* What is no option, or the value of one that takes no URI, may be a URI that is written wrongly.
 */
static void hide_in_word(struct redaction *redaction, const char *from, const char *to)
{
    const char *authority = memmem(from, (size_t)(to - from), "://", 3);
    hide_in_uri(redaction, authority == NULL ? from : authority + 3, to);
}

static void hide_in_value(struct redaction *redaction, const char *from, const char *to)
{
    if (memmem(from, (size_t)(to - from), "://", 3) != NULL)
        hide_in_word(redaction, from, to);
}

static void hide_in_conninfo(struct redaction *redaction, const char *at)
{
    for (at = skip_blanks(at); *at != '\0'; at = skip_blanks(at)) {
        const char *name = at;
        while (*at != '\0' && *at != '=' && !isspace((unsigned char)*at))
            at++;
        const char *name_end = at;
        at = skip_blanks(at);
        if (*at != '=') {
            hide_in_word(redaction, name, name_end);
            continue;
        }
        at = skip_blanks(at + 1);
        const char *end = value_end(at);
        if (!is_secret_name(name, (size_t)(name_end - name)))
            hide_in_value(redaction, at, end);
        else if (strncmp(at, "''", 2) != 0)
            hide(redaction, at, end);
        at = end;
    }
}

static struct redaction redact(const char *url)
{
    struct redaction redaction = {.copied_to = url, .text = TEXT_INIT};
    const char *start = skip_blanks(url);
    const char *authority = strstr(start, "://");
    const char *separator = strpbrk(start, "= ");
    if (strncasecmp(start, "sqlite:", 7) == 0)
        ;
    else if (authority != NULL && (separator == NULL || authority < separator))
        hide_in_uri(&redaction, authority + 3, start + strlen(start));
    else
        hide_in_conninfo(&redaction, start);
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

/* ---- to the guard and back --------------------------------------------------------------- */

/* Strings, each with its NUL; what is not given is empty. The first two must be there. */
enum {
    PACKED_URL,
    PACKED_SCHEMA,
    PACKED_DIALECT,
    PACKED_TABLE,
    PACKED_COLUMNS,
    PACKED_COUNT
};

static void pack_word(struct text *bytes, const char *word)
{
    text_add(bytes, word == NULL ? "" : word);
    text_add_char(bytes, '\0');
}

void store_config_pack(const struct store_config *config, struct text *ret_bytes)
{
    text_clear(ret_bytes);
    pack_word(ret_bytes, config->url);
    pack_word(ret_bytes, config->schema);
    text_addf(ret_bytes, "%d", (int)config->dialect);
    text_add_char(ret_bytes, '\0');
    pack_word(ret_bytes, config->table);
    pack_word(ret_bytes, config->columns);
}

static char *word_or_null(const char *word)
{
    return word[0] == '\0' ? NULL : mem_strdup(word);
}

bool store_config_unpack(const struct text *bytes, struct store_config *ret_config)
{
    const char *words[PACKED_COUNT] = {"", "", "0", "", ""};
    const char *at = text_string(bytes), *end = at + bytes->length;
    int count = 0;
    for (const char *nul; count < PACKED_COUNT; at = nul + 1) {
        nul = memchr(at, '\0', (size_t)(end - at));
        if (nul == NULL)
            break;
        words[count++] = at;
    }
    int dialect = words[PACKED_DIALECT][0] - '0';
    if (count <= PACKED_SCHEMA || words[PACKED_URL][0] == '\0' || dialect < DIALECT_LEASERUN ||
        dialect > DIALECT_SHEDLOCK)
        return false;
    *ret_config = (struct store_config){
        .url = mem_strdup(words[PACKED_URL]),
        .schema = mem_strdup(words[PACKED_SCHEMA]),
        .dialect = (enum store_dialect)dialect,
        .table = word_or_null(words[PACKED_TABLE]),
        .columns = word_or_null(words[PACKED_COLUMNS]),
    };
    return true;
}

void store_config_done(struct store_config *config)
{
    mem_wipe(config->url);
    free(config->schema);
    free(config->table);
    free(config->columns);
    *config = (struct store_config){0};
}
