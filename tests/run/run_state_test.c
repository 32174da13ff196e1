/* SPDX-License-Identifier: ISC */
#include "check.h"
#include "run/run_state.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- the whole grid ------------------------------------------------------------------------- */

enum {
    BUG = -1,
    STAYS = -2 /* nothing, same state */
};

struct cell {
    int action; /* or BUG, STAYS */
    enum run_state next;
};

#define GO(action_, next_)                                                                         \
    {                                                                                              \
        RUN_ACTION_##action_, RUN_##next_                                                          \
    }

static const struct cell grid[RUN_STATE_COUNT][RUN_EVENT_COUNT] =
    {
        [RUN_CLAIMING] =
            {
                [RUN_EVENT_CLAIM_WON] = GO(START_COMMAND, RUNNING),
                [RUN_EVENT_CLAIM_ENDED] = GO(FINISH, FINISHED),
                [RUN_EVENT_NO_GUARD] = {.action = BUG},
                [RUN_EVENT_NOT_STARTED] = {.action = BUG},
                [RUN_EVENT_COMMAND_EXITED] = {.action = BUG},
                [RUN_EVENT_LEASE_LOST] = {.action = BUG},
                [RUN_EVENT_OUT_OF_TIME] = {.action = BUG},
                [RUN_EVENT_TIME_UP] = {.action = BUG},
                [RUN_EVENT_STOP_ASKED] = GO(CANCEL_CLAIM, CANCELLING),
                [RUN_EVENT_GUARD_DIED] = GO(CANCEL_CLAIM, CANCELLING),
                [RUN_EVENT_TREE_EMPTY] = {.action = BUG},
                [RUN_EVENT_MAY_RETRY] = {.action = BUG},
                [RUN_EVENT_PAUSE_OVER] = {.action = BUG},
                [RUN_EVENT_RELEASED] = {.action = BUG},
            },
        [RUN_CANCELLING] =
            {
                [RUN_EVENT_CLAIM_WON] = {.action = BUG}, /* a cancelled claim undoes it */
                [RUN_EVENT_CLAIM_ENDED] = GO(FINISH, FINISHED),
                [RUN_EVENT_NO_GUARD] = {.action = BUG},
                [RUN_EVENT_NOT_STARTED] = {.action = BUG},
                [RUN_EVENT_COMMAND_EXITED] = {.action = BUG},
                [RUN_EVENT_LEASE_LOST] = {.action = BUG},
                [RUN_EVENT_OUT_OF_TIME] = {.action = BUG},
                [RUN_EVENT_TIME_UP] = {.action = BUG},
                [RUN_EVENT_STOP_ASKED] = {.action = STAYS},
                [RUN_EVENT_GUARD_DIED] = {.action = STAYS},
                [RUN_EVENT_TREE_EMPTY] = {.action = STAYS},
                [RUN_EVENT_MAY_RETRY] = {.action = BUG},
                [RUN_EVENT_PAUSE_OVER] = {.action = BUG},
                [RUN_EVENT_RELEASED] = {.action = BUG},
            },
        [RUN_RUNNING] =
            {
                [RUN_EVENT_CLAIM_WON] = {.action = BUG},
                [RUN_EVENT_CLAIM_ENDED] = {.action = BUG},
                [RUN_EVENT_NO_GUARD] = GO(UNDO, UNDOING),
                [RUN_EVENT_NOT_STARTED] = GO(NONE, CLEARING),
                [RUN_EVENT_COMMAND_EXITED] = GO(NONE, CLEARING),
                [RUN_EVENT_LEASE_LOST] = GO(END_LOST, STOPPING),
                [RUN_EVENT_OUT_OF_TIME] = GO(END_IN_TIME, STOPPING),
                [RUN_EVENT_TIME_UP] = GO(TIME_OUT, STOPPING),
                [RUN_EVENT_STOP_ASKED] = GO(STOP, STOPPING),
                [RUN_EVENT_GUARD_DIED] = GO(NONE, STOPPING),
                [RUN_EVENT_TREE_EMPTY] = {.action = BUG},
                [RUN_EVENT_MAY_RETRY] = {.action = BUG},
                [RUN_EVENT_PAUSE_OVER] = {.action = BUG},
                [RUN_EVENT_RELEASED] = {.action = BUG},
            },
        [RUN_STOPPING] =
            {
                [RUN_EVENT_CLAIM_WON] = {.action = BUG},
                [RUN_EVENT_CLAIM_ENDED] = {.action = BUG},
                [RUN_EVENT_NO_GUARD] = {.action = BUG},
                [RUN_EVENT_NOT_STARTED] = GO(NONE, CLEARING),
                [RUN_EVENT_COMMAND_EXITED] = GO(NONE, CLEARING),
                [RUN_EVENT_LEASE_LOST] = GO(END_LOST, STOPPING),
                [RUN_EVENT_OUT_OF_TIME] = GO(END_IN_TIME, STOPPING),
                [RUN_EVENT_TIME_UP] = {.action = STAYS},
                [RUN_EVENT_STOP_ASKED] = GO(PASS_SIGNAL, STOPPING),
                [RUN_EVENT_GUARD_DIED] = {.action = STAYS},
                [RUN_EVENT_TREE_EMPTY] = GO(RELEASE, RELEASING),
                [RUN_EVENT_MAY_RETRY] = {.action = BUG},
                [RUN_EVENT_PAUSE_OVER] = {.action = BUG},
                [RUN_EVENT_RELEASED] = {.action = BUG},
            },
        [RUN_CLEARING] =
            {
                [RUN_EVENT_CLAIM_WON] = {.action = BUG},
                [RUN_EVENT_CLAIM_ENDED] = {.action = BUG},
                [RUN_EVENT_NO_GUARD] = {.action = BUG},
                [RUN_EVENT_NOT_STARTED] = {.action = BUG},
                [RUN_EVENT_COMMAND_EXITED] = {.action = BUG},
                [RUN_EVENT_LEASE_LOST] = GO(END_LOST, CLEARING),
                [RUN_EVENT_OUT_OF_TIME] = GO(END_IN_TIME, CLEARING),
                [RUN_EVENT_TIME_UP] = GO(TIME_OUT, CLEARING),
                [RUN_EVENT_STOP_ASKED] = GO(STOP, CLEARING),
                [RUN_EVENT_GUARD_DIED] = {.action = STAYS},
                [RUN_EVENT_TREE_EMPTY] = GO(RELEASE, RELEASING),
                [RUN_EVENT_MAY_RETRY] = GO(PAUSE, PAUSING),
                [RUN_EVENT_PAUSE_OVER] = {.action = BUG},
                [RUN_EVENT_RELEASED] = {.action = BUG},
            },
        [RUN_PAUSING] =
            {
                [RUN_EVENT_CLAIM_WON] = {.action = BUG},
                [RUN_EVENT_CLAIM_ENDED] = {.action = BUG},
                [RUN_EVENT_NO_GUARD] = {.action = BUG},
                [RUN_EVENT_NOT_STARTED] = {.action = BUG},
                [RUN_EVENT_COMMAND_EXITED] = {.action = BUG},
                [RUN_EVENT_LEASE_LOST] = GO(RELEASE, RELEASING),
                [RUN_EVENT_OUT_OF_TIME] = GO(RELEASE, RELEASING),
                [RUN_EVENT_TIME_UP] = {.action = BUG},
                [RUN_EVENT_STOP_ASKED] = GO(RELEASE, RELEASING),
                [RUN_EVENT_GUARD_DIED] = {.action = STAYS},
                [RUN_EVENT_TREE_EMPTY] = {.action = STAYS},
                [RUN_EVENT_MAY_RETRY] = {.action = BUG},
                [RUN_EVENT_PAUSE_OVER] = GO(START_COMMAND, RUNNING),
                [RUN_EVENT_RELEASED] = {.action = BUG},
            },
        [RUN_RELEASING] =
            {
                [RUN_EVENT_CLAIM_WON] = {.action = BUG},
                [RUN_EVENT_CLAIM_ENDED] = {.action = BUG},
                [RUN_EVENT_NO_GUARD] = {.action = BUG},
                [RUN_EVENT_NOT_STARTED] = {.action = BUG},
                [RUN_EVENT_COMMAND_EXITED] = {.action = BUG},
                [RUN_EVENT_LEASE_LOST] = {.action = STAYS},
                [RUN_EVENT_OUT_OF_TIME] = {.action = STAYS},
                [RUN_EVENT_TIME_UP] = {.action = STAYS},
                [RUN_EVENT_STOP_ASKED] = GO(HASTEN_RELEASE, RELEASING),
                [RUN_EVENT_GUARD_DIED] = {.action = STAYS},
                [RUN_EVENT_TREE_EMPTY] = {.action = STAYS},
                [RUN_EVENT_MAY_RETRY] = {.action = BUG},
                [RUN_EVENT_PAUSE_OVER] = {.action = BUG},
                [RUN_EVENT_RELEASED] = GO(FINISH, FINISHED),
            },
        [RUN_UNDOING] =
            {
                [RUN_EVENT_CLAIM_WON] = {.action = BUG},
                [RUN_EVENT_CLAIM_ENDED] = {.action = BUG},
                [RUN_EVENT_NO_GUARD] = {.action = BUG},
                [RUN_EVENT_NOT_STARTED] = {.action = BUG},
                [RUN_EVENT_COMMAND_EXITED] = {.action = BUG},
                [RUN_EVENT_LEASE_LOST] = {.action = BUG},
                [RUN_EVENT_OUT_OF_TIME] = {.action = BUG},
                [RUN_EVENT_TIME_UP] = {.action = BUG},
                [RUN_EVENT_STOP_ASKED] = GO(HASTEN_RELEASE, UNDOING),
                [RUN_EVENT_GUARD_DIED] = {.action = BUG},
                [RUN_EVENT_TREE_EMPTY] = {.action = BUG},
                [RUN_EVENT_MAY_RETRY] = {.action = BUG},
                [RUN_EVENT_PAUSE_OVER] = {.action = BUG},
                [RUN_EVENT_RELEASED] = GO(FINISH, FINISHED),
            },
        [RUN_FINISHED] =
            {
                [RUN_EVENT_CLAIM_WON] = {.action = BUG},
                [RUN_EVENT_CLAIM_ENDED] = {.action = BUG},
                [RUN_EVENT_NO_GUARD] = {.action = BUG},
                [RUN_EVENT_NOT_STARTED] = {.action = BUG},
                [RUN_EVENT_COMMAND_EXITED] = {.action = BUG},
                [RUN_EVENT_LEASE_LOST] = {.action = BUG},
                [RUN_EVENT_OUT_OF_TIME] = {.action = BUG},
                [RUN_EVENT_TIME_UP] = {.action = BUG},
                [RUN_EVENT_STOP_ASKED] = {.action = STAYS},
                [RUN_EVENT_GUARD_DIED] = {.action = STAYS},
                [RUN_EVENT_TREE_EMPTY] = {.action = STAYS},
                [RUN_EVENT_MAY_RETRY] = {.action = BUG},
                [RUN_EVENT_PAUSE_OVER] = {.action = BUG},
                [RUN_EVENT_RELEASED] = {.action = BUG},
            },
};

