/* SPDX-License-Identifier: ISC */
/* One end of the pair between leaserun and its guard. Neither end ever waits for the other. */
#pragma once
#include "guard/guard_protocol.h"

#include <stdbool.h>

enum guard_link_heard {
    GUARD_LINK_MESSAGE,
    GUARD_LINK_NOTHING, /* for now */
    GUARD_LINK_CLOSED,  /* the other end is gone, and everything it said has been heard */
};

/* False when the other end is gone, or has left a hundred messages unread. */
bool guard_link_tell(int fd, const struct guard_message *message);

/* Texts in the message end within their arrays, whatever was sent. */
enum guard_link_heard guard_link_hear(int fd, struct guard_message *ret_message);
