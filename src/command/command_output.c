/* SPDX-License-Identifier: ISC */
#include "command/command_output.h"

#include "base/list.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define READ_MOST 65536 /* at a time: a pipe holds as much */
/* An event is longer than its line, a hundred times where lines are short. What may wait in a
 * writer is looked at between two of these. */
#define READ_LINES 4096

static void close_stream(struct command_stream *stream)
{
    watch_close(&stream->watch, stream->output->handles);
}

/* False at the end of the stream, and while it has nothing. */
static bool read_some(struct command_stream *stream)
{
    static char bytes[READ_MOST]; /* the loop is one */
    struct command_output *output = stream->output;
    size_t most = output->writer != NULL ? READ_LINES : READ_MOST;
    ssize_t got;
    do
        got = read(stream->watch.fd, bytes, most);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0) {
        close_stream(stream);
        if (output->has_lines)
            command_lines_end(&stream->lines);
        return false;
    }
    if (output->tail.most > 0)
        tail_add(&output->tail, bytes, (size_t)got);
    if (output->has_lines)
        command_lines_add(&stream->lines, bytes, (size_t)got);
    return true;
}

/* ---- back-pressure --------------------------------------------------------------------------- */

static void on_room(struct writer_waiter *waiter)
{
    struct command_output *output = LIST_OBJECT(waiter, struct command_output, waiter);
    for (int i = 0; i < 2; i++)
        watch_resume(&output->streams[i].watch);
}

static void wait_for_room(struct command_output *output)
{
    for (int i = 0; i < 2; i++)
        watch_pause(&output->streams[i].watch);
    writer_await_room(output->writer, &output->waiter);
}

static void on_readable(struct watch *watch)
{
    struct command_stream *stream = LIST_OBJECT(watch, struct command_stream, watch);
    struct command_output *output = stream->output;
    if (output->writer != NULL && !writer_has_room(output->writer))
        wait_for_room(output);
    else
        read_some(stream);
}

/* ---- open and close -------------------------------------------------------------------------- */

void command_output_close_ends(struct command_output_ends *ends)
{
    if (ends->stdout_fd >= 0)
        close(ends->stdout_fd);
    if (ends->stderr_fd >= 0)
        close(ends->stderr_fd);
    *ends = (struct command_output_ends){-1, -1};
}

static bool open_stderr(struct command_output_ends *ret_ends, struct error *err)
{
    ret_ends->stdout_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return ret_ends->stdout_fd >= 0 ||
           error_set_errno(err, ERROR_SYSTEM, errno, "cannot use stderr for the command's output");
}

static bool open_null(struct command_output_ends *ret_ends, struct error *err)
{
    ret_ends->stdout_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ret_ends->stderr_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (ret_ends->stdout_fd >= 0 && ret_ends->stderr_fd >= 0)
        return true;
    error_set_errno(err, ERROR_SYSTEM, errno, "cannot open /dev/null for the command's output");
    command_output_close_ends(ret_ends);
    return false;
}

/* Whoever the command runs as may open its /dev/stdout anew. */
static void give_pipe(int fd, const struct command_plan *plan)
{
    if (plan->has_account && plan->account.is_change && fchown(fd, plan->account.uid, (gid_t)-1))
        return; /* then it may not, and that is all */
}

static bool open_stream(struct command_stream *stream, uv_loop_t *loop,
                        const struct command_plan *plan, int *ret_end, struct error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(err, ERROR_SYSTEM, errno,
                               "cannot make a pipe for the command's output");
    int rc = watch_open(&stream->watch, loop, ends[0], on_readable);
    if (rc != 0) {
        close(ends[0]);
        close(ends[1]);
        return error_set(err, ERROR_SYSTEM, "the command's output cannot be watched: %s",
                         uv_strerror(rc));
    }
    give_pipe(ends[1], plan);
    *ret_end = ends[1];
    return true;
}

static void set_up(struct command_output *output, const struct command_spec *spec,
                   const struct command_listener *listener, void *owner, struct handles *handles)
{
    static const char *const names[2] = {"stdout", "stderr"};
    *output = (struct command_output){
        .handles = handles,
        .has_lines = spec->output == JOB_OUTPUT_LINES,
        .writer = spec->output == JOB_OUTPUT_LINES ? spec->writer : NULL,
        .tail.most = spec->output == JOB_OUTPUT_RAW ? 0 : spec->tail_most,
        .waiter.has_room = on_room,
    };
    for (int i = 0; i < 2; i++)
        output->streams[i] = (struct command_stream){
            .output = output,
            .watch.fd = -1,
            .lines = {.stream = names[i], .line = listener->line, .owner = owner},
        };
}

bool command_output_open(struct command_output *output, uv_loop_t *loop,
                         const struct command_spec *spec, const struct command_listener *listener,
                         void *owner, struct handles *handles, struct command_output_ends *ret_ends,
                         struct error *err)
{
    set_up(output, spec, listener, owner, handles);
    *ret_ends = (struct command_output_ends){-1, -1};
    if (spec->output == JOB_OUTPUT_RAW)
        return !spec->has_stdout_as_stderr || open_stderr(ret_ends, err);
    if (!output->has_lines && output->tail.most == 0)
        return open_null(ret_ends, err);
    if (open_stream(&output->streams[0], loop, spec->plan, &ret_ends->stdout_fd, err) &&
        open_stream(&output->streams[1], loop, spec->plan, &ret_ends->stderr_fd, err))
        return true;
    command_output_close(output);
    command_output_close_ends(ret_ends);
    return false;
}

/* What is left running may go on writing: no more is read than was there. */
static void drain_stream(struct command_stream *stream)
{
    int held = 0;
    if (ioctl(stream->watch.fd, FIONREAD, &held) != 0)
        held = 0;
    int most = stream->output->writer != NULL ? READ_LINES : READ_MOST;
    for (int reads = held / most + 1; reads > 0 && read_some(stream); reads--)
        continue;
    if (stream->watch.fd < 0) /* it has ended */
        return;
    close_stream(stream);
    if (stream->output->has_lines)
        command_lines_end(&stream->lines);
}

void command_output_drain(struct command_output *output)
{
    writer_forget(&output->waiter);
    for (int i = 0; i < 2; i++)
        if (output->streams[i].watch.fd >= 0)
            drain_stream(&output->streams[i]);
}

void command_output_close(struct command_output *output)
{
    writer_forget(&output->waiter);
    for (int i = 0; i < 2; i++) {
        close_stream(&output->streams[i]);
        text_done(&output->streams[i].lines.held);
    }
    tail_done(&output->tail);
}
