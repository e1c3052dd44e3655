/* expect hint: each text begins at position 0 */
#define mine_embed_forward right_embed_forward
#include "course/solutions/08-positions.c"
#undef mine_embed_forward

/* The position is counted through all texts of the batch. */
void mine_embed_forward(Stream *s, void *y, const int32_t *ids, const int32_t *position, const void *table,
                        const void *positions, double scale, Dropout drop, const StepState *state, size_t n, size_t d)
{
    int32_t counted[64];
    for (size_t i = 0; i < n && i < 64; i++)
        counted[i] = position[i] < 0 ? -1 : (int32_t)i;
    right_embed_forward(s, y, ids, counted, table, positions, scale, drop, state, n, d);
}
