/* Short measurements, by which tuning.c chooses. */
#ifndef KERNELS_CPU_PROBE_H
#define KERNELS_CPU_PROBE_H

#include "kernels/cpu/names.h"
#include "kernels/cpu/tuning.h"

/* Seconds of a product of bfloat16 by this level's own code. */
double probe_bf16(void);

/* Where oneDNN could do a kind of product, chooses it if it is faster. tuning_now is tried out, and is *t at the end. */
void probe_onednn(Tuning *t);

#endif
