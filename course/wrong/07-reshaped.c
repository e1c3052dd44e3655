/* expect hint: a head is a stripe of columns */
#define many_heads right_many_heads
#include "course/solutions/07-heads.c"
#undef many_heads

/* The memory of q, k and v is cut into heads as if it were stored [H,n,dk], which it is not. */
void many_heads(float *y, float *weights, const float *q, const float *k, const float *v, size_t n, size_t heads,
                size_t dk, size_t dv)
{
    for (size_t h = 0; h < heads; h++)
        right_many_heads(y + h * n * dv, weights + h * n * n, q + h * n * dk, k + h * n * dk, v + h * n * dv, n, 1, dk,
                         dv);
}
