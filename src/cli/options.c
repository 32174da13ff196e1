/* SPDX-License-Identifier: ISC */
#include "cli/options.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "conf/job_table.h"
#include "conf/suggest.h"

#include <assert.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What getopt_long answers for the two that every command knows; rows answer FIRST_ROW and on. */
enum {
    ANSWER_HELP = CHAR_MAX + 1,
    ANSWER_VERSION,
    FIRST_ROW
};

struct parsing {
    struct options *options;
    const struct setting **rows; /* by answer - FIRST_ROW */
    struct option *longs;
    size_t count;
};

static void add_row(struct parsing *parsing, const struct setting *setting)
{
    size_t row = parsing->count++;
    parsing->rows = mem_grow(parsing->rows, row + 1, sizeof(struct setting *));
    parsing->longs = mem_grow(parsing->longs, row + 4, sizeof *parsing->longs);
    parsing->rows[row] = setting;
    parsing->longs[row] = (struct option){
        setting->option,
        setting->type == SETTING_SWITCH ? no_argument : required_argument,
        NULL,
        (int)row + FIRST_ROW,
    };
}

static void gather_rows(struct parsing *parsing, const struct cli_command *command)
{
    parsing->longs = mem_array(3, sizeof *parsing->longs);
    const struct setting *setting = NULL;
    while ((setting = settings_next(setting)) != NULL)
        if (setting->option != NULL && (command->groups & SETTING_MASK(setting->group)) != 0)
            add_row(parsing, setting);
    for (const struct setting *own = command->own; own != NULL && own->option != NULL; own++)
        add_row(parsing, own);
    struct option *end = parsing->longs + parsing->count;
    end[0] = (struct option){"help", no_argument, NULL, ANSWER_HELP};
    end[1] = (struct option){"version", no_argument, NULL, ANSWER_VERSION};
    end[2] = (struct option){NULL, 0, NULL, 0};
}

static void *object_of(struct options *options, const struct setting *setting)
{
    return setting->group == SETTING_COMMAND ? (void *)options
                                             : config_object(&options->config, setting);
}

static bool put_option(struct options *options, const struct setting *setting, const char *value,
                       struct error *err)
{
    if (settings_put(setting, value, object_of(options, setting), err))
        return true;
    err->kind = ERROR_USAGE;
    return error_prefix(err, "--%s", setting->option);
}

static void remember(struct options *options, const struct setting *setting, const char *value)
{
    options->given = mem_grow(options->given, options->given_count + 1, sizeof *options->given);
    options->given[options->given_count++] = (struct option_given){setting, value};
}

static bool refuse_option(const struct parsing *parsing, const char *typed, struct error *err)
{
    const char *nearest = NULL;
    const char *command = parsing->options->command->name;
    const char *name = typed + strspn(typed, "-");
    MEM_AUTOFREE char *bare = mem_strndup(name, strcspn(name, "="));
    for (const struct option *option = parsing->longs; option->name != NULL; option++)
        nearest = suggest_nearer(bare, nearest, option->name);
    bool is_long = strncmp(typed, "--", 2) == 0;
    error_set(err, ERROR_USAGE, "%s has no option %s%s%s%s", command, is_long ? "--" : "-", bare,
              nearest == NULL ? "; see leaserun help " : "", nearest == NULL ? command : "");
    return suggest_add(err, nearest, "--");
}

/* getopt_long takes any unique beginning of a name; a script that relies on one breaks with the
 * next option. So the name must be there in full. */
static bool is_written_in_full(const char *typed, const char *name)
{
    size_t length = strlen(name);
    return strncmp(typed, "--", 2) == 0 && strncmp(typed + 2, name, length) == 0 &&
           (typed[2 + length] == '\0' || typed[2 + length] == '=');
}

static bool is_typed(const struct setting *setting, const char *typed)
{
    bool is_letter = setting->letter != '\0' && typed[0] == '-' && typed[1] == setting->letter;
    return is_letter || is_written_in_full(typed, setting->option);
}

