/* SPDX-License-Identifier: ISC */
#include "base/bounded_write.h"

#include "base/now.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#define WAIT_MS 500

/* A blocking write would stop renewals with it. A pipe that polls writable takes PIPE_BUF bytes
 * without blocking. */
static bool wait_for_room(int fd, bool *is_stuck, int64_t give_up_boot_ms)
{
    for (;;) {
        int64_t left_ms = *is_stuck ? 0 : give_up_boot_ms - now_boot_ms();
        struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
        int rc = poll(&poll_fd, 1, left_ms > 0 ? (int)left_ms : 0);
        if (rc > 0)
            return true;
        if (rc == 0 || errno != EINTR) {
            *is_stuck = true;
            return false;
        }
    }
}

size_t bounded_write(int fd, bool *is_stuck, const char *bytes, size_t count)
{
    int64_t give_up_boot_ms = now_boot_ms() + WAIT_MS;
    size_t done = 0;
    while (done < count && wait_for_room(fd, is_stuck, give_up_boot_ms)) {
        size_t chunk = count - done < PIPE_BUF ? count - done : PIPE_BUF;
        ssize_t written = write(fd, bytes + done, chunk);
        if (written > 0) {
            done += (size_t)written;
            *is_stuck = false;
        } else if (written < 0 && errno == EAGAIN) {
            *is_stuck = now_boot_ms() >= give_up_boot_ms;
        } else if (written == 0 || errno != EINTR) {
            break;
        }
    }
    return done;
}
