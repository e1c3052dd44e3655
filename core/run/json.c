/* The JSON reader: recursive descent over bytes, into a tree. */
#include "core/run/json.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64 };

typedef struct Reader {
    const char *text, *at, *end;
    const char *what;
    Error *e;
} Reader;

/* Says where and what; the line and the byte in it are counted from 1. */
static bool wrong(const Reader *r, const char *message)
{
    size_t line = 1;
    const char *start = r->text;
    for (const char *c = r->text; c < r->at; c++)
        if (*c == '\n') {
            line++;
            start = c + 1;
        }
    return fail(r->e, "%s, line %zu, byte %zu: %s", r->what, line, (size_t)(r->at - start) + 1, message);
}

static bool starve(const Reader *r, size_t count, size_t size) { return memory_error(r->e, r->what, count, size); }

static void skip_space(Reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool next_is(const Reader *r, char c) { return r->at < r->end && *r->at == c; }

static bool hex4(Reader *r, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = r->at < r->end ? *r->at : 0;
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (uint32_t)((c | 32) - 'a' + 10);
        else
            return wrong(r, "\\u needs four hexadecimal digits");
        *code = *code << 4 | digit;
    }
    return true;
}

/* After "\u": one code point, of one or two escapes. Half a pair is no character and becomes U+FFFD. */
static bool read_code(Reader *r, uint32_t *code)
{
    if (!hex4(r, code))
        return false;
    if (*code < 0xD800 || *code > 0xDFFF)
        return true;
    if (*code < 0xDC00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
        const char *before = r->at;
        uint32_t low;
        r->at += 2;
        if (!hex4(r, &low))
            return false;
        if (low >= 0xDC00 && low <= 0xDFFF) {
            *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
            return true;
        }
        r->at = before;
    }
    *code = 0xFFFD;
    return true;
}

/* After a backslash; writes at most 4 bytes. Every escape is at least as long as what it stands for. */
static bool read_escape(Reader *r, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at : 0;
    const char *found = c ? strchr(names, c) : NULL;
    if (found) {
        r->at++;
        *(*out)++ = values[found - names];
        return true;
    }
    if (c != 'u')
        return wrong(r, "unknown escape in a string");
    r->at++;
    uint32_t code;
    if (!read_code(r, &code))
        return false;
    *out += utf8_encode(*out, code);
    return true;
}

/* At a quote. The text needs no more bytes than it has between its quotes. */
static bool read_string(Reader *r, char **text, size_t *size)
{
    if (!next_is(r, '"'))
        return wrong(r, "a string was expected");
    const char *close = ++r->at;
    while (close < r->end && *close != '"')
        close += *close == '\\' && close + 1 < r->end ? 2 : 1;
    if (close >= r->end)
        return wrong(r, "a string is not closed");
    size_t capacity = (size_t)(close - r->at) + 1;
    char *out = memory_get(capacity, 1);
    if (!out)
        return starve(r, capacity, 1);
    *text = out; /* the caller frees it, whatever comes */
    while (r->at < close) {
        size_t length = utf8_length(r->at, (size_t)(close - r->at));
        if (!length)
            return wrong(r, "a string is not valid UTF-8");
        if ((unsigned char)*r->at < 0x20)
            return wrong(r, "a control character in a string needs an escape");
        if (*r->at == '\\') {
            r->at++;
            if (!read_escape(r, &out))
                return false;
            continue;
        }
        memcpy(out, r->at, length);
        out += length;
        r->at += length;
    }
    r->at = close + 1;
    *size = (size_t)(out - *text);
    return true;
}

static bool digits(Reader *r)
{
    const char *before = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return r->at > before;
}

static bool read_number(Reader *r, Json *j)
{
    const char *start = r->at;
    r->at += next_is(r, '-');
    bool good = next_is(r, '0') ? (r->at++, true) : digits(r);
    if (good && next_is(r, '.'))
        good = (r->at++, digits(r));
    if (good && (next_is(r, 'e') || next_is(r, 'E'))) {
        r->at++;
        r->at += next_is(r, '+') || next_is(r, '-');
        good = digits(r);
    }
    if (!good)
        return wrong(r, "a number or another value was expected");
    j->kind = JSON_NUMBER;
    j->size = (size_t)(r->at - start);
    j->text = memory_get(j->size + 1, 1);
    if (!j->text)
        return starve(r, j->size + 1, 1);
    memcpy(j->text, start, j->size);
    j->number = strtod(j->text, NULL);
    return true;
}

static bool read_word(Reader *r, Json *j)
{
    static const struct {
        const char *word;
        JsonKind kind;
        bool truth;
    } words[] = {{"null", JSON_NULL, false}, {"true", JSON_BOOL, true}, {"false", JSON_BOOL, false}};
    for (size_t i = 0; i < 3; i++) {
        size_t size = strlen(words[i].word);
        if ((size_t)(r->end - r->at) >= size && !memcmp(r->at, words[i].word, size)) {
            r->at += size;
            j->kind = words[i].kind;
            j->truth = words[i].truth;
            return true;
        }
    }
    return wrong(r, "a value was expected");
}

