/* Learning byte pairs of bytes: the parts of a text, their bytes written as characters that can be seen, are the words
 * that core/text/bpe.h learns from. */
#include "core/text/gpt2.h"

#include "base/memory.h"
#include "core/text/bpe.h"

#include <string.h>

/* Of a text without a separator. */
static bool count_parts(Vocabulary *parts, const char *text, size_t size, Error *e)
{
    Buffer part = {0};
    bool done = true;
    for (size_t at = 0, length; done && at < size; at += length) {
        length = gpt2_part(text + at, size - at);
        part.size = 0;
        for (size_t i = 0; i < length; i++) {
            char seen[4];
            buffer_add(&part, seen, gpt2_seen((unsigned char)text[at + i], seen));
        }
        done = part.failed ? memory_error(e, "a word", part.size, 1)
                           : vocabulary_add(parts, part.text, part.size, 1, NULL, e);
    }
    buffer_free(&part);
    return done;
}

static bool count_documents(Vocabulary *parts, const char *text, size_t size, Error *e)
{
    bool done = true;
    for (size_t at = 0; done && at < size; at += strlen(GPT2_SEPARATOR)) {
        const size_t length = gpt2_document(text + at, size - at);
        done = count_parts(parts, text + at, length, e);
        at += length;
    }
    return done;
}

/* In the order of the characters that stand for them, as in GPT-2's own files. */
static bool add_bytes(Gpt2 *g, Error *e)
{
    for (int hidden = 0; hidden < 2; hidden++)
        for (unsigned byte = 0; byte < 256; byte++) {
            char seen[4];
            const size_t size = gpt2_seen((unsigned char)byte, seen);
            const bool as_it_is = size == 1 || (unsigned char)seen[0] < 0xc4; /* U+0100 is c4 80 */
            if (as_it_is != hidden && !vocabulary_add(&g->subwords, seen, size, 0, &g->byte[byte], e))
                return false;
        }
    return true;
}

static bool add_merges(Gpt2 *g, const Bpe *b, Error *e)
{
    Buffer whole = {0};
    bool done = true;
    for (size_t i = 0; done && i < b->count; i++) {
        const Pair symbols = b->pairs.pair[b->order[i]];
        const char *left = vocabulary_word(&b->symbols, symbols.left),
                   *right = vocabulary_word(&b->symbols, symbols.right);
        size_t rank;
        whole.size = 0;
        buffer_print(&whole, "%s%s", left, right);
        const Pair pair = {vocabulary_search(&g->subwords, left, strlen(left)),
                           vocabulary_search(&g->subwords, right, strlen(right))};
        done = whole.failed ? memory_error(e, "a merge", whole.size, 1)
                            : pairs_add(&g->merges, pair, &rank, e) &&
                                  vocabulary_add(&g->subwords, whole.text, whole.size, 0, &g->merged[rank], e);
    }
    buffer_free(&whole);
    return done;
}

static bool take_merges(Gpt2 *g, const Bpe *b, Error *e)
{
    *g = (Gpt2){.merged = memory_get(b->count, sizeof *g->merged)};
    if ((g->merged || memory_error(e, "merges", b->count, sizeof *g->merged)) && add_bytes(g, e) &&
        add_merges(g, b, e) && vocabulary_add(&g->subwords, GPT2_SEPARATOR, strlen(GPT2_SEPARATOR), 0, NULL, e))
        return true;
    gpt2_close(g);
    return false;
}

bool gpt2_bytes(Gpt2 *g, Error *e)
{
    *g = (Gpt2){.merged = NULL};
    for (unsigned byte = 0; byte < 256; byte++) {
        char seen[4];
        const size_t size = gpt2_seen((unsigned char)byte, seen);
        if (!vocabulary_add(&g->subwords, seen, size, 0, &g->byte[byte], e)) {
            gpt2_close(g);
            return false;
        }
    }
    return true;
}

bool gpt2_learn(Gpt2 *g, const char *text, size_t size, size_t merges, Error *e)
{
    Vocabulary parts = {0};
    Bpe b = {0};
    const bool done = count_documents(&parts, text, size, e) &&
                      bpe_learn_ending(&b, &parts, "", merges, BPE_LEAST, e) && take_merges(g, &b, e);
    bpe_close(&b);
    vocabulary_close(&parts);
    return done;
}
