/* SPDX-License-Identifier: ISC */
#include "conf/settings.h"

#include "base/mem.h"
#include "base/text.h"
#include "conf/config.h"
#include "conf/job.h"
#include "conf/store_url.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct value_choice once_per_choices[] = {
    {"minute", ONCE_PER_MINUTE},
    {"hour", ONCE_PER_HOUR},
    {"day", ONCE_PER_DAY},
    {NULL, 0},
};
static const struct value_choice leftovers_choices[] = {
    {"kill", GUARD_LEFTOVERS_KILL},
    {"wait", GUARD_LEFTOVERS_WAIT},
    {"leave", GUARD_LEFTOVERS_LEAVE},
    {NULL, 0},
};
static const struct value_choice level_choices[] = {
    {"debug", LEVEL_DEBUG}, {"info", LEVEL_INFO},        {"warn", LEVEL_WARN},
    {"error", LEVEL_ERROR}, {"auto", CONFIG_LEVEL_AUTO}, {NULL, 0},
};
static const struct value_choice format_choices[] = {
    {"text", LOG_FORMAT_TEXT},
    {"logfmt", LOG_FORMAT_LOGFMT},
    {"json", LOG_FORMAT_JSON},
    {"auto", LOG_FORMAT_AUTO},
    {NULL, 0},
};

/* Columns, of which those that say nothing are left out:
 *   option, key   its name on the command line and in the file; a row may have either or both
 *   group         whose it is: which commands take it, which section holds it, whose member it is
 *   type, offset  of the member that takes the value
 *   argument      the value's name in help; a switch has none
 *   initial       the default, as text that the type's parser reads; the member is 0 without
 *   least, most   of a number, in the unit of the member (a duration's is milliseconds)
 *   endless       a word that stands for "without end"
 *   choices       the words of a choice
 *   example       shown in the sample file where there is no default
 *   help          one line, no full stop; manual: whole sentences that go on from it */
