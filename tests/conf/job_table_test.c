/* SPDX-License-Identifier: ISC */
#include "base/text.h"
#include "check.h"
#include "conf/job_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder with leaserun.ini, jobs.d and what else a test writes. */
struct fixture {
    char folder[64];
    struct config config;
    struct job_table table;
    struct ini_faults faults;
};

static char *path_in(const struct fixture *fixture, const char *name)
{
    static char paths[8][160];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", fixture->folder, name);
    return path;
}

static void write_file(const struct fixture *fixture, const char *name, const char *text)
{
    FILE *file = fopen(path_in(fixture, name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path_in(fixture, name), 0644);
}

static struct fixture begin(void)
{
    struct fixture fixture = {.folder = "job_table_test.XXXXXX"};
    assert_non_null(mkdtemp(fixture.folder));
    config_init(&fixture.config);
    fixture.config.path = strdup(path_in(&fixture, "leaserun.ini"));
    assert_int_equal(mkdir(path_in(&fixture, "jobs.d"), 0755), 0);
    return fixture;
}

static void end(struct fixture *fixture)
{
    char command[100];
    job_table_done(&fixture->table);
    config_done(&fixture->config);
    ini_faults_done(&fixture->faults);
    snprintf(command, sizeof command, "rm -rf %s", fixture->folder);
    assert_int_equal(system(command), 0);
}

static bool read_table(struct fixture *fixture)
{
    return job_table_read(&fixture->config, NULL, 0, &fixture->table, &fixture->faults);
}

static bool read_paths(struct fixture *fixture, char *const *paths, size_t count)
{
    return job_table_read(&fixture->config, paths, count, &fixture->table, &fixture->faults);
}

static void expect_good(struct fixture *fixture, bool is_good)
{
    if (is_good)
        return;
    char *sentence = ini_faults_sentence(&fixture->faults, 0);
    fail_msg("%zu faults: %s", fixture->faults.count, sentence);
    free(sentence);
}

/* ---- what is right ------------------------------------------------------------------------- */

static void every_key__is_taken(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(
        &fixture, "leaserun.ini",
        "[schedule]\nmax-running = 4\nshutdown-grace = 10s\non-shutdown = wait\nwatch = yes\n"
        "[job all]\nschedule = */5 * * * *\ntimezone = UTC\ncommand = echo a ; b # c % d\n"
        "shell = /bin/bash -e\nkey = Other Key\nenabled = no\nttl = 10s\ntimeout = 1h\n"
        "grace = 2s\nstart-within = 90s\nmisfire = latest\noverlap = wait\njitter = 3s\n"
        "retries = 2\nretry-delay = 1s\nmax-attempts = 5\nif-interrupted = rerun\n"
        "claim-failure = error\nhold-at-least = 4s\nleftovers = wait\nuser = nobody\n"
        "group = nogroup\ncwd = /tmp\numask = 027\nenv = A=1 B='x y'\n"
        "env-file = /etc/environment\noutput = lines\noutput-tail = 4K\n");
    expect_good(&fixture, read_table(&fixture));
    assert_int_equal(fixture.config.schedule.max_running, 4);
    assert_int_equal(fixture.config.schedule.shutdown_grace_ms, 10000);
    assert_int_equal(fixture.config.schedule.on_shutdown, SCHEDULE_ON_SHUTDOWN_WAIT);
    assert_true(fixture.config.schedule.is_watched);
    const struct job *job = job_table_find(&fixture.table, "all");
    assert_non_null(job);
    assert_string_equal(job->schedule, "*/5 * * * *");
    assert_string_equal(job->timezone, "UTC");
    assert_string_equal(job->command, "echo a ; b # c % d");
    assert_string_equal(job->shell, "/bin/bash -e");
    assert_string_equal(job->key, "Other Key");
    assert_false(job->is_enabled);
    assert_int_equal(job->ttl_ms, 10000);
    assert_int_equal(job->timeout_ms, 3600000);
    assert_int_equal(job->grace_ms, 2000);
    assert_int_equal(job->start_within_ms, 90000);
    assert_int_equal(job->misfire, JOB_MISFIRE_LATEST);
    assert_int_equal(job->overlap, JOB_OVERLAP_WAIT);
    assert_int_equal(job->jitter_ms, 3000);
    assert_int_equal(job->retries, 2);
    assert_int_equal(job->retry_delay_ms, 1000);
    assert_int_equal(job->max_attempts, 5);
    assert_int_equal(job->if_interrupted, JOB_IF_INTERRUPTED_RERUN);
    assert_int_equal(job->claim_failure, JOB_CLAIM_FAILURE_ERROR);
    assert_int_equal(job->hold_at_least_ms, 4000);
    assert_int_equal(job->leftovers, GUARD_LEFTOVERS_WAIT);
    assert_string_equal(job->user, "nobody");
    assert_string_equal(job->group, "nogroup");
    assert_string_equal(job->cwd, "/tmp");
    assert_string_equal(job->umask, "027");
    assert_string_equal(job->env, "A=1 B='x y'");
    assert_string_equal(job->env_file, "/etc/environment");
    assert_int_equal(job->output, JOB_OUTPUT_LINES);
    assert_int_equal(job->output_tail, 4096);
    assert_string_equal(job->file, fixture.config.path);
    assert_int_equal(job->line, 6);
    end(&fixture);
}

static void bare_job__has_the_defaults(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini", "[job a]\nschedule = @daily\nexec = true\n");
    expect_good(&fixture, read_table(&fixture));
    const struct job *job = job_table_find(&fixture.table, "a");
    assert_string_equal(job->key, "a");
    assert_null(job->command);
    assert_null(job->timezone);
    assert_true(job->is_enabled);
    assert_int_equal(job->ttl_ms, 180000);
    assert_int_equal(job->start_within_ms, JOB_START_WITHIN_AUTO);
    assert_int_equal(job->misfire, JOB_MISFIRE_SKIP);
    assert_int_equal(job->overlap, JOB_OVERLAP_SKIP);
    assert_int_equal(job->output, JOB_OUTPUT_RAW);
    assert_int_equal(job->output_tail, 0);
    assert_int_equal(job->retries, 0);
    assert_int_equal(job->if_interrupted, JOB_IF_INTERRUPTED_REPORT);
    assert_int_equal(fixture.config.schedule.max_running, 0);
    assert_int_equal(fixture.config.schedule.shutdown_grace_ms, 8000);
    assert_int_equal(fixture.config.schedule.on_shutdown, SCHEDULE_ON_SHUTDOWN_TERMINATE);
    assert_false(fixture.config.schedule.is_watched);
    end(&fixture);
}

static void defaults__hold_for_jobs_that_say_nothing_else(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini",
               "[job a]\nschedule = @daily\nexec = true\n"
               "[job b]\nschedule = @daily\nexec = true\nttl = 20s\ntimezone = Asia/Tokyo\n"
               "[defaults]\nttl = 10s\ntimezone = UTC\noutput = discard\n");
    expect_good(&fixture, read_table(&fixture));
    const struct job *a = job_table_find(&fixture.table, "a");
    const struct job *b = job_table_find(&fixture.table, "b");
    assert_int_equal(a->ttl_ms, 10000);
    assert_string_equal(a->timezone, "UTC");
    assert_int_equal(a->output, JOB_OUTPUT_DISCARD);
    assert_int_equal(b->ttl_ms, 20000);
    assert_string_equal(b->timezone, "Asia/Tokyo");
    assert_int_equal(b->output, JOB_OUTPUT_DISCARD);
    assert_ptr_equal(a->schedule, b->schedule);
    end(&fixture);
}

