/* SPDX-License-Identifier: ISC */
#include "conf/ini_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool check_file(const struct stat *info, struct error *err)
{
    if (S_ISDIR(info->st_mode))
        return error_set(err, ERROR_CONFIG, "this is a folder, not a file");
    if (!S_ISREG(info->st_mode))
        return error_set(err, ERROR_CONFIG, "this is not a regular file");
    if (info->st_size > INI_FILE_MAX)
        return error_set(err, ERROR_CONFIG, "the file has more than %d MiB", INI_FILE_MAX >> 20);
    if (geteuid() == 0 && (info->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return error_set(err, ERROR_CONFIG,
                         "the file may be written by others than its owner, and root would do what "
                         "it says: chmod go-w it");
    return true;
}

static bool read_whole(int fd, struct text *ret_bytes, struct error *err)
{
    char chunk[16384];
    for (;;) {
        ssize_t count = read(fd, chunk, sizeof chunk);
        if (count == 0)
            return true;
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return error_set_errno(err, ERROR_CONFIG, errno, "the file cannot be read");
        if (ret_bytes->length + (size_t)count > INI_FILE_MAX)
            return error_set(err, ERROR_CONFIG, "the file has more than %d MiB",
                             INI_FILE_MAX >> 20);
        text_add_bytes(ret_bytes, chunk, (size_t)count);
    }
}

bool ini_file_read(const char *path, struct text *ret_bytes, struct ini_file *ret_file,
                   struct error *err)
{
    struct stat info;
    *ret_file = (struct ini_file){0};
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        ret_file->is_missing = errno == ENOENT || errno == ENOTDIR;
        return error_set_errno(err, ERROR_CONFIG, errno, "the file cannot be opened");
    }
    bool is_good = fstat(fd, &info) == 0
                       ? check_file(&info, err)
                       : error_set_errno(err, ERROR_CONFIG, errno, "the file cannot be examined");
    if (is_good) {
        ret_file->mode = info.st_mode;
        is_good = read_whole(fd, ret_bytes, err);
    }
    close(fd);
    return is_good;
}
