/* Lesson 18: one way to do exercises 4 to 6. */
#include "course/18-kernel/gpu.h"

constexpr unsigned BLOCK = 128;

static __global__ void scale_kernel(float *y, const float *x, float a, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i];
}

static void scale_on_gpu(cudaStream_t queue, float *y, const float *x, float a, size_t n)
{
    LAUNCH(queue, scale_kernel, (unsigned)((n + BLOCK - 1) / BLOCK), BLOCK, y, x, a, n);
}

constexpr unsigned THREADS = 64;

/* The sum, or the largest, of what the threads of a block have: in a tree, so that the order is the same each time.
 * `shared` may be used again at once. */
static __device__ float of_block(float *shared, float x, bool largest)
{
    unsigned self = threadIdx.x;
    shared[self] = x;
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (self < half) {
            float other = shared[self + half];
            shared[self] = largest ? fmaxf(shared[self], other) : shared[self] + other;
        }
    }
    __syncthreads();
    float result = shared[0];
    __syncthreads();
    return result;
}

/* fmaxf passes NaN over, so the largest of NaN and -infinity is -infinity; then the sum of all tells them apart. */
static __global__ void softmax_kernel(float *y, const float *x, size_t columns)
{
    __shared__ float shared[THREADS];
    x += blockIdx.x * columns, y += blockIdx.x * columns;
    float largest = -INFINITY, sum = 0, all = 0;
    for (size_t j = threadIdx.x; j < columns; j += THREADS) {
        largest = fmaxf(largest, x[j]);
        all += x[j];
    }
    largest = of_block(shared, largest, true);
    all = of_block(shared, all, false);
    bool dead = largest == -INFINITY && !isnan(all);
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        sum += expf(x[j] - largest);
    sum = of_block(shared, sum, false);
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        y[j] = dead ? 0 : expf(x[j] - largest) / sum;
}

static void softmax_on_gpu(cudaStream_t queue, float *y, const float *x, size_t n, size_t columns)
{
    LAUNCH(queue, softmax_kernel, (unsigned)n, THREADS, y, x, columns);
}

constexpr unsigned QUERIES = 32, KEYS = 16, MOST = 32;

/* What a query has met so far: exercise 2's part, with one vector more */
typedef struct Met {
    float largest, sum, y[MOST];
} Met;

static __device__ void meet(Met *met, float score, const float *vector, size_t d)
{
    float largest = fmaxf(met->largest, score), shrink = expf(met->largest - largest), weight = expf(score - largest);
    met->largest = largest;
    met->sum = met->sum * shrink + weight;
    for (size_t c = 0; c < d; c++)
        met->y[c] = met->y[c] * shrink + weight * vector[c];
}

static __global__ void attend_kernel(float *y, const float *q, const float *k, const float *v, float scale, size_t n,
                                     size_t m, size_t d)
{
    __shared__ float keys[KEYS][MOST], values[KEYS][MOST];
    size_t i = (size_t)blockIdx.x * QUERIES + threadIdx.x;
    bool live = i < n; /* without a query it still loads keys, and waits with the others */
    Met met = {};
    met.largest = -INFINITY;
    for (size_t first = 0; first < m; first += KEYS) {
        unsigned count = m - first < KEYS ? (unsigned)(m - first) : KEYS;
        for (size_t t = threadIdx.x; t < count * d; t += QUERIES) {
            keys[t / d][t % d] = k[first * d + t];
            values[t / d][t % d] = v[first * d + t];
        }
        __syncthreads();
        for (unsigned j = 0; live && j < count; j++) {
            float score = 0;
            for (size_t c = 0; c < d; c++)
                score += q[i * d + c] * keys[j][c];
            meet(&met, scale * score, values[j], d);
        }
        __syncthreads(); /* before the next tile is written over this one */
    }
    for (size_t c = 0; live && c < d; c++)
        y[i * d + c] = met.sum > 0 ? met.y[c] / met.sum : 0;
}

static void attend_on_gpu(cudaStream_t queue, float *y, const float *q, const float *k, const float *v, float scale,
                          size_t n, size_t m, size_t d)
{
    LAUNCH(queue, attend_kernel, (unsigned)((n + QUERIES - 1) / QUERIES), QUERIES, y, q, k, v, scale, n, m, d);
}
