/* A mixture of experts: routes, the maps of experts, and the load loss. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { MIXTURE_ROWS = 3 };

typedef struct Mixture {
    size_t rows, length[MIXTURE_ROWS], before, after; /* positions of no row before the first and after the last one */
    size_t n, experts, k, in, out;
} Mixture;

static Mixture mixture(uint32_t seed)
{
    Random r = {.seed = seed + 77};
    Mixture m = {.rows = below(&r, MIXTURE_ROWS + 1), .before = below(&r, 2), .after = below(&r, 3)};
    m.n = m.before + m.after;
    for (size_t b = 0; b < m.rows; b++)
        m.n += m.length[b] = below(&r, 3) ? below(&r, 9) : seed % 7 == 0 ? 40 : 0;
    m.experts = 1 + below(&r, 6);
    m.k = 1 + below(&r, m.experts < 3 ? m.experts : 3);
    m.in = 1 + below(&r, 20), m.out = 1 + below(&r, 20);
    if (seed % 14 == 7) /* several tiles of each expert's product, in each direction */
        m = (Mixture){
            .rows = 3, .length = {70, 40, 40}, .n = 150, .experts = 1 + seed % 3, .k = 1, .in = 67, .out = 70};
    return m;
}

static void name(Case *c, const Mixture *m)
{
    snprintf(c->words, sizeof c->words, "n %d, %d of %d experts, %d to %d", (int)m->n, (int)m->k, (int)m->experts,
             (int)m->in, (int)m->out);
}

/* --- routes */

enum { WEIGHTS, EXPERT, SLOT, FROM, BEGIN, SCORES, DSCORES, DWEIGHTS };

static void route(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Mixture *m = c->shape;
    (void)state;
    k->route_forward(s, at[WEIGHTS], at[EXPERT], at[SLOT], at[FROM], at[BEGIN], at[SCORES], m->n, m->experts, m->k);
    k->route_backward(s, at[DSCORES], c->add, at[DWEIGHTS], at[EXPERT], at[SCORES], m->n, m->experts, m->k);
}

static Case routing(const Mixture *m, uint32_t seed)
{
    Case c = case_new(route, m, seed);
    name(&c, m);
    tensor(&c, WEIGHTS, "weights", NUMBERS, WRITTEN, m->n, m->k)->terms = m->experts;
    tensor(&c, EXPERT, "expert", INTEGERS, WRITTEN, m->n, m->k);
    tensor(&c, SLOT, "slot", INTEGERS, WRITTEN, m->n, m->k);
    tensor(&c, FROM, "from", INTEGERS, WRITTEN, m->n * m->k, 1);
    tensor(&c, BEGIN, "start", INTEGERS, WRITTEN, m->experts + 1, 1);
    tensor(&c, SCORES, "scores", REALS, READ, m->n, m->experts);
    Tensor *d = gradient(&c, DSCORES, "dscores", NUMBERS, GRADIENT, SCORES);
    d->terms = 2 * m->experts, d->floor = 1;
    output(&c, WEIGHTS, DWEIGHTS);
    return c;
}

START_TEST(routes_agree_with_f64)
{
    SKIP_IF_FAST(_i);
    Mixture m = mixture((uint32_t)_i);
    case_ask(case_agrees, routing(&m, (uint32_t)_i));
}

START_TEST(gradients_of_routes_are_slopes)
{
    SKIP_IF_FAST(_i);
    Mixture m = mixture((uint32_t)_i);
    case_ask(case_differentiates, routing(&m, (uint32_t)_i));
}

START_TEST(gradients_of_routes_are_added_where_asked)
{
    Mixture m = mixture((uint32_t)_i);
    case_ask(case_adds, routing(&m, (uint32_t)_i));
}

/* Slots name each choice once, expert by expert and there position by position. */
START_TEST(slots_are_sorted_by_expert_and_position)
{
    Mixture m = mixture((uint32_t)_i);
    Case c = routing(&m, (uint32_t)_i);
    EACH_BACKEND(r, &c) {
        size_t next = 0;
        for (size_t e = 0; e < m.experts; e++) {
            ck_assert(result_at(&c, &r, BEGIN, e, 0) == (double)next);
            for (size_t n = 0; n < m.n; n++)
                for (size_t j = 0; j < m.k; j++)
                    if (result_at(&c, &r, EXPERT, n, j) == (double)e) {
                        ck_assert(result_at(&c, &r, SLOT, n, j) == (double)next);
                        ck_assert(result_at(&c, &r, FROM, next++, 0) == (double)n);
                    }
        }
        ck_assert(next == m.n * m.k && result_at(&c, &r, BEGIN, m.experts, 0) == (double)next);
    }
    case_free(&c);
}

