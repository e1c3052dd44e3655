/* See planted.h. Every kernel takes x = 0, 1, .. 63 and sums it, twice over, to sum[0]. */
#include "tests/emulator/planted.h"

#include "kernels/cuda/emulator/cuda_runtime.h"

namespace
{

constexpr int THREADS = 64;

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

void launch(cudaStream_t s, Mistake mistake, float *sum, const float *x)
{
    switch (mistake) {
    case NO_SYNCWARP: return emulator_start("warps", 1, THREADS, 0, s, warps, sum, x, mistake);
    case PLUS_FOR_ATOMIC: return emulator_start("atomics", 1, THREADS, 0, s, atomics, sum, x, mistake);
    case PLUS_FOR_ATOMIC_APART: return emulator_start("atomics", THREADS, 1, 0, s, atomics, sum, x, mistake);
    case SHARED_OFF_BY_ONE_ASKED: return emulator_start("asked", 1, THREADS, 4 * THREADS, s, asked, sum, x, mistake);
    case GLOBAL_OFF_BY_ONE: return emulator_start("off_by_one", 1, 1, 0, s, off_by_one, sum, x);
    case UNWRITTEN: return emulator_start("unwritten", 2, 1, 0, s, unwritten, sum, x);
    case BARRIER_IN_A_BRANCH:
    case BARRIER_AFTER_RETURN: return emulator_start("branches", 1, THREADS, 0, s, branches, sum, x, mistake);
    case MASK_OF_OTHERS: return emulator_start("shuffles", 1, THREADS, 0, s, shuffles, sum, x, mistake);
    case TOO_MANY_THREADS: return emulator_start("tiles", 1, 1025, 0, s, tiles, sum, x, mistake);
    case NO_MISTAKE: /* all kernels that have one to make */
        emulator_start("warps", 1, THREADS, 0, s, warps, sum + 2, x, mistake);
        emulator_start("atomics", 2, THREADS / 2, 0, s, atomics, sum + 3, x, mistake);
        emulator_start("asked", 1, THREADS, 4 * THREADS, s, asked, sum + 4, x, mistake);
        emulator_start("branches", 1, THREADS, 0, s, branches, sum + 5, x, mistake);
        emulator_start("shuffles", 1, THREADS, 0, s, shuffles, sum + 6, x, mistake);
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
    enum { SUMS = 7 };
    float x[THREADS], sums[SUMS] = {};
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
