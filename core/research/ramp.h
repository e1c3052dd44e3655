/* A learning rate from a ramp: a few steps of training while the rate rises exponentially (Smith 2017). Where the rate
 * is too small, the loss stays; then it falls; then it explodes.
 *
 * The losses of single steps are noisy. At each step, a line is fitted to the losses of the steps within half a decade of
 * its rate: the line's value is the smoothed loss, its slope the fall of the loss for a tenfold rate. Other than a running
 * mean, a line does not lag. */
#ifndef CORE_RESEARCH_RAMP_H
#define CORE_RESEARCH_RAMP_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { RAMP_STEPS = 200, RAMP_LEAST = 64 };

typedef struct RampStep {
    double rate, loss, smooth, slope;
} RampStep;

typedef struct Ramp {
    RampStep *step; /* [count] of at most `steps` */
    size_t count, steps;
    bool exploded;

    /* which ramp_suggest finds */
    double steepest, lowest; /* rates: where the smoothed loss falls most, and where it is lowest */
    double suggestion;       /* a third of the lowest: three times it is where a longer training may explode */
} Ramp;

bool ramp_open(Ramp *r, size_t steps, Error *e);
void ramp_close(Ramp *r);

/* Of the next step: from 1e-7 to 10. */
double ramp_rate(const Ramp *r);

/* Adds the loss of a step with that rate. False: the ramp is over, because it was the last step, or because the loss is
 * not finite or, in five steps one after another, more than one and a half times what it was in the first five. */
bool ramp_add(Ramp *r, double loss);

/* Smooths, and finds the rates. False: there are none, because the loss did not fall by more than twice the
 * standard deviation of the first steps' losses. */
bool ramp_suggest(Ramp *r);

/* The data of plots/ramp.gp: each step, then the rates found; per_nat and unit: of the losses that are shown. */
void ramp_picture(Buffer *b, const Ramp *r, double per_nat, const char *unit);

#endif
