/* SPDX-License-Identifier: ISC */
/* Several processes on one file: races, deaths, and one that stops with the lock. */
#include "sqlite_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RACERS 20
#define LOOPS  40

static void pause_forever(void)
{
    for (;;)
        pause();
}

/* A child that has said a byte to *ret_pipe when it has come so far. */
static pid_t start(const struct sqlite_fixture *fixture,
                   void (*run)(const struct sqlite_fixture *fixture, int say, const void *with),
                   const void *with, int *ret_pipe)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a case that fails leaves nobody behind */
        close(ends[0]);
        run(fixture, ends[1], with);
        _exit(0);
    }
    close(ends[1]);
    *ret_pipe = ends[0];
    return pid;
}

static void hear(int pipe)
{
    char byte = 0;
    assert_int_equal(read(pipe, &byte, 1), 1);
    close(pipe);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static int status_of(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- races -------------------------------------------------------------------------------- */

/* Claims when gate ends, says the verdict, and lives until stay ends: the winner's death would
 * free the key. */
static void race(const struct sqlite_fixture *fixture, int gate, int say, int stay)
{
    char byte;
    struct sqlite_link link = sqlite_fixture_link(fixture);
    struct claim_item item = sqlite_fixture_item("k");
    struct store_request request = {.kind = STORE_CLAIM, .u.claim = {.items = &item, .count = 1}};
    if (read(gate, &byte, 1) != 0)
        _exit(1);
    sqlite_fixture_serve(&link, &request);
    if (request.outcome != STORE_ANSWERED)
        fprintf(stderr, "# %s\n", request.error.text);
    byte = request.outcome == STORE_ANSWERED ? (char)item.verdict : 99;
    if (write(say, &byte, 1) != 1 || read(stay, &byte, 1) != 0)
        _exit(1);
    sqlite_link_done(&link);
    _exit(0);
}

static void no_file_yet__twenty_claim_at_once__one_wins(void **state)
{
    struct sqlite_fixture *fixture = *state;
    pid_t racers[RACERS];
    int gate[2], said[2], stay[2], counts[100] = {0};
    SKIP_UNDER_VALGRIND(); /* the last of them would wait for the file too long */
    assert_true(pipe(gate) == 0 && pipe(said) == 0 && pipe(stay) == 0);
    for (int i = 0; i < RACERS; i++) {
        racers[i] = fork();
        if (racers[i] == 0) {
            close(gate[1]);
            close(stay[1]);
            race(fixture, gate[0], said[1], stay[0]);
        }
    }
    close(gate[1]); /* go */
    for (int i = 0; i < RACERS; i++) {
        char verdict = 98;
        assert_int_equal(read(said[0], &verdict, 1), 1);
        counts[(int)verdict]++;
    }
    close(stay[1]);
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(status_of(racers[i]), 0);
    close(gate[0]);
    close(stay[0]);
    close(said[0]);
    close(said[1]);
    assert_int_equal(counts[CLAIM_WON], 1);
    assert_int_equal(counts[CLAIM_HELD], RACERS - 1);
}

/* Claims and releases in turns; a file that must not exist stands for what the lease protects. */
static void take_turns(const struct sqlite_fixture *fixture, int say, const void *with)
{
    char marker[128];
    struct sqlite_link link = sqlite_fixture_link(fixture);
    int64_t last_fence = 0;
    snprintf(marker, sizeof marker, "%s/marker", fixture->folder);
    for (int done = 0; done < LOOPS;) {
        struct claim_item item = sqlite_fixture_item("k");
        struct store_request request = {.kind = STORE_CLAIM,
                                        .u.claim = {.items = &item, .count = 1}};
        sqlite_fixture_serve(&link, &request);
        if (request.outcome != STORE_ANSWERED || item.verdict != CLAIM_WON) {
            struct timespec moment = {.tv_nsec = 200000};
            nanosleep(&moment, NULL);
            continue;
        }
        int fd = open(marker, O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0 || item.fence <= last_fence || item.abandoned[0] != '\0')
            _exit(1);
        close(fd);
        last_fence = item.fence;
        unlink(marker);
        while (sqlite_fixture_release(&link, &item) != RELEASE_RELEASED)
            ;
        done++;
    }
    sqlite_link_done(&link);
}

static void six_take_turns__never_two_at_once_and_the_log_stays_short(void **state)
{
    struct sqlite_fixture *fixture = *state;
    pid_t all[6];
    int pipes[6];
    char wal[128];
    struct stat status;
    for (int i = 0; i < 6; i++)
        all[i] = start(fixture, take_turns, NULL, &pipes[i]);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(status_of(all[i]), 0);
        close(pipes[i]);
    }
    snprintf(wal, sizeof wal, "%s-wal", fixture->path);
    assert_int_equal(stat(wal, &status), 0);
    assert_true(status.st_size < 2 * 1024 * 1024);
}

/* ---- deaths ------------------------------------------------------------------------------- */

static void hold(const struct sqlite_fixture *fixture, int say, const void *with)
{
    struct sqlite_link link = sqlite_fixture_link(fixture);
    struct claim_item item = sqlite_fixture_item("k");
    item.guard_pid = *(const pid_t *)with;
    if (sqlite_fixture_claim(&link, &item) != CLAIM_WON || write(say, "x", 1) != 1)
        _exit(1);
    pause_forever();
}

static void wait_only(const struct sqlite_fixture *fixture, int say, const void *with)
{
    if (write(say, "x", 1) == 1)
        pause_forever();
}

static enum claim_verdict try_claim(struct sqlite_fixture *fixture, struct claim_item *ret_item)
{
    *ret_item = sqlite_fixture_item("k");
    return sqlite_fixture_claim(&fixture->link, ret_item);
}

static void holder_and_guard__killed_one_after_the_other__free_only_after_both(void **state)
{
    int pipe;
    struct claim_item item;
    pid_t guard = start(*state, wait_only, NULL, &pipe);
    hear(pipe);
    pid_t holder = start(*state, hold, &guard, &pipe);
    hear(pipe);
    assert_int_equal(try_claim(*state, &item), CLAIM_HELD);
    end(holder);
    assert_int_equal(try_claim(*state, &item), CLAIM_HELD);
    end(guard);
    assert_int_equal(try_claim(*state, &item), CLAIM_WON);
    assert_true(strlen(item.abandoned) > 0);
}

static void guard_killed_first__holder_lives__is_held(void **state)
{
    int pipe;
    struct claim_item item;
    pid_t guard = start(*state, wait_only, NULL, &pipe);
    hear(pipe);
    pid_t holder = start(*state, hold, &guard, &pipe);
    hear(pipe);
    end(guard);
    assert_int_equal(try_claim(*state, &item), CLAIM_HELD);
    end(holder);
    assert_int_equal(try_claim(*state, &item), CLAIM_WON);
}

static void holder_without_guard__killed_and_not_reaped__is_free_at_once(void **state)
{
    int pipe;
    pid_t none = 0;
    siginfo_t info;
    struct claim_item item;
    pid_t holder = start(*state, hold, &none, &pipe);
    hear(pipe);
    assert_int_equal(try_claim(*state, &item), CLAIM_HELD);
    kill(holder, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)holder, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(try_claim(*state, &item), CLAIM_WON);
    waitpid(holder, NULL, 0);
}

static void dead_holder__status_and_release_by_hand__say_it_has_ended(void **state)
{
    struct sqlite_fixture *fixture = *state;
    int pipe;
    pid_t none = 0;
    pid_t holder = start(fixture, hold, &none, &pipe);
    hear(pipe);
    end(holder);
    struct store_request request = {.kind = STORE_STATUS};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.u.leases.rows[0].state, LEASE_EXPIRED);
    store_request_clear(&request);
    request = (struct store_request){.kind = STORE_REVOKE, .u.revoke = {.key = "k"}};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.u.revoke.verdict, REVOKE_FREED);
}

