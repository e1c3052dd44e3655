/* A text as bytes, its parts, and the windows that training and scoring read. */
#ifndef CHARLM_DATA_H
#define CHARLM_DATA_H

#include "charlm/options.h"
#include "core/train/batch.h"

#include <stdint.h>

typedef struct Text {
    const unsigned char *bytes;
    size_t size;
    char *owned; /* NULL: built-in */
    const char *path;
    size_t valid, test; /* where those parts begin; training is what comes before */
    char sha256[65];
} Text;

typedef struct Part {
    const unsigned char *bytes;
    size_t size;
} Part;

/* path NULL: the built-in prose. Split 90/5/5 %: of enwik8, the usual 90/5/5 million bytes. */
bool text_open(Text *t, const char *path, Error *e);
void text_close(Text *t);
Part text_part(const Text *t, Split split);

/* False, with the numbers, when a part cannot fill one window of `context` bytes and the byte after it. */
bool part_suits(Part part, const char *name, size_t context, Error *e);

/* The first --bytes of --split; false where there is nothing to score. */
bool part_to_score(Part *part, const Text *t, const CharlmOptions *v, Error *e);

/* Training: a row from a random position for each row of the batch. */
void training_batch(Part part, size_t context, size_t rows, uint32_t seed, uint64_t step, Batch *b);

/* Scoring every byte of a part but the first: windows of `context` bytes, each beginning `stride` after the last one;
 * in each, the bytes that no earlier window scored are scored. */
typedef struct Windows {
    Part part;
    size_t context, stride, count;
} Windows;

Windows windows_over(Part part, size_t context, size_t stride);

/* Bytes that they score: the first one has nothing before it that could announce it. */
static inline size_t windows_scored(const Windows *w) { return w->part.size ? w->part.size - 1 : 0; }

/* Adds window i as a row: bytes that are not scored have target -1. */
void windows_row(const Windows *w, size_t i, Batch *b);

#endif
