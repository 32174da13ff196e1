/* SPDX-License-Identifier: ISC */
#include "schedule/shutdown.h"

#include "base/exit_code.h"
#include "base/list.h"
#include "base/now.h"
#include "schedule/schedule_tell.h"
#include "schedule/scheduler.h"
#include "schedule/turn.h"

#define RELEASE_MS 2000 /* of shutdown-grace, after the KILLs */
#define HOOKS_MS   500  /* before its end: hooks are ended, and told */
#define HASTEN_MS  500  /* what hooks have after a second signal */
#define LEAVE_MS   100  /* before its end: whoever sent the signal waits no longer */

typedef void (*turn_action)(struct shutdown *shutdown, struct turn *turn);

/* A turn that ends takes itself from the list, later. */
static void for_each_turn(struct shutdown *shutdown, turn_action action)
{
    struct list *turns = &shutdown->scheduler->turns;
    struct list *next;
    for (struct list *at = turns->next; at != turns; at = next) {
        next = at->next;
        action(shutdown, LIST_OBJECT(at, struct turn, node));
    }
}

static void call_off(struct shutdown *shutdown, struct turn *turn)
{
    if (turn->state != TURN_OVER)
        turn_call_off(turn);
}

static void terminate_turn(struct shutdown *shutdown, struct turn *turn)
{
    int64_t left_ms = shutdown->end_boot_ms - RELEASE_MS - now_boot_ms();
    if (turn_has_command(turn))
        run_stop(&turn->run, left_ms > 0 ? left_ms : 0);
}

static void hasten_turn(struct shutdown *shutdown, struct turn *turn)
{
    int64_t left_ms = shutdown->end_boot_ms - LEAVE_MS - now_boot_ms();
    if (turn->state == TURN_RUNNING)
        run_hasten(&turn->run, left_ms > 0 ? left_ms : 0);
}

static void terminate(struct shutdown *shutdown)
{
    int64_t grace_ms = shutdown->scheduler->settings.shutdown_grace_ms;
    int64_t kill_ms = grace_ms > RELEASE_MS ? grace_ms - RELEASE_MS : 0;
    shutdown->is_terminating = true;
    shutdown->end_boot_ms = now_boot_ms() + grace_ms;
    alarm_set_in(&shutdown->alarm, kill_ms);
    hooks_end_by(&shutdown->scheduler->hooks, shutdown->end_boot_ms - HOOKS_MS);
    for_each_turn(shutdown, terminate_turn);
}

static void on_alarm(struct alarm *alarm)
{
    struct shutdown *shutdown = LIST_OBJECT(alarm, struct shutdown, alarm);
    if (now_boot_ms() >= shutdown->end_boot_ms - LEAVE_MS) {
        scheduler_abandon(shutdown->scheduler);
        return;
    }
    for_each_turn(shutdown, hasten_turn);
    alarm_set_at(&shutdown->alarm, shutdown->end_boot_ms - LEAVE_MS);
}

static void count_command(struct shutdown *shutdown, struct turn *turn)
{
    shutdown->command_count += turn_has_command(turn);
}

static void begin(struct shutdown *shutdown)
{
    struct scheduler *scheduler = shutdown->scheduler;
    shutdown->is_begun = true;
    alarm_stop(&scheduler->wake);
    for_each_turn(shutdown, call_off);
    if (scheduler->settings.on_shutdown == SCHEDULE_ON_SHUTDOWN_TERMINATE)
        terminate(shutdown);
    shutdown_note_turn(shutdown);
}

void shutdown_init(struct shutdown *shutdown, struct scheduler *scheduler, uv_loop_t *loop)
{
    *shutdown = (struct shutdown){.scheduler = scheduler};
    alarm_init(&shutdown->alarm, loop, on_alarm);
}

void shutdown_signal(struct shutdown *shutdown, int number)
{
    if (!shutdown->is_begun) {
        for_each_turn(shutdown, count_command);
        schedule_tell_stopping(shutdown->scheduler, number, shutdown->command_count);
        begin(shutdown);
    } else if (!shutdown->is_terminating) {
        terminate(shutdown);
    } else {
        hooks_end_by(&shutdown->scheduler->hooks, now_boot_ms() + HASTEN_MS);
        for_each_turn(shutdown, hasten_turn);
    }
}

void shutdown_refused(struct shutdown *shutdown, const struct error *why)
{
    if (shutdown->is_begun)
        return;
    schedule_tell_refused(shutdown->scheduler, why);
    shutdown->scheduler->exit_code = EXIT_CONFIG;
    begin(shutdown);
}

void shutdown_note_turn(struct shutdown *shutdown)
{
    struct scheduler *scheduler = shutdown->scheduler;
    bool is_over = list_is_empty(&scheduler->turns) && hooks_are_idle(&scheduler->hooks);
    if (!shutdown->is_begun || shutdown->is_closing || !is_over)
        return;
    shutdown->is_closing = true;
    scheduler_close(scheduler);
}

void shutdown_close(struct shutdown *shutdown, struct handles *handles)
{
    alarm_close(&shutdown->alarm, handles);
}
