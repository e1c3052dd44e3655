/* See regression.h. Coordinate descent on the dual (Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic
 * Regression and Maximum Entropy Models, 2011). Each text i has an a_i in (0,C), and w = sum_i a_i y_i x_i. To improve
 * one a_i alone is to find the root of an increasing function of its logit t, a = C / (1 + exp(-t)):
 *
 *     t + y_i w.x_i + |x_i|^2 (a(t) - a_i) = 0 */
#include "classifier/regression.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/sites.h"

#include <math.h>
#include <string.h>

enum { PASSES = 100, NEWTON_STEPS = 50, SITE_REGRESSION = SITE_DATA + 0x300 };
static const double ENOUGH = 1e-4; /* as part of C: when no a_i moves further in a pass, it is done */

/* One text while its a_i is improved. */
typedef struct Dual {
    double c, a, margin, square; /* a_i, y_i w.x_i, |x_i|^2 */
} Dual;

/* Newton's steps, kept between two bounds of the root by halving. */
static double best_dual(const Dual *d)
{
    double low = -d->margin - d->square * (d->c - d->a), high = -d->margin + d->square * d->a;
    double t = low > 0 ? low : high < 0 ? high : 0;
    for (int i = 0; i < NEWTON_STEPS; i++) {
        double part = 1 / (1 + exp(-t));
        double value = t + d->margin + d->square * (d->c * part - d->a);
        if (fabs(value) < 1e-9 || high - low < 1e-9)
            break;
        *(value > 0 ? &high : &low) = t;
        t -= value / (1 + d->square * d->c * part * (1 - part));
        if (t <= low || t >= high)
            t = (low + high) / 2;
    }
    return d->c / (1 + exp(-t));
}

double regression_score(const Weight *weights, size_t features, const FeatureRows *rows, size_t i)
{
    double sum = weights[features].w;
    for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
        Weight x = weights[rows->features[k]];
        sum += (double)x.of_feature * (double)x.w;
    }
    return sum;
}

static double square_of(const Weight *weights, const FeatureRows *rows, size_t i)
{
    double sum = 1;
    for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
        double x = (double)weights[rows->features[k]].of_feature;
        sum += x * x;
    }
    return sum;
}

static void add_to_weights(Weight *weights, size_t features, const FeatureRows *rows, size_t i, double times)
{
    float step = (float)times;
    for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
        Weight *x = &weights[rows->features[k]];
        x->w += step * x->of_feature;
    }
    weights[features].w += step;
}

static void shuffle(size_t *order, size_t count, int pass)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)philox_below(i, 1, (uint32_t)pass, i, SITE_REGRESSION), was = order[k];
        order[k] = order[i - 1];
        order[i - 1] = was;
    }
}

/* Improves each text's a_i once; returns how far one has moved at most. */
static double improve(Weight *weights, size_t features, const FeatureRows *rows, int32_t positive, double c,
                      const size_t *order, double *duals, const double *squares)
{
    double furthest = 0;
    for (size_t n = 0; n < rows->count; n++) {
        size_t i = order[n];
        double y = rows->labels[i] == positive ? 1 : -1;
        Dual d = {c, duals[i], y * regression_score(weights, features, rows, i), squares[i]};
        double moved = best_dual(&d) - duals[i];
        add_to_weights(weights, features, rows, i, y * moved);
        duals[i] += moved;
        furthest = fmax(furthest, fabs(moved));
    }
    return furthest;
}

bool regression_learn(Weight *weights, size_t features, const FeatureRows *rows, int32_t positive, double c, Error *e)
{
    size_t *order = memory_get(rows->count, sizeof *order);
    double *duals = memory_get(rows->count, sizeof *duals), *squares = memory_get(rows->count, sizeof *squares);
    bool done = order && duals && squares;
    if (!done)
        memory_error(e, "logistic regression", rows->count, sizeof *duals);
    for (size_t f = 0; done && f <= features; f++)
        weights[f].w = 0;
    for (size_t i = 0; done && i < rows->count; i++) {
        order[i] = i;
        squares[i] = square_of(weights, rows, i);
    }
    for (int pass = 0; done && pass < PASSES; pass++) {
        shuffle(order, rows->count, pass);
        if (improve(weights, features, rows, positive, c, order, duals, squares) < ENOUGH * c)
            break;
    }
    memory_free(order);
    memory_free(duals);
    memory_free(squares);
    return done;
}
