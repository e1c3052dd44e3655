/* Adam, and AdamW where weights decay. (kernels/plain/optimizer.c has the formulas.) Its parts, for an optimizer that
 * differs from it in little. */
#ifndef CORE_TRAIN_ADAM_H
#define CORE_TRAIN_ADAM_H

#include "core/train/optimizer.h"
#include "kernels/lazy_rows.h"

/* Weights begin .. end-1 of the part of the block that the optimizer moves, of one group. */
typedef struct Stretch {
    size_t begin, end;
    const Motion *motion;
} Stretch;

/* What Adam has beside its moments m and v, which are block[0] and block[1]. block[1] NULL: v stays 0. */
typedef struct AdamOwn {
    Stretch *stretches; /* of the dense block: what moves at one rate */
    size_t stretch_count;
    Span *spans; /* on the device: what decays, counted as in a stretch */
    size_t span_count;
    LazyRow *lazy; /* [rows of looked-up tables that it moves]; NULL: this device updates all rows in each step */
    void *beside;  /* of an optimizer that has Adam for some parameters */
} AdamOwn;

bool adam_open(Optimizer *o, Stream *s, Error *e);
void adam_close(Optimizer *o);
void adam_begin(const Adam *adam, StepState *state, uint64_t step);
void adam_step(Optimizer *o, Stream *s, const OptimizerStep *step);
void adam_flush(Optimizer *o, Stream *s, size_t number, size_t workers);
void adam_after_load(Optimizer *o);

#endif
