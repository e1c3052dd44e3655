/* The residual connection with dropout, alone and followed by a norm; and what dropout is, wherever it is used. */
#include "base/thread.h"
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { Y, SUM, MEAN, RSTD, X, F, GAIN, BIAS, DX, DF, DGAIN, DBIAS, DY };

typedef struct Add {
    size_t n, d;
    Dropout drop;
    bool norm, rms;    /* add_norm, of which kind */
    bool add_x, add_f; /* beside the case's own flag, which sets both */
} Add;

static void add(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Add *a = c->shape;
    if (a->norm) {
        k->add_norm_forward(s, at[Y], at[SUM], at[MEAN], at[RSTD], at[X], at[F], a->drop, state, at[GAIN], at[BIAS],
                            1e-5, a->n, a->d);
        k->add_norm_backward(s, at[DX], c->add, at[DF], c->add, at[DGAIN], at[DBIAS], at[DY], at[SUM], at[MEAN],
                             at[RSTD], a->drop, state, at[GAIN], a->n, a->d);
    } else {
        k->add_forward(s, at[Y], at[X], at[F], a->drop, state, a->n, a->d);
        k->add_backward(s, at[DX], c->add, at[DF], c->add, at[DY], a->drop, state, a->n, a->d);
    }
}

static Case add_sized(Add *a, uint32_t seed)
{
    Case c = case_new(add, a, seed);
    snprintf(c.words, sizeof c.words, "add%s n %d d %d rate %g", a->norm ? a->rms ? "_norm (rms)" : "_norm" : "",
             (int)a->n, (int)a->d, a->drop.rate);
    Use saved = a->norm ? WRITTEN : ABSENT;
    Tensor *y = tensor(&c, Y, "y", NUMBERS, WRITTEN, a->n, a->d);
    tensor(&c, SUM, "sum", NUMBERS, saved, a->n, a->d);
    tensor(&c, MEAN, "mean", REALS, a->rms ? ABSENT : saved, a->n, 1)->floor = 4;
    tensor(&c, RSTD, "rstd", REALS, saved, a->n, 1)->stores = 2;
    Tensor *x = tensor(&c, X, "x", NUMBERS, READ, a->n, a->d);
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < a->d; j++)
            *element(x, i, j) += j % 2 ? 3 : -3; /* no vector is nearly constant */
    tensor(&c, F, "f", NUMBERS, READ, a->n, a->d);
    tensor(&c, GAIN, "gain", REALS, a->norm ? READ : ABSENT, 1, a->d);
    tensor(&c, BIAS, "bias", REALS, a->norm && !a->rms ? READ : ABSENT, 1, a->d);
    Tensor *dx = gradient(&c, DX, "dx", NUMBERS, GRADIENT, X);
    Tensor *df = gradient(&c, DF, "df", NUMBERS, GRADIENT, F);
    gradient(&c, DGAIN, "dgain", REALS, a->norm ? ADDED : ABSENT, GAIN);
    gradient(&c, DBIAS, "dbias", REALS, a->norm && !a->rms ? ADDED : ABSENT, BIAS);
    output(&c, Y, DY);
    dx->optional = df->optional = true;
    y->floor = dx->floor = df->floor = c.tensor[DGAIN].floor = c.tensor[DBIAS].floor = 1;
    if (a->norm) {                                   /* the sum was rounded before */
        dx->floor = df->floor = a->d == 1 ? 450 : 1; /* a single value: what cancels was multiplied by 316 */
        y->stores = dx->stores = df->stores = 2;
        y->terms = dx->terms = df->terms = c.tensor[MEAN].terms = c.tensor[RSTD].terms = a->d;
        c.tensor[DGAIN].terms = c.tensor[DBIAS].terms = a->n;
        c.tensor[DGAIN].stores = c.tensor[MEAN].stores = 1;
    }
    return c;
}

