/* See treebank_words.h. Three passes: typographic marks become those of ASCII, marks are set apart by spaces, and what
 * stands between spaces is split where it is two words. */
#include "core/text/treebank_words.h"

#include <string.h>
#include <strings.h>

typedef struct Written {
    const char *text, *as;
} Written;

static const Written typographic[] = {{"“", "``"}, {"”", "''"}, {"„", "``"}, {"«", "``"}, {"»", "''"},
                                      {"‘", "`"},  {"’", "'"},  {"–", "--"}, {"—", "--"}, {"…", "..."}};

/* A longer one stands before those that begin it. */
static const Written marks[] = {
    {"...", "..."}, {"``", "``"}, {"''", "''"}, {"(", "-LRB-"}, {")", "-RRB-"}, {"{", "-LCB-"}, {"}", "-RCB-"},
    {"[", "["},     {"]", "]"},   {"<", "<"},   {">", ">"},     {"?", "?"},     {"!", "!"},     {";", ";"},
    {"%", "%"},     {"#", "#"},   {"`", "`"},   {",", ","},     {":", ":"},     {"&", "&"},     {"@", "@"}};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static bool begins(const char *text, size_t size, const char *with)
{
    return size >= strlen(with) && !memcmp(text, with, strlen(with));
}

static const Written *written(const Written *table, size_t count, const char *text, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (begins(text, size, table[i].text))
            return &table[i];
    return NULL;
}

static void add(Buffer *b, const char *text) { buffer_add(b, text, strlen(text)); }

static void add_plain(Buffer *b, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        const Written *w = written(typographic, COUNT(typographic), text + i, size - i);
        if (w)
            add(b, w->as);
        else
            buffer_add(b, text[i] ? text + i : " ", 1);
        i += w ? strlen(w->text) : 1;
    }
}

