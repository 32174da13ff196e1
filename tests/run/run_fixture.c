/* SPDX-License-Identifier: ISC */
#include "run_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static char key[] = "nightly";
static char url[] = "sqlite:fake";
static char *const no_arguments[] = {NULL};
static const struct command_plan no_plan = {
    .argv = no_arguments, .environment = no_arguments, .umask = -1};
static const struct signals_given no_signals;
static struct fds no_fds;

int run_fixture_set_up(void **state)
{
    static struct run_fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    setenv("TZ", "UTC", 1);
    tzset();
    uv_loop_init(&fixture.loop);
    journal_start();
    fake_random_least(false);
    fake_store_reset(NULL);
    fake_command_reset(NULL);
    fake_terminal = (struct fake_terminal){.exists = false};
    fixture.job = (struct job){
        .key = key, .ttl_ms = 180000, .grace_ms = 5000, .start_within_ms = 60000, .held_exit = 75};
    fixture.store.url = url;
    fixture.log = log_open(memfd_create("log", MFD_CLOEXEC), LEVEL_DEBUG, LOG_FORMAT_LOGFMT);
    fixture.spec = (struct run_spec){.job = &fixture.job,
                                     .store = &fixture.store,
                                     .log = &fixture.log,
                                     .plan = &no_plan,
                                     .given = &no_fds,
                                     .signals = &no_signals};
    *state = &fixture;
    return 0;
}

static void on_closed(struct handles *handles)
{
    struct run *run = LIST_OBJECT(handles, struct run, handles);
    LIST_OBJECT(run, struct run_fixture, run)->is_closed = true;
}

static void on_finished(struct run *run)
{
    struct run_fixture *fixture = LIST_OBJECT(run, struct run_fixture, run);
    fixture->finished_count++;
    journal_add("finished %d", run->exit_code);
    run_close(run, on_closed);
}

int run_fixture_tear_down(void **state)
{
    struct run_fixture *fixture = *state;
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    close(fixture->log.fd);
    journal_done();
    assert_int_equal(fake_terminal.open_count, 0);
    assert_false(fake_command_is_open());
    assert_false(fake_store_is_open());
    return uv_loop_close(&fixture->loop);
}

bool run_fixture_try(struct run_fixture *fixture, struct error *err)
{
    run_spec_fill(&fixture->spec);
    return run_start(&fixture->run, &fixture->loop, &fixture->spec, on_finished, err);
}

void run_fixture_start(struct run_fixture *fixture)
{
    struct error err;
    if (!run_fixture_try(fixture, &err))
        fail_msg("%s", err.text);
    assert_int_equal(fixture->finished_count, 0);
}

/* Up to this instant of the journal. */
void run_fixture_run_to(struct run_fixture *fixture, int64_t ms)
{
    fake_clock_run_for(&fixture->loop, ms - journal_ms(now_boot_ms()));
}

void run_fixture_run_to_end(struct run_fixture *fixture)
{
    fake_clock_run(&fixture->loop);
    fake_clock_run(&fixture->loop); /* what closing has left to the loop */
    assert_int_equal(fixture->finished_count, 1);
    assert_true(fixture->is_closed);
}

/* ---- the log --------------------------------------------------------------------------------- */

void run_fixture_read_log(struct run_fixture *fixture)
{
    ssize_t count = pread(fixture->log.fd, fixture->lines, sizeof fixture->lines - 1, 0);
    assert_in_range(count, 0, sizeof fixture->lines - 2);
    fixture->lines[count] = '\0';
    fixture->events[0] = '\0';
    for (const char *line = fixture->lines; *line != '\0'; line = strchr(line, '\n') + 1) {
        char level[16], event[32];
        const char *at = strstr(line, " level=");
        assert_int_equal(sscanf(at, " level=%15s event=%31s", level, event), 2);
        size_t used = strlen(fixture->events);
        snprintf(fixture->events + used, sizeof fixture->events - used, "%s %s\n", level, event);
    }
}

void run_fixture_assert_logged(struct run_fixture *fixture, const char *part)
{
    run_fixture_read_log(fixture);
    if (strstr(fixture->lines, part) == NULL)
        fail_msg("%s is not in\n%s", part, fixture->lines);
}

/* ---- scripts --------------------------------------------------------------------------------- */

const struct fake_answer run_fixture_won[1] = {{.claim = CLAIM_WON, .fence = 7}};
const struct fake_answer run_fixture_renewed[1] = {{.is_repeated = true}};
const struct fake_answer run_fixture_released[1] = {{.after_ms = 1}};
const struct fake_answer run_fixture_down[1] = {{.fate = FAKE_FAILS,
                                                 .failure = FAILURE_UNREACHABLE,
                                                 .fault = "connection lost",
                                                 .is_repeated = true}};

void run_fixture_play(enum store_kind kind, const struct fake_answer answers[1])
{
    fake_store_answers(kind, answers, 1);
}

/* A run whose lease is won at 0 and whose command runs. */
void run_fixture_start_running(struct run_fixture *fixture)
{
    run_fixture_play(STORE_CLAIM, run_fixture_won);
    run_fixture_play(STORE_RENEW, run_fixture_renewed);
    run_fixture_play(STORE_RELEASE, run_fixture_released);
    run_fixture_start(fixture);
    run_fixture_run_to(fixture, 0);
    fake_command_started(99);
}

void run_fixture_end_command(int wait_status)
{
    fake_command_exited(wait_status, GUARD_KILLER_NONE);
    fake_command_empty(GUARD_KILLER_NONE);
}
