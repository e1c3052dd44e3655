/* How far heads look: the part of a weight that is left at each distance. */
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdio.h>

enum { BIAS, GIVEN, Z, DZ, DBIAS };

typedef struct Shape {
    size_t ahead, distances, heads;
    double ramp, penalty;
    bool given;
} Shape;

static double reach_of(const Shape *p) { return (double)(p->distances - p->ahead); }

static void call(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Shape *p = c->shape;
    k->span_forward(s, at[BIAS], at[GIVEN], at[Z], reach_of(p), p->ramp, p->ahead, p->distances, p->heads);
    k->span_backward(s, at[DZ], at[DBIAS], at[Z], state, p->penalty, reach_of(p), p->ramp, p->ahead, p->distances,
                     p->heads);
}

/* Spans end in the middle between two distances, at numbers that all types have: none disagrees about what is beyond. */
static Case span_case(const Shape *p, uint32_t seed)
{
    Case c = case_new(call, p, seed);
    snprintf(c.words, sizeof c.words, "ahead %d distances %d heads %d ramp %g given %d", (int)p->ahead,
             (int)p->distances, (int)p->heads, p->ramp, p->given);
    tensor(&c, BIAS, "bias", REALS, WRITTEN, p->distances, p->heads)->floor = 1;
    tensor(&c, GIVEN, "given", REALS, p->given ? READ : ABSENT, p->distances, p->heads);
    Tensor *z = tensor(&c, Z, "z", REALS, READ, 1, p->heads);
    for (size_t h = 0; h < p->heads; h++)
        *element(z, 0, h) = (floor(reach_of(p) * fabs(*element(z, 0, h))) + 0.5) / reach_of(p);
    Tensor *dz = gradient(&c, DZ, "dz", REALS, ADDED, Z);
    dz->terms = p->distances;
    output(&c, BIAS, DBIAS);
    c.tensor[DBIAS].kind = REALS;
    dz->floor = reach_of(p);
    c.state.first_position[0] = seed % 2;
    return c;
}

static Shape shape_of(int i)
{
    static const size_t reaches[] = {1, 2, 8, 16, 32, 128};
    static const double ramps[] = {0.5, 1, 4, 32};
    const size_t reach = reaches[i % 6], ahead = i % 4 == 2 ? reach - 1 : 0;
    return (Shape){.ahead = ahead,
                   .distances = reach + ahead,
                   .heads = 1 + (size_t)i % 5,
                   .ramp = ramps[i % 4],
                   .penalty = i % 2 ? 0.5 : 0,
                   .given = i / 2 % 2};
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    const Shape p = shape_of(_i);
    case_ask(case_agrees, span_case(&p, (uint32_t)_i));
}

/* With a ramp over all distances, because the slope of what is beyond a span is that of -infinity. */
START_TEST(gradients_are_slopes)
{
    Shape p = shape_of(_i);
    p.ramp = (double)p.distances + 0.5, p.penalty = 0;
    case_ask(case_differentiates, span_case(&p, (uint32_t)_i));
}

/* One head's table in f64. */
static Result table_of(Case *c, double z)
{
    *element(&c->tensor[Z], 0, 0) = z;
    return case_run(c, &plain_f64, NUMBER_F64);
}

START_TEST(a_weight_is_whole_within_the_span_and_nothing_beyond_its_ramp)
{
    const Shape p = {.ahead = 3, .distances = 13, .heads = 1, .ramp = 4};
    Case c = span_case(&p, 2);
    Result r = table_of(&c, 0.3); /* a span of 3 distances of 10 */
    for (size_t e = 0; e < 13; e++) {
        const double distance = fabs((double)e - 3), share = distance <= 3 ? 1 : (7 - distance) / 4;
        if (share > 0)
            ck_assert_double_eq_tol(result_at(&c, &r, BIAS, e, 0), log(share), 1e-14);
        else
            ck_assert(result_at(&c, &r, BIAS, e, 0) == -INFINITY);
    }
    result_free(&r);
    case_free(&c);
}

/* What is outside of 0 .. 1 counts as these, also in its gradient; what is beyond a span gives none, not NaN. */
START_TEST(a_span_counts_as_within_0_and_all_distances)
{
    const Shape p = {.distances = 9, .heads = 1, .ramp = 2};
    for (int high = 0; high < 2; high++) {
        Case c = span_case(&p, 2);
        tensor_fill(&c.tensor[DZ], 0);
        Result inside = table_of(&c, high), outside = table_of(&c, high ? 1.5 : -0.5);
        same_bits(&c, BIAS, &inside, &outside);
        same_bits(&c, DZ, &inside, &outside);
        ck_assert(high == (result_at(&c, &inside, DZ, 0, 0) == 0));
        ck_assert(isfinite(result_at(&c, &inside, DZ, 0, 0)));
        result_free(&inside);
        result_free(&outside);
        case_free(&c);
    }
}

/* A span of 0, with which training begins, has a corner at its own position; one beyond all distances changes nothing. */
START_TEST(a_head_beyond_all_distances_takes_no_gradient_from_its_neighbours)
{
    static const double z[] = {0.45, 1.5, 0, -0.5};
    const Shape p = {.distances = 9, .heads = 4, .ramp = 2};
    Case c = span_case(&p, 2);
    tensor_fill(&c.tensor[DZ], 0);
    for (size_t h = 0; h < 4; h++)
        *element(&c.tensor[Z], 0, h) = z[h];
    Result f64 = case_run(&c, &plain_f64, NUMBER_F64);
    EACH_BACKEND(r, &c)
        for (size_t h = 0; h < 4; h++) {
            const double found = result_at(&c, &r, DZ, 0, h), wanted = result_at(&c, &f64, DZ, 0, h);
            ck_assert((found != 0) == (h != 1));
            ck_assert(fabs(found - wanted) <= 1e-4 * fabs(wanted));
        }
    result_free(&f64);
    case_free(&c);
}

/* It pulls a span down to 0. */
START_TEST(the_penalty_counts_in_the_first_micro_batch_alone)
{
    static const double z[] = {0.5, -2, 0}, expected[] = {0.25, 0, 0};
    const Shape p = {.distances = 9, .heads = 3, .ramp = 2, .penalty = 0.25};
    for (uint32_t first = 0; first < 2; first++) {
        Case c = span_case(&p, first);
        tensor_fill(&c.tensor[DZ], 0);
        tensor_fill(&c.tensor[DBIAS], 0);
        for (size_t h = 0; h < 3; h++)
            *element(&c.tensor[Z], 0, h) = z[h];
        EACH_BACKEND(r, &c)
            for (size_t h = 0; h < 3; h++)
                ck_assert(result_at(&c, &r, DZ, 0, h) == (first ? 0 : expected[h]));
        case_free(&c);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 60),
                                 TEST_LOOP(gradients_are_slopes, 24),
                                 TEST(a_weight_is_whole_within_the_span_and_nothing_beyond_its_ramp),
                                 TEST(a_span_counts_as_within_0_and_all_distances),
                                 TEST(a_head_beyond_all_distances_takes_no_gradient_from_its_neighbours),
                                 TEST(the_penalty_counts_in_the_first_micro_batch_alone)};
    return suite_run("kernels/span", tests, sizeof tests / sizeof *tests, argc, argv);
}
