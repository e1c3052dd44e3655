/* expect hint: a head's are columns */
#define cut_head right_cut_head
#include "course/solutions/15-reading.c"
#undef cut_head

/* The head's rows, as if the matrix were stored the other way round. */
void cut_head(float *out, size_t head, size_t heads, size_t dv, size_t d)
{
    (void)d;
    memset(out + head * dv * heads * dv, 0, dv * heads * dv * sizeof *out);
}
