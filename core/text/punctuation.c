/* See punctuation.h. Each rule goes over the whole text, in the order of the script, and reads what those before it have
 * made. */
#include "core/text/punctuation.h"

#include "base/utf8.h"
#include "core/text/spaces.h"
#include "core/text/unicode.h"

#include <string.h>

/* A text, and the room for what the next rule makes of it. */
typedef struct Passes {
    Buffer text, next;
} Passes;

static void turn(Passes *p)
{
    Buffer made = p->next;
    made.failed = made.failed || p->text.failed;
    p->next = p->text, p->text = made;
    p->next.size = 0;
}

static bool starts(const char *at, const char *end, const char *with)
{
    const size_t size = strlen(with);
    return (size_t)(end - at) >= size && memcmp(at, with, size) == 0;
}

static void replace(Passes *p, const char *from, const char *to)
{
    const char *at = p->text.text, *end = at + p->text.size;
    const size_t size = strlen(from);
    while (at < end) {
        const char *found = memchr(at, *from, (size_t)(end - at));
        found = found ? found : end;
        buffer_add(&p->next, at, (size_t)(found - at));
        at = found;
        if (at < end && starts(at, end, from))
            buffer_add(&p->next, to, strlen(to)), at += size;
        else if (at < end)
            buffer_add(&p->next, at++, 1);
    }
    turn(p);
}

/* Pairs of what is replaced and by what, one after another; the last is a NULL. */
static void replace_all(Passes *p, const char *const *pairs)
{
    for (; *pairs; pairs += 2)
        replace(p, pairs[0], pairs[1]);
}

static void squeeze_spaces(Passes *p)
{
    for (size_t i = 0; i < p->text.size; i++)
        if (p->text.text[i] != ' ' || !i || p->text.text[i - 1] != ' ')
            buffer_add(&p->next, p->text.text + i, 1);
    turn(p);
}

/* ") ." is ")." */
static void close_brackets(Passes *p)
{
    const char *at = p->text.text, *end = at + p->text.size;
    for (; at < end; at++) {
        buffer_add(&p->next, at, 1);
        at += *at == ')' && end - at > 2 && at[1] == ' ' && memchr(".!:?;,", at[2], 6);
    }
    turn(p);
}

/* The bytes of the digit that a text begins with, of any script; 0: none. */
static size_t digit_length(const char *at, const char *end)
{
    uint32_t code;
    const size_t size = at < end ? utf8_decode(&code, at, (size_t)(end - at)) : 0;
    return size && unicode_kind(code) == UNICODE_DIGIT ? size : 0;
}

/* A digit, `between`, and where another has to follow a digit: `becomes` is in the place of what is between. Both digits are
 * read, and belong to no other such place. */
static void after_digit(Passes *p, const char *between, const char *becomes, bool another)
{
    const char *at = p->text.text, *end = at + p->text.size;
    while (at < end) {
        const size_t first = digit_length(at, end);
        const char *then = at + first + strlen(between);
        const size_t second = first && starts(at + first, end, between) ? digit_length(then, end) : 0;
        buffer_add(&p->next, at, first ? first : 1);
        if (first && starts(at + first, end, between) && (second || !another)) {
            buffer_add(&p->next, becomes, strlen(becomes));
            buffer_add(&p->next, then, another ? second : 0);
            at = then + (another ? second : 0);
        } else
            at += first ? first : 1;
    }
    turn(p);
}

/* English: a quotation ends after commas and dots. */
static void quote_after_marks(Passes *p)
{
    const char *at = p->text.text, *end = at + p->text.size;
    while (at < end) {
        const char *mark = at + 1;
        while (*at == '"' && mark < end && (*mark == ',' || *mark == '.'))
            mark++;
        buffer_add(&p->next, at + 1, (size_t)(mark - at - 1));
        buffer_add(&p->next, at, 1);
        at = mark;
    }
    turn(p);
}

/* Others: before dots, if a text follows that is not a tag. That is read, too: white space and one character, or of white space
 * the last. */
