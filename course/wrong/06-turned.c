/* expect hint: the mask transposed */
#define sees right_sees
#include "course/solutions/06-masks.c"
#undef sees

/* The triangle of a causal mask, transposed */
bool sees(const Attend *how, size_t b, size_t i, size_t j)
{
    size_t p = i + (how->query_offset ? (size_t)how->query_offset[b] : 0);
    Attend open = *how;
    open.causal = false;
    return right_sees(&open, b, i, j) && (!how->causal || j >= p);
}
