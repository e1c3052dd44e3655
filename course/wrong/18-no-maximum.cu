#define softmax_kernel right_softmax_kernel
#define softmax_on_gpu right_softmax_on_gpu
#include "course/solutions/18-kernel.cu"
#undef softmax_kernel
#undef softmax_on_gpu

/* As the formula has it. */
static __global__ void softmax_kernel(float *y, const float *x, size_t columns)
{
    __shared__ float shared[THREADS];
    x += blockIdx.x * columns, y += blockIdx.x * columns;
    float sum = 0;
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        sum += expf(x[j]);
    sum = of_block(shared, sum, false);
    for (size_t j = threadIdx.x; j < columns; j += THREADS)
        y[j] = expf(x[j]) / sum;
}

static void softmax_on_gpu(cudaStream_t queue, float *y, const float *x, size_t n, size_t columns)
{
    LAUNCH(queue, softmax_kernel, (unsigned)n, THREADS, y, x, columns);
}
