/* Summing gradients, their norm, and Adam. */
#include "base/thread.h"
#include "tests/kernels/backends.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 10 };

/* ---- accumulate, convert and widen */

enum { TO, FROM, NUMBERS_OF, WIDE };

static void pass(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    size_t n = c->tensor[TO].rows;
    k->accumulate(s, at[TO], at[FROM], n);
    k->convert(s, at[NUMBERS_OF], at[FROM], n);
    k->widen(s, at[WIDE], at[NUMBERS_OF], n);
}

static Case pass_case(size_t n)
{
    Case c = case_new(pass, NULL, 3);
    snprintf(c.words, sizeof c.words, "n %d", (int)n);
    tensor(&c, TO, "to", REALS, ADDED, n, 1);
    tensor(&c, FROM, "from", REALS, READ, n, 1);
    tensor(&c, NUMBERS_OF, "numbers", NUMBERS, WRITTEN, n, 1);
    tensor(&c, WIDE, "wide", REALS, WRITTEN, n, 1)->stores = 1;
    return c;
}

START_TEST(accumulate_adds_convert_rounds_and_widen_keeps)
{
    static const size_t sizes[] = {0, 1, 2, 15, 17, 1000};
    Case c = pass_case(sizes[_i]);
    case_agrees(&c);
    case_adds(&c);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < sizes[_i]; i++) {
        ck_assert(result_at(&c, &r, TO, i, 0) == *element(&c.tensor[TO], i, 0) + *element(&c.tensor[FROM], i, 0));
        ck_assert(result_at(&c, &r, NUMBERS_OF, i, 0) == *element(&c.tensor[FROM], i, 0));
    }
    result_free(&r);
    case_free(&c);
}

static void clamp(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    k->clamp(s, at[TO], -0.25, 0.5, c->tensor[TO].rows);
}

START_TEST(clamp_moves_only_what_is_outside)
{
    static const double from[] = {-1, -0.25, -0.2, -0.0, 0.5, 0.75, INFINITY, -INFINITY, NAN},
                        to[] = {-0.25, -0.25, -0.2, -0.0, 0.5, 0.5, 0.5, -0.25, NAN};
    enum { ALL = sizeof from / sizeof *from };
    for (size_t n = 0; n <= ALL; n++) {
        Case c = case_new(clamp, NULL, 3);
        tensor(&c, TO, "w", REALS, ADDED, n, 1);
        for (size_t i = 0; i < n; i++)
            *element(&c.tensor[TO], i, 0) = from[i];
        EACH_BACKEND(r, &c) {
            for (size_t i = 0; i < n; i++) {
                const double found = result_at(&c, &r, TO, i, 0), as = r.k->type == NUMBER_F64 ? to[i] : (float)to[i];
                ck_assert(isnan(as) ? isnan(found) : fabs(found - as) <= 1e-8 && signbit(found) == signbit(as));
            }
        }
        case_free(&c);
    }
}

/* Ties go to the even neighbour; the largest floats round up to infinity in bf16; NaN stays NaN. */
START_TEST(convert_and_widen_keep_what_is_special)
{
    thread_flush(false);
    static const double from[] = {-0.0, 1 + 0x1p-8, 1 + 3 * 0x1p-8, FLT_MAX, INFINITY, NAN, 0x1p-133, 0x1p-149};
    static const double half[] = {-0.0, 1, 1 + 0x1p-6, INFINITY, INFINITY, NAN, 0x1p-133, 0};
    enum { ALL = sizeof from / sizeof *from };
    Case c = pass_case(ALL);
    for (size_t i = 0; i < ALL; i++)
        *element(&c.tensor[FROM], i, 0) = from[i];
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < ALL; i++) {
            double want = r.k->type == NUMBER_BF16 ? half[i] : from[i], y = result_at(&c, &r, NUMBERS_OF, i, 0);
            bool same = isnan(want) ? isnan(y) : y == want && signbit(y) == signbit(want);
            ck_assert_msg(same || flushed(r.k, from[i], y), "%g became %g", from[i], y);
            const double wide = result_at(&c, &r, WIDE, i, 0);
            ck_assert(isnan(y) ? isnan(wide) : (wide == y && signbit(wide) == signbit(y)) || flushed(r.k, y, wide));
            ck_assert(!isnan(from[i]) || isnan(result_at(&c, &r, TO, i, 0)));
        }
    }
    case_free(&c);
}

