/* SPDX-License-Identifier: ISC */
#include "store/sqlite/sqlite_file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SCHEME "sqlite:"
#define NAME   "leaserun.db"

/* ---- which file --------------------------------------------------------------------------- */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] == '/' ? value : NULL;
}

static char *default_folder(struct error *err)
{
    if (geteuid() == 0)
        return mem_strdup("/var/lib/leaserun");
    const char *state = variable("XDG_STATE_HOME");
    if (state != NULL)
        return mem_printf("%s/leaserun", state);
    const char *home = variable("HOME");
    if (home != NULL)
        return mem_printf("%s/.local/state/leaserun", home);
    error_set(err, ERROR_CONFIG,
              "there is no place for the local store: set HOME or XDG_STATE_HOME to an absolute "
              "path, or name the file with --store sqlite:PATH");
    return NULL;
}

static char *absolute(const char *path, struct error *err)
{
    char here[PATH_MAX];
    if (path[0] == '/')
        return mem_strdup(path);
    if (getcwd(here, sizeof here) == NULL) {
        error_set_errno(err, ERROR_SYSTEM, errno, "cannot tell the working directory for %s", path);
        return NULL;
    }
    return mem_printf("%s/%s", here, path);
}

static char *default_path(struct error *err)
{
    MEM_AUTOFREE char *folder = default_folder(err);
    return folder == NULL ? NULL : mem_printf("%s/" NAME, folder);
}

static bool is_default_path(const char *path)
{
    struct error ignored;
    MEM_AUTOFREE char *usual = default_path(&ignored);
    return usual != NULL && strcmp(path, usual) == 0;
}

bool sqlite_file_resolve(const char *url, struct sqlite_file *ret_file, struct error *err)
{
    const char *given = url + strlen(SCHEME);
    char *path = given[0] == '\0' ? default_path(err) : absolute(given, err);
    if (path == NULL)
        return false;
    const char *slash = strrchr(path, '/');
    if (slash[1] == '\0') {
        error_set(err, ERROR_CONFIG, "%s names a folder: the store is a file", url);
        free(path);
        return false;
    }
    *ret_file = (struct sqlite_file){
        .path = path,
        .folder = slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path)),
        .is_default = is_default_path(path),
    };
    return true;
}

void sqlite_file_done(struct sqlite_file *file)
{
    free(file->path);
    free(file->folder);
    *file = (struct sqlite_file){.path = NULL};
}

/* ---- what kind of file system ------------------------------------------------------------- */

/* Those that other machines, or a program, may serve. Numbers that linux/magic.h lacks are from
 * statfs(2). */
static const struct shared_system {
    uint32_t magic;
    const char *name;
} shared_systems[] = {
    {.magic = NFS_SUPER_MAGIC, .name = "NFS"},
    {.magic = SMB_SUPER_MAGIC, .name = "SMB"},
    {.magic = CIFS_SUPER_MAGIC, .name = "CIFS"},
    {.magic = SMB2_SUPER_MAGIC, .name = "SMB"},
    {.magic = V9FS_MAGIC, .name = "9p"},
    {.magic = FUSE_SUPER_MAGIC, .name = "FUSE"},
    {.magic = CEPH_SUPER_MAGIC, .name = "Ceph"},
    {.magic = AFS_SUPER_MAGIC, .name = "AFS"},
    {.magic = AFS_FS_MAGIC, .name = "AFS"},
    {.magic = CODA_SUPER_MAGIC, .name = "Coda"},
    {.magic = NCP_SUPER_MAGIC, .name = "NCP"},
    {.magic = OCFS2_SUPER_MAGIC, .name = "OCFS2"},
    {.magic = 0x01161970, .name = "GFS2"},
    {.magic = 0x0BD00BD0, .name = "Lustre"},
    {.magic = 0x47504653, .name = "GPFS"},
    {.magic = 0x20030528, .name = "OrangeFS"},
    {.magic = 0x19830326, .name = "BeeGFS"},
    {.magic = 0xAAD7AAEA, .name = "PanFS"},
    {.magic = 0xBACBACBC, .name = "VMware shared folders"},
    {.magic = 0x786F4256, .name = "VirtualBox shared folders"},
    {.magic = 0x7C7C6673, .name = "Parallels shared folders"},
};

const char *sqlite_file_shared_system(uint32_t magic)
{
    for (size_t i = 0; i < sizeof shared_systems / sizeof shared_systems[0]; i++)
        if (shared_systems[i].magic == magic)
            return shared_systems[i].name;
    return NULL;
}