static void grid__every_state_and_event__has_its_answer(void **unused)
{
    for (enum run_state state = 0; state < RUN_STATE_COUNT; state++) {
        for (enum run_event event = 0; event < RUN_EVENT_COUNT; event++) {
            const struct cell *cell = &grid[state][event];
            struct run_step expected = {(enum run_action)cell->action, cell->next};
            if (cell->action == BUG)
                expected = (struct run_step){RUN_ACTION_BUG, state};
            if (cell->action == STAYS)
                expected = (struct run_step){RUN_ACTION_NONE, state};
            struct run_step step = run_state_step(state, event);
            if (step.action != expected.action || step.next != expected.next)
                fail_msg("%s while %s: %s -> %s, expected %s -> %s", run_event_name(event),
                         run_state_name(state), run_action_name(step.action),
                         run_state_name(step.next), run_action_name(expected.action),
                         run_state_name(expected.next));
        }
    }
}

static void names__all__are_there_and_differ(void **unused)
{
    for (enum run_state a = 0; a < RUN_STATE_COUNT; a++)
        for (enum run_state b = 0; b < a; b++)
            assert_string_not_equal(run_state_name(a), run_state_name(b));
    for (enum run_event a = 0; a < RUN_EVENT_COUNT; a++)
        for (enum run_event b = 0; b < a; b++)
            assert_string_not_equal(run_event_name(a), run_event_name(b));
    for (enum run_action a = 0; a < RUN_ACTION_COUNT; a++)
        for (enum run_action b = 0; b < a; b++)
            assert_string_not_equal(run_action_name(a), run_action_name(b));
}