static bool read_value(Reader *r, Json *j, int depth);

static int by_key(const void *a, const void *b)
{
    const Json *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

/* Sorted, so that a hostile file with a million keys costs no trillion comparisons. */
static bool keys_differ(const Reader *r, const Json *j)
{
    if (j->count < 2)
        return true;
    const Json **sorted = memory_get(j->count, sizeof *sorted);
    if (!sorted)
        return starve(r, j->count, sizeof *sorted);
    for (size_t i = 0; i < j->count; i++)
        sorted[i] = &j->items[i];
    qsort(sorted, j->count, sizeof *sorted, by_key);
    bool differ = true;
    for (size_t i = 1; i < j->count && differ; i++)
        if (!strcmp(sorted[i - 1]->key, sorted[i]->key))
            differ = fail(r->e, "%s: the key \"%s\" appears twice", r->what, sorted[i]->key);
    memory_free(sorted);
    return differ;
}

static bool read_key(Reader *r, Json *item)
{
    size_t size;
    if (!read_string(r, &item->key, &size))
        return false;
    if (strlen(item->key) != size)
        return wrong(r, "a key holds a zero byte");
    skip_space(r);
    if (!next_is(r, ':'))
        return wrong(r, "':' was expected after a key");
    r->at++;
    return true;
}

/* At '{' or '['. An item is counted before it is read, so that freeing the tree frees half of one, too. */
static bool read_items(Reader *r, Json *j, int depth)
{
    char close = *r->at++ == '{' ? '}' : ']';
    size_t capacity = 0;
    j->kind = close == '}' ? JSON_OBJECT : JSON_ARRAY;
    if (depth == DEPTH)
        return wrong(r, "nested too deeply");
    skip_space(r);
    if (next_is(r, close)) {
        r->at++;
        return true;
    }
    for (;;) {
        if (!memory_grow(&j->items, &capacity, j->count + 1, sizeof *j->items, "", NULL))
            return starve(r, j->count + 1, sizeof *j->items);
        Json *item = &j->items[j->count++];
        skip_space(r);
        if ((close == '}' && !read_key(r, item)) || !read_value(r, item, depth + 1))
            return false;
        skip_space(r);
        if (next_is(r, close))
            break;
        if (!next_is(r, ','))
            return wrong(r, close == '}' ? "',' or '}' was expected" : "',' or ']' was expected");
        r->at++;
    }
    r->at++;
    return close == ']' || keys_differ(r, j);
}

static bool read_value(Reader *r, Json *j, int depth)
{
    skip_space(r);
    if (r->at == r->end)
        return wrong(r, "the text ends too early");
    if (*r->at == '{' || *r->at == '[')
        return read_items(r, j, depth);
    if (*r->at == '"') {
        j->kind = JSON_STRING;
        return read_string(r, &j->text, &j->size);
    }
    if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9'))
        return read_number(r, j);
    return read_word(r, j);
}

static void free_inside(Json *j)
{
    for (size_t i = 0; i < j->count; i++)
        free_inside(&j->items[i]);
    memory_free(j->items);
    memory_free(j->text);
    memory_free(j->key);
}

void json_free(Json *json)
{
    if (json)
        free_inside(json);
    memory_free(json);
}

bool json_read(Json **json, const char *text, size_t size, const char *what, Error *e)
{
    Reader r = {text, text, text + size, what, e};
    *json = NULL;
    Json *j = memory_get(1, sizeof *j);
    if (!j)
        return memory_error(e, what, 1, sizeof *j);
    bool done = read_value(&r, j, 0);
    skip_space(&r);
    if (done && r.at < r.end)
        done = wrong(&r, "there is text after the value");
    if (!done) {
        json_free(j);
        return false;
    }
    *json = j;
    return true;
}

const Json *json_get(const Json *j, const char *key)
{
    if (!j || j->kind != JSON_OBJECT)
        return NULL;
    for (size_t i = 0; i < j->count; i++)
        if (!strcmp(j->items[i].key, key))
            return &j->items[i];
    return NULL;
}

const char *json_get_text(const Json *j, const char *key)
{
    const Json *member = json_get(j, key);
    return member && member->kind == JSON_STRING ? member->text : NULL;
}

bool json_integer(const Json *j, int64_t *value)
{
    if (!j || j->kind != JSON_NUMBER || strpbrk(j->text, ".eE"))
        return false;
    errno = 0;
    long long x = strtoll(j->text, NULL, 10);
    if (errno)
        return false;
    *value = x;
    return true;
}
