/* SPDX-License-Identifier: ISC */
/* Closing what an object embeds. A libuv handle's memory must live until its close callback; an
 * object with several counts them here and is told once, when the last has closed. */
#pragma once
#include <uv.h>

struct handles {
    int closing_count;
    void (*closed)(struct handles *handles); /* from the loop, never from within handles_close */
};

/* Closes one handle on behalf of *handles. Takes over handle->data. A handle that is closing
 * already, or was never initialised (type 0), is left alone. */
void handles_close(struct handles *handles, uv_handle_t *handle);
