/* See moses.h: tokens to text. Each token is put after the text so far, with or without a space before it, by what it
 * is and by what was before; the rules are those of Moses' detokenizer.perl. */
#include "base/memory.h"
#include "base/utf8.h"
#include "core/text/moses.h"
#include "core/text/moses_inner.h"
#include "core/text/vocabulary.h"

#include <string.h>

typedef struct Token {
    const char *text;
    size_t size;
} Token;

typedef struct Text {
    MosesLanguage language;
    Buffer *out;
    bool attach;       /* the next token stands without a space, as after an opening bracket */
    Vocabulary quotes; /* how often quotes of each spelling were met: an odd one opens, an even one closes */
    Token before;      /* the last token; NULL: none yet */
    bool begun;
} Text;

/* --- what tokens are --- */

static bool all(Token t, bool (*is)(uint32_t code))
{
    for (size_t at = 0, length; at < t.size; at += length ? length : 1) {
        uint32_t code = 0xFFFD;
        length = utf8_decode(&code, t.text + at, t.size - at);
        if (!is(code))
            return false;
    }
    return true;
}

static uint32_t first_of(Token t)
{
    uint32_t code = 0xFFFD;
    utf8_decode(&code, t.text, t.size);
    return code;
}

/* The character that a token ends with. */
static uint32_t last_of(Token t)
{
    uint32_t code = 0xFFFD;
    for (size_t length = 1; length <= 4 && length <= t.size; length++)
        if (utf8_decode(&code, t.text + t.size - length, length) == length)
            return code;
    return code;
}

static bool is(Token t, const char *text) { return t.size == strlen(text) && !memcmp(t.text, text, t.size); }

static bool is_ascii_of(uint32_t code, const char *set) { return code && code < 0x80 && strchr(set, (char)code); }

static bool opens(uint32_t code)
{
    return unicode_kind(code) == UNICODE_CURRENCY || is_ascii_of(code, "([{") || code == 0xBF || code == 0xA1;
}

static bool closes(uint32_t code) { return is_ascii_of(code, ",.?!:;\\%}])"); }

static bool is_low_or_high_quote(uint32_t code) { return code >= 0x201C && code <= 0x201E; }

static bool is_quote(uint32_t code) { return is_ascii_of(code, "'\"`") || code == 0x201C || code == 0x201E; }

/* Characters of East Asia, between which no space stands. */
static bool is_eastern(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } blocks[] = {{0x1100, 0x11FF},   {0x2E80, 0xA4CF},   {0xA840, 0xA87F},  {0xAC00, 0xD7AF},
                  {0xF900, 0xFAFF},   {0xFE30, 0xFE4F},   {0xFF65, 0xFFDC},  {0x17000, 0x18AFF},
                  {0x1B000, 0x1B12F}, {0x1B170, 0x1B2FF}, {0x20000, 0x2FFFF}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (code >= blocks[i].first && code <= blocks[i].last)
            return true;
    return false;
}

/* 's in English. */
static bool ends_a_word(const Text *t, Token token)
{
    Token rest = {token.text + 1, token.size - 1};
    return t->language == MOSES_ENGLISH && t->begun && token.size > 1 && token.text[0] == '\'' &&
           moses_is_alpha(first_of(rest));
}

/* l' in French, before a word. */
static bool begins_a_word(const Text *t, Token token, Token next)
{
    Token head = {token.text, token.size - 1};
    return t->language == MOSES_FRENCH && next.size && head.size && token.text[head.size] == '\'' &&
           moses_is_alpha(last_of(head)) && moses_is_alpha(first_of(next));
}

/* --- putting tokens together --- */

static void put(Text *t, Token token, bool space)
{
    if (space && t->begun)
        buffer_add(t->out, " ", 1);
    buffer_add(t->out, token.text, token.size);
}

static bool put_quote(Text *t, Token quote, Error *e)
{
    Token same = all(quote, is_low_or_high_quote) ? (Token){"\"", 1} : quote;
    int32_t id = vocabulary_search(&t->quotes, same.text, same.size);
    bool closing = id >= 0 && t->quotes.counts[id] % 2;
    bool of_owner = !closing && t->language == MOSES_ENGLISH && is(quote, "'") && t->begun &&
                    t->before.text[t->before.size - 1] == 's'; /* the Jones' house */
    put(t, quote, !t->attach && !closing && !of_owner);
    t->attach = !closing && !of_owner;
    return of_owner || vocabulary_add(&t->quotes, same.text, same.size, 1, NULL, e);
}

