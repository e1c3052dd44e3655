/* What counting words reaches: naive Bayes, and logistic regression on features weighted by it (S. Wang, C. Manning:
 * Baselines and Bigrams, 2012). A network that read the same texts is to be better than the first, and will find the
 * second hard to beat.
 *
 * A text is the set of its words and pairs of neighbouring words, whole, whatever a network's vocabulary and length. */
#ifndef CLASSIFIER_BASELINE_H
#define CLASSIFIER_BASELINE_H

#include "classifier/data.h"

typedef struct BaselineResult {
    size_t scored, learnt;    /* texts */
    size_t features;          /* words and pairs in those that were learned */
    double bayes, regression; /* accuracies, 0 to 1 */
    double smoothing, c;      /* what was chosen: of Bayes; of the regression */
    size_t chosen_on;         /* by the accuracy on this many texts, held out from what was learned then */
    bool chosen_on_scored;    /* they are the ones that are scored here */
} BaselineResult;

/* Learns from the training part and scores another one. What there is to choose is chosen on the valid part, or, where
 * there is none, on a fifth of the training part, which is learned whole afterwards; never on the test part. */
bool baseline_score(const Reviews *r, Split part, BaselineResult *result, Error *e);

/* The regression's logits [texts, classes] of a part, with what is chosen in the same way. */
bool baseline_logits(const Reviews *r, Split part, float *logits, Error *e);

/* The same, and says it on standard output: as a table, or as one object of JSON. */
bool baseline_run(const Reviews *r, Split part, bool json, Error *e);

#endif
