# the lease is given back when the command has ended, before the rest of its tree has (P1)
# file: src/run/run_state.c
# model: guard RELEASED_EARLY
# caught by: run run_state
s/{RUN_RUNNING, RUN_EVENT_COMMAND_EXITED, {RUN_ACTION_NONE, RUN_CLEARING}}/{RUN_RUNNING, RUN_EVENT_COMMAND_EXITED, {RUN_ACTION_RELEASE, RUN_RELEASING}}/
