/* SPDX-License-Identifier: ISC */
#include "base/mem.h"
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The sanitizer's allocator shall refuse as the C library's does, not end the program. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void mem__allocated__is_zeroed(void **state)
{
    MEM_AUTOFREE unsigned char *bytes = mem_alloc(4096);
    for (int i = 0; i < 4096; i++)
        assert_int_equal(bytes[i], 0);
    MEM_AUTOFREE int *numbers = mem_array(16, sizeof *numbers);
    assert_int_equal(numbers[15], 0);
}

static void mem__nothing__is_still_memory(void **state)
{
    MEM_AUTOFREE void *none = mem_alloc(0);
    MEM_AUTOFREE void *no_items = mem_array(0, 8);
    assert_non_null(none);
    assert_non_null(no_items);
}

static void mem__strings__are_copied_whole_or_in_part(void **state)
{
    MEM_AUTOFREE char *whole = mem_strdup("lease");
    MEM_AUTOFREE char *part = mem_strndup("lease", 3);
    MEM_AUTOFREE char *made = mem_printf("%s-%d", "a", 1);
    assert_string_equal(whole, "lease");
    assert_string_equal(part, "lea");
    assert_string_equal(made, "a-1");
    assert_null(mem_strdup(NULL));
    mem_wipe(NULL);
    mem_wipe(mem_strdup("secret"));
}

static void mem__product_overflows__says_so_and_aborts(void **state)
{
    int errors[2];
    assert_int_equal(pipe(errors), 0);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(errors[1], STDERR_FILENO);
        volatile size_t count = SIZE_MAX / 2;
        free(mem_grow(NULL, count, 16));
        _exit(0);
    }
    close(errors[1]);
    int status = 0;
    char said[256] = "";
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_true(read(errors[0], said, sizeof said - 1) > 0);
    assert_non_null(strstr(said, "leaserun: out of memory\n"));
    close(errors[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mem__allocated__is_zeroed),
        cmocka_unit_test(mem__nothing__is_still_memory),
        cmocka_unit_test(mem__strings__are_copied_whole_or_in_part),
        cmocka_unit_test(mem__product_overflows__says_so_and_aborts),
    };
    return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