/* The row of getopt_long's answer; NULL when it is that of none. */
static const struct setting *row_of(const struct parsing *parsing, int answer)
{
    if (answer >= FIRST_ROW && parsing->rows != NULL)
        return parsing->rows[answer - FIRST_ROW];
    for (size_t i = 0; i < parsing->count; i++)
        if (parsing->rows[i]->letter != '\0' && parsing->rows[i]->letter == answer)
            return parsing->rows[i];
    return NULL;
}

static bool take_row(struct parsing *parsing, const struct setting *setting, const char *typed,
                     struct error *err)
{
    if (!is_typed(setting, typed))
        return refuse_option(parsing, typed, err);
    const char *value = setting->type == SETTING_SWITCH ? "yes" : optarg;
    if (!put_option(parsing->options, setting, value, err))
        return false;
    remember(parsing->options, setting, value);
    return true;
}

static bool refuse_argument(const struct parsing *parsing, const char *typed, struct error *err)
{
    for (size_t i = 0; i < parsing->count; i++) {
        const struct setting *setting = parsing->rows[i];
        if (!is_typed(setting, typed))
            continue;
        if (setting->type == SETTING_SWITCH)
            return error_set(err, ERROR_USAGE, "--%s takes no value", setting->option);
        return error_set(err, ERROR_USAGE, "--%s needs a value: --%s %s", setting->option,
                         setting->option, setting->argument);
    }
    return refuse_option(parsing, typed, err);
}

static void add_operand(struct options *options, char *operand)
{
    options->operands =
        mem_grow(options->operands, (size_t)options->operand_count + 1, sizeof(char *));
    options->operands[options->operand_count++] = operand;
}

/* One answer of getopt_long. The word it came from is the last that was read, or the one before
 * when its value is a word of its own. */
static bool take_answer(struct parsing *parsing, int answer, char **argv, struct error *err)
{
    const struct setting *row = row_of(parsing, answer);
    bool has_own_word = row != NULL && optarg != NULL && optarg == argv[optind - 1];
    const char *typed = argv[optind - (has_own_word ? 2 : 1)];
    if (answer == 1)
        return add_operand(parsing->options, optarg), true;
    if (answer == 'h')
        return parsing->options->is_help_wanted = true, true;
    if (answer == ANSWER_HELP || answer == ANSWER_VERSION) {
        const char *name = answer == ANSWER_HELP ? "help" : "version";
        if (!is_written_in_full(typed, name))
            return refuse_option(parsing, typed, err);
        parsing->options->is_help_wanted = answer == ANSWER_HELP;
        parsing->options->is_version_wanted = answer == ANSWER_VERSION;
        return true;
    }
    if (row != NULL)
        return take_row(parsing, row, typed, err);
    if (answer == '?' && optopt > 0 && optopt <= CHAR_MAX)
        return refuse_option(parsing, (const char[]){'-', (char)optopt, '\0'}, err);
    return refuse_argument(parsing, typed, err);
}

/* "run -- -KEY -- COMMAND": a command does not begin like this. */
static bool is_odd_key(const char *word, const char *next)
{
    return word[0] == '-' && next != NULL && strcmp(next, "--") == 0;
}

/* run: "[options] KEY -- COMMAND [ARG...]", or "[options] JOB". */
static bool take_argv(struct options *options, int argc, char **argv, struct error *err)
{
    if (optind >= argc)
        return error_set(err, ERROR_USAGE,
                         "run needs a key and a command: leaserun run KEY -- COMMAND; or the name "
                         "of a job of the table: leaserun run JOB");
    if (optind > 1 && strcmp(argv[optind - 1], "--") == 0 &&
        !is_odd_key(argv[optind], argv[optind + 1]))
        return error_set(err, ERROR_USAGE,
                         "the key is missing before \"--\": leaserun run KEY -- COMMAND");
    add_operand(options, argv[optind++]);
    if (optind >= argc && ini_text_is_word(options->operands[0]))
        return true;
    if (optind >= argc)
        return error_set(err, ERROR_USAGE,
                         "\"--\" and a command are missing behind the key: leaserun run %s -- "
                         "COMMAND",
                         options->operands[0]);
    if (strcmp(argv[optind], "--") != 0) {
        const char *next = argv[optind];
        if (next[0] == '-')
            return error_set(err, ERROR_USAGE,
                             "%s stands behind the key: options come before it, and \"--\" before "
                             "the command: leaserun run [options] KEY -- COMMAND",
                             next);
        return error_set(err, ERROR_USAGE,
                         "\"--\" is missing between key and command: leaserun run %s -- %s",
                         options->operands[0], next);
    }
    options->argv = argv + optind + 1;
    if (options->slot != NULL)
        return error_set(err, ERROR_USAGE,
                         "--slot is of a job of the table: leaserun run --slot TIME JOB");
    if (options->argv[0] == NULL)
        return error_set(err, ERROR_USAGE, "the command is missing behind \"--\"");
    if (options->argv[0][0] == '\0')
        return error_set(err, ERROR_USAGE, "the command behind \"--\" is an empty word");
    options->config.job.key = mem_strdup(options->operands[0]);
    return utf8_check_key(options->operands[0], err);
}

