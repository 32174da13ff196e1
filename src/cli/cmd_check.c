/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/time_text.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "conf/store_choice.h"
#include "conf/value.h"
#include "lease/lease.h"
#include "log/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* No store is a fault only when it shall be connected to: options and environment may name one
 * when it matters. */
static int check_store(const struct config *config, bool is_connect)
{
    struct error error;
    struct store_config store;
    MEM_AUTOFREE char *source = NULL;
    if (!store_choice_make(config, &store, &source, &error)) {
        if (is_connect || store_choice_is_named(config))
            return say_error(&error);
        printf("store: none is named\n");
        return 0;
    }
    MEM_AUTOFREE char *url = store_url_redacted(store.url);
    printf("store: %s (from %s)", url, source);
    if (strncmp(store.url, "sqlite:", 7) == 0)
        putchar('\n');
    else
        printf(", schema %s\n", store.schema);
    int code = 0;
    if (!store_check_url(store.url, &error))
        code = say_error(&error);
    else if (is_connect)
        code = connect_to(&store);
    store_config_done(&store);
    return code;
}

/* One file over the defaults, and over it what was typed. */
static bool read_file(struct options *options, const char *path)
{
    struct ini_faults faults = {0};
    const char *shown = path != NULL ? path : options->config.path;
    MEM_AUTOFREE char *name = mem_strdup(shown == NULL ? CONFIG_PATH : shown);
    if (path != NULL) {
        free(options->config.path);
        options->config.path = mem_strdup(path);
    }
    bool is_good = options_settle(options, &faults);
    if (!is_good)
        say_faults(&faults);
    else if (access(name, F_OK) != 0)
        printf("%s: not there, defaults hold\n", name);
    else
        printf("%s: no fault\n", name);
    ini_faults_done(&faults);
    return is_good;
}

/* The next file starts from nothing again. */
static void forget_file(struct options *options)
{
    config_done(&options->config);
    config_init(&options->config);
}

int cmd_check(struct invocation *invocation)
{
    struct options *options = &invocation->options;
    int code = 0;
    int file_count = options->operand_count > 0 ? options->operand_count : 1;
    for (int i = 0; i < file_count; i++) {
        bool is_good = read_file(options, options->operand_count > 0 ? options->operands[i] : NULL);
        if (!is_good)
            code = EXIT_CONFIG;
        bool is_last = i + 1 == file_count;
        if (is_last && code == 0) {
            print_timing(&options->config.job);
            code = check_store(&options->config, options->is_connect);
        } else {
            forget_file(options);
        }
    }
    return code;
}
