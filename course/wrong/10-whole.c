/* expect hint: the mean is shared */
#define mine_pool_backward right_pool_backward
#include "course/solutions/10-classifier.c"
#undef mine_pool_backward

/* Each vector of a row gets all of dy: as if y were a sum. */
void mine_pool_backward(Stream *s, void *dx_, bool add, const void *dy_, const int32_t *which, Pooling how,
                        const int32_t *start, size_t b, size_t n, size_t d)
{
    float *dx = dx_;
    const float *dy = dy_;
    right_pool_backward(s, dx, add, dy, which, how, start, b, n, d);
    for (size_t r = 0; how == POOLING_MEAN && r < b; r++)
        for (size_t i = (size_t)start[r]; i < (size_t)start[r + 1]; i++)
            for (size_t j = 0; j < d; j++)
                dx[i * d + j] += dy[r * d + j] * (1 - 1 / (float)(start[r + 1] - start[r]));
}
