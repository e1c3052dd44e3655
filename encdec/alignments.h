/* Which source subwords a target subword of the training part comes from: what a head is told to look at.
 *
 * Read from a file, or guessed by IBM's model 1 from the pairs themselves: the source subword with the largest t(t | s), if that
 * is not </s> or a register. A file has a line for each line of the training part, in the format of Pharaoh: "0-0 1-2 1-3",
 * source and target, which count subwords from 0 on, as `encdec subwords` writes them. */
#ifndef ENCDEC_ALIGNMENTS_H
#define ENCDEC_ALIGNMENTS_H

#include "encdec/data.h"

enum { ALIGNED = SIDES_USED }; /* the side of a batch that has them */

/* Target k of all pairs has source[start[k]] .. source[start[k+1]-1], positions within its row. */
typedef struct Alignments {
    size_t *start;
    Ids source;
} Alignments;

/* ids: of the source, registers with them. lines: of the file, one for each pair of the training part, and for those that
 * were left out of p. */
bool alignments_learn(Alignments *a, const SentencePairs *p, const Subwords *s, Error *e);
bool alignments_read(Alignments *a, const SentencePairs *p, const Subwords *s, size_t lines, const char *path,
                     Error *e);
void alignments_close(Alignments *a);

/* Adds the row of pair i: targets are positions in its source, or -1; of several, one is drawn, so that in the mean over steps
 * each counts alike. a NULL: none is known. */
void alignments_row(const Alignments *a, const SentencePairs *p, size_t i, uint32_t seed, uint64_t step, Batch *b);

#endif
