/* See subjects.h: what is inside a model, and what a loss makes of its targets. */
#include "core/program/subjects.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/inspect/labels.h"
#include "core/nn/positions.h"
#include "core/plot/points.h"
#include "core/plot/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the numbers of a run's model */

typedef struct Inside {
    const Kernels *k;
    Stream *stream;
    Weights weights;
    float *value; /* [largest parameter] those that were read last */
} Inside;

static void inside_close(Inside *in)
{
    weights_close(&in->weights);
    if (in->stream)
        in->k->close(in->stream);
    memory_free(in->value);
}

/* Of a model that is open. */
static bool inside_read(Inside *in, const App *a, Error *e)
{
    *in = (Inside){.k = kernels_find("plain", NUMBER_F32, e)};
    if (!in->k || !in->k->open(&in->stream, 1, e) || !app_open_weights(a, in->k, &in->weights, e))
        return false;
    size_t largest = parameters_largest(a->parameters);
    in->value = memory_get(largest, sizeof *in->value);
    return in->value || memory_error(e, "a table of the model", largest, sizeof *in->value);
}

static bool inside_open(Inside *in, App *a, Error *e)
{
    return app_open_run(a, a->options->run, false, e) && a->kind->open_model(a, e) && inside_read(in, a, e);
}

/* ---- positions */

static bool add_positions(Drawing *d, const char *name, const float *value, size_t rows, size_t columns, Error *e)
{
    const Table t = {.title = name,
                     .rows_are = "position",
                     .columns_are = "column",
                     .value = value,
                     .rows = rows,
                     .columns = columns};
    table_add(&d->data, &t);
    d->parts += 2;
    return table_likeness(&d->data, &t, e);
}

/* Whether parameter i is a table of biases [distances, heads] of the chain of blocks that `first` is one of. */
static bool is_bias(const Parameters *p, size_t i, const char *first)
{
    const char *name = p->list[i]->name;
    return name_ends(name, ".distance_bias") && strncmp(name, first, strcspn(first, ".") + 1) == 0;
}

/* factor [count]: what a bias makes of weights, exp(bias), of the most that it makes of any; a bias every `stride`. */
static void add_factors(float *factor, const float *bias, size_t count, size_t stride)
{
    float most = bias[0];
    for (size_t i = 1; i < count; i++)
        most = fmaxf(most, bias[i * stride]);
    for (size_t i = 0; i < count; i++)
        factor[i] = expf(bias[i * stride] - most);
}

/* What biases make of each distance, of all layers from parameter `first` on, a head a row. */
static bool add_biases(App *a, Drawing *d, Inside *in, size_t first, Error *e)
{
    const Parameters *p = a->parameters;
    const Parameter *one = p->list[first];
    const size_t count = one->shape[0], heads = one->shape[1];
    const size_t reach = a->options->context + a->options->memory;
    const bool both = count > reach; /* keys ahead have biases, too */
    size_t layers = 0, row = 0;
    char title[96];
    for (size_t i = first; i < p->count; i++)
        layers += is_bias(p, i, one->name);
    float *value = memory_get(layers * heads * count, sizeof *value);
    if (!value)
        return memory_error(e, "biases of distances", layers * heads * count, sizeof *value);
    for (size_t i = first; i < p->count; i++)
        if (is_bias(p, i, one->name)) {
            weights_get(&in->weights, in->stream, p->list[i], in->value);
            for (size_t h = 0; h < heads; h++, row++)
                add_factors(value + row * count, in->value + h, count, heads);
        }
    snprintf(title, sizeof title, "%.*s: exp(bias of a distance), 1 at each head's largest",
             (int)strcspn(one->name, "."), one->name);
    table_add(&d->data, &(Table){.title = title,
                                 .rows_are = "head, layer after layer",
                                 .columns_are = both ? "distance back (negative: ahead)" : "distance back",
                                 .value = value,
                                 .rows = layers * heads,
                                 .columns = count,
                                 .first_column = both ? 1 - (double)reach : 0});
    d->parts++;
    memory_free(value);
    return true;
}

