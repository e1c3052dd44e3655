/* See gpt2.h: the files, and how they are applied. */
#include "core/text/gpt2.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "core/run/json.h"
#include "core/text/heap.h"

#include <string.h>

/* --- bytes as characters that can be seen --- */

static bool is_seen(unsigned byte) { return (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173); }

/* The 68 bytes that cannot be seen are 0-32, 127-160 and 173. */
static uint32_t seen_of_byte(unsigned byte)
{
    if (is_seen(byte))
        return byte;
    return 0x100 + (byte <= 32 ? byte : byte == 173 ? 67 : byte - 127 + 33);
}

/* The byte that a character stands for; -1: none. */
static int byte_of_seen(uint32_t code)
{
    if (code < 0x100)
        return is_seen(code) ? (int)code : -1;
    uint32_t rank = code - 0x100;
    return rank <= 32 ? (int)rank : rank < 67 ? (int)rank - 33 + 127 : rank == 67 ? 173 : -1;
}

size_t gpt2_seen(unsigned char byte, char seen[4]) { return utf8_encode(seen, seen_of_byte(byte)); }

/* --- encoder.json --- */

/* Each subword under its id: all ids are taken once. */
static bool order_subwords(const Json *encoder, const char *path, const char **subwords, Error *e)
{
    for (size_t i = 0; i < encoder->count; i++) {
        const Json *item = &encoder->items[i];
        int64_t id;
        if (!json_integer(item, &id) || id < 0 || (size_t)id >= encoder->count)
            return fail(e, "%s: the id of '%.100s' is not a number from 0 to %zu", path, item->key, encoder->count - 1);
        if (subwords[id])
            return fail(e, "%s: '%.100s' and '%.100s' have the same id %d", path, subwords[id], item->key, (int)id);
        if (!*item->key)
            return fail(e, "%s: the subword with id %d is empty", path, (int)id);
        subwords[id] = item->key;
    }
    return true;
}

static bool add_subwords(Gpt2 *g, const Json *encoder, const char *path, Error *e)
{
    if (encoder->kind != JSON_OBJECT || !encoder->count || encoder->count > INT32_MAX)
        return fail(e, "%s is not a JSON object of subwords and their ids", path);
    const char **subwords = memory_get(encoder->count, sizeof *subwords);
    if (!subwords)
        return memory_error(e, path, encoder->count, sizeof *subwords);
    bool done = order_subwords(encoder, path, subwords, e);
    for (size_t i = 0; done && i < encoder->count; i++)
        done = vocabulary_add(&g->subwords, subwords[i], strlen(subwords[i]), 0, NULL, e);
    memory_free(subwords);
    return done;
}

static bool find_bytes(Gpt2 *g, const char *path, Error *e)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        char seen[4];
        g->byte[byte] = vocabulary_search(&g->subwords, seen, gpt2_seen((unsigned char)byte, seen));
        if (g->byte[byte] < 0)
            return fail(e, "%s has no subword for byte %u, which is written as U+%04X", path, byte,
                        (unsigned)seen_of_byte(byte));
    }
    return true;
}

static bool read_encoder(Gpt2 *g, const char *path, Error *e)
{
    char *text;
    size_t size;
    Json *encoder;
    if (!file_read(path, &text, &size, e))
        return false;
    bool parsed = json_read(&encoder, text, size, path, e);
    memory_free(text);
    if (!parsed)
        return false;
    bool done = add_subwords(g, encoder, path, e) && find_bytes(g, path, e);
    json_free(encoder);
    return done;
}

/* --- vocab.bpe --- */

static bool find_subword(const Gpt2 *g, const FileLine *line, const char *subword, size_t size, int32_t *id, Error *e)
{
    *id = memchr(subword, 0, size) ? -1 : vocabulary_search(&g->subwords, subword, size);
    return *id >= 0 || fail(e, "%s, line %zu: the encoder has no subword '%.*s'; do the two files belong together?",
                            line->path, line->number, (int)(size < 100 ? size : 100), subword);
}

