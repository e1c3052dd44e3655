/* See moses.h: text to tokens. A text goes through a few passes, each of which puts spaces where one rule wants them,
 * in the order of Moses' tokenizer.perl; later rules see the spaces of earlier ones. What a pass reads and writes are
 * code points; a run of two dots or more is one number, DOTS and how many.
 *
 * Where sacremoses differs, on purpose: it writes runs of dots as the word DOTDOTMULTI while it works, so a text that
 * holds such words comes out with dots in their place. Here it is text. Some 300 marks of scripts beyond Europe, and
 * characters that came to Unicode after 2015, may be split from words, or not, where sacremoses does not, or does. */
#include "core/text/moses.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "core/text/moses_inner.h"

#include <string.h>

#define DOTS 0x80000000u

/* --- what characters are --- */

/* Scripts whose characters are words of their own. */
static bool stands_alone(uint32_t code)
{
    return code > 0xFFFF || (code >= 0x3400 && code <= 0x9FFF) || (code >= 0xF900 && code <= 0xFAFF) ||
           (code >= 0xAC00 && code <= 0xD7A3) || code == 0x3005 || code == 0x3007 ||
           (code >= 0x3021 && code <= 0x3029) || (code >= 0x3038 && code <= 0x303B);
}

/* From Hebrew on, vowels may be marks. Not those marks that go with any script. */
static bool is_vowel_mark(uint32_t code, UnicodeKind kind)
{
    bool any = (code >= 0x1AB0 && code <= 0x1AFF) || (code >= 0x1DC0 && code <= 0x1DFF) ||
               (code >= 0x20D0 && code <= 0x20FF) || (code >= 0x302A && code <= 0x309A);
    return (kind == UNICODE_ACCENT || kind == UNICODE_MARK) && code >= 0x5B0 && code < 0xFE00 && !any;
}

bool moses_is_alpha(uint32_t code)
{
    UnicodeKind kind = unicode_kind(code);
    return !stands_alone(code) && (unicode_is_letter(kind) || kind == UNICODE_NUMERAL || is_vowel_mark(code, kind) ||
                                   (code >= 0x24B6 && code <= 0x24E9));
}

static bool is_number(uint32_t code) { return !stands_alone(code) && unicode_is_number(unicode_kind(code)); }

static bool is_alnum(uint32_t code)
{
    return moses_is_alpha(code) || (!stands_alone(code) && unicode_kind(code) == UNICODE_DIGIT);
}

static bool is_small(uint32_t code)
{
    return unicode_kind(code) == UNICODE_SMALL || code == 0xAA || code == 0xBA || (code >= 0x2170 && code <= 0x217F);
}

static bool is_no_alpha(uint32_t code) { return !moses_is_alpha(code); }
static bool is_no_number(uint32_t code) { return !is_number(code); }
static bool is_neither(uint32_t code) { return !moses_is_alpha(code) && !is_number(code); }
static bool is_s(uint32_t code) { return code == 's'; }

/* --- passes --- */

typedef struct Codes {
    const uint32_t *at; /* [count] */
    size_t count;
} Codes;

static Codes codes_of(const Buffer *b)
{
    return (Codes){(const uint32_t *)(const void *)b->text, b->size / sizeof(uint32_t)};
}

static void put(Buffer *to, uint32_t code) { buffer_add(to, &code, sizeof code); }

static void put_all(Buffer *to, const char *ascii)
{
    while (*ascii)
        put(to, (unsigned char)*ascii++);
}

/* Text as code points, without control characters, one space where there was white space, none at the ends. */
static void clean(const char *text, size_t size, Buffer *to)
{
    bool space = false;
    for (size_t at = 0, length; at < size; at += length ? length : 1) {
        uint32_t code = 0xFFFD;
        length = utf8_decode(&code, text + at, size - at);
        if (unicode_is_python_space(code))
            space = to->size > 0;
        else if (code >= ' ') {
            if (space)
                put(to, ' ');
            put(to, code);
            space = false;
        }
    }
}

