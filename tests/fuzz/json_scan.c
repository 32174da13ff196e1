/* SPDX-License-Identifier: ISC */
#include "json_scan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* As UTF-8 at *out, behind which it moves *out. Surrogates are never written by leaserun. */
static bool read_unicode(const char **at, char **out)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++, (*at)++) {
        int digit = hex_digit(**at);
        if (digit < 0)
            return false;
        value = value << 4 | (unsigned)digit;
    }
    if (value == 0 || (value >= 0xd800 && value <= 0xdfff))
        return false;
    if (value < 0x80) {
        *(*out)++ = (char)value;
    } else if (value < 0x800) {
        *(*out)++ = (char)(0xc0 | value >> 6);
        *(*out)++ = (char)(0x80 | (value & 0x3f));
    } else {
        *(*out)++ = (char)(0xe0 | value >> 12);
        *(*out)++ = (char)(0x80 | (value >> 6 & 0x3f));
        *(*out)++ = (char)(0x80 | (value & 0x3f));
    }
    return true;
}

static bool read_escape(const char **at, char **out)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char letter = *(*at)++;
    if (letter == 'u')
        return read_unicode(at, out);
    const char *found = letter == '\0' ? NULL : strchr(letters, letter);
    if (found == NULL)
        return false;
    *(*out)++ = meant[found - letters];
    return true;
}

char *json_read_string(const char **at)
{
    if (**at != '"')
        return NULL;
    (*at)++;
    char *string = malloc(strlen(*at) + 1); /* no escape is longer unescaped */
    char *out = string;
    while (string != NULL && **at != '"') {
        bool is_good = (unsigned char)**at >= 0x20;
        if (is_good && **at == '\\') {
            (*at)++;
            is_good = read_escape(at, &out);
        } else if (is_good) {
            *out++ = *(*at)++;
        }
        if (!is_good) {
            free(string);
            return NULL;
        }
    }
    if (string != NULL) {
        *out = '\0';
        (*at)++;
    }
    return string;
}

static bool skip_number(const char **at)
{
    *at += **at == '-';
    size_t length = strspn(*at, "0123456789");
    bool is_number = length == 1 || (length > 1 && **at != '0');
    *at += length;
    return is_number;
}

static bool skip_value(const char **at)
{
    if (**at != '"')
        return skip_number(at);
    char *string = json_read_string(at);
    bool is_string = string != NULL;
    free(string);
    return is_string;
}

/* Names, in order; more of them than an event has members. */
struct names {
    char *names[32];
    size_t count;
};

static bool take_name(struct names *names, char *name)
{
    if (name == NULL || names->count == sizeof names->names / sizeof names->names[0]) {
        free(name);
        return false;
    }
    bool is_new = true;
    for (size_t i = 0; i < names->count; i++)
        is_new = is_new && strcmp(names->names[i], name) != 0;
    names->names[names->count++] = name;
    return is_new;
}

static bool read_members(const char **at, struct names *names)
{
    do {
        (*at)++; /* the brace or the comma */
        if (!take_name(names, json_read_string(at)) || *(*at)++ != ':' || !skip_value(at))
            return false;
    } while (**at == ',');
    return true;
}

bool json_is_object(const char *text)
{
    struct names names = {.count = 0};
    bool is_good = *text == '{' && read_members(&text, &names) && strcmp(text, "}") == 0;
    for (size_t i = 0; i < names.count; i++)
        free(names.names[i]);
    return is_good;
}

char *json_member(const char *text, const char *name)
{
    for (const char *at = text + 1; *at == '"';) {
        char *found = json_read_string(&at);
        bool is_it = found != NULL && strcmp(found, name) == 0;
        free(found);
        at++; /* the colon */
        if (is_it)
            return json_read_string(&at);
        if (!skip_value(&at))
            return NULL;
        at += *at == ',';
    }
    return NULL;
}
