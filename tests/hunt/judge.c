/* See judge.h. */
#include "tests/hunt/judge.h"

#include "base/memory.h"
#include "kernels/plain/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Kernels *const *judged_backends(void)
{
    static const char *const devices[] = {"plain", "cpu"};
    static const Kernels *backends[5];
    size_t n = 0;
    for (size_t d = 0; d < 2; d++)
        for (int type = NUMBER_F32; type <= NUMBER_BF16; type++) {
            const Kernels *k = kernels_find(devices[d], (NumberType)type, NULL);
            if (k)
                backends[n++] = k;
        }
    backends[n] = NULL;
    return backends;
}

/* NaN counts as infinitely far. */
static double apart(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs(a[i] - (b ? b[i] : 0));
        most = d > most ? d : isnan(d) ? INFINITY : most;
    }
    return most;
}

double gradient_apart(const Parameter *p, const Outcome *a, const Outcome *b)
{
    return apart(a->gradient + p->offset, b ? b->gradient + p->offset : NULL, p->count);
}

double losses_apart(const Outcome *a, const Outcome *b) { return apart(a->losses, b ? b->losses : NULL, LOSSES_ALL); }

/* ---- one network */

enum { PARAMETERS = 512 };

/* How far f64 moves when weights are off a little. */
typedef struct Sensitivity {
    bool known;
    double losses, gradient[PARAMETERS];
} Sensitivity;

typedef struct TrainerFixture {
    Scene c;
    Outcome f64;
    bool clear;     /* rounding changes no choice of keys or experts */
    double largest; /* of all gradients */
    Sensitivity sensitivity[NUMBER_TYPES];
    char *why;
} TrainerFixture;

/* Of a tensor's own largest value, and of the largest of all gradients, because terms may cancel that are as large. A
 * norm of few columns magnifies what they leave, by up to 300. */
static const double slack[NUMBER_TYPES] = {[NUMBER_F32] = 1e-5, [NUMBER_BF16] = 0.04};
enum { NARROW = 50 };
static const double noise[NUMBER_TYPES] = {[NUMBER_F32] = 0x1p-22, [NUMBER_BF16] = 0x1p-7};

static const Parameter *parameter(const TrainerFixture *t, size_t i) { return t->c.parameters.list[i]; }

static bool is_learned(const TrainerFixture *t, size_t i) { return parameter(t, i)->role != ROLE_CONSTANT; }

static double greater(double a, double b) { return a > b ? a : b; }

static const Sensitivity *sensitivity_of(TrainerFixture *t, NumberType type)
{
    enum { DRAWS = 6, FACTOR = 8 };
    Sensitivity *s = &t->sensitivity[type];
    for (uint32_t draw = 0; !s->known && draw < DRAWS; draw++) {
        Outcome o = scene_run(&t->c, &(Way){.k = &plain_f64, .noise = noise[type], .noise_seed = draw});
        s->losses = greater(s->losses, FACTOR * losses_apart(&o, &t->f64));
        for (size_t i = 0; i < t->c.parameters.count; i++)
            if (is_learned(t, i))
                s->gradient[i] = greater(s->gradient[i], FACTOR * gradient_apart(parameter(t, i), &o, &t->f64));
        outcome_free(&o);
    }
    s->known = true;
    return s;
}

static bool say(TrainerFixture *t, const Kernels *k, const char *what, double off, double of)
{
    snprintf(t->why, WHY, "%s %s: %s is off by %.3g of %.3g", k->backend, number_type_name(k->type), what, off, of);
    return false;
}

/* ---- choices */

/* Keys and experts with the largest scores are chosen; where one that is not has nearly the same score, rounding may choose
 * otherwise, and another network comes out. */
static double nearest; /* of the pass: how far a score that is chosen is above one that is not */

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The k largest of each of n rows. */
static void watch(const double *scores, size_t n, size_t columns, size_t k)
{
    double *row = scene_memory(columns, sizeof *row);
    for (size_t i = 0; k < columns && i < n; i++) {
        memcpy(row, scores + i * columns, columns * sizeof *row);
        qsort(row, columns, sizeof *row, descending);
        if (row[k] > -INFINITY && row[k - 1] - row[k] < nearest)
            nearest = row[k - 1] - row[k];
    }
    memory_free(row);
}

