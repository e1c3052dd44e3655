/* How a loss falls with parameters and data: L = E + A / N^alpha + B / D^beta, fitted to the ends of several runs as in
 * Hoffmann et al. 2022, approach 3: the sum of Huber's function (of 0.001) of the error of log L is least, from many
 * starts. Intervals come from resampled runs. */
#ifndef CORE_RESEARCH_SCALING_H
#define CORE_RESEARCH_SCALING_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ScalingRun {
    double parameters, tokens, flop, loss;
} ScalingRun;

typedef enum ScalingNumber {
    SCALING_E,
    SCALING_A,
    SCALING_B,
    SCALING_ALPHA,
    SCALING_BETA,
    SCALING_EXPONENT, /* beta / (alpha + beta): the best N for C = k N D FLOP grows as C^exponent, D as C^(1 - exponent) */
    SCALING_NUMBERS
} ScalingNumber;

enum { SCALING_RESAMPLES = 400 };

typedef struct ScalingFit {
    double value[SCALING_NUMBERS], low[SCALING_NUMBERS], high[SCALING_NUMBERS]; /* 95 % intervals */
    double error;                                                               /* root mean square, of log L */
    double k;                                                                   /* geometric mean over the runs */
} ScalingFit;

/* Five numbers are fitted: too few runs, sizes or amounts of data are refused. */
bool scaling_fit(ScalingFit *f, const ScalingRun *run, size_t count, Error *e);

double scaling_loss(const ScalingFit *f, double parameters, double tokens);

/* The number of parameters with the lowest loss for this many FLOP of training. */
double scaling_best(const ScalingFit *f, double flop);

#endif
