/* See coordinates.h. */
#include "core/program/coordinates.h"

#include "base/memory.h"
#include "core/cli/stop.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTHS = 12, STEPS = 5, KINDS = 2 };

static const char *const kinds[KINDS] = {"standard", "mup"};

typedef struct Layer {
    char name[128];
    double change[KINDS][WIDTHS]; /* mean |difference| of its numbers */
    float *before;                /* they, before training */
} Layer;

typedef struct Check {
    Hook hook; /* first */
    const Kernels *k;
    size_t width[WIDTHS], widths, steps;
    Layer *layer;               /* [count] */
    size_t count, capacity, at; /* at: the next layer of this pass */
    int kind;
    size_t which; /* of the widths */
    double rate;  /* of all steps, for all widths: the first one's */
    bool first;   /* the pass before training */
    bool failed;
} Check;

/* ---- what is looked at */

/* Operations come in the same order for each width. */
static Layer *layer_at(Check *c, const char *what, const Parameter *p)
{
    if (c->at == c->count) {
        if (!memory_grow(&c->layer, &c->capacity, c->count + 1, sizeof *c->layer, "", NULL))
            return NULL;
        Layer *new = &c->layer[c->count++];
        *new = (Layer){.name = ""};
        snprintf(new->name, sizeof new->name, "%s: %s", p->name, what);
    }
    return &c->layer[c->at];
}

static void made(Hook *hook, Tape *t, const Tensor *y, const char *what, const Parameter *p)
{
    Check *c = (Check *)hook;
    const size_t count = y->rows * y->columns;
    if (!p) /* muP's multiplier is there for some widths only, and a loss is no activation */
        return;
    Layer *layer = layer_at(c, what, p);
    float *now = memory_get(count, sizeof *now);
    if (!layer || !now) {
        c->failed = true;
        memory_free(now);
        return;
    }
    t->k->download(t->stream, now, y->data, count * sizeof *now);
    c->at++;
    if (c->first) {
        memory_free(layer->before);
        layer->before = now;
        return;
    }
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += fabs((double)now[i] - (double)layer->before[i]);
    layer->change[c->kind][c->which] = sum / (double)count;
    memory_free(now);
}

/* ---- training */

static bool measure_activations(Check *c, Trainer *trainer, bool first, Error *e)
{
    c->at = 0;
    c->first = first;
    trainer_show(trainer, 1, &c->hook);
    return !c->failed || fail(e, "out of memory for activations");
}

static bool train(App *a, Check *c, Error *e)
{
    TrainerOptions options;
    Trainer trainer = {.pool = NULL};
    LoopOptions loop;
    StepResult now;
    if (!c->kind && !c->which) {
        if (!setup_loop(&loop, a->options, a->kind->epoch(a), e))
            return false;
        c->rate = schedule_peak(&loop.schedule);
    }
    bool fine = app_trainer_options(a, &options, true, e) &&
                trainer_open(&trainer, &options, a->parameters, &a->task, e) &&
                setup_weights(&trainer, a->options, NULL, NULL, e) && measure_activations(c, &trainer, true, e);
    for (size_t step = 1; fine && step <= c->steps; step++) {
        fine = trainer_step(&trainer, step, c->rate, &now, e);
        if (fine && !now.finite)
            fine = fail(e, "--dim %zu: step %zu is not finite: give a lower --lr", a->options->dim, step);
        if (fine && stop_requested())
            fine = fail(e, "stopped");
    }
    fine = fine && measure_activations(c, &trainer, false, e);
    trainer_close(&trainer);
    return fine;
}

static bool set_size(App *a, const char *name, size_t value, Error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return options_set(a->command_line, name, text, FROM_COMMAND_LINE, e);
}

/* One worker with all rows: then its tape holds the whole batch. */
static bool choose(App *a, const Check *c, Error *e)
{
    const bool mup = c->kind;
    a->kind->close(a);
    dataset_close(&a->data);
    a->options->base_width = mup ? c->width[0] : 0;
    return set_size(a, "dim", c->width[c->which], e) && set_size(a, "workers", 1, e) &&
           set_size(a, "micro-batch", 0, e) &&
           options_set(a->command_line, "parametrization", kinds[c->kind], FROM_COMMAND_LINE, e);
}

/* ---- what came of it */

/* By how much the logarithm grows with that of the width: the slope of the least-squares line. */
static double growth(const Check *c, const double *change)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    const double n = (double)c->widths;
    for (size_t i = 0; i < c->widths; i++) {
        const double u = log((double)c->width[i]), v = log(change[i]);
        x += u, y += v, xx += u * u, xy += u * v;
    }
    return (n * xy - x * y) / (n * xx - x * x);
}