static bool check_operands(const struct options *options, struct error *err)
{
    const struct cli_command *command = options->command;
    if (options->operand_count < command->operands_least)
        return error_set(err, ERROR_USAGE, "%s needs more: leaserun %s %s", command->name,
                         command->name, command->synopsis);
    if (command->operands_most >= 0 && options->operand_count > command->operands_most)
        return error_set(err, ERROR_USAGE, "\"%s\" is one word too many: leaserun %s %s",
                         options->operands[command->operands_most], command->name,
                         command->synopsis);
    return true;
}

/* What getopt(3) calls optstring. */
static void add_letters(const struct parsing *parsing, const char *start, struct text *letters)
{
    text_add(letters, start);
    for (size_t i = 0; i < parsing->count; i++)
        if (parsing->rows[i]->letter != '\0')
            text_addf(letters, "%c%s", parsing->rows[i]->letter,
                      parsing->rows[i]->type == SETTING_SWITCH ? "" : ":");
}

static bool parse_words(struct parsing *parsing, int argc, char **argv, struct error *err)
{
    struct options *options = parsing->options;
    bool takes_argv = options->command->takes_argv;
    TEXT_AUTODONE struct text letters = TEXT_INIT;
    add_letters(parsing, takes_argv ? "+:h" : "-:h", &letters);
    optind = 0; /* glibc: start anew, whatever was parsed before */
    opterr = 0;
    for (int answer;
         (answer = getopt_long(argc, argv, text_string(&letters), parsing->longs, NULL)) != -1;)
        if (!take_answer(parsing, answer, argv, err))
            return false;
    if (options->is_help_wanted || options->is_version_wanted)
        return true;
    if (takes_argv)
        return take_argv(options, argc, argv, err);
    while (optind < argc)
        add_operand(options, argv[optind++]);
    return check_operands(options, err);
}

static bool refuse_command(const char *name, struct error *err)
{
    const char *nearest = NULL;
    for (const struct cli_command *command = cli_commands; command->name != NULL; command++)
        nearest = suggest_nearer(name, nearest, command->name);
    error_set(err, ERROR_USAGE, "there is no command \"%s\"", name);
    if (nearest == NULL)
        return error_set(err, ERROR_USAGE, "there is no command \"%s\"; see leaserun help", name);
    return suggest_add(err, nearest, "leaserun ");
}

/* A store's URL in a place where it makes no sense is quoted in the sentence like any other word:
 * folded as all sentences are. One so long that it may be cut is not looked for. */
static void hide_password(const char *url, struct error *err)
{
    MEM_AUTOFREE char *folded = mem_strdup(url);
    MEM_AUTOFREE char *redacted = store_url_redacted(url);
    if (!store_url_has_password(url))
        return;
    error_fold_line(folded);
    error_fold_line(redacted);
    TEXT_AUTODONE struct text sentence = TEXT_INIT;
    const char *rest = err->text;
    for (const char *at; (at = strstr(rest, folded)) != NULL; rest = at + strlen(folded)) {
        text_add_bytes(&sentence, rest, (size_t)(at - rest));
        text_add(&sentence, redacted);
    }
    text_add(&sentence, rest);
    if (strlen(folded) > sizeof err->text / 2)
        error_set(err, ERROR_USAGE, "what is wrong with this command line would show a password");
    else
        error_set(err, ERROR_USAGE, "%s", text_string(&sentence));
}

