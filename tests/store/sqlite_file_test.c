/* SPDX-License-Identifier: ISC */
/* Which file it is, and which ones are refused: with a sentence, and untouched. Cases that need
 * another user, or a disk of their own, are skipped where the tests do not run as root. */
#include "base/mem.h"
#include "sqlite_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

/* ---- where it is -------------------------------------------------------------------------- */

static void set_variable(const char *name, const char *value)
{
    if (value == NULL)
        unsetenv(name);
    else
        setenv(name, value, 1);
}

static const struct place {
    const char *url, *state_home, *home;
    const char *path; /* NULL: refused */
} places[] = {
    {"sqlite:/a/b.db", NULL, NULL, "/a/b.db"},
    {"sqlite:///a/b.db", NULL, NULL, "///a/b.db"},
    {"sqlite:/b.db", NULL, NULL, "/b.db"},
    {"sqlite:/a/b%20?c;d.db", NULL, NULL, "/a/b%20?c;d.db"},
    {"sqlite:b.db", NULL, NULL, "/dev/b.db"},
    {"sqlite:a/b.db", NULL, NULL, "/dev/a/b.db"},
    {"sqlite:/a/", NULL, NULL, NULL},
    {"sqlite:", "/s", "/h", "/s/leaserun/leaserun.db"},
    {"sqlite:", NULL, "/h", "/h/.local/state/leaserun/leaserun.db"},
    {"sqlite:", "", "/h", "/h/.local/state/leaserun/leaserun.db"},
    {"sqlite:", "relative", "/h", "/h/.local/state/leaserun/leaserun.db"},
    {"sqlite:", NULL, NULL, NULL},
    {"sqlite:/h/.local/state/leaserun/leaserun.db", NULL, "/h",
     "/h/.local/state/leaserun/leaserun.db"},
};

/* Returns the number of the first place that is wrong, 0 for none. */
static int check_places(void)
{
    for (size_t i = 0; i < CASE_COUNT(places); i++) {
        struct sqlite_file file = {.path = NULL};
        struct error err = {.kind = ERROR_NONE};
        set_variable("XDG_STATE_HOME", places[i].state_home);
        set_variable("HOME", places[i].home);
        bool is_found = sqlite_file_resolve(places[i].url, &file, &err);
        bool is_usual = strstr(places[i].url, "leaserun.db") != NULL || places[i].url[7] == '\0';
        if (is_found != (places[i].path != NULL) || (is_found && file.is_default != is_usual) ||
            (is_found && strcmp(file.path, places[i].path) != 0) ||
            (!is_found && (err.kind != ERROR_CONFIG || err.text[0] == '\0')))
            return (int)i + 1;
        sqlite_file_done(&file);
    }
    return 0;
}

/* In a child that is nobody. */
static int as_nobody(int (*run)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir("/dev") != 0 || (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)))
            _exit(99);
        _exit(run());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void urls_of_a_user__resolved__are_the_documented_files(void **state)
{
    assert_int_equal(as_nobody(check_places), 0);
}

static void default_of_root__resolved__is_in_var_lib(void **state)
{
    struct sqlite_file file;
    struct error err;
    if (geteuid() != 0)
        skip();
    assert_true(sqlite_file_resolve("sqlite:", &file, &err));
    assert_string_equal(file.path, "/var/lib/leaserun/leaserun.db");
    sqlite_file_done(&file);
}

/* ---- what is made ------------------------------------------------------------------------- */

static unsigned mode_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (unsigned)(status.st_mode & 07777) : 0;
}

static void no_file__first_use__makes_folder_and_file_for_us_alone(void **state)
{
    struct sqlite_fixture *fixture = *state;
    char folder[96], path[128], url[140];
    struct sqlite_file file;
    struct error err;
    mode_t mask = umask(0);
    snprintf(folder, sizeof folder, "%s/new", fixture->folder);
    snprintf(path, sizeof path, "%s/x.db", folder);
    snprintf(url, sizeof url, "sqlite:%s", path);
    assert_true(sqlite_file_resolve(url, &file, &err));
    struct sqlite_link link;
    sqlite_link_init(&link, &file);
    struct store_request request = {.kind = STORE_INIT};
    sqlite_fixture_serve(&link, &request);
    assert_int_equal(request.outcome, STORE_ANSWERED);
    assert_true(request.u.init.is_created);
    assert_int_equal(mode_of(folder), 0700);
    assert_int_equal(mode_of(path), 0600);
    sqlite_fixture_serve(&link, &request);
    assert_false(request.u.init.is_created);
    sqlite_link_done(&link);
    umask(mask);
    snprintf(path, sizeof path, "%s/x.db-wal", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/x.db-shm", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/x.db", folder);
    unlink(path);
}

