/* Masked words (Devlin et al. 2019): of a text's tokens some are chosen to be predicted, and what the network reads in
 * their place is [MASK] for 80 of 100, a random token for 10, and the token itself for 10, so that it cannot rely on what
 * it sees. Which ones is a function of seed, step and row: each epoch masks others, and a resumed run masks the same. */
#ifndef CLASSIFIER_MASKING_H
#define CLASSIFIER_MASKING_H

#include "classifier/data.h"

typedef struct Masking {
    const Tokens *tokens;
    double share;     /* of a text's tokens that are chosen: rounded, but one at least */
    bool whole_words; /* all subwords of a word or none, as far as that many tokens allow */
    uint32_t seed;
} Masking;

/* How many of this many tokens are chosen at most. */
size_t masking_most(const Masking *m, size_t tokens);

/* Changes a row's ids [count], of which marks are never chosen. positions, were: where the chosen ones are, in order, and what
 * they were, with room for masking_most(count). scratch [count]. Returns how many. */
size_t mask_tokens(const Masking *m, uint32_t step, size_t row, int32_t *ids, size_t count, int32_t *positions,
                   int32_t *were, int32_t *scratch);

/* Next sentences: a text is parted at the end of a sentence, and for half of the texts, drawn likewise, the second part
 * is that of another text. */
typedef struct Pair {
    const int32_t *a, *b;
    size_t a_count, b_count;
    int32_t other; /* 1: b is another text's; 0: it is the same one's; -1: there is only one text, of one token */
} Pair;

/* Of text i, when at most `most` tokens of both parts are read. */
Pair pair_of(const Masking *m, const Texts *texts, size_t i, uint32_t step, size_t row, size_t most);

#endif
