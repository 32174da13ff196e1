/* SPDX-License-Identifier: ISC */
/* What command.c and command_guard.c share: one command, from its open to its close. */
#pragma once
#include "command/command.h"
#include "command/command_output.h"

#include <sys/types.h>

#define COMMAND_NEVER INT64_MAX

enum command_state {
    COMMAND_IDLE,     /* the guard waits for a claim */
    COMMAND_STARTING, /* told to start */
    COMMAND_RUNNING,
    COMMAND_CLEARING, /* the command has ended, or was never started; its tree may live */
    COMMAND_EMPTY,
};

struct command {
    struct command_spec spec;
    const struct command_listener *listener;
    void *owner;
    struct command_output output;

    pid_t guard;
    struct watch socket;  /* end of file: the guard has ended */
    struct alarm silence; /* the guard should have answered, or have ended the tree, by then */
    struct alarm sweep;   /* the guard is gone: look again what is left */
    struct alarm refusal; /* command_start came after the guard's end */
    struct handles handles;
    void (*closed)(void *owner);

    enum command_state state;
    pid_t pid; /* of the command, from GUARD_STARTED to GUARD_EXITED; 0 else */
    int64_t lease_kill_boot_ms, stop_kill_boot_ms;
    int64_t answer_boot_ms; /* GUARD_HEARD is due; NEVER when it is not waited for */
    enum guard_killer killer;
    int32_t continue_count;
    bool is_guard_gone, is_dismissed, is_closing;
};