static void jobs_d__follows_in_order_of_names(void **state)
{
    (void)state;
    static const char *const order[] = {"main", "ten", "two", "upper"};
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini", "[job main]\nschedule = @daily\nexec = a\n");
    write_file(&fixture, "jobs.d/2.ini", "[job two]\nschedule = @daily\nexec = a\n");
    write_file(&fixture, "jobs.d/10.ini",
               "[job ten]\nschedule = @daily\nexec = a\n[store]\nurl = sqlite:/x\n");
    write_file(&fixture, "jobs.d/A.ini", "[job upper]\nschedule = @daily\nexec = a\n");
    write_file(&fixture, "jobs.d/A.ini.bak", "[job upper]\n");
    write_file(&fixture, "jobs.d/.hidden.ini", "rubbish\n");
    expect_good(&fixture, read_table(&fixture));
    assert_int_equal(fixture.table.count, CASE_COUNT(order));
    for (size_t i = 0; i < CASE_COUNT(order); i++)
        assert_string_equal(fixture.table.jobs[i].name, order[i]);
    assert_string_equal(fixture.config.store_url, "sqlite:/x");
    assert_int_equal(fixture.table.file_count, 5);
    end(&fixture);
}

static void paths__replace_the_jobs_but_not_the_settings(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini",
               "[store]\nurl = sqlite:/main\n[log]\nlevel = debug\n[defaults]\nttl = 10s\n"
               "[job main]\nschedule = @daily\nexec = a\n");
    write_file(&fixture, "jobs.d/a.ini", "[job beside]\nschedule = @daily\nexec = a\n");
    write_file(&fixture, "mine.ini",
               "[log]\nformat = json\n[job mine]\nschedule = @daily\nexec = a\n");
    char *paths[] = {path_in(&fixture, "mine.ini")};
    expect_good(&fixture, read_paths(&fixture, paths, 1));
    assert_int_equal(fixture.table.count, 1);
    assert_string_equal(fixture.table.jobs[0].name, "mine");
    assert_int_equal(fixture.table.jobs[0].ttl_ms, 10000);
    assert_string_equal(fixture.config.store_url, "sqlite:/main");
    assert_int_equal(fixture.config.log_format, LOG_FORMAT_JSON);
    assert_int_equal(fixture.config.log_level, CONFIG_LEVEL_AUTO); /* [log] is mine.ini's */
    end(&fixture);
}

