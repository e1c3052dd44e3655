/* A dictionary learned from pairs of sentences by IBM's model 1 (Brown, Della Pietra, Della Pietra, Mercer 1993: The
 * Mathematics of Statistical Machine Translation). Each target word t of a pair translates one of the pair's source
 * words s, in whatever order; the source's </s> stands for none of them. Which one it is, is not known, so it is
 * guessed from t(t | s), and t(t | s) counted from the guesses, in turn:
 *
 *     share(s, t, pair) = t(t | s) / sum over the pair's s' of t(t | s')
 *     t(t | s)          = sum over pairs of share(s, t, pair) / the same, summed over all t
 *
 * It begins with all alike; each round makes the training part likelier. */
#ifndef ENCDEC_DICTIONARY_H
#define ENCDEC_DICTIONARY_H

#include "encdec/data.h"

/* Source word s may become target.id[i] with probability p[i], i from start[s] to start[s+1]-1, ids ascending. */
typedef struct Dictionary {
    size_t *start; /* [ids+1] */
    Ids target;
    double *p;
} Dictionary;

enum { DICTIONARY_ROUNDS = 5 }; /* from uniform probabilities */

bool dictionary_learn(Dictionary *d, const SentencePairs *pairs, size_t ids, Error *e);
void dictionary_close(Dictionary *d);

/* t(t | s) of words that some pair has. */
double dictionary_share(const Dictionary *d, int32_t source, int32_t target);

/* The likeliest translation, of several the one with the lowest id; UNKNOWN for a word that no pair has. */
int32_t dictionary_best(const Dictionary *d, int32_t source);

#endif
