#define softmax_kernel right_softmax_kernel
#define softmax_on_gpu right_softmax_on_gpu
#include "course/solutions/18-kernel.cu"
#undef softmax_kernel
#undef softmax_on_gpu

/* The sum is right to a few digits, and in each order of threads to others. */
static __global__ void softmax_kernel(float *y, const float *x, size_t columns)
{
    __shared__ float shared[THREADS], sum;
    x += blockIdx.x * columns, y += blockIdx.x * columns;
    float largest = -INFINITY;
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        largest = fmaxf(largest, x[j]);
    largest = of_block(shared, largest, true);
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        atomicAdd(&sum, expf(x[j] - largest));
    __syncthreads();
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        y[j] = expf(x[j] - largest) / sum;
}

static void softmax_on_gpu(cudaStream_t queue, float *y, const float *x, size_t n, size_t columns)
{
    LAUNCH(queue, softmax_kernel, (unsigned)n, THREADS, y, x, columns);
}
