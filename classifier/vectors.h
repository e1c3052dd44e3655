/* predict --vectors FILE.npy: vectors of texts. */
#ifndef CLASSIFIER_VECTORS_H
#define CLASSIFIER_VECTORS_H

#include "classifier/classifier.h"
#include "core/run/npy.h"

/* Whether options and model go together. */
bool vectors_suit(const Classifier *c, Error *e);

/* What the Task is then. */
void vectors_task(Classifier *c);

/* Of texts, [count, dim]. */
bool vectors_compute(Classifier *c, Trainer *trainer, const Texts *texts, float *vectors, Error *e);

/* The file, to be closed or abandoned; and the vectors of more texts, for which there is room. */
bool vectors_open(NpyWriter *w, const Classifier *c, Error *e);
bool vectors_write(NpyWriter *w, Classifier *c, Trainer *trainer, const Texts *texts, float *vectors, Error *e);

#endif
