/* A score for nothing: that it is one key more in the softmax, whose value is 0. */
#include "tests/kernels/attending.h"

#include <math.h>

enum { SINK = OWN, DSINK };

static void call(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Attending *a = c->shape;
    Attend how = attend_of(a, at);
    Strided q = strided_of(c, at, Q), keys = strided_of(c, at, K), v = strided_of(c, at, V);
    AttendGradients d = {.q = strided_of(c, at, DQ), .k = strided_of(c, at, DK), .v = strided_of(c, at, DV)};
    d.add_q = d.add_k = d.add_v = c->add;
    k->attention_forward(s, at[Y], at[LSE], q, keys, v, &how, state);
    k->sink_forward(s, at[Y], at[LSE], at[SINK], &how);
    if (a->shared)
        return;
    k->sink_backward(s, at[DSINK], at[DY], at[Y], at[LSE], at[SINK], &how);
    k->attention_backward(s, &d, at[DY], at[Y], at[LSE], q, keys, v, &how, state);
}

static Case sunk(const Attending *a, uint32_t seed)
{
    Case c = attending_case(a, call, seed);
    Tensor *sink = tensor(&c, SINK, "sink", REALS, READ, 1, a->heads);
    for (size_t h = 0; h < a->heads; h++)
        *element(sink, 0, h) *= 3;
    Tensor *d = gradient(&c, DSINK, "dsink", REALS, a->shared ? ABSENT : ADDED, SINK);
    d->terms = sum_of(a->queries, a->rows) * a->value_size;
    d->stores = 3;
    d->floor = sqrt((double)(1 + a->value_size * sum_of(a->queries, a->rows)));
    c.tensor[Y].stores = 2; /* attention's, and the one that shrinks it */
    return c;
}

static Attending some(int i)
{
    Attending a = i % 2 ? attending_grouped((uint32_t)i / 2) : attending_random((uint32_t)i / 2);
    a.relative = a.content_bias = a.position_bias = a.distance_bias = false;
    a.distances = 0;
    return a;
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Attending a = some(_i);
    case_ask(case_agrees, sunk(&a, (uint32_t)_i));
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Attending a = some(_i);
    a.weights = false; /* they are no result that training reads */
    case_ask(case_differentiates, sunk(&a, (uint32_t)_i));
}

/* A row whose last key, with a query of 1 and a value of 0, gets the sink's score by q . k. */
START_TEST(a_sink_is_a_key_with_a_score_of_its_own_and_a_value_of_0)
{
    const double score = 0.7;
    Attending without = {.rows = 1, .key_rows = 1, .queries = {3}, .keys = {4}, .heads = 1, .key_size = 3};
    without.value_size = 2, without.scale = 1, without.weights = true;
    Attending with = without;
    with.keys[0] = 5;
    Case a = sunk(&without, 5), b = attending_case(&with, attending_call, 5);
    *element(&a.tensor[SINK], 0, 0) = score;
    for (size_t i = 0; i < 3; i++)
        for (size_t c = 0; c < 3; c++)
            *element(&b.tensor[Q], i, c) = *element(&a.tensor[Q], i, c) = c ? *element(&a.tensor[Q], i, c) : 1;
    for (size_t j = 0; j < 5; j++)
        for (size_t c = 0; c < 3; c++) {
            *element(&b.tensor[K], j, c) = j < 4 ? *element(&a.tensor[K], j, c) : c ? 0 : score;
            if (c < 2)
                *element(&b.tensor[V], j, c) = j < 4 ? *element(&a.tensor[V], j, c) : 0;
        }
    Result r = case_run(&a, &plain_f64, NUMBER_F64), s = case_run(&b, &plain_f64, NUMBER_F64);
    for (size_t i = 0; i < 3; i++) {
        double sum = 0;
        for (size_t c = 0; c < 2; c++)
            ck_assert_double_eq_tol(result_at(&a, &r, Y, i, c), result_at(&b, &s, Y, i, c), 1e-14);
        for (size_t j = 0; j < 4; j++) {
            ck_assert_double_eq_tol(result_at(&a, &r, WEIGHTS, i, j), result_at(&b, &s, WEIGHTS, i, j), 1e-14);
            sum += result_at(&a, &r, WEIGHTS, i, j);
        }
        ck_assert_double_eq_tol(result_at(&a, &r, LSE, i, 0), result_at(&b, &s, LSE, i, 0), 1e-14);
        ck_assert_double_lt(sum, 0.99);
    }
    result_free(&r);
    result_free(&s);
    case_free(&a);
    case_free(&b);
}

/* exp overflows at 89 and 710; and a query that sees no key, or only the sink, is 0. */
START_TEST(scores_far_apart_and_queries_without_keys_stay_finite)
{
    static const double sinks[] = {-INFINITY, -2000, 2000};
    Attending a = {.rows = 2, .key_rows = 2, .queries = {2, 2}, .keys = {3, 0}, .heads = 1, .key_size = 2};
    a.value_size = 2, a.scale = 1;
    for (size_t n = 0; n < 3; n++) {
        Case c = sunk(&a, 3);
        *element(&c.tensor[SINK], 0, 0) = sinks[n];
        EACH_BACKEND(r, &c) {
            for (size_t i = 0; i < 4; i++)
                for (size_t d = 0; d < 2; d++) {
                    ck_assert(isfinite(result_at(&c, &r, Y, i, d)) && isfinite(result_at(&c, &r, DQ, i, d)));
                    ck_assert((result_at(&c, &r, Y, i, d) != 0) == (i < 2 && n < 2));
                }
            ck_assert(isfinite(result_at(&c, &r, DSINK, 0, 0)));
        }
        case_free(&c);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 64), TEST_LOOP(gradients_are_slopes, 32),
                                 TEST(a_sink_is_a_key_with_a_score_of_its_own_and_a_value_of_0),
                                 TEST(scores_far_apart_and_queries_without_keys_stay_finite)};
    return suite_run("kernels/sink", tests, sizeof tests / sizeof *tests, argc, argv);
}