static void folder_without_files__an_empty_table(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini", "[job main]\nschedule = @daily\nexec = a\n");
    char *paths[] = {path_in(&fixture, "jobs.d")};
    expect_good(&fixture, read_paths(&fixture, paths, 1));
    assert_int_equal(fixture.table.count, 0);
    assert_null(job_table_find(&fixture.table, "main"));
    end(&fixture);
}

static void two_jobs_with_one_key__allowed(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(
        &fixture, "leaserun.ini",
        "[job a]\nschedule = @daily\nexec = a\n[job b]\nschedule = @daily\nexec = a\nkey = a\n");
    expect_good(&fixture, read_table(&fixture));
    assert_ptr_equal(fixture.table.jobs[0].key, fixture.table.jobs[1].key);
    end(&fixture);
}

/* ---- what is wrong ------------------------------------------------------------------------- */

#define JOB "[job a]\nschedule = @daily\ncommand = x\n"

static const struct {
    const char *what;
    const char *text;
    int line;
    const char *said;
} bad[] = {
    {"unknown key", "[job a]\nshedule = @daily\nschedule = @daily\ncommand = x\n", 2,
     "did you mean schedule?"},
    {"key of another section", JOB "url = x\n", 4, "it belongs to [store]"},
    {"key of run alone", JOB "wait = 5s\n", 4, "it belongs to [defaults]"},
    {"schedule in defaults", "[defaults]\nschedule = @daily\n", 2, "it belongs to [job NAME]"},
    {"key twice", JOB "command = y\n", 4, "line 3"},
    {"no unit", JOB "timeout = 5\n", 4, "has no unit"},
    {"bad unit", JOB "timeout = 5x\n", 4, "units ms, s, m, h, d or w"},
    {"short ttl", JOB "ttl = 4s\n", 4, "the least possible is 5s"},
    {"bad schedule", "[job a]\nschedule = 61 * * * *\ncommand = x\n", 2, "schedule: minute"},
    {"unknown zone", JOB "timezone = Europe/Pari\n", 4, "timezone: "},
    {"unknown zone by default", "[defaults]\ntimezone = Nowhere\n", 2, "timezone: "},
    {"no schedule", "[job a]\ncommand = x\n", 1, "has no schedule"},
    {"no command", "[job a]\nschedule = @daily\n", 1, "neither command nor exec"},
    {"both commands", JOB "exec = x\n", 4, "exec stands beside command in line 3"},
    {"open quote", "[job a]\nschedule = @daily\nexec = x 'y\n", 3, "exec: a quote (')"},
    {"empty program", "[job a]\nschedule = @daily\nexec = '' y\n", 3, "exec: the first word"},
    {"env without name", JOB "env = A=1 =2\n", 4, "env: word 2 is not NAME=VALUE"},
    {"umask", JOB "umask = 888\n", 4, "umask: \"888\""},
    {"unknown word", JOB "overlap = wiat\n", 4, "did you mean wait?"},
    {"no attempts", JOB "max-attempts = 0\n", 4, "the least possible is 1"},
    {"two words as name", "[job a b]\nschedule = @daily\ncommand = x\n", 1, "no blank"},
    {"indented", JOB "  ttl = 10s\n", 4, "begins with a blank"},
    {"unclosed header", JOB "[job b\nschedule = @daily\ncommand = y\n", 4, "\"]\" is missing"},
    {"short shutdown", "[schedule]\nshutdown-grace = 1s\n", 2, "the least possible is 3s"},
};