START_TEST(the_largest_scores_are_chosen_and_of_equal_ones_the_first)
{
    static const double scores[][4] = {
        {1, 3, 2, 0}, {5, 5, 5, 5}, {-1, 2, 2, 9}, {NAN, 1, 2, 3}, {-800, -900, -1000, 800}};
    static const double chosen[][2] = {{1, 2}, {0, 1}, {1, 3}, {0, 3}, {0, 3}};
    const Mixture m = {.n = 5, .experts = 4, .k = 2};
    Case c = routing(&m, 1);
    for (size_t n = 0; n < 5; n++)
        for (size_t e = 0; e < 4; e++)
            *element(&c.tensor[SCORES], n, e) = scores[n][e];
    EACH_BACKEND(r, &c) {
        for (size_t n = 0; n < 5; n++)
            for (size_t j = 0; j < 2; j++)
                ck_assert(result_at(&c, &r, EXPERT, n, j) == chosen[n][j]);
        ck_assert(result_at(&c, &r, WEIGHTS, 1, 0) == 0.5 && result_at(&c, &r, WEIGHTS, 1, 1) == 0.5);
        ck_assert(result_at(&c, &r, WEIGHTS, 4, 0) == 0 && result_at(&c, &r, WEIGHTS, 4, 1) == 1);
    }
    case_free(&c);
}

/* --- the experts' linear maps */

enum { Y, X, W, STARTS, DX, DW, DY };

static void maps(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Mixture *m = c->shape;
    (void)state;
    k->experts_forward(s, at[Y], at[X], at[W], at[STARTS], m->n, m->in, m->out, m->experts);
    k->experts_backward(s, at[DX], c->add, at[DW], at[DY], at[X], at[W], at[STARTS], m->n, m->in, m->out, m->experts);
}

/* Some experts have no slot. */
static Case mapping(const Mixture *m, uint32_t seed)
{
    Case c = case_new(maps, m, seed);
    int32_t start[8] = {0};
    name(&c, m);
    for (size_t e = 1; e <= m->experts; e++)
        start[e] = e == m->experts ? (int32_t)m->n
                                   : start[e - 1] + (int32_t)below(&c.random, m->n - (size_t)start[e - 1] + 1);
    tensor(&c, Y, "y", NUMBERS, WRITTEN, m->n, m->out)->terms = m->in;
    tensor(&c, X, "x", NUMBERS, READ, m->n, m->in);
    tensor(&c, W, "w", NUMBERS, READ, m->experts * m->out, m->in);
    tensor_integers(tensor(&c, STARTS, "start", INTEGERS, READ, m->experts + 1, 1), start);
    gradient(&c, DX, "dx", NUMBERS, GRADIENT, X)->terms = m->out;
    gradient(&c, DW, "dw", REALS, ADDED, W)->terms = m->n + 1;
    output(&c, Y, DY);
    return c;
}

START_TEST(maps_of_experts_agree_with_f64)
{
    SKIP_IF_FAST(_i);
    Mixture m = mixture((uint32_t)_i);
    case_ask(case_agrees, mapping(&m, (uint32_t)_i));
}

START_TEST(gradients_of_maps_are_slopes)
{
    SKIP_IF_FAST(_i);
    Mixture m = mixture((uint32_t)_i);
    case_ask(case_differentiates, mapping(&m, (uint32_t)_i));
}

START_TEST(gradients_of_maps_may_be_unwanted)
{
    Mixture m = mixture((uint32_t)_i);
    case_ask(case_spares, mapping(&m, (uint32_t)_i));
}

/* --- the load loss */

enum { LOSS, FACTORS, Z, CHOSEN, ROW_START, SCORED_START, DZ, ARRIVES };

static void loads(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Mixture *m = c->shape;
    k->load_loss_forward(s, at[LOSS], at[FACTORS], state, 1, at[Z], at[CHOSEN], 0.3, at[ROW_START],
                         m->k > 1 ? at[SCORED_START] : NULL, m->rows, m->n, m->experts, m->k);
    k->load_loss_backward(s, at[DZ], c->add, state, 1, at[FACTORS], at[Z], at[ROW_START], m->rows, m->n, m->experts);
}

