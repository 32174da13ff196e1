/* SPDX-License-Identifier: ISC */
#include "base/exit_code.h"

#include <stddef.h>

const struct exit_code_row exit_codes[] = {
    {"0-255", "command", "the command's own exit status, whatever it is"},
    {"1", "too old", "the last success is older than status --max-age says, or there was none"},
    {"64", "usage", "the command line makes no sense; nothing was done"},
    {"69", "store", "the store did not answer in time or refused; the command was not started"},
    {"71", "system", "the operating system refused something that leaserun needs"},
    {"74", "output", "what was asked for could not be written"},
    {"75", "not run",
     "not run here: the lease is held, the wait is over, or the slot is used up "
     "(see --held-exit)"},
    {"76", "lost", "the lease was lost while the command ran; the command was ended"},
    {"78", "configuration",
     "no store is named, a file has a fault, or the schema or a right is "
     "missing"},
    {"124", "timed out", "the command ran longer than --timeout and was ended"},
    {"126", "cannot run", "the command was found but could not be executed"},
    {"127", "not found", "the command was not found"},
    {"128+n", "signal", "the command was ended by signal n"},
    {NULL, NULL, NULL},
};

enum exit_code exit_code_of_error(enum error_kind kind)
{
    switch (kind) {
    case ERROR_NONE:
        return EXIT_OK;
    case ERROR_USAGE:
        return EXIT_USAGE_ERROR;
    case ERROR_STORE:
        return EXIT_STORE;
    case ERROR_SYSTEM:
        return EXIT_SYSTEM;
    case ERROR_OUTPUT:
        return EXIT_OUTPUT;
    case ERROR_CONFIG:
        return EXIT_CONFIG;
    }
    return EXIT_SYSTEM;
}
