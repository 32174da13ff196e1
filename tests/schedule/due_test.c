/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "schedule/due.h"

static int64_t take(struct due *due, size_t *ret_job)
{
    struct due_item item;
    assert_true(due_head(due, &item));
    due_drop_head(due);
    *ret_job = item.job;
    return item.at_us;
}

static void due__nobody_waits__no_head(void **unused)
{
    struct due due = {NULL, 0, 0};
    struct due_item item;
    assert_false(due_head(&due, &item));
    due_done(&due);
}

static void due__put_in_any_order__taken_by_instant(void **unused)
{
    struct due due = {NULL, 0, 0};
    size_t job;
    for (size_t i = 0; i < 1000; i++)
        due_put(&due, (int64_t)(i * 7919 % 1000), i);
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(take(&due, &job), i);
    assert_int_equal(due.count, 0);
    due_done(&due);
}

static void due__one_instant__taken_in_the_tables_order(void **unused)
{
    static const size_t jobs[] = {4, 1, 3, 0, 2, 5};
    struct due due = {NULL, 0, 0};
    size_t job;
    for (size_t i = 0; i < CASE_COUNT(jobs); i++)
        due_put(&due, 60, jobs[i]);
    for (size_t i = 0; i < CASE_COUNT(jobs); i++) {
        take(&due, &job);
        assert_int_equal(job, i);
    }
    due_done(&due);
}

static void due__put_back_after_each_turn__jobs_take_turns(void **unused)
{
    struct due due = {NULL, 0, 0};
    static const int64_t every[] = {2, 3};
    int counts[] = {0, 0};
    due_put(&due, every[0], 0);
    due_put(&due, every[1], 1);
    for (int64_t before = 0; before < 600;) {
        size_t job;
        int64_t at = take(&due, &job);
        assert_true(at >= before);
        before = at;
        counts[job]++;
        due_put(&due, at + every[job], job);
    }
    assert_int_equal(counts[0], 300);
    assert_int_equal(counts[1], 199); /* of equal instants job 0 comes first */
    due_done(&due);
}

static void due__cleared__empty_and_of_use_again(void **unused)
{
    struct due due = {NULL, 0, 0};
    size_t job;
    due_put(&due, 1, 1);
    due_clear(&due);
    due_put(&due, 2, 2);
    assert_int_equal(take(&due, &job), 2);
    assert_int_equal(due.count, 0);
    due_done(&due);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(due__nobody_waits__no_head),
        cmocka_unit_test(due__put_in_any_order__taken_by_instant),
        cmocka_unit_test(due__one_instant__taken_in_the_tables_order),
        cmocka_unit_test(due__put_back_after_each_turn__jobs_take_turns),
        cmocka_unit_test(due__cleared__empty_and_of_use_again),
    };
    return cmocka_run_group_tests_name("due", tests, NULL, NULL);
}
