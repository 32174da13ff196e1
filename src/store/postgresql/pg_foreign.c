/* SPDX-License-Identifier: ISC */
#include "store/postgresql/pg_foreign.h"

#include "base/mem.h"
#include "base/now.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MS  INT64_C(3600000)
#define SIGN_LIVE '#'
#define SIGNS     "#~!"

static char *shown_name(const struct store_table *table)
{
    struct text shown = TEXT_INIT;
    pg_sql_add_identifier(&shown, table->schema);
    text_add_char(&shown, '.');
    pg_sql_add_identifier(&shown, table->name);
    return text_detach(&shown);
}

bool pg_foreign_open(const struct store_config *config, struct pg_foreign **ret_foreign,
                     struct error *err)
{
    struct store_table table;
    *ret_foreign = NULL;
    if (!store_table_read(config, &table, err))
        return false;
    if (table.dialect == DIALECT_LEASERUN)
        return true;
    struct pg_foreign *foreign = mem_alloc(sizeof *foreign);
    foreign->table = table;
    foreign->shown = shown_name(&table);
    pg_foreign_forget(foreign);
    *ret_foreign = foreign;
    return true;
}

static void drop_names(struct pg_foreign *foreign)
{
    for (int i = 0; foreign->names[i].name != NULL; i++)
        free((char *)(uintptr_t)foreign->names[i].text);
    memset(foreign->names, 0, sizeof foreign->names);
}

bool pg_foreign_is_known(const struct pg_foreign *foreign)
{
    return now_boot_ms() < foreign->known_until_boot_ms;
}

void pg_foreign_forget(struct pg_foreign *foreign)
{
    foreign->known_until_boot_ms = INT64_MIN;
}

void pg_foreign_close(struct pg_foreign *foreign)
{
    if (foreign == NULL)
        return;
    drop_names(foreign);
    store_table_done(&foreign->table);
    free(foreign->shown);
    free(foreign);
}

/* ---- names for statements ---------------------------------------------------------------- */

static void add_name(struct pg_foreign *foreign, const char *name, char *owned_text)
{
    int count = 0;
    while (foreign->names[count].name != NULL)
        count++;
    if (count == PG_FOREIGN_NAMES_MAX)
        abort();
    foreign->names[count] = (struct pg_sql_name){.name = name, .text = owned_text};
}

static void add_column(struct pg_foreign *foreign, const char *name, enum store_column column)
{
    struct text quoted = TEXT_INIT;
    pg_sql_add_identifier(&quoted, foreign->table.columns[column]);
    add_name(foreign, name, text_detach(&quoted));
}

static void add_zone(struct pg_foreign *foreign, const char *name, enum store_column column)
{
    bool has_zone = foreign->columns[column].has_zone;
    add_name(foreign, name, mem_strdup(has_zone ? "" : " AT TIME ZONE 'UTC'"));
}

/* The least by which the end may follow the beginning: what the coarser column can tell apart. */
static char *least_span(const struct pg_foreign *foreign)
{
    static const char *const spans[] = {"1 second",      "100 milliseconds", "10 milliseconds",
                                        "1 millisecond", "100 microseconds", "10 microseconds",
                                        "1 microsecond"};
    int digits = foreign->columns[STORE_COLUMN_EXPIRES_AT].digits;
    int other = foreign->columns[STORE_COLUMN_ACQUIRED_AT].digits;
    return mem_printf("'%s'::pg_catalog.interval", spans[other < digits ? other : digits]);
}

static int random_chars(const struct pg_foreign *foreign)
{
    int chars = foreign->columns[STORE_COLUMN_HOLDER].chars;
    return chars == 0 || chars > RANDOM_NONCE_CHARS ? RANDOM_NONCE_CHARS : chars - 1;
}

struct composed {
    const char *name, *template; /* with the names that stand before it */
};

/* An instant of the others may be infinite, and no sum may be made with it; without an end is for
 * ever. */
static const struct composed always[] = {
    {"since", "(f.%acquired%acquired_zone)"},
    {"until", "(f.%expires%expires_zone)"},
    {"bounded", "GREATEST(LEAST(%until, !clock_timestamp() {+} '36500 days'::!interval), "
                "'epoch'::!timestamptz)"},
    {"began", "GREATEST(LEAST(%since, !clock_timestamp() {+} '36500 days'::!interval), "
              "'epoch'::!timestamptz)"},
    {NULL, NULL},
};