static bool read_merge(Gpt2 *g, const FileLine *line, Buffer *both, Error *e)
{
    const char *space = memchr(line->text, ' ', line->size), *end = line->text + line->size;
    if (!space || space == line->text || space + 1 == end || memchr(space + 1, ' ', (size_t)(end - space - 1)))
        return fail(e, "%s, line %zu: a merge is two subwords, separated by a space", line->path, line->number);
    Pair pair;
    int32_t merged;
    size_t left = (size_t)(space - line->text), right = line->size - left - 1, rank, before = g->merges.count;
    both->size = 0;
    buffer_add(both, line->text, left);
    buffer_add(both, space + 1, right);
    if (both->failed)
        return memory_error(e, line->path, both->size, 1);
    if (!find_subword(g, line, line->text, left, &pair.left, e) ||
        !find_subword(g, line, space + 1, right, &pair.right, e) ||
        !find_subword(g, line, both->text, both->size, &merged, e) || !pairs_add(&g->merges, pair, &rank, e))
        return false;
    if (rank != before)
        return fail(e, "%s, line %zu: this merge appears twice", line->path, line->number);
    g->merged[rank] = merged;
    return true;
}

typedef struct Merges {
    Gpt2 *gpt2;
    Buffer both; /* halves of a merge, joined */
    size_t capacity;
} Merges;

static bool take_line(void *context, const FileLine *line, Error *e)
{
    static const char version[] = "#version";
    Merges *m = context;
    FileLine merge = *line;
    merge.size -= merge.size && merge.text[merge.size - 1] == '\r';
    if (merge.number == 1 && !strncmp(merge.text, version, sizeof version - 1))
        return true;
    return memory_grow(&m->gpt2->merged, &m->capacity, m->gpt2->merges.count + 1, sizeof *m->gpt2->merged, line->path,
                       e) &&
           read_merge(m->gpt2, &merge, &m->both, e);
}

static bool read_merges(Gpt2 *g, const char *path, Error *e)
{
    Merges m = {.gpt2 = g};
    bool done = file_lines(path, take_line, &m, e);
    buffer_free(&m.both);
    return done;
}

bool gpt2_read(Gpt2 *g, const char *encoder, const char *merges, Error *e)
{
    *g = (Gpt2){0};
    if (read_encoder(g, encoder, e) && read_merges(g, merges, e))
        return true;
    gpt2_close(g);
    return false;
}

void gpt2_close(Gpt2 *g)
{
    vocabulary_close(&g->subwords);
    pairs_close(&g->merges);
    memory_free(g->merged);
    *g = (Gpt2){0};
}

static bool write_encoder(const Gpt2 *g, const char *path, Error *e)
{
    Buffer text = {0};
    buffer_print(&text, "{");
    for (size_t i = 0; i < g->subwords.count; i++)
        json_add_member(&text, vocabulary_word(&g->subwords, (int32_t)i), (double)i);
    buffer_print(&text, "}\n");
    return file_write_buffer(path, &text, e);
}

static bool write_merges(const Gpt2 *g, const char *path, Error *e)
{
    Buffer text = {0};
    buffer_print(&text, "#version: 0.2\n");
    for (size_t i = 0; i < g->merges.count; i++) {
        const Pair *pair = &g->merges.pair[i];
        buffer_print(&text, "%s %s\n", vocabulary_word(&g->subwords, pair->left),
                     vocabulary_word(&g->subwords, pair->right));
    }
    return file_write_buffer(path, &text, e);
}

bool gpt2_write(const Gpt2 *g, const char *encoder, const char *merges, Error *e)
{
    return write_encoder(g, encoder, e) && write_merges(g, merges, e);
}

/* --- applied --- */

/* A subword of a part, between its neighbours: indices of them, NOWHERE at the ends. One that was joined to its left
 * neighbour has an id of GONE. */
#define NOWHERE SIZE_MAX
enum { GONE = -1 };

typedef struct Subword {
    int32_t id;
    size_t left, right;
} Subword;

typedef struct Joiner {
    const Gpt2 *g;
    Subword *subwords; /* [capacity] */
    size_t capacity;
    Heap heap; /* a merge's rank, and the index of its left subword */
} Joiner;

/* The rank of the merge of a subword and its right neighbour. */
static size_t rank_at(const Joiner *j, size_t at)
{
    const Subword *subword = &j->subwords[at];
    if (subword->id == GONE || subword->right == NOWHERE)
        return PAIR_NONE;
    return pairs_find(&j->g->merges, (Pair){subword->id, j->subwords[subword->right].id});
}

