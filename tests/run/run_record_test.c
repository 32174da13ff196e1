/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "run/run_record.h"

#include <sys/wait.h>

#define EXITED(code)      .has_exited = true, .wait_status = W_EXITCODE(code, 0)
#define SIGNALLED(number) .has_exited = true, .wait_status = W_EXITCODE(0, number)

static const struct row {
    const char *what;
    struct run_facts facts;
    struct run_record expected;
} rows[] = {
    {"success", {EXITED(0)}, {OUTCOME_SUCCEEDED, 0, 0}},
    {"failure", {EXITED(3)}, {OUTCOME_FAILED, 3, 3}},
    {"the highest status", {EXITED(255)}, {OUTCOME_FAILED, 255, 255}},
    {"a status of leaserun's own", {EXITED(75)}, {OUTCOME_FAILED, 75, 75}},
    {"ended by a signal", {SIGNALLED(SIGSEGV)}, {OUTCOME_FAILED, 139, 139}},
    {"with a core",
     {.has_exited = true, .wait_status = SIGABRT | 0x80},
     {OUTCOME_FAILED, 134, 134}},
    {"not found",
     {.is_not_started = true, .not_started_exit = 127},
     {OUTCOME_NOT_STARTED, -1, 127}},
    {"no permission",
     {.is_not_started = true, .not_started_exit = 126},
     {OUTCOME_NOT_STARTED, -1, 126}},
    {"no memory", {.is_not_started = true, .not_started_exit = 71}, {OUTCOME_NOT_STARTED, -1, 71}},
    {"not found, while a stop came",
     {.is_not_started = true, .not_started_exit = 127, .is_stopped = true},
     {OUTCOME_NOT_STARTED, -1, 127}},
    {"not found, and the lease lost",
     {.is_not_started = true, .not_started_exit = 127, .is_lost = true},
     {OUTCOME_NOT_STARTED, -1, 127}},
    {"timed out, ended by TERM",
     {SIGNALLED(SIGTERM), .is_timed_out = true},
     {OUTCOME_TIMED_OUT, 143, 124}},
    {"timed out, ended by itself", {EXITED(0), .is_timed_out = true}, {OUTCOME_TIMED_OUT, 0, 124}},
    {"stopped, ended by TERM",
     {SIGNALLED(SIGTERM), .is_stopped = true},
     {OUTCOME_STOPPED, 143, 143}},
    {"stopped, with a status of its own", {EXITED(4), .is_stopped = true}, {OUTCOME_STOPPED, 4, 4}},
    {"stopped and clean", {EXITED(0), .is_stopped = true}, {OUTCOME_STOPPED, 0, 0}},
    {"lost, ended by KILL", {SIGNALLED(SIGKILL), .is_lost = true}, {OUTCOME_LOST, 137, 76}},
    {"lost, ended well", {EXITED(0), .is_lost = true}, {OUTCOME_LOST, 0, 76}},
    {"lost says more than a timeout",
     {SIGNALLED(SIGTERM), .is_lost = true, .is_timed_out = true},
     {OUTCOME_LOST, 143, 76}},
    {"lost says more than a stop",
     {SIGNALLED(SIGTERM), .is_lost = true, .is_stopped = true},
     {OUTCOME_LOST, 143, 76}},
    {"guard died, command killed with it", {.has_guard_died = true}, {OUTCOME_FAILED, 137, 137}},
    {"guard died after the command",
     {EXITED(0), .has_guard_died = true},
     {OUTCOME_SUCCEEDED, 0, 0}},
    {"guard died after a failure", {EXITED(9), .has_guard_died = true}, {OUTCOME_FAILED, 9, 9}},
    {"guard died while stopping",
     {.has_guard_died = true, .is_stopped = true},
     {OUTCOME_STOPPED, 137, 137}},
    {"guard died, lease lost", {.has_guard_died = true, .is_lost = true}, {OUTCOME_LOST, 137, 76}},
};

static void record__facts__outcome_status_and_exit(void **unused)
{
    for (size_t i = 0; i < CASE_COUNT(rows); i++) {
        struct run_record record = run_record_of(&rows[i].facts);
        const struct run_record *expected = &rows[i].expected;
        if (record.outcome != expected->outcome || record.status != expected->status ||
            record.exit_code != expected->exit_code)
            fail_msg("%s: %s %d, exit %d; expected %s %d, exit %d", rows[i].what,
                     run_outcome_name(record.outcome), record.status, record.exit_code,
                     run_outcome_name(expected->outcome), expected->status, expected->exit_code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(record__facts__outcome_status_and_exit)};
    return cmocka_run_group_tests_name("run_record", tests, NULL, NULL);
}