const struct setting settings[] = {
    {
        .option = "config",
        .group = SETTING_FILE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct config, path),
        .argument = "FILE",
        .help = "read FILE instead of " CONFIG_PATH,
        .manual = "Without this option a missing file is no fault; a file that is named must be "
                  "there.",
    },
    {
        .option = "store",
        .group = SETTING_STORE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct config, store_option),
        .argument = "URL",
        .help = "where leases live: postgresql://... or sqlite:PATH",
        .manual = "A libpq conninfo is understood too. A password is refused here, since every "
                  "user can read a command line: name a file in LEASERUN_STORE_FILE or url-file, "
                  "or use a passfile.",
    },
    {
        .option = "local",
        .group = SETTING_STORE,
        .type = SETTING_SWITCH,
        .offset = offsetof(struct config, is_local),
        .help = "keep leases on this host alone, in an SQLite file",
        .manual = "The file is /var/lib/leaserun/leaserun.db for root, and leaserun/leaserun.db "
                  "in XDG_STATE_HOME or ~/.local/state for others. It is created when needed.",
    },
    {
        .key = "url",
        .group = SETTING_STORE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct config, store_url),
        .argument = "URL",
        .example = "postgresql:///app",
        .help = "where leases live: postgresql://... or sqlite:PATH",
        .manual = "With a password in it the file must not be readable by others.",
    },
    {
        .key = "url-file",
        .group = SETTING_STORE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct config, store_url_file),
        .argument = "FILE",
        .example = "/etc/leaserun/store-url",
        .help = "a file whose first line is the URL, instead of url",
        .manual = "With a password in it that file must not be readable by others.",
    },
    {
        .option = "schema",
        .key = "schema",
        .group = SETTING_STORE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct config, schema),
        .argument = "NAME",
        .initial = STORE_SCHEMA_DEFAULT,
        .help = "the schema of leaserun's tables in PostgreSQL",
        .manual = "leaserun init creates it.",
    },
    {
        .option = "log-level",
        .key = "level",
        .group = SETTING_LOG,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct config, log_level),
        .argument = "LEVEL",
        .initial = "auto",
        .choices = level_choices,
        .help = "the least important lines to print on stderr",
        .manual = "auto is warn, and info on a terminal.",
    },
    {
        .option = "log-format",
        .key = "format",
        .group = SETTING_LOG,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct config, log_format),
        .argument = "FORMAT",
        .initial = "auto",
        .choices = format_choices,
        .help = "how lines on stderr look",
        .manual = "auto is text on a terminal and logfmt elsewhere.",
    },
    {
        .option = "quiet",
        .group = SETTING_LOG,
        .type = SETTING_SWITCH,
        .offset = offsetof(struct config, is_quiet),
        .help = "print errors only, whatever the log level is",
    },
    {
        .option = "ttl",
        .key = "ttl",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, ttl_ms),
        .argument = "DURATION",
        .initial = "3m",
        .least = 5000,
        .most = 604800000,
        .help = "how long the lease outlives a host that died",
        .manual = "The lease is renewed long before, so that this does not limit how long the "
                  "command runs. It is also how long an outage of the store a running command "
                  "survives, less a margin and the time that ending it takes: leaserun check tells "
                  "the figure.",
    },
    {
        .option = "wait",
        .key = "wait",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, wait_ms),
        .argument = "DURATION",
        .initial = "0",
        .endless = "forever",
        .help = "wait for the lease this long when it is held",
        .manual = "0 does not wait; forever has no limit.",
    },
    {
        .option = "timeout",
        .key = "timeout",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, timeout_ms),
        .argument = "DURATION",
        .initial = "0",
        .help = "end the command when it runs longer than this",
        .manual = "0 is no limit. The exit status is then 124.",
    },
    {
        .option = "grace",
        .key = "grace",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, grace_ms),
        .argument = "DURATION",
        .initial = "5s",
        .help = "time between TERM and KILL when the command is ended",
        .manual = "The lease is renewed meanwhile. When the lease is lost, the command gets this "
                  "or a sixth of ttl, whichever is less.",
    },
    {
        .option = "start-within",
        .key = "start-within",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, start_within_ms),
        .argument = "DURATION",
        .initial = "60s",
        .help = "give up when it cannot be started this soon",
        .manual = "An outage of the store that is over by then only delays the command. With a "
                  "slot (--once-per) the time counts from the slot. 0 makes one attempt.",
    },
    {
        .option = "hold-at-least",
        .key = "hold-at-least",
        .group = SETTING_JOB,
        .type = SETTING_DURATION,
        .offset = offsetof(struct job, hold_at_least_ms),
        .argument = "DURATION",
        .initial = "0",
        .help = "keep the key taken at least this long after the claim",
        .manual = "For short commands on hosts whose clocks differ, where --once-per does not fit.",
    },
    {
        .option = "held-exit",
        .key = "held-exit",
        .group = SETTING_JOB,
        .type = SETTING_COUNT,
        .offset = offsetof(struct job, held_exit),
        .argument = "STATUS",
        .initial = "75",
        .most = 255,
        .help = "the exit status when it is not run here",
        .manual = "0 suits those who take every other status for a failure.",
    },
    {
        .option = "leftovers",
        .key = "leftovers",
        .group = SETTING_JOB,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct job, leftovers),
        .argument = "WHAT",
        .initial = "kill",
        .choices = leftovers_choices,
        .help = "processes that outlive the command that started them",
        .manual = "kill sends TERM, and KILL after grace; wait keeps the lease until they end; "
                  "leave lets them run on without lease, for commands that start daemons.",
    },
    {
        .option = "once",
        .group = SETTING_JOB,
        .type = SETTING_SWITCH,
        .offset = offsetof(struct job, is_once),
        .help = "run only if no run of this key has ever succeeded",
        .manual = "When one has, the exit status is 0. leaserun purge --forget KEY forgets it.",
    },
    {
        .option = "once-per",
        .group = SETTING_JOB,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct job, once_per),
        .argument = "PERIOD",
        .choices = once_per_choices,
        .help = "start once for each minute, hour or day on all hosts",
        .manual = "The period is named by this host's clock and time zone when leaserun starts, as "
                  "cron(8) on the same host does it. For crontabs on several hosts.",
    },
};
const size_t settings_count = sizeof settings / sizeof settings[0];