static bool propose(Joiner *j, size_t at, Error *e)
{
    size_t rank = at == NOWHERE ? PAIR_NONE : rank_at(j, at);
    return rank == PAIR_NONE || heap_push(&j->heap, (Rank){rank, at}, e);
}

/* Each byte of a part as a subword. */
static bool lay_out(Joiner *j, const char *part, size_t size, Error *e)
{
    if (!memory_grow(&j->subwords, &j->capacity, size, sizeof *j->subwords, "bytes of a word", e))
        return false;
    for (size_t i = 0; i < size; i++)
        j->subwords[i] = (Subword){.id = j->g->byte[(unsigned char)part[i]],
                                   .left = i ? i - 1 : NOWHERE,
                                   .right = i + 1 < size ? i + 1 : NOWHERE};
    for (size_t i = 0; i + 1 < size; i++)
        if (!propose(j, i, e))
            return false;
    return true;
}

/* The right neighbour goes into this subword. */
static bool join(Joiner *j, size_t at, int32_t merged, Error *e)
{
    Subword *subword = &j->subwords[at], *gone = &j->subwords[subword->right];
    subword->id = merged;
    subword->right = gone->right;
    gone->id = GONE;
    if (gone->right != NOWHERE)
        j->subwords[gone->right].left = at;
    return propose(j, subword->left, e) && propose(j, at, e);
}

static bool encode_part(Joiner *j, const char *part, size_t size, Buffer *ids, Error *e)
{
    if (!lay_out(j, part, size, e))
        return false;
    while (j->heap.count) {
        Rank next = heap_pop(&j->heap);
        size_t at = (size_t)next.second;
        if (rank_at(j, at) == next.first && !join(j, at, j->g->merged[next.first], e))
            return false;
    }
    for (size_t at = 0; at != NOWHERE; at = j->subwords[at].right)
        buffer_add(ids, &j->subwords[at].id, sizeof j->subwords[at].id);
    return !ids->failed || memory_error(e, "ids of a text", ids->size, 1);
}

static bool encode_document(Joiner *j, const char *text, size_t size, Buffer *ids, Error *e)
{
    bool done = true;
    for (size_t at = 0, length; done && at < size; at += length) {
        length = gpt2_part(text + at, size - at);
        done = encode_part(j, text + at, length, ids, e);
    }
    return done;
}

bool gpt2_encode(const Gpt2 *g, const char *text, size_t size, Buffer *ids, Error *e)
{
    const int32_t separator = vocabulary_search(&g->subwords, GPT2_SEPARATOR, strlen(GPT2_SEPARATOR));
    Joiner j = {.g = g};
    bool done = true;
    for (size_t at = 0; done && at < size; at += strlen(GPT2_SEPARATOR)) {
        const size_t length = separator < 0 ? size - at : gpt2_document(text + at, size - at);
        done = encode_document(&j, text + at, length, ids, e);
        at += length;
        if (at < size)
            buffer_add(ids, &separator, sizeof separator);
    }
    done = done && (!ids->failed || memory_error(e, "ids of a text", ids->size, 1));
    memory_free(j.subwords);
    heap_close(&j.heap);
    return done;
}

static void decode_subword(const char *subword, Buffer *text)
{
    uint32_t code = 0;
    for (size_t size = strlen(subword), length; size; subword += length, size -= length) {
        length = utf8_decode(&code, subword, size);
        int byte = length ? byte_of_seen(code) : -1;
        char one = (char)byte;
        length = length ? length : 1;
        buffer_add(text, byte < 0 ? subword : &one, byte < 0 ? length : 1);
    }
}

bool gpt2_decode(const Gpt2 *g, const int32_t *ids, size_t count, Buffer *text, Error *e)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= g->subwords.count)
            return fail(e, "id %d is out of range: the encoder has ids 0 to %zu", (int)ids[i], g->subwords.count - 1);
        decode_subword(vocabulary_word(&g->subwords, ids[i]), text);
    }
    return !text->failed || memory_error(e, "a text", text->size, 1);
}
