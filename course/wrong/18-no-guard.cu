#define scale_kernel right_scale_kernel
#define scale_on_gpu right_scale_on_gpu
#include "course/solutions/18-kernel.cu"
#undef scale_kernel
#undef scale_on_gpu

/* Each thread has a number, it believes. */
static __global__ void scale_kernel(float *y, const float *x, float a)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i];
}

static void scale_on_gpu(cudaStream_t queue, float *y, const float *x, float a, size_t n)
{
    LAUNCH(queue, scale_kernel, (unsigned)((n + BLOCK - 1) / BLOCK), BLOCK, y, x, a);
}
