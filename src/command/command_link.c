/* SPDX-License-Identifier: ISC */
#include "command/command_link.h"

#include "base/mem.h"
#include "base/program.h"
#include "base/text.h"
#include "guard/guard_arguments.h"
#include "guard/guard_setup.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* What only the guard gets. */
struct ends {
    int ours, socket_fd, store_fd, leaserun_fd, setup_fd;
};

static void close_ends(const struct ends *ends)
{
    const int all[] = {ends->ours, ends->socket_fd, ends->store_fd, ends->leaserun_fd,
                       ends->setup_fd};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] >= 0)
            close(all[i]);
}

/* The store, in memory that has no name and is in no argv. */
static int store_memory(const struct command_spec *spec)
{
    int fd = memfd_create("leaserun-store", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (spec->store == NULL)
        return fd;
    struct text bytes = TEXT_INIT;
    store_config_pack(spec->store, &bytes);
    bool is_written = write(fd, bytes.bytes, bytes.length) == (ssize_t)bytes.length &&
                      lseek(fd, 0, SEEK_SET) == 0;
    explicit_bzero(bytes.bytes, bytes.length);
    text_done(&bytes);
    if (is_written)
        return fd;
    close(fd);
    return -1;
}

static int setup_memory(const struct command_spec *spec, const struct command_output_ends *output)
{
    const struct command_plan *plan = spec->plan;
    const struct account *account = &plan->account;
    struct guard_setup setup;
    memset(&setup, 0, sizeof setup); /* it is written with what lies between its members */
    setup.stdin_fd = spec->stdin_fd;
    setup.stdout_fd = output->stdout_fd;
    setup.stderr_fd = output->stderr_fd;
    setup.umask = plan->umask;
    setup.takes_account = plan->has_account && account->is_change;
    setup.is_cwd_optional = plan->is_cwd_optional;
    setup.uid = account->uid;
    setup.gid = account->gid;
    setup.group_count = (uint32_t)account->group_count;
    setup.groups = account->groups;
    setup.cwd = plan->cwd;
    int fd = memfd_create("leaserun-setup", MFD_CLOEXEC);
    if (fd < 0 || guard_setup_write(fd, &setup))
        return fd;
    close(fd);
    return -1;
}

static bool open_ends(struct ends *ret_ends, const struct command_spec *spec,
                      const struct command_output_ends *output, struct error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set_errno(err, ERROR_SYSTEM, errno, "cannot make a socket for the guard");
    *ret_ends = (struct ends){.ours = pair[0],
                              .socket_fd = pair[1],
                              .store_fd = store_memory(spec),
                              .setup_fd = setup_memory(spec, output),
                              .leaserun_fd = program_self_fd()};
    if (ret_ends->store_fd >= 0 && ret_ends->setup_fd >= 0 && ret_ends->leaserun_fd >= 0)
        return true;
    error_set_errno(err, ERROR_SYSTEM, errno, "cannot open %s for the guard",
                    ret_ends->leaserun_fd < 0 ? "leaserun's own program" : "a memory file");
    close_ends(ret_ends);
    return false;
}

static size_t count_words(char *const *words)
{
    size_t count = 0;
    while (words[count] != NULL)
        count++;
    return count;
}

struct numbers {
    char socket[12], store[12], leaserun[12], setup[12];
};

/* Borrows everything; the caller frees the array. */
static char **make_argv(const struct command_spec *spec, const struct ends *ends,
                        struct numbers *numbers)
{
    static char name[] = "leaserun-guard", fence[] = GUARD_FENCE_WORD, dashes[] = "--";
    enum {
        OWN_COUNT = 8
    };
    size_t count = count_words(spec->plan->argv);
    char **argv = mem_array(OWN_COUNT + count + 1, sizeof *argv);
    snprintf(numbers->socket, sizeof numbers->socket, "%d", ends->socket_fd);
    snprintf(numbers->store, sizeof numbers->store, "%d", ends->store_fd);
    snprintf(numbers->leaserun, sizeof numbers->leaserun, "%d", ends->leaserun_fd);
    snprintf(numbers->setup, sizeof numbers->setup, "%d", ends->setup_fd);
    char *own[OWN_COUNT] = {
        name,           NULL,  fence, numbers->socket, numbers->store, numbers->leaserun,
        numbers->setup, dashes};
    memcpy(argv, own, sizeof own);
    memcpy(&argv[1], &spec->key, sizeof argv[1]);
    memcpy(argv + OWN_COUNT, spec->plan->argv, (count + 1) * sizeof *argv);
    return argv;
}

static bool is_named(const char *word, const char *name)
{
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && word[length] == '=';
}

/* The command's environment but for what only the claim can tell. Words of an outer leaserun give
 * way. The caller frees the array; *ret_own holds what is new in it. */
static char **make_environment(const struct command_spec *spec, char *ret_own[2])
{
    char *const *given = spec->plan->environment;
    size_t count = count_words(given), kept = 0;
    char **environment = mem_array(count + 3, sizeof *environment);
    for (size_t i = 0; i < count; i++)
        if (!is_named(given[i], "LEASERUN_KEY") && !is_named(given[i], "LEASERUN_JOB"))
            environment[kept++] = given[i];
    ret_own[0] = mem_printf("LEASERUN_KEY=%s", spec->key);
    ret_own[1] = spec->job == NULL ? NULL : mem_printf("LEASERUN_JOB=%s", spec->job);
    environment[kept++] = ret_own[0];
    environment[kept] = ret_own[1];
    return environment;
}

/* A group of its own, so that signals to leaserun's do not reach it; and none at all until it has
 * set itself up. dup2 of a descriptor on itself clears its close-on-exec in the child alone. */
static int spawn(const char *path, const struct ends *ends, int stdin_fd,
                 const struct command_output_ends *output, char **argv, char **environment,
                 pid_t *ret_pid)
{
    const int handed[] = {ends->socket_fd, ends->store_fd,    ends->leaserun_fd, ends->setup_fd,
                          stdin_fd,        output->stdout_fd, output->stderr_fd};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t every;
    sigfillset(&every);
    posix_spawn_file_actions_init(&actions);
    for (size_t i = 0; i < sizeof handed / sizeof handed[0]; i++)
        if (handed[i] >= 0)
            posix_spawn_file_actions_adddup2(&actions, handed[i], handed[i]);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &every);
    int rc = posix_spawn(ret_pid, path, &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static bool spawn_guard(pid_t *ret_pid, const struct command_spec *spec, const struct ends *ends,
                        const struct command_output_ends *output, struct error *err)
{
    char folder[PATH_MAX], path[PATH_MAX + 32];
    if (!program_folder(folder, sizeof folder, err))
        return false;
    snprintf(path, sizeof path, "%s/leaserun-guard", folder);
    struct numbers numbers;
    char *own[2];
    char **argv = make_argv(spec, ends, &numbers);
    char **environment = make_environment(spec, own);
    int rc = spawn(path, ends, spec->stdin_fd, output, argv, environment, ret_pid);
    free(own[0]);
    free(own[1]);
    free(environment);
    free(argv);
    return rc == 0 || error_set_errno(err, ERROR_SYSTEM, rc, "cannot start %s", path);
}

bool command_link_open(struct command_link *ret_link, const struct command_spec *spec,
                       const struct command_output_ends *output, struct error *err)
{
    struct ends ends = {-1, -1, -1, -1, -1};
    if (!open_ends(&ends, spec, output, err))
        return false;
    bool is_spawned = spawn_guard(&ret_link->guard, spec, &ends, output, err);
    if (is_spawned) {
        ret_link->socket_fd = ends.ours;
        ends.ours = -1;
    }
    close_ends(&ends);
    return is_spawned;
}
