/* charlm's network for a TrainerFixture (tests/trainer_fixture.h), and small ones of it, and batches, to try. */
#ifndef TESTS_NN_NETWORKS_H
#define TESTS_NN_NETWORKS_H

#include "charlm/model.h"
#include "tests/trainer_fixture.h"

/* charlm's, as the options describe it */
Network charlm_network(const Model *m, double smoothing);

/* A model in memory of its own, to be closed with model_close and freed. */
Model *opened_model(const SharedOptions *o);

/* charlm's options for a small odd network: 3 heads, width 24, context 13, post-norm, learned positions, ReLU. */
SharedOptions small_options(void);

/* Rows of these lengths with random ids, and random targets of which some are not scored. */
Batch random_batch(const size_t *lengths, size_t rows, uint32_t seed);

/* The same with sides of n-grams. */
Batch ngram_batch(const Ngrams *g, const size_t *lengths, size_t rows, uint32_t seed);

#endif
