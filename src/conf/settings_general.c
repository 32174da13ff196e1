/* SPDX-License-Identifier: ISC */
/* [store], [log], [schedule] and the option that names the file. */
#include "conf/config.h"
#include "conf/settings_rows.h"
#include "conf/store_url.h"

static const struct value_choice dialect_choices[] = {
    {"leaserun", DIALECT_LEASERUN},
    {"fenceless", DIALECT_FENCELESS},
    {"shedlock", DIALECT_SHEDLOCK},
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
static const struct value_choice on_shutdown_choices[] = {
    {"terminate", SCHEDULE_ON_SHUTDOWN_TERMINATE},
    {"wait", SCHEDULE_ON_SHUTDOWN_WAIT},
    {NULL, 0},
};

static const struct setting rows[] = {
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
        .manual =
            "leaserun init creates it. search-path: the first schema on the server's search_path "
            "that has a table leases, told with a warning.",
    },
    {
        .option = "dialect",
        .key = "dialect",
        .group = SETTING_STORE,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct config, dialect),
        .argument = "WHOSE",
        .initial = "leaserun",
        .choices = dialect_choices,
        .help = "whose table in PostgreSQL the leases are in",
        .manual = "fenceless and shedlock keep them in the table of another program, beside that "
                  "program's own: see TABLES OF OTHERS in leaserun(7).",
    },
    {
        .option = "table",
        .key = "table",
        .group = SETTING_STORE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct config, table),
        .argument = "TABLE",
        .example = "public.lease",
        .help = "that table, when the dialect is not leaserun",
        .manual = "Written as in SQL, so that \"Weird Table\" stands in double quotes. Without a "
                  "schema it is in public, whatever the search path. shedlock has a default, the "
                  "table shedlock.",
    },
    {
        .option = "columns",
        .key = "columns",
        .group = SETTING_STORE,
        .type = SETTING_TEXT,
        .offset = offsetof(struct config, columns),
        .argument = "LIST",
        .example = "key=job, holder=owner",
        .help = "how it names key, holder, acquired_at and expires_at",
        .manual = "What is not mentioned has the name it has in this list, or, with shedlock, "
                  "name, locked_by, locked_at and lock_until.",
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
        .key = "max-running",
        .group = SETTING_SCHEDULE,
        .type = SETTING_COUNT,
        .offset = offsetof(struct config, schedule.max_running),
        .argument = "COUNT",
        .initial = "0",
        .most = 1000000,
        .help = "how many commands this scheduler runs at a time",
        .manual = "0 is no limit. A slot that comes when so many run waits for its turn as long "
                  "as its start-within lasts; another scheduler may have it meanwhile.",
    },
    {
        .key = "shutdown-grace",
        .group = SETTING_SCHEDULE,
        .type = SETTING_DURATION,
        .offset = offsetof(struct config, schedule.shutdown_grace_ms),
        .argument = "DURATION",
        .initial = "8s",
        .least = 3000,
        .help = "how long a shutdown may take",
        .manual = "Commands that still run get KILL two seconds before its end, so that their "
                  "leases are given back in time. Keep it below what whoever stops leaserun waits: "
                  "10s in most containers.",
    },
    {
        .key = "on-shutdown",
        .group = SETTING_SCHEDULE,
        .type = SETTING_CHOICE,
        .offset = offsetof(struct config, schedule.on_shutdown),
        .argument = "WHAT",
        .initial = "terminate",
        .choices = on_shutdown_choices,
        .help = "what becomes of running commands at a shutdown",
        .manual = "terminate sends TERM to each at once; wait lets them end by themselves, however "
                  "long that takes, until a second signal comes.",
    },
    {
        .key = "watch",
        .group = SETTING_SCHEDULE,
        .type = SETTING_SWITCH,
        .offset = offsetof(struct config, schedule.is_watched),
        .initial = "no",
        .help = "read the table again when one of its files changes",
        .manual = "Without it HUP does that.",
    },
};
const struct setting_rows settings_general = {rows, sizeof rows / sizeof rows[0]};
