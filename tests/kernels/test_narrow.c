/* Attention of heads of up to 16 numbers whose queries see all keys, which a fast backend computes in a way of its own
 * (kernels/cpu/attention_narrow.c, kernels/cpu/attention_narrow_backward.c). */
#include "tests/kernels/attending.h"

#include <math.h>
#include <string.h>

/* Rows of all lengths, scales from those with small scores to such whose scores are too large for that way. */
static Attending narrow(int i)
{
    static const size_t sizes[][2] = {{16, 16}, {16, 9}, {5, 16}, {15, 1}, {1, 12}, {8, 8}};
    static const int32_t lengths[][3] = {{33, 16, 65}, {5, 48, 100}, {131, 31, 0}, {64, 32, 34}};
    static const double scales[] = {0.25, 1, 3, 0.02};
    const int32_t *length = lengths[i % 4];
    Attending a = {.rows = 3,
                   .key_rows = 3,
                   .heads = 3,
                   .kv_heads = i % 4 == 1,
                   .gap = (size_t)i % 5,
                   .spare_queries = (size_t)i % 3,
                   .spare_keys = (size_t)i % 2};
    a.key_size = sizes[i % 6][0];
    a.value_size = sizes[i % 6][1];
    a.scale = scales[i / 4 % 4];
    a.lengths = i % 5 == 1;
    for (size_t b = 0; b < 3; b++) {
        a.queries[b] = length[b];
        a.keys[b] = i % 3 ? length[b] : length[(b + 1) % 3] + 2;
        a.length[b] = a.keys[b] > 40 ? a.keys[b] - 5 : a.keys[b];
    }
    return a;
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Attending a = narrow(_i);
    case_ask(case_agrees, attending_case(&a, attending_call, (uint32_t)_i));
}

/* Of 40 keys all that a query sees, so that no tile is half empty. */
static Attending narrow_square(void)
{
    return (Attending){.rows = 1,
                       .key_rows = 1,
                       .queries = {40},
                       .keys = {40},
                       .heads = 2,
                       .key_size = 16,
                       .value_size = 16,
                       .scale = 0.25};
}

/* In one key, one value or one query: the head that reads it has it, the other one does not. */
START_TEST(what_is_not_finite_is_seen)
{
    static const int damaged[] = {K, V, Q};
    Attending a = narrow_square();
    Case c = attending_case(&a, attending_call, 4);
    int in = damaged[_i % 3];
    *element(&c.tensor[in], 33, 1) = _i < 3 ? NAN : INFINITY; /* head 0 */
    EACH_BACKEND(r, &c) {
        bool exact = strcmp(r.k->backend, "plain") == 0;
        for (size_t i = 0; i < 40; i++)
            for (size_t d = 0; d < 32; d++) {
                bool finite = isfinite(result_at(&c, &r, Y, i, d)), wanted = d < 16 && (in != V || d == 1);
                if (d >= 16 || (in == Q && i != 33 && exact))
                    ck_assert(finite);
                else if (wanted && (in != Q || i == 33) && (_i < 3 || in == V))
                    ck_assert(!finite);
                if (_i < 3 && in != V && d < 16) /* each key's value met a weight that is none */
                    ck_assert(!isfinite(result_at(&c, &r, DV, i, d)));
            }
    }
    case_free(&c);
}

/* 40 keys with scores far outside of what exp can do: the largest one takes it all. */
START_TEST(huge_scores_choose_one_key)
{
    Attending a = narrow_square();
    a.scale = 1;
    Case c = attending_case(&a, attending_call, 6);
    c.add = false;
    for (size_t i = 0; i < 40; i++)
        for (size_t d = 0; d < 32; d++) {
            *element(&c.tensor[Q], i, d) = d % 16 ? 0 : (_i ? -64 : 64);
            *element(&c.tensor[K], i, d) = d % 16 ? 0 : (double)i; /* scores 0, 64, .. 2496 or minus that */
        }
    size_t chosen = _i ? 0 : 39;
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&c, backend(k), backend(k)->type), f64 = case_run(&c, &plain_f64, backend(k)->type);
        for (size_t i = 0; i < 40; i++)
            for (size_t d = 0; d < 32; d++) {
                ck_assert(result_at(&c, &r, Y, i, d) == result_at(&c, &f64, V, chosen, d));
                double dv = result_at(&c, &r, DV, i, d), wanted = result_at(&c, &f64, DV, i, d);
                ck_assert_double_eq_tol(dv, wanted, 0x1p-7 * fabs(wanted) + 1e-20);
            }
        result_free(&r);
        result_free(&f64);
    }
    case_free(&c);
}

