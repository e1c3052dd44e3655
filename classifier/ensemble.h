/* Classifiers that decide together: a run, others on the same texts, and what counting words reaches. The probability of a class
 * is the mean over all of them. */
#ifndef CLASSIFIER_ENSEMBLE_H
#define CLASSIFIER_ENSEMBLE_H

#include "classifier/classifier.h"
#include "core/program/same_texts.h"

/* The members that --ensemble names change logits [texts, classes] of the scored part to log p of all together. own: what the
 * run would print of each text; its logits are the last columns. */
bool ensemble_join(const Classifier *c, const Each *own, float *logits, size_t classes, Error *e);

#endif