static void print__all_rows__one_line_for_each_that_does_something(void **unused)
{
    int expected_count = 0, count = 0;
    for (int state = 0; state < RUN_STATE_COUNT; state++)
        for (int event = 0; event < RUN_EVENT_COUNT; event++)
            expected_count += grid[state][event].action >= 0;
    TEXT_AUTODONE struct text text = TEXT_INIT;
    run_state_print(&text);
    for (const char *at = text_string(&text); (at = strstr(at, " -> ")) != NULL; at++)
        count++;
    assert_int_equal(count, expected_count);
    assert_non_null(strstr(text_string(&text),
                           "claiming -> running [label=\"claim won: start the command\"];"));
}

/* ---- every interleaving of a small world ---------------------------------------------------- */

/* What the run's surroundings are like; all small numbers, so that a situation has an index. */
struct world {
    enum run_state state;
    unsigned is_claim_over : 1, is_cancelled : 1, is_won : 1;
    unsigned is_started : 1; /* the command was told to start */
    unsigned is_ended : 1;   /* exited, or not started */
    unsigned is_empty : 1;   /* no process is left */
    unsigned is_guard_dead : 1;
    unsigned empty_told; /* for the command's end, and for the guard's */
    unsigned lost_count : 1, out_count : 1, up_count : 1;
    unsigned stop_count; /* up to STOPS_MOST */
    unsigned is_releasing : 1, is_released : 1;
    unsigned has_no_guard : 1;              /* the command could not even be told to start */
    unsigned is_pausing : 1, is_second : 1; /* between two attempts, and in the second */
};

