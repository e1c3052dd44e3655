/* expect hint: each can be cut, but not both */
#define cutting_order right_cutting_order
#include "course/solutions/15-reading.c"
#undef cutting_order

/* Each head is cut once by itself, and then they are sorted. */
void cutting_order(size_t *order, Quality quality, const void *model, size_t heads)
{
    bool *cut = calloc(heads, sizeof *cut);
    double *without = calloc(heads, sizeof *without);
    for (size_t h = 0; cut && without && h < heads; h++) {
        size_t at = h;
        cut[h] = true;
        without[h] = quality(model, cut, heads);
        cut[h] = false;
        for (; at > 0 && without[h] > without[order[at - 1]]; at--)
            order[at] = order[at - 1];
        order[at] = h;
    }
    free(cut);
    free(without);
}
