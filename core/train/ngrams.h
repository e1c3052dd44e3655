/* n-grams of a row's tokens: a position has one of each length 2 .. longest, which ends with its token. Each has a vector
 * that is added to the token's, so that the first block knows what came just before (Pagnoni et al. 2024, "Byte Latent
 * Transformer", 3.2.1).
 *
 * There are far more n-grams than a table may have rows, so a hash says which row an n-gram reads; some share one.
 * Their ids are those rows. Each length is a side of the batch with the positions of side 0. A text begins after its
 * registers, which are no tokens: at their positions the first row is read. */
#ifndef CORE_TRAIN_NGRAMS_H
#define CORE_TRAIN_NGRAMS_H

#include "core/train/task.h"

typedef struct Ngrams {
    size_t longest; /* 0: there are none */
    size_t
        rows; /* of the table, which all lengths share; the first is of n-grams that training drops, and of registers */
    size_t side; /* of the 2-grams; longer ones follow */
    size_t lead; /* positions that each row has before its text: registers */
} Ngrams;

/* How many sides they have. */
static inline size_t ngrams_sides(const Ngrams *g) { return g->longest ? g->longest - 1 : 0; }

/* Of the hash: products stay below 2^62, so that signed numbers of 64 bits, which graphs of others have, do. */
enum { NGRAM_FACTOR = 1103515245, NGRAM_PRIME = 2147483647 };

/* The row of the n-gram of `n` tokens that ends with ids[at]. Before ids[0] there is nothing, and that is part of an
 * n-gram, too. */
int32_t ngram_row(const Ngrams *g, size_t n, const int32_t *ids, size_t at);

/* Training reads the first row for some of them. */
void ngrams_drop(const Ngrams *g, Task *task, double rate);

/* Adds a row to each of their sides, beside the last row of side 0, whose ids are there, registers first. */
void ngrams_add(const Ngrams *g, Batch *b);

/* The same for a row that continues a text, without registers: ids are `before` tokens of it, then those of the row. */
void ngrams_continue(const Ngrams *g, Batch *b, const int32_t *ids, size_t before);

#endif
