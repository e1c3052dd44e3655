/* expect hint: without padding */
#define mine_dropout_weights right_dropout_weights
#include "course/solutions/13-training.c"
#undef mine_dropout_weights

/* Positions are counted with the padding of shorter rows. */
void mine_dropout_weights(Stream *s, void *y, bool add, const void *x, const Attend *how, const StepState *state)
{
    int32_t start[64];
    Attend padded = *how;
    for (size_t b = 0; b < 64; b++)
        start[b] = (int32_t)(b * how->longest_query);
    padded.query_start = start;
    right_dropout_weights(s, y, add, x, &padded, state);
}
