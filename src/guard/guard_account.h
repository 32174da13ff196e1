/* SPDX-License-Identifier: ISC */
/* Becoming another user, for good. */
#pragma once
#include "guard/guard_setup.h"

/* This process takes the setup's groups, gid and uid, gives up every capability unless uid is 0,
 * closes on exec what is above descriptor 2, and looks whether all that came true: nothing of what
 * it was can be had back. False, with errno, when any of it is not so; it must not go on then. */
bool guard_account_take(const struct guard_setup *setup);