static const struct composed joined[] = {
    {"own_join", " LEFT JOIN @leases AS lease ON lease.key {=} (f.%key COLLATE !\"C\") "
                 "AND !substr(!right(lease.holder, %nonce), 1, %random) {=} "
                 "(!right(f.%holder, %random) COLLATE !\"C\")"},
    {"own_fence", "lease.fence"},
    {"own_slot", "lease.slot"},
    {"own_holder", "lease.holder"},
    {"own_acquired", "lease.acquired_at"},
    {"own_is_live", "COALESCE((NOT lease.released AND lease.expires_at {>} item.now) "
                    "OR lease.not_before {>} item.now, false)"},
    {"own_hold", "(SELECT lease.not_before FROM @leases AS lease WHERE lease.key {=} item.key "
                 "AND lease.holder {=} item.own_holder)"},
    {NULL, NULL},
};

static const struct composed alone[] = {
    {"own_join", ""},
    {"own_fence", "NULL::!int8"},
    {"own_slot", "NULL::!timestamptz"},
    {"own_holder", "NULL::!text"},
    {"own_acquired", "NULL::!timestamptz"},
    {"own_is_live", "false"},
    {"own_hold", "NULL::!timestamptz"},
    {NULL, NULL},
};

static void add_composed(struct pg_foreign *foreign, const char *schema,
                         const struct composed *rows)
{
    for (; rows->name != NULL; rows++)
        add_name(foreign, rows->name, pg_sql_expand_names(rows->template, schema, foreign->names));
}

void pg_foreign_settle(struct pg_foreign *foreign, const char *schema)
{
    foreign->known_until_boot_ms = now_boot_ms() + KNOWN_MS;
    drop_names(foreign);
    int random = random_chars(foreign);
    add_name(foreign, "table", mem_strdup(foreign->shown));
    add_column(foreign, "key", STORE_COLUMN_KEY);
    add_column(foreign, "holder", STORE_COLUMN_HOLDER);
    add_column(foreign, "acquired", STORE_COLUMN_ACQUIRED_AT);
    add_column(foreign, "expires", STORE_COLUMN_EXPIRES_AT);
    add_zone(foreign, "acquired_zone", STORE_COLUMN_ACQUIRED_AT);
    add_zone(foreign, "expires_zone", STORE_COLUMN_EXPIRES_AT);
    add_name(foreign, "least_span", least_span(foreign));
    add_name(foreign, "nonce", mem_printf("%d", RANDOM_NONCE_CHARS));
    add_name(foreign, "random", mem_printf("%d", random));
    add_name(foreign, "live_sign", mem_strdup("'#'"));
    add_name(foreign, "revoked_sign", mem_strdup("'~'"));
    add_name(foreign, "released_sign", mem_strdup("'!'"));
    add_name(foreign, "live_form", mem_printf("'#[a-z2-7]{%d}$'", random));
    add_name(foreign, "revoked_form", mem_printf("'~[a-z2-7]{%d}$'", random));
    add_name(foreign, "released_form", mem_printf("'![a-z2-7]{%d}$'", random));
    add_composed(foreign, schema, always);
    add_composed(foreign, schema, foreign->is_joined ? joined : alone);
}

/* ---- holders ----------------------------------------------------------------------------- */

void pg_foreign_holder(const struct pg_foreign *foreign, const char *holder,
                       char ret_holder[IDENTITY_HOLDER_MAX])
{
    const char *slash = strrchr(holder, '/');
    const char *random = slash == NULL ? holder : slash + 1;
    int prefix = slash == NULL ? 0 : (int)(slash - holder);
    int most = foreign->columns[STORE_COLUMN_HOLDER].chars;
    int random_length = random_chars(foreign);
    if (most > 0 && prefix > most - 1 - random_length)
        prefix = most - 1 - random_length;
    snprintf(ret_holder, IDENTITY_HOLDER_MAX, "%.*s%c%.*s", prefix, holder, SIGN_LIVE,
             random_length, random);
    for (char *c = ret_holder; c < ret_holder + prefix; c++)
        if (strchr(SIGNS, *c) != NULL)
            *c = '_';
}

void pg_foreign_show_holder(char *holder)
{
    size_t length = strlen(holder);
    if (length <= RANDOM_NONCE_CHARS)
        return;
    char *sign = holder + length - RANDOM_NONCE_CHARS - 1;
    if (strchr(SIGNS, *sign) != NULL && strspn(sign + 1, RANDOM_NONCE_DIGITS) == RANDOM_NONCE_CHARS)
        *sign = '/';
}
