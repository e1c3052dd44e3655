/* Logistic regression with L2, trained to its optimum: minimises over w, for labels y in {-1,1},
 *
 *     |w|^2 / 2 + C sum_i log(1 + exp(-y_i w.x_i))
 *
 * Text i has x_if = weight[f] for the features f that it has, and a 1 after them (its w is the bias). */
#ifndef CLASSIFIER_REGRESSION_H
#define CLASSIFIER_REGRESSION_H

#include "classifier/features.h"

/* Both are adjacent, as they are always read together. */
typedef struct Weight {
    float of_feature; /* what a text that has it has there */
    float w;
} Weight;

/* weights [features + 1], the last is the bias, whose of_feature is 1: fills in each w. Texts of class `positive` have
 * y = 1. */
bool regression_learn(Weight *weights, size_t features, const FeatureRows *rows, int32_t positive, double c, Error *e);

/* w.x of row i. */
double regression_score(const Weight *weights, size_t features, const FeatureRows *rows, size_t i);

#endif
