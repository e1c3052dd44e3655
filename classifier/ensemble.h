/* Classifiers that decide together: a run, others on the same texts, and what counting words reaches. Of each, the logits less
 * their mean are divided by their root mean square over all texts, because one is surer of itself than another for no
 * reason that matters; the ensemble's logits are the mean of these, multiplied by the members' mean root mean square. */
#ifndef CLASSIFIER_ENSEMBLE_H
#define CLASSIFIER_ENSEMBLE_H

#include "classifier/classifier.h"
#include "core/program/same_texts.h"

/* Adds the members that --ensemble names to logits [texts, classes] of the scored part. own: what the run would print of each
 * text; its logits are the last columns. */
bool ensemble_join(const Classifier *c, const Each *own, float *logits, size_t classes, Error *e);

#endif