static Case add_case(Add *a, uint32_t seed)
{
    static const size_t sizes[][2] = {{0, 4}, {1, 1}, {5, 3}, {1, 2}, {3, 65}, {2, 1000}, {70, 4}};
    Random random = {.seed = seed + 1000};
    *a = (Add){.n = below(&random, 12), .d = 1 + below(&random, 40)};
    if (seed / 2 < sizeof sizes / sizeof *sizes)
        a->n = sizes[seed / 2][0], a->d = sizes[seed / 2][1];
    a->norm = seed % 2;
    a->rms = seed % 4 == 3;
    a->drop = (Dropout){.rate = chance(&random, 0.3) ? 0 : 0.3, .site = 6, .side = seed / 2 % SIDES};
    Case c = add_sized(a, seed);
    c.add = chance(&random, 0.5);
    if (!a->norm && chance(&random, 0.2))
        c.tensor[X].use = c.tensor[DX].use = ABSENT;
    if (chance(&random, 0.2))
        c.tensor[DX].use = ABSENT;
    if (chance(&random, 0.2))
        c.tensor[DF].use = ABSENT;
    return c;
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Add a;
    case_ask(case_agrees, add_case(&a, (uint32_t)_i));
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Add a;
    case_ask(case_differentiates, add_case(&a, (uint32_t)_i));
}

START_TEST(gradients_are_added_where_asked)
{
    Add a = {.n = 5, .d = 9, .drop = {.rate = 0.2, .site = 3}, .norm = _i};
    case_ask(case_adds, add_sized(&a, 4));
}

START_TEST(gradients_need_not_be_wanted)
{
    Add a = {.n = 5, .d = 9, .drop = {.rate = 0.2, .site = 3}, .norm = _i};
    case_ask(case_spares, add_sized(&a, 4));
}

static void add_one_only(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Add *a = c->shape;
    if (a->norm) {
        k->add_norm_forward(s, at[Y], at[SUM], at[MEAN], at[RSTD], at[X], at[F], a->drop, state, at[GAIN], at[BIAS],
                            1e-5, a->n, a->d);
        k->add_norm_backward(s, at[DX], a->add_x, at[DF], a->add_f, at[DGAIN], at[DBIAS], at[DY], at[SUM], at[MEAN],
                             at[RSTD], a->drop, state, at[GAIN], a->n, a->d);
    } else {
        k->add_forward(s, at[Y], at[X], at[F], a->drop, state, a->n, a->d);
        k->add_backward(s, at[DX], a->add_x, at[DF], a->add_f, at[DY], a->drop, state, a->n, a->d);
    }
}

START_TEST(each_of_two_gradients_has_its_own_flag)
{
    Add a = {.n = 5, .d = 9, .drop = {.rate = 0.2, .site = 3}, .norm = _i / 2, .add_x = _i % 2, .add_f = !(_i % 2)};
    Case c = add_sized(&a, 4);
    c.call = add_one_only;
    c.tensor[DX].use = a.add_x ? ADDED : WRITTEN;
    c.tensor[DF].use = a.add_f ? ADDED : WRITTEN;
    case_agrees(&c);
    case_ask(case_differentiates, c);
}

START_TEST(add_norm_is_add_and_then_norm)
{
    Add a = {.n = 6, .d = 10, .drop = {.rate = 0.3, .site = 3}, .norm = true}, plainly = a;
    plainly.norm = false;
    Case fused = add_sized(&a, 4), sum = add_sized(&plainly, 4);
    for (size_t i = 0; i < a.n; i++)
        for (size_t j = 0; j < a.d; j++) {
            *element(&sum.tensor[X], i, j) = *element(&fused.tensor[X], i, j);
            *element(&sum.tensor[F], i, j) = *element(&fused.tensor[F], i, j);
        }
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&fused, backend(k), backend(k)->type), added = case_run(&sum, backend(k), backend(k)->type);
        for (size_t i = 0; i < a.n; i++)
            for (size_t j = 0; j < a.d; j++)
                ck_assert(result_at(&fused, &r, SUM, i, j) == result_at(&sum, &added, Y, i, j));
        result_free(&r);
        result_free(&added);
    }
    Result r = case_run(&fused, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < a.n; i++)
        for (size_t j = 0; j < a.d; j++) {
            double mean = result_at(&fused, &r, MEAN, i, 0), rstd = result_at(&fused, &r, RSTD, i, 0);
            double xhat = (result_at(&fused, &r, SUM, i, j) - mean) * rstd;
            ck_assert_double_eq_tol(result_at(&fused, &r, Y, i, j),
                                    xhat * *element(&fused.tensor[GAIN], 0, j) + *element(&fused.tensor[BIAS], 0, j),
                                    1e-14);
        }
    result_free(&r);
    case_free(&fused);
    case_free(&sum);
}

