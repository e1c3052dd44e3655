/* See statistics.h. */
#include "core/research/statistics.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* ---- Student's t distribution */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 10000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step = 1;
        for (int i = 0; i < 2; i++) {
            const double term = i ? odd : even;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < DBL_EPSILON)
            break;
    }
    return value;
}

/* I_x(a, b), with y = 1 - x given apart: one of both may be too small to be 1 minus the other. */
static double beta_regular(double a, double b, double x, double y)
{
    if (x <= 0 || y <= 0)
        return x <= 0 ? 0 : 1;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, y) / b;
}

double student_p(double t, double df)
{
    if (isnan(t) || !(df > 0))
        return NAN;
    if (isinf(t))
        return 0;
    const double square = t * t, sum = df + square;
    return beta_regular(df / 2, 0.5, df / sum, square / sum);
}

double student_t(double p, double df)
{
    if (!(p > 0 && p < 1) || !(df > 0))
        return NAN;
    double low = 0, high = 1;
    while (student_p(high, df) > p && high < 1e300)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        const double middle = (low + high) / 2;
        *(student_p(middle, df) > p ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* ---- groups of numbers */

enum { LEAST = 2 }; /* numbers that vary */

static const double level = 0.05, power = 0.8;

/* Of equal numbers it is each of them: a mean that is rounded would make them vary. */
static double mean_of(const double *x, size_t count)
{
    double sum = 0;
    bool equal = true;
    for (size_t i = 0; i < count; i++) {
        sum += x[i];
        equal = equal && x[i] == x[0];
    }
    return !count ? (double)NAN : equal ? x[0] : sum / (double)count;
}

Moments moments_of(const double *x, size_t count)
{
    Moments m = {.count = count, .mean = mean_of(x, count), .sd = NAN};
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (x[i] - m.mean) * (x[i] - m.mean);
    if (count >= LEAST)
        m.sd = sqrt(squares / (double)(count - 1));
    return m;
}

double moments_margin(const Moments *m)
{
    return m->count < LEAST ? NAN : student_t(level, (double)m->count - 1) * m->sd / sqrt((double)m->count);
}

/* A difference with this standard error; without one, nothing is known of chance. */
static Difference difference(double mean, double error, double df)
{
    if (!(error > 0))
        return (Difference){mean, NAN, NAN, NAN, NAN, NAN};
    const double margin = student_t(level, df) * error, t = mean / error;
    return (Difference){mean, mean - margin, mean + margin, t, df, student_p(t, df)};
}

Difference difference_welch(const Moments *a, const Moments *b)
{
    if (a->count < LEAST || b->count < LEAST)
        return difference(a->mean - b->mean, NAN, NAN);
    const double of_a = a->sd * a->sd / (double)a->count, of_b = b->sd * b->sd / (double)b->count, sum = of_a + of_b;
    const double df = sum * sum / (of_a * of_a / (double)(a->count - 1) + of_b * of_b / (double)(b->count - 1));
    return difference(a->mean - b->mean, sqrt(sum), df);
}

Difference difference_paired(const double *a, const double *b, size_t count)
{
    double sum = 0, squares = 0;
    bool equal = true;
    for (size_t i = 0; i < count; i++) {
        sum += a[i] - b[i];
        equal = equal && a[i] - b[i] == a[0] - b[0];
    }
    const double mean = count && equal ? a[0] - b[0] : sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
    const double n = (double)count;
    return difference(mean, count < LEAST ? NAN : sqrt(squares / (n - 1) / n), n - 1);
}

/* ---- several comparisons */

void holm_correct(double *corrected, const double *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double rest = 0; /* comparisons that are no surer than this one */
        for (size_t k = 0; k < count; k++)
            rest += p[k] >= p[i] ? 1 : 0;
        corrected[i] = isnan(p[i]) ? NAN : fmin(1, p[i] * rest);
    }
    for (size_t i = 0; i < count; i++) /* nor does one become surer than one that was surer before */
        for (size_t k = 0; k < count; k++)
            if (p[k] <= p[i])
                corrected[i] = fmax(corrected[i], corrected[k]);
}

/* ---- how many it takes */

static double normal_below(double x) { return 0.5 * erfc(-x / sqrt(2)); }

/* P(|T| > limit) where T = (Z + shift) / S, S^2 a chi-square of df over df: Simpson's rule over S, around its mean. */
static double noncentral_beyond(double limit, double df, double shift)
{
    enum { STEPS = 2000 };
    const double width = 12 / sqrt(2 * df), from = fmax(0, 1 - width), to = 1 + width, h = (to - from) / STEPS;
    const double front = log(2) + df / 2 * log(df / 2) - lgamma(df / 2);
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double s = from + i * h, weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        if (s <= 0)
            continue;
        const double density = exp(front + (df - 1) * log(s) - df * s * s / 2);
        sum += weight * density * (normal_below(-limit * s - shift) + normal_below(shift - limit * s));
    }
    return sum * h / 3;
}

static bool enough(double effect, size_t count)
{
    const double df = 2 * (double)count - 2;
    return noncentral_beyond(student_t(level, df), df, effect * sqrt((double)count / 2)) >= power;
}

size_t count_needed(double difference, double sd)
{
    const double effect = fabs(difference) / sd;
    size_t low = LEAST, high = LEAST;
    if (!(effect > 0))
        return 0;
    while (!enough(effect, high)) {
        low = high + 1;
        if ((high *= 2) > 1000000)
            return 0;
    }
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (enough(effect, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* ---- the same texts */

double mcnemar_p(size_t only_a, size_t only_b)
{
    const double n = (double)only_a + (double)only_b;
    const size_t less = only_a < only_b ? only_a : only_b;
    double sum = 0;
    if (only_a == only_b)
        return n > 0 ? 1 : NAN;
    for (size_t i = 0; i <= less; i++)
        sum += exp(lgamma(n + 1) - lgamma((double)i + 1) - lgamma(n - (double)i + 1) - n * log(2));
    return fmin(1, 2 * sum);
}
