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
    __syncthreads(); /* threads may still read the earlier sums */
    if (in_warp == 0)
        part[warp] = x;
    __syncthreads();
    return warp_sum(warp == 0 && in_warp < BLOCK / LANES ? part[in_warp] : T(0));
}

/* Whether this block is the last of `blocks` that come here: what all of them have written before it may read then.
 * *count is 0 before, and again when all have come. */
static __device__ bool comes_last(unsigned *count, unsigned blocks)
{
    __shared__ bool last;
    __syncthreads(); /* the block has written */
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        __threadfence();
        last = atomicInc(count, blocks - 1) == blocks - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

/* The sum over rows i = from .. end-1 of term(i, j), to the block's first row of threads. Threads are [SUM_ROWS]
 * [SUM_COLUMNS], and each first sums every SUM_ROWS-th row: it asks for several at once, and then lets the term keep
 * what it gave. */
constexpr unsigned SUM_COLUMNS = 32, SUM_ROWS = 8, SUM_AT_ONCE = 4;

template <class Term> __device__ float column_sum(const Term &term, size_t from, size_t end, size_t j, size_t d)
{
    __shared__ float of_row[SUM_ROWS][SUM_COLUMNS];
    float sum = 0;
    for (size_t i = from + threadIdx.y; j < d && i < end; i += SUM_AT_ONCE * SUM_ROWS) {
        float x[SUM_AT_ONCE];
#pragma unroll
        for (unsigned u = 0; u < SUM_AT_ONCE; u++)
            x[u] = i + u * SUM_ROWS < end ? term(i + u * SUM_ROWS, j) : 0;
#pragma unroll
        for (unsigned u = 0; u < SUM_AT_ONCE; u++) {
            sum += x[u];
            if (i + u * SUM_ROWS < end)
                term.keep(i + u * SUM_ROWS, j, x[u]);
        }
    }
    of_row[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    for (unsigned r = 1; threadIdx.y == 0 && r < SUM_ROWS; r++)
        sum += of_row[r][threadIdx.x];
    return sum;
}

/* The rows of x [n, columns]. */
typedef struct RowTerm {
    const float *x;
    size_t columns;
    __device__ float operator()(size_t i, size_t j) const { return x[i * columns + j]; }
    __device__ void keep(size_t, size_t, float) const {}
} RowTerm;

/* put(j, sum over all n rows i of term(i, j)), for each of d columns: a block has SUM_COLUMNS of them and one of
 * `parts` of the rows. Where there are several, their sums [parts, d] are summed, in their order, by the block that
 * comes last of those of its columns: whichever it is, the bits are the same. */
template <class Term, class Put>
__global__ void column_sums(Put put, float *sums, unsigned *come, Term term, size_t n, size_t d, size_t parts)
{
    size_t part = blockIdx.x % parts, group = blockIdx.x / parts, j = group * SUM_COLUMNS + threadIdx.x;
    float sum = column_sum(term, n * part / parts, n * (part + 1) / parts, j, d);
    if (parts > 1) {
        if (threadIdx.y == 0 && j < d)
            sums[part * d + j] = sum;
        if (!comes_last(&come[group], (unsigned)parts))
            return;
        sum = column_sum(RowTerm{sums, d}, 0, parts, j, d);
    }
    if (threadIdx.y == 0 && j < d)
        put(j, sum);
}

/* Adds to `first` [d], and what comes after it to `second`. */
typedef struct AddTo {
    float *first, *second;
    size_t d;
    __device__ void operator()(size_t j, float sum) const { *(j < d ? &first[j] : &second[j - d]) += sum; }
} AddTo;

/* How many parts rows are cut into: enough to keep a GPU busy, and the same on each, as the order of a sum is. */
constexpr size_t PART_ROWS = 64, MOST_PARTS = 64;

static inline size_t parts_of_rows(size_t n)
{
    return n < PART_ROWS * MOST_PARTS ? divide_up(n, PART_ROWS) : MOST_PARTS;
}

} // namespace

#endif
