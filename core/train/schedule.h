/* The learning rate as a function of the step, counted from 1.
 *
 *     constant   rate * min(1, step / warmup)
 *     linear     the same, then falling in a line to rate * end at `decay_steps`; end: 0 unless given
 *     cosine     the same, then falling along half a cosine to rate * end at `decay_steps`; end: 0.1 unless given
 *     wsd        the same, then constant until the last fifth of the steps after warm-up, which falls as linear does
 *                                                                                (Hu et al. 2024)
 *     plateau    constant; the training loop halves it when validation does not improve (loop.h)
 *     rsqrt      rate * min(step / warmup, sqrt(warmup / step))
 *     noam       rate * dim^-0.5 * min(step^-0.5, step * warmup^-1.5)            (Vaswani et al. 2017) */
#ifndef CORE_TRAIN_SCHEDULE_H
#define CORE_TRAIN_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ScheduleKind {
    SCHEDULE_CONSTANT,
    SCHEDULE_LINEAR,
    SCHEDULE_COSINE,
    SCHEDULE_NOAM,
    SCHEDULE_WSD,
    SCHEDULE_RSQRT,
    SCHEDULE_PLATEAU
} ScheduleKind;

typedef struct Schedule {
    ScheduleKind kind;
    double rate;
    size_t warmup;      /* steps */
    size_t decay_steps; /* where linear, cosine and wsd end; 0: they are constant */
    size_t dim;         /* noam */
    bool ends;          /* whether `end` is given: the part of the rate at which linear, cosine and wsd end */
    double end;
} Schedule;

/* done: the part of its time that is over, 0 to 1, for a run that is limited by time; else negative. If steps are
 * limited, too, linear, cosine and wsd end with whichever comes first. A warm-up that would last longer than a quarter
 * of that time lasts a quarter of it: from there on `step` counts as if the warm-up were over. */
double schedule_rate(const Schedule *s, uint64_t step, double done);

/* The highest rate: rate itself, which for noam is a factor. */
double schedule_peak(const Schedule *s);

#endif
