/* SPDX-License-Identifier: ISC */
/* How fast one connection claims and gives back many keys, and what that costs the server.
 *
 *     claim_rate floor|record|dated|store|slots|losing URL KEYS SECONDS
 *     claim_rate pinned URL VERSIONS COUNT
 *
 * floor: two prepared statements on a table of its own, the least that claiming and giving back
 * must send; record: the same with a record of each run; dated: a record that names its slot.
 * store: leaserun's store, one request a key, all submitted at once as a scheduler does; slots: the
 * same with a slot for each claim; losing: claims of keys that another holds. Prints one line:
 * cycles, cycles a second, then for each cycle the CPU of the server process in microseconds, bytes
 * of WAL, transaction ids, and our own CPU.
 * pinned: renews one lease while an open transaction keeps every version of its row, and prints the
 * server's CPU for a renewal in microseconds, of the first COUNT, of COUNT after VERSIONS, and how
 * many times the one is the other. */
#include "base/identity.h"
#include "base/mem.h"
#include "base/program.h"
#include "base/text.h"
#include "floor_sql.h"
#include "store/store.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define LIMIT_MS 30000

/* In the place of base/program.c's, which looks beside the running binary. */
bool program_folder(char *ret_path, size_t room, struct error *err)
{
    snprintf(ret_path, room, "%s", MODULE_FOLDER);
    return true;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "claim_rate: %s: %s\n", what, why);
    exit(70);
}

/* ---- what the server shows ------------------------------------------------------------------ */

