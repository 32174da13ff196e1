/* SPDX-License-Identifier: ISC */
#include "base/list.h"
#include "check.h"

struct thing {
    int number;
    struct list node;
};

static int number_of(struct list *node)
{
    return LIST_OBJECT(node, struct thing, node)->number;
}

static void list__pushed__keeps_their_order(void **state)
{
    struct list head;
    struct thing things[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    list_init(&head);
    assert_true(list_is_empty(&head));
    for (size_t i = 0; i < CASE_COUNT(things); i++)
        list_push(&head, &things[i].node);
    int expected = 1;
    for (struct list *node = head.next; node != &head; node = node->next)
        assert_int_equal(number_of(node), expected++);
    assert_int_equal(expected, 4);
}

static void list__removed_from_the_middle__joins_the_rest(void **state)
{
    struct list head;
    struct thing things[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    list_init(&head);
    for (size_t i = 0; i < CASE_COUNT(things); i++)
        list_push(&head, &things[i].node);
    list_remove(&things[1].node);
    list_remove(&things[1].node); /* twice does no harm */
    assert_int_equal(number_of(head.next), 1);
    assert_int_equal(number_of(head.next->next), 3);
    assert_int_equal(number_of(head.previous->previous), 1);
    list_remove(&things[0].node);
    list_remove(&things[2].node);
    assert_true(list_is_empty(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list__pushed__keeps_their_order),
        cmocka_unit_test(list__removed_from_the_middle__joins_the_rest),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
