/* PROGRAM bench: how long a training step takes, with clipping and Adam, on random data; and where its time goes. */
#include "core/program/together.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "base/units.h"
#include "core/cli/version.h"
#include "core/program/settings.h"
#include "core/run/json.h"
#include "core/train/parts.h"
#include "kernels/cpu/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM = 2,    /* steps that are not counted: memory is touched, products are prepared */
    STEPS = 10,  /* that are, if no option says how many, */
    SECONDS = 10 /* unless some of them take so long */
};

typedef struct Bench {
    Trainer trainer;
    double first_loss;
    double *times; /* [steps] */
    size_t steps;
    double seconds; /* after which no other step begins */
    Parts parts;
} Bench;

static bool print_json(const App *a, const Bench *bench, double step, double tokens, Error *e)
{
    const TrainerOptions *o = &bench->trainer.options;
    char peer[128];
    Buffer b = {0};
    snprintf(peer, sizeof peer, "attend %s", attend_version());
    json_add_text(&b, "peer", peer);
    json_add_text(&b, "program", a->kind->name);
    buffer_print(&b,
                 ", \"device\": \"%s\", \"precision\": \"%s\", \"compile\": false, \"fused_attention\": %s, "
                 "\"threads\": %zu, \"parameters\": %zu, \"step_s\": %.5f, \"fastest_s\": %.5f, "
                 "\"tokens_per_s\": %.1f, \"flop_a_step\": %.6g, \"first_loss\": %.4f",
                 o->k->backend, number_type_name(o->k->type),
                 a->options->attention == ATTENTION_FUSED ? "true" : "false", o->workers, a->parameters->numbers, step,
                 bench->times[0], tokens / step, bench->trainer.plan.flop, bench->first_loss);
    settings_add_choices(&b);
    if (a->options->profile)
        parts_json(&bench->parts, &b);
    return json_print_members(&b, e);
}

static bool is_on_cpu(const App *a) { return !strcmp(device_name(a->options->device), "cpu"); }

static void print_tuning(const App *a)
{
    Buffer text = {0};
    if (!is_on_cpu(a))
        return;
    tuning_text(&tuning_now, &text);
    printf("tuning: %s\n", text.failed ? "" : text.text);
    buffer_free(&text);
}

static bool print_result(const App *a, const Bench *b, Error *e)
{
    qsort(b->times, b->steps, sizeof *b->times, ascending);
    double step = b->times[b->steps / 2], tokens = a->kind->step_tokens(a);
    if (a->options->json)
        return print_json(a, b, step, tokens, e);
    if (ranks_own() > 0)
        return true;
    printf("%.0f tokens/s: %.1f ms a step (fastest %.1f) of %zu x %zu tokens; %.2f GFLOP/s\n", tokens / step,
           1e3 * step, 1e3 * b->times[0], a->task.most_rows, a->task.longest[0], b->trainer.plan.flop / step * 1e-9);
    print_tuning(a);
    if (a->options->profile)
        parts_print(&b->parts, stdout);
    return true;
}

bool app_profile(const App *a, TrainerOptions *options, Error *e)
{
    if (!a->options->profile)
        return true;
    if (!options->k->on_host)
        return fail(e, "--profile times operations one by one, but device %s runs them asynchronously",
                    options->k->backend);
    options->k = profile_over(options->k);
    return true;
}

static bool open_bench(App *a, Bench *b, Error *e)
{
    TrainerOptions options;
    if (!setup_device(a->command_line, a->options, e) || !a->kind->open_model(a, e) || !together_agree(a, NULL, e) ||
        !app_trainer_options(a, &options, true, e) || !app_profile(a, &options, e))
        return false;
    a->task.batch = dataset_bench_batch;
    return trainer_open(&b->trainer, &options, a->parameters, &a->task, e) &&
           setup_weights(&b->trainer, a->options, NULL, NULL, e);
}

/* The steps that count come after one for the loss and some to warm up. */
static bool run_steps(const App *a, Bench *b, Error *e)
{
    StepResult result;
    double all = 0;
    for (size_t i = 0; i < 1 + WARM + b->steps; i++) {
        if (i == 1 + WARM && a->options->profile)
            parts_begin(&b->trainer);
        double start = clock_seconds();
        if (!trainer_step(&b->trainer, i + 1, 1e-4, &result, e))
            return false;
        double took = clock_seconds() - start;
        if (i == 0)
            b->first_loss = result.loss;
        if (i < 1 + WARM)
            continue;
        b->times[i - 1 - WARM] = took;
        all += took;
        if (ranks_any(all > b->seconds))
            b->steps = i - WARM;
    }
    return !a->options->profile || parts_of(&b->parts, &b->trainer, all, b->steps, e);
}

/* --steps 0: what this machine has chosen, and nothing else */
static bool print_choices(App *a, Error *e)
{
    Buffer b = {0};
    if (!setup_device(a->command_line, a->options, e) ||
        !kernels_find(device_name(a->options->device), (NumberType)a->options->precision, e))
        return false;
    if (!is_on_cpu(a))
        return fail(e, "--steps 0 prints what the device has chosen, and %s chooses nothing; give --steps 1 or more",
                    device_name(a->options->device)) ||
               app_misused(a);
    if (!a->options->json) {
        print_tuning(a);
        return true;
    }
    settings_add_choices(&b);
    return json_print_members(&b, e);
}

bool app_bench(App *a, Error *e)
{
    const bool given = options_given(a->command_line, "steps");
    if (given && !a->options->steps)
        return print_choices(a, e);
    Bench b = {.steps = given ? a->options->steps : STEPS, .seconds = given ? INFINITY : SECONDS};
    b.times = memory_get(b.steps, sizeof *b.times);
    bool fine = b.times || memory_error(e, "the times of steps", b.steps, sizeof *b.times);
    fine = fine && open_bench(a, &b, e) && run_steps(a, &b, e);
    fine = fine && print_result(a, &b, e);
    parts_close(&b.parts);
    trainer_close(&b.trainer);
    memory_free(b.times);
    return fine;
}
