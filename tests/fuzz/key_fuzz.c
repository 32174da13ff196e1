/* SPDX-License-Identifier: ISC */
/* Keys: UTF-8 is judged as another reader of RFC 3629 judges it; a sentence about any bytes is one
 * line. */
#include "base/utf8.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_chars(const char *text, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        size_t step = utf8_char_length(text + at, length - at);
        FUZZ_CHECK(step <= 4 && step <= length - at);
        FUZZ_CHECK(step == 0 || fuzz_is_utf8(text + at, step));
        for (size_t other = 1; other <= 4 && other <= length - at && step == 0; other++)
            FUZZ_CHECK(!fuzz_is_utf8(text + at, other));
    }
}

static void check_sentence(const char *text)
{
    struct error err;
    error_set(&err, ERROR_STORE, "%s", text);
    FUZZ_CHECK(fuzz_is_one_line(err.text));
    error_prefix(&err, "%s", text);
    FUZZ_CHECK(fuzz_is_one_line(err.text));
    error_set_errno(&err, ERROR_SYSTEM, 2, "%s", text);
    FUZZ_CHECK(fuzz_is_one_line(err.text) && memchr(err.text, '\0', sizeof err.text) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, bytes + count};
    struct error err = {.kind = ERROR_NONE};
    char *key = fuzz_string(&input);
    size_t length = strlen(key);
    bool is_key = utf8_check_key(key, &err);
    bool should_be = length > 0 && length <= UTF8_KEY_MAX && fuzz_is_utf8(key, length) &&
                     strchr(key, '\n') == NULL;
    FUZZ_CHECK(is_key == should_be);
    FUZZ_CHECK(is_key || (err.kind == ERROR_USAGE && fuzz_is_one_line(err.text)));
    check_chars(key, length < 2000 ? length : 2000);
    check_sentence(key);
    free(key);
    return 0;
}
