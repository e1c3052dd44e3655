/* What counting words reaches: naive Bayes, and logistic regression on features weighted by it. A network that read the
 * same texts is to be better than the first, and will find the second hard to beat. */
#ifndef CLASSIFIER_BASELINE_H
#define CLASSIFIER_BASELINE_H

#include "classifier/data.h"

typedef struct BaselineResult {
    size_t texts, learnt, features; /* scored; learnt from; words and pairs of words met there */
    double bayes, regression;       /* accuracies, 0 to 1 */
    double smoothing, regression_c; /* what was chosen: of Bayes; of the regression */
    size_t chosen_on;               /* on how many texts it was chosen that were not learnt from meanwhile */
} BaselineResult;

/* Learns from the training part and scores another one; test texts are never used to choose anything. */
bool baseline_score(const Reviews *r, Part part, BaselineResult *result, Error *e);

/* The same, printed on standard output as two lines or one object of JSON. */
bool baseline_run(const Reviews *r, Part part, bool json, Error *e);

#endif
