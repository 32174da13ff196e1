/* SPDX-License-Identifier: ISC */
#include "command/command_fault.h"

#include "base/exit_code.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_DEFAULT "/bin:/usr/bin" /* execvp(3) without PATH */

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static const char *path_of(char *const *environment)
{
    for (size_t i = 0; environment[i] != NULL; i++)
        if (strncmp(environment[i], "PATH=", 5) == 0)
            return environment[i] + 5;
    return PATH_DEFAULT;
}

/* The file that execvp(3) means by program, where there is one. */
static bool find_file(const char *program, const char *path_list, char ret_path[PATH_MAX])
{
    if (strchr(program, '/') != NULL)
        return snprintf(ret_path, PATH_MAX, "%s", program) < PATH_MAX &&
               access(ret_path, F_OK) == 0;
    for (const char *folder = path_list; program[0] != '\0'; folder++) {
        size_t length = strcspn(folder, ":");
        int used = snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)length, folder,
                            length == 0 ? "" : "/", program);
        if (used < PATH_MAX && is_file(ret_path))
            return true;
        folder += length;
        if (*folder == '\0')
            break;
    }
    return false;
}

/* The interpreter that a script's first line names; false when it is no script. */
static bool read_interpreter(const char *path, char *ret_name, size_t room)
{
    char line[PATH_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t count = read(fd, line, sizeof line - 1);
    close(fd);
    if (count < 2 || line[0] != '#' || line[1] != '!')
        return false;
    line[count] = '\0';
    char *name = line + 2 + strspn(line + 2, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    snprintf(ret_name, room, "%s", name);
    return true;
}

/* The file is there, but something that it needs is not. */
static int explain_incomplete(const char *path, struct error *ret_why)
{
    char interpreter[PATH_MAX];
    size_t length;
    if (!read_interpreter(path, interpreter, sizeof interpreter)) {
        error_set(ret_why, ERROR_SYSTEM,
                  "cannot start %s: the file is there, but its loader is not (a program for "
                  "another system?)",
                  path);
    } else if ((length = strlen(interpreter)) > 0 && interpreter[length - 1] == '\r') {
        interpreter[length - 1] = '\0';
        error_set(ret_why, ERROR_SYSTEM,
                  "cannot start %s: its first line names the interpreter %s and ends with a "
                  "carriage return; give the file Unix line ends",
                  path, interpreter);
    } else {
        error_set(ret_why, ERROR_SYSTEM, "cannot start %s: its interpreter %s does not exist", path,
                  interpreter);
    }
    return EXIT_CANNOT_RUN;
}

static int explain_missing(const char *program, const char *path_list, struct error *ret_why)
{
    char path[PATH_MAX];
    if (find_file(program, path_list, path))
        return explain_incomplete(path, ret_why);
    if (strchr(program, '/') != NULL)
        error_set_errno(ret_why, ERROR_SYSTEM, ENOENT, "cannot start %s", program);
    else
        error_set(ret_why, ERROR_SYSTEM, "cannot start \"%s\": no such program in PATH (%s)%s",
                  program, path_list,
                  strchr(program, ' ') == NULL ? "" : "; a whole command line needs sh -c");
    return EXIT_NOT_FOUND;
}

static int explain_refused(const char *program, const char *path_list, int errno_value,
                           struct error *ret_why)
{
    char path[PATH_MAX];
    struct stat status;
    if (!find_file(program, path_list, path))
        snprintf(path, sizeof path, "%s", program);
    bool is_there = stat(path, &status) == 0;
    if (errno_value == EACCES && is_there && S_ISDIR(status.st_mode))
        error_set(ret_why, ERROR_SYSTEM, "cannot start %s: it is a folder", path);
    else if (errno_value == EACCES && is_there && (status.st_mode & 0111) == 0)
        error_set(ret_why, ERROR_SYSTEM, "cannot start %s: it is not executable (chmod +x)", path);
    else
        error_set_errno(ret_why, ERROR_SYSTEM, errno_value, "cannot start %s", path);
    return EXIT_CANNOT_RUN;
}

static int explain_exec(int errno_value, const char *program, const char *path_list,
                        struct error *ret_why)
{
    char path[PATH_MAX];
    /* execvp(3) says EACCES too when only some folder of PATH could not be searched. */
    bool is_unfound = errno_value == EACCES && strchr(program, '/') == NULL &&
                      !find_file(program, path_list, path);
    if (errno_value == ENOENT || errno_value == ENOTDIR || is_unfound)
        return explain_missing(program, path_list, ret_why);
    return explain_refused(program, path_list, errno_value, ret_why);
}

static int explain_fork(int errno_value, const char *program, struct error *ret_why)
{
    if (errno_value == ETIMEDOUT)
        error_set(ret_why, ERROR_SYSTEM, "the lease ran out before %s could be started", program);
    else
        error_set_errno(ret_why, ERROR_SYSTEM, errno_value, "cannot make a process for %s",
                        program);
    return EXIT_SYSTEM;
}

/* The command's first word, as a path from here where it is one from the command's folder. */
static const char *program_of(const struct command_plan *plan, char ret_path[PATH_MAX])
{
    const char *word = plan->argv[0];
    bool is_relative = word[0] != '/' && strchr(word, '/') != NULL;
    if (plan->cwd == NULL || !is_relative)
        return word;
    return snprintf(ret_path, PATH_MAX, "%s/%s", plan->cwd, word) < PATH_MAX ? ret_path : word;
}

int command_fault_explain(const struct guard_message *not_started, const struct command_plan *plan,
                          struct error *ret_why)
{
    char path[PATH_MAX];
    const char *program = program_of(plan, path);
    switch (not_started->stage) {
    case GUARD_STAGE_FORK:
        return explain_fork(not_started->number, program, ret_why);
    case GUARD_STAGE_OUTPUT:
        error_set_errno(ret_why, ERROR_SYSTEM, not_started->number,
                        "cannot put a pipe in the place of the output of %s", program);
        return EXIT_SYSTEM;
    case GUARD_STAGE_ACCOUNT:
        error_set_errno(ret_why, ERROR_SYSTEM, not_started->number,
                        "cannot become user %lu with group %lu for %s",
                        (unsigned long)plan->account.uid, (unsigned long)plan->account.gid,
                        program);
        return EXIT_SYSTEM;
    case GUARD_STAGE_CWD:
        error_set_errno(ret_why, ERROR_SYSTEM, not_started->number,
                        "cannot enter %s, the working folder of %s", plan->cwd, program);
        return EXIT_SYSTEM;
    case GUARD_STAGE_EXEC:
        return explain_exec(not_started->number, program, path_of(plan->environment), ret_why);
    }
    return EXIT_SYSTEM;
}
