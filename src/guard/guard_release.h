/* SPDX-License-Identifier: ISC */
/* After leaserun's death: giving the lease back in its place. */
#pragma once

#define GUARD_RELEASE_LIMIT_MS 10000

/* Runs `leaserun release --store-fd N --holder HOLDER -- KEY` from the opened binary and waits for
 * it, at most GUARD_RELEASE_LIMIT_MS; kills it then. The tree is empty: this is the only child.
 * child_fd is the signalfd(2) that tells of SIGCHLD. */
void guard_release(const char *key, const char *holder, int leaserun_fd, int store_fd,
                   int child_fd);
