/* SPDX-License-Identifier: ISC */
#include "cli/dry_run.h"

#include "base/exit_code.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time_text.h"
#include "cli/ask.h"
#include "cli/say.h"
#include "conf/store_url.h"
#include "lease/lease.h"
#include "log/escape.h"
#include "run/slot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What others may have written into the store, or typed, does not command the terminal. */
static void print_foreign(const char *before, const char *foreign)
{
    TEXT_AUTODONE struct text text = TEXT_INIT;
    escape_plain(&text, foreign);
    printf("%s%s", before, text_string(&text));
}

static void print_command(const struct job *job, char *const *argv)
{
    fputs("command:", stdout);
    for (; argv != NULL && *argv != NULL; argv++)
        print_foreign(" ", *argv);
    if (argv == NULL)
        print_foreign(" ", job->exec != NULL ? job->exec : job->command);
    putchar('\n');
}

static void print_lease(const struct job *job, const struct lease_row *row)
{
    char left[TIME_TEXT_MAX];
    print_foreign("key: ", job->key);
    putchar('\n');
    if (row == NULL) {
        puts("lease: free, never claimed");
        return;
    }
    printf("lease: %s", lease_state_name(row->state));
    if (row->fence != FENCE_ABSENT)
        printf(", fence %" PRId64, row->fence);
    print_foreign(", last holder ", row->holder);
    if (row->remaining_ms > 0)
        printf(", for %s more", time_text_span(row->remaining_ms, left));
    putchar('\n');
}

static void print_timing(const struct job *job)
{
    char ttl[TIME_TEXT_MAX], outage[TIME_TEXT_MAX];
    struct lease_timing timing = lease_timing(job->ttl_ms, job->grace_ms);
    printf("ttl: %s; once started it survives an outage of the store of %s\n",
           time_text_span(timing.ttl_ms, ttl),
           time_text_span(lease_survived_outage_ms(&timing), outage));
}

static void print_slot(const struct job *job, const char *typed)
{
    char slot[TIME_TEXT_MAX];
    int64_t slot_us = slot_of(job->once_per, now_wall_us());
    if (typed == NULL && slot_us == NO_INSTANT)
        return;
    print_foreign("slot: ", typed != NULL ? typed : time_text_s(slot_us, slot));
    putchar('\n');
}

static bool would_run(const struct lease_row *row)
{
    return row == NULL || row->state == LEASE_EXPIRED || row->state == LEASE_RELEASED;
}

static int answer(const struct invocation *invocation, const struct lease_row *row)
{
    const struct job *job = &invocation->job;
    char *url = store_url_redacted(invocation->store.url);
    printf("store: %s\n", url);
    free(url);
    print_lease(job, row);
    print_slot(job, invocation->options.slot);
    print_timing(job);
    print_command(job, invocation->options.argv);
    if (would_run(row)) {
        puts("it would run now");
        return EXIT_OK;
    }
    puts(job->wait_ms > 0 ? "it would wait now" : "it would not run now");
    return job->wait_ms > 0 ? EXIT_OK : (int)job->held_exit;
}

int dry_run(struct invocation *invocation)
{
    struct error err;
    struct store_request request = {.kind = STORE_STATUS, .u.leases.key = invocation->job.key};
    if (!ask_store(&invocation->store, &request, ASK_LIMITS, &err))
        return say_error(&err);
    int code = answer(invocation, request.u.leases.count == 0 ? NULL : &request.u.leases.rows[0]);
    store_request_clear(&request);
    return say_flushed(code);
}
