/* SPDX-License-Identifier: ISC */
#include "cli/listing.h"

#include "base/mem.h"
#include "base/now.h"
#include "base/time_text.h"
#include "log/escape.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void listing_start(struct listing *listing, const struct listing_column *columns,
                   size_t column_count, bool is_json)
{
    *listing = (struct listing){columns, column_count, is_json, NULL, 0};
}

static void drop_cells(struct listing *listing)
{
    for (size_t i = 0; i < listing->cell_count; i++)
        free(listing->cells[i]);
    listing->cell_count = 0;
}

static void print_object(const struct listing *listing)
{
    for (size_t i = 0; i < listing->column_count; i++)
        printf("%s\"%s\":%s", i == 0 ? "{" : ",", listing->columns[i].name, listing->cells[i]);
    puts("}");
}

/* Takes the text over. */
static void add_cell(struct listing *listing, struct text *text)
{
    listing->cells = mem_grow(listing->cells, listing->cell_count + 1, sizeof(char *));
    listing->cells[listing->cell_count++] = text_detach(text);
    if (listing->is_json && listing->cell_count == listing->column_count) {
        print_object(listing);
        drop_cells(listing);
    }
}

void listing_nothing(struct listing *listing)
{
    struct text text = TEXT_INIT;
    text_add(&text, listing->is_json ? "null" : "-");
    add_cell(listing, &text);
}

void listing_bytes(struct listing *listing, const char *bytes, size_t count)
{
    struct text text = TEXT_INIT;
    if (bytes == NULL) {
        listing_nothing(listing);
        return;
    }
    if (listing->is_json)
        escape_json_bytes(&text, bytes, count);
    else
        escape_plain_bytes(&text, bytes, count);
    add_cell(listing, &text);
}

void listing_text(struct listing *listing, const char *value)
{
    listing_bytes(listing, value, value == NULL ? 0 : strlen(value));
}

/* Of up to three bytes. */
static void add_base64(struct text *text, const char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; i++)
        bits = bits << 8 | (i < count ? (unsigned char)bytes[i] : 0);
    for (size_t i = 0; i < 4; i++)
        text_add_char(text, i <= count ? digits[bits >> (18 - 6 * i) & 63] : '=');
}

void listing_base64(struct listing *listing, const char *bytes, size_t count)
{
    struct text text TEXT_AUTODONE = TEXT_INIT;
    if (bytes == NULL) {
        listing_nothing(listing);
        return;
    }
    for (size_t at = 0; at < count; at += 3)
        add_base64(&text, bytes + at, count - at < 3 ? count - at : 3);
    listing_bytes(listing, text_string(&text), text.length);
}

void listing_number(struct listing *listing, int64_t value)
{
    struct text text = TEXT_INIT;
    text_addf(&text, "%" PRId64, value);
    add_cell(listing, &text);
}

void listing_fence(struct listing *listing, int64_t fence)
{
    if (fence > 0)
        listing_number(listing, fence);
    else
        listing_nothing(listing);
}

void listing_span(struct listing *listing, int64_t ms)
{
    char span[TIME_TEXT_MAX];
    if (listing->is_json)
        listing_number(listing, ms);
    else
        listing_text(listing, time_text_span(ms, span));
}

void listing_instant(struct listing *listing, int64_t wall_us)
{
    char instant[TIME_TEXT_MAX];
    if (wall_us == NO_INSTANT)
        listing_nothing(listing);
    else if (listing->is_json)
        listing_text(listing, time_text_us(wall_us, instant));
    else
        listing_text(listing, time_text_s(wall_us, instant));
}

/* Characters, not bytes, so that a key in UTF-8 does not push its row out of line. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

static int column_width(const struct listing *listing, size_t column)
{
    int widest = width_of(listing->columns[column].title);
    for (size_t i = column; i < listing->cell_count; i += listing->column_count) {
        int width = width_of(listing->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_cell(const struct listing *listing, size_t column, int width, const char *text)
{
    if (column + 1 == listing->column_count)
        printf("%s\n", text);
    else
        printf("%s%*s", text, width - width_of(text) + 2, "");
}

static void print_columns(const struct listing *listing)
{
    assert(listing->column_count > 0);
    MEM_AUTOFREE int *widths = mem_array(listing->column_count, sizeof *widths);
    for (size_t i = 0; i < listing->column_count; i++)
        widths[i] = column_width(listing, i);
    for (size_t i = 0; i < listing->column_count; i++)
        print_cell(listing, i, widths[i], listing->columns[i].title);
    for (size_t i = 0; i < listing->cell_count; i++) {
        size_t column = i % listing->column_count;
        print_cell(listing, column, widths[column], listing->cells[i]);
    }
}

void listing_end(struct listing *listing)
{
    if (listing->cell_count > 0)
        print_columns(listing);
    drop_cells(listing);
    free(listing->cells);
    listing->cells = NULL;
}
