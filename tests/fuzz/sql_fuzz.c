/* SPDX-License-Identifier: ISC */
/* Statements: with any schema's name every one of them is what it is with a plain name, but for
 * the quoted name itself; arrays of any texts read back as these texts. */
#include "base/mem.h"
#include "base/text.h"
#include "fuzz.h"
#include "store/postgresql/pg_ops.h"
#include "store/postgresql/pg_schema.h"
#include "store/postgresql/pg_sql.h"

#include <stdlib.h>
#include <string.h>

/* ---- SQL with its names taken out ----------------------------------------------------------- */

/* Reads a token that ends with quote, doubled within, and with escape (NUL: none) before any. */
static char *read_quoted(const char **at, char quote, char escape)
{
    struct text out = TEXT_INIT;
    for ((*at)++; **at != quote || (*at)[1] == quote; (*at)++) {
        FUZZ_CHECK(**at != '\0');
        if (**at == quote || (**at == escape && escape != '\0'))
            (*at)++;
        text_add_char(&out, **at);
    }
    (*at)++;
    return text_detach(&out);
}

static void take_out(struct text *out, const char *at, const char *schema);

static void take_name(struct text *out, const char **at, const char *schema)
{
    char *name = read_quoted(at, '"', '\0');
    if (strcmp(name, schema) == 0)
        text_add(out, "<schema>");
    else
        text_addf(out, "\"%s\"", name);
    free(name);
}

/* With standard_conforming_strings off, a backslash escapes in every string: no string that is not
 * E'' may hold one. */
static void take_string(struct text *out, const char **at, const char *schema)
{
    bool has_escapes = **at == 'E';
    *at += has_escapes;
    char *string = read_quoted(at, '\'', has_escapes ? '\\' : '\0');
    FUZZ_CHECK(has_escapes || strchr(string, '\\') == NULL);
    text_add_char(out, '\'');
    if (string[0] == '"')
        take_out(out, string, schema);
    else
        text_add(out, string);
    text_add_char(out, '\'');
    free(string);
}

/* $WORD$, with as many underscores before its end as it takes for the schema's name not to hold it.
 */
static bool take_dollar_quote(struct text *out, const char **at, const char *schema)
{
    static const char *const words[] = {"$create", "$body"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(*at, words[i], length) != 0)
            continue;
        length += strspn(*at + length, "_");
        FUZZ_CHECK((*at)[length] == '$');
        char *quote = strndup(*at, length + 1);
        FUZZ_CHECK(quote != NULL && strstr(schema, quote) == NULL);
        free(quote);
        text_addf(out, "%s$", words[i]);
        *at += length + 1;
        return true;
    }
    return false;
}

static void take_out(struct text *out, const char *at, const char *schema)
{
    while (*at != '\0') {
        if (*at == '$' && take_dollar_quote(out, &at, schema))
            continue;
        if (*at == '"')
            take_name(out, &at, schema);
        else if (*at == '\'' || (at[0] == 'E' && at[1] == '\''))
            take_string(out, &at, schema);
        else if (at[0] == '-' && at[1] == '-')
            at += strcspn(at, "\n") + (strchr(at, '\n') != NULL);
        else
            text_add_char(out, *at++);
    }
}

static void check_alike(const char *sql, const char *schema, const char *plain_sql)
{
    struct text taken = TEXT_INIT, plain = TEXT_INIT;
    take_out(&taken, sql, schema);
    take_out(&plain, plain_sql, "plain");
    FUZZ_CHECK(strcmp(text_string(&taken), text_string(&plain)) == 0);
    text_done(&taken);
    text_done(&plain);
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* {"a","b",NULL} as the server reads it (arrayfuncs.c): a backslash takes the next byte as it is.
 */
static void check_array(const char *array, const char *const *values, size_t count)
{
    FUZZ_CHECK(*array == '{');
    array++;
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(i == 0 || *array++ == ',');
        if (values[i] == NULL) {
            FUZZ_CHECK(strncmp(array, "NULL", 4) == 0);
            array += 4;
            continue;
        }
        FUZZ_CHECK(*array++ == '"');
        for (const char *value = values[i]; *value != '\0'; value++) {
            array += *array == '\\';
            FUZZ_CHECK(*array++ == *value);
        }
        FUZZ_CHECK(*array++ == '"');
    }
    FUZZ_CHECK(strcmp(array, "}") == 0);
}