static void keep_largest(Stream *s, void *x, size_t n, size_t columns, size_t k)
{
    watch(x, n, columns, k);
    plain_f64.keep_largest(s, x, n, columns, k);
}

static void route_forward(Stream *s, void *weights, int32_t *expert, int32_t *slot, int32_t *from, int32_t *start,
                          const void *scores, size_t n, size_t experts, size_t k)
{
    watch(scores, n, experts, k);
    plain_f64.route_forward(s, weights, expert, slot, from, start, scores, n, experts, k);
}

static Outcome run_f64(const Scene *c, bool *clear)
{
    Kernels watched = plain_f64;
    watched.keep_largest = keep_largest;
    watched.route_forward = route_forward;
    nearest = INFINITY;
    Outcome o = scene_run(c, &(Way){.k = &watched});
    *clear = nearest >= 1e-3;
    return o;
}

/* ---- rounding */

static double magnified(const TrainerFixture *t) { return sketch_narrow(t->c.s) ? NARROW : 1; }

static bool losses_agree(TrainerFixture *t, const Kernels *k, const Outcome *o)
{
    double off = losses_apart(o, &t->f64), unit = greater(1, losses_apart(&t->f64, NULL));
    double most = slack[k->type] * magnified(t) * unit;
    if (off <= most || off <= sensitivity_of(t, k->type)->losses + most)
        return true;
    return say(t, k, "a loss", off, unit);
}

static bool gradients_agree(TrainerFixture *t, const Kernels *k, const Outcome *o)
{
    const double least = t->largest < 1e-12 ? 1 : 0; /* all would be 0 (a loss of one class): what rounding leaves */
    for (size_t i = 0; i < t->c.parameters.count; i++) {
        const Parameter *p = parameter(t, i);
        if (!is_learned(t, i))
            continue;
        double off = gradient_apart(p, o, &t->f64);
        double unit = gradient_apart(p, &t->f64, NULL);
        double most = slack[k->type] * (unit + magnified(t) * t->largest + least);
        if (off > most && off > most + sensitivity_of(t, k->type)->gradient[i])
            return say(t, k, p->name, off, unit);
    }
    return true;
}

/* ---- bits */

static bool same_bits(TrainerFixture *t, const Outcome *one, const Way *way, const char *how)
{
    Outcome o = scene_run(&t->c, way);
    bool same = !memcmp(o.gradient, one->gradient, t->c.parameters.size * sizeof *o.gradient) &&
                !memcmp(o.losses, one->losses, LOSSES_ALL * sizeof *o.losses) &&
                !memcmp(&o.loss, &one->loss, sizeof o.loss);
    if (!same)
        snprintf(t->why, WHY, "%s %s: other bits %s", way->k->backend, number_type_name(way->k->type), how);
    else if (!o.stayed)
        snprintf(t->why, WHY, "%s %s: %s a gradient changed after it was finished", way->k->backend,
                 number_type_name(way->k->type), how);
    else if (!o.planned)
        snprintf(t->why, WHY, "%s %s: %s it does not use the memory that was planned", way->k->backend,
                 number_type_name(way->k->type), how);
    outcome_free(&o);
    return same && !t->why[0];
}

static bool repeats(TrainerFixture *t, const Kernels *k, const Outcome *one)
{
    if (!one->planned) {
        snprintf(t->why, WHY, "%s %s does not use the memory that was planned", k->backend, number_type_name(k->type));
        return false;
    }
    return same_bits(t, one, &(Way){.k = k, .keep = KEEP_INPUTS}, "when segments are computed again") &&
           same_bits(t, one, &(Way){.k = k, .keep = (Keep)(t->c.s->seed % 2), .longer = 2},
                     "in the room of longer rows") &&
           (t->c.s->seed % 4 || same_bits(t, one, &(Way){.k = k, .team = 2}, "with a team of two"));
}

static bool backend_agrees(TrainerFixture *t, const Kernels *k)
{
    Outcome o = scene_run(&t->c, &(Way){.k = k});
    bool fine = (!t->clear || (losses_agree(t, k, &o) && gradients_agree(t, k, &o))) && repeats(t, k, &o);
    outcome_free(&o);
    return fine;
}

/* ---- slopes */

