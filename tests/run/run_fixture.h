/* SPDX-License-Identifier: ISC */
/* A whole run against the fakes. The journal has the calls in their order and the exit status; the
 * log is read back from a memfd. ttl 3 m and grace 5 s: renewed every 42,850 ms, TERM at 171,400,
 * KILL at 176,400. */
#pragma once
#include "base/list.h"
#include "check.h"
#include "fake_clock.h"
#include "fake_command.h"
#include "fake_store.h"
#include "fake_terminal.h"
#include "journal.h"
#include "run/run.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#define EVERY_MS 42850

struct run_fixture {
    uv_loop_t loop;
    struct run run;
    struct job job;
    struct store_config store;
    struct log log;
    struct run_spec spec;
    char lines[16384]; /* the whole log */
    char events[2048]; /* of it: "level event\n" for each line */
    int finished_count;
    bool is_closed;
};

int run_fixture_set_up(void **state);
int run_fixture_tear_down(void **state); /* checks that nothing is left open */

bool run_fixture_try(struct run_fixture *fixture, struct error *err);
void run_fixture_start(struct run_fixture *fixture);              /* and does not fail */
void run_fixture_run_to(struct run_fixture *fixture, int64_t ms); /* this instant of the journal */
void run_fixture_run_to_end(struct run_fixture *fixture);         /* finished once, and closed */

/* Wins at 0, the command runs as process 99; renewals and the release are answered. */
void run_fixture_start_running(struct run_fixture *fixture);
/* The command exits and leaves nothing. */
void run_fixture_end_command(int wait_status);

/* One row for the kind. */
void run_fixture_play(enum store_kind kind, const struct fake_answer answers[1]);
extern const struct fake_answer run_fixture_won[1], run_fixture_renewed[1], run_fixture_released[1],
    run_fixture_down[1]; /* renewed and down are repeated */

/* Fills lines and events. */
void run_fixture_read_log(struct run_fixture *fixture);
void run_fixture_assert_logged(struct run_fixture *fixture, const char *part);
#define assert_events(expected)                                                                    \
    do {                                                                                           \
        run_fixture_read_log(fixture);                                                             \
        assert_string_equal(fixture->events, expected);                                            \
    } while (0)

/* How a journal begins: until the claim is asked for, and until the command is started. */
#define ASKED                                                                                      \
    "0 guard for nightly\n"                                                                        \
    "0 let go\n"                                                                                   \
    "0 hold\n"                                                                                     \
    "0 claim #1 within 5000\n"
#define STARTED ASKED "0 start fence 7 slot - term 171400 kill 176400 grace 5000\n"

#define CASE(name) cmocka_unit_test_setup_teardown(name, run_fixture_set_up, run_fixture_tear_down)