static uint32_t take_word(const char **at, const char *end)
{
    uint32_t word = 0;
    FUZZ_CHECK(end - *at >= 4);
    for (int i = 0; i < 4; i++)
        word = word << 8 | (unsigned char)*(*at)++;
    return word;
}

static void check_element(const char **at, const char *end, const char *value)
{
    uint32_t length = take_word(at, end);
    if (value == NULL) {
        FUZZ_CHECK(length == UINT32_MAX);
        return;
    }
    FUZZ_CHECK(length == strlen(value) && (size_t)(end - *at) >= length);
    FUZZ_CHECK(memcmp(*at, value, length) == 0);
    *at += length;
}

/* As array_recv reads it: one dimension from 1 on, of text. NULLs at the end need not be there. */
static void check_binary_array(const char *at, size_t length, const char *const *values,
                               size_t count)
{
    const char *end = at + length;
    bool has_nulls = false;
    FUZZ_CHECK(take_word(&at, end) == 1);
    uint32_t says_nulls = take_word(&at, end);
    FUZZ_CHECK(take_word(&at, end) == 25);
    uint32_t element_count = take_word(&at, end);
    FUZZ_CHECK(take_word(&at, end) == 1 && element_count <= count);
    for (size_t i = 0; i < element_count; i++) {
        check_element(&at, end, values[i]);
        has_nulls = has_nulls || values[i] == NULL;
    }
    for (size_t i = element_count; i < count; i++)
        FUZZ_CHECK(values[i] == NULL);
    FUZZ_CHECK(at == end && says_nulls == has_nulls);
}

static void check_param(const struct pg_statement *statement, int at, const char *const *values,
                        size_t count)
{
    const char *param = statement->params[at];
    if (statement->lengths[at] > 0) {
        check_binary_array(param, (size_t)statement->lengths[at], values, count);
        return;
    }
    for (size_t i = 0; i < count && param == NULL; i++)
        FUZZ_CHECK(values[i] == NULL);
    if (param != NULL)
        check_array(param, values, count);
}

/* ---- every operation ------------------------------------------------------------------------ */

#define ITEM_COUNT 2

struct items {
    char *texts[4 * ITEM_COUNT];
    struct claim_item claims[ITEM_COUNT];
    struct renew_item renewals[ITEM_COUNT];
    struct release_item releases[ITEM_COUNT];
    struct recall_item recalls[ITEM_COUNT];
};

static void take_items(struct items *items, struct fuzz_input *input)
{
    for (size_t i = 0; i < 4 * ITEM_COUNT; i++)
        items->texts[i] = fuzz_string(input);
    for (size_t i = 0; i < ITEM_COUNT; i++) {
        const char *key = items->texts[4 * i], *holder = items->texts[4 * i + 1];
        const char *run_id = items->texts[4 * i + 2], *job = items->texts[4 * i + 3];
        items->claims[i] = (struct claim_item){.key = key,
                                               .holder = holder,
                                               .run_id = run_id,
                                               .job = *job == '\0' ? NULL : job,
                                               .attempt = 1,
                                               .slot_us = NO_INSTANT};
        items->renewals[i] = (struct renew_item){.key = key, .holder = holder, .fence = 1};
        items->recalls[i] =
            (struct recall_item){.key = key, .job = items->claims[i].job, .before_us = NO_INSTANT};
        items->releases[i] = (struct release_item){
            .key = key, .holder = holder, .run_id = run_id, .outcome = OUTCOME_FAILED};
        if (*job != '\0') {
            items->releases[i].output_tail = job;
            items->releases[i].output_tail_length = strlen(job);
        }
    }
}

