/* SPDX-License-Identifier: ISC */
/* How many hooks run at once, in which order, until when, and how each end is told. Commands are
 * played: each stands in the journal by its key, and ends when a test says so. */
#include "check.h"
#include "fake_clock.h"
#include "journal.h"
#include "run/hooks.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMANDS_MOST 16

struct command {
    const struct command_listener *listener;
    void *owner;
    char key[32];
};

static struct command commands[COMMANDS_MOST];
static int opened_count;
static bool is_refusing;

/* ---- command/command.h ----------------------------------------------------------------------- */

bool command_open(struct command **ret_command, uv_loop_t *loop, const struct command_spec *spec,
                  const struct command_listener *listener, void *owner, struct error *err)
{
    if (is_refusing)
        return error_set(err, ERROR_SYSTEM, "no process can be made");
    assert_null(spec->store);
    assert_true(spec->has_stdout_as_stderr);
    struct command *command = &commands[opened_count++ % COMMANDS_MOST];
    *command = (struct command){.listener = listener, .owner = owner};
    snprintf(command->key, sizeof command->key, "%s", spec->key);
    *ret_command = command;
    return true;
}

void command_start(struct command *command, const struct command_start *start)
{
    assert_int_equal(start->term_at_boot_ms, start->kill_at_boot_ms);
    journal_add("%s runs until %d", command->key, (int)journal_ms(start->kill_at_boot_ms));
}

void command_stop(struct command *command, int number, int64_t kill_at_boot_ms)
{
    assert_int_equal(number, 0);
    journal_add("%s ends by %d", command->key, (int)journal_ms(kill_at_boot_ms));
}

void command_dismiss(struct command *command)
{
}

void command_close(struct command *command, void (*closed)(void *owner))
{
    command->key[0] = '\0';
    closed(command->owner);
}

/* ---- the fixture ----------------------------------------------------------------------------- */

static struct {
    uv_loop_t loop;
    struct log log;
    struct hooks hooks;
    struct job job;
    char lines[16384];
} fixture;

static char *const environment[] = {NULL};
static const struct signals_given signals;

static void on_idle(void *owner)
{
    assert_true(hooks_are_idle(&fixture.hooks));
    journal_add("idle");
}

static int set_up(void **state)
{
    static char line[] = "true", name[] = "nightly";
    uv_loop_init(&fixture.loop);
    journal_start();
    opened_count = 0;
    is_refusing = false;
    fixture.log = log_open(memfd_create("log", MFD_CLOEXEC), LEVEL_DEBUG, LOG_FORMAT_LOGFMT);
    fixture.job = (struct job){.name = name, .hook_timeout_ms = 30000};
    fixture.job.hooks[JOB_HOOK_FAILURE] = line;
    hooks_init(&fixture.hooks, &fixture.loop, &fixture.log, environment, &signals, on_idle, NULL);
    return 0;
}

static int tear_down(void **state)
{
    close(fixture.log.fd);
    journal_done();
    return uv_loop_close(&fixture.loop);
}

static void add(const char *key, enum job_hook hook)
{
    hooks_add(&fixture.hooks, &(struct hook_facts){.job = &fixture.job,
                                                   .hook = hook,
                                                   .key = key,
                                                   .run_id = "run",
                                                   .slot_us = NO_INSTANT,
                                                   .slot = "",
                                                   .outcome = OUTCOME_FAILED,
                                                   .status = 3});
}

static void add_many(int from, int to)
{
    char key[16];
    for (int i = from; i < to; i++) {
        snprintf(key, sizeof key, "k%d.", i);
        add(key, JOB_HOOK_FAILURE);
    }
}

static void end_hook(const char *key, int wait_status, enum guard_killer killer)
{
    for (int i = 0; i < COMMANDS_MOST; i++)
        if (strcmp(commands[i].key, key) == 0) {
            struct command *command = &commands[i];
            command->listener->exited(command->owner, wait_status, killer);
            command->listener->empty(command->owner, killer);
            return;
        }
    fail_msg("no hook of %s runs", key);
}

