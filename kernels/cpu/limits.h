/* What this machine can do at most, measured: what products and what passes over memory are compared with. */
#ifndef KERNELS_CPU_LIMITS_H
#define KERNELS_CPU_LIMITS_H

#include "base/error.h"
#include "kernels/cpu/names.h"
#include "kernels/kernels.h"

typedef struct Limits {
    double f32;  /* FLOP/s of fused multiply-adds on registers */
    double bf16; /* FLOP/s of bfloat16 dot products on registers; 0: the level has none */
    double read; /* bytes/s, from buffers far larger than caches */
    double
        copy; /* bytes/s read and written by memcpy; where it is written is usually read, too, which is not counted */
    double update; /* bytes/s read and written in place: nothing moves uncounted, so this is the most */
} Limits;

/* Of this many cores together, each at its own work; the best of several takes. Takes about two seconds. */
bool limits_measure(Limits *l, size_t cores, Error *e);

/* Bytes/s at which the team of a stream (of this backend) reads this many bytes this many times in a row, each byte
 * being read by one member; so from caches as far as they fit. */
double limits_read(Stream *s, const void *memory, size_t bytes, size_t passes);

#endif
