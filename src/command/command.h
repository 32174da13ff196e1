/* SPDX-License-Identifier: ISC */
/* The command and its guard, as leaserun sees them: a guard is started early (it needs no lease),
 * told to start the command once a claim is won, and tells what becomes of the tree.
 *
 * Order of calls: command_open, command_hold, command_start, any of deadline/signal/stop/
 * continue/pause, command_dismiss, command_close. After command_start exactly one of started and
 * not_started is called; after started: any number of stopped; exited once; leftovers at most
 * once; empty once. After not_started: empty. When the guard dies or does not answer (killed,
 * stopped), leaserun kills the tree itself (the command by its group, adopted orphans by tree.h),
 * guard_died is called once, then empty when nothing is left; one that never heard of the start
 * has started nothing: not_started, then empty. No callback comes from within a call of this
 * header, and none after command_close has been called. */
#pragma once
#include "base/error.h"
#include "command/command_plan.h"
#include "conf/store_url.h"
#include "guard/guard_protocol.h"
#include "loop/alarm.h"
#include "loop/signals.h"
#include "loop/watch.h"
#include "loop/writer.h"

#include <stdbool.h>
#include <stdint.h>

struct command;

/* A line that the command has written, without its newline, or a piece of one: lines of more than
 * COMMAND_LINE_MOST bytes come in several, which break between characters where there are any. */
#define COMMAND_LINE_MOST 65536
struct command_line {
    const char *stream; /* "stdout", "stderr" */
    const char *bytes;  /* any; no NUL at the end. Lives until the callback returns */
    size_t length;
    bool continues; /* the next piece of this stream is of the same line */
};

struct command_listener {
    void (*started)(void *owner, int64_t pid);
    /* exit_code is 127 (not found), 126 (found, cannot be executed) or 71; the sentence names
     * path and errno. */
    void (*not_started)(void *owner, int exit_code, const struct error *why);
    void (*stopped)(void *owner, int number); /* by the terminal or a signal */
    void (*exited)(void *owner, int wait_status, enum guard_killer killer);
    void (*leftovers)(void *owner, int count, const char *names);
    void (*guard_died)(void *owner); /* the tree is being ended by leaserun itself */
    void (*empty)(void *owner, enum guard_killer killer); /* no process of the tree is left */
    /* With JOB_OUTPUT_LINES, from started until empty, which comes after the last. */
    void (*line)(void *owner, const struct command_line *line);
};

/* What is known before a claim. Everything is borrowed and lives as long as the command. */
struct command_spec {
    const char *key;
    const struct command_plan *plan;
    const struct signals_given *signals;
    const struct store_config *store; /* for the guard's memfd: never in an argv; NULL: no lease */
    const char *job;                  /* LEASERUN_JOB, NULL for none */
    int stdin_fd; /* to stand as 0, the caller's to close after command_open; 0: leaserun's own */
    enum job_output output;
    bool has_stdout_as_stderr; /* JOB_OUTPUT_RAW: leaserun's stderr is both */
    size_t tail_most;          /* bytes of output kept for command_tail; not with JOB_OUTPUT_RAW */
    struct writer *writer; /* lines are read only while it has room: the command waits; or NULL */
};

/* What the claim has told. */
struct command_start {
    int64_t fence;
    const char *run_id;
    const char *slot; /* RFC 3339, "" for none */
    int attempt;
    int64_t term_at_boot_ms, kill_at_boot_ms; /* the lease's */
    int64_t grace_ms;
    enum guard_leftovers leftovers;
    bool is_foreground; /* the command's group gets the terminal */
};

/* Starts the guard with posix_spawn and watches it by its socket. Fails when the program is missing
 * or the system has no room; nothing is left behind then. */
bool command_open(struct command **ret_command, uv_loop_t *loop, const struct command_spec *spec,
                  const struct command_listener *listener, void *owner, struct error *err);

int64_t command_guard_pid(const struct command *command);

/* Before the first claim leaves: should leaserun die from here on, the guard gives back what
 * (key, holder) may have won, and undoes the run as long as it was not told to start. */
void command_hold(struct command *command, const char *holder, const char *run_id);

void command_start(struct command *command, const struct command_start *start);
void command_move_deadline(struct command *command, int64_t term_at_boot_ms,
                           int64_t kill_at_boot_ms);
void command_signal(struct command *command, int number); /* to the command's group, once */
/* Ends the tree: number to the group now (0: nothing now), KILL at kill_at_boot_ms. Repeated, it
 * can only bring the KILL nearer. */
void command_stop(struct command *command, int number, int64_t kill_at_boot_ms);
/* After a stop by the terminal. */
void command_continue(struct command *command, bool is_foreground);
void command_pause(struct command *command);
/* The last tail_most bytes that the command wrote to stdout and stderr, as they came in; until
 * command_close. */
const char *command_tail(const struct command *command, size_t *ret_length);
/* Nothing is held any more: the guard may go. */
void command_dismiss(struct command *command);

/* A child of leaserun has changed state (SIGCHLD): reaps strangers that leaserun adopted as a
 * subreaper or as process 1, never the guard's own status. */
void command_reap_strangers(void);

/* Gives everything back once closed; closed may be NULL. A guard that still runs sees end of file.
 */
void command_close(struct command *command, void (*closed)(void *owner));
