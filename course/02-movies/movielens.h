/* Learning features from ratings, and doing it with MovieLens. */
#ifndef COURSE_02_MOVIELENS_H
#define COURSE_02_MOVIELENS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct Rating {
    size_t viewer, film;
    float value;
} Rating;

/* Small normal numbers: u or m before anything was learned */
void features_begin(float *x, size_t n, unsigned seed);

/* Goes through all ratings once; after each, both vectors move against the gradient of e^2/2 + lambda/2 (u.u + m.m). */
void factorise_epoch(float *u, float *m, const Rating *ratings, size_t n, size_t d, float rate, float lambda);

/* The root of the mean of (u . m - rating)^2 */
float typical_error(const float *u, const float *m, const Rating *ratings, size_t n, size_t d);

/* Reads ml-latest-small, packed or not, learns, and prints how well, beside what averages reach. */
bool movielens(const char *path, Error *e);

#endif
