/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "log/escape.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUARD_LIMITS  ((struct ask_limits){2500, 8000})
#define STORE_FD_MOST 65536 /* bytes of store_config_pack */

/* ---- for the guard ----------------------------------------------------------------------- */

static bool read_fd(int fd, struct text *ret_bytes, struct error *err)
{
    char chunk[4096];
    for (off_t at = 0; at < STORE_FD_MOST;) {
        ssize_t count = pread(fd, chunk, sizeof chunk, at);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return error_set_errno(err, ERROR_SYSTEM, errno, "--store-fd %d cannot be read", fd);
        if (count == 0)
            return true;
        text_add_bytes(ret_bytes, chunk, (size_t)count);
        at += count;
    }
    return error_set(err, ERROR_SYSTEM, "--store-fd %d holds too much", fd);
}

static bool read_store(int fd, struct store_config *ret_store, struct error *err)
{
    struct text bytes = TEXT_INIT;
    bool is_good = read_fd(fd, &bytes, err);
    if (is_good && !store_config_unpack(&bytes, ret_store))
        is_good = error_set(err, ERROR_SYSTEM, "--store-fd %d does not hold a store", fd);
    if (bytes.bytes != NULL)
        explicit_bzero(bytes.bytes, bytes.length);
    text_done(&bytes);
    return is_good;
}

/* leaserun is dead and its guard has ended the tree. Nobody reads what is printed here. */
static int free_for_guard(const struct options *options)
{
    struct error error;
    struct store_config store;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    if (!read_store((int)options->store_fd, &store, &error))
        return (int)exit_code_of_error(error.kind);
    struct release_item item = {.key = options->operands[0],
                                .holder = options->holder,
                                .run_id = options->unstarted,
                                .status = -1};
    struct store_request request = {.kind = options->unstarted != NULL ? STORE_UNDO : STORE_FREE};
    request.u.release.items = &item;
    request.u.release.count = 1;
    bool is_good = ask_store(&store, &request, GUARD_LIMITS, &error);
    store_config_done(&store);
    return is_good ? 0 : (int)exit_code_of_error(error.kind);
}

/* ---- for a person ------------------------------------------------------------------------ */

static void print_plain(const char *sentence)
{
    TEXT_AUTODONE struct text line = TEXT_INIT;
    escape_plain(&line, sentence);
    puts(text_string(&line));
}

static int tell(const struct revoke *revoke)
{
    char span[TIME_TEXT_MAX];
    MEM_AUTOFREE char *sentence = NULL;
    time_text_span(revoke->wait_ms, span);
    switch (revoke->verdict) {
    case REVOKE_FREED:
        sentence = mem_printf("%s is free", revoke->key);
        print_plain(sentence);
        return 0;
    case REVOKE_LIVE:
        say_line("%s is held by %s for another %s, and nothing was changed; --stop ends its run",
                 revoke->key, revoke->other, span);
        return EXIT_NOT_RUN;
    case REVOKE_MARKED:
        sentence = mem_printf("%s: %s will end its command at its next renewal; the key is free "
                              "then, or in %s if it does not answer",
                              revoke->key, revoke->other, span);
        print_plain(sentence);
        return 0;
    case REVOKE_FOREIGN:
        say_line("%s is held by %s for another %s, which is no run of leaserun, and nothing was "
                 "changed; stop it where it runs",
                 revoke->key, revoke->other, span);
        return EXIT_NOT_RUN;
    case REVOKE_UNKNOWN:
        say_line("%s: no such key; leaserun status lists them", revoke->key);
        return EXIT_USAGE_ERROR;
    }
    return EXIT_SYSTEM;
}

int cmd_release(struct invocation *invocation)
{
    struct error error;
    const struct options *options = &invocation->options;
    if (!utf8_check_key(options->operands[0], &error))
        return say_error(&error);
    if ((options->store_fd >= 0) != (options->holder != NULL)) {
        error_set(&error, ERROR_USAGE, "--store-fd and --holder go together");
        return say_error(&error);
    }
    if (options->store_fd >= 0)
        return free_for_guard(options);
    struct store_request request = {.kind = STORE_REVOKE};
    request.u.revoke = (struct revoke){.key = options->operands[0], .is_stop = options->is_stop};
    if (!ask_store(&invocation->store, &request, ASK_LIMITS, &error))
        return say_error(&error);
    return tell(&request.u.revoke);
}
