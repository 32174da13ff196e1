/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "check.h"
#include "conf/store_url.h"

#include <stdlib.h>
#include <string.h>

/* redacted NULL: no password in it, shown as it is. */
static const struct {
    const char *url;
    const char *redacted;
} rows[] = {
    {"postgresql:///app", NULL},
    {"postgresql://db1:5432,db2:5433/app?target_session_attrs=read-write", NULL},
    {"postgresql://me@db1/app", NULL},
    {"postgresql://me:@db1/app", NULL},
    {"postgresql://[::1]:5432/app", NULL},
    {"postgresql://db1/app?user=me", NULL},
    {"sqlite:/var/lib/a.db", NULL},
    {"sqlite:/srv/user:pw@x/password=y", NULL},
    {"host=/run/postgresql dbname=app", NULL},
    {"host=h password=''", NULL},
    {"host=h passfile=/x", NULL},
    {"postgresql://h/app?user=me@corp&application_name=a:b", NULL},
    {"host=/a:b user=me@corp dbname=app", NULL},
    {"postgresql://h:5432,[::1]:5433/app?user=me@corp&options=-cx=a@b", NULL},
    {"postgresql://h:/app?host=@abstract", NULL},
    {"", NULL},
    {"postgresql://me:s3cret@db1/app", "postgresql://me:***@db1/app"},
    {"postgres://me:s3cret@db1,db2/app", "postgres://me:***@db1,db2/app"},
    {"POSTGRESQL://me:s3cret@db1/app", "POSTGRESQL://me:***@db1/app"},
    {"postgresql://me:s3%40c@db1/app", "postgresql://me:***@db1/app"},
    {"postgresql://me:s3@cret@db1/app", "postgresql://me:***@db1/app"},
    {"postgresql://me:s3/cret@db1/app", "postgresql://me:***@db1/app"},
    {"postgresql:///app?user=u&password=s3cret", "postgresql:///app?user=u&password=***"},
    {"postgresql:///app?password=s3cret&user=u", "postgresql:///app?password=***&user=u"},
    {"postgresql:///app?p%61ssword=s3cret", "postgresql:///app?p%61ssword=***"},
    {"postgresql:///app?sslpassword=s3cret", "postgresql:///app?sslpassword=***"},
    {"postgresql://u:a@h/db?password=b", "postgresql://u:***@h/db?password=***"},
    {"host=h password=s3cret dbname=d", "host=h password=*** dbname=d"},
    {"host=h password = s3cret dbname=d", "host=h password = *** dbname=d"},
    {"password='s3 \\'cret' host=h", "password=*** host=h"},
    {"password=s3\\ cret host=h", "password=*** host=h"},
    {"host=a://b password=s3cret", "host=a://b password=***"},
    {"PASSWORD=s3cret", "PASSWORD=***"},
    {"password='unclosed s3cret", "password=***"},
    {"options='-c x' password=s3cret", "options='-c x' password=***"},
    {"postgresql://u:s3?cret@h/db", "postgresql://u:***@h/db"},
    {"postgresql://u:s3?a=b@h/db?sslmode=x", "postgresql://u:***@h/db?sslmode=x"},
    {"postgresql://u:s3/?cret@h/db?sslmode=x", "postgresql://u:***@h/db?sslmode=x"},
    {"postgresql://u:s3/c?re=t@h/db", "postgresql://***@h/db"},
    {"postgresql://u:s3/c?user=t@h/db", "postgresql://***@h/db"},
    {"postgresql://u:s3/c?re=t@h/db?password=p", "postgresql://***@h/db?password=***"},
    {"postgresql://u:s3@c/r?et=x@h/db", "postgresql://***@h/db"},
    {"postgresql://u:s3@c/r?et@h/db", "postgresql://u:***@h/db"},
    {"postgresql://u:5/c?re=t@h/db", "postgresql://***@h/db"},
    {"postgresql://u:s3/c?re=t&pass@h/db", "postgresql://***@h/db"},
    {"postgresql://h/db?password=a&b:c@d", "postgresql://***@d"},
    {"postgresql://h/db?x=a@b&password=c", "postgresql://***@b&password=***"},
    {"postgresql://h/db?flag&password=s3cret", "postgresql://h/db?flag&password=***"},
    {" \tpostgresql://u:s3cret@h/db", " \tpostgresql://u:***@h/db"},
    {"u:s3cret@h/db", "u:***@h/db"},
    {"postgresql:u:s3cret@h/db", "postgresql:***@h/db"},
    {"postgresql//u:s3cret@h/db", "postgresql//u:***@h/db"},
    {"url=postgresql://u:s3cret@h/db", "url=postgresql://u:***@h/db"},
};

static void passwords__are_found_and_hidden(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        const char *wanted = rows[i].redacted == NULL ? rows[i].url : rows[i].redacted;
        char *redacted = store_url_redacted(rows[i].url);
        assert_string_equal(redacted, wanted);
        free(redacted);
        assert_int_equal(store_url_has_password(rows[i].url), rows[i].redacted != NULL);
    }
}

static void done__twice_is_once(void **state)
{
    (void)state;
    struct store_config store = {.url = mem_strdup("postgresql://a:b@c/d"),
                                 .schema = mem_strdup("leaserun")};
    store_config_done(&store);
    store_config_done(&store);
    assert_null(store.url);
}

static void pack__and_back__is_the_same_store(void **state)
{
    (void)state;
    static char url[] = "postgresql:///app", schema[] = "ops", table[] = "\"Weird Table\"";
    const struct store_config store = {
        .url = url, .schema = schema, .dialect = DIALECT_FENCELESS, .table = table};
    struct text bytes TEXT_AUTODONE = TEXT_INIT;
    struct store_config back;
    store_config_pack(&store, &bytes);
    assert_true(store_config_unpack(&bytes, &back));
    assert_string_equal(back.url, url);
    assert_string_equal(back.schema, schema);
    assert_int_equal(back.dialect, DIALECT_FENCELESS);
    assert_string_equal(back.table, table);
    assert_null(back.columns);
    store_config_done(&back);
}

static void unpack__what_is_no_store__is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
    } cases[] = {{"", 0}, {"no end", 6}, {"url\0no end", 10}, {"\0schema", 8}, {"u\0s\0009", 6}};
    for (size_t i = 0; i < CASE_COUNT(cases); i++) {
        struct text bytes TEXT_AUTODONE = TEXT_INIT;
        struct store_config back;
        text_add_bytes(&bytes, cases[i].bytes, cases[i].count);
        assert_false(store_config_unpack(&bytes, &back));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords__are_found_and_hidden),
        cmocka_unit_test(done__twice_is_once),
        cmocka_unit_test(pack__and_back__is_the_same_store),
        cmocka_unit_test(unpack__what_is_no_store__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
