/* Which words of a text moved the answer: three ways of asking, which need not agree.
 *
 *     left_out    log odds of the answer, less the log odds without the word: what happens when it is not there
 *     gradient    gradient x input: the slope of the log odds along the word's vector, d log odds / dx . x
 *     attention   how much the word is looked at: the mean of its column over all layers, heads and words, times the
 *                 number of words; 1 is an even share
 *
 * The first two have a sign: above 0, the word speaks for the answer. Attention has none and knows nothing of the
 * answer: what is looked at much may not matter, or speak against it. */
#ifndef CLASSIFIER_ATTRIBUTION_H
#define CLASSIFIER_ATTRIBUTION_H

#include "classifier/classifier.h"
#include "core/inspect/maps.h"

typedef struct Attribution {
    size_t count, answer; /* words, class */
    size_t lead;          /* marks before the first word, in what is read */
    double share;         /* of that class */
    double *left_out, *gradient, *attention;
} Attribution;

/* Before a run is opened: nothing is dropped, and nothing but the answer has a loss. */
bool attribution_prepare(Options *o, Error *e);

/* Of a run that was opened so. ids [count], without marks; maps: those of the text, or NULL (then attention is 0). */
bool attribution_open(Attribution *m, Classifier *c, const int32_t *ids, size_t count, const Maps *maps, Error *e);
void attribution_close(Attribution *m);

#endif
