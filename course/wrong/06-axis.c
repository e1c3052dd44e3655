/* expect hint: leaves padding to be listened to */
#define sees right_sees
#include "course/solutions/06-masks.c"
#undef sees

/* Queries after the end are hidden, and keys are not. */
bool sees(const Attend *how, size_t b, size_t i, size_t j)
{
    size_t p = i + (how->query_offset ? (size_t)how->query_offset[b] : 0);
    if (i >= (size_t)(how->query_start[b + 1] - how->query_start[b]))
        return false;
    if ((how->causal && j > p) || (how->window && j + how->window <= p))
        return false;
    return !how->block || is_listed(how, p, j);
}
