/* SPDX-License-Identifier: ISC */
/* What a function prints on stdout. */
#pragma once
#include <stdio.h>
#include <unistd.h>

static int captured_old_fd;
static FILE *captured_file;
static char captured[65536];

static inline void captured_start(void)
{
    fflush(stdout);
    captured_old_fd = dup(STDOUT_FILENO);
    captured_file = tmpfile();
    dup2(fileno(captured_file), STDOUT_FILENO);
}

static inline const char *captured_end(void)
{
    fflush(stdout);
    rewind(captured_file);
    size_t count = fread(captured, 1, sizeof captured - 1, captured_file);
    captured[count] = '\0';
    fclose(captured_file);
    dup2(captured_old_fd, STDOUT_FILENO);
    close(captured_old_fd);
    return captured;
}