/* ---- squares and clip */

enum { PARTS, G };

typedef struct Norm {
    double most;
    size_t chunks;
} Norm;

static void norm(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Norm *norm = c->shape;
    k->squares(s, at[PARTS], at[G], c->tensor[G].rows);
    k->clip(s, state, at[PARTS], norm->chunks, norm->most);
}

static Case norm_case(Norm *shape, size_t n, double most)
{
    *shape = (Norm){most, (n + SQUARES_CHUNK - 1) / SQUARES_CHUNK};
    Case c = case_new(norm, shape, (uint32_t)n);
    snprintf(c.words, sizeof c.words, "n %d at most %g", (int)n, most);
    tensor(&c, PARTS, "parts", DOUBLES, WRITTEN, shape->chunks, 1)->terms = SQUARES_CHUNK;
    tensor(&c, G, "g", REALS, READ, n, 1);
    c.state.clip = c.state.norm = -7;
    return c;
}

START_TEST(each_part_is_the_sum_of_squares_of_its_chunk)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 131072, 131073};
    size_t n = sizes[_i];
    Norm shape;
    Case c = norm_case(&shape, n, 0);
    case_agrees(&c);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    double all = 0;
    for (size_t part = 0; part < shape.chunks; part++) {
        double sum = 0;
        for (size_t i = part * 65536; i < n && i < (part + 1) * 65536; i++)
            sum += pow(*element(&c.tensor[G], i, 0), 2);
        ck_assert_double_eq_tol(result_at(&c, &r, PARTS, part, 0), sum, 1e-12 * sum);
        all += sum;
    }
    ck_assert_double_eq_tol(r.state.norm, sqrt(all), 1e-10);
    ck_assert(r.state.finite == 1 && r.state.clip == 1);
    result_free(&r);
    case_free(&c);
}

/* As PyTorch does: a millionth is added to the norm. */
START_TEST(a_norm_beyond_the_limit_is_scaled_down_to_it)
{
    static const double most[] = {0, 0.5, 4.999, 5, 5.001, 1e9}, gradient_of[] = {3, -4};
    Norm shape;
    Case c = norm_case(&shape, 2, most[_i]);
    *element(&c.tensor[G], 0, 0) = gradient_of[0];
    *element(&c.tensor[G], 1, 0) = gradient_of[1];
    EACH_BACKEND(r, &c) {
        ck_assert(r.state.norm == 5 && r.state.finite == 1);
        ck_assert_double_eq_tol(r.state.clip, most[_i] > 0 && most[_i] < 5 ? most[_i] / (5 + 1e-6) : 1, 1e-10);
        ck_assert(r.state.seed == c.state.seed && r.state.loss[0].sum == 0 && r.state.learning_rate == 0);
    }
    case_free(&c);
}

START_TEST(a_gradient_that_is_not_finite_sets_the_flag)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    Norm shape;
    Case c = norm_case(&shape, 70000, 1);
    *element(&c.tensor[G], _i ? 69999 : 17, 0) = bad[_i];
    EACH_BACKEND(r, &c) {
        ck_assert(r.state.finite == 0 && !isfinite(r.state.norm));
    }
    case_free(&c);
}

START_TEST(the_largest_floats_and_the_smallest_have_a_norm)
{
    thread_flush(false);
    Norm shape;
    Case c = norm_case(&shape, 3, 0);
    tensor_fill(&c.tensor[G], _i ? FLT_MAX : 0x1p-149);
    double expected = sqrt(3) * (_i ? FLT_MAX : 0x1p-149);
    EACH_BACKEND(r, &c) {
        ck_assert(r.state.finite == 1);
        ck_assert_double_eq_tol(r.state.norm / expected, 1, 1e-12);
    }
    case_free(&c);
}

