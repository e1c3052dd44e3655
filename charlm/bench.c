/* charlm bench: how long a training step takes, with clipping and Adam, on random bytes; and where its time goes.
 * bench --sample: bench_sample.c. */
#include "charlm/charlm.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/cli/version.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"
#include "core/train/parts.h"

#include <stdio.h>
#include <stdlib.h>

enum { WARM = 2 }; /* steps that are not counted: memory is touched, products are prepared */

static void random_batch(void *self, uint64_t step, Batch *b)
{
    const Charlm *c = self;
    const SharedValues *o = &c->v->shared;
    size_t at = 0;
    batch_clear(b);
    for (size_t r = 0; r < o->batch; r++)
        batch_row(b, 0, c->model.context);
    for (; at < b->side[0].positions; at++) {
        b->side[0].ids[at] = (int32_t)philox_below(BYTES, 1, (uint32_t)step, 2 * at, SITE_DATA);
        b->side[0].targets[at] = (int32_t)philox_below(BYTES, 1, (uint32_t)step, 2 * at + 1, SITE_DATA);
    }
}

static int by_time(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

typedef struct Bench {
    Crew crew;
    double first_loss;
    double *times; /* [steps] */
    size_t steps;
    Parts parts;
} Bench;

static void print_json(const Charlm *c, const Bench *bench, double step, double tokens)
{
    const CrewOptions *o = &bench->crew.o;
    char peer[128];
    Buffer b = {0};
    snprintf(peer, sizeof peer, "attend %s", attend_version());
    buffer_print(&b, "{");
    json_add_text(&b, "peer", peer);
    buffer_print(&b,
                 ", \"program\": \"charlm\", \"device\": \"%s\", \"precision\": \"%s\", \"compile\": false, "
                 "\"fused_attention\": %s, \"threads\": %zu, \"parameters\": %zu, \"step_s\": %.5f, "
                 "\"fastest_s\": %.5f, \"tokens_per_s\": %.1f, \"first_loss\": %.4f",
                 o->k->twin, number_type_name(o->k->type), c->v->shared.attention == 0 ? "true" : "false", o->workers,
                 c->model.parameters.numbers, step, bench->times[0], tokens / step, bench->first_loss);
    if (c->v->profile)
        parts_json(&bench->parts, &b);
    json_print(&b);
}

static void print_result(const Charlm *c, const Bench *b)
{
    const SharedValues *o = &c->v->shared;
    qsort(b->times, b->steps, sizeof *b->times, by_time);
    double step = b->times[b->steps / 2], tokens = (double)(o->batch * o->context);
    if (o->json) {
        print_json(c, b, step, tokens);
        return;
    }
    printf("%.0f tokens/s: %.1f ms a step (fastest %.1f) of %zu x %zu tokens; %.2f GFLOP/s\n", tokens / step,
           1e3 * step, 1e3 * b->times[0], o->batch, o->context, b->crew.plan.flop / step * 1e-9);
    if (c->v->profile)
        parts_print(&b->parts, stdout);
}

static bool open_bench(Charlm *c, Bench *b, Error *e)
{
    const SharedValues *o = &c->v->shared;
    CrewOptions options;
    if (!charlm_build(c, e) || !charlm_crew_options(c, &options, true, e))
        return false;
    charlm_task(c, (Part){NULL, 0}, c->model.context);
    c->task.batch = random_batch;
    if (c->v->profile)
        options.k = profile_over(options.k);
    return crew_open(&b->crew, &options, &c->model.parameters, &c->task, e) && setup_weights(&b->crew, o, NULL, e);
}

/* The steps that count come behind one for the loss and some to warm up. */
static bool run_steps(const Charlm *c, Bench *b, Error *e)
{
    StepResult result;
    double all = 0;
    for (size_t i = 0; i < 1 + WARM + b->steps; i++) {
        if (i == 1 + WARM && c->v->profile)
            parts_begin(&b->crew);
        double start = clock_seconds();
        if (!crew_step(&b->crew, i + 1, 1e-4, &result, e))
            return false;
        double took = clock_seconds() - start;
        if (i == 0)
            b->first_loss = result.loss;
        if (i < 1 + WARM)
            continue;
        b->times[i - 1 - WARM] = took;
        all += took;
    }
    return !c->v->profile || parts_of(&b->parts, &b->crew, all, b->steps, e);
}

bool charlm_bench(Charlm *c, Error *e)
{
    const SharedValues *o = &c->v->shared;
    if (c->v->sample)
        return charlm_bench_sample(c, e);
    Bench b = {.steps = options_source(c->options, "steps") == FROM_COMMAND_LINE && o->steps ? o->steps : 10};
    b.times = memory_get(b.steps, sizeof *b.times);
    bool fine = b.times || memory_error(e, "the times of steps", b.steps, sizeof *b.times);
    fine = fine && open_bench(c, &b, e) && run_steps(c, &b, e);
    if (fine)
        print_result(c, &b);
    parts_close(&b.parts);
    crew_close(&b.crew);
    memory_free(b.times);
    return fine;
}