/* Marks other than . ' ` , - stand alone. */
static void part_marks(Codes c, Buffer *to)
{
    for (size_t i = 0; i < c.count; i++) {
        bool mark = c.at[i] >= 0x80 || !strchr(" .'`,-", (char)c.at[i]) ? !is_alnum(c.at[i]) : false;
        if (mark)
            put(to, ' ');
        put(to, c.at[i]);
        if (mark)
            put(to, ' ');
    }
}

static void part_hyphens(Codes c, Buffer *to)
{
    for (size_t i = 0; i < c.count; i++)
        if (c.at[i] == '-' && i && i + 1 < c.count && is_alnum(c.at[i - 1]) && is_alnum(c.at[i + 1]))
            put_all(to, " @-@ ");
        else
            put(to, c.at[i]);
}

static void part_dots(Codes c, Buffer *to)
{
    for (size_t i = 0, run; i < c.count; i += run) {
        for (run = 1; c.at[i] == '.' && i + run < c.count && c.at[i + run] == '.';)
            run++;
        if (run > 1) {
            put(to, ' ');
            put(to, DOTS + (uint32_t)run);
            put(to, ' ');
        } else
            put(to, c.at[i]);
    }
}

/* A mark between two characters of which something is true; what it becomes. */
typedef struct Rule {
    char mark;
    bool (*left)(uint32_t code), (*right)(uint32_t code); /* NULL: nothing is looked at, or needed, there */
    const char *becomes;
} Rule;

/* From the left; a character that one match has looked at is not looked at by the next. */
static void apply(const Rule *rule, Codes c, Buffer *to)
{
    size_t before = rule->left ? 1 : 0, length = before + 1 + (rule->right ? 1 : 0);
    for (size_t i = 0; i < c.count;) {
        bool match = i + length <= c.count && c.at[i + before] == (unsigned char)rule->mark &&
                     (!rule->left || rule->left(c.at[i])) && (!rule->right || rule->right(c.at[i + before + 1]));
        if (!match) {
            put(to, c.at[i++]);
            continue;
        }
        if (rule->left)
            put(to, c.at[i]);
        put_all(to, rule->becomes);
        if (rule->right)
            put(to, c.at[i + before + 1]);
        i += length;
    }
}

/* A comma stands alone, but between digits: 5,000. */
static const Rule commas[] = {{',', is_no_number, NULL, " , "}, {',', NULL, is_no_number, " , "}, {0}};

/* It 's; rock 'n' roll; 1990 's. */
static const Rule english[] = {{'\'', is_no_alpha, is_no_alpha, " ' "},
                               {'\'', is_neither, moses_is_alpha, " ' "},
                               {'\'', moses_is_alpha, is_no_alpha, " ' "},
                               {'\'', moses_is_alpha, moses_is_alpha, " '"},
                               {'\'', is_number, is_s, " '"},
                               {0}};
static const Rule german[] = {{'\'', NULL, NULL, " ' "}, {0}};
/* L' eau. */
static const Rule french[] = {{'\'', is_no_alpha, is_no_alpha, " ' "},
                              {'\'', is_no_alpha, moses_is_alpha, " ' "},
                              {'\'', moses_is_alpha, is_no_alpha, " ' "},
                              {'\'', moses_is_alpha, moses_is_alpha, "' "},
                              {0}};
static const Rule *const apostrophes[] = {english, german, french};

/* A comma after a last digit. */
static void part_last_comma(Codes c, Buffer *to)
{
    buffer_add(to, c.at, c.count * sizeof *c.at);
    if (c.count > 1 && c.at[c.count - 1] == ',' && is_number(c.at[c.count - 2])) {
        to->size -= to->failed ? 0 : sizeof *c.at;
        put_all(to, " ,");
    }
}

/* --- dots --- */

static size_t token_end(Codes c, size_t at)
{
    while (at < c.count && c.at[at] != ' ')
        at++;
    return at;
}

