/* SPDX-License-Identifier: ISC */
#include "cli/commands.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define CHECK_LEAKS() __lsan_do_leak_check()
#else
#define CHECK_LEAKS() ((void)0)
#endif

/* Not by exit(): a name look-up that hangs in libuv's pool would hold it, and then abort. */
static _Noreturn void leave(int code)
{
    CHECK_LEAKS();
    _exit(code);
}

int main(int argc, char **argv)
{
    struct invocation invocation = {.environment = environ};
    fds_take_stock(&invocation.given);
    signals_take_stock(&invocation.signals);
    prctl(PR_SET_DUMPABLE, 0); /* the store's password is in this memory */
    int code = commands_main(argc, argv, &invocation);
    free(invocation.given.numbers);
    leave(code);
}
