/* expect hint: only the diagonal */
#define mine_softmax_backward right_softmax_backward
#include "course/solutions/05-backward.c"
#undef mine_softmax_backward

/* As if it were a sigmoid: each score moves its own weight alone. */
void mine_softmax_backward(Stream *s, void *dx_, bool add, const void *dy_, const void *y_, size_t n, size_t columns)
{
    (void)s;
    float *dx = dx_;
    const float *dy = dy_, *y = y_;
    for (size_t i = 0; i < n * columns; i++)
        dx[i] = (add ? dx[i] : 0) + dy[i] * y[i] * (1 - y[i]);
}
