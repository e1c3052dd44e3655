/* What a trainer does with gradients: they are summed over shares, clipped, and zeros again when the optimizer has moved
 * the weights. */
#ifndef CORE_TRAIN_UPDATE_H
#define CORE_TRAIN_UPDATE_H

#include "core/train/trainer.h"

/* Closing what was not opened does nothing. */
bool update_open(Trainer *c, Error *e);
void update_close(Trainer *c);

/* A worker begins another share: what it can of its sums is added up first, and the tape has a block of zeros. */
void update_share(Trainer *c, Worker *w, size_t share);

/* What all workers' shares have of these numbers is added up as far as it is neighbours: to one sum, unless other processes
 * have shares, too; w->left says which sums are left. Nothing changes these numbers any more. */
void update_add(const Trainer *c, Worker *w, size_t first, size_t count);

/* When all workers have done their shares, in this order. Each worker does a part of the block, and between two of these
 * all workers wait for each other; update_clip, which also puts back what must stay within 0 .. 1, is one worker's alone. */
void update_sum(const Trainer *c, Worker *w, size_t number);
void update_clip(Trainer *c, Worker *w);
void update_weights(Trainer *c, Worker *w, size_t number);
void update_zero(Trainer *c, Worker *w, size_t number);

/* Partial sums of the squares of these numbers of the gradient, whole chunks; where other processes have shares, this is
 * for what a process adds up of all. */
void update_squares(const Trainer *c, Worker *w, size_t first, size_t count);

/* Instead of these, where a worker's gradient is all in its first block. */
void update_forget(Trainer *c, Worker *w);

/* After a step: the moving average follows the weights. */
bool moving_open(Trainer *c, Error *e);
void moving_close(Trainer *c);
void moving_follow(Trainer *c, uint64_t step);

/* Before the optimizer's state is read. */
void update_flush(Trainer *c);

#endif
