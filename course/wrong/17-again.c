/* expect hint: a layer runs twice at most */
#define recomputed right_recomputed
#include "course/solutions/17-big.c"
#undef recomputed

/* For each layer of the backward pass, everything from the beginning: little memory, and time that grows with the square. */
void recomputed(float *dx, const float *dy, const float *x0, float *room, const Chain *c)
{
    memcpy(dx, dy, c->n * sizeof *dx);
    for (size_t l = c->layers; l > 0; l--) {
        memcpy(room, x0, c->n * sizeof *room);
        for (size_t i = 0; i + 1 < l; i++) {
            c->forward(c->context, i, room + c->n, room);
            memcpy(room, room + c->n, c->n * sizeof *room);
        }
        c->backward(c->context, l - 1, dx, room);
    }
}
