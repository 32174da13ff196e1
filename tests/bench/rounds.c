/* SPDX-License-Identifier: ISC */
/* Times whole processes side by side: rounds ROUNDS SPEC > RAW.tsv
 * SPEC: one command a line, fields separated by tabs: NAME ARGV0 ARGV1 ... Each round runs every
 * command once, in a new shuffled order of a fixed seed, so that drift of the machine hits all
 * alike and none runs always behind the same one. RAW: round, name, wall us, cpu us, rss KiB,
 * exit status. Linked statically, so that a child's peak memory is its own. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WARMUP_ROUNDS 3
#define GAP_US        3000

extern char **environ;

struct row {
    char *name;
    char *argv[64];
};

static struct row rows[64];
static int row_count;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void read_spec(const char *path)
{
    static char line[65536];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    while (fgets(line, sizeof line, file) != NULL && row_count < 64) {
        line[strcspn(line, "\n")] = '\0';
        char *rest = strdup(line);
        struct row *row = &rows[row_count++];
        row->name = strsep(&rest, "\t");
        for (int i = 0; rest != NULL && i < 63; i++)
            row->argv[i] = strsep(&rest, "\t");
    }
    fclose(file);
}

static void shuffle(int order[64])
{
    for (int i = row_count - 1; i > 0; i--) {
        int other = rand() % (i + 1);
        int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static void time_one(int round, struct row *row)
{
    posix_spawn_file_actions_t files;
    struct rusage usage;
    int status;
    pid_t pid;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    double start = now_us();
    int rc = posix_spawnp(&pid, row->argv[0], &files, NULL, row->argv, environ);
    if (rc != 0) {
        fprintf(stderr, "rounds: %s: %s\n", row->argv[0], strerror(rc));
        exit(2);
    }
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    double wall = now_us() - start;
    posix_spawn_file_actions_destroy(&files);
    usleep(GAP_US);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    if (round >= 0)
        printf("%d\t%s\t%.1f\t%.1f\t%ld\t%d\n", round, row->name, wall, cpu, usage.ru_maxrss,
               WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char **argv)
{
    int order[64];
    if (argc != 3)
        return 2;
    read_spec(argv[2]);
    for (int i = 0; i < row_count; i++)
        order[i] = i;
    srand(1);
    for (int round = -WARMUP_ROUNDS; round < atoi(argv[1]); round++) {
        shuffle(order);
        for (int i = 0; i < row_count; i++)
            time_one(round, &rows[order[i]]);
    }
    return 0;
}
