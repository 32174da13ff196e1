/* SPDX-License-Identifier: ISC */
/* Store URLs: no password that libpq would find, and none that a person put in, is shown. */
#include "base/mem.h"
#include "base/text.h"
#include "conf/store_url.h"
#include "fuzz.h"
#include "store/postgresql/pg_target.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "S3cRet"
#define TAIL "T0kEn"

/* ---- any text, read by libpq -------------------------------------------------------------- */

static const char *const secret_names[] = {"password", "sslpassword"};

static const char *find(const PQconninfoOption *options, const char *keyword)
{
    for (const PQconninfoOption *o = options; o != NULL && o->keyword != NULL; o++)
        if (strcmp(o->keyword, keyword) == 0)
            return o->val;
    return NULL;
}

/* A short one may stand elsewhere by chance. */
static void check_not_shown(const char *url, const char *redacted, const char *secret)
{
    const char *first = strlen(secret) < 4 ? NULL : strstr(url, secret);
    if (first != NULL && strstr(first + 1, secret) == NULL)
        FUZZ_CHECK(strstr(redacted, secret) == NULL);
}

static void check_by_libpq(const char *url, const char *redacted)
{
    PQconninfoOption *given = PQconninfoParse(url, NULL);
    PQconninfoOption *shown = PQconninfoParse(redacted, NULL);
    for (size_t i = 0; i < sizeof secret_names / sizeof secret_names[0]; i++) {
        const char *secret = find(given, secret_names[i]), *left = find(shown, secret_names[i]);
        if (secret == NULL || secret[0] == '\0')
            continue;
        FUZZ_CHECK(store_url_has_password(url));
        FUZZ_CHECK(left == NULL || left[0] == '\0' || strncmp(left, "***", 3) == 0);
        check_not_shown(url, redacted, secret);
    }
    PQconninfoFree(given);
    PQconninfoFree(shown);
}

/* libpq's sentence about a URL that it cannot read may quote it. */
static void check_target(const char *url)
{
    struct pg_target target;
    struct error err = {.kind = ERROR_NONE};
    if (pg_target_parse(url, &target, &err)) {
        FUZZ_CHECK(target.host_count > 0);
        for (size_t i = 0; i < target.host_count; i++)
            pg_target_needs_lookup(&target.hosts[i]);
        pg_target_done(&target);
        return;
    }
    FUZZ_CHECK(err.text[0] != '\0' && fuzz_is_one_line(err.text));
    if (store_url_has_password(url))
        FUZZ_CHECK(strstr(err.text, HEAD) == NULL && strstr(err.text, TAIL) == NULL);
}

static void check_text(const char *url)
{
    char *redacted = store_url_redacted(url);
    bool has_password = store_url_has_password(url);
    FUZZ_CHECK(has_password || strcmp(redacted, url) == 0);
    check_by_libpq(url, redacted);
    check_target(url);
    free(redacted);
}

/* ---- a password that is put in ------------------------------------------------------------ */

static void add_encoded(struct text *out, const char *string)
{
    for (; *string != '\0'; string++)
        text_addf(out, "%%%02x", (unsigned char)*string);
}

static void add_escaped(struct text *out, const char *string, const char *special)
{
    for (; *string != '\0'; string++) {
        if (strchr(special, *string) != NULL)
            text_add_char(out, '\\');
        text_add_char(out, *string);
    }
}

/* "p%61ssword": some letters of a name encoded. */
static void add_name(struct text *out, const char *name, unsigned which)
{
    for (; *name != '\0'; name++, which >>= 1)
        text_addf(out, which & 1 ? "%%%02x" : "%c", *name);
}

/* A "/" or "@" that is not encoded ends what libpq takes for user and password; when what follows a
 * "?" then is a parameter in whose value an "@" is at home, nobody can tell. */
static bool is_beyond_hope(const char *password)
{
    static const char *const names[] = {
        "application_name=", "dbname=", "host=", "options=", "passfile=", "password=", "user="};
    const char *end = strpbrk(password, "/@");
    const char *question = end == NULL ? NULL : strchr(password, '?');
    for (size_t i = 0; question != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strstr(question, names[i]) != NULL)
            return true;
    return false;
}

static void build(struct text *url, struct fuzz_input *input)
{
    unsigned shape = fuzz_below(input, 6), which = fuzz_byte(input);
    char *user = fuzz_string(input), *middle = fuzz_string(input), *rest = fuzz_string(input);
    if (strstr(rest, HEAD) != NULL || strstr(rest, TAIL) != NULL)
        rest[0] = '\0'; /* the marks are the password's alone */
    char *password = mem_printf(HEAD "%s" TAIL, middle);
    if (shape == 0 || (shape == 1 && is_beyond_hope(password))) {
        text_add(url, "postgresql://u");
        add_encoded(url, user);
        text_add_char(url, ':');
        add_encoded(url, password);
        text_addf(url, "@h/%s", rest);
    } else if (shape == 1) {
        text_addf(url, "postgres://u:%s@h/db", password);
    } else if (shape == 2 || shape == 3) {
        text_add(url, "postgresql://h/db?user=me&");
        add_name(url, secret_names[shape - 2], which);
        text_add_char(url, '=');
        add_encoded(url, password);
        text_addf(url, "&options=%s", rest);
    } else {
        text_addf(url, "host=h %s %c ", secret_names[which & 1], '=');
        text_add(url, shape == 4 ? "'" : "");
        add_escaped(url, password, shape == 4 ? "'\\" : "'\\ \t\n\v\f\r");
        text_addf(url, "%s dbname=%s", shape == 4 ? "'" : "", rest);
    }
    free(user);
    free(middle);
    free(rest);
    free(password);
}

static void check_built(struct fuzz_input *input)
{
    struct text url = TEXT_INIT;
    build(&url, input);
    char *redacted = store_url_redacted(text_string(&url));
    FUZZ_CHECK(store_url_has_password(text_string(&url)));
    FUZZ_CHECK(strstr(redacted, HEAD) == NULL && strstr(redacted, TAIL) == NULL);
    check_by_libpq(text_string(&url), redacted);
    check_target(text_string(&url));
    free(redacted);
    text_done(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, bytes + count};
    if (count > 0 && bytes[0] < ' ') {
        fuzz_byte(&input);
        check_built(&input);
        return 0;
    }
    char *url = fuzz_string(&input);
    check_text(url);
    free(url);
    return 0;
}