static void two_folders_missing__named_path__is_refused_not_made(void **state)
{
    struct sqlite_fixture *fixture = *state;
    char url[140];
    struct sqlite_file file;
    struct error err;
    enum store_failure failure = FAILURE_NONE;
    snprintf(url, sizeof url, "sqlite:%s/a/b/x.db", fixture->folder);
    assert_true(sqlite_file_resolve(url, &file, &err));
    assert_false(sqlite_file_prepare(&file, &failure, &err));
    assert_non_null(strstr(err.text, "/a/b"));
    file.is_default = true;
    assert_true(sqlite_file_prepare(&file, &failure, &err));
    unlink(file.path);
    rmdir(file.folder);
    sqlite_file_done(&file);
}

/* ---- what is refused ---------------------------------------------------------------------- */

static void expect_refusal(struct sqlite_fixture *fixture, enum store_failure failure,
                           const char *word)
{
    struct store_request request = {.kind = STORE_INIT};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.outcome, STORE_FAILED);
    if (strstr(request.error.text, word) == NULL || request.failure != failure)
        fail_msg("%d: %s", (int)request.failure, request.error.text);
    assert_non_null(strstr(request.error.text, fixture->folder));
}

static void expect_use(struct sqlite_fixture *fixture)
{
    struct store_request request = {.kind = STORE_INIT};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.outcome, STORE_ANSWERED);
}

static void put(const char *path, const char *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    close(fd);
}

static void folder_others_may_write__used__is_refused_until_mended(void **state)
{
    struct sqlite_fixture *fixture = *state;
    static const mode_t modes[] = {0770, 0707, 01777};
    for (size_t i = 0; i < CASE_COUNT(modes); i++) {
        chmod(fixture->folder, modes[i]);
        expect_refusal(fixture, FAILURE_RIGHTS, "chmod go-w");
        assert_int_not_equal(access(fixture->path, F_OK), 0);
    }
    chmod(fixture->folder, 0755);
    expect_use(fixture);
}

static void folder_or_file_of_another__used__is_refused(void **state)
{
    struct sqlite_fixture *fixture = *state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(fixture->folder, NOBODY, NOBODY), 0);
    expect_refusal(fixture, FAILURE_RIGHTS, "belongs to user 65534");
    assert_int_equal(chown(fixture->folder, 0, 0), 0);
    put(fixture->path, "", 0);
    assert_int_equal(chown(fixture->path, NOBODY, NOBODY), 0);
    expect_refusal(fixture, FAILURE_RIGHTS, "belongs to user 65534");
}

static void file_others_may_write__used__is_refused(void **state)
{
    struct sqlite_fixture *fixture = *state;
    put(fixture->path, "", 0);
    chmod(fixture->path, 0666);
    expect_refusal(fixture, FAILURE_RIGHTS, "mode 0666");
}

static void symbolic_link__used__only_if_it_is_ours(void **state)
{
    struct sqlite_fixture *fixture = *state;
    char target[96];
    snprintf(target, sizeof target, "%s/target.db", fixture->folder);
    assert_int_equal(symlink(target, fixture->path), 0);
    expect_refusal(fixture, FAILURE_OTHER, "symbolic link");
    put(target, "", 0);
    expect_use(fixture);
    sqlite_link_close(&fixture->link);
    if (geteuid() != 0)
        return;
    assert_int_equal(lchown(fixture->path, NOBODY, NOBODY), 0);
    expect_refusal(fixture, FAILURE_RIGHTS, "symbolic link of user 65534");
}

static void folder_or_fifo_in_its_place__used__is_refused(void **state)
{
    struct sqlite_fixture *fixture = *state;
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    expect_refusal(fixture, FAILURE_RIGHTS, "not a regular file");
    rmdir(fixture->path);
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    expect_refusal(fixture, FAILURE_RIGHTS, "not a regular file");
}

static int use_root_file(void)
{
    struct sqlite_file file;
    struct error err;
    const char *url = getenv("SQLITE_FILE_TEST_URL");
    if (!sqlite_file_resolve(url, &file, &err))
        return 1;
    struct sqlite_link link;
    sqlite_link_init(&link, &file);
    struct store_request request = {.kind = STORE_STATUS};
    sqlite_fixture_serve(&link, &request);
    bool is_named = strstr(request.error.text, link.file.path) != NULL;
    sqlite_link_done(&link);
    return request.outcome == STORE_FAILED && request.failure == FAILURE_RIGHTS && is_named ? 0 : 2;
}

