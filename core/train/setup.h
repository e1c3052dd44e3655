/* From options as people write them to what the crew and the loop want. */
#ifndef CORE_TRAIN_SETUP_H
#define CORE_TRAIN_SETUP_H

#include "core/cli/shared.h"
#include "core/train/crew.h"
#include "core/train/loop.h"

/* Workers 0 become one a processor that this process may use, but no more than there are micro-batches. */
bool setup_crew(CrewOptions *c, const SharedValues *o, bool training, Error *e);

bool setup_loop(LoopOptions *l, const SharedValues *o, size_t steps_an_epoch, Error *e);

/* Prints the plan: memory by class, FLOP of a step. */
void setup_print_plan(const CrewPlan *plan, const CrewOptions *o, const Parameters *p);

/* Fills the crew's weights: from `--weights FILE`, or fresh from the seed. */
bool setup_weights(Crew *c, const SharedValues *o, const char *const (*aliases)[2], Error *e);

/* Where `--weights best|last|STEP|FILE` of a run are; to be freed with memory_free. */
bool setup_weights_path(char **path, const Run *run, const char *which, Error *e);

#endif
