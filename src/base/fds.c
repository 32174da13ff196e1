/* SPDX-License-Identifier: ISC */
#include "base/fds.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* libuv's own 7, the guard's 5 while it is started, the store's connection and what a look-up
 * opens for a moment. */
#define NEEDED_COUNT 14

static void fill_standard(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void fds_take_stock(struct fds *ret_given)
{
    *ret_given = (struct fds){NULL, 0};
    fill_standard();
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (fd <= STDERR_FILENO || fd == dirfd(folder))
            continue;
        ret_given->numbers = mem_grow(ret_given->numbers, ret_given->count + 1, sizeof fd);
        ret_given->numbers[ret_given->count++] = fd;
    }
    closedir(folder);
    if (ret_given->count > 1)
        qsort(ret_given->numbers, ret_given->count, sizeof(int), compare);
}

static void put_null(int fd, int flags)
{
    int null = open("/dev/null", flags | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, fd);
    close(null);
}

void fds_let_go(struct fds *given)
{
    for (size_t i = 0; i < given->count; i++)
        close(given->numbers[i]);
    free(given->numbers);
    *given = (struct fds){NULL, 0};
    put_null(STDIN_FILENO, O_RDONLY);
    put_null(STDOUT_FILENO, O_WRONLY);
}

void fds_leave_stdin(void)
{
    put_null(STDIN_FILENO, O_RDONLY);
}

bool fds_need_room(struct error *err)
{
    int numbers[NEEDED_COUNT];
    int count = 0;
    while (count < NEEDED_COUNT && (numbers[count] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
        count++;
    for (int i = 0; i < count; i++)
        close(numbers[i]);
    return count == NEEDED_COUNT ||
           error_set(err, ERROR_SYSTEM,
                     "only %d more files may be opened and leaserun needs %d: raise the limit "
                     "(ulimit -n)",
                     count, NEEDED_COUNT);
}
