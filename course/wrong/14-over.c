/* expect hint: after what the row holds */
#define mine_cache_append right_mine_cache_append
#include "course/solutions/14-translating.c"
#undef mine_cache_append

/* Each call begins at the row's first vector. */
void mine_cache_append(Stream *s, void *cache, const int32_t *length, size_t capacity, Strided x, const int32_t *start,
                       size_t b, size_t d)
{
    int32_t none[64] = {0};
    (void)length;
    right_mine_cache_append(s, cache, none, capacity, x, start, b, d);
}
