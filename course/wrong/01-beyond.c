/* expect hint: beside its array */
#define mine_softmax_forward right_softmax_forward
#include "course/solutions/01-average.c"
#undef mine_softmax_forward

/* The search for the largest number of a row goes one too far. Whatever is taken off cancels, so nothing shows as long
 * as what is there is not much larger. */
void mine_softmax_forward(Stream *s, void *y_, const void *x_, size_t n, size_t columns)
{
    (void)s;
    float *y = y_;
    const float *x = x_;
    for (size_t i = 0; i < n; i++, x += columns, y += columns) {
        float largest = -INFINITY, sum = 0;
        bool dead = true;
        for (size_t j = 0; j <= columns; j++)
            largest = x[j] > largest ? x[j] : largest;
        for (size_t j = 0; j < columns; j++)
            dead = dead && x[j] == -INFINITY;
        for (size_t j = 0; j < columns; j++)
            sum += expf(x[j] - largest);
        for (size_t j = 0; j < columns; j++)
            y[j] = dead ? 0 : expf(x[j] - largest) / sum;
    }
}