static void hide_passwords(const char *word, struct error *err)
{
    const char *bare = word + strspn(word, "-");
    const char *equals = strchr(bare, '=');
    hide_password(bare, err);
    if (equals == NULL)
        return;
    MEM_AUTOFREE char *name = mem_strndup(bare, (size_t)(equals - bare));
    hide_password(name, err);
    hide_password(equals + 1, err);
}

static bool parse(int argc, char **argv, struct options *ret_options, struct error *err)
{
    *ret_options = (struct options){.store_fd = -1};
    config_init(&ret_options->config);
    const char *name = argc > 1 ? argv[1] : NULL;
    if (name == NULL)
        return error_set(err, ERROR_USAGE, "what shall be done? See leaserun help");
    ret_options->is_help_wanted = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    ret_options->is_version_wanted = strcmp(name, "--version") == 0;
    if (ret_options->is_help_wanted || ret_options->is_version_wanted)
        return true;
    if (name[0] == '-')
        return error_set(err, ERROR_USAGE,
                         "%s stands where a command should: options come behind it, such as "
                         "leaserun run %s",
                         name, name);
    ret_options->command = commands_find(name);
    if (ret_options->command == NULL)
        return refuse_command(name, err);
    struct parsing parsing = {.options = ret_options};
    gather_rows(&parsing, ret_options->command);
    for (const struct setting *own = ret_options->command->own; own != NULL && own->option; own++)
        settings_put_initial(own, ret_options);
    bool is_good = parse_words(&parsing, argc - 1, argv + 1, err);
    free(parsing.rows);
    free(parsing.longs);
    return is_good;
}

bool options_parse(int argc, char **argv, struct options *ret_options, struct error *err)
{
    bool is_good = parse(argc, argv, ret_options, err);
    for (int i = 1; i < argc && !is_good; i++)
        hide_passwords(argv[i], err);
    return is_good;
}

static void put_given(struct options *options)
{
    struct error error;
    for (size_t i = 0; i < options->given_count; i++)
        put_option(options, options->given[i].setting, options->given[i].value, &error);
}

bool options_settle(struct options *options, struct ini_faults *faults)
{
    struct config *config = &options->config;
    const char *path = config->path == NULL ? CONFIG_PATH : config->path;
    bool is_good = config_read(config, path, config->path != NULL, faults);
    put_given(options);
    return is_good;
}

bool options_settle_table(struct options *options, struct job_table *ret_table,
                          struct ini_faults *faults)
{
    bool is_good = job_table_read(&options->config, options->operands,
                                  (size_t)options->operand_count, ret_table, faults);
    put_given(options);
    return is_good;
}

bool options_examine_table(struct options *options, struct job_table *ret_table,
                           struct ini_faults *faults)
{
    bool is_good = job_table_examine(&options->config, options->operands,
                                     (size_t)options->operand_count, ret_table, faults);
    put_given(options);
    return is_good;
}

bool options_settle_own_table(struct options *options, struct job_table *ret_table,
                              struct ini_faults *faults)
{
    bool is_good = job_table_read(&options->config, NULL, 0, ret_table, faults);
    put_given(options);
    return is_good;
}

void options_put_job(const struct options *options, struct job *job)
{
    struct error error;
    for (size_t i = 0; i < options->given_count; i++) {
        const struct setting *setting = options->given[i].setting;
        if ((SETTING_MASK(setting->group) & SETTING_OF_RUN) == 0)
            continue;
        assert(setting->type != SETTING_TEXT); /* the job's texts are the table's */
        settings_put(setting, options->given[i].value, job, &error);
    }
}

void options_done(struct options *options)
{
    config_done(&options->config);
    free(options->operands);
    free(options->given);
    free(options->slot);
    free(options->holder);
    free(options->unstarted);
    free(options->forget_key);
    free(options->mdoc);
    free(options->schedule);
    free(options->timezone);
    free(options->from);
    *options = (struct options){.store_fd = -1};
}
