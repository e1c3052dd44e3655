/* expect hint: the length of one head's vectors */
#define many_heads right_many_heads
#include "course/solutions/07-heads.c"
#undef many_heads

/* Divided by the root of the full width. */
void many_heads(float *y, float *weights, const float *q, const float *k, const float *v, size_t n, size_t heads,
                size_t dk, size_t dv)
{
    Operand w = matrix(weights, n);
    w.inner = n * n;
    mine_product(NULL, w, false, heads_of(q, heads, dk), transposed(heads_of(k, heads, dk)),
                 1 / sqrt((double)(heads * dk)), 1, heads, n, n, dk);
    for (size_t i = 0; i < heads * n; i++)
        softmax_of_row(weights + i * n, n);
    mine_product(NULL, heads_of(y, heads, dv), false, w, heads_of(v, heads, dv), 1, 1, heads, n, dv, n);
}