static void faults__are_told_with_their_line_and_leave_no_job(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASE_COUNT(bad); i++) {
        struct fixture fixture = begin();
        write_file(&fixture, "leaserun.ini", bad[i].text);
        assert_false(read_table(&fixture));
        if (fixture.faults.count != 1 || fixture.faults.faults[0].line != bad[i].line ||
            strstr(fixture.faults.faults[0].text, bad[i].said) == NULL)
            fail_msg("%s: %zu faults, line %d: %s", bad[i].what, fixture.faults.count,
                     fixture.faults.faults[0].line, fixture.faults.faults[0].text);
        assert_int_equal(fixture.table.count, 0);
        end(&fixture);
    }
}

static void env__is_never_quoted_in_a_fault(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini", JOB "env = PASSWORD=a s3cret\n");
    assert_false(read_table(&fixture));
    assert_null(strstr(fixture.faults.faults[0].text, "s3cret"));
    end(&fixture);
}

static void expect_sentences(const struct fixture *fixture, const char *const *sentences,
                             size_t count)
{
    for (size_t i = 0; i < count && i < fixture->faults.count; i++) {
        char *sentence = ini_faults_sentence(&fixture->faults, i);
        assert_non_null(strstr(sentence, fixture->folder));
        const char *rest = sentence + strlen(fixture->folder) + 1;
        if (strncmp(rest, sentences[i], strlen(sentences[i])) != 0)
            fail_msg("\"%s\", not \"%s\"", rest, sentences[i]);
        free(sentence);
    }
    assert_int_equal(fixture->faults.count, count);
}

static void faults_of_all_files__in_one_go(void **state)
{
    (void)state;
    static const char *const told[] = {
        "leaserun.ini:2: ttl: ",
        "leaserun.ini:4: schedule: ",
        "leaserun.ini:7: \"rubbish\" is neither",
        "jobs.d/1.ini:1: [job a] has no schedule",
        "jobs.d/1.ini:1: the job a stands here and in ",
        "jobs.d/1.ini:4: ttl stands here and in ",
        "jobs.d/2.ini: this is a folder",
        "jobs.d/3.ini:2: [job c] has no key \"comand\"; did you mean command?",
    };
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini",
               "[defaults]\nttl = 1\n[job a]\nschedule = 0 25 * * *\ncommand = x\n\nrubbish\n");
    write_file(&fixture, "jobs.d/1.ini",
               "[job a]\nexec = x\n[defaults]\nttl = 10s\n[job b]\nschedule = @daily\nexec = x\n");
    assert_int_equal(mkdir(path_in(&fixture, "jobs.d/2.ini"), 0755), 0);
    write_file(&fixture, "jobs.d/3.ini", "[job c]\ncomand = x\nschedule = @daily\nexec = y\n");
    assert_false(read_table(&fixture));
    expect_sentences(&fixture, told, CASE_COUNT(told));
    end(&fixture);
}