static void fill_request(struct store_request *request, struct items *items, size_t count)
{
    switch (request->kind) {
    case STORE_CLAIM:
        request->u.claim.items = items->claims;
        request->u.claim.count = count;
        break;
    case STORE_RENEW:
        request->u.renew.items = items->renewals;
        request->u.renew.count = count;
        break;
    case STORE_RELEASE:
    case STORE_UNDO:
    case STORE_FREE:
        request->u.release.items = items->releases;
        request->u.release.count = count;
        break;
    case STORE_REVOKE:
        request->u.revoke.key = items->texts[0];
        break;
    case STORE_STATUS:
        request->u.leases.key = items->texts[0];
        break;
    case STORE_HISTORY:
        request->u.runs.key = items->texts[0];
        request->u.runs.limit = 10;
        break;
    case STORE_RECALL:
        request->u.recall.items = items->recalls;
        request->u.recall.count = count;
        break;
    case STORE_FORGET:
        request->u.purge.forget_key = items->texts[0];
        break;
    case STORE_PURGE:
    case STORE_INIT:
    case STORE_INSPECT:
    case STORE_KIND_COUNT:
        break;
    }
}

/* Arrays and texts go as parameters: which parameter the keys are, by operation. */
static void check_keys(const struct store_request *request, const struct items *items,
                       const struct pg_statement *statement)
{
    const char *keys[ITEM_COUNT], *jobs[ITEM_COUNT];
    int at = request->kind == STORE_CLAIM ? 2 : 1;
    for (size_t i = 0; i < ITEM_COUNT; i++) {
        keys[i] = items->claims[i].key;
        jobs[i] = items->claims[i].job;
    }
    if (request->kind <= STORE_FREE)
        check_param(statement, at, keys, ITEM_COUNT);
    if (request->kind == STORE_CLAIM)
        check_param(statement, at + 3, jobs, ITEM_COUNT);
}

static void check_operation(enum store_kind kind, struct items *items, size_t count, int step,
                            const char *schema)
{
    struct store_request request = {.kind = kind};
    struct pg_server server = {.server_us = 0};
    struct pg_statement statement = {0}, plain_statement = {0};
    struct pg_task task = {.request = &request, .schema = schema, .server = &server, .step = step};
    struct pg_task plain = {
        .request = &request, .schema = "plain", .server = &server, .step = step};
    fill_request(&request, items, count);
    pg_ops[kind].build(&task, &statement);
    pg_ops[kind].build(&plain, &plain_statement);
    check_alike(statement.sql, schema, plain_statement.sql);
    if (count == ITEM_COUNT)
        check_keys(&request, items, &statement);
    pg_statement_done(&statement);
    pg_statement_done(&plain_statement);
}

static void check_schema(const char *schema)
{
    struct text script = TEXT_INIT, plain = TEXT_INIT;
    char *printed = pg_schema_print(schema), *plain_printed = pg_schema_print("plain");
    check_alike(printed, schema, plain_printed);
    pg_schema_add_script(NULL, schema, &script);
    pg_schema_add_script(NULL, "plain", &plain);
    check_alike(text_string(&script), schema, text_string(&plain));
    text_done(&script);
    text_done(&plain);
    free(printed);
    free(plain_printed);
}

/* All bytes together decide which operation it is, so that each change tries another. */
static void check_one(const uint8_t *bytes, size_t count, struct items *items, const char *schema)
{
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += bytes[i];
    unsigned kind = sum / 4 % (STORE_KIND_COUNT + 1);
    if (kind == STORE_KIND_COUNT)
        check_schema(schema);
    else
        check_operation((enum store_kind)kind, items, 1 + sum / 2 % 2, (int)(sum % 2), schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, bytes + count};
    struct items items;
    char *schema = fuzz_string(&input);
    take_items(&items, &input);
    if (strcmp(schema, "C") != 0) /* a collation of this name is in the statements too */
        check_one(bytes, count, &items, schema);
    for (size_t i = 0; i < 4 * ITEM_COUNT; i++)
        free(items.texts[i]);
    free(schema);
    return 0;
}
