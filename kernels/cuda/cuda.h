/* The tables of the GPU backend. One source, compiled three ways:
 *
 *     cuda      by nvcc, for a GPU
 *     emulated  by a C++ compiler, for this processor: see emulator/emulator.h
 *     checked   the same with every access to memory looked at, some ten times slower */
#ifndef KERNELS_CUDA_CUDA_H
#define KERNELS_CUDA_CUDA_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const Kernels cuda_f32, cuda_bf16, cuda_tf32;
extern const Kernels emulated_f32, emulated_bf16, emulated_tf32;
extern const Kernels checked_f32, checked_bf16, checked_tf32;

#ifdef __cplusplus
}
#endif

#endif
