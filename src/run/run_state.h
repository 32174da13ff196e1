/* SPDX-License-Identifier: ISC */
/* What a run does, as a table: state and event give an action and the next state. Pure; run.c
 * performs the actions. The manual's diagram is printed from the same rows. */
#pragma once
#include "base/text.h"

enum run_state {
    RUN_CLAIMING,   /* asking for the lease */
    RUN_CANCELLING, /* told to end while asking */
    RUN_RUNNING,    /* the lease is held, the command was told to start */
    RUN_STOPPING,   /* the lease may be held; the tree is being ended */
    RUN_CLEARING,   /* the command has ended; waiting until its tree is empty */
    RUN_PAUSING,    /* the command has failed and is started again, the lease kept */
    RUN_RELEASING,  /* no process is left: giving the lease back, writing the outcome */
    RUN_UNDOING,    /* won and not to be started here: giving back the lease and the slot */
    RUN_FINISHED,
    RUN_STATE_COUNT
};

enum run_event {
    RUN_EVENT_CLAIM_WON,
    RUN_EVENT_CLAIM_ENDED, /* without the lease, whatever the reason */
    RUN_EVENT_NO_GUARD,    /* there is none, nor can one be had */
    RUN_EVENT_NOT_STARTED,
    RUN_EVENT_COMMAND_EXITED,
    RUN_EVENT_LEASE_LOST,  /* the store's verdict */
    RUN_EVENT_OUT_OF_TIME, /* no renewal came through in time */
    RUN_EVENT_TIME_UP,     /* --timeout */
    RUN_EVENT_STOP_ASKED,  /* a signal to leaserun */
    RUN_EVENT_GUARD_DIED,
    RUN_EVENT_TREE_EMPTY,
    RUN_EVENT_MAY_RETRY, /* the tree is empty, and another attempt is due */
    RUN_EVENT_PAUSE_OVER,
    RUN_EVENT_RELEASED, /* or given up */
    RUN_EVENT_COUNT
};

enum run_action {
    RUN_ACTION_NONE,
    RUN_ACTION_START_COMMAND,
    RUN_ACTION_CANCEL_CLAIM,
    RUN_ACTION_STOP,        /* the signal that asked, KILL after grace */
    RUN_ACTION_PASS_SIGNAL, /* stopping already: only pass it on */
    RUN_ACTION_TIME_OUT,    /* TERM, KILL after grace */
    RUN_ACTION_END_LOST,    /* TERM or KILL at once, by who holds the lease now */
    RUN_ACTION_END_IN_TIME, /* TERM, KILL at the lease's deadline */
    RUN_ACTION_PAUSE,       /* until the next attempt */
    RUN_ACTION_RELEASE,
    RUN_ACTION_UNDO,
    RUN_ACTION_HASTEN_RELEASE,
    RUN_ACTION_FINISH,
    RUN_ACTION_BUG, /* cannot happen */
    RUN_ACTION_COUNT
};

struct run_step {
    enum run_action action;
    enum run_state next;
};

/* Every pair is answered; a pair that cannot happen gives RUN_ACTION_BUG and the same state. */
struct run_step run_state_step(enum run_state state, enum run_event event);

const char *run_state_name(enum run_state state);
const char *run_event_name(enum run_event event);
const char *run_action_name(enum run_action action);

/* The table as Graphviz text, without the cells where nothing happens. */
void run_state_print(struct text *text);
