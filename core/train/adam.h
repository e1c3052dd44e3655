/* Adam, and AdamW where weights decay. (kernels/plain/optimizer.c has the formulas.) Its parts, for an optimizer that
 * differs from it in little. */
#ifndef CORE_TRAIN_ADAM_H
#define CORE_TRAIN_ADAM_H

#include "core/train/optimizer.h"

/* What Adam has beside its moments m and v, which are block[0] and block[1]. */
typedef struct AdamOwn {
    Span *spans; /* on the device: what decays */
    size_t span_count;
    RowRest *rest; /* [rows of all looked-up tables]; NULL: rows never rest on this device */
} AdamOwn;

bool adam_open(Optimizer *o, Stream *s, Error *e);
void adam_close(Optimizer *o);
void adam_step(Optimizer *o, Stream *s, const OptimizerStep *step);
void adam_settle(Optimizer *o, Stream *s, size_t number, size_t workers);
void adam_awake(Optimizer *o);

#endif
