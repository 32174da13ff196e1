/* SPDX-License-Identifier: ISC */
#include "loop/handles.h"

static void on_closed(uv_handle_t *handle)
{
    struct handles *handles = handle->data;
    if (--handles->closing_count == 0 && handles->closed != NULL)
        handles->closed(handles);
}

void handles_close(struct handles *handles, uv_handle_t *handle)
{
    if (handle->type == UV_UNKNOWN_HANDLE || uv_is_closing(handle))
        return;
    handle->data = handles;
    handles->closing_count++;
    uv_close(handle, on_closed);
}