START_TEST(a_gradient_of_zeros_has_norm_0_and_is_left_alone)
{
    Norm shape;
    Case c = norm_case(&shape, 3, 1);
    tensor_fill(&c.tensor[G], -0.0);
    EACH_BACKEND(r, &c) {
        ck_assert(r.state.finite == 1 && r.state.norm == 0 && r.state.clip == 1);
    }
    case_free(&c);
}

/* ---- adam */

enum { W, COPY, M, V, GRADIENTS, RATES };

typedef struct Steps {
    size_t first, n, spans; /* weights first .. first + n - 1 of the block */
    Span span[3];
    size_t cut; /* the first `cut` of them in a call of their own */
} Steps;

static const Adam recipe = {0.9, 0.98, 1e-9}, momentum = {0.9, 1, 1}; /* the latter leaves v = 0 alone */

static Adam how_of(const Case *c) { return c->state.correction2 < 1 ? recipe : momentum; }

/* One step: what changes between steps is in the state, so a case is one step. */
static void step(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Steps *a = c->shape;
    Span *spans = k->allocate(sizeof a->span);
    ck_assert_ptr_nonnull(spans);
    k->upload(s, spans, a->span, sizeof a->span);
    k->adam(s, at[W], at[COPY], at[M], at[V], at[GRADIENTS], state, how_of(c), spans, a->spans, a->first, a->cut);
    k->adam(s, at[W], at[COPY], at[M], at[V], at[GRADIENTS], state, how_of(c), spans, a->spans, a->first + a->cut,
            a->n - a->cut);
    Error e;
    ck_done(k->finish(s, &e), e);
    k->release(spans);
}

enum { BLOCK = 40 };

static Case steps_case(const Steps *a, uint32_t seed)
{
    Case c = case_new(step, a, seed);
    snprintf(c.words, sizeof c.words, "first %d n %d", (int)a->first, (int)a->n);
    tensor(&c, W, "w", REALS, ADDED, BLOCK, 1);
    tensor(&c, COPY, "copy", NUMBERS, ADDED, BLOCK, 1);
    tensor(&c, M, "m", REALS, ADDED, BLOCK, 1);
    tensor(&c, V, "v", REALS, ADDED, BLOCK, 1);
    tensor(&c, GRADIENTS, "g", REALS, READ, BLOCK, 1);
    for (size_t i = W; i <= V; i++)
        c.tensor[i].floor = 1;
    for (size_t i = 0; i < BLOCK; i++)
        *element(&c.tensor[V], i, 0) = fabs(*element(&c.tensor[V], i, 0));
    c.state.learning_rate = 0.01;
    c.state.clip = 0.5;
    c.state.correction1 = 1 - pow(0.9, 3);
    c.state.correction2 = 1 - pow(0.98, 3);
    return c;
}

/* As the paper writes it, for one weight. */
static void adam_of_paper(double *w, double *m, double *v, double g, const StepState *state, double decay)
{
    g *= state->clip;
    *m = recipe.beta1 * *m + (1 - recipe.beta1) * g;
    *v = recipe.beta2 * *v + (1 - recipe.beta2) * g * g;
    double m_hat = *m / state->correction1, v_hat = *v / state->correction2;
    *w -= state->learning_rate * m_hat / (sqrt(v_hat) + recipe.epsilon) + state->learning_rate * decay * *w;
}

static double decay_of(const Steps *a, size_t i)
{
    for (size_t s = 0; s < a->spans; s++)
        if (i >= a->span[s].begin && i < a->span[s].end)
            return a->span[s].decay;
    return 0;
}

static const Steps recipes[] = {{.first = 0, .n = BLOCK},
                                {.first = 5, .n = 30, .spans = 1, .span = {{0, BLOCK, 0.1}}},
                                {.first = 7, .n = 20, .spans = 3, .span = {{3, 9, 0.1}, {9, 10, 0.5}, {26, 40, 0.2}}},
                                {.first = 20, .n = 20, .spans = 2, .span = {{0, 20, 0.3}, {39, 40, 0.4}}},
                                {.first = 12, .n = 0}};