/* Whether a word at `from`, which ends in a dot at `dot`, keeps it; a space or nothing is after. */
static bool keeps_dot(MosesLanguage language, Codes c, size_t from, size_t dot)
{
    enum { LONGEST = 16 }; /* in the lists */
    char word[4 * LONGEST];
    bool inside = false, alpha = false, before_digits = false;
    size_t size = 0, next = dot + 1;
    for (size_t i = from; i < dot; i++) {
        inside |= c.at[i] == '.';
        alpha |= moses_is_alpha(c.at[i]);
        if (dot - from <= LONGEST)
            size += utf8_encode(word + size, c.at[i] & 0x1FFFFF);
    }
    while (next < c.count && c.at[next] == ' ')
        next++;
    uint32_t after = next < c.count ? c.at[next] : 0;
    if ((inside && alpha) || is_small(after))
        return true;
    return moses_keeps_dot(language, word, size, &before_digits) && (!before_digits || (after >= '0' && after <= '9'));
}

static void part_last_dots(MosesLanguage language, Codes c, Buffer *to)
{
    for (size_t at = 0, end; at < c.count; at = end) {
        put(to, ' ');
        while (at < c.count && c.at[at] == ' ')
            at++;
        end = token_end(c, at);
        bool parted = end - at >= 2 && c.at[end - 1] == '.' && !keeps_dot(language, c, at, end - 1);
        buffer_add(to, c.at + at, (end - at - parted) * sizeof *c.at);
        if (parted)
            put_all(to, " .");
    }
}

/* A text that ends in .' has two tokens there. */
static void part_end(Codes c, Buffer *to)
{
    size_t end = c.count;
    while (end && c.at[end - 1] == ' ')
        end--;
    bool parted = end >= 2 && c.at[end - 2] == '.' && c.at[end - 1] == '\'';
    buffer_add(to, c.at, (parted ? end - 2 : end) * sizeof *c.at);
    if (parted)
        put_all(to, " . '");
}

/* --- writing --- */

static const char *entity(uint32_t code)
{
    switch (code) {
    case '&': return "&amp;";
    case '|': return "&#124;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '\'': return "&apos;";
    case '"': return "&quot;";
    case '[': return "&#91;";
    case ']': return "&#93;";
    default: return NULL;
    }
}

static void write_code(uint32_t code, bool escape, Buffer *out)
{
    char bytes[4];
    const char *name = escape ? entity(code) : NULL;
    for (uint32_t i = DOTS; i < code; i++)
        buffer_add(out, ".", 1);
    if (name)
        buffer_add(out, name, strlen(name));
    else if (code < DOTS)
        buffer_add(out, bytes, utf8_encode(bytes, code));
}

static void write_tokens(Codes c, bool escape, Buffer *out)
{
    bool first = true;
    for (size_t i = 0; i < c.count; i++) {
        if (c.at[i] == ' ')
            continue;
        if (!first && c.at[i - 1] == ' ')
            buffer_add(out, " ", 1);
        write_code(c.at[i], escape, out);
        first = false;
    }
}

/* --- all passes --- */

/* What the last pass wrote in `to` is read by the next one. */
static Codes turn(Buffer *from, Buffer *to)
{
    Buffer read = *from;
    *from = *to;
    *to = read;
    to->size = 0;
    if (from->failed)
        from->size = 0;
    return codes_of(from);
}

static void apply_all(const Rule *rules, Buffer *from, Buffer *to)
{
    for (; rules->mark; rules++)
        apply(rules, turn(from, to), to);
}

bool moses_tokenise(Moses how, const char *text, size_t size, Buffer *out, Error *e)
{
    Buffer from = {0}, to = {0};
    clean(text, size, &to);
    part_marks(turn(&from, &to), &to);
    if (how.hyphens)
        part_hyphens(turn(&from, &to), &to);
    part_dots(turn(&from, &to), &to);
    apply_all(commas, &from, &to);
    part_last_comma(turn(&from, &to), &to);
    apply_all(apostrophes[how.language], &from, &to);
    part_last_dots(how.language, turn(&from, &to), &to);
    part_end(turn(&from, &to), &to);
    write_tokens(turn(&from, &to), how.escape, out);
    bool failed = from.failed || to.failed || out->failed;
    buffer_free(&from);
    buffer_free(&to);
    return !failed || memory_error(e, "tokens of a text", size, sizeof(uint32_t));
}

bool moses_language(MosesLanguage *language, const char *name, Error *e)
{
    static const char *const names[] = {"en", "de", "fr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) {
            *language = (MosesLanguage)i;
            return true;
        }
    return fail(e, "there is no tokenization for the language '%.40s', only for en, de and fr", name);
}
