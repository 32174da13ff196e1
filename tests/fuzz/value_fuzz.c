/* SPDX-License-Identifier: ISC */
/* Values: the same text as a value of every type and of every setting. */
#include "base/text.h"
#include "conf/config.h"
#include "conf/settings.h"
#include "conf/value.h"
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check_refusal(const struct error *err)
{
    FUZZ_CHECK((err->kind == ERROR_USAGE || err->kind == ERROR_CONFIG) && err->text[0] != '\0');
    FUZZ_CHECK(memchr(err->text, '\0', sizeof err->text) != NULL && fuzz_is_one_line(err->text));
}

static void check_duration(const char *text)
{
    char written[VALUE_TEXT_MAX], rewritten[VALUE_TEXT_MAX];
    struct error err;
    int64_t ms, again = -1;
    if (!value_parse_duration(text, &ms, &err)) {
        check_refusal(&err);
        return;
    }
    FUZZ_CHECK(ms >= 0 && ms <= VALUE_DURATION_MAX_MS);
    value_format_duration(ms, written);
    FUZZ_CHECK(value_parse_duration(written, &again, &err) && again == ms);
    FUZZ_CHECK(strcmp(value_format_duration(again, rewritten), written) == 0);
}

static void check_size(const char *text)
{
    char written[VALUE_TEXT_MAX];
    struct error err;
    int64_t bytes, again = -1;
    if (!value_parse_size(text, &bytes, &err)) {
        check_refusal(&err);
        return;
    }
    value_format_size(bytes, written);
    FUZZ_CHECK(value_parse_size(written, &again, &err) && again == bytes && bytes >= 0);
}

static void check_count(const char *text)
{
    struct error err;
    int64_t count;
    errno = 0;
    long long other = strtoll(text, NULL, 10);
    bool is_number = text[0] != '\0' && strspn(text, "0123456789") == strlen(text) && errno == 0;
    bool is_taken = value_parse_count(text, &count, &err);
    FUZZ_CHECK(is_taken == is_number);
    FUZZ_CHECK(!is_taken || count == other);
    if (!is_taken)
        check_refusal(&err);
}

static void check_number(const struct setting *setting, const char *text, int64_t number)
{
    if (setting->word != NULL && strcmp(text, setting->word) == 0)
        return;
    FUZZ_CHECK(number >= setting->least && (setting->most == 0 || number <= setting->most));
}

static void check_setting(const struct setting *setting, const char *text, struct config *config)
{
    struct error err;
    void *object = config_object(config, setting);
    if (!settings_put(setting, text, object, &err)) {
        check_refusal(&err);
        return;
    }
    const void *member = (const char *)object + setting->offset;
    switch (setting->type) {
    case SETTING_TEXT:
        FUZZ_CHECK(strcmp(*(char *const *)member, text) == 0);
        break;
    case SETTING_DURATION:
    case SETTING_COUNT:
    case SETTING_SIZE:
        check_number(setting, text, *(const int64_t *)member);
        break;
    case SETTING_SWITCH:
    case SETTING_CHOICE:
        FUZZ_CHECK(strlen(text) < 16);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input = {bytes, bytes + count};
    char *text = fuzz_string(&input), *key = fuzz_string(&input);
    struct config config;
    check_duration(text);
    check_size(text);
    check_count(text);
    config_init(&config);
    for (const struct setting *setting = NULL; (setting = settings_next(setting)) != NULL;)
        check_setting(setting, text, &config);
    config_done(&config);
    const struct setting_section *section = settings_find_section(text);
    const struct setting *found = section == NULL ? NULL : settings_find_key(section, key);
    FUZZ_CHECK(found == NULL || strcmp(found->key, key) == 0);
    free(text);
    free(key);
    return 0;
}
