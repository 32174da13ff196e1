/* SPDX-License-Identifier: ISC */
#include "base/now.h"
#include "check.h"
#include "schedule/places.h"

#include <sys/resource.h>

struct guest {
    struct place place;
    bool has_come;
};

static void on_given(struct place *place)
{
    LIST_OBJECT(place, struct guest, place)->has_come = true;
}

static int pause_count;

static void on_pause(struct places *places)
{
    pause_count++;
}

static void ask(struct places *places, struct guest *guest, int64_t slot_us)
{
    guest->place = (struct place){.slot_us = slot_us, .given = on_given};
    guest->has_come = false;
    places_ask(places, &guest->place);
}

static void places__below_the_limit__given_at_once(void **unused)
{
    struct places places;
    struct guest guests[2];
    places_init(&places, 2, on_pause);
    ask(&places, &guests[0], 10);
    ask(&places, &guests[1], 20);
    assert_true(guests[0].has_come && guests[1].has_come);
}

static void places__all_taken__waits_until_one_leaves(void **unused)
{
    struct places places;
    struct guest guests[2];
    places_init(&places, 1, on_pause);
    ask(&places, &guests[0], 10);
    ask(&places, &guests[1], 20);
    assert_false(guests[1].has_come);
    places_leave(&places, &guests[0].place);
    assert_true(guests[1].has_come);
}

static void places__several_wait__by_slot_then_by_arrival(void **unused)
{
    struct places places;
    struct guest first, later, early, also_early;
    places_init(&places, 1, on_pause);
    ask(&places, &first, 10);
    ask(&places, &later, 30);
    ask(&places, &early, 20);
    ask(&places, &also_early, 20);
    places_leave(&places, &first.place);
    assert_true(early.has_come && !also_early.has_come && !later.has_come);
    places_leave(&places, &early.place);
    assert_true(also_early.has_come && !later.has_come);
    places_leave(&places, &also_early.place);
    assert_true(later.has_come);
}

static void places__waiting_and_called_off__never_given(void **unused)
{
    struct places places;
    struct guest guests[3];
    places_init(&places, 1, on_pause);
    for (int i = 0; i < 3; i++)
        ask(&places, &guests[i], i);
    places_leave(&places, &guests[1].place);
    places_leave(&places, &guests[0].place);
    assert_true(!guests[1].has_come && guests[2].has_come);
    assert_int_equal(places.taken_count, 1);
}

static void places__left_twice__counted_once(void **unused)
{
    struct places places;
    struct guest guest;
    places_init(&places, 1, on_pause);
    ask(&places, &guest, 1);
    places_leave(&places, &guest.place);
    places_leave(&places, &guest.place);
    assert_int_equal(places.taken_count, 0);
}

static void places__limit_raised__who_waits_comes(void **unused)
{
    struct places places;
    struct guest guests[3];
    places_init(&places, 1, on_pause);
    for (int i = 0; i < 3; i++)
        ask(&places, &guests[i], i);
    places_resize(&places, 2);
    assert_true(guests[1].has_come && !guests[2].has_come);
}

static void places__few_descriptors__no_more_than_they_allow(void **unused)
{
    struct places places;
    struct rlimit before, few;
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &few);
    places_init(&places, 0, on_pause);
    assert_in_range(places.most, 10, 60);
    few.rlim_cur = 20;
    setrlimit(RLIMIT_NOFILE, &few);
    places_init(&places, 0, on_pause);
    assert_int_equal(places.most, 1);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void on_given_slowly(struct place *place)
{
    int64_t end_boot_ms = now_boot_ms() + PLACES_ROW_MS;
    while (now_boot_ms() < end_boot_ms)
        continue;
    on_given(place);
}

static void places__those_given_take_long__the_next_comes_after_a_pause(void **unused)
{
    struct places places;
    struct guest slow, next;
    places_init(&places, 0, on_pause);
    pause_count = 0;
    slow = (struct guest){.place = {.slot_us = 10, .given = on_given_slowly}};
    places_ask(&places, &slow.place);
    ask(&places, &next, 20);
    assert_true(slow.has_come && !next.has_come);
    assert_int_equal(pause_count, 1);
    places_leave(&places, &slow.place);
    assert_false(next.has_come);
    places_go_on(&places);
    assert_true(next.has_come);
    assert_int_equal(pause_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places__below_the_limit__given_at_once),
        cmocka_unit_test(places__all_taken__waits_until_one_leaves),
        cmocka_unit_test(places__several_wait__by_slot_then_by_arrival),
        cmocka_unit_test(places__waiting_and_called_off__never_given),
        cmocka_unit_test(places__left_twice__counted_once),
        cmocka_unit_test(places__limit_raised__who_waits_comes),
        cmocka_unit_test(places__few_descriptors__no_more_than_they_allow),
        cmocka_unit_test(places__those_given_take_long__the_next_comes_after_a_pause),
    };
    return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