/* ---- one that stands still ---------------------------------------------------------------- */

static void lock(const struct sqlite_fixture *fixture, int say, const void *with)
{
    struct sqlite_link link = sqlite_fixture_link(fixture);
    link.busy_until_boot_ms = INT64_MAX;
    if (!sqlite_link_open(&link) || !sqlite_link_begin(&link) || write(say, "x", 1) != 1)
        _exit(1);
    pause_forever();
}

static void writer_stands_still__claim__fails_in_time_and_reads_go_on(void **state)
{
    struct sqlite_fixture *fixture = *state;
    int pipe;
    pid_t writer = start(fixture, lock, NULL, &pipe);
    hear(pipe);
    struct claim_item item = sqlite_fixture_item("k");
    struct store_request request = {
        .kind = STORE_CLAIM, .limit_ms = 1000, .u.claim = {.items = &item, .count = 1}};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_in_range(now_boot_ms() - request.sent_boot_ms, 500, 2000);
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_int_equal(request.failure, FAILURE_CONFLICT);
    assert_non_null(strstr(request.error.text, fixture->path));
    request = (struct store_request){.kind = STORE_STATUS};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    store_request_clear(&request);

    atomic_bool is_given_up = true; /* nobody waits: no waiting either */
    fixture->link.is_given_up = &is_given_up;
    request = (struct store_request){.kind = STORE_CLAIM, .u.claim = {.items = &item, .count = 1}};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_true(now_boot_ms() - request.sent_boot_ms < 2000);
    fixture->link.is_given_up = NULL;

    end(writer); /* in the middle of its transaction */
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &item), CLAIM_WON);
}

