/* SPDX-License-Identifier: ISC */
/* The command line, words up to a NUL each: what is accepted keeps its promises, and what is
 * refused is told in one line that shows no password. */
#include "base/utf8.h"
#include "cli/commands.h"
#include "conf/store_url.h"
#include "fuzz.h"
#include "guard/guard_arguments.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32
#define SECRET    "S3cRetT0kEn"

static void check_accepted(const struct options *options)
{
    struct error err;
    if (options->command == NULL) {
        FUZZ_CHECK(options->is_help_wanted || options->is_version_wanted);
        return;
    }
    if (options->is_help_wanted || options->is_version_wanted)
        return;
    if (options->command->takes_argv) {
        FUZZ_CHECK(options->operand_count == 1);
        FUZZ_CHECK(options->argv != NULL
                       ? options->argv[0] != NULL && utf8_check_key(options->config.job.key, &err)
                       : ini_text_is_word(options->operands[0]));
    } else {
        FUZZ_CHECK(options->operand_count >= options->command->operands_least);
    }
    for (size_t i = 0; i < options->given_count; i++)
        FUZZ_CHECK(options->given[i].value != NULL);
}

/* A URL as a word, or behind an option's "=". */
static bool holds_secret(const char *word)
{
    const char *bare = word + strspn(word, "-");
    const char *equals = bare == word ? NULL : strchr(bare, '=');
    const char *value = equals == NULL ? bare : equals + 1;
    char *redacted = store_url_redacted(value);
    const char *secret = strstr(word, SECRET); /* the only one there is */
    bool is_secret = secret != NULL && secret >= value && strstr(secret + 1, SECRET) == NULL &&
                     strstr(redacted, SECRET) == NULL;
    free(redacted);
    return is_secret;
}

static void check_refused(const struct error *err, int argc, char **argv)
{
    bool is_only_secret = true;
    FUZZ_CHECK(err->kind == ERROR_USAGE && err->text[0] != '\0' && fuzz_is_one_line(err->text));
    for (int i = 1; i < argc; i++)
        if (strstr(argv[i], SECRET) != NULL && !holds_secret(argv[i]))
            is_only_secret = false;
    FUZZ_CHECK(!is_only_secret || strstr(err->text, SECRET) == NULL);
}

static void check_guard_arguments(int argc, char **argv)
{
    struct guard_arguments arguments;
    if (!guard_arguments_parse(&arguments, argc, argv))
        return;
    FUZZ_CHECK(arguments.command[0] != NULL && arguments.socket_fd > 2);
    guard_arguments_show_fence(&arguments, INT64_MIN);
    guard_arguments_show_fence(&arguments, INT64_MAX);
    FUZZ_CHECK(strlen(arguments.fence_word) == strlen(GUARD_FENCE_WORD));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, bytes + count};
    char *argv[WORDS_MAX + 1];
    int argc = 0;
    while (argc < WORDS_MAX && (argc < 1 || !fuzz_is_over(&input)))
        argv[argc++] = fuzz_string(&input);
    argv[argc] = NULL;
    struct options options;
    struct error err = {.kind = ERROR_NONE};
    char *words[WORDS_MAX + 1];
    memcpy(words, argv, sizeof words);
    if (options_parse(argc, argv, &options, &err))
        check_accepted(&options);
    else
        check_refused(&err, argc, argv);
    options_done(&options);
    FUZZ_CHECK(memcmp(words, argv, (size_t)(argc + 1) * sizeof words[0]) == 0);
    check_guard_arguments(argc, argv);
    for (int i = 0; i < argc; i++)
        free(words[i]);
    return 0;
}
