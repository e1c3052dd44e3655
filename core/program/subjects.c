/* See subjects.h: which there are, and those of options and data. */
#include "core/program/subjects.h"

#include "base/memory.h"
#include "core/plot/curves.h"
#include "core/plot/texts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const Subject *subject_find(const char *name)
{
    static const Subject subjects[] = {
        {"schedule", "loss", draw_schedule},          {"schedules", "loss", draw_schedules},
        {"smoothing", "smoothing", draw_smoothing},   {"lengths", "lengths", draw_lengths},
        {"coverage", "coverage", draw_coverage},      {"positions", "tables", draw_positions},
        {"embeddings", "embeddings", draw_embeddings}};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (strcmp(subjects[i].name, name) == 0)
            return &subjects[i];
    return NULL;
}

/* ---- learning rates to come */

/* How many steps there will be; 0 and an Error: that is not known, or too many. */
static size_t steps_to_come(App *a, Error *e)
{
    const SharedOptions *o = a->options;
    bool by_steps = options_source(a->command_line, "steps") > options_source(a->command_line, "epochs");
    if (o->epochs && !by_steps && !o->decay_steps) {
        fail(e, "how many steps %zu epochs take depends on the data: give --steps N", o->epochs);
        return app_misused(a);
    }
    const size_t steps = o->epochs && !by_steps ? o->decay_steps : o->steps;
    if (steps && steps <= 100000000)
        return steps;
    fail(e, "--steps %zu: from 1 to 100000000 can be drawn", steps);
    return app_misused(a);
}

/* Adds a curve of the steps to come, which knows their learning rate alone. By time: as if all steps took the same. */
static bool add_rates(Drawing *d, const Schedule *s, size_t steps, bool by_time, const char *label, Error *e)
{
    Log log = {.line = memory_get(steps, sizeof(LogLine)), .count = steps};
    const Log *const logs = &log;
    if (!log.line)
        return memory_error(e, "a learning rate for each step", steps, sizeof(LogLine));
    for (size_t i = 0; i < steps; i++) {
        LogLine *line = &log.line[i];
        for (size_t j = 0; j < LOG_COLUMNS; j++)
            line->value[j] = NAN;
        line->step = (double)i + 1;
        line->value[LOG_RATE] = schedule_rate(s, i + 1, by_time ? (double)i / (double)steps : -1);
    }
    bool fine = curve_add(&d->data, &(Curve){label, &logs, 1}, d->parts++ == 0, e);
    log_free(&log);
    return fine;
}

static bool add_schedules(App *a, Drawing *d, bool all, Error *e)
{
    static const char *const logs[] = {
        [LOG_AXES_NONE] = "-", [LOG_AXES_X] = "x", [LOG_AXES_Y] = "y", [LOG_AXES_XY] = "xy"};
    const SharedOptions *o = a->options;
    LoopOptions loop;
    if (o->run && !app_open_run(a, o->run, false, e))
        return false;
    const size_t steps = steps_to_come(a, e);
    if (!steps || !setup_loop(&loop, o, 0, e))
        return false;
    Schedule s = loop.schedule;
    s.decay_steps = o->decay_steps ? o->decay_steps : steps;
    d->more[0] = "rate";
    d->more[1] = "step";
    d->more[2] = logs[o->log];
    if (!all && s.kind == SCHEDULE_PLATEAU && !o->quiet)
        fprintf(stderr,
                "%s: when --schedule plateau halves the rate depends on evaluations: the picture has no halving\n",
                a->kind->name);
    if (!all)
        return add_rates(d, &s, steps, o->minutes > 0, "", e);
    static const char *const names[] = {"constant", "linear", "cosine", "noam"}; /* names of more do not fit */
    bool fine = true;
    for (size_t i = 0; fine && i < sizeof names / sizeof *names; i++) {
        char label[48];
        Schedule one = s;
        one.kind = (ScheduleKind)i;
        if (one.kind == SCHEDULE_NOAM && s.kind != SCHEDULE_NOAM) /* as high as the others */
            one.rate = s.rate * sqrt((double)s.dim * (double)(s.warmup ? s.warmup : 1));
        else if (one.kind != SCHEDULE_NOAM && s.kind == SCHEDULE_NOAM)
            one.rate = s.rate / sqrt((double)s.dim * (double)(s.warmup ? s.warmup : 1));
        snprintf(label, sizeof label, "%s --lr %.3g", names[i], one.rate);
        fine = add_rates(d, &one, steps, o->minutes > 0, label, e);
    }
    return fine;
}

bool draw_schedule(App *a, Drawing *d, Error *e) { return add_schedules(a, d, false, e); }
bool draw_schedules(App *a, Drawing *d, Error *e) { return add_schedules(a, d, true, e); }

/* ---- data */

static bool with_texts(App *a, Drawing *d, bool (*add)(Buffer *b, const TextSet *t, Error *e), Error *e)
{
    TextSet t = {.unknown = NOT_KNOWN};
    bool fine = a->kind->texts(a, &t, e);
    const bool lengths = add == texts_lengths;
    snprintf(d->text[0], sizeof d->text[0], "%zu", lengths ? t.reads : t.knows);
    if (fine && lengths)
        snprintf(d->text[1], sizeof d->text[1], "%s of a %s", t.measured, t.text);
    else if (fine)
        snprintf(d->text[1], sizeof d->text[1], "%s", t.measured);
    d->more[0] = d->text[0];
    d->more[1] = d->text[1];
    d->parts = t.count;
    fine = fine && add(&d->data, &t, e);
    texts_close(&t);
    return fine;
}

bool draw_lengths(App *a, Drawing *d, Error *e) { return with_texts(a, d, texts_lengths, e); }
bool draw_coverage(App *a, Drawing *d, Error *e) { return with_texts(a, d, texts_coverage, e); }
