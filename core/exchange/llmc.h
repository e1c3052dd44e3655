/* A GPT-2 as llm.c writes it: one .bin file.
 *
 *     256 numbers of 32 bits: 20240326, version, context, tokens, blocks, heads, width, rows of the table, 0 ...
 *     the tensors of charlm's GPT-2 in the order of its table, each for all blocks, as floats (version 3) or halves of
 *     floats (bf16, version 5)
 *
 * The table of tokens has rows up to a multiple of 128, of which only the first belong to tokens. */
#ifndef CORE_EXCHANGE_LLMC_H
#define CORE_EXCHANGE_LLMC_H

#include "core/exchange/naming.h"

typedef struct Llmc {
    Source source; /* first: names are those of Hugging Face, with transformer. before them */
    char *path;
    void *file;
    size_t element; /* bytes of a number */
    size_t context, vocabulary, depth, heads, dim, padded;
    size_t left_out; /* rows of the table that were read for no token */
} Llmc;

/* Whether a file begins as such a one does. */
bool llmc_is(const char *path);

/* What failed needs no closing. */
bool llmc_open(Llmc *l, const char *path, Error *e);
void llmc_close(Llmc *l);

#endif