enum {
    EMPTY_OF_COMMAND = 1,
    EMPTY_OF_GUARD = 2,
    STOPS_MOST = 2,
    INDEX_BITS = 4 + 15 + 2 + 2 /* all of struct world */
};

static unsigned index_of(const struct world *w)
{
    const unsigned flags[] = {
        w->is_claim_over, w->is_cancelled,  w->is_won,       w->is_started, w->is_ended,
        w->is_empty,      w->is_guard_dead, w->lost_count,   w->out_count,  w->up_count,
        w->is_releasing,  w->is_released,   w->has_no_guard, w->is_pausing, w->is_second,
    };
    unsigned index = w->state;
    for (size_t i = 0; i < CASE_COUNT(flags); i++)
        index = index << 1 | flags[i];
    return index << 4 | w->empty_told << 2 | w->stop_count;
}

/* Nothing has come between the start and this. */
static bool is_fresh(const struct world *w)
{
    return !w->is_second && w->lost_count + w->out_count + w->up_count == 0;
}

/* Whether the surroundings may tell this now, and what is so once they have. */
static bool can_happen(const struct world *w, enum run_event event, struct world *ret_after)
{
    bool is_held = w->is_started && !w->is_releasing; /* renewals and alarms are on */
    bool is_first_told = w->is_won && !w->is_ended && w->stop_count == 0 && !w->is_guard_dead;
    *ret_after = *w;
    switch (event) {
    case RUN_EVENT_CLAIM_WON:
        ret_after->is_claim_over = ret_after->is_won = 1;
        return !w->is_claim_over && !w->is_cancelled;
    case RUN_EVENT_CLAIM_ENDED:
        ret_after->is_claim_over = 1;
        return !w->is_claim_over;
    case RUN_EVENT_NO_GUARD: /* in the very moment of the start */
        ret_after->has_no_guard = 1;
        ret_after->is_started = 0;
        return is_first_told && w->state == RUN_RUNNING && is_fresh(w);
    case RUN_EVENT_NOT_STARTED:
        ret_after->is_ended = 1;
        return w->is_started && !w->is_ended && !w->is_guard_dead;
    case RUN_EVENT_COMMAND_EXITED: /* perhaps after the guard: its last message was on its way */
        ret_after->is_ended = 1;
        return w->is_started && !w->is_ended && !w->is_empty;
    case RUN_EVENT_LEASE_LOST:
        ret_after->lost_count = 1;
        return is_held && w->lost_count == 0;
    case RUN_EVENT_OUT_OF_TIME:
        ret_after->out_count = 1;
        return is_held && w->out_count == 0;
    case RUN_EVENT_TIME_UP:
        ret_after->up_count = 1;
        return is_held && !w->is_pausing && w->up_count == 0;
    case RUN_EVENT_STOP_ASKED:
        ret_after->stop_count++;
        return w->stop_count < STOPS_MOST;
    case RUN_EVENT_GUARD_DIED:
        ret_after->is_guard_dead = 1;
        return !w->is_guard_dead && !w->has_no_guard;
    case RUN_EVENT_TREE_EMPTY: {
        unsigned which = w->is_guard_dead ? EMPTY_OF_GUARD : EMPTY_OF_COMMAND;
        ret_after->is_empty = 1;
        ret_after->empty_told |= which;
        return (w->empty_told & which) == 0 && (w->is_guard_dead || w->is_ended);
    }
    case RUN_EVENT_MAY_RETRY: /* the run itself says so, in place of tree empty */
        ret_after->is_empty = ret_after->is_pausing = 1;
        ret_after->empty_told |= EMPTY_OF_COMMAND;
        return w->state == RUN_CLEARING && !w->is_second && w->empty_told == 0 &&
               !w->is_guard_dead && w->lost_count + w->out_count + w->stop_count == 0;
    case RUN_EVENT_PAUSE_OVER:
        return w->is_pausing && !w->is_releasing;
    case RUN_EVENT_RELEASED:
        ret_after->is_released = 1;
        return w->is_releasing && !w->is_released;
    case RUN_EVENT_COUNT:
        break;
    }
    return false;
}

