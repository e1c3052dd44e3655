/* How often pairs of symbols occur while byte pairs are learned, and in which words: see bpe_learn.c.
 *
 * Not all pairs compete at each merge. A working set has those that may be the most frequent one for a while; the
 * others have left it with the count that they had then. This is subword-nmt's bookkeeping, which decides what it
 * learns: a pair that left and occurs more often later is known, until all are looked at again, by its gain alone. */
#ifndef CORE_TEXT_PAIR_COUNTS_H
#define CORE_TEXT_PAIR_COUNTS_H

#include "core/text/pairs.h"
#include "core/text/vocabulary.h"

/* An array that grows. */
typedef struct Numbers {
    uint32_t *number;
    size_t count, capacity;
} Numbers;

typedef struct PairCount {
    int64_t count;                /* in the working set */
    int64_t count_out;            /* what it was when it left that set */
    int64_t offered;              /* what the heap has it with: never less than its count */
    uint32_t occurrence;          /* the first of its Occurrences */
    uint32_t occurrences, merged; /* how many, and how many there were when they were summed up */
    bool working, changed;
} PairCount;

typedef struct PairCounts {
    const Vocabulary *symbols; /* of which pairs are made */
    const int64_t *times;      /* [words] how often each occurs */
    Pairs pairs;
    PairCount *of; /* [pairs.count] */
    struct Occurrence *occurrences;
    uint32_t free_occurrence;
    Numbers working, changed; /* pairs */
    Numbers met;              /* words */
    int32_t *sum;             /* [words] of the occurrences of a pair; INT32_MIN: it has none */
    struct Offer *heap;
    size_t of_capacity, occurrence_count, occurrence_capacity, heap_count, heap_capacity;
} PairCounts;

bool pair_counts_open(PairCounts *c, const Vocabulary *symbols, const int64_t *times, size_t words, Error *e);
void pair_counts_close(PairCounts *c);

/* A pair occurs once more (by 1) or less (by -1) in a word. */
bool pair_counts_change(PairCounts *c, int32_t left, int32_t right, uint32_t word, int by, Error *e);

/* Ends the changes that count the words for the first time; and those of one merge, of the pair that was merged. */
bool pair_counts_begin(PairCounts *c, Error *e);
bool pair_counts_merged(PairCounts *c, size_t pair, Error *e);

/* The words that have a pair; that it was in them is forgotten. To be freed with memory_free. */
bool pair_counts_take(PairCounts *c, size_t pair, Numbers *words, Error *e);

/* The most frequent pair of the working set, of equal ones the last in the order of letters; PAIR_NONE: it is empty. */
size_t pair_counts_most(PairCounts *c);

/* What is rarer than the threshold leaves the working set. */
bool pair_counts_prune(PairCounts *c, double threshold, Error *e);

/* All leave, and those come back that are near enough to the most frequent one; the nearer, the more merges are done.
 */
bool pair_counts_refill(PairCounts *c, size_t merges, double *threshold, Error *e);

#endif
