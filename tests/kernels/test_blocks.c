/* Attention to listed blocks of keys: sparse patterns, and that what is not listed costs nothing. Blocks in short rows,
 * with everything else a descriptor may say, are among the cases of test_attention.c. */
#include "tests/kernels/attending.h"

#include <math.h>

enum { LENGTH = 48, STRIDE = 8, SUMMARY = 2 };

static bool listed_all(const Attending *a, size_t p, size_t k) { return (void)a, (void)p, (void)k, true; }
static bool listed_none(const Attending *a, size_t p, size_t k) { return (void)a, (void)p, (void)k, false; }

/* Sparse Transformer's strided pattern (Child et al. 2019), blocks of one: the last STRIDE positions, and every
 * STRIDE-th before. */
static bool listed_strided(const Attending *a, size_t p, size_t k)
{
    (void)a;
    return k <= p && (p - k < STRIDE || (p - k) % STRIDE == 0);
}

/* Its fixed pattern, blocks of SUMMARY: the stretch of STRIDE that the query stands in, and the end of each before. */
static bool listed_fixed(const Attending *a, size_t p, size_t k)
{
    (void)a;
    size_t stretch = STRIDE / SUMMARY;
    return p / stretch == k / stretch || k % stretch == stretch - 1;
}

static Attending sparse(size_t block, bool (*listed)(const Attending *, size_t, size_t))
{
    Attending a = {.rows = 1, .key_rows = 1, .queries = {LENGTH}, .keys = {LENGTH}, .heads = 2, .key_size = 4};
    a.value_size = 3, a.scale = 0.5, a.causal = a.weights = true;
    a.block = block, a.listed = listed;
    return a;
}

/* The papers' words, in positions. */
static bool strided_sees(size_t i, size_t j) { return j <= i && (i - j < 8 || (i - j) % 8 == 0); }
static bool fixed_sees(size_t i, size_t j) { return j <= i && (i / 8 == j / 8 || j % 8 == 6 || j % 8 == 7); }

/* The same by rules. */
static Attending by_rule(int i)
{
    Attending a = sparse(i ? SUMMARY : 1, NULL);
    a.rule = i ? PATTERN_FIXED : PATTERN_STRIDED;
    a.stride = i ? STRIDE / SUMMARY : STRIDE;
    return a;
}

START_TEST(strided_and_fixed_patterns_are_those_of_sparse_transformers)
{
    Attending a = _i >= 2 ? by_rule(_i - 2) : _i ? sparse(SUMMARY, listed_fixed) : sparse(1, listed_strided);
    Case c = attending_case(&a, attending_call, 3);
    EACH_BACKEND(r, &c) {
        for (size_t line = 0; line < 2 * LENGTH; line++)
            for (size_t j = 0; j < LENGTH; j++) {
                bool seen = (_i % 2 ? fixed_sees : strided_sees)(line % LENGTH, j);
                ck_assert_int_eq(result_at(&c, &r, WEIGHTS, line, j) > 0, seen);
            }
    }
    case_ask(case_agrees, c);
}

/* Longformer's (Beltagy et al. 2020): positions within the window, the global ones, and all from these. And, causal, the
 * window and sinks of Xiao et al. (2024), by either rule. */
START_TEST(windows_with_global_positions_or_sinks_are_those_of_the_papers)
{
    enum { GLOBAL = 3 };
    Attending a = sparse(1, NULL);
    a.causal = _i > 0;
    a.rule = _i < 2 ? PATTERN_LOCAL : PATTERN_LISTS;
    a.stride = _i < 2 ? STRIDE : 0;
    a.block = _i < 2;
    a.window = _i == 2 ? STRIDE : 0;
    a.sinks = GLOBAL;
    Case c = attending_case(&a, attending_call, 3);
    EACH_BACKEND(r, &c) {
        for (size_t line = 0; line < 2 * LENGTH; line++)
            for (size_t i = line % LENGTH, j = 0; j < LENGTH; j++) {
                bool near = i < j ? j - i < STRIDE : i - j < STRIDE;
                bool seen = (near || i < GLOBAL || j < GLOBAL) && (!a.causal || j <= i);
                ck_assert_int_eq(result_at(&c, &r, WEIGHTS, line, j) > 0, seen);
            }
    }
    case_ask(case_agrees, c);
}

START_TEST(blocks_that_are_all_listed_change_nothing)
{
    Attending a = sparse(_i ? 32 : 5, listed_all), dense = a;
    dense.block = 0;
    Case c = attending_case(&a, attending_call, 3), without = attending_case(&dense, attending_call, 3);
    for (size_t t = 0; t < TENSORS; t++)
        for (size_t i = 0; without.tensor[t].kind != INTEGERS && i < without.tensor[t].rows; i++)
            for (size_t j = 0; j < without.tensor[t].columns; j++)
                *element(&without.tensor[t], i, j) = *element(&c.tensor[t], i, j);
    static const int compared[] = {Y, LSE, WEIGHTS, DQ, DK, DV};
    Result r = case_run(&c, &plain_f64, NUMBER_F64), s = case_run(&without, &plain_f64, NUMBER_F64);
    for (size_t t = 0; t < sizeof compared / sizeof *compared; t++)
        same_bits(&without, (size_t)compared[t], &r, &s);
    result_free(&r);
    result_free(&s);
    case_ask(case_agrees, c);
    case_free(&without);
}

