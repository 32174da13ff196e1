/* SPDX-License-Identifier: ISC */
#include "cli/settle.h"

#include "cli/say.h"
#include "conf/suggest.h"

int settle(struct options *options)
{
    struct ini_faults faults = {0};
    int code = 0;
    if (!options_settle(options, &faults))
        code = say_faults(&faults);
    ini_faults_done(&faults);
    return code;
}

static int settle_typed(struct invocation *invocation)
{
    struct options *options = &invocation->options;
    int code = settle(options);
    config_drop_table_settings(&options->config);
    invocation->job = options->config.job;
    return code;
}

/* A command that was meant is the likelier mistake, unless a job's name is near. */
static int refuse_job(const struct invocation *invocation, const char *name)
{
    struct error error;
    const struct job_table *table = &invocation->table;
    const char *path = invocation->options.config.path;
    const char *nearest = NULL;
    for (size_t i = 0; i < table->count; i++)
        nearest = suggest_nearer(name, nearest, table->jobs[i].name);
    error_set(&error, ERROR_USAGE, "no command stands behind %s, and no job of that name in %s",
              name, path == NULL ? CONFIG_PATH : path);
    if (nearest == NULL)
        error_set(&error, ERROR_USAGE,
                  "no command stands behind %s, and no job of that name in %s: leaserun run %s -- "
                  "COMMAND",
                  name, path == NULL ? CONFIG_PATH : path, name);
    suggest_add(&error, nearest, "");
    return say_error(&error);
}

static int settle_job(struct invocation *invocation)
{
    struct ini_faults faults = {0};
    struct options *options = &invocation->options;
    const char *name = options->operands[0];
    int code = 0;
    if (!options_settle_own_table(options, &invocation->table, &faults))
        code = say_faults(&faults);
    ini_faults_done(&faults);
    if (code != 0)
        return code;
    const struct job *job = job_table_find(&invocation->table, name);
    if (job == NULL)
        return refuse_job(invocation, name);
    invocation->job = *job;
    options_put_job(options, &invocation->job);
    return 0;
}

int settle_run(struct invocation *invocation)
{
    bool is_typed = invocation->options.argv != NULL;
    int code = is_typed ? settle_typed(invocation) : settle_job(invocation);
    if (invocation->job.start_within_ms == JOB_START_WITHIN_AUTO)
        invocation->job.start_within_ms = JOB_START_WITHIN_TYPED_MS;
    return code;
}
