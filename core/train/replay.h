/* Operations of a shape that comes again are captured and replayed, on a device that can (see capture in kernels.h).
 *
 * What has been seen once is not captured yet: rows of many lengths hardly ever come twice. */
#ifndef CORE_TRAIN_REPLAY_H
#define CORE_TRAIN_REPLAY_H

#include "core/tensor/rows.h"
#include "kernels/kernels.h"

enum {
    REPLAYS = 32
}; /* shapes that are remembered; a new one takes the place of the one that was not met for longest */

/* All that decides which operations are asked for, with which sizes and pointers. */
typedef struct Shape {
    Rows rows[SIDES];     /* of a micro-batch; none: the update of weights */
    size_t slots;         /* rows of a looked-up table that have a gradient */
    size_t shares;        /* of a micro-batch: 0; of the update: those whose gradients are summed */
    const void *gradient; /* block that a micro-batch's is added to */
} Shape;

typedef struct Replay {
    const Kernels *k;
    struct {
        Shape shape;
        Captured *operations; /* NULL: met once */
        uint64_t met;         /* when it was met last; 0: never */
    } seen[REPLAYS];
    uint64_t turns, captures;
} Replay;

void replay_close(Replay *r);

/* Does what `ask` asks of the stream: by asking, or by what was captured when it asked before. */
void replay_run(Replay *r, Stream *s, const Shape *shape, void (*ask)(void *argument), void *argument);

#endif
