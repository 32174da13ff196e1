/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "conf/store_table.h"

#include <string.h>

static char url[] = "postgresql:///app";

static bool read_table(enum store_dialect dialect, const char *table, const char *columns,
                       struct store_table *ret_table, struct error *err)
{
    const struct store_config config = {
        .url = url,
        .dialect = dialect,
        .table = (char *)(uintptr_t)table,
        .columns = (char *)(uintptr_t)columns,
    };
    return store_table_read(&config, ret_table, err);
}

static void check_columns(const struct store_table *table, const char *const columns[4])
{
    for (int c = 0; c < STORE_COLUMN_COUNT; c++)
        assert_string_equal(table->columns[c], columns[c]);
}

static void shedlock__nothing_named__has_the_documented_names(void **state)
{
    struct store_table table;
    struct error err;
    assert_true(read_table(DIALECT_SHEDLOCK, NULL, NULL, &table, &err));
    assert_string_equal(table.schema, "public");
    assert_string_equal(table.name, "shedlock");
    check_columns(&table, (const char *const[4]){"name", "locked_by", "locked_at", "lock_until"});
    store_table_done(&table);
}

static void names_in_quotes__any_characters__are_kept(void **state)
{
    struct store_table table;
    struct error err;
    assert_true(read_table(DIALECT_FENCELESS, " \"My.Schema\" . \"Weird \"\"Table\"\"\" ",
                           "key=\"Key, of =\", holder = Owner ,acquired_at=\"key\"", &table, &err));
    assert_string_equal(table.schema, "My.Schema");
    assert_string_equal(table.name, "Weird \"Table\"");
    check_columns(&table, (const char *const[4]){"Key, of =", "owner", "key", "expires_at"});
    store_table_done(&table);
}

static void name_without_quotes__capitals__is_folded_as_by_the_server(void **state)
{
    struct store_table table;
    struct error err;
    assert_true(read_table(DIALECT_FENCELESS, "Ops.Été_Lease", NULL, &table, &err));
    assert_string_equal(table.schema, "ops");
    assert_string_equal(table.name, "Été_lease");
    store_table_done(&table);
}

static void what_cannot_be_read__is_refused_in_a_sentence(void **state)
{
    static const struct {
        enum store_dialect dialect;
        const char *table, *columns, *part;
    } cases[] = {
        {DIALECT_FENCELESS, NULL, NULL, "needs the name of the table"},
        {DIALECT_LEASERUN, "lease", NULL, "table is for the table of another program"},
        {DIALECT_LEASERUN, NULL, "key=k", "columns is for the table of another program"},
        {DIALECT_FENCELESS, "a.b.c", NULL, "table: what should \".c\" be"},
        {DIALECT_FENCELESS, "\"open", NULL, "is not closed"},
        {DIALECT_FENCELESS, "a.", NULL, "a name is missing"},
        {DIALECT_FENCELESS, "two words", NULL, "table: what should \"words\" be"},
        {DIALECT_FENCELESS, "lease; drop", NULL, "table: what should \"; drop\" be"},
        {DIALECT_FENCELESS, "lease", "token=t", "\"token\" is none of the columns"},
        {DIALECT_FENCELESS, "lease", "key", "\"=\" and a column's name should follow \"key\""},
        {DIALECT_FENCELESS, "lease", "key=a, key=b", "\"key\" stands twice"},
        {DIALECT_FENCELESS, "lease", "key=a holder=b", "a comma should stand before"},
        {DIALECT_FENCELESS, "lease", "key=a,", "a name is missing"},
        {DIALECT_FENCELESS, "lease", "key=holder", "key and holder cannot both be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct store_table table;
        struct error err = {0};
        assert_false(read_table(cases[i].dialect, cases[i].table, cases[i].columns, &table, &err));
        assert_int_equal(err.kind, ERROR_CONFIG);
        assert_non_null(strstr(err.text, cases[i].part));
    }
}

static void sqlite_store__another_dialect__is_refused(void **state)
{
    static char sqlite[] = "sqlite:/x";
    const struct store_config config = {.url = sqlite, .dialect = DIALECT_SHEDLOCK};
    struct store_table table;
    struct error err;
    assert_false(store_table_read(&config, &table, &err));
    assert_non_null(strstr(err.text, "SQLite"));
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(shedlock__nothing_named__has_the_documented_names),
        cmocka_unit_test(names_in_quotes__any_characters__are_kept),
        cmocka_unit_test(name_without_quotes__capitals__is_folded_as_by_the_server),
        cmocka_unit_test(what_cannot_be_read__is_refused_in_a_sentence),
        cmocka_unit_test(sqlite_store__another_dialect__is_refused),
    };
    return cmocka_run_group_tests_name("store_table", cases, NULL, NULL);
}
