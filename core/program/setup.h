/* From options as people write them to what the trainer and the loop want. */
#ifndef CORE_PROGRAM_SETUP_H
#define CORE_PROGRAM_SETUP_H

#include "core/program/shared.h"
#include "core/train/loop.h"
#include "core/train/trainer.h"

/* On a GPU a step's rows are computed all at once, unless an option asks for less. To be called before a task is made. */
bool setup_device(Options *options, const SharedOptions *o, Error *e);

/* Workers 0 become one a processor that this process may use, but no more than a step has shares; on a GPU, one. */
bool setup_trainer(TrainerOptions *c, const SharedOptions *o, const Parameters *p, const Task *task, bool training,
                   Error *e);

/* Makes what an option of 0 means here and now its value, before a run stores it: another machine, or more steps, would
 * give it another meaning. */
bool setup_fix(Options *options, const SharedOptions *o, const Parameters *p, const Task *task, size_t steps_an_epoch,
               Error *e);

bool setup_loop(LoopOptions *l, const SharedOptions *o, size_t steps_an_epoch, Error *e);

/* What a run takes: memory by class, and the cost of a step. As lines on standard
 * output, or as members of a JSON object that is being written. */
typedef struct Demand {
    const TrainerPlan *plan;
    const TrainerOptions *trainer;
    const Parameters *parameters;
} Demand;

void setup_print_demand(const Demand *d);
void setup_demand_json(const Demand *d, Buffer *out);

/* Fills a new run's weights: from the file `--weights FILE`, or fresh from the seed. */
bool setup_weights(Trainer *c, const SharedOptions *o, const char *const (*aliases)[2], const ModelNote *note,
                   Error *e);

/* Then those of them that match come from what `--from RUN|FILE` names, see weights_read; which file that was becomes the
 * option's value. part->report is to be freed, whatever comes of it. */
bool setup_part(Trainer *c, Options *options, const SharedOptions *o, const char *const (*aliases)[2],
                const ModelNote *note, WeightsPart *part, Error *e);

/* Reads the weights that `--weights best|last|average|STEP|FILE` names (NULL: best), of a run that another process may
 * be training. */
bool setup_stored_weights(Weights *w, Stream *s, const Run *run, const char *which, const char *const (*aliases)[2],
                          const ModelNote *note, Error *e);

#endif
