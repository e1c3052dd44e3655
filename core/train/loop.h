/* The training loop that all programs share: step, log, evaluate, keep the best, save, stop, continue. */
#ifndef CORE_TRAIN_LOOP_H
#define CORE_TRAIN_LOOP_H

#include "core/train/checkpoint.h"
#include "core/train/schedule.h"

typedef struct LoopOptions {
    Schedule schedule;
    uint64_t steps;        /* counted from the run's first; 0: make the run and stop */
    double minutes;        /* of training in all; 0: as many as the steps take */
    uint64_t eval_every;   /* steps; 0: at the end only */
    uint64_t sample_every; /* steps; 0: at each evaluation */
    uint64_t save_every;   /* steps; 0: no */
    double save_seconds;   /* seconds; 0: no */
    uint64_t keep;         /* checkpoints besides the best; 0: all */
    uint64_t lr_patience;  /* evaluations without a new best after which schedule `plateau` halves the rate; not 0 */
    uint64_t patience;     /* evaluations without a new best before the run ends; 0: no limit */
} LoopOptions;

typedef struct Loop {
    Trainer *trainer;
    const Task *task;
    Run *run;
    ModelNote note;
    LoopOptions options;
    Progression at;
    bool (*sample)(void *self, uint64_t step, Error *e); /* something to read; may be NULL */
    /* A figure of what was learned, made at each evaluation by all processes; NaN: none this time. May be NULL. */
    bool (*evaluate)(void *self, double *figure, Error *e);
    const char *figure_name, *figure_unit; /* how that figure is called, and its unit: "BLEU", "0 to 100" */
    void *self;                            /* the argument of both */

    /* by this process */
    double tokens, seconds; /* read, and how long that took */
    double waited, sent;    /* seconds in steps for other processes, the mean of all; and bytes from this one to them */
    uint64_t steps_done;
    double last_saved;
    bool stopped;                       /* because an end was requested: the run is not over */
    bool saved;                         /* the newest checkpoint is of the step where it stands */
    Error damaged;                      /* why resuming took no later checkpoint; empty: there was none */
    double window_loss, window_targets; /* since the last report that stays */
} Loop;

/* Saves what a new run begins with as its checkpoint of step 0. So the run can continue, and others can read it,
 * whenever it is killed. Call this before the run's configuration is written. */
bool loop_begin(Loop *l, Error *e);

/* Continues l->run from its newest complete checkpoint, with the marks that belong to that. */
bool loop_resume(Loop *l, Error *e);

/* Whether nothing is left to do. */
bool loop_over(const Loop *l);

/* Trains from l->at to the end. */
bool loop_run(Loop *l, Error *e);

#endif
