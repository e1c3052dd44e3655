#define softmax_kernel right_softmax_kernel
#define softmax_on_gpu right_softmax_on_gpu
#include "course/solutions/18-kernel.cu"
#undef softmax_kernel
#undef softmax_on_gpu

static __device__ float added_up(float *shared, float x)
{
    shared[threadIdx.x] = x;
    for (unsigned half = THREADS / 2; half > 0; half /= 2)
        if (threadIdx.x < half)
            shared[threadIdx.x] += shared[threadIdx.x + half];
    return shared[0];
}

/* Nobody waits for anybody. */
static __global__ void softmax_kernel(float *y, const float *x, size_t columns)
{
    __shared__ float shared[THREADS];
    x += blockIdx.x * columns, y += blockIdx.x * columns;
    float sum = 0;
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        sum += expf(x[j]);
    sum = added_up(shared, sum);
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        y[j] = expf(x[j]) / sum;
}

static void softmax_on_gpu(cudaStream_t queue, float *y, const float *x, size_t n, size_t columns)
{
    LAUNCH(queue, softmax_kernel, (unsigned)n, THREADS, y, x, columns);
}