static bool put_token(Text *t, Token token, Token next, Error *e)
{
    uint32_t first = first_of(token);
    bool space = !t->attach, attach = false;
    if (is_eastern(first))
        space = space && !(t->begun && is_eastern(last_of(t->before)));
    else if (all(token, opens) || begins_a_word(t, token, next))
        attach = true;
    else if (all(token, closes))
        space = t->language == MOSES_FRENCH && token.size == 1 && strchr("?!:;\\%", token.text[0]);
    else if (ends_a_word(t, token))
        space = false;
    else if (all(token, is_quote))
        return put_quote(t, token, e);
    put(t, token, space);
    t->attach = attach;
    return true;
}

/* --- tokens of a text --- */

/* The next token of a text; its size is 0 where there is none. */
static Token next_token(const Buffer *b, size_t *at)
{
    size_t from = b->size, length;
    for (; *at < b->size; *at += length) {
        uint32_t code = 0xFFFD;
        length = utf8_decode(&code, b->text + *at, b->size - *at);
        length = length ? length : 1;
        bool space = unicode_is_python_space(code);
        if (space && from < *at)
            break;
        if (!space && from > *at)
            from = *at;
    }
    return from < *at ? (Token){b->text + from, *at - from} : (Token){NULL, 0};
}

static bool put_all(Text *t, const Buffer *tokens, Error *e)
{
    size_t at = 0;
    for (Token token = next_token(tokens, &at), next; token.size; token = next) {
        next = next_token(tokens, &at);
        if (!put_token(t, token, next, e))
            return false;
        t->before = token;
        t->begun = true;
    }
    return true;
}

/* Tokens with one space around each; then " @-@ " becomes a hyphen. */
static void join_hyphens(const Buffer *from, Buffer *to)
{
    static const char hyphen[] = " @-@ ";
    enum { LENGTH = sizeof hyphen - 1 };
    Buffer spaced = {0};
    size_t at = 0;
    buffer_add(&spaced, " ", 1);
    for (Token t = next_token(from, &at); t.size; t = next_token(from, &at)) {
        buffer_add(&spaced, t.text, t.size);
        buffer_add(&spaced, " ", 1);
    }
    for (size_t i = 0; i < spaced.size;) {
        bool here = spaced.size - i >= LENGTH && !memcmp(spaced.text + i, hyphen, LENGTH);
        buffer_add(to, here ? "-" : spaced.text + i, 1);
        i += here ? LENGTH : 1;
    }
    to->failed |= spaced.failed;
    buffer_free(&spaced);
}

/* The mark that an entity at the beginning of a text stands for, in what Moses and older ones write; NULL: none. */
static const char *mark_of(const char *text, size_t size, size_t *length)
{
    static const struct {
        const char *name, *mark;
    } entities[] = {{"&amp;", "&"}, {"&#124;", "|"}, {"&lt;", "<"},  {"&gt;", ">"},  {"&apos;", "'"}, {"&quot;", "\""},
                    {"&#91;", "["}, {"&#93;", "]"},  {"&bar;", "|"}, {"&bra;", "["}, {"&ket;", "]"}};
    for (size_t i = 0; *text == '&' && i < sizeof entities / sizeof *entities; i++) {
        *length = strlen(entities[i].name);
        if (size >= *length && !memcmp(text, entities[i].name, *length))
            return entities[i].mark;
    }
    return NULL;
}

static void unescape(const Buffer *from, Buffer *to)
{
    for (size_t i = 0, length; i < from->size; i += length) {
        const char *mark = mark_of(from->text + i, from->size - i, &length);
        if (!mark)
            length = 1;
        buffer_add(to, mark ? mark : from->text + i, 1);
    }
}

bool moses_detokenise(Moses how, const char *tokens, size_t size, Buffer *out, Error *e)
{
    Buffer from = {0}, joined = {0}, plain = {0};
    Text t = {.language = how.language, .out = out};
    buffer_add(&from, tokens, size);
    join_hyphens(&from, &joined);
    if (how.escape)
        unescape(&joined, &plain);
    bool failed = from.failed || joined.failed || plain.failed;
    bool done = !failed && put_all(&t, how.escape ? &plain : &joined, e);
    if (failed || out->failed)
        done = memory_error(e, "a text of tokens", size, 1);
    vocabulary_close(&t.quotes);
    buffer_free(&from);
    buffer_free(&joined);
    buffer_free(&plain);
    return done;
}
