/* See learner.h. */
#include "course/frame/learner.h"
#include "course/frame/draw.h"

#include <stdio.h>
#include <stdlib.h>

void learner_expect(bool done, const Error *e)
{
    if (done)
        return;
    fprintf(stderr, "%s\n", e->text);
    exit(1);
}

void learner_open(Learner *l, Init init, size_t depth, uint32_t seed)
{
    Error e;
    const char *device = getenv("DEVICE");
    seed = lesson_seed(seed);
    TrainerOptions o = {
        .workers = 1, .training = true, .optimizer = {.adam = {0.9, 0.98, 1e-8}}, .clip = 1, .seed = seed};
    o.k = kernels_find(device && *device ? device : "cpu", NUMBER_F32, &e);
    learner_expect(o.k && parameters_finish(&l->parameters, &e) &&
                       trainer_open(&l->trainer, &o, &l->parameters, &l->task, &e) &&
                       weights_init(&l->trainer.weights, l->trainer.worker[0].stream, init, depth, seed, &e),
                   &e);
}

void learner_close(Learner *l)
{
    trainer_close(&l->trainer);
    parameters_close(&l->parameters);
}

double learner_step(Learner *l, uint64_t step, double rate)
{
    Error e;
    StepResult result;
    learner_expect(trainer_step(&l->trainer, step, rate, &result, &e), &e);
    return result.loss;
}

MeanLoss learner_score(Learner *l)
{
    Error e;
    MeanLoss score;
    learner_expect(trainer_score(&l->trainer, &score, &e), &e);
    return score;
}