static const struct section {
    const char *name;
    const char *about;
} sections[SETTING_GROUP_COUNT] = {
    [SETTING_STORE] = {"store", "Where leases and runs live. Options and the environment "
                                "(LEASERUN_STORE, LEASERUN_STORE_FILE) come first."},
    [SETTING_LOG] = {"log", "What leaserun itself prints on stderr."},
    [SETTING_JOB] = {"defaults", "What holds for every run unless its options say otherwise."},
};

const char *settings_section(enum setting_group group)
{
    return sections[group].name;
}

const char *settings_section_about(enum setting_group group)
{
    return sections[group].about;
}

const struct setting *settings_find_key(const char *section, const char *key)
{
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings[i];
        const char *own_section = settings_section(setting->group);
        if (setting->key != NULL && own_section != NULL && strcmp(own_section, section) == 0 &&
            strcmp(setting->key, key) == 0)
            return setting;
    }
    return NULL;
}

static void format_number(const struct setting *setting, int64_t number,
                          char ret_text[VALUE_TEXT_MAX])
{
    if (setting->type == SETTING_DURATION)
        value_format_duration(number, ret_text);
    else
        value_format_size(number, ret_text);
}

static bool check_bounds(const struct setting *setting, int64_t number, struct error *err)
{
    char bound[VALUE_TEXT_MAX];
    if (number < setting->least) {
        format_number(setting, setting->least, bound);
        return error_set(err, ERROR_USAGE, "the least possible is %s", bound);
    }
    if (setting->most > 0 && number > setting->most) {
        format_number(setting, setting->most, bound);
        return error_set(err, ERROR_USAGE, "the most possible is %s", bound);
    }
    return true;
}

static bool put_number(const struct setting *setting, const char *value, int64_t *member,
                       struct error *err)
{
    int64_t number = 0;
    bool is_good = true;
    if (setting->endless != NULL && strcmp(setting->endless, value) == 0)
        return *member = INT64_MAX, true;
    if (setting->type == SETTING_DURATION)
        is_good = value_parse_duration(value, &number, err);
    else if (setting->type == SETTING_SIZE)
        is_good = value_parse_size(value, &number, err);
    else
        is_good = value_parse_count(value, &number, err);
    if (!is_good || !check_bounds(setting, number, err))
        return false;
    *member = number;
    return true;
}

static bool put_text(const char *value, char **member, struct error *err)
{
    if (*value == '\0')
        return error_set(err, ERROR_USAGE, "the value is empty");
    mem_wipe(*member);
    *member = mem_strdup(value);
    return true;
}

bool settings_put(const struct setting *setting, const char *value, void *object, struct error *err)
{
    void *member = (char *)object + setting->offset;
    switch (setting->type) {
    case SETTING_TEXT:
        return put_text(value, member, err);
    case SETTING_DURATION:
    case SETTING_COUNT:
    case SETTING_SIZE:
        return put_number(setting, value, member, err);
    case SETTING_SWITCH:
        return value_parse_switch(value, member, err);
    case SETTING_CHOICE:
        return value_parse_choice(value, setting->choices, member, err);
    }
    return false;
}

void settings_put_initial(const struct setting *setting, void *object)
{
    struct error error;
    if (setting->initial != NULL && !settings_put(setting, setting->initial, object, &error))
        abort();
}

void settings_describe(const struct setting *setting, struct text *out)
{
    char bound[VALUE_TEXT_MAX];
    const char *gap = "";
    for (const struct value_choice *choice = setting->choices; choice != NULL && choice->name;
         choice++)
        text_addf(out, "%s%s", choice == setting->choices ? "" : "|", choice->name);
    gap = out->length > 0 ? ", " : "";
    if (setting->least > 1) {
        format_number(setting, setting->least, bound);
        text_addf(out, "%sat least %s", gap, bound);
        gap = ", ";
    }
    if (setting->most > 0) {
        format_number(setting, setting->most, bound);
        text_addf(out, "%sat most %s", gap, bound);
        gap = ", ";
    }
    if (setting->endless != NULL) {
        text_addf(out, "%sor %s", gap, setting->endless);
        gap = ", ";
    }
    if (setting->initial != NULL)
        text_addf(out, "%sdefault %s", gap, setting->initial);
}
