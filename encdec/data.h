/* Pairs of sentences as ids: what is trained on and what is scored.
 *
 * Of the training part, pairs with an empty side and pairs with a side of more than `longest` subwords are left out; of
 * the other parts, only what does not fit the model: there an empty line is a sentence of no subwords. */
#ifndef ENCDEC_DATA_H
#define ENCDEC_DATA_H

#include "core/train/batch.h"
#include "encdec/source.h"
#include "encdec/subwords.h"

typedef struct BitextOptions {
    SourceOptions source;
    SubwordsOptions subwords;
    const Subwords *known; /* a run's, instead of those that are learned here; they must outlive the bitext */
    size_t longest;        /* subwords of a side that is trained on, without </s> */
    size_t context;        /* subwords of a side that the model reads, with </s> */
    bool keep_training;    /* the text of the training part is wanted, too, not its ids alone */
    size_t threads;        /* that prepare it; 0: one. What comes of it does not depend on it */
} BitextOptions;

/* Side s of pair i is ids[s][start[s][i]] .. ids[s][start[s][i+1]-1], and ends in </s>. */
typedef struct SentencePairs {
    size_t count;
    int32_t *ids[SIDES_USED];
    size_t *start[SIDES_USED]; /* [count+1] */
    size_t *line;              /* [count] which line of its part a pair is, from 0 */
    size_t *length;            /* [count+1] sums of the longer sides: what an Order goes by */
    size_t empty, too_long;    /* lines left out; where none is for being empty: how many have an empty side */
    size_t words;              /* of the targets, and one </s> each */
    size_t unknown;            /* ids of both sides that are <unk> */
    int32_t begin;             /* what a decoder starts from */
    const bool *moves;         /* of the subwords: which targets move the position on; NULL: all */
} SentencePairs;

typedef struct Bitext {
    Sentences sentences; /* of the training part they are gone, unless they are wanted */
    size_t lines;        /* that the training part had, with those that became no pairs */
    Subwords own;
    const Subwords *subwords; /* its own, or those that were given: a Bitext is not copied */
    SentencePairs parts[SPLITS];
    size_t longest; /* ids of a side, </s> with them, in any part */
} Bitext;

bool bitext_open(Bitext *b, const BitextOptions *o, Error *e);
void bitext_close(Bitext *b);

/* False, and what to do, when a part has no pairs. */
bool bitext_suits(const Bitext *b, Split part, Error *e);

/* Adds the text of validation pairs that are spread evenly: `count` of them, or all where there are fewer. */
bool bitext_spread(const Bitext *b, size_t count, Lines side[SIDES_USED], Error *e);

/* Ids of a side in all pairs of a part, </s> with them. */
size_t pairs_ids(const SentencePairs *p, size_t side);

/* The positions of what a decoder reads before it writes targets [count]: 0, 1, 2, .. or, where not every target moves them
 * on, as many as have done so. */
void pairs_positions(const bool *moves, const int32_t *targets, size_t count, int32_t *position);

/* Adds pair i as a row on both sides: the source as it is; of the target the decoder reads </s> and all but its own
 * </s>, and predicts at each position what comes next, </s> last. */
void pairs_row(const SentencePairs *p, size_t i, Batch *b);

/* The same with words that are cut anew (BPE-dropout), into up to `times` as many subwords, or `most`: a function of seed, step,
 * and the row's number in the batch. What does not fit is drawn again, three times; then the row is taken as it is. */
typedef struct Recut {
    Cutter cutter;
    Ids ids[SIDES_USED];
    double rate, times;
    uint32_t seed;
    size_t most;
} Recut;

bool recut_open(Recut *r, const Subwords *p, double rate, uint32_t seed, size_t most, Error *e);
void recut_close(Recut *r);
void recut_row(Recut *r, const SentencePairs *p, size_t i, uint64_t step, Batch *b);

/* How many subwords may come of this many. */
size_t recut_most(const Recut *r, size_t count);

#endif
