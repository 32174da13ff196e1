/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define LEARN_MS (3 * MINUTE_MS) /* a clock that is ahead is known to be, with the store there */

/* ---- the tables -------------------------------------------------------------------------------
 */

#define COMMAND "command = true\n"

static const char table_text[] = "[defaults]\n"
                                 "timezone = UTC\n"
                                 "ttl = 60s\n"
                                 "[job tens]\n" COMMAND "schedule = every 10m\n"
                                 "[job hourly]\n" COMMAND "schedule = 7 * * * *\n"
                                 "[job daily]\n" COMMAND "schedule = 30 2 * * *\n"
                                 "timezone = Europe/Paris\n"
                                 "[job overlap]\n" COMMAND "schedule = every 5m\n"
                                 "[job waiter]\n" COMMAND "schedule = */30 * * * *\n"
                                 "overlap = wait\n"
                                 "[job all]\n" COMMAND "schedule = 20 * * * *\n"
                                 "misfire = all\n"
                                 "[job latest]\n" COMMAND "schedule = 40 * * * *\n"
                                 "misfire = latest\n"
                                 "[job late]\n" COMMAND "schedule = 50 * * * *\n"
                                 "jitter = 5m\n"
                                 "[job left]\n" COMMAND "key = shared\n"
                                 "schedule = 0 */4 * * *\n"
                                 "[job right]\n" COMMAND "key = shared\n"
                                 "schedule = 0 */6 * * *\n"
                                 "[job minute]\n" COMMAND "schedule = every 60s\n"
                                 "[job retrying]\n" COMMAND "schedule = 10 * * * *\n"
                                 "retries = 2\n"
                                 "retry-delay = 5s\n"
                                 "[job once]\n" COMMAND "schedule = @once\n"
                                 "[job reboot]\n" COMMAND "schedule = @reboot\n";

static const char rerun_text[] = "[defaults]\n"
                                 "timezone = UTC\n"
                                 "ttl = 60s\n"
                                 "[job again]\n" COMMAND "schedule = every 10m\n"
                                 "misfire = all\n"
                                 "if-interrupted = rerun\n"
                                 "max-attempts = 3\n";

int replicas_table;
bool replicas_rerun;
struct reading replicas_readings[16384];
size_t replicas_reading_count;

static char path[] = "/tmp/leaserun-world-XXXXXX";

static void write_table(int host)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(replicas_rerun ? rerun_text : table_text, file);
    if (replicas_rerun) {
        fclose(file);
        return;
    }
    fprintf(file, "[job edited]\n" COMMAND "schedule = %s\n",
            (replicas_table & TABLE_EDITED) != 0 ? "5-59/20 * * * *" : "*/20 * * * *");
    if ((replicas_table & TABLE_WITHOUT) == 0)
        fputs("[job sometimes]\n" COMMAND "schedule = 15 * * * *\n", file);
    if (host == LIMITED_HOST)
        fputs("[schedule]\nmax-running = 3\n", file);
    fclose(file);
}

static void note_reading(int host, int table)
{
    assert_true(replicas_reading_count < CASE_COUNT(replicas_readings));
    replicas_readings[replicas_reading_count++] = (struct reading){host, table, world.now_ms};
}

static void read_first_table(struct replica *replica)
{
    struct ini_faults faults = {.count = 0};
    config_init(&replica->config);
    free(replica->config.path);
    replica->config.path = mem_strdup(path);
    write_table(replica->host);
    if (!job_table_read(&replica->config, NULL, 0, &replica->table, &faults)) {
        char *sentence = ini_faults_sentence(&faults, 0);
        fail_msg("%s", sentence);
    }
    note_reading(replica->host, replicas_table);
    ini_faults_done(&faults);
}

void replicas_reset(void)
{
    static bool is_made;
    int fd = is_made ? -1 : mkstemp(path);
    assert_true(is_made || fd >= 0);
    if (fd >= 0)
        close(fd);
    is_made = true;
    replicas_table = 0;
    replicas_reading_count = 0;
}

void replicas_done(void)
{
    unlink(path);
}

/* ---- lives -------------------------------------------------------------------------------------
 */

static char url[] = "postgresql:///world";
static const struct store_config store = {.url = url};
static struct log quiet;
static char *const no_environment[] = {NULL};
static const struct signals_given no_signals;
static struct replica *everyone; /* who lived: what one that crashed has, nobody can give back */

