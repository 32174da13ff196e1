/* SPDX-License-Identifier: ISC */
#include "command/tail.h"

#include <string.h>

void tail_add(struct tail *tail, const char *bytes, size_t count)
{
    if (count > tail->most) {
        bytes += count - tail->most;
        count = tail->most;
    }
    text_add_bytes(&tail->text, bytes, count);
    if (tail->text.length <= 2 * tail->most)
        return;
    memmove(tail->text.bytes, tail->text.bytes + tail->text.length - tail->most, tail->most);
    tail->text.length = tail->most;
}

const char *tail_bytes(const struct tail *tail, size_t *ret_length)
{
    size_t length = tail->text.length;
    *ret_length = length < tail->most ? length : tail->most;
    return text_string(&tail->text) + (length - *ret_length);
}

void tail_done(struct tail *tail)
{
    text_done(&tail->text);
}
