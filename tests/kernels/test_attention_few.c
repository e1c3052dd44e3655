/* Attention of few queries over the keys of a cache, forward alone. */
#include "tests/kernels/attending.h"

#include <math.h>
#include <string.h>

START_TEST(few_queries_over_many_keys_agree_with_f64)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_few((uint32_t)_i);
    Case c = attending_forward(&a, (uint32_t)_i);
    case_agrees(&c);
    case_free(&c);
}
END_TEST

START_TEST(one_query_over_many_keys_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_one((uint32_t)_i);
    Case c = attending_forward(&a, (uint32_t)_i);
    case_agrees(&c);
    case_teams(&c);
    case_free(&c);
}
END_TEST

/* 70 keys, the last 3 of which are not valid, 3 heads of 32. */
static Attending alone(void)
{
    return (Attending){.rows = 1,
                       .key_rows = 1,
                       .queries = {1},
                       .keys = {70},
                       .lengths = true,
                       .length = {67},
                       .offsets = true,
                       .offset = {66},
                       .heads = 3,
                       .key_size = 32,
                       .value_size = 32,
                       .causal = true,
                       .scale = 0.2};
}

START_TEST(what_one_query_meets_shows_in_its_head)
{
    Attending a = alone();
    size_t where[][3] = {{Q, 0, 40}, {K, 66, 40}, {V, 17, 40}, {V, 69, 40}}; /* head 1 */
    Case c = attending_forward(&a, 5);
    *element(&c.tensor[where[_i][0]], where[_i][1], where[_i][2]) = NAN;
    for (size_t k = 0; twin(k); k++) {
        Result r = case_run(&c, twin(k), twin(k)->type);
        for (size_t d = 0; d < 96; d++) {
            bool wanted = _i < 2 ? d / 32 == 1 : _i == 2 && d == 40;
            ck_assert_int_eq(isnan(result_at(&c, &r, Y, 0, d)), wanted);
        }
        result_free(&r);
    }
    case_free(&c);
}
END_TEST

/* More keys than the fast twin looks at together may have no weight at all. (Plain, which meets them first, has nothing
 * finite to rescale by, and makes NaN of it.) */
START_TEST(scores_of_minus_infinity_leave_the_others_alone)
{
    Attending a = alone();
    Case c = attending_forward(&a, 6);
    double mean[96] = {0};
    for (size_t d = 0; d < 96; d++) {
        *element(&c.tensor[Q], 0, d) = 1e30;
        for (size_t j = 0; j < 67; j++)
            *element(&c.tensor[K], j, d) = j < 40 ? -1e30 : 0;
        for (size_t j = 40; j < 67; j++)
            mean[d] += *element(&c.tensor[V], j, d) / 27;
    }
    for (size_t k = 0; twin(k); k++) {
        if (strcmp(twin(k)->twin, "cpu") != 0)
            continue;
        Result r = case_run(&c, twin(k), twin(k)->type);
        for (size_t d = 0; d < 96; d++)
            ck_assert_msg(fabs(result_at(&c, &r, Y, 0, d) - mean[d]) < 0.02, "%s: %g, not %g", twin(k)->twin,
                          result_at(&c, &r, Y, 0, d), mean[d]);
        result_free(&r);
    }
    case_free(&c);
}
END_TEST

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(few_queries_over_many_keys_agree_with_f64, 80),
                                 TEST_LOOP(one_query_over_many_keys_agrees_with_f64, 36),
                                 TEST_LOOP(what_one_query_meets_shows_in_its_head, 4),
                                 TEST(scores_of_minus_infinity_leave_the_others_alone)};
    return suite_run("kernels/attention_few", tests, sizeof tests / sizeof *tests, argc, argv);
}
