/* Lesson 18: a kernel, and the mistakes one makes in it. Lesson.c runs it in several orders of threads. */
#include "course/18-kernel/gpu.h"

namespace
{

constexpr unsigned THREADS = 64;

/* A block has a row. Each thread sums every THREADSth number of it; then the lower half of the threads adds what the
 * upper half has, the lower half of these what the rest of these has, and so on. */
__global__ void sum_kernel(float *sums, const float *x, size_t columns)
{
    __shared__ float part[THREADS];
    unsigned self = threadIdx.x;
    const float *row = x + blockIdx.x * columns;
    float sum = 0;
    for (size_t j = self; j < columns; j += THREADS)
        sum += row[j];
    part[self] = sum;
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (self < half)
            part[self] += part[self + half];
    }
    if (self == 0)
        sums[blockIdx.x] = part[0];
}

/* The same, and nobody waits */
__global__ void hasty_kernel(float *sums, const float *x, size_t columns)
{
    __shared__ float part[THREADS];
    unsigned self = threadIdx.x;
    const float *row = x + blockIdx.x * columns;
    float sum = 0;
    for (size_t j = self; j < columns; j += THREADS)
        sum += row[j];
    part[self] = sum;
    for (unsigned half = THREADS / 2; half > 0; half /= 2)
        if (self < half)
            part[self] += part[self + half];
    if (self == 0)
        sums[blockIdx.x] = part[0];
}

/* Only those wait that have something to do */
__global__ void branch_kernel(float *sums, const float *x, size_t columns)
{
    __shared__ float part[THREADS];
    unsigned self = threadIdx.x;
    part[self] = self < columns ? x[blockIdx.x * columns + self] : 0;
    for (unsigned half = THREADS / 2; half > 0; half /= 2)
        if (self < half) {
            __syncthreads();
            part[self] += part[self + half];
        }
    if (self == 0)
        sums[blockIdx.x] = part[0];
}

/* All add to one number, without asking each other */
__global__ void crowd_kernel(float *sums, const float *x, size_t columns)
{
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        sums[blockIdx.x] += x[blockIdx.x * columns + j];
}

/* The last threads have no number */
__global__ void beyond_kernel(float *sums, const float *x, size_t columns)
{
    size_t rounds = (columns + THREADS - 1) / THREADS;
    for (size_t round = 0; round < rounds; round++)
        atomicAdd(&sums[blockIdx.x], x[blockIdx.x * columns + round * THREADS + threadIdx.x]);
}

void sum_rows(cudaStream_t queue, float *sums, const float *x, size_t n, size_t columns, Mistake mistake)
{
    unsigned blocks = (unsigned)n;
    switch (mistake) {
    case NO_MISTAKE: LAUNCH(queue, sum_kernel, blocks, THREADS, sums, x, columns); break;
    case NO_BARRIER: LAUNCH(queue, hasty_kernel, blocks, THREADS, sums, x, columns); break;
    case BARRIER_IN_A_BRANCH: LAUNCH(queue, branch_kernel, blocks, THREADS, sums, x, columns); break;
    case NO_ATOMIC: LAUNCH(queue, crowd_kernel, blocks, THREADS, sums, x, columns); break;
    case NO_GUARD: LAUNCH(queue, beyond_kernel, blocks, THREADS, sums, x, columns); break;
    }
}

} // namespace

#ifdef EMULATOR_CHECKED
SumRows *const sum_rows_checked = sum_rows;
#else
SumRows *const sum_rows_emulated = sum_rows;
#endif
