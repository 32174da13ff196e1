/* SPDX-License-Identifier: ISC */
#include "scene.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/now.h"
#include "command/command_status.h"
#include "guard/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 10000

static struct signals_given given_signals;
static bool is_playing; /* a forked leaserun: cmocka's state is the parent's */

static void give_up(const char *what)
{
    if (is_playing) {
        fprintf(stderr, "%s\n", what);
        _exit(99);
    }
    fail_msg("%s", what);
}

pid_t scene_fork(struct scene *scene)
{
    pid_t pid = fork();
    if (pid == 0) {
        is_playing = true;
        uv_loop_fork(&scene->loop);
    }
    return pid;
}

static void on_started(void *owner, int64_t pid)
{
    struct scene *scene = owner;
    scene->pid = pid;
    scene->started_count++;
}

static void on_not_started(void *owner, int exit_code, const struct error *why)
{
    struct scene *scene = owner;
    scene->exit_code = exit_code;
    scene->why = *why;
    scene->not_started_count++;
}

static void on_stopped(void *owner, int number)
{
    struct scene *scene = owner;
    scene->stop_signal = number;
    scene->stopped_count++;
}

static void on_exited(void *owner, int wait_status, enum guard_killer killer)
{
    struct scene *scene = owner;
    scene->wait_status = wait_status;
    scene->killer = killer;
    scene->exited_boot_ms = now_boot_ms();
    scene->exited_count++;
}

static void on_leftovers(void *owner, int count, const char *names)
{
    struct scene *scene = owner;
    scene->leftovers_count = count;
    snprintf(scene->leftovers, sizeof scene->leftovers, "%s", names);
}

static void on_guard_died(void *owner)
{
    struct scene *scene = owner;
    scene->guard_died_boot_ms = now_boot_ms();
    scene->guard_died_count++;
}

static void on_empty(void *owner, enum guard_killer killer)
{
    struct scene *scene = owner;
    scene->empty_boot_ms = now_boot_ms();
    scene->empty_count++;
}

static void on_line(void *owner, const struct command_line *line)
{
    struct scene *scene = owner;
    struct text *written = &scene->written[strcmp(line->stream, "stderr") == 0];
    text_add_bytes(written, line->bytes, line->length);
    text_add(written, line->continues ? "" : "|");
    scene->late_line_count += scene->empty_count > 0;
}

static const struct command_listener listener = {
    .started = on_started,
    .not_started = on_not_started,
    .stopped = on_stopped,
    .exited = on_exited,
    .leftovers = on_leftovers,
    .guard_died = on_guard_died,
    .empty = on_empty,
    .line = on_line,
};

static void on_signal(struct signals *signals, int number)
{
    if (number == SIGCHLD)
        command_reap_strangers();
}

void scene_main(void)
{
    uv_loop_t loop; /* libuv keeps two descriptors from the first loop on */
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    signals_take_stock(&given_signals);
    uv_loop_init(&loop);
    uv_loop_close(&loop);
}

