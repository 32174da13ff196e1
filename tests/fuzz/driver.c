/* SPDX-License-Identifier: ISC */
/* A fuzz target without libFuzzer: test-fuzz-NAME SEED-FOLDER MUTATION-COUNT. Runs the target on
 * every seed, and on mutations that are the same each time. Tells TAP; a case that fails is shown
 * in C escapes, to become a seed. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CASE_MAX 4096 /* bytes of a mutation; seeds may be larger */
#define SEED_MAX 200000
#define SHOWN    300

struct seed {
    size_t count;
    uint8_t *bytes;
};

struct driver {
    struct seed *seeds; /* in the order of their names */
    size_t seed_count;
    uint64_t random;
    struct seed *current; /* shared with the child: what it is trying */
};

/* xorshift64*: any good generator that is the same everywhere. */
static size_t draw(struct driver *driver, size_t bound)
{
    driver->random ^= driver->random >> 12;
    driver->random ^= driver->random << 25;
    driver->random ^= driver->random >> 27;
    return (size_t)((driver->random * UINT64_C(2685821657736338717)) >> 33) % bound;
}

static bool add_seed(struct driver *driver, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    struct seed seed = {.bytes = malloc(SEED_MAX)};
    seed.count = seed.bytes == NULL ? 0 : fread(seed.bytes, 1, SEED_MAX, file);
    fclose(file);
    struct seed *seeds = realloc(driver->seeds, (driver->seed_count + 1) * sizeof driver->seeds[0]);
    if (seeds == NULL || seed.bytes == NULL)
        abort();
    driver->seeds = seeds;
    driver->seeds[driver->seed_count++] = seed;
    return true;
}

static bool read_seeds(struct driver *driver, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && !add_seed(driver, path))
            perror(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return driver->seed_count > 0;
}

/* In memory of its exact size, so that a sanitizer sees a read past its end. */
static void run_case(struct driver *driver, const uint8_t *bytes, size_t count)
{
    uint8_t *exact = malloc(count == 0 ? 1 : count);
    if (exact == NULL)
        abort();
    memcpy(exact, bytes, count);
    driver->current->count = count;
    memcpy(driver->current->bytes, bytes, count);
    LLVMFuzzerTestOneInput(exact, count);
    free(exact);
}

static void replace(struct seed *seed, size_t at, size_t removed, const uint8_t *added,
                    size_t added_count)
{
    if (seed->count - removed + added_count > CASE_MAX)
        return;
    memmove(seed->bytes + at + added_count, seed->bytes + at + removed, seed->count - at - removed);
    if (added_count > 0)
        memcpy(seed->bytes + at, added, added_count);
    seed->count = seed->count - removed + added_count;
}

static void change(struct driver *driver, struct seed *seed)
{
    static const uint8_t special[] =
        "\t\r\n \0'\"\\%&=:;@/?[]{}()#!$-_,.0189azAZ\x7f\x80\x85\xc2\xe2"
        "\xed\xef\xf0\xf4\xff";
    static const char *const words[] = {"9223372036854775807",
                                        "\\",
                                        "%27",
                                        "--",
                                        "\xe2\x80\xa8",
                                        "''",
                                        "://",
                                        "0",
                                        "ms",
                                        "password="};
    size_t at = draw(driver, seed->count + 1);
    size_t room = seed->count - at;
    size_t length = room == 0 ? 0 : 1 + draw(driver, room < 8 ? room : 8);
    const struct seed *other = &driver->seeds[draw(driver, driver->seed_count)];
    size_t from = other->count == 0 ? 0 : draw(driver, other->count);
    size_t some = other->count - from < 40 ? other->count - from : 40;
    const char *word = words[draw(driver, sizeof words / sizeof words[0])];
    uint8_t one = (uint8_t)draw(driver, 256);
    switch (draw(driver, 7)) {
    case 0:
        replace(seed, at, length > 0, &one, 1);
        break;
    case 1:
        replace(seed, at, length > 0, &special[draw(driver, sizeof special - 1)], 1);
        break;
    case 2:
        replace(seed, at, length, NULL, 0);
        break;
    case 3:
        replace(seed, at, 0, &special[draw(driver, sizeof special - 1)], 1);
        break;
    case 4:
        replace(seed, at, 0, other->bytes + from, some);
        break;
    case 5:
        replace(seed, at, length, (const uint8_t *)word, strlen(word));
        break;
    default:
        if (length > 0)
            seed->bytes[at] ^= (uint8_t)(1u << draw(driver, 8));
    }
}

static void run_seeds(struct driver *driver, size_t count)
{
    for (size_t i = 0; i < driver->seed_count; i++)
        run_case(driver, driver->seeds[i].bytes, driver->seeds[i].count);
    run_case(driver, (const uint8_t *)"", 0);
}

static void run_mutations(struct driver *driver, size_t count)
{
    static uint8_t bytes[CASE_MAX + 1];
    for (size_t i = 0; i < count; i++) {
        const struct seed *base = &driver->seeds[draw(driver, driver->seed_count)];
        struct seed mutation = {.count = base->count < CASE_MAX ? base->count : CASE_MAX,
                                .bytes = bytes};
        memcpy(bytes, base->bytes, mutation.count);
        for (size_t changes = 1 + draw(driver, 6); changes > 0; changes--)
            change(driver, &mutation);
        run_case(driver, mutation.bytes, mutation.count);
    }
}

static void show_case(const struct seed *seed)
{
    printf("# the case, %zu bytes: \"", seed->count);
    for (size_t i = 0; i < seed->count && i < SHOWN; i++) {
        uint8_t c = seed->bytes[i];
        if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
            putchar(c);
        else
            printf("\\%03o", c);
    }
    printf("\"%s\n", seed->count > SHOWN ? " ..." : "");
}

/* In a process of its own, which may die of what it finds. Returns its exit status: what watches
 * over both (valgrind) has one of its own. */
static int run_apart(struct driver *driver, void (*run)(struct driver *driver, size_t count),
                     size_t count, const char *name, int number)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        run(driver, count);
        exit(EXIT_SUCCESS);
    }
    if (pid < 0 || wait(&status) != pid) /* waitpid(2) is wrapped in one of them */
        status = -1;
    printf("%sok %d - %s\n", status == 0 ? "" : "not ", number, name);
    if (status == 0)
        return EXIT_SUCCESS;
    printf("# it ended with wait status 0x%04x\n", (unsigned)status);
    show_case(driver->current);
    return status > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct driver driver = {.random = UINT64_C(88172645463325252)};
    if (argc != 3 || !read_seeds(&driver, argv[1])) {
        fprintf(stderr, "usage: %s SEED-FOLDER MUTATION-COUNT, with seeds in the folder\n",
                argv[0]);
        return 2;
    }
    driver.current = mmap(NULL, sizeof *driver.current + SEED_MAX, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (driver.current == MAP_FAILED)
        return 2;
    driver.current->bytes = (uint8_t *)(driver.current + 1);
    puts("1..2");
    int code = run_apart(&driver, run_seeds, 0, "every seed", 1);
    int later = run_apart(&driver, run_mutations, (size_t)strtoul(argv[2], NULL, 10),
                          "mutations of seeds", 2);
    for (size_t i = 0; i < driver.seed_count; i++)
        free(driver.seeds[i].bytes);
    free(driver.seeds);
    return code != EXIT_SUCCESS ? code : later;
}
