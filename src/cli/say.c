/* SPDX-License-Identifier: ISC */
#include "cli/say.h"

#include "base/bounded_write.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/text.h"
#include "log/escape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void say_sentence(const char *sentence)
{
    static bool is_stuck;
    TEXT_AUTODONE struct text line = TEXT_INIT;
    text_add(&line, "leaserun: ");
    escape_plain(&line, sentence);
    text_add_char(&line, '\n');
    bounded_write(STDERR_FILENO, &is_stuck, line.bytes, line.length);
}

int say_error(const struct error *err)
{
    say_sentence(err->text);
    return (int)exit_code_of_error(err->kind);
}

void say_line(const char *format, ...)
{
    char sentence[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    say_sentence(sentence);
}

int say_faults(const struct ini_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        MEM_AUTOFREE char *sentence = ini_faults_sentence(faults, i);
        say_sentence(sentence);
    }
    return EXIT_CONFIG;
}

int say_flushed(int code)
{
    errno = 0;
    bool is_good = fflush(stdout) == 0 && !ferror(stdout);
    int errno_value = errno;
    clearerr(stdout);
    if (is_good || code != 0)
        return code;
    say_line("the output could not be written%s%s", errno_value == 0 ? "" : ": ",
             errno_value == 0 ? "" : strerror(errno_value));
    return EXIT_OUTPUT;
}