/* Takes the values of a result as what the next step begins with. */
static void go_on(Case *c, const Result *r)
{
    for (size_t t = W; t <= V; t++)
        memcpy(c->tensor[t].value, r->value[t], c->tensor[t].all * sizeof(double));
}

START_TEST(ten_steps_equal_the_formula_of_the_paper)
{
    const Steps *a = &recipes[_i];
    Case c = steps_case(a, (uint32_t)_i);
    double w[BLOCK], m[BLOCK] = {0}, v[BLOCK] = {0};
    tensor_fill(&c.tensor[M], 0);
    tensor_fill(&c.tensor[V], 0);
    for (size_t i = 0; i < BLOCK; i++)
        w[i] = *element(&c.tensor[W], i, 0);
    for (int t = 1; t <= STEPS; t++) {
        c.state.learning_rate = 0.01 / t;
        c.state.clip = t % 3 ? 1 : 0.25;
        c.state.correction1 = 1 - pow(recipe.beta1, t);
        c.state.correction2 = 1 - pow(recipe.beta2, t);
        for (size_t i = 0; i < BLOCK; i++) {
            double g = *element(&c.tensor[GRADIENTS], i, 0) = uniform(&c.random);
            if (i >= a->first && i < a->first + a->n)
                adam_of_paper(&w[i], &m[i], &v[i], g, &c.state, decay_of(a, i));
        }
        case_agrees(&c);
        Result r = case_run(&c, &plain_f64, NUMBER_F64);
        go_on(&c, &r);
        for (size_t i = 0; i < BLOCK; i++) {
            ck_assert_double_eq_tol(result_at(&c, &r, W, i, 0), w[i], 1e-14);
            ck_assert_double_eq_tol(result_at(&c, &r, M, i, 0), m[i], 1e-14);
            ck_assert_double_eq_tol(result_at(&c, &r, V, i, 0), v[i], 1e-14);
            if (i >= a->first && i < a->first + a->n)
                ck_assert(result_at(&c, &r, COPY, i, 0) == result_at(&c, &r, W, i, 0));
        }
        result_free(&r);
    }
    case_free(&c);
}

START_TEST(weights_outside_of_the_part_stay_as_they_are)
{
    Steps a = recipes[2];
    Case c = steps_case(&a, 3), none = c;
    Steps nothing = {0};
    none.shape = &nothing;
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&c, backend(k), backend(k)->type), was = case_run(&none, backend(k), backend(k)->type);
        for (size_t t = W; t <= V; t++)
            for (size_t i = 0; i < BLOCK; i++)
                ck_assert_int_eq(result_at(&c, &r, t, i, 0) == result_at(&c, &was, t, i, 0),
                                 i < a.first || i >= a.first + a.n);
        result_free(&r);
        result_free(&was);
    }
    case_free(&c);
}

START_TEST(a_part_done_in_two_gives_the_same_bits)
{
    Steps whole = recipes[2], halves = whole;
    halves.cut = 1 + 6 * (size_t)_i;
    Case c = steps_case(&whole, 3), d = steps_case(&halves, 3);
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&c, backend(k), backend(k)->type), s = case_run(&d, backend(k), backend(k)->type);
        for (size_t t = W; t <= V; t++)
            same_bits(&c, t, &r, &s);
        result_free(&r);
        result_free(&s);
    }
    case_free(&c);
    case_free(&d);
}

START_TEST(the_copy_is_the_weight_rounded_and_need_not_be_wanted)
{
    Case c = steps_case(&recipes[1], 3), without = c;
    without.tensor[COPY].use = ABSENT;
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&c, backend(k), backend(k)->type), s = case_run(&without, backend(k), backend(k)->type);
        for (size_t i = 5; i < 35; i++) {
            double w = result_at(&c, &r, W, i, 0), copy = result_at(&c, &r, COPY, i, 0);
            ck_assert(backend(k)->type == NUMBER_BF16 ? fabs(w - copy) <= fabs(w) * 0x1p-8 : w == copy);
        }
        for (size_t t = W; t <= V; t++)
            if (t != COPY)
                same_bits(&c, t, &r, &s);
        result_free(&r);
        result_free(&s);
    }
    case_free(&c);
}