static void nobody_waits_any_more__claim__is_not_committed(void **state)
{
    struct sqlite_fixture *fixture = *state;
    atomic_bool is_given_up = true;
    struct claim_item one = sqlite_fixture_item("k");
    struct store_request request = {.kind = STORE_CLAIM, .u.claim = {.items = &one, .count = 1}};
    fixture->link.is_given_up = &is_given_up;
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.outcome, STORE_FAILED);
    fixture->link.is_given_up = NULL;
    request = (struct store_request){.kind = STORE_HISTORY};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.u.runs.count, 0);
    store_request_clear(&request);
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &one), CLAIM_WON);
}

static int64_t size_of(const char *path, const char *suffix)
{
    char name[128];
    struct stat status;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &status) == 0 ? (int64_t)status.st_size : -1;
}

static void held__hundred_lose__not_a_byte_is_written(void **state)
{
    struct sqlite_fixture *fixture = *state;
    struct claim_item one = sqlite_fixture_item("k");
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &one), CLAIM_WON);
    int64_t wal = size_of(fixture->path, "-wal");
    int64_t changes = sqlite3_total_changes(fixture->link.db);
    for (int i = 0; i < 100; i++) {
        struct claim_item loser = sqlite_fixture_item("k");
        assert_int_equal(sqlite_fixture_claim(&fixture->link, &loser), CLAIM_HELD);
    }
    assert_int_equal(size_of(fixture->path, "-wal"), wal);
    assert_int_equal(sqlite3_total_changes(fixture->link.db), changes);
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, sqlite_fixture_set_up, sqlite_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(no_file_yet__twenty_claim_at_once__one_wins),
        CASE(six_take_turns__never_two_at_once_and_the_log_stays_short),
        CASE(holder_and_guard__killed_one_after_the_other__free_only_after_both),
        CASE(guard_killed_first__holder_lives__is_held),
        CASE(holder_without_guard__killed_and_not_reaped__is_free_at_once),
        CASE(dead_holder__status_and_release_by_hand__say_it_has_ended),
        CASE(writer_stands_still__claim__fails_in_time_and_reads_go_on),
        CASE(nobody_waits_any_more__claim__is_not_committed),
        CASE(held__hundred_lose__not_a_byte_is_written),
    };
    return cmocka_run_group_tests_name("sqlite processes", cases, NULL, NULL);
}
