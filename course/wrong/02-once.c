/* expect hint: a vector that was read twice */
#define mine_gather_backward right_gather_backward
#include "course/solutions/02-movies.c"
#undef mine_gather_backward

/* The last reader's gradient takes the place of those before it. */
void mine_gather_backward(Stream *s, void *dx_, bool add, const void *dy_, const int32_t *index, size_t n, size_t m,
                          size_t d)
{
    (void)s;
    float *dx = dx_;
    const float *dy = dy_;
    for (size_t i = 0; !add && i < m * d; i++)
        dx[i] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; index[i] >= 0 && j < d; j++)
            dx[(size_t)index[i] * d + j] = dy[i * d + j];
}
