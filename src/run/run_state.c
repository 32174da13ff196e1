/* SPDX-License-Identifier: ISC */
#include "run/run_state.h"

#include <stdbool.h>

/* One row per answered pair; a pair without a row is a bug. "stays" rows are answers too: the
 * event is known, and nothing is to be done. */
static const struct row {
    enum run_state state;
    enum run_event event;
    struct run_step step;
} rows[] = {
    {RUN_CLAIMING, RUN_EVENT_CLAIM_WON, {RUN_ACTION_START_COMMAND, RUN_RUNNING}},
    {RUN_CLAIMING, RUN_EVENT_CLAIM_ENDED, {RUN_ACTION_FINISH, RUN_FINISHED}},
    {RUN_CLAIMING, RUN_EVENT_STOP_ASKED, {RUN_ACTION_CANCEL_CLAIM, RUN_CANCELLING}},
    {RUN_CLAIMING, RUN_EVENT_GUARD_DIED, {RUN_ACTION_CANCEL_CLAIM, RUN_CANCELLING}},

    {RUN_CANCELLING, RUN_EVENT_CLAIM_ENDED, {RUN_ACTION_FINISH, RUN_FINISHED}},
    {RUN_CANCELLING, RUN_EVENT_STOP_ASKED, {RUN_ACTION_NONE, RUN_CANCELLING}},
    {RUN_CANCELLING, RUN_EVENT_GUARD_DIED, {RUN_ACTION_NONE, RUN_CANCELLING}},
    {RUN_CANCELLING, RUN_EVENT_TREE_EMPTY, {RUN_ACTION_NONE, RUN_CANCELLING}},

    {RUN_RUNNING, RUN_EVENT_NO_GUARD, {RUN_ACTION_UNDO, RUN_UNDOING}},
    {RUN_RUNNING, RUN_EVENT_NOT_STARTED, {RUN_ACTION_NONE, RUN_CLEARING}},
    {RUN_RUNNING, RUN_EVENT_COMMAND_EXITED, {RUN_ACTION_NONE, RUN_CLEARING}},
    {RUN_RUNNING, RUN_EVENT_LEASE_LOST, {RUN_ACTION_END_LOST, RUN_STOPPING}},
    {RUN_RUNNING, RUN_EVENT_OUT_OF_TIME, {RUN_ACTION_END_IN_TIME, RUN_STOPPING}},
    {RUN_RUNNING, RUN_EVENT_TIME_UP, {RUN_ACTION_TIME_OUT, RUN_STOPPING}},
    {RUN_RUNNING, RUN_EVENT_STOP_ASKED, {RUN_ACTION_STOP, RUN_STOPPING}},
    {RUN_RUNNING, RUN_EVENT_GUARD_DIED, {RUN_ACTION_NONE, RUN_STOPPING}},

    {RUN_STOPPING, RUN_EVENT_NOT_STARTED, {RUN_ACTION_NONE, RUN_CLEARING}},
    {RUN_STOPPING, RUN_EVENT_COMMAND_EXITED, {RUN_ACTION_NONE, RUN_CLEARING}},
    {RUN_STOPPING, RUN_EVENT_LEASE_LOST, {RUN_ACTION_END_LOST, RUN_STOPPING}},
    {RUN_STOPPING, RUN_EVENT_OUT_OF_TIME, {RUN_ACTION_END_IN_TIME, RUN_STOPPING}},
    {RUN_STOPPING, RUN_EVENT_TIME_UP, {RUN_ACTION_NONE, RUN_STOPPING}},
    {RUN_STOPPING, RUN_EVENT_STOP_ASKED, {RUN_ACTION_PASS_SIGNAL, RUN_STOPPING}},
    {RUN_STOPPING, RUN_EVENT_GUARD_DIED, {RUN_ACTION_NONE, RUN_STOPPING}},
    {RUN_STOPPING, RUN_EVENT_TREE_EMPTY, {RUN_ACTION_RELEASE, RUN_RELEASING}},

    {RUN_CLEARING, RUN_EVENT_LEASE_LOST, {RUN_ACTION_END_LOST, RUN_CLEARING}},
    {RUN_CLEARING, RUN_EVENT_OUT_OF_TIME, {RUN_ACTION_END_IN_TIME, RUN_CLEARING}},
    {RUN_CLEARING, RUN_EVENT_TIME_UP, {RUN_ACTION_TIME_OUT, RUN_CLEARING}},
    {RUN_CLEARING, RUN_EVENT_STOP_ASKED, {RUN_ACTION_STOP, RUN_CLEARING}},
    {RUN_CLEARING, RUN_EVENT_GUARD_DIED, {RUN_ACTION_NONE, RUN_CLEARING}},
    {RUN_CLEARING, RUN_EVENT_TREE_EMPTY, {RUN_ACTION_RELEASE, RUN_RELEASING}},

    {RUN_CLEARING, RUN_EVENT_MAY_RETRY, {RUN_ACTION_PAUSE, RUN_PAUSING}},

    {RUN_PAUSING, RUN_EVENT_PAUSE_OVER, {RUN_ACTION_START_COMMAND, RUN_RUNNING}},
    {RUN_PAUSING, RUN_EVENT_LEASE_LOST, {RUN_ACTION_RELEASE, RUN_RELEASING}},
    {RUN_PAUSING, RUN_EVENT_OUT_OF_TIME, {RUN_ACTION_RELEASE, RUN_RELEASING}},
    {RUN_PAUSING, RUN_EVENT_STOP_ASKED, {RUN_ACTION_RELEASE, RUN_RELEASING}},
    {RUN_PAUSING, RUN_EVENT_GUARD_DIED, {RUN_ACTION_NONE, RUN_PAUSING}},
    {RUN_PAUSING, RUN_EVENT_TREE_EMPTY, {RUN_ACTION_NONE, RUN_PAUSING}}, /* a dead guard's */

    {RUN_RELEASING, RUN_EVENT_LEASE_LOST, {RUN_ACTION_NONE, RUN_RELEASING}},
    {RUN_RELEASING, RUN_EVENT_OUT_OF_TIME, {RUN_ACTION_NONE, RUN_RELEASING}},
    {RUN_RELEASING, RUN_EVENT_TIME_UP, {RUN_ACTION_NONE, RUN_RELEASING}},
    {RUN_RELEASING, RUN_EVENT_STOP_ASKED, {RUN_ACTION_HASTEN_RELEASE, RUN_RELEASING}},
    {RUN_RELEASING, RUN_EVENT_GUARD_DIED, {RUN_ACTION_NONE, RUN_RELEASING}},
    {RUN_RELEASING, RUN_EVENT_TREE_EMPTY, {RUN_ACTION_NONE, RUN_RELEASING}}, /* a dead guard's */
    {RUN_RELEASING, RUN_EVENT_RELEASED, {RUN_ACTION_FINISH, RUN_FINISHED}},

    {RUN_UNDOING, RUN_EVENT_STOP_ASKED, {RUN_ACTION_HASTEN_RELEASE, RUN_UNDOING}},
    {RUN_UNDOING, RUN_EVENT_RELEASED, {RUN_ACTION_FINISH, RUN_FINISHED}},

    {RUN_FINISHED, RUN_EVENT_STOP_ASKED, {RUN_ACTION_NONE, RUN_FINISHED}},
    {RUN_FINISHED, RUN_EVENT_GUARD_DIED, {RUN_ACTION_NONE, RUN_FINISHED}},
    {RUN_FINISHED, RUN_EVENT_TREE_EMPTY, {RUN_ACTION_NONE, RUN_FINISHED}},
};
enum {
    ROW_COUNT = sizeof rows / sizeof rows[0]
};

