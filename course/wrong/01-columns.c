/* expect hint: over the columns of each row */
#define mine_softmax_forward right_softmax_forward
#include "course/solutions/01-average.c"
#undef mine_softmax_forward

/* The sum goes down a column, not along a row. */
void mine_softmax_forward(Stream *s, void *y_, const void *x_, size_t n, size_t columns)
{
    (void)s;
    float *y = y_;
    const float *x = x_;
    for (size_t j = 0; j < columns; j++) {
        float sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += expf(x[i * columns + j]);
        for (size_t i = 0; i < n; i++)
            y[i * columns + j] = expf(x[i * columns + j]) / sum;
    }
}
