/* See learner.h. */
#include "course/frame/learner.h"

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
    CrewOptions o = {.workers = 1, .training = true, .adam = {0.9, 0.98, 1e-8}, .clip = 1, .seed = seed};
    o.k = kernels_find(device && *device ? device : "cpu", NUMBER_F32, &e);
    learner_expect(o.k && parameters_finish(&l->parameters, &e) &&
                       crew_open(&l->crew, &o, &l->parameters, &l->task, &e) &&
                       weights_init(&l->crew.weights, l->crew.worker[0].stream, init, depth, seed, &e),
                   &e);
}

void learner_close(Learner *l)
{
    crew_close(&l->crew);
    parameters_close(&l->parameters);
}

double learner_step(Learner *l, uint64_t step, double rate)
{
    Error e;
    StepResult result;
    learner_expect(crew_step(&l->crew, step, rate, &result, &e), &e);
    return result.loss;
}

MeanLoss learner_score(Learner *l)
{
    Error e;
    MeanLoss score;
    learner_expect(crew_score(&l->crew, &score, &e), &e);
    return score;
}
