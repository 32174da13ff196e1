/* SPDX-License-Identifier: ISC */
#include "guard/guard_link.h"

#include <errno.h>
#include <sys/socket.h>

bool guard_link_tell(int fd, const struct guard_message *message)
{
    ssize_t sent;
    do
        sent = send(fd, message, sizeof *message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *message;
}

static void end_texts(struct guard_message *message)
{
    message->holder[sizeof message->holder - 1] = '\0';
    message->run_id[sizeof message->run_id - 1] = '\0';
    message->slot[sizeof message->slot - 1] = '\0';
    message->text[sizeof message->text - 1] = '\0';
}

/* ECONNRESET says once, before what the other end has said, that it left something unread. */
enum guard_link_heard guard_link_hear(int fd, struct guard_message *ret_message)
{
    for (;;) {
        ssize_t got = recv(fd, ret_message, sizeof *ret_message, MSG_DONTWAIT);
        if (got == (ssize_t)sizeof *ret_message) {
            end_texts(ret_message);
            return GUARD_LINK_MESSAGE;
        }
        if (got < 0 && errno == EAGAIN)
            return GUARD_LINK_NOTHING;
        if (got == 0 || (got < 0 && errno != EINTR && errno != ECONNRESET))
            return GUARD_LINK_CLOSED;
    }
}
