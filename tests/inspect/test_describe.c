/* What heads do, and rollout, on maps made by hand with numbers computed by hand. */
#include "core/inspect/describe.h"
#include "core/inspect/rollout.h"

#include "base/memory.h"
#include "tests/suite.h"

#include <math.h>
#include <string.h>

static Labels tokens_of(const char *letters)
{
    Labels t = {0};
    Error e;
    for (; *letters; letters++)
        ck_done(labels_add(&t, letters, 1, false, &e), e);
    return t;
}

static void near(double is, double expected)
{
    ck_assert_msg(fabs(is - expected) < 1e-7, "%.9g is not %.9g", is, expected);
}

/* Three heads over four tokens, the second of which separates: one that looks back, an even one, and one in between. */
static float causal[] = {1, 0, 0, 0, 1,   0,   0, 0, 0,       1,       0,       0, 0,    0,    1,    0,

                         1, 0, 0, 0, .5f, .5f, 0, 0, 1 / 3.f, 1 / 3.f, 1 / 3.f, 0, .25f, .25f, .25f, .25f,

                         1, 0, 0, 0, .5f, .5f, 0, 0, .25f,    .25f,    .5f,     0, .25f, .25f, .25f, .25f};

static Maps causal_maps(const Labels *t)
{
    return (Maps){.name = "blocks",
                  .layers = 1,
                  .heads = 3,
                  .queries = 4,
                  .keys = 4,
                  .causal = true,
                  .weights = causal,
                  .query = t,
                  .key = t};
}

START_TEST(numbers_are_those_computed_by_hand)
{
    Labels t = tokens_of("a,bc");
    Maps m = causal_maps(&t);
    HeadNote back = describe_head(&m, 0, 0), even = describe_head(&m, 0, 1), between = describe_head(&m, 0, 2);
    const double expected_back[MEASURES] = {1, 0, 0, 1 / 3., 1 / 3., 1, 0};
    const double expected_between[MEASURES] = {1 / 3., 1.25 / 3, 0, 1 / 3., 1 / 3., 2.75 / 3, 1.5};
    const double expected_even[MEASURES] = {13 / 36., 13 / 36., 0, 13 / 36., 13 / 36., 1, (3 + log2(3)) / 3};
    for (Measure k = 0; k < MEASURES; k++) {
        near(back.is[k], expected_back[k]);
        near(between.is[k], expected_between[k]);
        near(even.is[k], expected_even[k]);
        near(back.even[k], expected_even[k]);
    }
    ck_assert_str_eq(back.words, "looks mostly at the previous token (100 %)");
    ck_assert_str_eq(even.words, "looks at everything, nearly evenly");
    labels_close(&t);
}

/* Each layer may have a window of its own: what is evenly over it is even. */
START_TEST(what_is_hidden_is_not_compared_with)
{
    static float w[] = {1, 0, 0, 0, .5f, .5f, 0, 0, 0, .5f, .5f, 0, 0, 0, .5f, .5f};
    Attend sees = {.causal = true, .window = 2};
    Labels t = tokens_of("abcd");
    Maps m = causal_maps(&t);
    m.heads = 1, m.weights = w, m.sees = &sees;
    HeadNote n = describe_head(&m, 0, 0);
    for (Measure k = 0; k < MEASURES; k++)
        near(n.is[k], n.even[k]);
    near(n.even[MEASURE_ENTROPY], 1);
    ck_assert_str_eq(n.words, "looks at everything, nearly evenly");
    labels_close(&t);
}

START_TEST(a_map_without_an_order_counts_all)
{
    static float w[] = {0, .5f, .5f, 0, 1, 0}; /* 2 queries, 3 keys */
    Labels q = tokens_of("xy"), k = tokens_of("a.c");
    Maps m = {.name = "cross", .layers = 1, .heads = 1, .queries = 2, .keys = 3, .weights = w, .query = &q, .key = &k};
    HeadNote n = describe_head(&m, 0, 0);
    const double expected[MEASURES] = {0, .5, .25, 0, .75, .75, .5};
    for (Measure i = 0; i < MEASURES; i++)
        near(n.is[i], expected[i]);
    near(n.even[MEASURE_ENTROPY], log2(3));
    near(n.even[MEASURE_DISTANCE], (3 + 2) / 6.);
    ck_assert_str_eq(n.words, "looks mostly at separators (75 %)");
    labels_close(&q);
    labels_close(&k);
}

