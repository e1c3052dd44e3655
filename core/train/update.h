/* What a trainer does with gradients: they are summed over its workers, limited, and move the weights. Each worker has a
 * part of the block, and between two of these all have to meet. */
#ifndef CORE_TRAIN_UPDATE_H
#define CORE_TRAIN_UPDATE_H

#include "core/train/trainer.h"

/* Moments, and what else the optimizer has of its own. Closing what was not opened does nothing. */
bool update_open(Trainer *c, Error *e);
void update_close(Trainer *c);

/* In this order; update_clip is one worker's alone. */
void update_sum(Trainer *c, Worker *w, size_t number);
void update_clip(Trainer *c, Worker *w);
void update_weights(Trainer *c, Worker *w, size_t number);
void update_zero(Trainer *c, Worker *w);

/* To call before moments are read: rows that rest owe theirs (see adam_rows); and when they were written. */
void update_settle(Trainer *c);
void update_awake(Trainer *c);

#endif
