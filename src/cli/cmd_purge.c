/* SPDX-License-Identifier: ISC */
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/say.h"

#include <inttypes.h>
#include <stdio.h>

int cmd_purge(struct invocation *invocation)
{
    struct error error;
    const struct options *options = &invocation->options;
    if (options->forget_key != NULL && !utf8_check_key(options->forget_key, &error))
        return say_error(&error);
    struct store_request request = {
        .kind = options->forget_key == NULL ? STORE_PURGE : STORE_FORGET,
    };
    request.u.purge = PURGE_USUAL;
    request.u.purge.lease_retention_ms = options->retention_ms;
    request.u.purge.forget_key = options->forget_key;
    if (!ask_store(&invocation->store, &request, ASK_LIMITS_UPKEEP, &error))
        return say_error(&error);
    int64_t leases = request.u.purge.leases_deleted;
    int64_t runs = request.u.purge.runs_deleted;
    printf("%" PRId64 " %s and %" PRId64 " %s deleted\n", leases, leases == 1 ? "lease" : "leases",
           runs, runs == 1 ? "run" : "runs");
    return 0;
}
