/* See masking.h. */
#include "classifier/masking.h"

#include "base/philox.h"
#include "core/tensor/sites.h"

#include <math.h>

enum { SITE_CHOSEN = SITE_DATA + 0x300, SITE_READ, SITE_PAIRS };

/* Number i of what a row draws. */
static uint64_t draw(size_t row, size_t i) { return (uint64_t)row << 32 | i; }

size_t masking_most(const Masking *m, size_t tokens)
{
    const size_t share = (size_t)lround(m->share * (double)tokens);
    return share ? share : tokens ? 1 : 0;
}

static bool is_mark(const Tokens *t, int32_t id) { return id == t->first || id == t->separator || id == t->mask; }

/* The first tokens of the words that may be chosen; where words do not count, each token is one. */
static size_t list_words(const Masking *m, const int32_t *ids, size_t count, int32_t *words, size_t *tokens)
{
    size_t found = 0;
    *tokens = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_mark(m->tokens, ids[i]))
            continue;
        ++*tokens;
        bool continues = m->whole_words && i && !is_mark(m->tokens, ids[i - 1]) && token_continues(m->tokens, ids[i]);
        if (!continues)
            words[found++] = (int32_t)i;
    }
    return found;
}

static size_t word_length(const Masking *m, const int32_t *ids, size_t count, size_t first)
{
    size_t end = first + 1;
    while (m->whole_words && end < count && token_continues(m->tokens, ids[end]))
        end++;
    return end - first;
}

/* A chosen id is negative until all are. */
static int32_t chosen(int32_t id) { return -1 - id; }

static void choose(int32_t *ids, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        ids[i] = chosen(ids[i]);
}

/* What is read in place of a token. */
static int32_t read_for(const Masking *m, uint32_t step, size_t row, size_t position, int32_t id)
{
    const Tokens *t = m->tokens;
    const size_t words = tokens_count(t) - (size_t)t->first_word;
    const double way = philox_uniform(m->seed, step, draw(row, 2 * position), SITE_READ);
    if (way < 0.8 || (way < 0.9 && !words))
        return t->mask;
    return way < 0.9
               ? t->first_word + (int32_t)philox_below(words, m->seed, step, draw(row, 2 * position + 1), SITE_READ)
               : id;
}

size_t mask_tokens(const Masking *m, uint32_t step, size_t row, int32_t *ids, size_t count, int32_t *positions,
                   int32_t *were, int32_t *scratch)
{
    size_t tokens, words = list_words(m, ids, count, scratch, &tokens), left = masking_most(m, tokens), all = left;
    for (size_t i = 0; i < words && left; i++) { /* the next of the rest, in random order: Fisher and Yates */
        size_t k = i + (size_t)philox_below(words - i, m->seed, step, draw(row, i), SITE_CHOSEN);
        const int32_t word = scratch[k];
        scratch[k] = scratch[i];
        scratch[i] = word;
        const size_t length = word_length(m, ids, count, (size_t)word);
        if (length <= left) {
            choose(ids, (size_t)word, length);
            left -= length;
        }
    }
    if (left && left == all) /* each word is longer than that */
        choose(ids, (size_t)scratch[0], left);
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0) {
            were[found] = chosen(ids[i]);
            positions[found] = (int32_t)i;
            ids[i] = read_for(m, step, row, i, were[found++]);
        }
    return found;
}

/* --- next sentences --- */

/* Whether a sentence ends with this token. */
static bool ends_sentence(const Tokens *t, int32_t id)
{
    const char first = id >= t->first_word ? *token_name(t, id) : 0;
    return first == '.' || first == '!' || first == '?';
}

/* Where the second part of a text begins: after one of its sentences, or where it has only one anywhere inside; 0: it
 * is a single token. */
static size_t part_at(const Masking *m, const int32_t *ids, size_t count, uint32_t step, uint64_t number)
{
    size_t ends = 0;
    for (size_t i = 0; i + 1 < count; i++)
        ends += ends_sentence(m->tokens, ids[i]);
    if (!ends)
        return count > 1 ? 1 + (size_t)philox_below(count - 1, m->seed, step, number, SITE_PAIRS) : 0;
    size_t which = (size_t)philox_below(ends, m->seed, step, number, SITE_PAIRS), i = 0;
    for (;; i++)
        if (ends_sentence(m->tokens, ids[i]) && which-- == 0)
            return i + 1;
}

Pair pair_of(const Masking *m, const Texts *texts, size_t i, uint32_t step, size_t row, size_t most)
{
    const int32_t *ids = texts->ids + texts->start[i];
    size_t count = texts->start[i + 1] - texts->start[i], at = part_at(m, ids, count, step, draw(row, 0));
    Pair p = {
        .a = ids, .a_count = at ? at : count, .b = ids + at, .b_count = at ? count - at : 0, .other = at ? 0 : -1};
    if (texts->count > 1 && (!at || philox_below(2, m->seed, step, draw(row, 1), SITE_PAIRS))) {
        size_t j = (size_t)philox_below(texts->count - 1, m->seed, step, draw(row, 2), SITE_PAIRS);
        j += j >= i;
        const size_t size = texts->start[j + 1] - texts->start[j];
        const int32_t *others = texts->ids + texts->start[j];
        at = part_at(m, others, size, step, draw(row, 3));
        p.b = others + at;
        p.b_count = size - at;
        p.other = 1;
    }
    p.a_count = p.a_count < most ? p.a_count : most;
    p.b_count = p.b_count < most - p.a_count ? p.b_count : most - p.a_count;
    return p;
}
