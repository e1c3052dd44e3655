/* expect hint: no n-gram counts more often */
#define matches right_matches
#include "course/solutions/14-translating.c"
#undef matches

/* Each n-gram counts that the reference has at all. */
size_t matches(const int32_t *found, size_t size, const int32_t *reference, size_t reference_size, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i + n <= size; i++)
        count += times_in(found + i, reference, reference_size, n) > 0;
    return count;
}
