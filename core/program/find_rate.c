/* See find_rate.h. Nothing stays of the training but what is printed, and the picture. */
#include "core/program/find_rate.h"

#include "base/memory.h"
#include "core/cli/progress.h"
#include "core/cli/stop.h"
#include "core/research/ramp.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool find_rate_suits(App *a, Error *e)
{
    const SharedOptions *o = a->options;
    const Picture picture = {.out = o->out};
    if (!o->find_lr)
        return !o->out || o->coordinates ||
               fail(e, "--out draws what --find-lr or --coordinates finds; `plot` draws runs");
    if (o->run || o->resume)
        return fail(e, "--find-lr makes no run and continues none: leave out --run and --resume");
    if (options_given(a->command_line, "steps") && o->steps < RAMP_LEAST)
        return fail(e, "--find-lr with --steps %zu is too short a ramp: give %d or more", o->steps, RAMP_LEAST);
    return !o->out || picture_sound(&picture, e);
}

static bool draw(const App *a, const Ramp *r, Error *e)
{
    Buffer data = {0};
    ramp_picture(&data, r, a->task.per_nat, a->task.unit);
    const bool fine = app_draw_out(a, "ramp", &data, e);
    buffer_free(&data);
    return fine;
}

static bool run_ramp(const App *a, Trainer *trainer, Ramp *r, Error *e)
{
    StepResult now;
    bool goes_on = true;
    for (uint64_t step = 1; goes_on; step++) {
        const double rate = ramp_rate(r);
        if (!trainer_step(trainer, step, rate, &now, e))
            return false;
        if (watch_stop(trainer->watch))
            return fail(e, "stopped at step %llu of the ramp: no learning rate was found", (unsigned long long)step);
        const Report report = {.step = step,
                               .total = r->steps,
                               .loss = now.loss * a->task.per_nat,
                               .unit = a->task.unit,
                               .norm = now.norm,
                               .rate = rate,
                               .tokens_per_second = -1,
                               .seconds_left = -1};
        goes_on = ramp_add(r, now.finite ? now.loss : NAN);
        watch_report(trainer->watch, &report, !goes_on || step % (r->steps / 8) == 0);
    }
    return true;
}

static bool print_found(const App *a, const Ramp *r, double lr, Error *e)
{
    const RampStep *end = &r->step[r->count - 1];
    if (a->options->json) {
        Buffer b = {0};
        json_add_member(&b, "lr", lr);
        json_add_member(&b, "steepest", r->steepest);
        json_add_member(&b, "lowest", r->lowest);
        json_add_member(&b, "exploded", r->exploded ? end->rate : NAN); /* null */
        json_add_member(&b, "steps", (double)r->count);
        return json_print_members(&b, e);
    }
    printf("the loss falls most at a learning rate of %.2g, is lowest at %.2g", r->steepest, r->lowest);
    if (r->exploded)
        printf(", and explodes at %.2g\n", end->rate);
    else
        printf(", and does not explode up to %.2g\n", end->rate);
    printf("suggestion: --lr %.2g, a third of the rate with the lowest loss%s\n", lr,
           lr == r->suggestion ? "" : ", as the factor of --schedule noam");
    return true;
}

bool find_rate(const App *a, Trainer *trainer, const Schedule *schedule, Error *e)
{
    Ramp r;
    Progress progress = progress_open(stderr, a->options->quiet);
    const Watch watch = progress_watch(&progress);
    if (!ramp_open(&r, options_given(a->command_line, "steps") ? a->options->steps : RAMP_STEPS, e))
        return false;
    stop_catch();
    trainer->watch = &watch;
    bool fine = run_ramp(a, trainer, &r, e);
    trainer->watch = NULL;
    progress_close(&progress);
    if (fine && !ramp_suggest(&r))
        fine = fail(e,
                    "no learning rate found: from %.2g to %.2g, the loss falls by no more than the losses of single "
                    "steps vary; more --steps or a larger --batch may show more",
                    r.count ? r.step[0].rate : 0, r.count ? r.step[r.count - 1].rate : 0);
    Schedule one = *schedule;
    one.rate = 1;
    fine = fine && print_found(a, &r, r.suggestion / schedule_peak(&one), e) &&
           (!a->options->out || ranks_own() > 0 || draw(a, &r, e));
    ramp_close(&r);
    return fine;
}
