/* SPDX-License-Identifier: ISC */
/* The guard: any packets from its socket, in any order with what the command does and with the
 * clock. It never signals a number that is no longer the command's, tells a life in its order, and
 * once leaserun is gone or the deadline has passed it kills until nothing is left. */
#include "base/now.h"
#include "fuzz.h"
#include "guard/guard_tree.h"
#include "guard/guard_words.h"
#include "guard_world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct scene {
    struct guard guard;
    int leaserun_fd; /* leaserun's end; -1 once closed */
    int wake_fd;     /* behind child_fd */
    unsigned told;   /* 1 << kind of what the guard has said */
    char fence_word[sizeof GUARD_FENCE_WORD];
    char *command[2];
};

static void open_scene(struct scene *scene)
{
    static char program[] = "true";
    int pair[2], wake[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_CHECK(pipe2(wake, O_CLOEXEC | O_NONBLOCK) == 0);
    *scene = (struct scene){.leaserun_fd = pair[0], .wake_fd = wake[1]};
    memcpy(scene->fence_word, GUARD_FENCE_WORD, sizeof scene->fence_word);
    scene->command[0] = program;
    scene->guard = (struct guard){
        .arguments = {.key = "key",
                      .fence_word = scene->fence_word,
                      .socket_fd = pair[1],
                      .command = scene->command},
        .setup = {.stdout_fd = -1, .stderr_fd = -1, .umask = -1},
        .leaserun = WORLD_LEASERUN,
        .child_fd = wake[0],
        .timer_fd = -1,
        .fault_fd = -1,
    };
    for (int i = 0; i < GUARD_INSTANT_COUNT; i++)
        scene->guard.due_boot_ms[i] = GUARD_NEVER;
    guard_world_reset(&scene->guard);
    now_freeze(1000000, INT64_C(1772330400000000));
}

static void close_scene(struct scene *scene)
{
    if (scene->leaserun_fd >= 0)
        close(scene->leaserun_fd);
    if (scene->guard.fault_fd >= 0)
        close(scene->guard.fault_fd);
    close(scene->guard.arguments.socket_fd);
    close(scene->guard.child_fd);
    close(scene->wake_fd);
    guard_ending_done(&scene->guard.ending);
    guard_world_reset(&scene->guard);
}

/* ---- what is said to it --------------------------------------------------------------------- */

static void say(const struct scene *scene, const void *packet, size_t size)
{
    if (scene->leaserun_fd >= 0)
        send(scene->leaserun_fd, packet, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int64_t take_instant(struct fuzz_input *input)
{
    unsigned kind = fuzz_below(input, 4);
    return kind == 0 ? fuzz_int64(input) : now_boot_ms() + 100 * (int64_t)fuzz_byte(input) - 500;
}

static void fill_text(struct fuzz_input *input, char *text, size_t room)
{
    size_t length = fuzz_byte(input);
    memset(text, (int)fuzz_byte(input), length < room ? length : room);
}

static void say_message(struct scene *scene, struct fuzz_input *input, enum guard_message_kind kind)
{
    struct guard_message message;
    memset(&message, 0, sizeof message);
    message.kind = kind;
    message.number = (int32_t)fuzz_below(input, 72) - 2;
    message.leftovers = fuzz_below(input, 4);
    message.is_foreground = (int8_t)fuzz_below(input, 2);
    message.term_at_boot_ms = take_instant(input);
    message.kill_at_boot_ms = take_instant(input);
    message.grace_ms = fuzz_int64(input);
    message.fence = fuzz_int64(input);
    fill_text(input, message.holder, sizeof message.holder);
    fill_text(input, message.run_id, sizeof message.run_id);
    fill_text(input, message.slot, sizeof message.slot);
    say(scene, &message, sizeof message);
}

static void say_bytes(struct scene *scene, struct fuzz_input *input, size_t size)
{
    uint8_t packet[2 * sizeof(struct guard_message)];
    for (size_t i = 0; i < size; i++)
        packet[i] = (uint8_t)fuzz_byte(input);
    say(scene, packet, size);
}

static void hang_up(struct scene *scene)
{
    if (scene->leaserun_fd >= 0)
        close(scene->leaserun_fd);
    scene->leaserun_fd = -1;
    guard_world.is_leaserun_gone = true;
}

static void act(struct scene *scene, struct fuzz_input *input)
{
    unsigned action = fuzz_below(input, 16);
    switch (action) {
    case 0:
        say_bytes(scene, input, sizeof(struct guard_message));
        break;
    case 1:
        say_bytes(scene, input, fuzz_below(input, 255) + 1);
        break;
    case 2:
        now_advance_ms(10 * (int64_t)fuzz_byte(input));
        break;
    case 3:
        guard_world_exec();
        break;
    case 4:
        guard_world_fail_exec((int)fuzz_byte(input));
        break;
    case 5:
        guard_world_end((int)(fuzz_byte(input) << 8 | fuzz_byte(input)));
        break;
    case 6:
        guard_world_stop(fuzz_below(input, 2) ? 19 : 20);
        break;
    case 7:
        guard_world.orphan_count += guard_world.is_forked && !guard_world.is_reaped;
        break;
    case 8:
        guard_world.ended_orphan_count += guard_world.orphan_count;
        guard_world.orphan_count = 0;
        break;
    case 9:
        guard_world.is_leaserun_stopped = !guard_world.is_leaserun_stopped;
        break;
    case 10:
        guard_world.is_fork_refused = fuzz_below(input, 2) != 0;
        break;
    case 11:
        hang_up(scene);
        break;
    default:
        say_message(scene, input, (enum guard_message_kind)fuzz_below(input, GUARD_DISMISS + 2));
    }
}

/* ---- what it does about it ------------------------------------------------------------------ */

#define HAS_TOLD(scene, kind) (((scene)->told & 1u << (kind)) != 0)

/* A stop may be told again and again, and leftovers before or after it; the rest once, in order. */
static void hear(struct scene *scene, const struct guard_message *message)
{
    bool is_over = HAS_TOLD(scene, GUARD_EMPTY);
    FUZZ_CHECK(message->kind > GUARD_READY && message->kind <= GUARD_EMPTY && !is_over);
    FUZZ_CHECK(memchr(message->text, '\0', sizeof message->text) != NULL);
    if (message->kind == GUARD_STARTED || message->kind == GUARD_NOT_STARTED)
        FUZZ_CHECK(!HAS_TOLD(scene, GUARD_STARTED) && !HAS_TOLD(scene, GUARD_NOT_STARTED));
    if (message->kind == GUARD_EXITED || message->kind == GUARD_STOPPED)
        FUZZ_CHECK(HAS_TOLD(scene, GUARD_STARTED) && !HAS_TOLD(scene, GUARD_EXITED));
    if (message->kind == GUARD_LEFTOVERS)
        FUZZ_CHECK(HAS_TOLD(scene, GUARD_EXITED));
    if (message->kind == GUARD_EMPTY)
        FUZZ_CHECK(HAS_TOLD(scene, GUARD_EXITED) || HAS_TOLD(scene, GUARD_NOT_STARTED));
    scene->told |= 1u << message->kind;
}

/* One turn of the guard's loop, as guard.c makes it. */
static void turn(struct scene *scene)
{
    struct guard *guard = &scene->guard;
    struct guard_message message;
    if (!guard->is_orphaned)
        guard_words_read(guard);
    guard_tree_do_due(guard);
    for (int i = 0; i < GUARD_INSTANT_COUNT; i++)
        FUZZ_CHECK(guard->due_boot_ms[i] > now_boot_ms());
    if (guard->fault_fd >= 0)
        guard_tree_on_fault(guard);
    guard_tree_on_children(guard);
    FUZZ_CHECK(memchr(guard->holder, '\0', sizeof guard->holder) != NULL);
    FUZZ_CHECK(!guard->is_orphaned || !guard_tree_exists(guard) || guard->ending.is_killing);
    FUZZ_CHECK(guard->phase != GUARD_PHASE_EMPTY || guard_world.is_reaped ||
               !guard_world.is_forked);
    while (scene->leaserun_fd >= 0 &&
           recv(scene->leaserun_fd, &message, sizeof message, MSG_DONTWAIT) > 0)
        hear(scene, &message);
}

/* The lease's deadline was moved to now, whatever was said before. */
static void check_deadline(struct scene *scene)
{
    struct guard_message message;
    memset(&message, 0, sizeof message);
    message.kind = GUARD_DEADLINE;
    message.term_at_boot_ms = message.kill_at_boot_ms = now_boot_ms();
    bool is_heard = scene->leaserun_fd >= 0;
    bool exists = guard_tree_exists(&scene->guard);
    say(scene, &message, sizeof message);
    size_t before = guard_world.kill_count;
    turn(scene);
    FUZZ_CHECK(!is_heard || !exists || guard_world.kill_count > before);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, bytes + count};
    struct scene scene;
    open_scene(&scene);
    bool by_deadline = fuzz_below(&input, 2) != 0;
    for (int i = 0; i < 200 && !fuzz_is_over(&input); i++) {
        act(&scene, &input);
        turn(&scene);
    }
    if (by_deadline)
        check_deadline(&scene);
    hang_up(&scene);
    for (int i = 0; i < 3; i++, now_advance_ms(200))
        turn(&scene);
    FUZZ_CHECK(scene.guard.is_orphaned && !guard_tree_exists(&scene.guard));
    close_scene(&scene);
    return 0;
}
