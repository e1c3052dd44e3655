/* expect hint: the last layer is on the left */
#define roll_out right_roll_out
#include "course/solutions/15-reading.c"
#undef roll_out

/* A_0 A_1 ...: as one reads. */
void roll_out(float *r, const float *w, size_t layers, size_t heads, size_t n)
{
    float *turned = malloc(layers * heads * n * n * sizeof *turned);
    for (size_t l = 0; turned && l < layers; l++)
        memcpy(turned + l * heads * n * n, w + (layers - 1 - l) * heads * n * n, heads * n * n * sizeof *w);
    if (turned)
        right_roll_out(r, turned, layers, heads, n);
    free(turned);
}
