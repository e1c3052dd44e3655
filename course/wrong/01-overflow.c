/* expect hint: take the row's largest number off */
#define mine_softmax_forward right_softmax_forward
#include "course/solutions/01-average.c"
#undef mine_softmax_forward

/* As the formula has it, without taking the largest off. */
void mine_softmax_forward(Stream *s, void *y_, const void *x_, size_t n, size_t columns)
{
    (void)s;
    float *y = y_;
    const float *x = x_;
    for (size_t i = 0; i < n; i++, x += columns, y += columns) {
        float sum = 0;
        for (size_t j = 0; j < columns; j++)
            sum += expf(x[j]);
        for (size_t j = 0; j < columns; j++)
            y[j] = expf(x[j]) / sum;
    }
}