/* What the action does to the surroundings, and what must hold when it is performed. */
static void act(struct world *w, enum run_action action)
{
    bool has_tree = w->is_started && !w->is_empty;
    switch (action) {
    case RUN_ACTION_NONE:
        return;
    case RUN_ACTION_START_COMMAND:
        assert_true(w->is_won && (!w->is_started || w->is_pausing));
        w->is_second = w->is_pausing;
        w->is_started = 1;
        w->is_pausing = w->is_ended = w->is_empty = w->is_guard_dead = 0;
        w->empty_told = w->up_count = 0;
        return;
    case RUN_ACTION_PAUSE:
        assert_true(w->is_empty && w->is_pausing);
        return;
    case RUN_ACTION_UNDO:
        assert_true(w->is_won && w->has_no_guard);
        w->is_releasing = 1;
        return;
    case RUN_ACTION_CANCEL_CLAIM:
        assert_false(w->is_claim_over || w->is_cancelled);
        w->is_cancelled = 1;
        return;
    case RUN_ACTION_STOP:
    case RUN_ACTION_PASS_SIGNAL:
    case RUN_ACTION_TIME_OUT:
    case RUN_ACTION_END_LOST:
    case RUN_ACTION_END_IN_TIME:
        assert_true(has_tree);
        return;
    case RUN_ACTION_RELEASE:
        assert_true(w->is_won && w->is_empty && !w->is_releasing); /* P1: never before */
        w->is_releasing = 1;
        return;
    case RUN_ACTION_HASTEN_RELEASE:
        assert_true(w->is_releasing && !w->is_released);
        return;
    case RUN_ACTION_FINISH:
        assert_true(w->is_claim_over && w->is_won == w->is_released);
        return;
    case RUN_ACTION_BUG:
    case RUN_ACTION_COUNT:
        break;
    }
    fail();
}

static struct {
    bool is_visited[1u << INDEX_BITS];
    int visited_count, step_count, end_count;
    int cells[RUN_STATE_COUNT][RUN_EVENT_COUNT];
} walk;

static void visit(struct world w)
{
    if (walk.is_visited[index_of(&w)])
        return;
    walk.is_visited[index_of(&w)] = true;
    walk.visited_count++;
    bool is_end = true;
    for (enum run_event event = 0; event < RUN_EVENT_COUNT; event++) {
        struct world after;
        if (!can_happen(&w, event, &after))
            continue;
        is_end = false;
        struct run_step step = run_state_step(w.state, event);
        if (step.action == RUN_ACTION_BUG)
            fail_msg("%s came while %s", run_event_name(event), run_state_name(w.state));
        walk.step_count++;
        walk.cells[w.state][event]++;
        after.state = step.next;
        act(&after, step.action);
        visit(after);
    }
    /* Every event uses something up, so every path ends: it must end here. */
    walk.end_count += is_end;
    if (is_end && w.state != RUN_FINISHED)
        fail_msg("stuck while %s", run_state_name(w.state));
}

static void walk__all_interleavings__no_bug_none_stuck_released_when_empty(void **unused)
{
    visit((struct world){.state = RUN_CLAIMING});
    assert_true(walk.visited_count >= 350); /* or the world is too small to show anything */
    assert_true(walk.step_count >= 800);
    /* Each answered cell was needed, but for those that no surroundings can cause: renewals and
     * alarms are stopped before the release. */
    for (enum run_state state = 0; state < RUN_STATE_COUNT; state++) {
        for (enum run_event event = 0; event < RUN_EVENT_COUNT; event++) {
            bool is_answered = grid[state][event].action != BUG;
            bool is_stopped_before = state == RUN_RELEASING &&
                                     (event == RUN_EVENT_LEASE_LOST ||
                                      event == RUN_EVENT_OUT_OF_TIME || event == RUN_EVENT_TIME_UP);
            if ((walk.cells[state][event] > 0) != (is_answered && !is_stopped_before))
                fail_msg("%s while %s: came %d times", run_event_name(event), run_state_name(state),
                         walk.cells[state][event]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid__every_state_and_event__has_its_answer),
        cmocka_unit_test(names__all__are_there_and_differ),
        cmocka_unit_test(print__all_rows__one_line_for_each_that_does_something),
        cmocka_unit_test(walk__all_interleavings__no_bug_none_stuck_released_when_empty),
    };
    return cmocka_run_group_tests_name("run_state", tests, NULL, NULL);
}
