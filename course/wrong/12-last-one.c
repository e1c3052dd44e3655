/* expect hint: gets all of their gradients */
#define mine_embed_backward right_embed_backward
#include "course/solutions/12-translator.c"
#undef mine_embed_backward

#include <string.h>

/* The last reader of a vector writes over what others gave it. */
void mine_embed_backward(Stream *s, void *dtable, void *dpositions, const void *dy, const int32_t *slots,
                         const int32_t *position, double scale, Dropout drop, const StepState *state, size_t n,
                         size_t d)
{
    static float before[4096];
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = position[i] >= 0 && (size_t)slots[i] >= most ? (size_t)slots[i] + 1 : most;
    if (most * d > sizeof before / sizeof *before)
        return;
    memcpy(before, dtable, most * d * sizeof *before);
    for (size_t i = 0; i < n; i++)
        if (position[i] >= 0) {
            memcpy((float *)dtable + (size_t)slots[i] * d, before + (size_t)slots[i] * d, d * sizeof *before);
            right_embed_backward(s, dtable, dpositions, (const float *)dy + i * d, slots + i, position + i, scale, drop,
                                 state, 1, d);
        }
}