static double ask_number(PGconn *person, const char *sql)
{
    PGresult *result = PQexec(person, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
        die(sql, PQerrorMessage(person));
    double number = atof(PQgetvalue(result, 0, 0));
    PQclear(result);
    return number;
}

struct reading {
    double cpu_us, wal_bytes, xids, own_cpu_us;
};

/* What a process had of a CPU: the first word of its schedstat, in nanoseconds. */
static double read_cpu_us(int pid)
{
    char path[64];
    double ns;
    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%lf", &ns) != 1)
        die(path, "cannot be read");
    fclose(file);
    return ns / 1000;
}

static double read_own_cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static struct reading read_server(PGconn *person, int pid)
{
    return (struct reading){
        .cpu_us = read_cpu_us(pid),
        .wal_bytes = ask_number(person, "SELECT pg_current_wal_insert_lsn() - '0/0'"),
        .xids = ask_number(person, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"),
        .own_cpu_us = read_own_cpu_us(),
    };
}

static void print_line(PGconn *person, int pid, const struct reading *before, double cycles,
                       double seconds)
{
    struct reading after = read_server(person, pid);
    printf("%.0f %.0f %.2f %.1f %.4f %.2f\n", cycles, cycles / seconds,
           (after.cpu_us - before->cpu_us) / cycles, (after.wal_bytes - before->wal_bytes) / cycles,
           (after.xids - before->xids) / cycles, (after.own_cpu_us - before->own_cpu_us) / cycles);
}

/* ---- the floor ------------------------------------------------------------------------------ */

static void prepare(PGconn *connection, const char *name, const char *sql)
{
    PGresult *result = PQprepare(connection, name, sql, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        die(name, PQerrorMessage(connection));
    PQclear(result);
}

static int execute(PGconn *connection, const char *name, int count, const char *const *values)
{
    PGresult *result = PQexecPrepared(connection, name, count, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        die(name, PQerrorMessage(connection));
    int rows = PQntuples(result);
    PQclear(result);
    return rows;
}

static void fill_array(struct text *array, int count, bool is_ids)
{
    char id[IDENTITY_RUN_ID_MAX];
    text_clear(array);
    for (int i = 0; i < count; i++) {
        identity_run_id(id);
        text_add_char(array, i == 0 ? '{' : ',');
        if (is_ids)
            text_add(array, id);
        else
            text_addf(array, "floor %d", i);
    }
    text_add_char(array, '}');
}

static PGconn *open_floor(const char *url, bool has_record)
{
    PGconn *connection = PQconnectdb(url);
    PQclear(PQexec(connection, "SET client_min_messages = warning"));
    PQclear(PQexec(connection, FLOOR_TABLE));
    PQclear(PQexec(connection, RECORD_TABLE));
    PQclear(PQexec(connection, RECORD_INDEX));
    prepare(connection, "claim", has_record ? RECORD_CLAIM_ALL : FLOOR_CLAIM_ALL);
    prepare(connection, "release", has_record ? RECORD_RELEASE_ALL : FLOOR_RELEASE_ALL);
    return connection;
}

static void run_floor(const char *url, int keys, double seconds, bool has_record, bool has_slots)
{
    PGconn *person = PQconnectdb(url), *connection = open_floor(url, has_record);
    struct text names = TEXT_INIT, ids = TEXT_INIT;
    fill_array(&names, keys, false);
    int pid = PQbackendPID(connection), cycles = -keys;
    struct reading before = {0};
    double start = 0, end = 0;
    do {
        fill_array(&ids, keys, true);
        const char *values[] = {text_string(&names), "floor", text_string(&ids),
                                has_slots ? "t" : "f"};
        if (execute(connection, "claim", has_record ? 4 : 2, values) != keys)
            die("floor", "a key was not won");
        execute(connection, "release", has_record ? 3 : 2, values);
        if (cycles < 0) { /* the first round makes the rows */
            before = read_server(person, pid);
            start = now_s();
        }
        cycles += keys;
        end = now_s();
    } while (end - start < seconds);
    print_line(person, pid, &before, cycles, end - start);
    text_done(&names);
    text_done(&ids);
    PQfinish(connection);
    PQfinish(person);
}

/* ---- the store ------------------------------------------------------------------------------ */

struct key {
    char name[32], holder[IDENTITY_HOLDER_MAX], run_id[IDENTITY_RUN_ID_MAX];
    struct claim_item claim;
    struct release_item release;
    struct store_request request;
};

static struct bench {
    uv_loop_t loop;
    struct store *store;
    struct key *keys;
    int count;
    int open_count;
    bool has_slots;
    int64_t slot_us;
} bench;

static void on_done(struct store_request *request)
{
    if (request->outcome != STORE_ANSWERED)
        die("the store", request->error.text);
    bench.open_count--;
}

static void submit(struct key *key, enum store_kind kind)
{
    key->request = (struct store_request){.kind = kind, .limit_ms = LIMIT_MS, .done = on_done};
    if (kind == STORE_CLAIM) {
        key->request.u.claim.items = &key->claim;
        key->request.u.claim.count = 1;
    } else {
        key->request.u.release.items = &key->release;
        key->request.u.release.count = 1;
    }
    bench.open_count++;
    store_submit(bench.store, &key->request);
}

static void settle(void)
{
    while (bench.open_count > 0)
        uv_run(&bench.loop, UV_RUN_ONCE);
}

static void claim_all(enum claim_verdict expected)
{
    bench.slot_us++;
    for (int i = 0; i < bench.count; i++) {
        struct key *key = &bench.keys[i];
        identity_holder(key->holder);
        identity_run_id(key->run_id);
        key->claim = (struct claim_item){
            .key = key->name,
            .holder = key->holder,
            .run_id = key->run_id,
            .job = key->name,
            .attempt = 1,
            .ttl_ms = 60000,
            .limit_ms = LIMIT_MS,
            .slot_us = bench.has_slots ? bench.slot_us : NO_INSTANT,
            .start_within_ms = -1,
        };
        submit(key, STORE_CLAIM);
    }
    settle();
    for (int i = 0; i < bench.count; i++)
        if (bench.keys[i].claim.verdict != expected)
            die("a claim is", claim_verdict_name(bench.keys[i].claim.verdict));
}

static void release_all(void)
{
    for (int i = 0; i < bench.count; i++) {
        struct key *key = &bench.keys[i];
        key->release = (struct release_item){.key = key->name,
                                             .holder = key->holder,
                                             .fence = key->claim.fence,
                                             .run_id = key->run_id,
                                             .outcome = OUTCOME_SUCCEEDED};
        submit(key, STORE_RELEASE);
    }
    settle();
}

/* Opens the store, claims every key, and says which process of the server serves it. */
static int open_bench(const char *url, int keys, PGconn *person)
{
    char *store_url = mem_strdup(url), label[] = "bench";
    const struct store_config config = {.url = store_url, .label = label};
    struct error err;
    uv_loop_init(&bench.loop);
    if (!store_open(&bench.loop, &config, NULL, &bench.store, &err))
        die("the store", err.text);
    free(store_url);
    bench.count = keys;
    bench.keys = mem_array((size_t)keys, sizeof *bench.keys);
    bench.slot_us = now_wall_us() - (int64_t)3600 * 1000000;
    for (int i = 0; i < keys; i++)
        snprintf(bench.keys[i].name, sizeof bench.keys[i].name, "store %d", i);
    claim_all(CLAIM_WON);
    return (int)ask_number(person, "SELECT pid FROM pg_stat_activity WHERE application_name = "
                                   "'leaserun:bench'");
}

static void close_bench(void)
{
    store_close(bench.store, NULL, NULL);
    uv_run(&bench.loop, UV_RUN_DEFAULT);
    uv_loop_close(&bench.loop);
    free(bench.keys);
}

static void run_store(const char *url, int keys, double seconds, bool is_losing)
{
    PGconn *person = PQconnectdb(url);
    int pid = open_bench(url, keys, person);
    if (!is_losing)
        release_all();
    struct reading before = read_server(person, pid);
    double start = now_s(), end = start, cycles = 0;
    for (; end - start < seconds; end = now_s()) {
        claim_all(is_losing ? CLAIM_HELD : CLAIM_WON);
        if (!is_losing)
            release_all();
        cycles += keys;
    }
    print_line(person, pid, &before, cycles, end - start);
    if (is_losing) /* the winners' names are overwritten */
        PQclear(PQexec(person, "TRUNCATE leaserun.leases, leaserun.runs"));
    close_bench();
    PQfinish(person);
}

/* ---- renewals ------------------------------------------------------------------------------- */

static void renew(int count)
{
    struct key *key = &bench.keys[0];
    for (int i = 0; i < count; i++) {
        struct renew_item item = {
            .key = key->name, .holder = key->holder, .fence = key->claim.fence, .ttl_ms = 60000};
        key->request = (struct store_request){.kind = STORE_RENEW,
                                              .limit_ms = LIMIT_MS,
                                              .done = on_done,
                                              .u.renew = {.items = &item, .count = 1}};
        bench.open_count++;
        store_submit(bench.store, &key->request);
        settle();
        if (item.verdict != RENEW_RENEWED)
            die("a renewal is", renew_verdict_name(item.verdict));
    }
}

static double measure_renewals(int pid, int count)
{
    double before = read_cpu_us(pid);
    renew(count);
    return (read_cpu_us(pid) - before) / count;
}

static void run_pinned(const char *url, int versions, int count)
{
    PGconn *person = PQconnectdb(url);
    int pid = open_bench(url, 1, person);
    renew(count);
    PQclear(PQexec(person, "BEGIN ISOLATION LEVEL REPEATABLE READ"));
    PQclear(PQexec(person, "SELECT count(*) FROM leaserun.leases"));
    double first_us = measure_renewals(pid, count);
    renew(versions - count);
    double last_us = measure_renewals(pid, count);
    printf("%.1f %.1f %.2f\n", first_us, last_us, last_us / first_us);
    PQclear(PQexec(person, "COMMIT"));
    release_all();
    close_bench();
    PQfinish(person);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 64;
    int keys = atoi(argv[3]);
    double seconds = atof(argv[4]);
    bench.has_slots = strcmp(argv[1], "slots") == 0;
    bool is_dated = strcmp(argv[1], "dated") == 0;
    bool has_record = is_dated || strcmp(argv[1], "record") == 0;
    if (has_record || strcmp(argv[1], "floor") == 0)
        run_floor(argv[2], keys, seconds, has_record, is_dated);
    else if (strcmp(argv[1], "pinned") == 0)
        run_pinned(argv[2], keys, (int)seconds);
    else
        run_store(argv[2], keys, seconds, strcmp(argv[1], "losing") == 0);
    return 0;
}