START_TEST(nothing_moves_when_the_gradient_is_not_finite)
{
    Case c = steps_case(&recipes[1], 3);
    c.state.finite = 0;
    c.state.clip = NAN;
    tensor_fill(&c.tensor[GRADIENTS], _i ? NAN : 1);
    for (size_t t = W; t <= V; t++)
        c.tensor[t].use = READ; /* to the bit */
    EACH_BACKEND(r, &c) {
    }
    case_free(&c);
}

START_TEST(a_weight_that_never_got_a_gradient_only_decays)
{
    Case c = steps_case(&recipes[3], 3);
    tensor_fill(&c.tensor[M], 0);
    tensor_fill(&c.tensor[V], 0);
    tensor_fill(&c.tensor[GRADIENTS], 0);
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < BLOCK; i++) {
            double w = (double)(float)*element(&c.tensor[W], i, 0), after = result_at(&c, &r, W, i, 0);
            ck_assert(i == 39 ? fabs(after - w * (1 - 0.01 * 0.4)) <= 1e-7 : after == w);
        }
    }
    case_free(&c);
}

/* Where a gradient is as small as epsilon, the first step is half of what it is elsewhere. */
START_TEST(epsilon_is_added_to_the_root)
{
    Case c = steps_case(&recipes[0], 3);
    tensor_fill(&c.tensor[M], 0);
    tensor_fill(&c.tensor[V], 0);
    tensor_fill(&c.tensor[GRADIENTS], recipe.epsilon / c.state.clip);
    c.state.correction1 = 1 - recipe.beta1;
    c.state.correction2 = 1 - recipe.beta2;
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < BLOCK; i++)
            ck_assert_double_eq_tol(result_at(&c, &r, W, i, 0), *element(&c.tensor[W], i, 0) - 0.01 / 2, 1e-6);
    }
    case_free(&c);
}

/* ---- adam for a table of which few rows were read */

enum { ROWS = 7, USED = 3 };

typedef struct TableSteps {
    size_t first, n, d;
    double decay;
    int32_t slots[ROWS];
} TableSteps;

static void step_rows(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const TableSteps *a = c->shape;
    int32_t *slots = k->allocate(sizeof a->slots); /* a GPU does not read a constant of the program */
    ck_assert_ptr_nonnull(slots);
    k->upload(s, slots, a->slots, sizeof a->slots);
    k->adam_rows(s, at[W], at[M], at[V], NULL, at[GRADIENTS], slots, state, how_of(c), a->decay, a->first, a->n, a->d);
    Error e;
    ck_done(k->finish(s, &e), e);
    k->release(slots);
}

static Case table_case(const TableSteps *a)
{
    Case c = case_new(step_rows, a, 7);
    snprintf(c.words, sizeof c.words, "rows %d n %d d %d", (int)a->first, (int)a->n, (int)a->d);
    tensor(&c, W, "w", REALS, ADDED, ROWS, a->d);
    tensor(&c, COPY, "none", REALS, ABSENT, 0, 1);
    tensor(&c, M, "m", REALS, ADDED, ROWS, a->d);
    tensor(&c, V, "v", REALS, ADDED, ROWS, a->d);
    tensor(&c, GRADIENTS, "g", REALS, READ, USED, a->d);
    for (size_t i = W; i <= V; i++)
        c.tensor[i].floor = 1;
    for (size_t i = 0; i < ROWS * a->d; i++)
        *element(&c.tensor[V], i / a->d, i % a->d) = fabs(*element(&c.tensor[V], i / a->d, i % a->d));
    c.state.learning_rate = 0.01;
    c.state.clip = 0.5;
    c.state.correction1 = 1 - pow(0.9, 3);
    c.state.correction2 = 1 - pow(0.98, 3);
    return c;
}

static const TableSteps tables[] = {{0, ROWS, 5, 0, {-1, 2, -1, 0, 1, -1, -1}},
                                    {2, 4, 16, 0.1, {0, -1, 2, -1, -1, 1, -1}},
                                    {1, 5, 33, 0.3, {-1, -1, -1, -1, -1, -1, -1}},
                                    {6, 1, 1, 0, {0, 1, -1, -1, -1, -1, 2}},
                                    {3, 0, 8, 0, {0, 1, 2, -1, -1, -1, -1}}};