static void quote_before_dots(Passes *p)
{
    const char *at = p->text.text, *end = at + p->text.size;
    while (at < end) {
        const char *quote = at;
        while (quote < end && *quote == '.')
            quote++;
        const char *then = quote < end && quote > at && *quote == '"' ? quote + 1 : NULL, *space = then;
        for (size_t n; space && space < end && (n = space_length(space, (size_t)(end - space)));)
            space += n;
        if (space && space < end && *space != '<')
            space += utf8_step(space, (size_t)(end - space));
        if (space > then) {
            buffer_add(&p->next, quote, 1);
            buffer_add(&p->next, at, (size_t)(quote - at));
            buffer_add(&p->next, then, (size_t)(space - then));
            at = space;
        } else {
            const char *next = quote > at ? quote : at + 1;
            buffer_add(&p->next, at, (size_t)(next - at));
            at = next;
        }
    }
    turn(p);
}

#define NBSP "\xC2\xA0"

static void marks(Passes *p)
{
    static const char *const brackets[] = {"\r", "", "(", " (", ")", ") ", NULL};
    static const char *const inside[] = {"( ", "(", " )", ")", NULL};
    static const char *const quotes[] = {" :", ":", " ;", ";", "`", "'", "''", " \" ", NULL};
    static const char *const dashes[] = {"\u201E", "\"", "\u201C", "\"",  "\u201D", "\"",
                                         "\u2013", "-",  "\u2014", " - ", NULL};
    static const char *const others[] = {"\u00B4",
                                         "'",
                                         "\u2018",
                                         "'",
                                         "\u201A",
                                         "'",
                                         "\u2019",
                                         "'",
                                         "''",
                                         "\"",
                                         "\u2026",
                                         "...",
                                         NBSP "\u00AB" NBSP,
                                         "\"",
                                         "\u00AB" NBSP,
                                         "\"",
                                         "\u00AB",
                                         "\"",
                                         NBSP "\u00BB" NBSP,
                                         "\"",
                                         NBSP "\u00BB",
                                         "\"",
                                         "\u00BB",
                                         "\"",
                                         NBSP "%",
                                         "%",
                                         "n\u00BA" NBSP,
                                         "n\u00BA ",
                                         NBSP ":",
                                         ":",
                                         NBSP "\u00BA"
                                              "C",
                                         " \u00BA"
                                         "C",
                                         NBSP "cm",
                                         " cm",
                                         NBSP "?",
                                         "?",
                                         NBSP "!",
                                         "!",
                                         NBSP ";",
                                         ";",
                                         "," NBSP,
                                         ", ",
                                         NULL};
    replace_all(p, brackets);
    squeeze_spaces(p);
    close_brackets(p);
    replace_all(p, inside);
    after_digit(p, " %", "%", false);
    replace_all(p, quotes);
    replace_all(p, dashes);
    squeeze_spaces(p);
    replace_all(p, others);
    squeeze_spaces(p);
}

static bool is_one_of(const char *language, const char *list)
{
    return strlen(language) == 2 && strstr(list, language);
}

void punctuation_normalize(const char *language, const char *text, size_t size, Buffer *out)
{
    Passes p = {.text = {0}};
    buffer_add(&p.text, text, size);
    marks(&p);
    if (is_one_of(language, "en"))
        quote_after_marks(&p);
    if (is_one_of(language, "de es fr")) {
        replace(&p, ",\"", "\",");
        quote_before_dots(&p);
    }
    after_digit(&p, NBSP, is_one_of(language, "de es cz cs fr") ? "," : ".", true);
    const char *at = p.text.text;
    size_t left = p.text.size;
    for (size_t n; left && (n = space_length(at, left)); left -= n)
        at += n;
    for (size_t n; left && (n = space_behind(at, left));)
        left -= n;
    buffer_add(out, at, left);
    out->failed = out->failed || p.text.failed;
    buffer_free(&p.text);
    buffer_free(&p.next);
}
