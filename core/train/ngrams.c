/* See ngrams.h. */
#include "core/train/ngrams.h"

/* A number modulo the prime 2^31 - 1, then modulo the rows but the first. It begins as n; for each token, from the last
 * one backwards, it is multiplied by a factor, and the token is added, counted from 2, or 1 if there is none. */
int32_t ngram_row(const Ngrams *g, size_t n, const int32_t *ids, size_t at)
{
    uint64_t hash = n;
    for (size_t back = 0; back < n; back++)
        hash = (hash * NGRAM_FACTOR + (back <= at ? (uint64_t)ids[at - back] + 2 : 1)) % NGRAM_PRIME;
    return (int32_t)(1 + hash % (g->rows - 1));
}

/* ids: `before` tokens, then those of the row after its `lead` first positions. */
static void add_rows(const Ngrams *g, Batch *b, const int32_t *ids, size_t before, size_t lead)
{
    const Side *row = &b->side[0];
    const size_t length = row->positions - (size_t)row->start[row->rows - 1];
    for (size_t n = 2; n <= g->longest; n++) {
        const size_t side = g->side + n - 2, at = batch_row(b, side, length);
        Side *to = &b->side[side];
        for (size_t i = 0; i < length; i++) {
            to->ids[at + i] = i < lead ? 0 : ngram_row(g, n, ids, before + i - lead);
            to->targets[at + i] = -1;
        }
    }
}

void ngrams_continue(const Ngrams *g, Batch *b, const int32_t *ids, size_t before) { add_rows(g, b, ids, before, 0); }

void ngrams_add(const Ngrams *g, Batch *b)
{
    const Side *row = &b->side[0];
    add_rows(g, b, row->ids + row->start[row->rows - 1] + g->lead, 0, g->lead);
}

void ngrams_drop(const Ngrams *g, Task *task, double rate)
{
    for (size_t n = 2; n <= g->longest; n++)
        task->word_dropout[g->side + n - 2] = rate;
}
