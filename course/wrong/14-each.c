/* expect hint: the best of all together */
#define beam_step right_beam_step
#include "course/solutions/14-translating.c"
#undef beam_step

/* Every hypothesis keeps its share of the beam. */
size_t beam_step(size_t *parent, int32_t *token, double *sum, const double *log_p, const double *log_next, size_t live,
                 size_t v, size_t beam)
{
    size_t count = 0, each = beam / live ? beam / live : 1;
    for (size_t p = 0; p < live && count < beam; p++) {
        size_t found = right_beam_step(parent + count, token + count, sum + count, log_p + p, log_next + p * v, 1, v,
                                       each < beam - count ? each : beam - count);
        for (size_t i = 0; i < found; i++)
            parent[count + i] = p;
        count += found;
    }
    return count;
}