/* --- marks --- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Of any alphabet. */
static bool is_letter(char c) { return (unsigned char)c >= 0x80 || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

/* Where the dot is that ends the sentence: only what closes is after it. `size`: there is none, or it is a word. */
static size_t last_dot(const char *text, size_t size)
{
    size_t at = size;
    while (at && (is_space(text[at - 1]) || strchr("\"')]}>", text[at - 1])))
        at--;
    const bool dot = at > 1 && text[at - 1] == '.' && !is_space(text[at - 2]) && text[at - 2] != '.';
    return dot ? at - 1 : size;
}

/* Whether the mark at i belongs to the word around it. */
static bool is_within(const char *text, size_t size, size_t i)
{
    const char before = i ? text[i - 1] : ' ', after = i + 1 < size ? text[i + 1] : ' ';
    if (text[i] == ',' || text[i] == ':')
        return is_digit(before) && is_digit(after);
    if (text[i] == '%') /* before a dash it is none: 62%--half */
        return is_digit(before) && after == '-' && !begins(text + i + 1, size - i - 1, "--");
    return (text[i] == '&' || text[i] == '@') && is_letter(before) && is_letter(after);
}

static bool opens(const char *text, size_t i) { return !i || is_space(text[i - 1]) || strchr("([{<`\"", text[i - 1]); }

static void add_apart(Buffer *b, const char *mark)
{
    add(b, " ");
    add(b, mark);
    add(b, " ");
}

/* Adds what is at i, and returns how many bytes of the text that is. */
static size_t add_next(Buffer *b, const char *text, size_t size, size_t i)
{
    const Written *mark = written(marks, COUNT(marks), text + i, size - i);
    size_t dashes = 0;
    while (i + dashes < size && text[i + dashes] == '-')
        dashes++;
    if (dashes > 1) {
        add_apart(b, "--");
        return dashes;
    }
    if (mark && !is_within(text, size, i)) {
        add_apart(b, mark->as);
        return strlen(mark->text);
    }
    if (text[i] == '"')
        add_apart(b, opens(text, i) ? "``" : "''");
    else if (text[i] == '$') /* US$ is a word */
        add(b, i && is_letter(text[i - 1]) ? "$ " : " $ ");
    else
        buffer_add(b, text + i, 1);
    return 1;
}

static void add_marks_apart(Buffer *b, const char *text, size_t size)
{
    const size_t end = last_dot(text, size);
    for (size_t i = 0; i < size;)
        if (i == end) {
            add_apart(b, ".");
            i++;
        } else {
            i += add_next(b, text, size, i);
        }
}

/* --- words --- */

static bool is_one_of(const char *const *list, const char *word, size_t size)
{
    for (; *list; list++)
        if (strlen(*list) == size && !strncasecmp(*list, word, size))
            return true;
    return false;
}

/* How many bytes at a word's end are a word of their own. */
static size_t ending(const char *word, size_t size)
{
    static const char *const endings[] = {"'s", "'m", "'d", "'ll", "'re", "'ve", "n't"};
    static const Written two[] = {{"cannot", "not"}, {"gimme", "me"}, {"gonna", "na"}, {"gotta", "ta"},
                                  {"lemme", "me"},   {"wanna", "na"}, {"'tis", "is"},  {"'twas", "was"}};
    for (size_t i = 0; i < COUNT(endings); i++) {
        const size_t n = strlen(endings[i]);
        if (size > n && !strncasecmp(word + size - n, endings[i], n))
            return n;
    }
    for (size_t i = 0; i < COUNT(two); i++)
        if (strlen(two[i].text) == size && !strncasecmp(word, two[i].text, size))
            return strlen(two[i].as);
    return size > 1 && word[size - 1] == '\'' && word[size - 2] != '\'' ? 1 : 0;
}

/* Whether a word begins with a quote, not with an apostrophe: 's, '90s. */
static bool is_quoted(const char *word, size_t size)
{
    static const char *const shortened[] = {"'s",  "'m",   "'d",   "'ll",   "'re",    "'ve",   "'t", "'n",
                                            "'em", "'til", "'tis", "'twas", "'cause", "'bout", NULL};
    return size > 1 && word[0] == '\'' && word[1] != '\'' && !is_digit(word[1]) && !is_one_of(shortened, word, size);
}

static void add_escaped(Buffer *out, const char *word, size_t size)
{
    if (out->size)
        add(out, " ");
    for (size_t i = 0; i < size; i++) {
        if ((word[i] == '/' || word[i] == '*') && (!i || word[i - 1] != '\\'))
            add(out, "\\");
        buffer_add(out, word + i, 1);
    }
}

static void add_words(Buffer *out, const char *word, size_t size)
{
    if (is_quoted(word, size)) {
        add_escaped(out, "`", 1);
        word++, size--;
    }
    /* Endings are found from the last to the first: should n't 've. */
    enum { MOST = 4 };
    size_t end[MOST + 1] = {size}, count = 0;
    for (size_t n; count < MOST && (n = ending(word, end[count])) > 0; count++)
        end[count + 1] = end[count] - n;
    add_escaped(out, word, end[count]);
    for (; count > 0; count--)
        add_escaped(out, word + end[count], end[count - 1] - end[count]);
}

void treebank_words(const char *text, size_t size, Buffer *out)
{
    Buffer plain = {0}, apart = {0}, words = {0};
    add_plain(&plain, text, size);
    if (plain.size)
        add_marks_apart(&apart, plain.text, plain.size);
    for (size_t i = 0, end; i < apart.size; i = end) {
        for (end = i; end < apart.size && !is_space(apart.text[end]);)
            end++;
        if (end > i)
            add_words(&words, apart.text + i, end - i);
        end += end == i;
    }
    buffer_add(out, words.text ? words.text : "", words.size);
    out->failed |= plain.failed || apart.failed || words.failed;
    buffer_free(&plain);
    buffer_free(&apart);
    buffer_free(&words);
}