START_TEST(without_dropout_y_is_the_sum_and_both_gradients_are_dy)
{
    Add a = {.n = 6, .d = 7};
    Case c = add_sized(&a, 4);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < a.n; i++)
        for (size_t j = 0; j < a.d; j++) {
            ck_assert(result_at(&c, &r, Y, i, j) == *element(&c.tensor[X], i, j) + *element(&c.tensor[F], i, j));
            ck_assert(result_at(&c, &r, DX, i, j) == *element(&c.tensor[DY], i, j));
            ck_assert(result_at(&c, &r, DF, i, j) == *element(&c.tensor[DY], i, j));
        }
    result_free(&r);
    case_free(&c);
}

/* ---- dropout itself: add without x, of ones */

static Case dropped_ones(Add *a, uint32_t seed)
{
    Case c = add_sized(a, seed);
    c.add = false;
    c.tensor[X].use = c.tensor[DX].use = ABSENT;
    tensor_fill(&c.tensor[F], 1);
    tensor_fill(&c.tensor[DY], 1);
    return c;
}

/* Bounds are five standard errors of a share of n * d independent draws. */
START_TEST(dropout_drops_its_share_and_keeps_the_mean)
{
    static const double rates[] = {0.1, 0.5, 0.9};
    Add a = {.n = 64, .d = 256, .drop = {.rate = rates[_i], .site = 9}};
    Case c = dropped_ones(&a, 3);
    const double all = (double)(a.n * a.d), rate = rates[_i], error = 5 * sqrt(rate * (1 - rate) / all);
    EACH_BACKEND(r, &c) {
        double zeros = 0, sum = 0;
        for (size_t i = 0; i < a.n; i++)
            for (size_t j = 0; j < a.d; j++) {
                double y = result_at(&c, &r, Y, i, j);
                zeros += y == 0;
                sum += y;
                ck_assert(y == 0 || fabs(y * (1 - rate) - 1) < 0x1p-8);
                ck_assert(y == result_at(&c, &r, DF, i, j));
            }
        ck_assert_double_eq_tol(zeros / all, rate, error);
        ck_assert_double_eq_tol(sum / all, 1, error / (1 - rate) + 0x1p-8);
    }
    case_free(&c);
}

/* Neighbours in a row, in a column, and the same place at another site, side, step or seed: no two masks agree more
 * often than independent ones, which is half of the time. */
START_TEST(dropout_draws_independently_everywhere)
{
    Add a = {.n = 64, .d = 128, .drop = {.rate = 0.5, .site = 9}}, other = a;
    Case c = dropped_ones(&a, 3), d = dropped_ones(&other, 3);
    size_t down = 0, right = 0;
    other.drop.site += _i == 0;
    other.drop.side += _i == 1;
    d.state.step += _i == 2;
    d.state.seed += _i == 3;
    Result r = case_run(&c, &plain_f32, NUMBER_F32), s = case_run(&d, &plain_f32, NUMBER_F32);
    double same = 0, all = (double)(a.n * a.d), below_same = 0, beside_same = 0;
    for (size_t i = 0; i < a.n; i++)
        for (size_t j = 0; j < a.d; j++) {
            double y = result_at(&c, &r, Y, i, j);
            same += y == result_at(&d, &s, Y, i, j);
            down = (i + 1) % a.n, right = (j + 1) % a.d;
            below_same += y == result_at(&c, &r, Y, down, j);
            beside_same += y == result_at(&c, &r, Y, i, right);
        }
    ck_assert_double_eq_tol(same / all, 0.5, 5 * 0.5 / sqrt(all));
    ck_assert_double_eq_tol(below_same / all, 0.5, 5 * 0.5 / sqrt(all));
    ck_assert_double_eq_tol(beside_same / all, 0.5, 5 * 0.5 / sqrt(all));
    result_free(&r);
    result_free(&s);
    case_free(&c);
    case_free(&d);
}

