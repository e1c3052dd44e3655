/* Short measurements, by which tuning.c chooses. */
#ifndef KERNELS_CPU_PROBE_H
#define KERNELS_CPU_PROBE_H

#include "kernels/cpu/names.h"
#include "kernels/cpu/tuning.h"

/* Seconds of a product of bfloat16 by this level's own code. */
double probe_bf16(void);

/* Chooses oneDNN for each kind of product that it does faster, and what a thread does alone. tuning_now is tried out, and
 * is *t at the end. */
void probe_choices(Tuning *t);

#endif