static void file_of_root__used_by_another__is_a_matter_of_rights(void **state)
{
    struct sqlite_fixture *fixture = *state;
    char url[140];
    if (geteuid() != 0)
        skip();
    snprintf(url, sizeof url, "sqlite:%s", fixture->path);
    setenv("SQLITE_FILE_TEST_URL", url, 1);
    chmod(fixture->folder, 0755);
    expect_use(fixture);
    sqlite_link_close(&fixture->link);
    assert_int_equal(as_nobody(use_root_file), 0);
    chmod(fixture->path, 0644); /* may be read: a store must also be written */
    assert_int_equal(as_nobody(use_root_file), 0);
}

static void shared_file_systems__by_number__are_known(void **state)
{
    static const struct {
        uint32_t magic;
        const char *name; /* NULL: a disk of this host */
    } systems[] = {
        {0x6969, "NFS"},      {0xFF534D42, "CIFS"}, {0xFE534D42, "SMB"}, {0x01021997, "9p"},
        {0x65735546, "FUSE"}, {0x00C36400, "Ceph"}, {0x5346414F, "AFS"}, {0x0BD00BD0, "Lustre"},
        {0xEF53, NULL},       {0x58465342, NULL},   {0x9123683E, NULL},  {0x01021994, NULL},
        {0x794C7630, NULL},   {0x2FC12FC1, NULL},   {0xF2F52010, NULL},
    };
    for (size_t i = 0; i < CASE_COUNT(systems); i++) {
        const char *name = sqlite_file_shared_system(systems[i].magic);
        if (systems[i].name == NULL)
            assert_null(name);
        else
            assert_string_equal(name, systems[i].name);
    }
}

/* ---- what is in it ------------------------------------------------------------------------ */

static void exec(struct sqlite_fixture *fixture, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    chmod(fixture->path, 0600);
}

static void file_of_another_program__used__is_refused_and_untouched(void **state)
{
    static const char *const programs[] = {
        "CREATE TABLE mine (x)",
        "CREATE TABLE mine (x); PRAGMA user_version = 1",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
    };
    struct sqlite_fixture *fixture = *state;
    struct stat before, after;
    for (size_t i = 0; i < CASE_COUNT(programs); i++) {
        exec(fixture, programs[i]);
        assert_int_equal(stat(fixture->path, &before), 0);
        expect_refusal(fixture, FAILURE_SCHEMA, "another program");
        assert_int_equal(stat(fixture->path, &after), 0);
        assert_int_equal(before.st_size, after.st_size);
        assert_true(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
                    before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
        unlink(fixture->path);
    }
}

static void not_a_database__used__is_refused_and_untouched(void **state)
{
    struct sqlite_fixture *fixture = *state;
    static char text[8192];
    memset(text, 'x', sizeof text);
    put(fixture->path, text, sizeof text);
    expect_refusal(fixture, FAILURE_OTHER, "not a database");
    assert_int_equal(mode_of(fixture->path), 0600);
    struct stat status;
    assert_int_equal(stat(fixture->path, &status), 0);
    assert_int_equal(status.st_size, sizeof text);
}

static void newer_schema__used__only_if_it_lets_us_read(void **state)
{
    struct sqlite_fixture *fixture = *state;
    expect_use(fixture);
    sqlite_link_close(&fixture->link);
    exec(fixture, "PRAGMA user_version = 2; UPDATE schema_version SET version = 2");
    expect_use(fixture);
    sqlite_link_close(&fixture->link);
    exec(fixture, "UPDATE schema_version SET oldest_reader = 2");
    expect_refusal(fixture, FAILURE_SCHEMA, "newer leaserun");
}

static void pages_overwritten__used__fails_with_a_sentence(void **state)
{
    struct sqlite_fixture *fixture = *state;
    static char text[4096 * 6];
    struct claim_item one = sqlite_fixture_item("k");
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &one), CLAIM_WON);
    sqlite_link_close(&fixture->link);
    exec(fixture, "PRAGMA wal_checkpoint(TRUNCATE)");
    memset(text, 'x', sizeof text);
    int fd = open(fixture->path, O_WRONLY);
    assert_int_equal(pwrite(fd, text, sizeof text, 4096), sizeof text);
    close(fd);
    struct store_request request = {.kind = STORE_STATUS};
    sqlite_fixture_serve(&fixture->link, &request);
    assert_int_equal(request.outcome, STORE_FAILED);
    assert_int_equal(request.failure, FAILURE_OTHER);
    assert_non_null(strstr(request.error.text, fixture->path));
    assert_non_null(strstr(request.error.text, "malformed"));
    store_request_clear(&request);
}

