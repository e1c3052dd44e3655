/* See bpe.h: the list of merges, its file, and what a word is. */
#include "core/text/bpe.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "core/text/spaces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- words --- */

/* Ends of lines that no space is: the word they end has them. */
static size_t odd_line_end(const char *text, size_t size)
{
    return text[0] == '\r' || text[0] == '\n' ? 0 : line_end_length(text, size);
}

bool bpe_next_word(const char *text, size_t size, size_t *at, BpeWord *word)
{
    size_t i = *at;
    while (i < size && strchr(" \r\n", text[i])) /* strchr finds the zero byte, too */
        i++;
    size_t start = i, end = 0;
    while (i < size && !end && !strchr(" \r\n", text[i])) {
        end = odd_line_end(text + i, size - i);
        i += end ? end : 1;
    }
    *at = i;
    *word = (BpeWord){text + start, i - start};
    return i > start;
}

/* --- the list --- */

void bpe_close(Bpe *b)
{
    vocabulary_close(&b->symbols);
    pairs_close(&b->pairs);
    memory_free(b->order);
    memory_free(b->merges);
    memory_free(b->made_of);
    *b = (Bpe){0};
}

static bool more_merges(Bpe *b, Error *e)
{
    static const char what[] = "merges of byte pairs";
    size_t capacity = b->order_capacity;
    return memory_grow(&b->order, &capacity, b->count + 1, sizeof *b->order, what, e) &&
           memory_grow(&b->merges, &b->order_capacity, b->count + 1, sizeof *b->merges, what, e);
}

/* The symbol of two together. */
static bool add_whole(Bpe *b, int32_t left, int32_t right, int32_t *whole, Error *e)
{
    Buffer joined = {0};
    buffer_print(&joined, "%s%s", vocabulary_word(&b->symbols, left), vocabulary_word(&b->symbols, right));
    bool done = joined.failed ? memory_error(e, "merges of byte pairs", joined.size, 1)
                              : vocabulary_add(&b->symbols, joined.text, joined.size, 1, whole, e);
    buffer_free(&joined);
    return done;
}

bool bpe_add(Bpe *b, const char *left, size_t left_size, const char *right, size_t right_size, Error *e)
{
    int32_t from[2], whole;
    size_t pair, pairs = b->pairs.count;
    if (!more_merges(b, e))
        return false;
    if (!vocabulary_add(&b->symbols, left, left_size, 1, &from[0], e) ||
        !vocabulary_add(&b->symbols, right, right_size, 1, &from[1], e) || !add_whole(b, from[0], from[1], &whole, e) ||
        !pairs_add(&b->pairs, (Pair){from[0], from[1]}, &pair, e))
        return false;
    if (pair == pairs)
        b->merges[pair] = (BpeMerge){(uint32_t)b->count, whole};
    b->order[b->count++] = (uint32_t)pair;
    return true;
}

/* Of two pairs that give the same symbol it is split into the one whose last line comes first. */
bool bpe_finish(Bpe *b, Error *e)
{
    size_t symbols = b->symbols.count;
    b->made_of = memory_get(symbols, sizeof *b->made_of);
    unsigned char *met = memory_get(b->pairs.count, 1);
    if (!b->made_of || !met) {
        memory_free(met);
        return memory_error(e, "merges of byte pairs", symbols, sizeof *b->made_of);
    }
    for (size_t i = 0; i < symbols; i++)
        b->made_of[i] = PAIR_NONE;
    for (size_t i = b->count; i-- > 0;) {
        uint32_t pair = b->order[i];
        if (!met[pair])
            b->made_of[b->merges[pair].whole] = pair;
        met[pair] = 1;
    }
    memory_free(met);
    return true;
}

/* --- as a text --- */

/* What takes the lines of a file, without the spaces and returns around them and without empty ones at the end. */
typedef struct Reader {
    bool (*take)(void *context, const FileLine *l, Error *e);
    void *context;
    size_t empty; /* number of the first empty line so far */
} Reader;

static bool is_blank(char c) { return c == ' ' || c == '\r'; }

static bool take_line(void *context, const FileLine *line, Error *e)
{
    Reader *r = context;
    FileLine l = *line;
    if (!l.size) {
        r->empty = r->empty ? r->empty : l.number;
        return true;
    }
    if (r->empty) /* it was not at the end: it is what cannot be read */
        l.number = r->empty, l.size = 0;
    for (; l.size && is_blank(*l.text); l.size--)
        l.text++;
    while (l.size && is_blank(l.text[l.size - 1]))
        l.size--;
    return r->take(r->context, &l, e);
}

/* The space between the two words of a line; NULL: they are not two, or a zero byte is in them. */
static const char *between(const FileLine *l)
{
    const char *space = memchr(l->text, ' ', l->size);
    if (!space || memchr(space + 1, ' ', (size_t)(l->text + l->size - space - 1)))
        return NULL;
    return memchr(l->text, 0, l->size) ? NULL : space;
}

/* Codes that are being read. */
typedef struct Codes {
    Bpe *b;
    bool versioned;    /* line 1 says which version */
    size_t with_count; /* lines that would be a subword and its count in a vocabulary */
} Codes;

