/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "store/stand_in_choice.h"

#include <stddef.h>
#include <string.h>

#define SOCKET  "postgresql:///app?host=/run/postgresql"
#define NETWORK "postgresql://db.example/app"

static const char *const bare[] = {"PATH=/usr/bin", "PGUSER=app", "SERVICE=x", NULL};

static const char *shown(struct stand_in_choice choice)
{
    return choice.without_ldap     ? choice.without_gssapi ? "without both" : "without ldap"
           : choice.without_gssapi ? "without gssapi"
                                   : "with both";
}

static struct stand_in_facts facts_of(const char *url)
{
    return (struct stand_in_facts){
        .url = url,
        .environment = bare,
        .name_services = "passwd: files systemd\nhosts: files dns\n",
    };
}

static void expect(const struct stand_in_facts *facts, const char *given, const char *expected)
{
    const char *actual = shown(stand_in_choose(facts));
    if (strcmp(actual, expected) != 0)
        fail_msg("%s instead of %s, given %s", actual, expected, given);
}

static void check_url(const char *url, bool has_kerberos, const char *expected)
{
    struct stand_in_facts facts = facts_of(url);
    facts.has_kerberos = has_kerberos;
    expect(&facts, url, expected);
}

static void check_variable(const char *url, const char *variable, const char *expected)
{
    const char *const environment[] = {"PATH=/usr/bin", variable, NULL};
    struct stand_in_facts facts = facts_of(url);
    facts.environment = environment;
    expect(&facts, variable, expected);
}

static void check_names(const char *name_services, const char *expected)
{
    struct stand_in_facts facts = facts_of(NETWORK);
    facts.name_services = name_services;
    expect(&facts, name_services, expected);
}

static void plain_stores_do_without_both(void **state)
{
    (void)state;
    check_url(SOCKET, false, "without both");
    check_url(NETWORK, false, "without both");
    check_url("postgresql://app:secret@db1,db2:5433/app?sslmode=require", false, "without both");
    check_url("host=db.example dbname=app gssencmode=prefer", false, "without both");
    check_url("postgresql://db/app?gssencmode=disable", false, "without both");
    check_url("postgresql://service.example/service?options=-cx%3Dy", false, "without both");
    check_url("postgresql:///", false, "without both");
}

static void a_service_may_be_in_a_directory(void **state)
{
    (void)state;
    check_url("postgresql:///?service=app", false, "with both");
    check_url("postgresql://db/app?user=x&service=app", false, "with both");
    check_url("service=app", false, "with both");
    check_url("host=db service = app", false, "with both");
    check_url("user='a'service='app'", false, "with both");
    check_url("postgresql:///?s%65rvice=app", false, "with both");
    check_url("postgresql:///?user=a&%73ervice=app", false, "with both");
    check_variable(SOCKET, "PGSERVICE=app", "with both");
    check_variable(SOCKET, "PGSERVICE=", "without both");
    check_variable(SOCKET, "PGSERVICEFILE=/etc/services", "without both");
}

static void a_machine_with_kerberos_keeps_gssapi_for_tcp(void **state)
{
    (void)state;
    check_url(NETWORK, true, "without ldap");
    check_url("host=127.0.0.1", true, "without ldap");
    check_url("postgresql:///app", true, "without ldap");
    check_variable(NETWORK, "KRB5CCNAME=KEYRING:session", "without ldap");
    check_variable(NETWORK, "KRB5_CONFIG=/srv/krb5.conf", "without ldap");
    check_variable(NETWORK, "GSS_USE_PROXY=yes", "without ldap");
}

static void a_unix_socket_needs_no_kerberos(void **state)
{
    (void)state;
    check_url(SOCKET, true, "without both");
    check_url("postgresql://app@%2Frun%2Fpostgresql/app", true, "without both");
    check_url("postgresql:///app?host=%2frun%2fpostgresql&user=app", true, "without both");
    check_url("host = '/run/postgresql' dbname=app", true, "without both");
}

