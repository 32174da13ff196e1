/* SPDX-License-Identifier: ISC */
/* The guard: a small process between leaserun and the command. It holds the deadline of the lease
 * and ends the tree when it passes, or when leaserun dies, whatever state leaserun is in. */
#pragma once

/* Runs as guard_protocol.h says, until leaserun is gone and the tree with it. Returns the exit
 * status: 0, or 71 when it was not started by leaserun or could not set itself up. */
int guard_run(int argc, char **argv);
