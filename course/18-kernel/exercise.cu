/* Lesson 18, exercises 4 to 6: fill in the kernels; exercise.h says what each does. `make grade-18` runs them on the
 * emulator, with each access to memory looked at, and in several orders of threads. */
#include "course/18-kernel/gpu.h"

/* 4. y[i] = a x[i]. Threads come in whole blocks: the last block has some for which there is no number. */
constexpr unsigned BLOCK = 128;

static __global__ void scale_kernel(float *y, const float *x, float a, size_t n) { (void)y, (void)x, (void)a, (void)n; }

static void scale_on_gpu(cudaStream_t queue, float *y, const float *x, float a, size_t n)
{
    unsigned blocks = 1; /* how many does it take? */
    LAUNCH(queue, scale_kernel, blocks, BLOCK, y, x, a, n);
}

/* 5. Block blockIdx.x has row blockIdx.x, and its thread threadIdx.x numbers threadIdx.x, + THREADS, + 2 THREADS, ...
 * of it. What all need of each, the largest and the sum, goes through shared memory. */
constexpr unsigned THREADS = 64;

static __global__ void softmax_kernel(float *y, const float *x, size_t columns) { (void)y, (void)x, (void)columns; }

static void softmax_on_gpu(cudaStream_t queue, float *y, const float *x, size_t n, size_t columns)
{
    LAUNCH(queue, softmax_kernel, (unsigned)n, THREADS, y, x, columns);
}

/* 6. Thread threadIdx.x of block blockIdx.x has query blockIdx.x QUERIES + threadIdx.x, if there is one; the others
 * help to load keys and values. Its part of the average (exercise 2) is in variables of its own. */
constexpr unsigned QUERIES = 32, KEYS = 16, MOST = 32;

static __global__ void attend_kernel(float *y, const float *q, const float *k, const float *v, float scale, size_t n,
                                     size_t m, size_t d)
{
    (void)y, (void)q, (void)k, (void)v, (void)scale, (void)n, (void)m, (void)d;
}

static void attend_on_gpu(cudaStream_t queue, float *y, const float *q, const float *k, const float *v, float scale,
                          size_t n, size_t m, size_t d)
{
    LAUNCH(queue, attend_kernel, (unsigned)((n + QUERIES - 1) / QUERIES), QUERIES, y, q, k, v, scale, n, m, d);
}
