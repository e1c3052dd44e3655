/* expect hint: both moments began with 0 */
#define mine_adam right_adam
#include "course/solutions/13-training.c"
#undef mine_adam

/* The moments as they are, without corrections */
void mine_adam(Stream *s, void *w, void *copy, void *m, void *v, const void *g, const StepState *state, Adam adam,
               const Span *spans, size_t span_count, size_t first, size_t n)
{
    StepState raw = *state;
    raw.correction1 = raw.correction2 = 1;
    right_adam(s, w, copy, m, v, g, &raw, adam, spans, span_count, first, n);
}
