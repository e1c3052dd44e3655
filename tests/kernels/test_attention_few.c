/* Attention of few queries over the keys of a cache, forward alone. */
#include "tests/kernels/attending.h"

#include <math.h>
#include <string.h>

START_TEST(few_queries_over_many_keys_agree_with_f64)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_few((uint32_t)_i);
    case_ask(case_agrees, attending_forward(&a, (uint32_t)_i));
}

START_TEST(one_query_over_many_keys_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_one((uint32_t)_i);
    Case c = attending_forward(&a, (uint32_t)_i);
    case_agrees(&c);
    case_ask(case_teams, c);
}

/* x's rows by head: [H, rows, size] */
static Strided laid_by_head(const Kernels *k, Strided x, size_t rows, size_t heads, size_t size)
{
    char *to = k->allocate(rows * heads * size * k->number + 1);
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < rows; i++)
            memcpy(to + (h * rows + i) * size * k->number, (char *)x.data + (i * x.stride + h * size) * k->number,
                   size * k->number);
    return (Strided){to, size};
}

static void by_head(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Attending *a = c->shape;
    Attend how = attend_of(a, at);
    how.by_head = true;
    Strided keys = laid_by_head(k, strided_of(c, at, K), how.keys, kv_heads_of(a), how.key_size);
    Strided values = laid_by_head(k, strided_of(c, at, V), how.keys, kv_heads_of(a), how.value_size);
    k->attention_forward(s, at[Y], at[LSE], strided_of(c, at, Q), keys, values, &how, state);
    k->release(keys.data);
    k->release(values.data);
}

/* More queries than few, of narrow heads that see all keys */
static Attending narrow(void)
{
    return (Attending){.rows = 2,
                       .key_rows = 2,
                       .queries = {9, 20},
                       .keys = {33, 48},
                       .heads = 3,
                       .key_size = 16,
                       .value_size = 12,
                       .scale = 0.25};
}

START_TEST(keys_and_values_by_head_give_the_same_bits)
{
    const uint32_t seed = (uint32_t)_i;
    Attending a = _i == 60      ? narrow()
                  : _i % 3 == 0 ? attending_few(seed)
                  : _i % 3 == 1 ? attending_one(seed)
                  : _i % 6 == 5 ? attending_grouped(seed)
                                : attending_distant(seed);
    Case c = attending_forward(&a, seed);
    size_t asking = 0;
    for (size_t n = 0; backend(n); n++) {
        const Kernels *k = backend(n);
        if (!k->by_head && strcmp(k->backend, "plain") != 0)
            continue;
        c.call = attending_call;
        Result whole = case_run(&c, k, k->type);
        c.call = by_head;
        Result parted = case_run(&c, k, k->type);
        same_bits(&c, Y, &whole, &parted);
        same_bits(&c, WEIGHTS, &whole, &parted);
        result_free(&whole);
        result_free(&parted);
        asking += k->by_head;
    }
    ck_assert_uint_gt(asking, 0);
    case_free(&c);
}

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
    EACH_BACKEND(r, &c) {
        for (size_t d = 0; d < 96; d++) {
            bool wanted = _i < 2 ? d / 32 == 1 : _i == 2 && d == 40;
            ck_assert_int_eq(isnan(result_at(&c, &r, Y, 0, d)), wanted);
        }
    }
    case_free(&c);
}

/* More keys than the fast backend looks at together may have no weight at all. (Plain, which meets them first, has nothing
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
    for (size_t k = 0; backend(k); k++) {
        if (strcmp(backend(k)->backend, "cpu") != 0)
            continue;
        Result r = case_run(&c, backend(k), backend(k)->type);
        for (size_t d = 0; d < 96; d++)
            ck_assert_msg(fabs(result_at(&c, &r, Y, 0, d) - mean[d]) < 0.02, "%s: %g, not %g", backend(k)->backend,
                          result_at(&c, &r, Y, 0, d), mean[d]);
        result_free(&r);
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(few_queries_over_many_keys_agree_with_f64, 80),
                                 TEST_LOOP(one_query_over_many_keys_agrees_with_f64, 36),
                                 TEST_LOOP(keys_and_values_by_head_give_the_same_bits, 61),
                                 TEST_LOOP(what_one_query_meets_shows_in_its_head, 4),
                                 TEST(scores_of_minus_infinity_leave_the_others_alone)};
    return suite_run("kernels/attention_few", tests, sizeof tests / sizeof *tests, argc, argv);
}