static void file_replaced__renewed__is_lost(void **state)
{
    struct sqlite_fixture *fixture = *state;
    struct claim_item one = sqlite_fixture_item("k");
    enum lost_reason reason;
    char old[128];
    assert_int_equal(sqlite_fixture_claim(&fixture->link, &one), CLAIM_WON);
    snprintf(old, sizeof old, "%s.old", fixture->path);
    assert_int_equal(rename(fixture->path, old), 0);
    snprintf(old, sizeof old, "%s-wal", fixture->path);
    unlink(old);
    snprintf(old, sizeof old, "%s-shm", fixture->path);
    unlink(old);
    assert_int_equal(sqlite_fixture_renew(&fixture->link, &one, &reason), RENEW_LOST);
    assert_int_equal(reason, LOST_GONE);
}

/* ---- a disk that is full ------------------------------------------------------------------ */

static void fill_disk(const char *folder, bool is_filled)
{
    static char block[4096];
    char path[128];
    snprintf(path, sizeof path, "%s/filler", folder);
    if (!is_filled) {
        unlink(path);
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    while (write(fd, block, sizeof block) > 0)
        ;
    close(fd);
}

static int use_full_disk(struct sqlite_fixture *fixture)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", fixture->folder, "tmpfs", 0, "size=512k,mode=0700") != 0)
        return 77;
    struct claim_item one = sqlite_fixture_item("k");
    if (sqlite_fixture_claim(&fixture->link, &one) != CLAIM_WON)
        return 1;
    fill_disk(fixture->folder, true);
    struct claim_item two = sqlite_fixture_item("other");
    struct store_request request = {.kind = STORE_CLAIM, .u.claim = {.items = &two, .count = 1}};
    int refused = 0;
    for (int i = 0; i < 50 && refused == 0; i++) { /* the log may have room left in its last page */
        two = sqlite_fixture_item("other");
        sqlite_fixture_serve(&fixture->link, &request);
        refused = request.outcome == STORE_FAILED;
        if (!refused)
            sqlite_fixture_release(&fixture->link, &two);
    }
    if (!refused || request.failure != FAILURE_OTHER ||
        strstr(request.error.text, fixture->path) == NULL ||
        strstr(request.error.text, "full") == NULL)
        return 2;
    fill_disk(fixture->folder, false);
    if (sqlite_fixture_renew(&fixture->link, &one, NULL) != RENEW_RENEWED)
        return 3;
    return sqlite_fixture_claim(&fixture->link, &two) == CLAIM_WON ? 0 : 4;
}

static void full_disk__claimed__fails_whole_and_works_again_after(void **state)
{
    int status = 0;
    if (geteuid() != 0)
        skip();
    pid_t pid = fork();
    if (pid == 0)
        _exit(use_full_disk(*state));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, sqlite_fixture_set_up, sqlite_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(urls_of_a_user__resolved__are_the_documented_files),
        CASE(default_of_root__resolved__is_in_var_lib),
        CASE(no_file__first_use__makes_folder_and_file_for_us_alone),
        CASE(two_folders_missing__named_path__is_refused_not_made),
        CASE(folder_others_may_write__used__is_refused_until_mended),
        CASE(folder_or_file_of_another__used__is_refused),
        CASE(file_others_may_write__used__is_refused),
        CASE(symbolic_link__used__only_if_it_is_ours),
        CASE(folder_or_fifo_in_its_place__used__is_refused),
        CASE(file_of_root__used_by_another__is_a_matter_of_rights),
        CASE(shared_file_systems__by_number__are_known),
        CASE(file_of_another_program__used__is_refused_and_untouched),
        CASE(not_a_database__used__is_refused_and_untouched),
        CASE(newer_schema__used__only_if_it_lets_us_read),
        CASE(pages_overwritten__used__fails_with_a_sentence),
        CASE(file_replaced__renewed__is_lost),
        CASE(full_disk__claimed__fails_whole_and_works_again_after),
    };
    return cmocka_run_group_tests_name("sqlite file", cases, NULL, NULL);
}