static bool draw_own_positions(App *a, Drawing *d, Inside *in, Error *e)
{
    const Parameters *p = a->parameters;
    bool fine = true, computed = false;
    for (size_t i = 0; fine && i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (!name_ends(one->name, "position_embedding.weight") || (computed && one->role == ROLE_CONSTANT))
            continue;
        weights_get(&in->weights, in->stream, one, in->value);
        computed = computed || one->role == ROLE_CONSTANT;
        fine = add_positions(d, one->role == ROLE_CONSTANT ? "sinusoids" : one->name, in->value, one->shape[0],
                             one->shape[1], e);
    }
    for (size_t i = 0, last = p->count; fine && i < p->count; i++)
        if (name_ends(p->list[i]->name, ".distance_bias") && (last == p->count || !is_bias(p, i, p->list[last]->name)))
            fine = add_biases(a, d, in, last = i, e);
    return fine &&
           (d->parts ||
            fail(e, "the model of the run %s has neither position vectors nor a bias for each distance", a->run->path));
}

/* Sinusoids, which need no run: [context, dim]. */
static bool draw_sinusoids(App *a, Drawing *d, Error *e)
{
    const size_t rows = a->options->context, columns = a->options->dim;
    float *value = memory_get(rows * columns, sizeof *value);
    if (!value)
        return memory_error(e, "sinusoids", rows * columns, sizeof *value);
    for (size_t i = 0; i < rows * columns; i++)
        value[i] = (float)sinusoid((double)(i / columns), i % columns, columns);
    bool fine = add_positions(d, "sinusoids", value, rows, columns, e);
    memory_free(value);
    return fine;
}

bool draw_positions(App *a, Drawing *d, Error *e)
{
    Inside in = {0};
    if (!a->options->run)
        return draw_sinusoids(a, d, e);
    bool fine = inside_open(&in, a, e) && draw_own_positions(a, d, &in, e);
    inside_close(&in);
    return fine;
}

/* ---- embeddings */

enum {
    TOKENS = 4000
}; /* the first ones: where tokens are sorted by how often they are met, the others are hardly known */

static bool add_tokens(App *a, Drawing *d, const Inside *in, const Parameter *p, Error *e)
{
    const size_t rows = p->shape[0] < TOKENS ? p->shape[0] : TOKENS, columns = p->shape[1];
    Labels names = {0};
    double *table = memory_get(rows * columns, sizeof *table);
    bool fine = table || memory_error(e, "a table of tokens", rows * columns, sizeof *table);
    for (size_t i = 0; fine && i < rows; i++)
        fine = a->kind->name_token(a, p->name, (int32_t)i, &names, e);
    for (size_t i = 0; fine && i < rows * columns; i++)
        table[i] = (double)in->value[i];
    char title[160];
    if (rows < p->shape[0])
        snprintf(title, sizeof title, "%s, the first %zu of %zu", p->name, rows, p->shape[0]);
    else
        snprintf(title, sizeof title, "%s", p->name);
    fine = fine && points_add(&d->data, title, table, rows, columns, &names, e);
    d->parts++;
    memory_free(table);
    labels_close(&names);
    return fine;
}

