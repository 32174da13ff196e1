/* SPDX-License-Identifier: ISC */
/* What leaserun and its guard say to each other, over one SOCK_SEQPACKET pair: one packet, one
 * message, all of one size. Both are of one build, so the layout is the struct's.
 *
 * The guard is started as
 *     leaserun-guard KEY fence=00000000000000000000 SOCKET-FD STORE-FD LEASERUN-FD SETUP-FD --
 * COMMAND... with the command's environment, standard descriptors and all descriptors that leaserun
 * was given; the digits are overwritten with the fence once it is known, so that ps(1) answers when
 * the database cannot. STORE-FD is a memfd with the resolved store (store_config_pack),
 * LEASERUN-FD leaserun's own binary, both only for `leaserun release` after leaserun's death.
 * SETUP-FD is a memfd with what the command's process makes of itself (guard_setup.h).
 *
 * 1. The guard says GUARD_READY as soon as it listens.
 * 2. leaserun says GUARD_START with everything that was unknown before the claim was won.
 *    The guard answers GUARD_HEARD at once, then GUARD_STARTED or GUARD_NOT_STARTED.
 * 3. leaserun says GUARD_DEADLINE after each renewal, GUARD_SIGNAL to forward one, GUARD_STOP to
 *    end the tree, GUARD_CONTINUE and GUARD_PAUSE around a stop by the terminal.
 * 4. The guard says GUARD_STOPPED, GUARD_EXITED, GUARD_LEFTOVERS as they happen, and GUARD_EMPTY
 *    when no process of the tree exists any more; then it waits for end of file and exits.
 * 5. End of file without GUARD_DISMISS: leaserun is dead. The guard kills the tree at once, starts
 *    `leaserun release` for (key, holder) when a lease may be held, and exits. A run whose
 * GUARD_START never came is undone by that: its slot is open again. */
#pragma once
#include "base/identity.h"

#include <stdint.h>

enum guard_message_kind {
    /* leaserun -> guard */
    GUARD_HOLD,  /* from now on holder may hold the key for run_id (sent before the claim leaves):
                    free it on death */
    GUARD_START, /* start the command */
    GUARD_DEADLINE, /* the deadlines moved */
    GUARD_SIGNAL,   /* send number to the command's group */
    GUARD_STOP,     /* end the tree: number now (0: none), KILL at kill_at_boot_ms */
    GUARD_CONTINUE, /* CONT to the command's group; is_foreground: give it the terminal first */
    GUARD_PAUSE,    /* leaserun stops itself with the terminal: the deadline ends the tree, not
                       leaserun */
    GUARD_DISMISS,  /* nothing is held any more: end of file is not a death */
    /* guard -> leaserun */
    GUARD_READY,
    GUARD_HEARD,       /* of GUARD_START: before anything is done about it */
    GUARD_STARTED,     /* pid of the command, also its process group */
    GUARD_NOT_STARTED, /* number is errno, stage says of what */
    GUARD_STOPPED,     /* the command was stopped by signal number */
    GUARD_EXITED,      /* status as of waitpid(2) */
    GUARD_LEFTOVERS,   /* after EXITED: others of the tree live; text names some */
    GUARD_EMPTY,       /* the tree is gone */
};

enum guard_stage {
    GUARD_STAGE_FORK,
    GUARD_STAGE_OUTPUT,
    GUARD_STAGE_ACCOUNT,
    GUARD_STAGE_CWD,
    GUARD_STAGE_EXEC
};

enum guard_leftovers {
    GUARD_LEFTOVERS_KILL,  /* TERM, KILL after grace */
    GUARD_LEFTOVERS_WAIT,  /* wait until they end by themselves */
    GUARD_LEFTOVERS_LEAVE, /* the tree counts as empty once the command has ended */
};

/* Which ended the command, told in GUARD_EXITED so that a status of 137 has an author. */
enum guard_killer {
    GUARD_KILLER_NONE,
    GUARD_KILLER_STOP,
    GUARD_KILLER_DEADLINE
};

struct guard_message {
    enum guard_message_kind kind;
    int32_t number;                 /* SIGNAL, STOP, STOPPED: a signal; NOT_STARTED: errno */
    int32_t status;                 /* EXITED */
    int32_t pid;                    /* STARTED; LEFTOVERS: how many; STOPPED: how many
                                       GUARD_CONTINUE came before it */
    enum guard_stage stage;         /* NOT_STARTED */
    enum guard_killer killer;       /* EXITED, EMPTY */
    enum guard_leftovers leftovers; /* START */
    int8_t is_foreground;           /* START, CONTINUE: the command's group gets the terminal */
    int8_t keep_hup_ignored, keep_int_ignored, keep_quit_ignored; /* START: a nohup's */
    int64_t term_at_boot_ms; /* START, DEADLINE: TERM to the tree then ... */
    int64_t kill_at_boot_ms; /* ... KILL then, and leaserun with it. STOP: KILL then, tree only */
    int64_t grace_ms;        /* START: for leftovers */
    int64_t fence;           /* START */
    char holder[IDENTITY_HOLDER_MAX]; /* HOLD */
    char run_id[IDENTITY_RUN_ID_MAX]; /* HOLD, START */
    char slot[40];                    /* START: RFC 3339, or "" */
    char text[160];  /* LEFTOVERS: "sleep (pid 12), ssh-agent (pid 15)"; NOT_STARTED: the program */
    int32_t attempt; /* START */
};
