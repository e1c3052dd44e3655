/* The tokens that BLEU counts: see bleu.h. 13a is a chain of replacements, done here one after another as there. They
 * look at bytes: none of a longer character is one of those that they look for. */
#include "core/text/bleu_inner.h"

#include "base/memory.h"
#include "core/text/lower.h"
#include "core/text/spaces.h"

#include <string.h>

static void swap(Buffer *a, Buffer *b)
{
    Buffer was = *a;
    *a = *b;
    *b = was;
}

/* Puts `to` wherever `from` is, from the left. */
static void replace(Bleu *b, const char *from, const char *to)
{
    const char *text = b->line.text;
    size_t size = b->line.size, length = strlen(from), copied = 0;
    b->work.size = 0;
    for (size_t i = 0; i + length <= size; i++) {
        if (text[i] != *from || memcmp(text + i, from, length))
            continue;
        buffer_add(&b->work, text + copied, i - copied);
        buffer_add(&b->work, to, strlen(to));
        copied = i + length;
        i = copied - 1;
    }
    buffer_add(&b->work, text + copied, size - copied);
    swap(&b->line, &b->work);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_stop(char c) { return c == '.' || c == ','; }

/* Marks that are tokens wherever they stand; ' , - . are none of them. */
static bool is_mark(char c)
{
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* Each looks at one or two characters, adds to `out` what becomes of them, and says how many they were. */
static size_t part_mark(const char *c, size_t size, Buffer *out)
{
    (void)size;
    buffer_add(out, " ", is_mark(*c));
    buffer_add(out, c, 1);
    buffer_add(out, " ", is_mark(*c));
    return 1;
}

static size_t part_stop_behind_letter(const char *c, size_t size, Buffer *out)
{
    bool found = size > 1 && !is_digit(c[0]) && is_stop(c[1]);
    buffer_add(out, c, 1);
    if (found)
        buffer_print(out, " %c ", c[1]);
    return 1 + found;
}

static size_t part_stop_before_letter(const char *c, size_t size, Buffer *out)
{
    bool found = size > 1 && is_stop(c[0]) && !is_digit(c[1]);
    if (found)
        buffer_print(out, " %c ", c[0]);
    buffer_add(out, c + found, 1);
    return 1 + found;
}

static size_t part_dash_behind_digit(const char *c, size_t size, Buffer *out)
{
    bool found = size > 1 && is_digit(c[0]) && c[1] == '-';
    buffer_add(out, c, 1);
    buffer_add(out, " - ", found ? 3 : 0);
    return 1 + found;
}

static void make_tokens(Bleu *b)
{
    static size_t (*const parts[])(const char *, size_t, Buffer *) = {part_mark, part_stop_behind_letter,
                                                                      part_stop_before_letter, part_dash_behind_digit};
    static const char *const replaced[][2] = {{"<skipped>", ""}, {"-\n", ""},   {"\n", " "},  {"&quot;", "\""},
                                              {"&amp;", "&"},    {"&lt;", "<"}, {"&gt;", ">"}};
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        replace(b, replaced[i][0], replaced[i][1]);
    b->work.size = 0;
    buffer_add(&b->work, " ", 1);
    buffer_add(&b->work, b->line.text, b->line.size);
    buffer_add(&b->work, " ", 1);
    swap(&b->line, &b->work);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        b->work.size = 0;
        for (size_t at = 0; at < b->line.size;)
            at += parts[i](b->line.text + at, b->line.size - at, &b->work);
        swap(&b->line, &b->work);
    }
}

bool bleu_prepare(Bleu *b, BleuText text, Error *e)
{
    b->line.size = 0;
    if (b->lower)
        lower_add(&b->line, text.text, text.size);
    else
        buffer_add(&b->line, text.text, text.size);
    buffer_add(&b->line, "", 0);
    for (size_t i = 0; i < b->line.size; i++)
        b->line.text[i] = b->line.text[i] ? b->line.text[i] : 1;
    for (size_t space; (space = space_behind(b->line.text, b->line.size)) > 0;)
        b->line.size -= space;
    if (b->tokens == BLEU_13A && !b->line.failed)
        make_tokens(b);
    return (!b->line.failed && !b->work.failed) || memory_error(e, "a line that is scored", text.size, 1);
}

bool bleu_next_token(const Bleu *b, size_t *at, BleuText *token)
{
    const char *text = b->line.text;
    size_t i = *at, size = b->line.size, length;
    while ((length = space_length(text + i, size - i)) > 0)
        i += length;
    size_t start = i;
    while (i < size && !space_length(text + i, size - i))
        i++;
    *at = i;
    *token = (BleuText){text + start, i - start};
    return i > start;
}

bool bleu_13a(Bleu *b, BleuText line, Buffer *out, Error *e)
{
    BleuText token;
    if (!bleu_prepare(b, line, e))
        return false;
    for (size_t at = 0, n = 0; bleu_next_token(b, &at, &token); n++) {
        buffer_add(out, " ", n > 0);
        buffer_add(out, token.text, token.size);
    }
    return !out->failed || memory_error(e, "a line of tokens", out->size, 1);
}

size_t bleu_tokenised_lines(BleuText text)
{
    size_t lines = 0;
    for (const char *line = text.text, *all = text.text + text.size; line < all;) {
        const char *newline = memchr(line, '\n', (size_t)(all - line)), *end = newline ? newline : all;
        size_t size = (size_t)(end - line);
        for (size_t space; (space = space_behind(line, size)) > 0;)
            size -= space;
        lines += size > 1 && line[size - 2] == ' ' && line[size - 1] == '.';
        line = newline ? newline + 1 : all;
    }
    return lines;
}