static bool check_system(const char *path, enum store_failure *ret_failure, struct error *err)
{
    struct statfs system;
    *ret_failure = FAILURE_OTHER;
    if (statfs(path, &system) != 0)
        return error_set_errno(err, ERROR_SYSTEM, errno,
                               "cannot tell which kind of file system %s is on", path);
    const char *name = sqlite_file_shared_system((uint32_t)system.f_type);
    return name == NULL ||
           error_set(err, ERROR_CONFIG,
                     "%s is on a %s file system: the local store needs a disk of this host, since "
                     "locks do not hold between machines; several hosts need PostgreSQL",
                     path, name);
}

/* ---- whose it is -------------------------------------------------------------------------- */

static bool is_trusted(uid_t owner)
{
    return owner == geteuid() || owner == 0;
}

static bool fail_errno(const char *what, const char *path, enum store_failure *ret_failure,
                       struct error *err)
{
    int number = errno;
    bool is_refused = number == EACCES || number == EPERM || number == EROFS;
    *ret_failure = is_refused ? FAILURE_RIGHTS : FAILURE_OTHER;
    return error_set_errno(err, is_refused ? ERROR_CONFIG : ERROR_SYSTEM, number, "%s %s", what,
                           path);
}

static bool check_status(const char *kind, const char *path, const struct stat *status,
                         enum store_failure *ret_failure, struct error *err)
{
    *ret_failure = FAILURE_RIGHTS;
    if (!is_trusted(status->st_uid))
        return error_set(err, ERROR_CONFIG,
                         "the %s %s belongs to user %u, who could change leases: it must be yours "
                         "or root's",
                         kind, path, (unsigned)status->st_uid);
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return error_set(err, ERROR_CONFIG,
                         "the %s %s may be written by other users (mode %04o), who could change "
                         "leases: chmod go-w it, or choose another place",
                         kind, path, (unsigned)(status->st_mode & 07777));
    return true;
}

static bool make_folder(char *path, bool may_make_parents)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    char *slash = strrchr(path, '/');
    if (errno != ENOENT || !may_make_parents || slash == path)
        return false;
    *slash = '\0';
    bool is_made = make_folder(path, true);
    *slash = '/';
    return is_made && (mkdir(path, 0700) == 0 || errno == EEXIST);
}

static bool prepare_folder(const struct sqlite_file *file, enum store_failure *ret_failure,
                           struct error *err)
{
    struct stat status;
    if (stat(file->folder, &status) != 0 &&
        (errno != ENOENT || !make_folder(file->folder, file->is_default) ||
         stat(file->folder, &status) != 0))
        return fail_errno("cannot make the store's folder", file->folder, ret_failure, err);
    if (!S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        return fail_errno("cannot put the store into", file->folder, ret_failure, err);
    }
    return check_status("folder", file->folder, &status, ret_failure, err);
}

static bool make_file(const char *path, enum store_failure *ret_failure, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    else if (errno != EEXIST)
        return fail_errno("cannot create the store", path, ret_failure, err);
    return true;
}

/* SQLite makes its two other files where the link leads to. */
static bool check_target_folder(const char *path, enum store_failure *ret_failure,
                                struct error *err)
{
    struct stat status;
    MEM_AUTOFREE char *target = realpath(path, NULL);
    if (target == NULL)
        return fail_errno("cannot follow the symbolic link", path, ret_failure, err);
    char *slash = strrchr(target, '/');
    slash[slash == target ? 1 : 0] = '\0';
    if (stat(target, &status) != 0)
        return fail_errno("cannot see the store's folder", target, ret_failure, err);
    return check_status("folder", target, &status, ret_failure, err);
}

static bool check_file(const char *path, enum store_failure *ret_failure, struct error *err)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return fail_errno("cannot see the store", path, ret_failure, err);
    *ret_failure = FAILURE_RIGHTS;
    if (S_ISLNK(status.st_mode)) {
        if (!is_trusted(status.st_uid))
            return error_set(err, ERROR_CONFIG,
                             "the store %s is a symbolic link of user %u: it must be yours or "
                             "root's",
                             path, (unsigned)status.st_uid);
        if (stat(path, &status) != 0)
            return fail_errno("cannot follow the symbolic link", path, ret_failure, err);
        if (!check_target_folder(path, ret_failure, err))
            return false;
        *ret_failure = FAILURE_RIGHTS;
    }
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_CONFIG, "the store %s is not a regular file", path);
    return check_status("file", path, &status, ret_failure, err) &&
           check_system(path, ret_failure, err);
}

bool sqlite_file_prepare(const struct sqlite_file *file, enum store_failure *ret_failure,
                         struct error *err)
{
    if (!prepare_folder(file, ret_failure, err))
        return false;
    if (access(file->path, F_OK) != 0 && errno == ENOENT &&
        (!check_system(file->folder, ret_failure, err) || !make_file(file->path, ret_failure, err)))
        return false;
    return check_file(file->path, ret_failure, err);
}
