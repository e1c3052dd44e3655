/* What kernels of this lesson begin with: CUDA's words, from CUDA itself or from the emulator, and a launch that both
 * understand.
 *
 *     LAUNCH(queue, kernel, blocks, threads, arguments...)        kernel<<<blocks, threads, 0, queue>>>(arguments...)
 *
 * Pointers that a kernel gets are to the device's memory. */
#ifndef COURSE_18_GPU_H
#define COURSE_18_GPU_H

#include <math.h>
#include <stddef.h>

#if defined __CUDACC__
#include <cuda_runtime.h>
/* clang-format off */
#define LAUNCH(queue, kernel, blocks, threads, ...) kernel<<<(blocks), (threads), 0, (queue)>>>(__VA_ARGS__)
/* clang-format on */
#elif defined __cplusplus
#include "kernels/cuda/emulator/cuda_runtime.h"
#define LAUNCH(queue, kernel, blocks, threads, ...)                                                                    \
    emulator_start(#kernel, (blocks), (threads), 0, (queue), kernel, __VA_ARGS__)
#else
#include "kernels/cuda/emulator/runtime.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The exercises of exercise.cu, as one device runs them; exercise.h says what each does. */
typedef struct Gpu {
    void (*scale)(cudaStream_t queue, float *y, const float *x, float a, size_t n);
    void (*softmax)(cudaStream_t queue, float *y, const float *x, size_t n, size_t columns);
    void (*attend)(cudaStream_t queue, float *y, const float *q, const float *k, const float *v, float scale, size_t n,
                   size_t m, size_t d);
} Gpu;

extern const Gpu gpu_emulated, gpu_checked;

/* What lesson.cu shows: sums [n] of the rows of x [n,columns], with a mistake or without. */
typedef enum Mistake { NO_MISTAKE, NO_BARRIER, BARRIER_IN_A_BRANCH, NO_ATOMIC, NO_GUARD } Mistake;

typedef void SumRows(cudaStream_t queue, float *sums, const float *x, size_t n, size_t columns, Mistake mistake);

extern SumRows *const sum_rows_emulated, *const sum_rows_checked;

#ifdef __cplusplus
}
#endif

#endif
