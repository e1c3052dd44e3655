/* A table that wraps another one of the same type: each operation runs the inner one, and is timed and measured.
 *
 * Results are the inner table's to the bit. What an operation costs in FLOP and bytes comes from kernels/cost, which
 * sees the same call; how long measure and the clock take is kept apart. The inner backend must be `on_host`:
 * operations are over when they return, and measure reads row starts where they are. */
#ifndef KERNELS_PROFILE_PROFILE_H
#define KERNELS_PROFILE_PROFILE_H

#include "kernels/kernels.h"

typedef struct Timing {
    const char *operation; /* its name in kernels.h */
    size_t in, out;        /* of linear maps, which are listed by their size; else 0 */
    uint64_t calls;
    double seconds, flop, bytes;
} Timing;

/* The one wrapping table of the inner one's type. To be called before threads use it; the last call for a type says
 * what is inside of it. */
const Kernels *profile_over(const Kernels *inner);

/* What was called on a stream of such a table since it was opened or reset, in the order of the first calls. */
const Timing *profile_timings(const Stream *s, size_t *count);
double profile_overhead(const Stream *s); /* seconds that profiling itself took */
void profile_reset(Stream *s);

#endif