static void print_table(const Check *c)
{
    int longest = 5;
    for (size_t i = 0; i < c->count; i++)
        longest = (int)strlen(c->layer[i].name) > longest ? (int)strlen(c->layer[i].name) : longest;
    printf("mean |change| of activations in %zu steps grows with the width to the power of\n\n%-*s  standard     mup\n",
           c->steps, longest, "layer");
    for (size_t i = 0; i < c->count; i++)
        printf("%-*s  %8.2f %7.2f\n", longest, c->layer[i].name, growth(c, c->layer[i].change[0]),
               growth(c, c->layer[i].change[1]));
}

static bool print_json(const Check *c, Error *e)
{
    Buffer b = {0};
    json_open(&b, "layers", '[');
    for (size_t i = 0; i < c->count; i++) {
        json_open(&b, NULL, '{');
        json_add_text(&b, "layer", c->layer[i].name);
        for (int k = 0; k < KINDS; k++)
            json_add_member(&b, kinds[k], growth(c, c->layer[i].change[k]));
        buffer_print(&b, "}");
    }
    buffer_print(&b, "]");
    return json_print_members(&b, e);
}

/* The data of plots/coordinates.gp: a block for each layer. */
static bool draw(const App *a, const Check *c, Error *e)
{
    Buffer data = {0};
    for (size_t i = 0; i < c->count; i++) {
        buffer_print(&data, "%s%s\tstandard\tmup\n", i ? "\n\n" : "", c->layer[i].name);
        for (size_t w = 0; w < c->widths; w++)
            buffer_print(&data, "%zu\t%.6g\t%.6g\n", c->width[w], c->layer[i].change[0][w], c->layer[i].change[1][w]);
    }
    const bool fine = app_draw_out(a, "coordinates", &data, e);
    buffer_free(&data);
    return fine;
}

/* ---- the command */

static bool read_widths(Check *c, const char *text, Error *e)
{
    const char *at = text;
    for (c->widths = 0; *at >= '1' && *at <= '9' && c->widths < WIDTHS; c->widths++) {
        char *end;
        c->width[c->widths] = strtoul(at, &end, 10);
        if (c->widths && c->width[c->widths] <= c->width[c->widths - 1])
            break;
        at = *end == ',' ? end + 1 : end;
    }
    return (!*at && c->widths > 1 && c->width[c->widths - 1] <= 65536) ||
           fail(e, "--coordinates '%s': expected 2 to %d widths, each larger than the one before, such as 32,64,128",
                text, WIDTHS);
}

bool coordinates_suit(App *a, Error *e)
{
    const SharedOptions *o = a->options;
    const Picture picture = {.out = o->out};
    Check c;
    if (!o->coordinates)
        return true;
    if (o->dry_run || (options_given(a->command_line, "steps") && !o->steps))
        return fail(e, "--coordinates trains: leave out --dry-run, and give --steps 1 or more");
    if (o->run || o->resume || o->find_lr || o->from || o->weights)
        return fail(e, "--coordinates makes no run and begins from fresh weights: leave out --run, --resume, --from, "
                       "--weights and --find-lr");
    if (o->precision != NUMBER_F32 || o->parametrization || o->base_width)
        return fail(e, "--coordinates compares both parametrizations in f32: leave out --parametrization, --base-width "
                       "and --precision");
    return read_widths(&c, o->coordinates, e) && (!o->out || picture_sound(&picture, e));
}

bool coordinates_compare(App *a, bool (*open)(App *a, Error *e), Error *e)
{
    Check c = {.hook = {.made = made}, .steps = STEPS};
    bool fine = read_widths(&c, a->options->coordinates, e);
    if (options_given(a->command_line, "steps"))
        c.steps = a->options->steps;
    stop_catch();
    for (c.kind = 0; fine && c.kind < KINDS; c.kind++)
        for (c.which = 0; fine && c.which < c.widths; c.which++) {
            a->options->quiet = a->options->quiet || c.kind || c.which; /* what the data are has been said */
            fine = choose(a, &c, e) && open(a, e) && train(a, &c, e);
        }
    if (fine && a->options->json)
        fine = print_json(&c, e);
    else if (fine)
        print_table(&c);
    fine = fine && (!a->options->out || draw(a, &c, e));
    for (size_t i = 0; i < c.count; i++)
        memory_free(c.layer[i].before);
    memory_free(c.layer);
    return fine;
}