#define HOW_CODES_START "the line '#version: 0.2', as vocab and subword-nmt's learn-bpe write them"

/* "#version: 0.2"; 0.2.0 is the same. */
static bool read_version(Bpe *b, const FileLine *l, Error *e)
{
    static const char *const versions[] = {"#version: 0.2", "#version: 0.1"};
    size_t size = l->size;
    while (size > 2 && !memcmp(l->text + size - 2, ".0", 2))
        size -= 2;
    for (size_t i = 0; i < 2; i++)
        if (size == strlen(versions[i]) && !memcmp(l->text, versions[i], size)) {
            b->separate_end = i == 1;
            return true;
        }
    return fail(e, "%s, line 1: these codes say '%.*s', but only versions 0.1 and 0.2 are known", l->path,
                (int)(l->size < 40 ? l->size : 40), l->text);
}

static bool is_number(const char *text, size_t size)
{
    size_t digits = 0;
    while (digits < size && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    return size && digits == size;
}

static bool read_merge(void *context, const FileLine *l, Error *e)
{
    Codes *c = context;
    static const char version[] = "#version:";
    if (l->number == 1 && l->size >= strlen(version) && !memcmp(l->text, version, strlen(version)))
        return (c->versioned = read_version(c->b, l, e));
    const char *space = utf8_valid(l->text, l->size) ? between(l) : NULL;
    if (!space)
        return fail(e, "%s, line %zu: a merge is two subwords in UTF-8, separated by one space%s", l->path, l->number,
                    c->versioned ? "" : "; codes start with " HOW_CODES_START);
    const size_t left = (size_t)(space - l->text), right = l->size - left - 1;
    c->with_count += is_number(space + 1, right);
    return bpe_add(c->b, l->text, left, space + 1, right, e);
}

bool bpe_read(Bpe *b, const char *path, Error *e)
{
    *b = (Bpe){.separate_end = true}; /* unless the first line says otherwise */
    Codes c = {.b = b};
    bool done = file_lines(path, take_line, &(Reader){read_merge, &c, 0}, e);
    if (done && !b->count && b->separate_end)
        done = fail(e, "%s is empty: codes start with the line '#version: 0.2'", path);
    if (done && !c.versioned && c.with_count == b->count) /* "WORD 12" has two words, too */
        done = fail(e,
                    "%s is a list of subwords and their counts: codes are merges, 'LEFT RIGHT' on each line, "
                    "after " HOW_CODES_START,
                    path);
    if (done && bpe_finish(b, e))
        return true;
    bpe_close(b);
    return false;
}

bool bpe_write(const Bpe *b, const char *path, Error *e)
{
    Buffer text = {0};
    buffer_print(&text, "#version: %s\n", b->separate_end ? "0.1" : "0.2");
    for (size_t i = 0; i < b->count; i++) {
        const Pair *p = &b->pairs.pair[b->order[i]];
        buffer_print(&text, "%s %s\n", vocabulary_word(&b->symbols, p->left), vocabulary_word(&b->symbols, p->right));
    }
    return file_write_buffer(path, &text, e);
}

/* --- subwords and counts as a text --- */

static bool read_subword(void *context, const FileLine *l, Error *e)
{
    Vocabulary *v = context;
    const char *space = between(l);
    char *after = NULL;
    errno = 0;
    uint64_t times = space && space[1] >= '0' && space[1] <= '9' ? strtoull(space + 1, &after, 10) : 0;
    if (!after || after != l->text + l->size || errno)
        return fail(e, "%s, line %zu: expected a subword, a space and its count", l->path, l->number);
    size_t length = (size_t)(space - l->text), before = v->count;
    int32_t id;
    if (!vocabulary_add(v, l->text, length, times, &id, e))
        return false;
    return id == UNKNOWN || v->count > before ||
           fail(e, "%s, line %zu: '%.*s' appears twice", l->path, l->number, (int)(length < 60 ? length : 60), l->text);
}

bool bpe_subwords_read(Vocabulary *subwords, const char *path, Error *e)
{
    if (!vocabulary_open(subwords, e))
        return false;
    if (file_lines(path, take_line, &(Reader){read_subword, subwords, 0}, e))
        return true;
    vocabulary_close(subwords);
    return false;
}

typedef struct Counted {
    uint64_t count;
    int32_t id;
} Counted;

static int by_count(const void *a, const void *b)
{
    const Counted *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : (x->id > y->id) - (x->id < y->id);
}

bool bpe_subwords_write(const Vocabulary *subwords, const char *path, Error *e)
{
    Counted *counted = memory_get(subwords->count, sizeof *counted);
    if (!counted)
        return memory_error(e, path, subwords->count, sizeof *counted);
    for (size_t i = 0; i < subwords->count; i++)
        counted[i] = (Counted){subwords->counts[i], (int32_t)i};
    qsort(counted, subwords->count, sizeof *counted, by_count);
    Buffer text = {0};
    buffer_add(&text, "", 0);
    for (size_t i = 0; i < subwords->count && counted[i].count; i++)
        buffer_print(&text, "%s %" PRIu64 "\n", vocabulary_word(subwords, counted[i].id), counted[i].count);
    memory_free(counted);
    return file_write_buffer(path, &text, e);
}
