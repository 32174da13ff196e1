/* SPDX-License-Identifier: ISC */
/* A backend that does what the case tells it, in the place of those that store_module.c loads. */
#pragma once
#include "store/store.h"
#include "store/store_backend.h"

extern struct scripted_backend {
    struct store_backend_hooks hooks;
    struct store_request *serving;
    int serve_count;
    int forget_count;
    bool is_connected; /* what is served is sent at once */
} scripted_backend;
