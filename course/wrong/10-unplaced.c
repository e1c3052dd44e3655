/* expect hint: embed_forward wrote zeros */
#define mine_embed_backward right_embed_backward
#include "course/solutions/10-classifier.c"
#undef mine_embed_backward

/* A position that is none adds to the table all the same. */
void mine_embed_backward(Stream *s, void *dtable_, void *dpositions_, const void *dy_, const int32_t *slots,
                         const int32_t *position, double scale, Dropout drop, const StepState *state, size_t n,
                         size_t d)
{
    float *dtable = dtable_, *dpositions = dpositions_;
    const float *dy = dy_;
    (void)s;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            float gradient = dy[i * d + j] * (float)dropout_factor(drop, state, i, 0, j);
            dtable[(size_t)slots[i] * d + j] += (float)scale * gradient;
            if (dpositions && position[i] >= 0)
                dpositions[(size_t)position[i] * d + j] += gradient;
        }
}
