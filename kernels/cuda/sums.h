/* Sums and maxima over the lanes of a warp and the threads of a block, in one order whatever runs first: so the same
 * numbers give the same bits. */
#ifndef KERNELS_CUDA_SUMS_H
#define KERNELS_CUDA_SUMS_H

#include "kernels/cuda/launch.h"

namespace
{

/* Every lane gets the result. At each step lanes exchange with a partner 16, 8, 4, 2, 1 lanes away. */
template <class T> __device__ inline T warp_sum(T x)
{
    for (int away = LANES / 2; away > 0; away /= 2)
        x += __shfl_xor_sync(ALL_LANES, x, away);
    return x;
}

static __device__ inline float warp_max(float x)
{
    for (int away = LANES / 2; away > 0; away /= 2) {
        float other = __shfl_xor_sync(ALL_LANES, x, away);
        x = other > x ? other : x;
    }
    return x;
}

/* The sum over a block of BLOCK threads, to thread 0: each warp its own, then the first warp those of all. */
template <class T> __device__ inline T block_sum(T x)
{
    __shared__ T part[BLOCK / LANES];
    unsigned warp = threadIdx.x / LANES, in_warp = threadIdx.x % LANES;
    x = warp_sum(x);
    __syncthreads(); /* who still reads the sums before */
    if (in_warp == 0)
        part[warp] = x;
    __syncthreads();
    return warp_sum(warp == 0 && in_warp < BLOCK / LANES ? part[in_warp] : T(0));
}

/* Sums over rows i of term(i, j), for each of d columns: a block has COLUMNS of them and one of `parts` of the rows,
 * its threads are [ROWS][COLUMNS], and each first sums every ROWS-th row. to [parts, d]; added, where `add`. */
constexpr unsigned SUM_COLUMNS = 32, SUM_ROWS = 8;

template <class Term> __global__ void column_sums(float *to, bool add, Term term, size_t n, size_t d, size_t parts)
{
    __shared__ float of_row[SUM_ROWS][SUM_COLUMNS];
    size_t part = blockIdx.x % parts, j = blockIdx.x / parts * SUM_COLUMNS + threadIdx.x;
    size_t end = n * (part + 1) / parts;
    float sum = 0;
    for (size_t i = n * part / parts + threadIdx.y; j < d && i < end; i += SUM_ROWS)
        sum += term(i, j);
    of_row[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || j >= d)
        return;
    for (unsigned r = 1; r < SUM_ROWS; r++)
        sum += of_row[r][threadIdx.x];
    to[part * d + j] = add ? to[part * d + j] + sum : sum;
}

/* The rows of x [n, columns]. */
typedef struct RowTerm {
    const float *x;
    size_t columns;
    __device__ float operator()(size_t i, size_t j) const { return x[i * columns + j]; }
} RowTerm;

/* How many parts rows are cut into: enough to keep a GPU busy, and the same on each, as the order of a sum is. */
constexpr size_t PART_ROWS = 64, MOST_PARTS = 64;

static inline size_t parts_of_rows(size_t n)
{
    return n < PART_ROWS * MOST_PARTS ? divide_up(n, PART_ROWS) : MOST_PARTS;
}

} // namespace

#endif
