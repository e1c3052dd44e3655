/* What a .cu file sees instead of CUDA's own <cuda_runtime.h> when an ordinary C++ compiler reads it: the same words,
 * with meanings that emulator.h gives them. Only what kernels/cuda uses is here.
 *
 * __shared__ is a static variable: blocks run one after another, so one copy serves them all. */
#ifndef KERNELS_CUDA_EMULATOR_CUDA_RUNTIME_H
#define KERNELS_CUDA_EMULATOR_CUDA_RUNTIME_H

#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/emulator/runtime.h"

#include <math.h>
#include <string.h>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __shared__      static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#define threadIdx (emulator_standing.thread)
#define blockIdx  (emulator_standing.block)
#define blockDim  (emulator_standing.block_size)
#define gridDim   (emulator_standing.grid_size)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/* ---- waiting for each other */

#define EMULATOR_TEXT(x) #x
#define EMULATOR_LINE(x) EMULATOR_TEXT(x)
#define EMULATOR_PLACE   __FILE__ ":" EMULATOR_LINE(__LINE__)

#define __syncthreads()        ((void)emulator_barrier(EMULATOR_PLACE, VOTE_NONE, 0))
#define __syncthreads_count(p) emulator_barrier(EMULATOR_PLACE, VOTE_COUNT, (p))
#define __syncthreads_and(p)   emulator_barrier(EMULATOR_PLACE, VOTE_AND, (p))
#define __syncthreads_or(p)    emulator_barrier(EMULATOR_PLACE, VOTE_OR, (p))
#define __threadfence()        check_fence()
#define __syncwarp(...)        emulator_syncwarp(EMULATOR_PLACE, ##__VA_ARGS__)
#define __ballot_sync(mask, p) ((unsigned)emulator_warp(EMULATOR_PLACE, BALLOT, (mask), (p) != 0, 0))
#define __any_sync(mask, p)    (__ballot_sync(mask, p) != 0)
#define __all_sync(mask, p)    (__ballot_sync(mask, p) == (mask))
#define __shfl_sync(...)       emulator_shuffle_at(EMULATOR_PLACE, __VA_ARGS__)
#define __shfl_xor_sync(...)   emulator_shuffle_xor(EMULATOR_PLACE, __VA_ARGS__)
#define __shfl_down_sync(...)  emulator_shuffle_down(EMULATOR_PLACE, __VA_ARGS__)
#define __shfl_up_sync(...)    emulator_shuffle_up(EMULATOR_PLACE, __VA_ARGS__)

static inline void emulator_syncwarp(const char *place, unsigned mask = 0xffffffffu)
{
    emulator_warp(place, SYNC, mask, 0, 0);
}

/* Every source has these for itself, as some are compiled with the checker and some without. */
namespace
{

template <class T> inline T emulator_shuffle(const char *place, unsigned mask, T value, int from)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = emulator_warp(place, SHUFFLE, mask, bits, (uint32_t)from);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Lanes are counted within groups of `width`; a lane that asks beyond its group gets its own value. */
template <class T> inline T emulator_shuffle_at(const char *place, unsigned mask, T value, int lane, int width = WARP)
{
    int self = (int)emulator_lane();
    return emulator_shuffle(place, mask, value, (self & ~(width - 1)) + (lane & (width - 1)));
}

template <class T> inline T emulator_shuffle_xor(const char *place, unsigned mask, T value, int other, int width = WARP)
{
    int self = (int)emulator_lane(), from = self ^ other;
    return emulator_shuffle(place, mask, value, from < (self & ~(width - 1)) + width ? from : self);
}

template <class T>
inline T emulator_shuffle_down(const char *place, unsigned mask, T value, unsigned by, int width = WARP)
{
    int self = (int)emulator_lane(), from = self + (int)by;
    return emulator_shuffle(place, mask, value, from < (self & ~(width - 1)) + width ? from : self);
}

template <class T>
inline T emulator_shuffle_up(const char *place, unsigned mask, T value, unsigned by, int width = WARP)
{
    int self = (int)emulator_lane(), from = self - (int)by;
    return emulator_shuffle(place, mask, value, from >= (self & ~(width - 1)) ? from : self);
}

/* ---- atomic operations: nothing comes between, because a fiber continues until it waits */

#define EMULATOR_UNSEEN __attribute__((no_sanitize("thread"))) /* check_atomic has told */

template <class T, class F> EMULATOR_UNSEEN inline T emulator_atomic(T *p, F next)
{
    check_atomic(p, sizeof *p);
    T was = *p;
    *p = next(was);
    return was;
}

template <class T> inline T atomicAdd(T *p, T x)
{
    return emulator_atomic(p, [=](T was) { return was + x; });
}

/* Up to `most`, and then from 0. */
template <class T> inline T atomicInc(T *p, T most)
{
    return emulator_atomic(p, [=](T was) { return was < most ? was + 1 : 0; });
}

template <class T> inline T atomicMax(T *p, T x)
{
    return emulator_atomic(p, [=](T was) { return x > was ? x : was; });
}

template <class T> inline T atomicCAS(T *p, T expected, T x)
{
    return emulator_atomic(p, [=](T was) { return was == expected ? x : was; });
}

/* ---- arithmetic */

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }

static inline float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- launching: LAUNCH of kernels/cuda/cuda.h comes here, as nvcc's kernel<<<grid, block, shared, stream>>>(...) */

template <class... P> struct EmulatorCall {
    void (*kernel)(P...);
    std::tuple<P...> arguments; /* copies, as on a GPU */
    static void run(const void *self)
    {
        const EmulatorCall *call = (const EmulatorCall *)self;
        std::apply(call->kernel, call->arguments);
    }
};

#ifdef EMULATOR_CHECKED
enum { EMULATOR_IS_CHECKED = true };
#else
enum { EMULATOR_IS_CHECKED = false };
#endif

/* CUDA takes any kernel there, too. */
template <class... P> inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, void (*kernel)(P...))
{
    return cudaFuncGetAttributes(attributes, (const void *)kernel);
}

template <class... P, class... A>
inline void emulator_start(const char *name, dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                           void (*kernel)(P...), A... arguments)
{
    EmulatorCall<P...> call = {kernel, std::tuple<P...>(static_cast<P>(arguments)...)};
    Launch launch = {};
    launch.kernel = name;
    launch.grid = {grid.x, grid.y, grid.z};
    launch.block = {block.x, block.y, block.z};
    launch.shared = shared;
    launch.run = EmulatorCall<P...>::run;
    launch.arguments = &call;
    launch.argument_bytes = sizeof call;
    launch.checked = EMULATOR_IS_CHECKED;
    emulator_launch_on(stream, &launch);
}

} // namespace

#endif
