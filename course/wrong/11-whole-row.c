/* expect hint: after the length[r] that are there */
#define mine_cache_append right_cache_append
#include "course/solutions/11-language.c"
#undef mine_cache_append

/* New positions are written to the beginning of each row. */
void mine_cache_append(Stream *s, void *cache, const int32_t *length, size_t capacity, Strided x, const int32_t *start,
                       size_t b, size_t d)
{
    static const int32_t zeros[64];
    (void)length;
    right_cache_append(s, cache, zeros, capacity, x, start, b < 64 ? b : 64, d);
}
