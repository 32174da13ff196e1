/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/say.h"

#include <stdio.h>

static int print_sql(const struct store_config *store)
{
    struct error error;
    MEM_AUTOFREE char *sql = NULL;
    if (!store_print_sql(store, &sql, &error))
        return say_error(&error);
    fputs(sql, stdout);
    return 0;
}

int cmd_init(struct invocation *invocation)
{
    struct error error;
    if (invocation->options.is_print_sql)
        return print_sql(&invocation->store);
    struct store_request request = {.kind = STORE_INIT};
    if (!ask_store(&invocation->store, &request, ASK_LIMITS_UPKEEP, &error))
        return say_error(&error);
    MEM_AUTOFREE char *url = store_url_redacted(invocation->store.url);
    printf(request.u.init.is_created ? "created what leaserun needs in %s\n"
                                     : "everything that leaserun needs was there in %s\n",
           url);
    return 0;
}
