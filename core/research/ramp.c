/* See ramp.h. */
#include "core/research/ramp.h"

#include "base/memory.h"

#include <math.h>

enum { DECADES = 8, FEW = 5 };

static const double first_rate = 1e-7;

bool ramp_open(Ramp *r, size_t steps, Error *e)
{
    *r = (Ramp){.step = memory_get(steps, sizeof *r->step), .steps = steps};
    return r->step || memory_error(e, "the steps of a ramp", steps, sizeof *r->step);
}

void ramp_close(Ramp *r)
{
    memory_free(r->step);
    *r = (Ramp){0};
}

static double decades_of(const Ramp *r, size_t step) { return DECADES * (double)step / (double)(r->steps - 1); }

double ramp_rate(const Ramp *r) { return first_rate * pow(10, decades_of(r, r->count)); }

/* Of the first losses */
static double mean(const Ramp *r, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += r->step[i].loss;
    return sum / (double)count;
}

static bool explodes(const Ramp *r)
{
    const double limit = 1.5 * mean(r, FEW);
    bool all = true;
    for (size_t i = 0; all && i < FEW; i++)
        all = r->step[r->count - 1 - i].loss > limit;
    return all;
}

bool ramp_add(Ramp *r, double loss)
{
    if (isfinite(loss)) {
        r->step[r->count] = (RampStep){.rate = ramp_rate(r), .loss = loss};
        r->count++;
    }
    r->exploded = !isfinite(loss) || (r->count >= 2 * FEW && explodes(r));
    return !r->exploded && r->count < r->steps;
}

/* Steps on each side that a line is fitted to: half a decade. */
static size_t reach(const Ramp *r) { return r->steps / (2 * DECADES); }

/* The least-squares line through the losses around a step. */
static void fit_line(Ramp *r, size_t at)
{
    const size_t half = reach(r), from = at > half ? at - half : 0,
                 to = at + half < r->count ? at + half + 1 : r->count;
    const double n = (double)(to - from), middle = decades_of(r, from) + decades_of(r, (to - from) - 1) / 2;
    double squares = 0, products = 0, sum = 0;
    for (size_t i = from; i < to; i++) {
        const double x = decades_of(r, i) - middle;
        sum += r->step[i].loss;
        squares += x * x;
        products += x * r->step[i].loss;
    }
    r->step[at].slope = squares > 0 ? products / squares : 0;
    r->step[at].smooth = sum / n + r->step[at].slope * (decades_of(r, at) - middle);
}

bool ramp_suggest(Ramp *r)
{
    const size_t start = 2 * reach(r) + 1;
    size_t steepest = 0, lowest = 0;
    double square = 0;
    if (r->count <= start)
        return false;
    for (size_t i = 0; i < r->count; i++)
        fit_line(r, i);
    for (size_t i = 0; i < r->count; i++) {
        steepest = r->step[i].slope < r->step[steepest].slope ? i : steepest;
        lowest = r->step[i].smooth < r->step[lowest].smooth ? i : lowest;
    }
    const double began = mean(r, start);
    for (size_t i = 0; i < start; i++)
        square += (r->step[i].loss - began) * (r->step[i].loss - began);
    r->steepest = r->step[steepest].rate;
    r->lowest = r->step[lowest].rate;
    r->suggestion = r->lowest / 3;
    return began - r->step[lowest].smooth > 2 * sqrt(square / (double)(start - 1));
}

void ramp_picture(Buffer *b, const Ramp *r, double per_nat, const char *unit)
{
    buffer_print(b, "learning rate\tloss (%s)\tsmoothed\tslope\n", unit);
    for (const RampStep *s = r->step; s < r->step + r->count; s++)
        buffer_print(b, "%.6g\t%.6f\t%.6f\t%.6f\n", s->rate, per_nat * s->loss, per_nat * s->smooth,
                     per_nat * s->slope);
    buffer_print(b, "\n\nsteepest descent\t%.6g\nlowest loss\t%.6g\nsuggestion\t%.6g\n", r->steepest, r->lowest,
                 r->suggestion);
}