static void what_only_looks_like_a_unix_socket_may_need_it(void **state)
{
    (void)state;
    check_url("postgresql:///app?host=/run/postgresql,db.example", true, "without ldap");
    check_url("postgresql:///app?host=%2Frun%2Fpostgresql%2Cdb.example", true, "without ldap");
    check_url("postgresql://%2Frun,db.example/app", true, "without ldap");
    check_url("postgresql://%2Frun?x@db.example/app", true, "without ldap");
    check_url("postgresql://db.example/app?host=/run/postgresql", true, "without ldap");
    check_url("host=/run/postgresql hostaddr=192.0.2.1", true, "without ldap");
    check_url("host=/run/postgresql host=db.example", true, "without ldap");
    check_url("host='/run/a b,db.example'", true, "without ldap");
}

static void the_host_may_be_named_by_the_environment(void **state)
{
    (void)state;
    const char *const by_socket[] = {"KRB5CCNAME=x", "PGHOST=/run/postgresql", NULL};
    const char *const by_name[] = {"KRB5CCNAME=x", "PGHOST=db.example", NULL};
    const char *const by_address[] = {"KRB5CCNAME=x", "PGHOSTADDR=192.0.2.1", NULL};
    struct stand_in_facts facts = facts_of("dbname=app");
    facts.environment = by_socket;
    assert_string_equal(shown(stand_in_choose(&facts)), "without both");
    facts.environment = by_name;
    assert_string_equal(shown(stand_in_choose(&facts)), "without ldap");
    facts.url = SOCKET;
    assert_string_equal(shown(stand_in_choose(&facts)), "without both");
    facts.environment = by_address;
    assert_string_equal(shown(stand_in_choose(&facts)), "without ldap");
}

static void who_asks_for_gssapi_gets_it(void **state)
{
    (void)state;
    check_url(SOCKET "&gssencmode=require", false, "without ldap");
    check_url("host=db gssencmode='require'", false, "without ldap");
    check_url("postgresql://db/app?gssencmode=%72equire", false, "without ldap");
    check_url("postgresql://db/app?krbsrvname=pg", false, "without ldap");
    check_url("postgresql://db/app?gsslib=gssapi", false, "without ldap");
    check_url("postgresql://db/app?require_auth=gss", false, "without ldap");
    check_variable(NETWORK, "PGGSSENCMODE=require", "without ldap");
    check_variable(NETWORK, "PGGSSENCMODE=disable", "without both");
    check_variable(NETWORK, "PGKRBSRVNAME=pg", "without ldap");
}

static void names_from_an_unknown_source_need_both(void **state)
{
    (void)state;
    check_names("", "without both");
    check_names("# hosts: ldap\nhosts:\tfiles  mdns4_minimal [NOTFOUND=return] dns\n",
                "without both");
    check_names("passwd: files sss # ldap\n", "without both");
    check_names("hosts: files[SUCCESS=merge]dns", "without both");
    check_names("passwd: files ldap\nhosts: files dns\n", "with both");
    check_names("passwd: files\nhosts: files dns wins", "with both");
    check_names("passwd:winbind", "with both");
    check_names("passwd: files[NOTFOUND=continue]ldap", "with both");
}

static void a_key_in_an_engine_may_need_both(void **state)
{
    (void)state;
    check_url("postgresql://db/app?sslkey=pkcs11:key", false, "with both");
    check_variable(NETWORK, "PGSSLKEY=pkcs11:key", "with both");
    check_variable(NETWORK, "OPENSSL_CONF=/etc/hsm.cnf", "with both");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_stores_do_without_both),
        cmocka_unit_test(a_service_may_be_in_a_directory),
        cmocka_unit_test(a_machine_with_kerberos_keeps_gssapi_for_tcp),
        cmocka_unit_test(a_unix_socket_needs_no_kerberos),
        cmocka_unit_test(what_only_looks_like_a_unix_socket_may_need_it),
        cmocka_unit_test(the_host_may_be_named_by_the_environment),
        cmocka_unit_test(who_asks_for_gssapi_gets_it),
        cmocka_unit_test(names_from_an_unknown_source_need_both),
        cmocka_unit_test(a_key_in_an_engine_may_need_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