static void missing_path__a_fault(void **state)
{
    (void)state;
    static const char *const told[] = {"none.ini: the file cannot be opened"};
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini", "[log]\nlevel = info\n");
    char *paths[] = {path_in(&fixture, "none.ini")};
    assert_false(read_paths(&fixture, paths, 1));
    expect_sentences(&fixture, told, 1);
    end(&fixture);
}

static void folder_that_others_may_write__refused_for_root(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini", "[log]\nlevel = info\n");
    chmod(path_in(&fixture, "jobs.d"), 0777);
    assert_int_equal(read_table(&fixture), geteuid() != 0);
    end(&fixture);
}

/* ---- the store ----------------------------------------------------------------------------- */

/* The host's zone is Europe/Paris: main says so. */
static void calendar_without_zone__refused_on_a_shared_store_alone(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini", "[log]\nlevel = info\n" JOB);
    expect_good(&fixture, read_table(&fixture));
    assert_true(job_table_check_store(&fixture.table, false, &fixture.faults));
    assert_false(job_table_check_store(&fixture.table, true, &fixture.faults));
    assert_int_equal(fixture.faults.count, 1);
    assert_int_equal(fixture.faults.faults[0].line, 3);
    end(&fixture);
}

static void schedules_that_need_no_zone__right_on_any_store(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    write_file(&fixture, "leaserun.ini",
               "[job zoned]\nschedule = @daily\nexec = x\ntimezone = Asia/Tokyo\n"
               "[job grid]\nschedule = every 1h\nexec = x\n[job once]\nschedule = @once\nexec = x\n"
               "[job off]\nschedule = @daily\nexec = x\nenabled = no\n");
    expect_good(&fixture, read_table(&fixture));
    assert_true(job_table_check_store(&fixture.table, true, &fixture.faults));
    end(&fixture);
}

/* ---- many ---------------------------------------------------------------------------------- */

static void a_hundred_thousand_jobs__share_what_is_equal(void **state)
{
    (void)state;
    struct fixture fixture = begin();
    struct text text = TEXT_INIT;
    for (int i = 0; i < 100000; i++)
        text_addf(&text, "[job n%d]\nschedule = %d * * * *\ntimezone = UTC\ncommand = run %d\n", i,
                  i % 60, i);
    write_file(&fixture, "leaserun.ini", text_string(&text));
    text_done(&text);
    expect_good(&fixture, read_table(&fixture));
    assert_int_equal(fixture.table.count, 100000);
    const struct job *job = job_table_find(&fixture.table, "n99999");
    assert_string_equal(job->command, "run 99999");
    assert_ptr_equal(job->schedule, job_table_find(&fixture.table, "n39")->schedule);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key__is_taken),
        cmocka_unit_test(bare_job__has_the_defaults),
        cmocka_unit_test(defaults__hold_for_jobs_that_say_nothing_else),
        cmocka_unit_test(jobs_d__follows_in_order_of_names),
        cmocka_unit_test(paths__replace_the_jobs_but_not_the_settings),
        cmocka_unit_test(folder_without_files__an_empty_table),
        cmocka_unit_test(two_jobs_with_one_key__allowed),
        cmocka_unit_test(faults__are_told_with_their_line_and_leave_no_job),
        cmocka_unit_test(env__is_never_quoted_in_a_fault),
        cmocka_unit_test(faults_of_all_files__in_one_go),
        cmocka_unit_test(missing_path__a_fault),
        cmocka_unit_test(folder_that_others_may_write__refused_for_root),
        cmocka_unit_test(calendar_without_zone__refused_on_a_shared_store_alone),
        cmocka_unit_test(schedules_that_need_no_zone__right_on_any_store),
        cmocka_unit_test(a_hundred_thousand_jobs__share_what_is_equal),
    };
    setenv("TZ", "Europe/Paris", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
