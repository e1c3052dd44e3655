/* expect hint: sees those of its own row alone */
#define packed_attention right_packed_attention
#include "course/solutions/06-masks.c"
#undef packed_attention

/* Where one row ends and the next begins makes no difference. */
void packed_attention(float *y, const float *x, const int32_t *start, bool causal, size_t b, size_t n, size_t d)
{
    const int32_t whole[2] = {0, (int32_t)n};
    (void)start, (void)b;
    right_packed_attention(y, x, whole, causal, 1, n, d);
}
