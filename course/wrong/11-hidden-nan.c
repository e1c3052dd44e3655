/* expect hint: NaN > x never holds */
#define mine_argmax right_argmax
#include "course/solutions/11-language.c"
#undef mine_argmax

/* NaN is never larger, so it is passed over. */
void mine_argmax(Stream *s, int32_t *y, const void *logits, size_t n, size_t v)
{
    (void)s;
    const float *z = logits;
    for (size_t i = 0; i < n; i++, z += v) {
        y[i] = 0;
        for (size_t j = 1; j < v; j++)
            y[i] = z[j] > z[y[i]] ? (int32_t)j : y[i];
    }
}