START_TEST(positions_with_an_empty_list_give_zeros)
{
    Attending a = sparse(7, listed_none);
    a.relative = a.distance_bias = true, a.distances = 3;
    Case c = attending_case(&a, attending_call, 4);
    c.add = false;
    for (size_t k = 0; backend(k); k++) {
        static const int zero[] = {Y, WEIGHTS, DQ, DK, DV, DRELATIVE};
        Result r = case_run(&c, backend(k), backend(k)->type);
        for (size_t t = 0; t < sizeof zero / sizeof *zero; t++)
            for (size_t i = 0; i < c.tensor[zero[t]].rows; i++)
                for (size_t j = 0; j < c.tensor[zero[t]].columns; j++)
                    ck_assert(result_at(&c, &r, (size_t)zero[t], i, j) == 0);
        ck_assert(result_at(&c, &r, LSE, 5, 0) == -INFINITY);
        result_free(&r);
    }
    case_free(&c);
}

/* Rows of several hundred keys, few of which are listed: tiles are apart. */
static Attending far_apart(uint32_t seed)
{
    static const size_t blocks[] = {1, 16, 32, 50, 64, 100, 128, 200};
    Random r = {.seed = seed + 7000};
    Attending a = attending_distant(seed);
    a.rows = a.key_rows = 1 + below(&r, 2);
    a.shared = false;
    for (size_t b = 0; b < a.rows; b++) {
        a.queries[b] = (int32_t)below(&r, 100);
        a.keys[b] = (int32_t)below(&r, 500);
        a.length[b] = (int32_t)below(&r, (size_t)a.keys[b] + 1);
        a.offset[b] = chance(&r, 0.5) ? (int32_t)below(&r, 400) : 0;
    }
    a.offsets = chance(&r, 0.7);
    a.window = chance(&r, 0.2) ? 1 + below(&r, 300) : 0;
    a.key_size = 1 + below(&r, 9);
    a.block = blocks[below(&r, 8)];
    a.rule = chance(&r, 0.5) ? (Pattern)(1 + below(&r, PATTERN_FIXED)) : PATTERN_LISTS;
    a.stride = a.rule ? 1 + below(&r, 12) : 0;
    a.weights = chance(&r, 0.3);
    return a;
}

static bool listed_rarely(const Attending *a, size_t p, size_t k)
{
    Random r = {.seed = a->pattern + (uint32_t)(1009 * p + k)};
    return chance(&r, a->block == 1 ? 0.02 : 0.2);
}

START_TEST(blocks_far_apart_agree_with_f64)
{
    SKIP_IF_FAST(_i);
    Attending a = far_apart((uint32_t)_i);
    a.listed = listed_rarely;
    case_ask(case_agrees, attending_case(&a, attending_call, (uint32_t)_i));
}

/* No contract, but how to see that a backend skips: of 0 times NaN, what is computed is NaN. Queries 0 .. 63 list the
 * first block of 64 keys, those after them the fourth, and each list is poison to the other queries. */
static bool listed_half(const Attending *a, size_t p, size_t k)
{
    (void)a;
    return p == 0 ? k == 0 : k == 3;
}

START_TEST(blocks_that_a_tile_does_not_list_are_skipped)
{
    Attending a = {.rows = 1, .key_rows = 1, .queries = {128}, .keys = {256}, .heads = 2, .key_size = 4};
    a.value_size = 3, a.scale = 0.5;
    a.block = 64, a.listed = listed_half;
    a.relative = _i, a.distances = 9;
    Case c = attending_case(&a, attending_call, 4);
    c.add = false;
    for (size_t j = 192; j < 256; j++)
        *element(&c.tensor[V], j, 0) = *element(&c.tensor[K], j, 0) = NAN; /* head 0 */
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < 128; i++) {
            ck_assert_int_eq(isnan(result_at(&c, &r, Y, i, 0)), i >= 64);
            ck_assert_int_eq(isnan(result_at(&c, &r, DQ, i, 0)), i >= 64);
            ck_assert(isfinite(result_at(&c, &r, Y, i, 3))); /* head 1 */
        }
        for (size_t j = 0; j < 256; j++)
            ck_assert_int_eq(isnan(result_at(&c, &r, DK, j, 0)), j >= 192);
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(strided_and_fixed_patterns_are_those_of_sparse_transformers, 4),
                                 TEST_LOOP(windows_with_global_positions_or_sinks_are_those_of_the_papers, 3),
                                 TEST_LOOP(blocks_that_are_all_listed_change_nothing, 2),
                                 TEST(positions_with_an_empty_list_give_zeros),
                                 TEST_LOOP(blocks_far_apart_agree_with_f64, 40),
                                 TEST_LOOP(blocks_that_a_tile_does_not_list_are_skipped, 2)};
    return suite_run("kernels/blocks", tests, sizeof tests / sizeof *tests, argc, argv);
}
