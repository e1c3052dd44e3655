/* A text as bytes or as the tokens made of them, its parts, and the windows that training and scoring read.
 *
 * Several files are documents of one text, with an empty line between two: those of a folder by name, those of an
 * archive in its own order. Where tokens have a separator, it stands before each document instead. */
#ifndef CHARLM_DATA_H
#define CHARLM_DATA_H

#include "charlm/model.h"
#include "charlm/options.h"
#include "charlm/tokenizer.h"
#include "core/train/batch.h"

#include <stdint.h>

typedef struct Text {
    const unsigned char *bytes;
    size_t size;
    char *owned; /* NULL: built-in */
    const char *path;
    size_t *document;   /* [documents] where each begins */
    size_t documents;   /* 1: a text without a separator */
    size_t valid, test; /* where those parts begin; training is what comes before */
    char sha256[65];
    Buffer tokens[SPLIT_ALL + 1]; /* int32_t one after the other; empty: the part is read by its bytes */
} Text;

typedef struct Part {
    const unsigned char *bytes; /* all of them */
    size_t size;                /* tokens */
    const int32_t *ids;         /* [size]; NULL: tokens are the bytes */
} Part;

static inline int32_t part_id(const Part *p, size_t i) { return p->ids ? p->ids[i] : p->bytes[i]; }

/* path: of a file, a folder or an archive; NULL: the built-in prose. Split 90/5/5 %: of enwik8, the usual 90/5/5 million
 * bytes. */
bool text_open(Text *t, const char *path, Error *e);
void text_close(Text *t);
Part text_part(const Text *t, Split split);
Part text_bytes(const Text *t, Split split); /* the part as bytes, whatever the model reads */

/* Makes tokens of a part; bytes stay as they are. */
bool text_tokenize(Text *t, Split split, const Tokenizer *tokenizer, Error *e);

/* Bytes of the tokens first .. first + count - 1. */
size_t part_bytes(const Part *p, const Tokenizer *t, size_t first, size_t count);

/* Tokens of the part that have at most `bytes` bytes after the first token, which is not scored. */
Part part_head(Part p, const Tokenizer *t, size_t bytes);

/* False, with the numbers, when the training or the validation part cannot fill one window of `context` tokens and the
 * token after it. */
bool text_part_suits(const Text *t, Split split, size_t context, Error *e);

/* The first --bytes of --split, as tokens; false where there is nothing to score. */
bool part_to_score(Part *part, Text *t, const Tokenizer *tokenizer, const CharlmOptions *v, Error *e);

/* What is beside a window's tokens: registers before them in its row; and rows of other sides: the `memory` tokens before
 * it (fewer at the beginning of a text; 0: there is no such side), or the row's n-grams. */
typedef struct Lead {
    Registers registers;
    size_t memory;
    Ngrams ngrams;
} Lead;

/* Training: a row of `context` tokens from a random position for each row of the batch. */
void training_batch(Part part, Lead lead, size_t context, size_t rows, uint32_t seed, uint64_t step, Batch *b);

/* Scoring every token of a part but the first: windows of `context` tokens, each beginning `stride` after the last one;
 * in each, the tokens that no earlier window scored are scored. */
typedef struct Windows {
    Part part;
    size_t context, stride, count;
    Lead lead; /* none of the context */
} Windows;

Windows windows_over(Part part, size_t context, size_t stride);

/* Tokens that they score: the first one has nothing before it that could announce it. */
static inline size_t windows_scored(const Windows *w) { return w->part.size ? w->part.size - 1 : 0; }

/* Adds window i as a row: tokens that are not scored have target -1. */
void windows_row(const Windows *w, size_t i, Batch *b);

#endif
