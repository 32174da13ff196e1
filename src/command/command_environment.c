/* SPDX-License-Identifier: ISC */
#include "command/command_environment.h"

#include "base/mem.h"
#include "base/text.h"
#include "conf/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST   131072
#define PATH_OF_ALL "/usr/bin:/bin" /* cron(8)'s */

/* Takes the word over. */
static void put(struct command_environment *environment, char *word)
{
    size_t name_length = strcspn(word, "=") + 1;
    for (size_t i = 0; i < environment->count; i++)
        if (strncmp(environment->words[i], word, name_length) == 0) {
            free(environment->words[i]);
            environment->words[i] = word;
            return;
        }
    environment->words =
        mem_grow(environment->words, environment->count + 2, sizeof *environment->words);
    environment->words[environment->count++] = word;
    environment->words[environment->count] = NULL;
}

static bool is_secret(const char *word)
{
    static const char *const names[] = {"LEASERUN_STORE=", "LEASERUN_STORE_FILE="};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(word, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Not by put: an environment with one name twice stays as it is. */
void command_environment_put_own(struct command_environment *environment, char *const *own)
{
    size_t count = 0;
    while (own[count] != NULL)
        count++;
    environment->words =
        mem_grow(environment->words, environment->count + count + 1, sizeof *environment->words);
    for (size_t i = 0; i < count; i++)
        if (!is_secret(own[i]))
            environment->words[environment->count++] = mem_strdup(own[i]);
    environment->words[environment->count] = NULL;
}

void command_environment_put_account(struct command_environment *environment,
                                     const struct account *account, const char *shell)
{
    put(environment, mem_printf("HOME=%s", account->home));
    put(environment, mem_printf("LOGNAME=%s", account->name));
    put(environment, mem_printf("USER=%s", account->name));
    put(environment, mem_printf("SHELL=%s", shell));
    put(environment, mem_strdup("PATH=" PATH_OF_ALL));
}

bool command_environment_put_words(struct command_environment *environment, const char *words,
                                   struct error *err)
{
    MEM_AUTOFREE char **split = words_split_assignments(words, err);
    if (split == NULL)
        return error_prefix(err, "env");
    for (char **word = split; *word != NULL; word++)
        put(environment, mem_strdup(*word));
    return true;
}

/* A file that all may write would let all choose what root runs. */
static bool check_file(int fd, const char *path, struct error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return error_set_errno(err, ERROR_CONFIG, errno, "env-file %s", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_CONFIG, "env-file %s is not a file", path);
    if (status.st_size > FILE_MOST)
        return error_set(err, ERROR_CONFIG, "env-file %s has more than 128 KiB", path);
    if (geteuid() == 0 && (status.st_mode & S_IWOTH) != 0)
        return error_set(err, ERROR_CONFIG,
                         "env-file %s may be written by every user: chmod o-w it", path);
    return true;
}

static bool read_file(const char *path, struct text *ret_text, struct error *err)
{
    char part[16384];
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set_errno(err, ERROR_CONFIG, errno, "env-file %s", path);
    bool is_good = check_file(fd, path, err);
    while (is_good && ret_text->length <= FILE_MOST && (got = read(fd, part, sizeof part)) > 0)
        text_add_bytes(ret_text, part, (size_t)got);
    if (is_good && got < 0)
        is_good = error_set_errno(err, ERROR_CONFIG, errno, "env-file %s", path);
    close(fd);
    return is_good;
}

static bool put_line(struct command_environment *environment, char *line, size_t length,
                     struct error *err)
{
    if (length > 0 && line[length - 1] == '\r')
        line[--length] = '\0';
    line += strspn(line, " \t");
    if (*line == '\0' || *line == '#')
        return true;
    if (!words_is_assignment(line))
        return error_set(err, ERROR_CONFIG, "this is not NAME=VALUE");
    put(environment, mem_strdup(line));
    return true;
}

bool command_environment_put_file(struct command_environment *environment, const char *path,
                                  struct error *err)
{
    TEXT_AUTODONE struct text text = TEXT_INIT;
    if (!read_file(path, &text, err))
        return false;
    if (strlen(text_string(&text)) < text.length)
        return error_set(err, ERROR_CONFIG, "env-file %s has a NUL in it: it is no text", path);
    int line_number = 1;
    for (char *line = text.bytes; line != NULL && *line != '\0'; line_number++) {
        size_t length = strcspn(line, "\n");
        char *next = line[length] == '\0' ? NULL : line + length + 1;
        line[length] = '\0';
        if (!put_line(environment, line, length, err))
            return error_prefix(err, "%s:%d", path, line_number);
        line = next;
    }
    return true;
}

static void take_out(struct command_environment *environment, const char *name)
{
    size_t length = strlen(name), kept = 0;
    for (size_t i = 0; i < environment->count; i++) {
        char *word = environment->words[i];
        if (strncmp(word, name, length) == 0 && word[length] == '=')
            free(word);
        else
            environment->words[kept++] = word;
    }
    environment->count = kept;
    if (environment->words != NULL)
        environment->words[kept] = NULL;
}

void command_environment_put_variable(struct command_environment *environment, const char *name,
                                      const char *value)
{
    take_out(environment, name);
    if (value != NULL)
        put(environment, mem_printf("%s=%s", name, value));
}

void command_environment_done(struct command_environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        free(environment->words[i]);
    free(environment->words);
    *environment = (struct command_environment){0};
}
