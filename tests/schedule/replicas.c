/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the table that all have ------------------------------------------------------------------
 */

static const char table_text[] = "[defaults]\n"
                                 "timezone = UTC\n"
                                 "ttl = 60s\n"
                                 "[job tens]\n"
                                 "command = true\n"
                                 "schedule = every 10m\n"
                                 "[job hourly]\n"
                                 "command = true\n"
                                 "schedule = 7 * * * *\n"
                                 "[job daily]\n"
                                 "command = true\n"
                                 "schedule = 30 2 * * *\n"
                                 "timezone = Europe/Paris\n"
                                 "[job overlap]\n"
                                 "command = true\n"
                                 "schedule = every 5m\n"
                                 "[job waiter]\n"
                                 "command = true\n"
                                 "schedule = */30 * * * *\n"
                                 "overlap = wait\n"
                                 "[job all]\n"
                                 "command = true\n"
                                 "schedule = 20 * * * *\n"
                                 "misfire = all\n"
                                 "[job latest]\n"
                                 "command = true\n"
                                 "schedule = 40 * * * *\n"
                                 "misfire = latest\n"
                                 "[job late]\n"
                                 "command = true\n"
                                 "schedule = 50 * * * *\n"
                                 "jitter = 5m\n"
                                 "[job left]\n"
                                 "key = shared\n"
                                 "command = true\n"
                                 "schedule = 0 */4 * * *\n"
                                 "[job right]\n"
                                 "key = shared\n"
                                 "command = true\n"
                                 "schedule = 0 */6 * * *\n";

static void read_table(struct job_table *ret_table, struct config *config)
{
    char path[] = "/tmp/leaserun-world-XXXXXX.ini";
    struct ini_faults faults = {.count = 0};
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, table_text, sizeof table_text - 1), sizeof table_text - 1);
    close(fd);
    config_init(config);
    free(config->path);
    config->path = mem_strdup(path);
    bool is_good = job_table_read(config, NULL, 0, ret_table, &faults);
    unlink(path);
    if (!is_good) {
        char *sentence = ini_faults_sentence(&faults, 0);
        fail_msg("%s", sentence);
    }
    ini_faults_done(&faults);
}

/* ---- lives -------------------------------------------------------------------------------------
 */

static char url[] = "postgresql:///world";
static const struct store_config store = {.url = url};
static struct log quiet;
static char *const no_environment[] = {NULL};
static const struct signals_given no_signals;
static struct config config; /* the same for all: [schedule] is at its defaults */

static void on_finished(struct scheduler *scheduler)
{
    world.current->is_stopped = true;
}

struct replica *replicas_start(const char *name, int64_t skew_us)
{
    struct replica *replica = mem_alloc(sizeof *replica);
    struct replica *before = world.current;
    struct error err;
    *replica = (struct replica){.name = name, .skew_us = skew_us, .up_from_ms = world.now_ms};
    replica->scheduler = mem_alloc(sizeof *replica->scheduler);
    config_done(&config);
    read_table(&replica->table, &config);
    const struct scheduler_spec spec = {
        .config = &config,
        .store = &store,
        .log = &quiet,
        .environment = no_environment,
        .signals = &no_signals,
    };
    world.current = replica;
    if (!scheduler_start(replica->scheduler, NULL, &spec, &replica->table, on_finished, &err))
        fail_msg("%s", err.text);
    world.current = before;
    return replica;
}

void replicas_stop(struct replica *replica)
{
    struct replica *before = world.current;
    world.current = replica;
    replica->up_from_ms = NEVER;
    scheduler_signal(replica->scheduler, SIGTERM);
    world.current = before;
}

/* What it has in memory stays, as nobody's. */
void replicas_crash(struct replica *replica)
{
    replica->up_from_ms = NEVER;
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
}