static Case loading(const Mixture *m, uint32_t seed)
{
    Case c = case_new(loads, m, seed);
    int32_t start[MIXTURE_ROWS + 1] = {(int32_t)m->before}, scored[MIXTURE_ROWS + 1] = {0};
    name(&c, m);
    c.state.loss[1].scale = 0.25;
    c.state.loss[1].sum = 1.5;
    for (size_t b = 0; b < m->rows; b++)
        start[b + 1] = start[b] + (int32_t)m->length[b], scored[b + 1] = scored[b] + (int32_t)(b % 3);
    tensor(&c, LOSS, "losses", REALS, WRITTEN, m->n, 1)->terms = m->experts;
    tensor(&c, FACTORS, "factors", REALS, WRITTEN, m->rows, m->experts);
    tensor(&c, Z, "scores", REALS, READ, m->n, m->experts);
    Tensor *chosen = tensor(&c, CHOSEN, "expert", INTEGERS, READ, m->n, m->k);
    for (size_t n = 0; n < m->n; n++)
        for (size_t j = 0, first = below(&c.random, m->experts); j < m->k; j++)
            *element(chosen, n, j) = (double)((first + j) % m->experts);
    tensor_integers(tensor(&c, ROW_START, "start", INTEGERS, READ, m->rows + 1, 1), start);
    tensor_integers(tensor(&c, SCORED_START, "scored", INTEGERS, READ, m->rows + 1, 1), scored);
    Tensor *d = gradient(&c, DZ, "dscores", NUMBERS, GRADIENT, Z);
    d->terms = 2 * m->experts, d->floor = 0.25;
    output(&c, LOSS, ARRIVES);
    tensor_fill(&c.tensor[ARRIVES], c.state.loss[1].scale);
    return c;
}

START_TEST(load_losses_agree_with_f64)
{
    SKIP_IF_FAST(_i);
    Mixture m = mixture((uint32_t)_i);
    Case c = loading(&m, (uint32_t)_i);
    case_agrees(&c);
    Result f64 = case_run(&c, &plain_f64, NUMBER_F32);
    EACH_BACKEND(r, &c) {
        ck_assert_double_eq_tol(r.state.loss[1].sum, f64.state.loss[1].sum, 1e-5);
        ck_assert(r.state.loss[1].count == c.state.loss[1].count && r.state.loss[1].nll == c.state.loss[1].nll);
    }
    result_free(&f64);
    case_free(&c);
}

START_TEST(gradients_of_load_losses_are_slopes)
{
    SKIP_IF_FAST(_i);
    Mixture m = mixture((uint32_t)_i);
    case_ask(case_differentiates, loading(&m, (uint32_t)_i));
}

START_TEST(gradients_of_load_losses_are_added_where_asked)
{
    Mixture m = mixture((uint32_t)_i);
    case_ask(case_adds, loading(&m, (uint32_t)_i));
}

/* Four positions that go to each of four experts in turn, and four that all go to one. */
START_TEST(an_even_load_costs_its_factor_for_each_position_and_an_uneven_one_more)
{
    const Mixture m = {.rows = 2, .length = {4, 4}, .n = 8, .experts = 4, .k = 1};
    Case c = loading(&m, 2);
    tensor_fill(&c.tensor[Z], 0);
    for (size_t n = 0; n < 8; n++) {
        *element(&c.tensor[CHOSEN], n, 0) = n < 4 ? (double)n : 2;
        *element(&c.tensor[Z], n, n < 4 ? n : 2) = 3;
    }
    const double most = exp(3) / (exp(3) + 3);
    EACH_BACKEND(r, &c) {
        for (size_t n = 0; n < 8; n++)
            ck_assert_double_eq_tol(result_at(&c, &r, LOSS, n, 0), n < 4 ? 0.3 : 0.3 * 4 * most, 1e-6);
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(routes_agree_with_f64, 40),
                                 TEST_LOOP(gradients_of_routes_are_slopes, 40),
                                 TEST_LOOP(gradients_of_routes_are_added_where_asked, 4),
                                 TEST_LOOP(slots_are_sorted_by_expert_and_position, 8),
                                 TEST(the_largest_scores_are_chosen_and_of_equal_ones_the_first),
                                 TEST_LOOP(maps_of_experts_agree_with_f64, 40),
                                 TEST_LOOP(gradients_of_maps_are_slopes, 24),
                                 TEST_LOOP(gradients_of_maps_may_be_unwanted, 4),
                                 TEST_LOOP(load_losses_agree_with_f64, 40),
                                 TEST_LOOP(gradients_of_load_losses_are_slopes, 40),
                                 TEST_LOOP(gradients_of_load_losses_are_added_where_asked, 4),
                                 TEST(an_even_load_costs_its_factor_for_each_position_and_an_uneven_one_more)};
    return suite_run("kernels/experts", tests, sizeof tests / sizeof *tests, argc, argv);
}
