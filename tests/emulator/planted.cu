/* See planted.h. Every kernel takes x = 0, 1, .. 63 and sums it, twice over, to sum[0]. */
#include "tests/emulator/planted.h"

#include "kernels/cuda/mma.h"

namespace
{

constexpr int THREADS = 64, SUMS = 11, AFTER = 16; /* AFTER: after the sums, for THREADS numbers and a counter */

/* Each thread adds its neighbour's number and the one that is two ahead, by way of shared memory. */
__global__ void tiles(float *sum, const float *x, Mistake mistake)
{
    __shared__ float tile[THREADS];
    int self = (int)threadIdx.x, half = THREADS / 2;
    float mine = 0;
    for (int round = 0; round < 2; round++) {
        tile[self] = round ? THREADS - 1 - x[self] : x[self];
        if (mistake != NO_BARRIER)
            __syncthreads();
        mine += tile[(self + half) % THREADS];
        if (mistake == SHARED_OFF_BY_ONE)
            mine += 0 * tile[self + 1];
        if (mistake != NO_BARRIER_AFTER)
            __syncthreads();
    }
    tile[self] = mine;
    __syncthreads();
    for (int i = 0; self == 0 && i < THREADS; i++)
        sum[0] += tile[i];
}

__global__ void asked(float *sum, const float *x, Mistake mistake)
{
    float *tile = (float *)emulator_shared();
    tile[threadIdx.x + (mistake == SHARED_OFF_BY_ONE_ASKED ? 1 : 0)] = x[threadIdx.x];
    __syncthreads();
    for (int i = 0; threadIdx.x == 0 && i < THREADS; i++)
        sum[0] += 2 * tile[i];
}

/* Two warps: the lower half of each hands its numbers to the upper half. */
__global__ void warps(float *sum, const float *x, Mistake mistake)
{
    __shared__ float tile[THREADS];
    tile[threadIdx.x] = x[threadIdx.x];
    float other = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
    if (mistake != NO_SYNCWARP)
        __syncwarp();
    atomicAdd(sum, tile[threadIdx.x ^ 1] + other);
}

__global__ void atomics(float *sum, const float *x, Mistake mistake)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (mistake == PLUS_FOR_ATOMIC || mistake == PLUS_FOR_ATOMIC_APART)
        *sum += 2 * x[i];
    else
        atomicAdd(sum, 2 * x[i]);
}

/* Two blocks write, and the one that comes last sums what both have written. */
__global__ void last_block(float *sum, const float *x, float *capacity, Mistake mistake)
{
    __shared__ bool last;
    int self = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    capacity[self] = 2 * x[self];
    if (mistake != NO_BARRIER_BEFORE_FENCE)
        __syncthreads();
    if (threadIdx.x == 0) {
        if (mistake != NO_FENCE)
            __threadfence();
        last = atomicInc((unsigned *)capacity + THREADS, 1u) == (mistake == NOT_THE_LAST ? 0 : 1);
        if (mistake != NO_FENCE_AFTER)
            __threadfence();
    }
    __syncthreads();
    for (int i = 0; last && threadIdx.x == 0 && i < THREADS; i++)
        *sum += capacity[i];
}

__global__ void off_by_one(float *sum, const float *x)
{
    for (int i = 0; i <= THREADS; i++)
        sum[0] += 2 * x[i];
}

__global__ void unwritten(float *sum, const float *x)
{
    __shared__ float first;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        first = x[0];
    __syncthreads();
    sum[blockIdx.x] = first;
}

__global__ void branches(float *sum, const float *x, Mistake mistake)
{
    if (mistake == BARRIER_IN_A_BRANCH && threadIdx.x % 2)
        __syncthreads();
    if (mistake == BARRIER_AFTER_RETURN && threadIdx.x == 3)
        return;
    if (mistake == MASK_OF_OTHERS && threadIdx.x % WARP == 5)
        return;
    __syncthreads();
    atomicAdd(sum, 2 * x[threadIdx.x ^ 1]);
    __shfl_sync(0xffffffffu, x[threadIdx.x], 0);
}

__global__ void shuffles(float *sum, const float *x, Mistake mistake)
{
    if (mistake == MASK_OF_OTHERS && threadIdx.x % WARP == 5)
        return;
    atomicAdd(sum, x[threadIdx.x] + __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1));
}

/* Two tiles on their way at a time, each of half of x, twice over: four threads copy a tile, all read it. */
__global__ void copies(float *sum, const float *x, Mistake mistake)
{
    constexpr int HALF = THREADS / 2;
    float *tile = (float *)emulator_shared(), mine = 0; /* [2, HALF] */
    int self = (int)threadIdx.x;
    for (int round = 0; round <= 4; round++) {
        if (round < 4 && self < HALF / 4)
            copy_async(tile + round % 2 * HALF + 4 * self + (mistake == COPY_UNALIGNED),
                       x + round % 2 * HALF + 4 * self, 16);
        copy_commit();
        if (round == 0)
            continue;
        if (mistake == WAIT_FOR_OTHER)
            copy_wait<2>();
        else if (mistake != NO_WAIT)
            copy_wait<1>();
        if (mistake != NO_BARRIER_AFTER_WAIT)
            __syncthreads();
        if (self < HALF)
            mine += tile[(round - 1) % 2 * HALF + (self + 8) % HALF];
        if (mistake != COPY_TOO_EARLY)
            __syncthreads();
    }
    atomicAdd(sum, mine);
}

