/* expect hint: keys have rows of their own */
#define mine_attention_forward right_attention_forward
#include "course/solutions/12-translator.c"
#undef mine_attention_forward

/* Self-attention, everywhere: keys are looked for where queries are. */
void mine_attention_forward(Stream *s, void *y, void *lse, Strided q, Strided k, Strided v, const Attend *how,
                            const StepState *state)
{
    Attend own = *how;
    own.key_start = how->query_start;
    right_attention_forward(s, y, lse, q, k, v, &own, state);
}