/* Scores of 34 each, and values of 1e30: e^34 times a value is no float, their mean is one. */
START_TEST(huge_values_have_a_mean)
{
    Attending a = narrow_square();
    Case c = attending_case(&a, attending_call, 8);
    c.add = false;
    for (size_t i = 0; i < 40; i++)
        for (size_t d = 0; d < 32; d++) {
            *element(&c.tensor[Q], i, d) = d % 16 ? 0 : 8;
            *element(&c.tensor[K], i, d) = d % 16 ? 0 : 17;
            *element(&c.tensor[V], i, d) *= 1e30;
        }
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&c, backend(k), backend(k)->type), f64 = case_run(&c, &plain_f64, backend(k)->type);
        for (size_t i = 0; i < 40; i++)
            for (size_t d = 0; d < 32; d++)
                ck_assert_double_eq_tol(result_at(&c, &r, Y, i, d), result_at(&c, &f64, Y, i, d), 0x1p-7 * 1e30);
        result_free(&r);
        result_free(&f64);
    }
    case_free(&c);
}

/* Scores of -91.5 and less, of 41 to 43 keys: those after the last, which make up the number to whole fours, would
 * have one of 0, and a weight next to these that is no float. */
START_TEST(low_scores_leave_nothing_to_keys_that_are_not_there)
{
    Attending a = narrow_square();
    a.keys[0] = 41 + _i % 3;
    Case c = attending_case(&a, attending_call, 9);
    c.add = false;
    for (size_t i = 0; i < 40; i++)
        for (size_t d = 0; d < 32; d++)
            *element(&c.tensor[Q], i, d) = d % 16 ? 0 : -366 - 2 * _i;
    for (size_t j = 0; j < (size_t)a.keys[0]; j++)
        *element(&c.tensor[K], j, 0) = *element(&c.tensor[K], j, 16) = 1;
    for (size_t k = 0; backend(k); k++) {
        static const int results[] = {Y, LSE, DQ, DK, DV};
        Result r = case_run(&c, backend(k), backend(k)->type), f64 = case_run(&c, &plain_f64, backend(k)->type);
        for (size_t t = 0; t < sizeof results / sizeof *results; t++) {
            const Tensor *of = &c.tensor[results[t]];
            double most = results[t] == DK ? 8 : 0x1p-5; /* DK: times q */
            for (size_t i = 0; i < of->rows; i++)
                for (size_t d = 0; d < of->columns; d++) {
                    double x = result_at(&c, &r, (size_t)results[t], i, d),
                           wanted = result_at(&c, &f64, (size_t)results[t], i, d);
                    ck_assert_double_eq_tol(x, wanted, most);
                }
        }
        result_free(&r);
        result_free(&f64);
    }
    case_free(&c);
}

/* Gradients that are added, and such that are not asked for. */
START_TEST(gradients_are_added_or_not_wanted)
{
    Attending a = narrow(4 + _i);
    Case c = attending_case(&a, attending_call, (uint32_t)_i);
    if (_i % 3 == 1)
        c.tensor[DQ].use = ABSENT;
    if (_i % 3 == 2)
        c.tensor[DK].use = c.tensor[DV].use = ABSENT;
    case_agrees(&c);
    case_ask(case_adds, c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 24),
                                 TEST_LOOP(what_is_not_finite_is_seen, 6),
                                 TEST_LOOP(huge_scores_choose_one_key, 2),
                                 TEST_LOOP(low_scores_leave_nothing_to_keys_that_are_not_there, 8),
                                 TEST(huge_values_have_a_mean),
                                 TEST_LOOP(gradients_are_added_or_not_wanted, 3)};
    return suite_run("kernels/narrow", tests, sizeof tests / sizeof *tests, argc, argv);
}