START_TEST(one_token_alone_is_described)
{
    static float w[] = {1};
    Labels t = tokens_of("a");
    Maps m = {.name = "blocks",
              .layers = 1,
              .heads = 1,
              .queries = 1,
              .keys = 1,
              .causal = true,
              .weights = w,
              .query = &t,
              .key = &t};
    HeadNote n = describe_head(&m, 0, 0);
    ck_assert(n.is[MEASURE_ITSELF] == 1 && n.is[MEASURE_FIRST] == 1 && n.is[MEASURE_ENTROPY] == 0);
    labels_close(&t);
}

START_TEST(heads_are_sorted_and_none_is_lost)
{
    Labels t = tokens_of("a,bc");
    Maps m = causal_maps(&t);
    HeadNote *n;
    Error e;
    ck_done(describe_maps(&m, &n, &e), e);
    describe_sort(n, 3, MEASURE_ENTROPY);
    ck_assert(n[0].head == 1 && n[1].head == 2 && n[2].head == 0);
    describe_sort(n, 3, MEASURE_PREVIOUS);
    ck_assert(n[0].head == 0 && n[1].head == 1 && n[2].head == 2);
    describe_sort(n, 3, MEASURE_NEXT); /* alike: as they are stored */
    ck_assert(n[0].head == 0 && n[1].head == 1 && n[2].head == 2);
    describe_sort(n, 3, MEASURES);
    ck_assert(n[0].head == 0);
    memory_free(n);
    labels_close(&t);
}

START_TEST(rollout_is_the_product_by_hand)
{
    static float w[] = {1, 0, 0, 1, 1, 0, 1, 0, /* layer 0: two heads, on average (1 0, 1/2 1/2) */
                        1, 0, 1, 0, 1, 0, 1, 0};
    Labels t = tokens_of("ab");
    Maps m = {.name = "blocks",
              .layers = 2,
              .heads = 2,
              .queries = 2,
              .keys = 2,
              .causal = true,
              .weights = w,
              .query = &t,
              .key = &t};
    float *r;
    Error e;
    ck_done(rollout(&m, &r, &e), e);
    near((double)r[0], 1);
    near((double)r[1], 0);
    near((double)r[2], .625); /* 1/2 1 + 1/2 1/4 */
    near((double)r[3], .375); /* 1/2 3/4 */
    memory_free(r);
    m.layers = 1;
    ck_done(rollout(&m, &r, &e), e);
    near((double)r[2], .25);
    near((double)r[3], .75);
    memory_free(r);
    labels_close(&t);
}

static bool roll(void *argument, Error *e)
{
    float *r = NULL;
    HeadNote *n = NULL;
    bool fine = rollout(argument, &r, e) && describe_maps(argument, &n, e);
    memory_free(r);
    memory_free(n);
    return fine;
}

START_TEST(memory_that_runs_out_is_said)
{
    Labels t = tokens_of("a,bc");
    Maps m = causal_maps(&t);
    fail_each_allocation(roll, &m);
    labels_close(&t);
}

static const Test tests[] = {TEST(numbers_are_those_computed_by_hand), TEST(what_is_hidden_is_not_compared_with),
                             TEST(a_map_without_an_order_counts_all),  TEST(one_token_alone_is_described),
                             TEST(heads_are_sorted_and_none_is_lost),  TEST(rollout_is_the_product_by_hand),
                             TEST(memory_that_runs_out_is_said)};

int main(int argc, char **argv)
{
    return suite_run("inspect/describe", tests, sizeof tests / sizeof *tests, argc, argv);
}
