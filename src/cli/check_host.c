/* SPDX-License-Identifier: ISC */
#include "cli/check_host.h"

#include "base/mem.h"
#include "command/account.h"
#include "command/command_environment.h"
#include "conf/words.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One kind of thing that a job needs. */
struct need {
    const char *key;                            /* as in the table */
    const char *(*text)(const struct job *job); /* NULL: it needs none */
    bool (*check)(const struct job *job, struct error *err);
};

/* What was found for the job before: jobs with the same user stand together. */
struct finding {
    const char *text, *second;
    bool is_there;
    bool is_default_told;
    struct error error;
};

/* ---- what there is to need ----------------------------------------------------------------- */

static const char *account_text(const struct job *job)
{
    return job->user != NULL ? job->user : job->group;
}

static bool check_account(const struct job *job, struct error *err)
{
    struct account account = {0};
    bool is_good = account_find(&account, job->user, job->group, err);
    account_done(&account);
    return is_good;
}

static const char *cwd_text(const struct job *job)
{
    return job->cwd;
}

static bool check_cwd(const struct job *job, struct error *err)
{
    struct stat info;
    if (stat(job->cwd, &info) != 0)
        return error_set_errno(err, ERROR_CONFIG, errno, "the folder %s", job->cwd);
    if (!S_ISDIR(info.st_mode))
        return error_set(err, ERROR_CONFIG, "%s is no folder", job->cwd);
    return true;
}

static const char *env_file_text(const struct job *job)
{
    return job->env_file;
}

static bool check_env_file(const struct job *job, struct error *err)
{
    struct command_environment environment = {0};
    bool is_good = command_environment_put_file(&environment, job->env_file, err);
    command_environment_done(&environment);
    return is_good;
}

static bool check_program(const char *line, struct error *err)
{
    struct stat info;
    MEM_AUTOFREE char **words = words_split(line, NULL, err);
    if (words == NULL)
        return false;
    if (words[0][0] != '/')
        return true; /* of PATH, or of the job's folder: found when it starts */
    if (stat(words[0], &info) != 0)
        return error_set_errno(err, ERROR_CONFIG, errno, "%s", words[0]);
    if (!S_ISREG(info.st_mode) || (info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
        return error_set(err, ERROR_CONFIG, "%s is no program: it cannot be executed", words[0]);
    return true;
}

static const char *shell_text(const struct job *job)
{
    return job->command != NULL ? job->shell : NULL;
}

static bool check_shell(const struct job *job, struct error *err)
{
    return check_program(job->shell, err);
}

static const char *exec_text(const struct job *job)
{
    return job->exec;
}

static bool check_exec(const struct job *job, struct error *err)
{
    return check_program(job->exec, err);
}

static const struct need needs[] = {
    {"user", account_text, check_account},
    {"cwd", cwd_text, check_cwd},
    {"env-file", env_file_text, check_env_file},
    {"shell", shell_text, check_shell},
    {"exec", exec_text, check_exec},
};
#define NEED_COUNT (sizeof needs / sizeof needs[0])

/* ---- and whether it is there --------------------------------------------------------------- */

/* Of equal texts the table has one. A group beside a user makes another account of it. */
static void look(struct finding *finding, const struct need *need, const struct job *job)
{
    const char *text = need->text(job);
    const char *second = need->check == check_account ? job->group : NULL;
    if (finding->text == text && finding->second == second)
        return;
    finding->text = text;
    finding->second = second;
    finding->is_there = need->check(job, &finding->error);
}

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool is_default(const struct need *need, const struct job *job, const struct job *defaults)
{
    bool has_second = need->check == check_account;
    return is_same(need->text(defaults), need->text(job)) &&
           (!has_second || is_same(defaults->group, job->group));
}

static void check_job(const struct job *job, const struct job *defaults, struct finding *findings,
                      struct ini_faults *faults)
{
    for (size_t i = 0; i < NEED_COUNT; i++) {
        const struct need *need = &needs[i];
        struct finding *finding = &findings[i];
        if (need->text(job) == NULL)
            continue;
        look(finding, need, job);
        bool is_of_defaults = is_default(need, job, defaults);
        if (finding->is_there || (is_of_defaults && finding->is_default_told))
            continue;
        finding->is_default_told |= is_of_defaults;
        ini_faults_turn_to_path(faults, job->file);
        ini_faults_add(faults, job->line, "[job %s] %s: %s", job->name, need->key,
                       finding->error.text);
    }
}

void check_host(const struct job_table *table, const struct job *defaults,
                struct ini_faults *faults)
{
    struct finding findings[NEED_COUNT] = {0};
    for (size_t i = 0; i < table->count; i++)
        if (table->jobs[i].schedule != NULL)
            check_job(&table->jobs[i], defaults, findings, faults);
}