/* Rows that were not read move, too: their moments continue. */
START_TEST(rows_of_a_table_move_as_the_formula_says)
{
    const TableSteps *a = &tables[_i];
    Case c = table_case(a);
    case_agrees(&c);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t j = 0; j < a->d; j++) {
            double w = *element(&c.tensor[W], row, j), m = *element(&c.tensor[M], row, j);
            double v = *element(&c.tensor[V], row, j);
            double g = a->slots[row] < 0 ? 0 : *element(&c.tensor[GRADIENTS], (size_t)a->slots[row], j);
            if (row >= a->first && row < a->first + a->n)
                adam_of_paper(&w, &m, &v, g, &c.state, a->decay);
            ck_assert_double_eq_tol(result_at(&c, &r, W, row, j), w, 1e-14);
            ck_assert_double_eq_tol(result_at(&c, &r, M, row, j), m, 1e-14);
            ck_assert_double_eq_tol(result_at(&c, &r, V, row, j), v, 1e-14);
        }
    result_free(&r);
    case_free(&c);
}

START_TEST(no_row_moves_when_the_gradient_is_not_finite)
{
    Case c = table_case(&tables[0]);
    c.state.finite = 0;
    for (size_t t = W; t <= V; t++)
        if (t != COPY)
            c.tensor[t].use = READ; /* to the bit */
    EACH_BACKEND(r, &c) {
    }
    case_free(&c);
}

/* Weights and m are the same to the bit as with zeros for v. */
static void without_second(Case *c, Case *without)
{
    tensor_fill(&c->tensor[V], 0);
    c->state.correction2 = without->state.correction2 = 1;
    without->tensor[V].use = ABSENT;
    case_agrees(without);
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(c, backend(k), backend(k)->type), s = case_run(without, backend(k), backend(k)->type);
        for (size_t t = W; t <= M; t++)
            if (c->tensor[t].use != ABSENT)
                same_bits(c, t, &r, &s);
        result_free(&r);
        result_free(&s);
    }
    case_free(c);
    case_free(without);
}

START_TEST(a_second_moment_that_stays_0_need_not_be_there)
{
    Case c = steps_case(&recipes[_i], 3), without = steps_case(&recipes[_i], 3);
    without_second(&c, &without);
    c = table_case(&tables[_i]), without = table_case(&tables[_i]);
    without_second(&c, &without);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(accumulate_adds_convert_rounds_and_widen_keeps, 6),
                                 TEST(clamp_moves_only_what_is_outside),
                                 TEST(convert_and_widen_keep_what_is_special),
                                 TEST_LOOP(each_part_is_the_sum_of_squares_of_its_chunk, 7),
                                 TEST_LOOP(a_norm_beyond_the_limit_is_scaled_down_to_it, 6),
                                 TEST_LOOP(a_gradient_that_is_not_finite_sets_the_flag, 3),
                                 TEST_LOOP(the_largest_floats_and_the_smallest_have_a_norm, 2),
                                 TEST(a_gradient_of_zeros_has_norm_0_and_is_left_alone),
                                 TEST_LOOP(ten_steps_equal_the_formula_of_the_paper, 5),
                                 TEST(weights_outside_of_the_part_stay_as_they_are),
                                 TEST_LOOP(a_part_done_in_two_gives_the_same_bits, 3),
                                 TEST(the_copy_is_the_weight_rounded_and_need_not_be_wanted),
                                 TEST_LOOP(nothing_moves_when_the_gradient_is_not_finite, 2),
                                 TEST(a_weight_that_never_got_a_gradient_only_decays),
                                 TEST(epsilon_is_added_to_the_root),
                                 TEST_LOOP(rows_of_a_table_move_as_the_formula_says, 5),
                                 TEST(no_row_moves_when_the_gradient_is_not_finite),
                                 TEST_LOOP(a_second_moment_that_stays_0_need_not_be_there, 5)};
    return suite_run("kernels/optimizer", tests, sizeof tests / sizeof *tests, argc, argv);
}