static double loss_at(const TrainerFixture *t, const char *nudged, double by)
{
    Outcome o = scene_run(&t->c, &(Way){.k = &plain_f64, .nudged = nudged, .by = by});
    outcome_free(&o);
    return o.loss;
}

/* Of the loss along a parameter's direction, to fourth order. */
static double slope(const TrainerFixture *t, const char *name, double h)
{
    return (8 * (loss_at(t, name, h) - loss_at(t, name, -h)) - (loss_at(t, name, 2 * h) - loss_at(t, name, -2 * h))) /
           (12 * h);
}

/* The same on one side alone: above (h > 0) or below. */
static double side_slope(const TrainerFixture *t, const char *name, double h)
{
    return (4 * loss_at(t, name, h) - loss_at(t, name, 2 * h) - 3 * t->f64.loss) / (2 * h);
}

/* Steps of several sizes: a steep network, or one with a kink nearby, needs a small one, a large loss one that is not. Where
 * a kink is just here (of two numbers of bf16 that are equal, neither is the largest), the gradient may be that of either
 * side. */
static bool is_slope(TrainerFixture *t, const Parameter *p)
{
    static const double steps[] = {1e-4, 1e-3, 1e-5, 1e-6};
    double found = 0, size = 0, measured = 0;
    for (size_t j = 0; j < p->count; j++) {
        double g = t->f64.gradient[p->offset + j];
        found += g * scene_direction(&t->c, p, j);
        size += fabs(g);
    }
    double h = 0, most = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        h = steps[i], most = 1e-6 * size + 1e-15 * (1 + fabs(t->f64.loss)) / h + 1e-10;
        measured = slope(t, p->name, h);
        if (fabs(measured - found) <= most)
            return true;
    }
    const double above = side_slope(t, p->name, h), below = side_slope(t, p->name, -h);
    if (!sketch_smooth(t->c.s) && fabs(found - (above + below) / 2) <= fabs(above - below) / 2 + most)
        return true;
    snprintf(t->why, WHY, "f64: the gradient of %s is %.9g along its direction, the slope %.9g", p->name, found,
             measured);
    return false;
}

/* A memory is computed with the same weights, but has no gradient: what they change there is not in it. */
static bool makes_a_memory(const TrainerFixture *t, const Parameter *p)
{
    for (size_t k = 0; k < t->c.s->count; k++)
        if (t->c.s->op[k].recurrent && strtoul(p->name, NULL, 10) == t->c.s->op[k].name)
            return true;
    return false;
}

static bool slopes_agree(TrainerFixture *t)
{
    for (size_t i = 0; i < t->c.parameters.count; i++)
        if (is_learned(t, i) && !makes_a_memory(t, parameter(t, i)) && !is_slope(t, parameter(t, i)))
            return false;
    return true;
}

/* ---- */

static void trainer_fixture_open(TrainerFixture *t, const Sketch *s, char *why)
{
    memset(t, 0, sizeof *t);
    scene_open(&t->c, s);
    if (t->c.parameters.count > PARAMETERS)
        scene_stop("more parameters than the judge has room for");
    t->f64 = run_f64(&t->c, &t->clear);
    for (size_t i = 0; i < t->c.parameters.count; i++)
        if (is_learned(t, i))
            t->largest = greater(t->largest, gradient_apart(parameter(t, i), &t->f64, NULL));
    t->why = why;
    why[0] = 0;
}

bool judge(const Sketch *s, const Kernels *const *backends, char why[WHY])
{
    TrainerFixture t;
    size_t before = memory_in_use();
    bool rough = !sketch_smooth(s) || sketch_narrow(s);
    trainer_fixture_open(&t, s, why);
    bool fine = t.largest < INFINITY || say(&t, &plain_f64, "a gradient", INFINITY, 1);
    fine = fine && repeats(&t, &plain_f64, &t.f64) && (!t.clear || slopes_agree(&t));
    for (; fine && *backends; backends++)
        fine = (rough && (*backends)->type == NUMBER_BF16) || backend_agrees(&t, *backends);
    outcome_free(&t.f64);
    scene_close(&t.c);
    if (fine && memory_in_use() != before) {
        snprintf(why, WHY, "%zu bytes of memory were kept", memory_in_use() - before);
        fine = false;
    }
    return fine;
}