static bool is_of_tokens(const char *name)
{
    static const char *const others[] = {"position_embedding.weight", "segment_embedding.weight",
                                         "ngram_embedding.weight"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (name_ends(name, others[i]))
            return false;
    return name_ends(name, "embedding.weight");
}

bool draw_embeddings(App *a, Drawing *d, Error *e)
{
    Inside in = {0};
    if (!a->options->run)
        return fail(e, "--run DIR is missing") || app_misused(a);
    bool fine = inside_open(&in, a, e);
    for (size_t i = 0; fine && i < a->parameters->count; i++) {
        const Parameter *p = a->parameters->list[i];
        if (!is_of_tokens(p->name))
            continue;
        weights_get(&in.weights, in.stream, p, in.value);
        fine = add_tokens(a, d, &in, p, e);
    }
    inside_close(&in);
    return fine;
}

/* ---- spans */

bool print_spans(const App *a, Error *e)
{
    const double farthest = (double)(a->options->context + a->options->memory);
    Inside in = {0};
    const bool fine = inside_read(&in, a, e);
    for (size_t i = 0; fine && i < a->parameters->count; i++) {
        const Parameter *p = a->parameters->list[i];
        if (!name_ends(p->name, ".attention.span"))
            continue;
        weights_get(&in.weights, in.stream, p, in.value);
        printf("%s of heads, in positions:", p->name);
        for (size_t h = 0; h < p->count; h++)
            printf(" %.0f", farthest * fmin(fmax((double)in.value[h], 0), 1));
        printf("\n");
    }
    printf("%s", fine ? "\n" : "");
    inside_close(&in);
    return fine;
}

/* ---- label smoothing, as the operation itself has it */

enum { POINTS = 400 };

typedef struct Smoothed {
    const Kernels *k; /* in f64 */
    double *z, *dz;   /* [classes] logits, and their gradient */
    size_t classes;
    double smoothing;
} Smoothed;

/* The loss where the first class is given the probability p and all others as much as each other. */
static double loss_of(const Smoothed *s, double p)
{
    double loss, lse;
    const int32_t target = 0;
    StepState state = {.seed = 0};
    for (size_t i = 0; i < s->classes; i++)
        s->z[i] = log(i ? (1 - p) / (double)(s->classes - 1) : p);
    s->k->cross_entropy_forward(NULL, &loss, &lse, &state, 0, s->z, &target, s->smoothing, 1, s->classes);
    return loss;
}

/* dz [classes]: what the first class and the others are to be given, which the gradient says: softmax - target. */
static void targets_of(const Smoothed *s)
{
    const int32_t target = 0;
    StepState state = {.loss = {{.scale = 1}}};
    const double lse = log((double)s->classes), even = 1 / (double)s->classes;
    memset(s->z, 0, s->classes * sizeof *s->z);
    s->k->cross_entropy_backward(NULL, s->dz, false, &state, 0, &lse, s->z, &target, s->smoothing, 1, s->classes);
    for (size_t i = 0; i < s->classes; i++)
        s->dz[i] = even - s->dz[i];
}

/* p runs evenly over log odds, so that what is nearly sure has its room. */
static void add_losses(Buffer *b, Smoothed *s, double smoothing)
{
    buffer_print(b, "\n\nlosses\t%zu\t%.10g\n", s->classes, smoothing);
    for (int i = 1; i < POINTS; i++) {
        const double odds = exp(24.0 * i / POINTS - 10), p = odds / (1 + odds);
        s->smoothing = 0;
        const double plain = loss_of(s, p);
        s->smoothing = smoothing;
        buffer_print(b, "%.10g\t%.10g\t%.10g\n", p, plain, loss_of(s, p));
    }
}

/* How many classes the model tells apart that the options or the opened run describe. */
static bool classes_of(App *a, size_t *classes, Error *e)
{
    if (!a->kind->open_model(a, e))
        return false;
    *classes = 0;
    for (size_t side = 0; !*classes && side < a->task.sides; side++)
        a->kind->vocabulary(a, side, classes);
    return *classes > 1 || fail(e, "a model of %zu classes has no labels to smooth", *classes);
}

bool draw_smoothing(App *a, Drawing *d, Error *e)
{
    Smoothed s = {.k = kernels_find("plain", NUMBER_F64, e)};
    if (a->options->run && !app_open_run(a, a->options->run, false, e))
        return false;
    if (!(a->options->smoothing > 0))
        return fail(e, "--smoothing is 0: give a value, such as --smoothing 0.1") || app_misused(a);
    if (!s.k || !classes_of(a, &s.classes, e))
        return false;
    s.smoothing = a->options->smoothing;
    s.z = memory_get(2 * s.classes, sizeof *s.z);
    if (!s.z)
        return memory_error(e, "logits", 2 * s.classes, sizeof *s.z);
    s.dz = s.z + s.classes;
    targets_of(&s);
    buffer_print(&d->data, "targets\t%zu\t%.10g\n", s.classes, s.smoothing);
    for (size_t i = 0; i < s.classes && i < 12; i++)
        buffer_print(&d->data, "%zu\t%.10g\t%d\n", i, s.dz[i], i == 0);
    add_losses(&d->data, &s, a->options->smoothing);
    d->parts = 2;
    memory_free(s.z);
    return !d->data.failed || fail(e, "out of memory for the data of a picture");
}
