/* SPDX-License-Identifier: ISC */
/* What a row says of the past of its jobs: until when their slots have a story. */
#include "check.h"
#include "schedule/past.h"

#define SECOND_US INT64_C(1000000)
#define NOON_US   (INT64_C(1772366400) * SECOND_US) /* 2026-03-01T12:00:00Z */

static const struct job job = {.key = "k", .name = "k"};

/* Every ten seconds, at work since noon: that slot had its turn. */
static struct entry entry_at_work(void)
{
    struct error err;
    struct entry entry = {.job = &job,
                          .fingerprint = 0x1234,
                          .base_us = NOON_US,
                          .since_us = NO_INSTANT,
                          .oldest_turn_us = INT64_MAX,
                          .is_recalled = true};
    assert_true(cron_parse("every 10s", "k", &entry.slots.cron, &err));
    return entry;
}

/* With the turn of the next slot. */
static struct entry entry_that_claims(int64_t slot_us)
{
    struct entry entry = entry_at_work();
    entry.base_us = slot_us;
    entry.turn_count = 1;
    entry.oldest_turn_us = slot_us;
    return entry;
}

static int64_t until_of(const struct entry *entry, int64_t slot_us)
{
    char text[FINGERPRINT_MAX];
    int64_t until_us;
    assert_true(past_write(entry, slot_us, text));
    assert_true(past_read(entry, text, &until_us));
    return until_us;
}

static void write__nothing_waits__told_until_the_slot_that_is_claimed(void **unused)
{
    int64_t slot_us = NOON_US + 10 * SECOND_US;
    struct entry entry = entry_that_claims(slot_us);
    assert_int_equal(until_of(&entry, slot_us), slot_us - 1);
}

static void write__a_late_slot_waits__told_until_that(void **unused)
{
    int64_t slot_us = NOON_US + 90 * SECOND_US;
    struct owed_slot late = {.slot_us = NOON_US + 20 * SECOND_US};
    struct entry entry = entry_that_claims(slot_us);
    entry.late = &late;
    entry.late_count = 1;
    assert_int_equal(until_of(&entry, slot_us), late.slot_us - 1);
}

static void write__an_earlier_slot_has_its_turn_still__told_until_that(void **unused)
{
    int64_t slot_us = NOON_US + 90 * SECOND_US, older_us = NOON_US + 80 * SECOND_US;
    struct entry entry = entry_that_claims(slot_us);
    entry.turn_count = 2;
    entry.oldest_turn_us = older_us;
    assert_int_equal(until_of(&entry, slot_us), older_us - 1);
}

static void write__a_slot_before_it_is_still_to_come_to_its_turn__told_until_that(void **unused)
{
    int64_t slot_us = NOON_US + 90 * SECOND_US;
    struct entry entry = entry_that_claims(slot_us);
    entry.base_us = NOON_US;
    assert_int_equal(until_of(&entry, slot_us), NOON_US + 10 * SECOND_US - 1);
}

static void write__before_the_store_has_told_of_the_past__nothing(void **unused)
{
    char text[FINGERPRINT_MAX];
    struct entry entry = entry_that_claims(NOON_US);
    entry.is_recalled = false;
    assert_false(past_write(&entry, NOON_US, text));
}

static void write__after_a_reload_changed_the_schedule__nothing_before_that_is_owed(void **unused)
{
    int64_t slot_us = NOON_US + 90 * SECOND_US;
    struct owed_slot late = {.slot_us = NOON_US + 20 * SECOND_US};
    struct entry entry = entry_that_claims(slot_us);
    entry.late = &late;
    entry.late_count = 1;
    entry.since_us = NOON_US + 50 * SECOND_US;
    assert_int_equal(until_of(&entry, slot_us), entry.since_us);
}

static void write__another_job_of_the_key_has_a_slot_that_waits__told_until_that(void **unused)
{
    int64_t slot_us = NOON_US + 90 * SECOND_US;
    struct owed_slot late = {.slot_us = NOON_US + 20 * SECOND_US};
    struct entry other = entry_at_work(), entry = entry_that_claims(slot_us);
    other.base_us = slot_us;
    other.late = &late;
    other.late_count = 1;
    entry.shares_key = other.shares_key = true;
    entry.next_sharing = &other;
    other.next_sharing = &entry;
    assert_int_equal(until_of(&entry, slot_us), late.slot_us - 1);
    other.is_recalled = false;
    char text[FINGERPRINT_MAX];
    assert_false(past_write(&entry, slot_us, text));
}

static void read__of_another_schedule_or_no_past__no_past(void **unused)
{
    static const char *const texts[] = {"",
                                        "0000000000001234",
                                        "0000000000001234-",
                                        "0000000000001235-64bf6a7b02000",
                                        "0000000000001234-64bf6a7b02000 ",
                                        "anything"};
    struct entry entry = entry_at_work();
    int64_t until_us;
    assert_true(past_read(&entry, "0000000000001234-64bf6a7b02000", &until_us));
    for (size_t i = 0; i < CASE_COUNT(texts); i++)
        assert_false(past_read(&entry, texts[i], &until_us));
}

static void same__by_the_schedule_alone(void **unused)
{
    assert_true(past_is_same("0000000000001234-1", "0000000000001234-64bf6a7b02000"));
    assert_false(past_is_same("0000000000001234-1", "0000000000001235-1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write__nothing_waits__told_until_the_slot_that_is_claimed),
        cmocka_unit_test(write__a_late_slot_waits__told_until_that),
        cmocka_unit_test(write__an_earlier_slot_has_its_turn_still__told_until_that),
        cmocka_unit_test(write__a_slot_before_it_is_still_to_come_to_its_turn__told_until_that),
        cmocka_unit_test(write__before_the_store_has_told_of_the_past__nothing),
        cmocka_unit_test(write__after_a_reload_changed_the_schedule__nothing_before_that_is_owed),
        cmocka_unit_test(write__another_job_of_the_key_has_a_slot_that_waits__told_until_that),
        cmocka_unit_test(read__of_another_schedule_or_no_past__no_past),
        cmocka_unit_test(same__by_the_schedule_alone),
    };
    return cmocka_run_group_tests_name("past", tests, NULL, NULL);
}
