/* See fragments.h. A warp for each [16,16] of c, as two [16,8]; 16 columns of a and b at a time, the next on their way
 * while these are multiplied. */
extern "C" { /* this is C alone */
#include "base/error.h"
}
#include "tests/emulator/fragments.h"

#include "kernels/cuda/mma.h"

namespace
{

constexpr int SIDE = 16, ROW = 24; /* ROW: numbers from one row of a tile to the next */

typedef struct Sizes {
    size_t m, n, k;
    Way way;
} Sizes;

__device__ unsigned two(const uint16_t *at, size_t apart) { return at[0] | (unsigned)at[apart] << 16; }

__device__ void word_by_word(unsigned a[4], unsigned b[2][2], const uint16_t *x, const uint16_t *y, size_t k,
                             size_t rows)
{
    unsigned g = lane() / 4, t = lane() % 4;
    for (unsigned i = 0; i < 4; i++)
        a[i] = two(x + (g + i % 2 * 8) * k + 2 * t + i / 2 * 8, 1);
    for (unsigned half = 0; half < 2; half++)
        for (unsigned i = 0; i < 2; i++)
            b[half][i] = 8 * half < rows ? two(y + (8 * half + g) * k + 2 * t + 8 * i, 1) : 0;
}

/* 16 rows of 16 numbers, `stride` apart, to a tile: each lane copies half a row. */
__device__ void bring(uint16_t *tile, const uint16_t *from, size_t stride, size_t rows)
{
    size_t row = lane() / 2, column = lane() % 2 * 8;
    copy_async(tile + row * ROW + column, from + (row < rows ? row * stride + column : 0), row < rows ? 16 : 0);
}

/* Row l % 16 of a tile, and its first or second half. */
__device__ const uint16_t *half_row(const uint16_t *tile) { return tile + lane() % 16 * ROW + lane() / 16 * 8; }

__device__ void by_matrices(unsigned a[4], unsigned b[2][2], const uint16_t *x, const uint16_t *y, Way way)
{
    unsigned four[4];
    if (way == BY_MATRICES) {
        load_matrices(a, half_row(x));
        load_matrices(four, half_row(y));
        b[0][0] = four[0], b[1][0] = four[1], b[0][1] = four[2], b[1][1] = four[3];
        return;
    }
    load_transposed(four, half_row(x));
    a[0] = four[0], a[1] = four[2], a[2] = four[1], a[3] = four[3];
    load_transposed(four, half_row(y));
    b[0][0] = four[0], b[0][1] = four[1], b[1][0] = four[2], b[1][1] = four[3];
}

__device__ void bring_both(uint16_t (*tile)[SIDE * ROW], const uint16_t *a, const uint16_t *b, Sizes of, size_t step)
{
    size_t i0 = (size_t)blockIdx.x * SIDE, j0 = (size_t)blockIdx.y * SIDE;
    if (step * SIDE < of.k && of.way == BY_MATRICES) {
        bring(tile[0], a + i0 * of.k + step * SIDE, of.k, SIDE);
        bring(tile[1], b + j0 * of.k + step * SIDE, of.k, of.n - j0);
    } else if (step * SIDE < of.k) {
        bring(tile[0], a + step * SIDE * of.m + i0, of.m, SIDE);
        bring(tile[1], b + step * SIDE * of.n + j0, of.n, SIDE);
    }
    copy_commit();
}

__global__ void product(float *c, const uint16_t *a, const uint16_t *b, Sizes of)
{
    __shared__ __align__(16) uint16_t tile[2][2][SIDE * ROW];
    float sum[2][4] = {};
    size_t i0 = (size_t)blockIdx.x * SIDE, j0 = (size_t)blockIdx.y * SIDE;
    if (of.way != WORD_BY_WORD)
        bring_both(tile[0], a, b, of, 0);
    for (size_t step = 0; step * SIDE < of.k; step++) {
        unsigned x[4], y[2][2];
        if (of.way == WORD_BY_WORD) {
            word_by_word(x, y, a + i0 * of.k + step * SIDE, b + j0 * of.k + step * SIDE, of.k, of.n - j0);
        } else {
            bring_both(tile[(step + 1) % 2], a, b, of, step + 1);
            copy_wait<1>();
            __syncwarp();
            by_matrices(x, y, tile[step % 2][0], tile[step % 2][1], of.way);
            __syncwarp(); /* before the next but one comes here */
        }
        mma_bf16(sum[0], x, y[0]);
        mma_bf16(sum[1], x, y[1]);
    }
    for (unsigned half = 0; half < 2; half++)
        for (unsigned u = 0; u < 4; u++) {
            size_t i = i0 + lane() / 4 + u / 2 * 8, j = j0 + half * 8 + lane() % 4 * 2 + u % 2;
            if (j < of.n)
                c[i * of.n + j] = sum[half][u];
        }
}

} // namespace

#ifdef EMULATOR_CHECKED
bool fragments_checked(Way way, float *c, const uint16_t *a, const uint16_t *b, size_t m, size_t n, size_t k, Error *e)
#else
bool fragments_emulated(Way way, float *c, const uint16_t *a, const uint16_t *b, size_t m, size_t n, size_t k, Error *e)
#endif
{
    void *at[3];
    size_t bytes[] = {4 * m * n, 2 * m * k, 2 * n * k};
    cudaStream_t s;
    if (cudaStreamCreate(&s) || cudaMalloc(&at[0], bytes[0]) || cudaMalloc(&at[1], bytes[1]) ||
        cudaMalloc(&at[2], bytes[2]))
        return fail(e, "no memory for the matrices");
    cudaMemcpyAsync(at[1], a, bytes[1], cudaMemcpyHostToDevice, s);
    cudaMemcpyAsync(at[2], b, bytes[2], cudaMemcpyHostToDevice, s);
    emulator_start("product", dim3((unsigned)(m / SIDE), (unsigned)divide_up(n, SIDE)), LANES, 0, s, product,
                   (float *)at[0], (const uint16_t *)at[1], (const uint16_t *)at[2], Sizes{m, n, k, way});
    cudaError_t error = cudaStreamSynchronize(s);
    cudaMemcpyAsync(c, at[0], bytes[0], cudaMemcpyDeviceToHost, s);
    for (int i = 0; i < 3; i++)
        cudaFree(at[i]);
    cudaStreamDestroy(s);
    return error == cudaSuccess || fail(e, "%s", cudaGetErrorString(error));
}