/* A warp multiplies [16,16] of ones by [16,8] of ones: 128 sums of 16, and each lane adds 4 of them. */
__global__ void products(float *sum, const float *x, Mistake mistake)
{
    const unsigned ones = 0x3f803f80u, a[4] = {ones, ones, ones, ones}, b[2] = {ones, ones};
    float c[4] = {};
    if (mistake == LANES_MISSING && threadIdx.x == 3)
        return;
    mma_bf16(c, a, b);
    if (threadIdx.x < LANES)
        atomicAdd(sum, (c[0] + c[1] + c[2] + c[3]) / (LANES * LANES * 2) * 2 * x[THREADS - 1] * THREADS / 2);
}

void launch(cudaStream_t s, Mistake mistake, float *sum, const float *x)
{
    switch (mistake) {
    case NO_SYNCWARP: return emulator_start("warps", 1, THREADS, 0, s, warps, sum, x, mistake);
    case PLUS_FOR_ATOMIC: return emulator_start("atomics", 1, THREADS, 0, s, atomics, sum, x, mistake);
    case PLUS_FOR_ATOMIC_APART: return emulator_start("atomics", THREADS, 1, 0, s, atomics, sum, x, mistake);
    case NO_FENCE:
    case NO_FENCE_AFTER:
    case NO_BARRIER_BEFORE_FENCE:
    case NOT_THE_LAST:
        return emulator_start("last_block", 2, THREADS / 2, 0, s, last_block, sum, x, sum + AFTER, mistake);
    case SHARED_OFF_BY_ONE_ASKED: return emulator_start("asked", 1, THREADS, 4 * THREADS, s, asked, sum, x, mistake);
    case GLOBAL_OFF_BY_ONE: return emulator_start("off_by_one", 1, 1, 0, s, off_by_one, sum, x);
    case UNWRITTEN: return emulator_start("unwritten", 2, 1, 0, s, unwritten, sum, x);
    case BARRIER_IN_A_BRANCH:
    case BARRIER_AFTER_RETURN: return emulator_start("branches", 1, THREADS, 0, s, branches, sum, x, mistake);
    case MASK_OF_OTHERS: return emulator_start("shuffles", 1, THREADS, 0, s, shuffles, sum, x, mistake);
    case NO_WAIT:
    case WAIT_FOR_OTHER:
    case NO_BARRIER_AFTER_WAIT:
    case COPY_TOO_EARLY:
    case COPY_UNALIGNED: return emulator_start("copies", 1, THREADS, 4 * THREADS, s, copies, sum, x, mistake);
    case LANES_MISSING: return emulator_start("products", 1, THREADS, 0, s, products, sum, x, mistake);
    case TOO_MANY_THREADS: return emulator_start("tiles", 1, 1025, 0, s, tiles, sum, x, mistake);
    case NO_MISTAKE: /* all kernels that have one to make */
        emulator_start("warps", 1, THREADS, 0, s, warps, sum + 2, x, mistake);
        emulator_start("atomics", 2, THREADS / 2, 0, s, atomics, sum + 3, x, mistake);
        emulator_start("asked", 1, THREADS, 4 * THREADS, s, asked, sum + 4, x, mistake);
        emulator_start("branches", 1, THREADS, 0, s, branches, sum + 5, x, mistake);
        emulator_start("shuffles", 1, THREADS, 0, s, shuffles, sum + 6, x, mistake);
        emulator_start("copies", 1, THREADS, 4 * THREADS, s, copies, sum + 7, x, mistake);
        emulator_start("products", 1, THREADS, 0, s, products, sum + 8, x, mistake);
        emulator_start("last_block", 2, THREADS / 2, 0, s, last_block, sum + 9, x, sum + AFTER, mistake);
        emulator_start("last_block", 2, THREADS / 2, 0, s, last_block, sum + 10, x, sum + AFTER, mistake);
        break;
    default: break;
    }
    emulator_start("tiles", 1, THREADS, 0, s, tiles, sum, x, mistake);
}

} // namespace

#ifdef EMULATOR_CHECKED
bool planted_checked(Mistake mistake, float *sum, Error *e)
#else
bool planted_emulated(Mistake mistake, float *sum, Error *e)
#endif
{
    float x[THREADS], sums[AFTER + THREADS + 1] = {};
    void *device_x, *device_sum;
    cudaStream_t s;
    for (int i = 0; i < THREADS; i++)
        x[i] = (float)i;
    if (cudaStreamCreate(&s) || cudaMalloc(&device_x, sizeof x) || cudaMalloc(&device_sum, sizeof sums))
        return false;
    cudaMemset(device_sum, 0, sizeof sums);
    cudaMemcpyAsync(device_x, x, sizeof x, cudaMemcpyHostToDevice, s);
    if (mistake == RELEASED)
        cudaFree(device_x);
    launch(s, mistake, (float *)device_sum, mistake == HOST_POINTER ? x : (const float *)device_x);
    cudaError_t error = cudaStreamSynchronize(s);
    const char *text = cudaGetErrorString(error);
    for (int i = 0; i < (int)sizeof e->text - 1 && (i == 0 || e->text[i - 1]); i++)
        e->text[i] = text[i];
    cudaMemcpyAsync(sums, device_sum, sizeof sums, cudaMemcpyDeviceToHost, s);
    *sum = sums[0];
    for (int i = 2; mistake == NO_MISTAKE && i < SUMS; i++)
        if (sums[i] != sums[0])
            *sum = sums[i];
    if (mistake != RELEASED)
        cudaFree(device_x);
    cudaFree(device_sum);
    cudaStreamDestroy(s);
    return error == cudaSuccess;
}
