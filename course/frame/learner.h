/* What a lesson trains: a network of the repository's layers, by the loop's own step.
 *
 *     Learner l = {.task = ...};                  layers are made with &l.parameters; the task says batches and loss
 *     learner_open(&l, INIT_XAVIER, depth, 1);
 *     for (step = 1; step <= n; step++)
 *         loss = learner_step(&l, step, rate);
 *
 * One worker, on the device that DEVICE names in the environment, else on the cpu: DEVICE=mine is the student's own.
 * The seed is that of lesson_seed (draw.h). What fails ends the program with a line. */
#ifndef COURSE_FRAME_LEARNER_H
#define COURSE_FRAME_LEARNER_H

#include "core/train/trainer.h"

typedef struct Learner {
    Parameters parameters;
    Task task;
    Trainer trainer;
} Learner;

void learner_open(Learner *l, Init init, size_t depth, uint32_t seed);
void learner_close(Learner *l);

/* The loss of the step's batch, in nats, before Adam moved the weights; steps count from 1 */
double learner_step(Learner *l, uint64_t step, double rate);

/* Over all of the task's scored batches */
MeanLoss learner_score(Learner *l);

/* Ends the program with what went wrong, unless `done` */
void learner_expect(bool done, const Error *e);

#endif
