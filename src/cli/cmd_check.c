/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/time_text.h"
#include "cli/ask.h"
#include "cli/check_host.h"
#include "cli/check_live.h"
#include "cli/check_notes.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "conf/store_choice.h"
#include "conf/value.h"
#include "lease/lease.h"
#include "log/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void print_timing(const struct job *job)
{
    char ttl[VALUE_TEXT_MAX], renew[TIME_TEXT_MAX], outage[TIME_TEXT_MAX], grace[TIME_TEXT_MAX];
    struct lease_timing timing = lease_timing(job->ttl_ms, job->grace_ms);
    value_format_duration(job->ttl_ms, ttl);
    time_text_span(timing.renew_every_ms, renew);
    time_text_span(lease_survived_outage_ms(&timing), outage);
    time_text_span(timing.loss_grace_ms, grace);
    printf("ttl %s: renewed every %s; a running command survives an outage of the store of %s;\n"
           "  in a longer one it gets TERM, and KILL %s later, before the lease expires\n",
           ttl, renew, outage, grace);
}

static void print_found(const char *what, const char *sentence)
{
    TEXT_AUTODONE struct text text = TEXT_INIT;
    escape_plain(&text, sentence);
    printf("%s: %s\n", what, text_string(&text));
}

static int print_inspection(const struct inspection *inspection)
{
    print_found("connected", inspection->description == NULL ? "" : inspection->description);
    for (size_t i = 0; i < inspection->note_count; i++)
        print_found("note", inspection->notes[i]);
    int code = 0;
    for (size_t i = 0; i < inspection->fault_count; i++) {
        say_error(&inspection->faults[i]);
        code = EXIT_CONFIG;
    }
    return code;
}

static int connect_to(const struct store_config *store)
{
    struct error error;
    struct store_request request = {.kind = STORE_INSPECT};
    if (!ask_store(store, &request, ASK_LIMITS, &error))
        return say_error(&error);
    int code = print_inspection(&request.u.inspection);
    store_request_clear(&request);
    return code;
}

static void print_store(const struct store_config *store, const char *source)
{
    MEM_AUTOFREE char *url = store_url_redacted(store->url);
    printf("store: %s (from %s)", url, source);
    if (store_url_is_local(store->url))
        putchar('\n');
    else if (store->dialect == DIALECT_LEASERUN)
        printf(", schema %s\n", store->schema);
    else
        printf(", dialect %s, own schema %s\n", store_dialect_name(store->dialect), store->schema);
}

/* No store is a fault only when it shall be connected to: options and environment may name one
 * when it matters. */
static int check_store(const struct options *options, struct job_table *table)
{
    struct error error;
    struct store_config store;
    MEM_AUTOFREE char *source = NULL;
    bool is_asked = options->is_connect || options->is_live;
    if (!store_choice_make(&options->config, &store, &source, &error)) {
        if (is_asked || store_choice_is_named(&options->config))
            return say_error(&error);
        printf("store: none is named\n");
        return 0;
    }
    if (!options->is_json)
        print_store(&store, source);
    int code = 0;
    if (!store_check_url(store.url, &error))
        code = say_error(&error);
    if (code == 0 && options->is_connect)
        code = connect_to(&store);
    if (code == 0 && options->is_live)
        code = check_live(&store, table, options->is_json);
    store_config_done(&store);
    return code;
}

/* The rest of what may be wrong, of the jobs that are right in themselves. */
static void check_surroundings(const struct config *config, const struct job_table *table,
                               struct ini_faults *faults)
{
    struct error error;
    struct store_config store;
    if (store_choice_make(config, &store, NULL, &error)) {
        job_table_check_store(table, !store_url_is_local(store.url), faults);
        store_config_done(&store);
    }
    check_host(table, &config->job, faults);
    ini_faults_sort(faults);
}

/* leaserun.ini, which may be missing, and then what was asked for or found beside it. */
static void print_files(const struct job_table *table, bool are_named)
{
    for (size_t i = 0; i < table->file_count; i++) {
        struct stat info;
        bool is_there = stat(table->files[i], &info) == 0;
        if (is_there && !S_ISDIR(info.st_mode))
            printf("%s: no fault\n", table->files[i]);
        else if (!is_there && i == 0 && !are_named)
            printf("%s: not there, defaults hold\n", table->files[i]);
    }
}

static void print_table(const struct options *options, const struct job_table *table)
{
    bool are_named = options->operand_count > 0;
    print_files(table, are_named);
    check_notes_print(table, are_named);
    print_timing(&options->config.job);
}

static bool check_usage(const struct options *options, struct error *err)
{
    if (options->is_json && !options->is_live)
        return error_set(err, ERROR_USAGE, "--json is of --live: leaserun check --live --json");
    if (options->is_json && options->is_connect)
        return error_set(err, ERROR_USAGE, "--connect answers in sentences, not in --json");
    return true;
}

int cmd_check(struct invocation *invocation)
{
    struct options *options = &invocation->options;
    struct job_table table;
    struct ini_faults faults = {0};
    struct error error;
    int code;
    if (!check_usage(options, &error))
        return say_error(&error);
    options_examine_table(options, &table, &faults);
    check_surroundings(&options->config, &table, &faults);
    if (faults.count > 0) {
        code = say_faults(&faults);
    } else {
        if (!options->is_json)
            print_table(options, &table);
        code = check_store(options, &table);
    }
    ini_faults_done(&faults);
    job_table_done(&table);
    return code;
}