START_TEST(a_split_batch_gives_the_same_bits)
{
    Add a = {.n = 20, .d = 11, .drop = {.rate = 0.4, .site = 9, .side = 1}, .norm = _i / 3}, part[] = {a, a};
    const size_t cut = 1 + 9 * ((size_t)_i % 3);
    part[0].n = cut, part[1].n = a.n - cut;
    Case c = add_sized(&a, 5), split[] = {add_sized(&part[0], 5), add_sized(&part[1], 5)};
    for (size_t i = 0; i < a.n; i++)
        for (size_t j = 0; j < a.d; j++) {
            static const int sliced[] = {X, F, DX, DF, DY};
            Case *to = &split[i >= cut];
            for (size_t k = 0; k < sizeof sliced / sizeof *sliced; k++)
                *element(&to->tensor[sliced[k]], i < cut ? i : i - cut, j) = *element(&c.tensor[sliced[k]], i, j);
            *element(&to->tensor[GAIN], 0, j) = *element(&c.tensor[GAIN], 0, j);
            *element(&to->tensor[BIAS], 0, j) = *element(&c.tensor[BIAS], 0, j);
        }
    split[1].state.first_position[1] += (uint32_t)cut;
    for (size_t k = 0; backend(k); k++) {
        NumberType type = backend(k)->type;
        Result r = case_run(&c, backend(k), type);
        Result parts[] = {case_run(&split[0], backend(k), type), case_run(&split[1], backend(k), type)};
        static const int compared[] = {Y, DX, DF};
        for (size_t t = 0; t < sizeof compared / sizeof *compared; t++)
            for (size_t i = 0; i < a.n; i++)
                for (size_t j = 0; j < a.d; j++)
                    ck_assert(
                        result_at(&c, &r, (size_t)compared[t], i, j) ==
                        result_at(&split[i >= cut], &parts[i >= cut], (size_t)compared[t], i < cut ? i : i - cut, j));
        result_free(&r);
        result_free(&parts[0]);
        result_free(&parts[1]);
    }
    case_free(&c);
    case_free(&split[0]);
    case_free(&split[1]);
}

START_TEST(what_is_not_finite_shows_where_it_is_only)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    Add a = {.n = 4, .d = 9, .norm = _i / 3};
    Case c = add_sized(&a, 4);
    *element(&c.tensor[_i % 2 ? X : F], 2, 5) = bad[_i % 3];
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < a.n; i++)
            for (size_t j = 0; j < a.d; j++)
                ck_assert_int_eq(!isfinite(result_at(&c, &r, Y, i, j)), i == 2 && (a.norm || j == 5));
    }
    case_free(&c);
}

START_TEST(zeros_keep_their_sign_and_denormals_their_value)
{
    thread_flush(false);
    static const double x[] = {-0.0, 0x1p-130, 1e30, -0x1p-127, 0x1p-133};
    Add a = {.n = 1, .d = sizeof x / sizeof *x};
    Case c = add_sized(&a, 4);
    for (size_t j = 0; j < a.d; j++)
        *element(&c.tensor[X], 0, j) = *element(&c.tensor[F], 0, j) = x[j] / 2;
    EACH_BACKEND(r, &c) {
        for (size_t j = 0; j < a.d; j++) {
            double y = result_at(&c, &r, Y, 0, j);
            bool same = j == 2 ? fabs(y - x[j]) <= x[j] * 0x1p-8 : y == x[j] && signbit(y) == signbit(x[j]);
            ck_assert_msg(same || j == 4 || flushed(r.k, x[j], y), "%g became %g", x[j],
                          y); /* the last: half of it is no bf16 */
        }
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 50),
                                 TEST_LOOP(gradients_are_slopes, 24),
                                 TEST_LOOP(gradients_are_added_where_asked, 2),
                                 TEST_LOOP(gradients_need_not_be_wanted, 2),
                                 TEST_LOOP(each_of_two_gradients_has_its_own_flag, 4),
                                 TEST(add_norm_is_add_and_then_norm),
                                 TEST(without_dropout_y_is_the_sum_and_both_gradients_are_dy),
                                 TEST_LOOP(dropout_drops_its_share_and_keeps_the_mean, 3),
                                 TEST_LOOP(dropout_draws_independently_everywhere, 4),
                                 TEST_LOOP(a_split_batch_gives_the_same_bits, 6),
                                 TEST_LOOP(what_is_not_finite_shows_where_it_is_only, 6),
                                 TEST(zeros_keep_their_sign_and_denormals_their_value)};
    return suite_run("kernels/add", tests, sizeof tests / sizeof *tests, argc, argv);
}
