/* SPDX-License-Identifier: ISC */
/* Commands of the world. A tree ends by itself, when it is told to, or at its lease's deadline,
 * which its guard keeps whatever its leaserun does. */
#include "base/mem.h"
#include "world.h"

#include <signal.h>
#include <stdio.h>

struct command {
    const struct command_listener *listener;
    void *owner;
    struct replica *replica;
    char key[32], holder[IDENTITY_HOLDER_MAX];
    int64_t lease_kill_ms, end_ms; /* end_ms: as far as is known now */
    size_t start;                  /* in model_starts */
    int signal;
    bool is_started, is_ended, is_closed, is_dismissed;
    void (*closed)(void *owner);
    struct command *next;
};

struct model_start *model_starts;
size_t model_start_count;
static size_t room;
static struct command *commands, *buried;

static void free_all(struct command **list)
{
    while (*list != NULL) {
        struct command *command = *list;
        *list = command->next;
        free(command);
    }
}

void model_command_reset(void)
{
    model_start_count = 0;
    free_all(&commands);
    free_all(&buried);
}

bool command_open(struct command **ret_command, uv_loop_t *loop, const struct command_spec *spec,
                  const struct command_listener *listener, void *owner, struct error *err)
{
    if (world_happens(10))
        return error_set(err, ERROR_SYSTEM, "no room for another process");
    struct command *command = mem_alloc(sizeof *command);
    *command = (struct command){.listener = listener,
                                .owner = owner,
                                .replica = world.current,
                                .lease_kill_ms = NEVER,
                                .next = commands};
    snprintf(command->key, sizeof command->key, "%s", spec->key);
    commands = command;
    *ret_command = command;
    return true;
}

int64_t command_guard_pid(const struct command *command)
{
    return 4242;
}

void command_hold(struct command *command, const char *holder, const char *run_id)
{
    snprintf(command->holder, sizeof command->holder, "%s", holder);
}

/* ---- its life -------------------------------------------------------------------------------- */

static int failures_per_mille(const char *key)
{
    return strcmp(key, "once") == 0 ? 700 : strcmp(key, "retrying") == 0 ? 500 : 100;
}

static void tell_end(void *argument)
{
    struct command *command = argument;
    enum guard_killer killer = GUARD_KILLER_NONE;
    if (command->is_closed)
        return;
    if (command->end_ms >= command->lease_kill_ms)
        killer = GUARD_KILLER_DEADLINE;
    else if (command->signal != 0)
        killer = GUARD_KILLER_STOP;
    bool has_failed = world_happens(failures_per_mille(command->key));
    int status = command->signal != 0 ? command->signal : has_failed ? 3 << 8 : 0;
    command->listener->exited(command->owner, status, killer);
    command->listener->empty(command->owner, killer);
}

/* The tree's end, in true time; what was known when it was set may have changed. */
static void end_tree(void *argument)
{
    struct command *command = argument;
    if (command->is_ended || command->end_ms != world.now_ms)
        return;
    command->is_ended = true;
    model_starts[command->start].end_ms = world.now_ms;
    world_at(world.now_ms, command->replica, tell_end, command);
}

static void end_at(struct command *command, int64_t at_ms)
{
    if (command->is_ended || !command->is_started || at_ms >= command->end_ms)
        return;
    command->end_ms = at_ms < world.now_ms ? world.now_ms : at_ms;
    world_at(command->end_ms, NULL, end_tree, command);
}

/* By the guard: the deadline that stands when it comes. */
static void keep_deadline(void *argument)
{
    struct command *command = argument;
    if (command->is_ended)
        return;
    if (world.now_ms >= command->lease_kill_ms)
        end_at(command, world.now_ms);
    else
        world_at(command->lease_kill_ms, NULL, keep_deadline, command);
}

