/* The fast backend on a CPU: the operations of plain in vector code, products by our own or by oneDNN (tuning.h).
 *
 * Two tables, f32 and bf16. cpu.c includes the operations and is compiled once for each. */
#ifndef KERNELS_CPU_CPU_H
#define KERNELS_CPU_CPU_H

#include "kernels/cpu/names.h"
#include "kernels/kernels.h"

extern const Kernels cpu_f32, cpu_bf16;

/* The note of bf16: where no instruction multiplies bfloat16, bf16 takes as long as f32. */
const char *cpu_bf16_note(void);

#endif
