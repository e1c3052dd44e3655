/* What all kernels stand on: the words of CUDA, numbers of the table's type, the index of a thread, and how to launch.
 *
 *     LAUNCH(s, kernel, blocks, threads, arguments...)             kernel<<<blocks, threads, 0, s->queue>>>(...)
 *     LAUNCH_SHARED(s, kernel, blocks, threads, bytes, arguments...)   with dynamic shared memory
 *     LAUNCH_EACH(s, kernel, n, arguments...)                      one thread for each of n elements
 *     LAUNCH_ROWS(s, kernel, n, arguments...)                      one warp for each of n rows
 *
 * Where something has failed nothing is launched any more: it would read what was not written, addresses among it.
 *
 * No pointer is aligned to more than its numbers are, so there are no wide loads where it is not asked first. Sizes and
 * indices have 64 bits. */
#ifndef KERNELS_CUDA_LAUNCH_H
#define KERNELS_CUDA_LAUNCH_H

#include "kernels/kernels.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define DYNAMIC_SHARED(type, name)                                                                                     \
    extern __shared__ __align__(16) unsigned char dynamic_shared[];                                                    \
    type *name = (type *)dynamic_shared
/* clang-format off */
#define START(s, kernel, blocks, threads, bytes, ...)                                                                  \
    (kernel)<<<(blocks), (threads), (bytes), (s)->queue>>>(__VA_ARGS__)
/* clang-format on */
#else
#include "kernels/cuda/emulator/cuda_runtime.h"
#define DYNAMIC_SHARED(type, name) type *name = (type *)emulator_shared()
#define START(s, kernel, blocks, threads, bytes, ...)                                                                  \
    emulator_start(#kernel, (blocks), (threads), (bytes), (s)->queue, kernel, __VA_ARGS__)
#endif

#define LAUNCH_SHARED(s, kernel, blocks, threads, bytes, ...)                                                          \
    ((s)->failed ? (void)0                                                                                             \
                 : (START(s, kernel, blocks, threads, bytes, __VA_ARGS__),                                             \
                    stream_note((s), cudaGetLastError(), #kernel, __FILE__, __LINE__)))

/* The source is compiled several times, to different code under the same names, so each keeps its own to itself. */
namespace
{

constexpr unsigned LANES = 32, BLOCK = 256, ROWS_A_BLOCK = 4, MOST_BLOCKS = 4096;
constexpr unsigned ALL_LANES = 0xffffffffu;

/* ---- numbers: what activations are stored as. Reals, which everything is computed in, are floats. */

#if defined CUDA_BF16
typedef struct Number {
    uint16_t bits;
} Number;
static __device__ inline float real(Number x) { return __uint_as_float((unsigned)x.bits << 16); }

/* To nearest, ties to even; NaN stays NaN. As base/bf16.h, which is for the host. */
static __device__ inline Number number(float x)
{
    unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return Number{(uint16_t)(bits >> 16 | 0x40u)};
    return Number{(uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
#else
typedef float Number;
static __device__ inline float real(float x) { return x; }
static __device__ inline float number(float x) { return x; }
#endif

/* Writes a gradient: over what is there, or added to it. */
static __device__ inline void store_gradient(Number *gradient, bool add, float value)
{
    *gradient = number(add ? real(*gradient) + value : value);
}

#if defined CUDA_BF16
static __device__ inline float real(float x) { return x; }
static __device__ inline void store_gradient(float *gradient, bool add, float value)
{
    *gradient = add ? *gradient + value : value;
}
#endif

/* ---- the index of a thread */

/* Of all threads of a launch in one dimension: this one's number, and how many there are. A thread that is one of few
 * for many elements takes number, number + count, number + 2 count, ... */
static __device__ inline size_t thread_number() { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ inline size_t thread_count() { return (size_t)gridDim.x * blockDim.x; }

/* put(i, get(i)) for each of n elements. A thread asks for several before it writes the first: what it writes might be what
 * it reads next, so the compiler would let each wait for the one before. */
template <class Get, class Put> __device__ inline void for_each(size_t n, Get get, Put put)
{
    constexpr unsigned together = 4;
    const size_t next = thread_count();
    for (size_t from = thread_number(); from < n; from += together * next) {
        float x[together];
#pragma unroll
        for (unsigned u = 0; u < together; u++)
            x[u] = from + u * next < n ? get(from + u * next) : 0;
#pragma unroll
        for (unsigned u = 0; u < together; u++)
            if (from + u * next < n)
                put(from + u * next, x[u]);
    }
}

/* Where one warp has one row: blocks are [ROWS_A_BLOCK][LANES] threads. */
static __device__ inline size_t warp_row() { return (size_t)blockIdx.x * blockDim.y + threadIdx.y; }
static __device__ inline unsigned lane() { return threadIdx.x; }

/* ---- launching */

static inline size_t divide_up(size_t n, size_t by) { return (n + by - 1) / by; }

static inline unsigned threads_for(size_t n) { return n < BLOCK ? (unsigned)(divide_up(n, LANES) * LANES) : BLOCK; }

static inline unsigned blocks_for(size_t n)
{
    size_t blocks = divide_up(n, BLOCK);
    return (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

} // namespace

#define LAUNCH(s, kernel, blocks, threads, ...) LAUNCH_SHARED(s, kernel, blocks, threads, 0, __VA_ARGS__)

#define LAUNCH_EACH(s, kernel, n, ...)                                                                                 \
    do {                                                                                                               \
        if ((n) > 0)                                                                                                   \
            LAUNCH(s, kernel, blocks_for(n), threads_for(n), __VA_ARGS__);                                             \
    } while (0)

#define LAUNCH_ROWS(s, kernel, n, ...)                                                                                 \
    do {                                                                                                               \
        if ((n) > 0)                                                                                                   \
            LAUNCH(s, kernel, (unsigned)divide_up(n, ROWS_A_BLOCK), dim3(LANES, ROWS_A_BLOCK), __VA_ARGS__);           \
    } while (0)

#endif