int scene_fd_count(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

int scene_set_up(void **state)
{
    struct scene *scene = mem_alloc(sizeof *scene);
    scene->fd_count_before = scene_fd_count();
    snprintf(scene->folder, sizeof scene->folder, "/tmp/guard-test.XXXXXX");
    if (mkdtemp(scene->folder) == NULL)
        return -1;
    setenv("SCENE", scene->folder, 1);
    uv_loop_init(&scene->loop);
    scene->given_signals = given_signals;
    scene->plan = COMMAND_PLAN_INIT;
    scene->start = (struct command_start){
        .fence = 42,
        .run_id = "0123456789abcdef0123456789abcdef",
        .slot = "",
        .attempt = 1,
        .term_at_boot_ms = now_boot_ms() + 60000,
        .kill_at_boot_ms = now_boot_ms() + 70000,
        .grace_ms = 5000,
        .leftovers = GUARD_LEFTOVERS_KILL,
    };
    *state = scene;
    return signals_open(&scene->signals, &scene->loop, on_signal, scene);
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
}

/* Guards of a leaserun that was killed come to us, and go when they have given the lease back. */
static bool wait_for_children(struct scene *scene)
{
    int64_t until = now_boot_ms() + LIMIT_MS;
    while (waitpid(-1, NULL, WNOHANG) >= 0 && now_boot_ms() < until)
        scene_turn(scene, 5);
    return now_boot_ms() < until;
}

int scene_tear_down(void **state)
{
    struct scene *scene = *state;
    if (scene->is_open)
        scene_close(scene);
    int rc = wait_for_children(scene) ? 0 : fputs("a child is left\n", stderr);
    signals_close(&scene->signals, &scene->handles);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    rc |= uv_loop_close(&scene->loop);
    if (rc == 0 && scene_fd_count() != scene->fd_count_before)
        rc = fputs("a descriptor is left\n", stderr);
    remove_folder(scene->folder);
    free(scene->script);
    text_done(&scene->written[0]);
    text_done(&scene->written[1]);
    free(scene);
    return rc;
}

void scene_open(struct scene *scene, char *const *argv)
{
    struct error err;
    scene->plan.argv = argv;
    scene->plan.environment = environ;
    static char url[] = "sqlite:/nowhere", schema[] = "leaserun";
    const struct store_config store = {.url = url, .schema = schema};
    const struct command_spec spec = {
        .key = "the key",
        .plan = &scene->plan,
        .output = scene->output,
        .tail_most = scene->tail_most,
        .signals = &scene->given_signals,
        .store = &store,
        .job = "a job",
    };
    if (!command_open(&scene->command, &scene->loop, &spec, &listener, scene, &err))
        give_up(err.text);
    scene->is_open = true;
    command_hold(scene->command, "host/1/nonce", "run");
}

void scene_open_script(struct scene *scene, const char *script)
{
    static char shell[] = "/bin/sh", option[] = "-c";
    scene->script = mem_printf("cd \"$SCENE\" || exit 99\n%s", script);
    scene->argv[0] = shell;
    scene->argv[1] = option;
    scene->argv[2] = scene->script;
    scene_open(scene, scene->argv);
}

void scene_start(struct scene *scene)
{
    command_start(scene->command, &scene->start);
}

void scene_run_script(struct scene *scene, const char *script)
{
    scene_open_script(scene, script);
    scene_start(scene);
    scene_wait(scene, &scene->empty_count, 1);
}

static void on_wake(uv_timer_t *timer)
{
}

/* One turn of the loop that ends after a few milliseconds even when nothing happens. */
static void turn_once(struct scene *scene)
{
    uv_timer_t timer;
    uv_timer_init(&scene->loop, &timer);
    uv_update_time(&scene->loop);
    uv_timer_start(&timer, on_wake, 2, 0);
    uv_run(&scene->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&scene->loop, UV_RUN_NOWAIT);
}

void scene_turn(struct scene *scene, int64_t ms)
{
    for (int64_t until = now_boot_ms() + ms; now_boot_ms() < until;)
        turn_once(scene);
}

void scene_wait(struct scene *scene, const int *count, int at_least)
{
    int64_t until = now_boot_ms() + LIMIT_MS;
    while (*count < at_least) {
        if (now_boot_ms() > until)
            give_up("waited in vain");
        turn_once(scene);
    }
}

char *scene_read(struct scene *scene, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return mem_strdup("");
    char *text = mem_alloc(65536);
    size_t count = fread(text, 1, 65535, file);
    text[count] = '\0';
    fclose(file);
    return text;
}

void scene_wait_file(struct scene *scene, const char *name, char *ret_line, size_t room)
{
    int64_t until = now_boot_ms() + LIMIT_MS;
    for (;;) {
        MEM_AUTOFREE char *text = scene_read(scene, name);
        char *end = strchr(text, '\n');
        if (end != NULL) {
            *end = '\0';
            snprintf(ret_line, room, "%s", text);
            return;
        }
        if (now_boot_ms() > until)
            give_up(name);
        turn_once(scene);
    }
}

pid_t scene_wait_pid(struct scene *scene, const char *name)
{
    char line[32];
    scene_wait_file(scene, name, line, sizeof line);
    return (pid_t)atoi(line);
}

int64_t scene_gone_at(pid_t pid)
{
    struct process process;
    int64_t until = now_boot_ms() + LIMIT_MS;
    while (process_read("/proc", pid, &process) && process.state != 'Z') {
        if (now_boot_ms() > until)
            give_up("a process lives on");
        usleep(500);
    }
    return now_boot_ms();
}

static int closed_count;

static void on_closed(void *owner)
{
    closed_count++;
}

void scene_close(struct scene *scene)
{
    int before = closed_count;
    scene->is_open = false;
    command_dismiss(scene->command);
    command_close(scene->command, on_closed);
    scene_wait(scene, &closed_count, before + 1);
}