static void assert_told(const char *part, int count)
{
    ssize_t size = pread(fixture.log.fd, fixture.lines, sizeof fixture.lines - 1, 0);
    fixture.lines[size < 0 ? 0 : size] = '\0';
    int found = 0;
    for (const char *at = fixture.lines; (at = strstr(at, part)) != NULL; at++)
        found++;
    if (found != count)
        fail_msg("%s stands %d times in\n%s", part, found, fixture.lines);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void hook__of_a_kind_the_job_has_not__is_no_hook(void **state)
{
    add("k", JOB_HOOK_SUCCESS);
    assert_journal("");
    assert_true(hooks_are_idle(&fixture.hooks));
}

static void hook__ends_with_0__told_at_debug_and_idle(void **state)
{
    add("k", JOB_HOOK_FAILURE);
    assert_false(hooks_are_idle(&fixture.hooks));
    end_hook("k", W_EXITCODE(0, 0), GUARD_KILLER_NONE);
    assert_journal("0 k runs until 30000\n"
                   "0 idle\n");
    assert_told("level=debug event=hook_finished job=nightly key=k run_id=run hook=on-failure "
                "status=0",
                1);
}

static void hook__fails__one_warning(void **state)
{
    add("k", JOB_HOOK_FAILURE);
    end_hook("k", W_EXITCODE(9, 0), GUARD_KILLER_NONE);
    assert_told("level=warn event=hook_failed", 1);
    assert_told("status=9", 1);
    assert_told("event=", 1);
}

static void hook__is_killed_at_its_limit__told_with_the_limit(void **state)
{
    add("k", JOB_HOOK_FAILURE);
    end_hook("k", W_EXITCODE(0, SIGKILL), GUARD_KILLER_DEADLINE);
    assert_told("longer than 30s", 2); /* msg and error */
}

static void hook__cannot_be_started__told_and_the_next_one_is(void **state)
{
    is_refusing = true;
    add("a", JOB_HOOK_FAILURE);
    assert_told("no process can be made", 2);
    is_refusing = false;
    add("b", JOB_HOOK_FAILURE);
    assert_journal("0 b runs until 30000\n");
    end_hook("b", W_EXITCODE(0, 0), GUARD_KILLER_NONE);
}

static void hooks__more_than_may_run__wait_in_order(void **state)
{
    add_many(0, HOOKS_RUNNING_MOST + 2);
    assert_int_equal(opened_count, HOOKS_RUNNING_MOST);
    assert_int_equal(journal_count("k8. runs"), 0);
    end_hook("k3.", W_EXITCODE(0, 0), GUARD_KILLER_NONE);
    assert_int_equal(journal_count("k8. runs"), 1);
    assert_int_equal(journal_count("k9. runs"), 0);
    end_hook("k8.", W_EXITCODE(1, 0), GUARD_KILLER_NONE);
    assert_int_equal(journal_count("k9. runs"), 1);
    for (const char *const *key =
             (const char *const[]){"k0.", "k1.", "k2.", "k4.", "k5.", "k6.", "k7.", NULL};
         *key != NULL; key++)
        end_hook(*key, W_EXITCODE(0, 0), GUARD_KILLER_NONE);
    assert_int_equal(journal_count("idle"), 0);
    end_hook("k9.", W_EXITCODE(0, 0), GUARD_KILLER_NONE);
    assert_int_equal(journal_count("idle"), 1);
}

static void hooks__too_many_wait__one_more_is_refused_and_told(void **state)
{
    const int most = HOOKS_RUNNING_MOST + HOOKS_WAITING_MOST;
    add_many(0, most);
    assert_told("hook_failed", 0);
    add_many(most, most + 1);
    assert_told("hook_failed", 1);
    assert_told("256 hooks wait before it", 2);
    hooks_end_by(&fixture.hooks, now_boot_ms());
    for (int i = 0; i < HOOKS_RUNNING_MOST; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d.", i);
        end_hook(key, W_EXITCODE(0, SIGKILL), GUARD_KILLER_STOP);
    }
    assert_int_equal(journal_count("idle"), 1);
}

static void
hooks__end_comes_near__those_that_run_are_ended_by_it_and_none_begins_after(void **state)
{
    fixture.job.hook_timeout_ms = 5000;
    add("short", JOB_HOOK_FAILURE);
    fixture.job.hook_timeout_ms = 30000;
    add("long", JOB_HOOK_FAILURE);
    hooks_end_by(&fixture.hooks, JOURNAL_START_BOOT_MS + 8000);
    hooks_end_by(&fixture.hooks, JOURNAL_START_BOOT_MS + 9000); /* no later than before */
    add("late", JOB_HOOK_FAILURE);
    assert_journal("0 short runs until 5000\n"
                   "0 long runs until 30000\n"
                   "0 long ends by 8000\n"
                   "0 late runs until 8000\n");
    fake_clock_run_for(&fixture.loop, 8000);
    add("last", JOB_HOOK_FAILURE);
    assert_int_equal(journal_count("last runs"), 0);
    assert_told("no time is left", 2);
    end_hook("long", W_EXITCODE(0, SIGKILL), GUARD_KILLER_STOP);
    end_hook("late", W_EXITCODE(0, SIGKILL), GUARD_KILLER_DEADLINE);
    assert_told("leaserun ends, and it was ended for that", 4);
    end_hook("short", W_EXITCODE(0, SIGKILL), GUARD_KILLER_DEADLINE);
    assert_told("longer than 5s", 2);
}

static void hook__every_kind__is_named_as_its_setting(void **state)
{
    assert_string_equal(hook_name(JOB_HOOK_SUCCESS), "on-success");
    assert_string_equal(hook_name(JOB_HOOK_FAILURE), "on-failure");
    assert_string_equal(hook_name(JOB_HOOK_LOST), "on-lost");
    assert_string_equal(hook_name(JOB_HOOK_MISSED), "on-missed");
    assert_string_equal(hook_name(JOB_HOOK_ABANDONED), "on-abandoned");
}

#define HOOK_CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOK_CASE(hook__of_a_kind_the_job_has_not__is_no_hook),
        HOOK_CASE(hook__ends_with_0__told_at_debug_and_idle),
        HOOK_CASE(hook__fails__one_warning),
        HOOK_CASE(hook__is_killed_at_its_limit__told_with_the_limit),
        HOOK_CASE(hook__cannot_be_started__told_and_the_next_one_is),
        HOOK_CASE(hooks__more_than_may_run__wait_in_order),
        HOOK_CASE(hooks__too_many_wait__one_more_is_refused_and_told),
        HOOK_CASE(hooks__end_comes_near__those_that_run_are_ended_by_it_and_none_begins_after),
        HOOK_CASE(hook__every_kind__is_named_as_its_setting),
    };
    return cmocka_run_group_tests_name("hooks", tests, NULL, NULL);
}