static int64_t draw_length_ms(const char *key)
{
    if (strcmp(key, "overlap") == 0)
        return world_chance(MINUTE_MS, 12 * MINUTE_MS);
    if (strcmp(key, "waiter") == 0)
        return world_chance(MINUTE_MS, 40 * MINUTE_MS);
    if (strcmp(key, "again") == 0)
        return world_chance(MINUTE_MS, 8 * MINUTE_MS);
    if (strcmp(key, "daily") == 0)
        return world_chance(1, 30 * MINUTE_MS);
    return world_happens(900) ? world_chance(3, 50) : world_chance(50, 20000);
}

/* P1: no other tree of the key is alive. */
static void assert_alone(const struct command *command)
{
    for (const struct command *other = commands; other != NULL; other = other->next)
        if (other != command && other->is_started && !other->is_ended &&
            strcmp(other->key, command->key) == 0)
            fail_msg("two trees of %s are alive at %ld", command->key, (long)world.now_ms);
}

static void tell_started(void *argument)
{
    struct command *command = argument;
    if (!command->is_closed)
        command->listener->started(command->owner, 99);
}

void command_start(struct command *command, const struct command_start *start)
{
    assert_alone(command);
    if (model_start_count == room) {
        room = room == 0 ? 1024 : room * 2;
        model_starts = mem_grow(model_starts, room, sizeof *model_starts);
    }
    command->start = model_start_count++;
    struct model_start *note = &model_starts[command->start];
    *note =
        (struct model_start){.at_ms = world.now_ms, .end_ms = NEVER, .replica = command->replica};
    snprintf(note->key, sizeof note->key, "%s", command->key);
    snprintf(note->run_id, sizeof note->run_id, "%s", start->run_id);
    model_store_note_start(start->run_id, start->fence, start->attempt == 1);
    command->is_started = true;
    command->end_ms = NEVER;
    command->lease_kill_ms = start->kill_at_boot_ms;
    end_at(command, world.now_ms + draw_length_ms(command->key));
    world_at(command->lease_kill_ms, NULL, keep_deadline, command);
    world_at(world.now_ms, command->replica, tell_started, command);
}

void command_move_deadline(struct command *command, int64_t term_at_boot_ms,
                           int64_t kill_at_boot_ms)
{
    command->lease_kill_ms = kill_at_boot_ms;
}

void command_signal(struct command *command, int number)
{
}

void command_stop(struct command *command, int number, int64_t kill_at_boot_ms)
{
    int64_t polite_ms = world.now_ms + world_chance(0, 3000);
    if (command->is_ended)
        return;
    command->signal = number;
    end_at(command, polite_ms < kill_at_boot_ms ? polite_ms : kill_at_boot_ms);
}

void command_continue(struct command *command, bool is_foreground)
{
}

void command_pause(struct command *command)
{
}

void command_dismiss(struct command *command)
{
    command->is_dismissed = true;
}

void command_reap_strangers(void)
{
}

const char *command_tail(const struct command *command, size_t *ret_length)
{
    *ret_length = 0;
    return NULL;
}

/* Its memory stays: events may still name it. */
static void bury(struct command *command)
{
    for (struct command **at = &commands; *at != NULL; at = &(*at)->next)
        if (*at == command) {
            *at = command->next;
            command->next = buried;
            buried = command;
            return;
        }
}

static void on_closed(void *argument)
{
    struct command *command = argument;
    if (command->closed != NULL)
        command->closed(command->owner);
    if (!command->is_started || command->is_ended)
        bury(command);
}

void command_close(struct command *command, void (*closed)(void *owner))
{
    command->is_closed = true;
    command->closed = closed;
    world_at(world.now_ms, world.current, on_closed, command);
}

/* ---- a crash ----------------------------------------------------------------------------------
 */

static void free_lease(void *argument)
{
    struct command *command = argument;
    model_store_free_lease(command->key, command->holder);
}

void model_command_crash(struct replica *replica)
{
    for (struct command *command = commands; command != NULL; command = command->next) {
        if (command->replica != replica || command->is_closed)
            continue;
        if (command->is_started && !command->is_ended) {
            command->is_ended = true;
            model_starts[command->start].end_ms = world.now_ms;
        }
        if (!command->is_dismissed)
            world_at(world.now_ms + 20, NULL, free_lease, command);
    }
}
