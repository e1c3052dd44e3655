/* Lesson 7: one way to do the exercises. */
#include "course/07-heads/exercise.h"

#include "course/frame/matrix.h"

#include <math.h>

size_t layer_numbers(size_t dim, size_t heads, size_t dk, size_t dv) { return dim * heads * (2 * dk + 2 * dv); }

/* Element (i, j) of the matrix of outer o and inner p */
static float *element(Operand x, size_t o, size_t p, size_t i, size_t j)
{
    return (float *)x.data + o * x.outer + p * x.inner + i * x.row + j * x.column;
}

void mine_product(Stream *s, Operand c, bool add, Operand a, Operand b, double alpha, size_t outer, size_t inner,
                  size_t m, size_t n, size_t k)
{
    (void)s;
    for (size_t o = 0; o < outer; o++)
        for (size_t p = 0; p < inner; p++)
            for (size_t i = 0; i < m; i++)
                for (size_t j = 0; j < n; j++) {
                    float sum = 0, *to = element(c, o, p, i, j);
                    for (size_t l = 0; l < k; l++)
                        sum += *element(a, o, p, i, l) * *element(b, o, p, l, j);
                    *to = (float)alpha * sum + (add ? *to : 0);
                }
}

/* [n, heads*size]: the matrices [n, size] of all heads, without a copy */
static Operand heads_of(const float *x, size_t heads, size_t size)
{
    Operand all = matrix(x, heads * size);
    all.inner = size;
    return all;
}

static void softmax_of_row(float *x, size_t n)
{
    float largest = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++)
        largest = x[j] > largest ? x[j] : largest;
    for (size_t j = 0; j < n; j++)
        sum += x[j] = expf(x[j] - largest);
    for (size_t j = 0; j < n; j++)
        x[j] /= sum;
}

void many_heads(float *y, float *weights, const float *q, const float *k, const float *v, size_t n, size_t heads,
                size_t dk, size_t dv)
{
    Operand w = matrix(weights, n);
    w.inner = n * n;
    mine_product(NULL, w, false, heads_of(q, heads, dk), transposed(heads_of(k, heads, dk)), 1 / sqrt((double)dk), 1,
                 heads, n, n, dk);
    for (size_t i = 0; i < heads * n; i++)
        softmax_of_row(weights + i * n, n);
    mine_product(NULL, heads_of(y, heads, dv), false, w, heads_of(v, heads, dv), 1, 1, heads, n, dv, n);
}

/* merged_h [D,D] = out_h [D,dv] value_h [dv,D] */
void merge_output(float *merged, const float *value, const float *out, size_t dim, size_t heads, size_t dv)
{
    Operand c = matrix(merged, dim), a = heads_of(out, heads, dv), b = matrix(value, dim);
    c.inner = dim * dim;
    b.inner = dv * dim;
    mine_product(NULL, c, false, a, b, 1, 1, heads, dim, dim, dv);
}