static bool is_right(const struct replica *replica)
{
    return llabs(replica->skew_us) <= RIGHT_US;
}

/* One that leaves because its time is over leaves its commands to their guards. */
static void on_finished(struct scheduler *scheduler)
{
    struct replica *replica = world.current;
    if (scheduler->is_abandoned)
        replicas_crash(replica);
    replica->is_stopped = true;
}

static bool had_time_to_learn(const struct replica *replica)
{
    int64_t from_ms = world.now_ms - LEARN_MS;
    return replica->paused_ms <= from_ms && replica->clock_set_ms <= from_ms &&
           model_network_was_up(from_ms, world.now_ms);
}

/* Whoever is far ahead of the store has said so by now, and goes by the store's clock. */
static void learn(void *argument)
{
    struct replica *replica = argument;
    bool is_behind = replica->skew_us < 0 || is_right(replica);
    if (replica->knows_time || replica->is_stopped || is_behind ||
        replica->scheduler->shutdown.is_begun)
        return;
    if (!had_time_to_learn(replica)) {
        world_at(world.now_ms + LEARN_MS, replica, learn, replica);
        return;
    }
    int said = model_log_count(replica, EVENT_CLOCK_AHEAD, replica->clock_set_ms);
    bool is_far = replica->skew_us > 2 * MINUTE_MS * 1000;
    if (replica->host != LIMITED_HOST && is_far && (said < 1 || said > 2))
        fail_msg("at %ld: %ld s ahead, and said so %d times", (long)world.now_ms,
                 (long)(replica->skew_us / 1000000), said);
    replica->knows_time = true;
    if (replica->up_from_ms != NEVER)
        replica->up_from_ms = world.now_ms;
}

static void note_clock(struct replica *replica)
{
    replica->clock_set_ms = world.now_ms;
    replica->knows_time = is_right(replica);
    if (!replica->knows_time)
        world_at(world.now_ms + LEARN_MS, replica, learn, replica);
}

struct replica *replicas_start(int host, int64_t skew_us)
{
    struct replica *replica = mem_alloc(sizeof *replica);
    struct replica *before = world.current;
    struct error err;
    *replica = (struct replica){
        .host = host, .skew_us = skew_us, .up_from_ms = world.now_ms, .died_ms = NEVER};
    replica->next = everyone;
    everyone = replica;
    replica->scheduler = mem_alloc(sizeof *replica->scheduler);
    read_first_table(replica);
    const struct scheduler_spec spec = {
        .config = &replica->config,
        .store = &store,
        .log = &quiet,
        .environment = no_environment,
        .signals = &no_signals,
        .config_path = path,
    };
    world.current = replica;
    if (!scheduler_start(replica->scheduler, NULL, &spec, &replica->table, on_finished, &err))
        fail_msg("%s", err.text);
    world.current = before;
    note_clock(replica);
    return replica;
}

static void signal_it(struct replica *replica, int number)
{
    struct replica *before = world.current;
    world.current = replica;
    scheduler_signal(replica->scheduler, number);
    world.current = before;
}

void replicas_stop(struct replica *replica)
{
    replica->up_from_ms = NEVER;
    signal_it(replica, SIGTERM);
}

void replicas_reload(struct replica *replica)
{
    write_table(replica->host);
    signal_it(replica, SIGHUP);
    note_reading(replica->host, replicas_table);
}

/* What it has in memory stays, as nobody's. */
void replicas_crash(struct replica *replica)
{
    replica->up_from_ms = NEVER;
    replica->died_ms = world.now_ms;
    replica->is_crashed = true;
    replica->alarm_count = 0;
    model_network_crash(replica);
    model_command_crash(replica);
}

static void come_back(void *argument)
{
    struct replica *replica = argument;
    replica->up_from_ms = world.now_ms;
}

void replicas_pause(struct replica *replica, int64_t ms)
{
    replica->up_from_ms = NEVER;
    replica->paused_ms = world.now_ms + ms;
    world_at(world.now_ms + ms, replica, come_back, replica);
}

void replicas_set_clock(struct replica *replica, int64_t skew_us)
{
    struct replica *before = world.current;
    int64_t by_us = skew_us - replica->skew_us;
    replica->skew_us = skew_us;
    replica->up_from_ms = world.now_ms;
    world.current = replica;
    if (replica->clock_watch != NULL)
        replica->clock_watch->stepped(replica->clock_watch, by_us);
    world.current = before;
    note_clock(replica);
}
