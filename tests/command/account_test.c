/* SPDX-License-Identifier: ISC */
/* Users and groups, against the databases of this host. */
#include "check.h"
#include "command/account.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

static bool has_group(const struct account *account, gid_t group)
{
    for (size_t i = 0; i < account->group_count; i++)
        if (account->groups[i] == group)
            return true;
    return false;
}

static void account__of_a_user__has_its_numbers_home_and_groups(void **state)
{
    struct account account;
    struct error err;
    const struct passwd *entry = getpwnam("nobody");
    if (entry == NULL || geteuid() != 0)
        skip();
    assert_true(account_find(&account, "nobody", NULL, &err));
    assert_int_equal(account.uid, entry->pw_uid);
    assert_int_equal(account.gid, entry->pw_gid);
    assert_string_equal(account.home, entry->pw_dir);
    assert_true(account.is_change);
    assert_true(has_group(&account, entry->pw_gid));
    assert_false(has_group(&account, 0));
    account_done(&account);
}

static void account__with_a_group__has_that_instead_of_the_users_own(void **state)
{
    struct account account;
    struct error err;
    const struct group *entry = getgrnam("daemon");
    if (entry == NULL || geteuid() != 0)
        skip();
    assert_true(account_find(&account, "nobody", "daemon", &err));
    assert_int_equal(account.gid, entry->gr_gid);
    assert_true(has_group(&account, entry->gr_gid));
    account_done(&account);
}

static void account__of_numbers_nobody_knows__is_these_and_no_more(void **state)
{
    struct account account;
    struct error err;
    if (geteuid() != 0)
        skip();
    assert_true(account_find(&account, "54321", "54322", &err));
    assert_int_equal(account.uid, 54321);
    assert_int_equal(account.gid, 54322);
    assert_int_equal(account.group_count, 1);
    assert_string_equal(account.name, "54321");
    assert_string_equal(account.home, "/");
    account_done(&account);
}

static void account__that_there_is_not__is_refused(void **state)
{
    static const char *const wrong[][3] = {
        {"no-such-user", NULL, "there is no user \"no-such-user\" on this host"},
        {"54321", NULL, "no database of users knows the number 54321: give it a group"},
        {NULL, "no-such-group", "there is no group \"no-such-group\" on this host"},
        {"4294967295", "0", "there is no user \"4294967295\" on this host"}, /* means "keep" */
        {"-1", "0", "there is no user \"-1\" on this host"},
        {"0x0", "0", "there is no user \"0x0\" on this host"},
        {"", NULL, "there is no user \"\" on this host"},
    };
    for (size_t i = 0; i < CASE_COUNT(wrong); i++) {
        struct account account;
        struct error err;
        assert_false(account_find(&account, wrong[i][0], wrong[i][1], &err));
        assert_string_equal(err.text, wrong[i][2]);
        assert_int_equal(err.kind, ERROR_CONFIG);
    }
}

static void account__of_this_process__needs_no_right(void **state)
{
    struct account account;
    struct error err;
    char number[12], group[12];
    snprintf(number, sizeof number, "%lu", (unsigned long)getuid());
    snprintf(group, sizeof group, "%lu", (unsigned long)getgid());
    assert_true(account_find(&account, number, group, &err));
    assert_int_equal(account.uid, getuid());
    account_done(&account);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(account__of_a_user__has_its_numbers_home_and_groups),
        cmocka_unit_test(account__with_a_group__has_that_instead_of_the_users_own),
        cmocka_unit_test(account__of_numbers_nobody_knows__is_these_and_no_more),
        cmocka_unit_test(account__that_there_is_not__is_refused),
        cmocka_unit_test(account__of_this_process__needs_no_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
