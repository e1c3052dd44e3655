/* The factor dropout gives one element: 0, or 1 / (1 - rate).
 *
 * A function of what the element is, never of when it is computed: so the mask is the same on every backend, for every
 * way to split a batch, after a resume, and when a segment is computed a second time. */
#ifndef KERNELS_DROPOUT_H
#define KERNELS_DROPOUT_H

#include "base/philox.h"
#include "kernels/kernels.h"

static inline double dropout_factor(Dropout drop, const StepState *state, size_t position, size_t head, size_t column)
{
    if (drop.rate == 0)
        return 1;
    Philox random = philox(state->seed, state->step, (uint32_t)(column / 4),
                           state->first_position[drop.side] + (uint32_t)position, (uint32_t)head, drop.site);
    return philox_float(random.word[column % 4]) < drop.rate ? 0 : 1 / (1 - drop.rate);
}

#endif