struct run_step run_state_step(enum run_state state, enum run_event event)
{
    for (int i = 0; i < ROW_COUNT; i++)
        if (rows[i].state == state && rows[i].event == event)
            return rows[i].step;
    return (struct run_step){RUN_ACTION_BUG, state};
}

const char *run_state_name(enum run_state state)
{
    static const char *const names[RUN_STATE_COUNT] = {
        [RUN_CLAIMING] = "claiming",   [RUN_CANCELLING] = "cancelling", [RUN_RUNNING] = "running",
        [RUN_STOPPING] = "stopping",   [RUN_CLEARING] = "clearing",     [RUN_PAUSING] = "pausing",
        [RUN_RELEASING] = "releasing", [RUN_UNDOING] = "undoing",       [RUN_FINISHED] = "finished",
    };
    return names[state];
}

const char *run_event_name(enum run_event event)
{
    static const char *const names[RUN_EVENT_COUNT] = {
        [RUN_EVENT_CLAIM_WON] = "claim won",
        [RUN_EVENT_CLAIM_ENDED] = "claim ended",
        [RUN_EVENT_NO_GUARD] = "no guard to be had",
        [RUN_EVENT_NOT_STARTED] = "command not started",
        [RUN_EVENT_COMMAND_EXITED] = "command exited",
        [RUN_EVENT_LEASE_LOST] = "lease lost",
        [RUN_EVENT_OUT_OF_TIME] = "out of time",
        [RUN_EVENT_TIME_UP] = "time up",
        [RUN_EVENT_STOP_ASKED] = "stop asked",
        [RUN_EVENT_GUARD_DIED] = "guard died",
        [RUN_EVENT_TREE_EMPTY] = "tree empty",
        [RUN_EVENT_MAY_RETRY] = "tree empty, another attempt due",
        [RUN_EVENT_PAUSE_OVER] = "pause over",
        [RUN_EVENT_RELEASED] = "released",
    };
    return names[event];
}

const char *run_action_name(enum run_action action)
{
    static const char *const names[RUN_ACTION_COUNT] = {
        [RUN_ACTION_NONE] = "nothing",
        [RUN_ACTION_START_COMMAND] = "start the command",
        [RUN_ACTION_CANCEL_CLAIM] = "cancel the claim",
        [RUN_ACTION_STOP] = "pass the signal on, KILL after grace",
        [RUN_ACTION_PASS_SIGNAL] = "pass the signal on",
        [RUN_ACTION_TIME_OUT] = "TERM, KILL after grace",
        [RUN_ACTION_END_LOST] = "end the tree, the lease is lost",
        [RUN_ACTION_END_IN_TIME] = "TERM, KILL at the deadline",
        [RUN_ACTION_PAUSE] = "wait for the next attempt",
        [RUN_ACTION_UNDO] = "undo the claim",
        [RUN_ACTION_RELEASE] = "release",
        [RUN_ACTION_HASTEN_RELEASE] = "shorten the release's limit",
        [RUN_ACTION_FINISH] = "finish",
        [RUN_ACTION_BUG] = "cannot happen",
    };
    return names[action];
}

void run_state_print(struct text *text)
{
    text_add(text, "digraph run {\n");
    for (int i = 0; i < ROW_COUNT; i++) {
        const struct row *row = &rows[i];
        bool stays = row->step.action == RUN_ACTION_NONE && row->step.next == row->state;
        if (!stays)
            text_addf(text, "    %s -> %s [label=\"%s: %s\"];\n", run_state_name(row->state),
                      run_state_name(row->step.next), run_event_name(row->event),
                      run_action_name(row->step.action));
    }
    text_add(text, "}\n");
}
