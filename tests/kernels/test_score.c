/* What a score may hold besides q . k, and what must not change it. That backends agree, that gradients are slopes and
 * that each number is what the definition says is asked in test_attention.c, of every kind of score. */
#include "tests/kernels/attending.h"

#include <math.h>
#include <string.h>

static double tolerance(const Kernels *k) { return k->type == NUMBER_BF16 ? 0x1p-6 : 1e-5; }

static void nearly(const Case *c, size_t index, const Result *a, const Result *b, double most)
{
    const Tensor *t = &c->tensor[index];
    for (size_t i = 0; i < t->rows; i++)
        for (size_t j = 0; j < t->columns; j++) {
            double x = result_at(c, a, index, i, j), y = result_at(c, b, index, i, j);
            ck_assert_msg(fabs(x - y) <= most, "%s: %s[%d,%d] is %g and %g", c->words, t->name, (int)i, (int)j, x, y);
        }
}

/* Rows long enough for several tiles. */
static Attending several(void)
{
    return (Attending){.rows = 2,
                       .key_rows = 2,
                       .queries = {37, 5},
                       .keys = {75, 9},
                       .heads = 2,
                       .key_size = 5,
                       .value_size = 3,
                       .scale = 0.6,
                       .distances = 11,
                       .ahead = 4};
}

static void swap_rows(Tensor *t, size_t a, size_t b)
{
    for (size_t j = 0; j < t->columns; j++) {
        double kept = *element(t, a, j);
        *element(t, a, j) = *element(t, b, j);
        *element(t, b, j) = kept;
    }
}

/* With a content bias, too. Where distances count, order matters, which shows that this could fail. */
START_TEST(keys_that_are_shuffled_with_their_values_change_nothing_without_distances)
{
    Attending a = several();
    a.content_bias = true;
    a.distance_bias = _i;
    Case c = attending_case(&a, attending_call, 2), shuffled = attending_case(&a, attending_call, 2);
    for (size_t j = 0; j < 75; j++) {
        swap_rows(&shuffled.tensor[K], j, j * 31 % 75);
        swap_rows(&shuffled.tensor[V], j, j * 31 % 75);
    }
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&c, backend(k), backend(k)->type), s = case_run(&shuffled, backend(k), backend(k)->type);
        if (!_i) {
            nearly(&c, Y, &r, &s, tolerance(backend(k)));
            nearly(&c, LSE, &r, &s, tolerance(backend(k)));
            nearly(&c, DQ, &r, &s, tolerance(backend(k)));
        } else {
            ck_assert(fabs(result_at(&c, &r, Y, 0, 0) - result_at(&c, &s, Y, 0, 0)) > 1e-3);
        }
        result_free(&r);
        result_free(&s);
    }
    case_free(&c);
    case_free(&shuffled);
}

/* Keys 50 .. 74 of row 0 are not valid: the same bits as with a row of 50, whatever is in them. */
START_TEST(a_longer_row_of_keys_cut_to_the_shorter_gives_the_same_bits)
{
    Attending longer = several(), shorter = longer;
    longer.lengths = true;
    longer.length[0] = shorter.keys[0] = 50;
    longer.length[1] = 9;
    longer.distance_bias = longer.relative = longer.content_bias = longer.position_bias = _i;
    shorter.distance_bias = shorter.relative = shorter.content_bias = shorter.position_bias = _i;
    Case c = attending_case(&longer, attending_call, 2), cut = attending_case(&shorter, attending_call, 2);
    for (size_t t = 0; t < TENSORS; t++)
        for (size_t i = 0; cut.tensor[t].kind != INTEGERS && i < cut.tensor[t].rows; i++)
            for (size_t j = 0; j < cut.tensor[t].columns; j++)
                *element(&cut.tensor[t], i, j) = *element(&c.tensor[t], i + (t == K || t == V ? i / 50 * 25 : 0), j);
    for (size_t j = 50; j < 75; j++)
        *element(&c.tensor[K], j, 0) = *element(&c.tensor[V], j, 1) = NAN;
    for (size_t k = 0; backend(k); k++) {
        static const int same[] = {Y, LSE, DQ, DDISTANCE_BIAS, DRELATIVE, DCONTENT_BIAS, DPOSITION_BIAS};
        Result r = case_run(&cut, backend(k), backend(k)->type), s = case_run(&c, backend(k), backend(k)->type);
        for (size_t t = 0; t < sizeof same / sizeof *same; t++)
            for (size_t i = 0; r.value[same[t]] && i < cut.tensor[same[t]].rows; i++)
                for (size_t j = 0; j < cut.tensor[same[t]].columns; j++)
                    ck_assert(result_at(&cut, &r, (size_t)same[t], i, j) == result_at(&c, &s, (size_t)same[t], i, j));
        for (size_t j = 0; j < 75; j++)
            ck_assert(result_at(&c, &s, DK, j, 0) == (j < 50 ? result_at(&cut, &r, DK, j, 0) : 0));
        result_free(&r);
        result_free(&s);
    }
    case_free(&c);
    case_free(&cut);
}

/* Queries of one row, in one call and in pieces that stand where the piece before ended, as a cache has them. */
START_TEST(a_row_in_pieces_is_the_row)
{
    enum { LENGTH = 75 };
    static const int32_t sizes[][5] = {{1, 2, 32, 33, 7}, {70, 1, 1, 1, 2}};
    Attending a = {.rows = 1, .key_rows = 1, .queries = {LENGTH}, .keys = {LENGTH}, .heads = 2, .key_size = 5};
    a.value_size = 3, a.scale = 0.6, a.causal = true, a.distances = 40, a.offsets = true;
    a.distance_bias = a.relative = a.content_bias = a.position_bias = true;
    if (_i / 2)
        a.block = 4, a.listed = listed_by_chance, a.pattern = 4;
    Case c = attending_case(&a, attending_call, 2);
    EACH_BACKEND(whole, &c) {
        for (int32_t p = 0, from = 0; p < 5; from += sizes[_i % 2][p++]) {
            Attending part = a;
            part.queries[0] = sizes[_i % 2][p];
            part.offset[0] = from;
            Case piece = attending_case(&part, attending_call, 2);
            for (size_t t = 0; t < TENSORS; t++)
                for (size_t i = 0; piece.tensor[t].kind != INTEGERS && i < piece.tensor[t].rows; i++)
                    for (size_t j = 0; j < piece.tensor[t].columns; j++)
                        *element(&piece.tensor[t], i, j) = *element(&c.tensor[t], i + (t == Q ? (size_t)from : 0), j);
            Result r = case_run(&piece, whole.k, whole.k->type);
            for (size_t i = 0; i < (size_t)part.queries[0]; i++)
                for (size_t j = 0; j < 6; j++)
                    ck_assert(fabs(result_at(&piece, &r, Y, i, j) - result_at(&c, &whole, Y, i + (size_t)from, j)) <=
                              tolerance(whole.k));
            result_free(&r);
            case_free(&piece);
        }
    }
    case_free(&c);
}

/* A bias that is the same at all distances moves every score, and so the logarithm of their sum, and nothing else. */
START_TEST(the_same_bias_at_all_distances_changes_nothing_but_lse)
{
    Attending a = several();
    a.relative = true;
    a.distance_bias = true;
    Case c = attending_case(&a, attending_call, 2), moved = attending_case(&a, attending_call, 2);
    tensor_fill(&c.tensor[DISTANCE_BIAS], 0);
    tensor_fill(&moved.tensor[DISTANCE_BIAS], 2.5);
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&c, backend(k), backend(k)->type), s = case_run(&moved, backend(k), backend(k)->type);
        nearly(&c, Y, &r, &s, tolerance(backend(k)));
        nearly(&c, DV, &r, &s, tolerance(backend(k)));
        for (size_t i = 0; i < c.tensor[LSE].rows; i++)
            ck_assert(fabs(result_at(&c, &s, LSE, i, 1) - result_at(&c, &r, LSE, i, 1) - 2.5) < 1e-5);
        result_free(&r);
        result_free(&s);
    }
    case_free(&c);
    case_free(&moved);
}

/* (q + u) . k with u beside q, and with u in q. The gradient of u is the sum of those of all q. */
START_TEST(a_content_bias_is_added_to_every_query)
{
    Attending with = several(), without = several();
    with.content_bias = true;
    Case c = attending_case(&with, attending_call, 2), plain = attending_case(&without, attending_call, 2);
    for (size_t t = 0; t < TENSORS; t++)
        for (size_t i = 0; plain.tensor[t].kind != INTEGERS && i < plain.tensor[t].rows; i++)
            for (size_t j = 0; j < plain.tensor[t].columns; j++)
                *element(&plain.tensor[t], i, j) = *element(&c.tensor[t], i, j) +
                                                   (t == Q ? *element(&c.tensor[CONTENT_BIAS], 0, j) : 0);
    Result r = case_run(&c, &plain_f64, NUMBER_F64), s = case_run(&plain, &plain_f64, NUMBER_F64);
    nearly(&plain, Y, &r, &s, 1e-13);
    nearly(&plain, DQ, &r, &s, 1e-13);
    nearly(&plain, DK, &r, &s, 1e-13);
    for (size_t j = 0; j < c.tensor[DCONTENT_BIAS].columns; j++) {
        double sum = *element(&c.tensor[DCONTENT_BIAS], 0, j);
        for (size_t i = 0; i < c.tensor[DQ].rows; i++)
            sum += result_at(&c, &r, DQ, i, j);
        ck_assert_double_eq_tol(result_at(&c, &r, DCONTENT_BIAS, 0, j), sum, 1e-12);
    }
    result_free(&r);
    result_free(&s);
    case_free(&c);
    case_free(&plain);
}

/* Transformer-XL as its paper computes it: (q + v) R^T for all distances, then each row moved by what it is late. */
START_TEST(relative_keys_equal_the_shifted_product_of_transformer_xl)
{
    enum { QUERIES = 6, MEMORY = 5, KEYS = MEMORY + QUERIES };
    Attending a = {.rows = 1, .key_rows = 1, .queries = {QUERIES}, .keys = {KEYS}, .heads = 2, .key_size = 3};
    a.value_size = 3, a.scale = 0.5, a.causal = a.weights = true;
    a.offsets = true, a.offset[0] = MEMORY;
    a.distances = KEYS;
    a.relative = a.content_bias = a.position_bias = true;
    Case c = attending_case(&a, attending_call, 2);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t head = 0; head < 2; head++)
        for (size_t i = 0; i < QUERIES; i++) {
            double scores[KEYS], sum = 0;
            for (size_t j = 0; j <= MEMORY + i; j++) {
                scores[j] = 0;
                for (size_t d = 3 * head; d < 3 * head + 3; d++) {
                    double q = *element(&c.tensor[Q], i, d);
                    size_t column = j + QUERIES - 1 - i; /* of R, whose first row is the farthest distance */
                    scores[j] += (q + *element(&c.tensor[CONTENT_BIAS], 0, d)) * *element(&c.tensor[K], j, d);
                    scores[j] += (q + *element(&c.tensor[POSITION_BIAS], 0, d)) *
                                 *element(&c.tensor[RELATIVE], KEYS - 1 - column, d);
                }
                sum += scores[j] = exp(scores[j] / 2);
            }
            for (size_t j = 0; j < KEYS; j++)
                ck_assert_double_eq_tol(result_at(&c, &r, WEIGHTS, head * QUERIES + i, j),
                                        j <= MEMORY + i ? scores[j] / sum : 0, 1e-13);
        }
    result_free(&r);
    case_free(&c);
}

/* Of all keys the one at that distance is chosen, and no exponential overflows. */
START_TEST(a_huge_bias_chooses_its_distance)
{
    Attending a = several();
    a.distance_bias = a.weights = true;
    Case c = attending_case(&a, attending_call, 2);
    tensor_fill(&c.tensor[DISTANCE_BIAS], _i ? -1e30 : 0);
    for (size_t head = 0; head < 2; head++)
        *element(&c.tensor[DISTANCE_BIAS], 3, head) = _i ? -10 : 1e4; /* one key ahead */
    EACH_BACKEND(r, &c) {
        for (size_t i = 0; i < 37; i++)
            for (size_t j = 0; j < 75; j++)
                ck_assert(result_at(&c, &r, WEIGHTS, i, j) == (j == i + 1));
        for (size_t j = 0; j < 11; j++)
            ck_assert(isfinite(result_at(&c, &r, DDISTANCE_BIAS, j, 0)));
    }
    case_free(&c);
}

/* Of a distance whose bias is -infinity no key is seen, by itself or for all that a query sees; with few queries, and
 * with heads as wide as products by tiles want them, too. */
START_TEST(a_score_of_minus_infinity_is_a_key_that_is_not_seen)
{
    Attending a = several();
    a.distance_bias = true;
    a.weights = _i % 2;
    if (_i / 2 == 1)
        a.queries[0] = 3, a.queries[1] = 1;
    if (_i / 2 == 2)
        a.key_size = a.value_size = 16;
    Case c = attending_case(&a, attending_call, (uint32_t)_i);
    for (size_t e = 3; e < 11; e++)
        for (size_t head = 0; head < 2; head++)
            *element(&c.tensor[DISTANCE_BIAS], e, head) = -INFINITY; /* all keys up to one ahead */
    *element(&c.tensor[DISTANCE_BIAS], 0, 1) = -INFINITY;            /* of head 1 all keys four ahead and more */
    for (size_t e = 1; e < 3; e++)
        *element(&c.tensor[DISTANCE_BIAS], e, 1) = -INFINITY; /* and all others: it sees nothing */
    case_agrees(&c);
    for (size_t k = 0; backend(k); k++) {
        static const int zeros[] = {Y, DQ};
        Result r = case_run(&c, backend(k), backend(k)->type);
        for (size_t i = 0; i < (size_t)a.queries[0]; i++) {
            ck_assert(isfinite(result_at(&c, &r, LSE, i, 0)) && result_at(&c, &r, LSE, i, 1) == -INFINITY);
            for (size_t t = 0; t < 2; t++)
                for (size_t d = c.tensor[zeros[t]].columns / 2; d < c.tensor[zeros[t]].columns; d++)
                    ck_assert(t ? isfinite(result_at(&c, &r, DQ, i, d)) : result_at(&c, &r, Y, i, d) == 0);
        }
        result_free(&r);
    }
    case_free(&c);
}

/* Tables that reach farther than any row, and tables of one entry; keys all ahead or all after. */
START_TEST(tables_of_any_reach_agree_with_f64)
{
    static const size_t reach[][2] = {{1, 0}, {1, 1}, {1, 200}, {200, 0}, {200, 100}, {200, 300}, {2, 0}, {75, 0}};
    Attending a = several();
    a.distance_bias = a.relative = a.content_bias = a.position_bias = true;
    a.distances = reach[_i][0], a.ahead = reach[_i][1];
    a.drop = (Dropout){.rate = 0.2, .site = 2};
    case_ask(case_agrees, attending_case(&a, attending_call, (uint32_t)_i));
}

/* Loops go over a head's columns in parts: heads of more than one part, and of a last part that is not full. */
START_TEST(wide_heads_agree_with_f64)
{
    Attending a = several();
    a.queries[0] = 13, a.keys[0] = 17, a.queries[1] = a.keys[1] = 2;
    a.key_size = _i ? 70 : 40, a.value_size = _i ? 33 : 64;
    a.distance_bias = a.relative = a.content_bias = a.position_bias = true;
    case_ask(case_agrees, attending_case(&a, attending_call, (uint32_t)_i));
}

/* What is ahead of a causal query, after its window, or farther off than a row is long. */
START_TEST(entries_of_distances_that_nobody_has_may_hold_anything)
{
    Attending a = several();
    a.causal = true, a.keys[0] = 37, a.keys[1] = 5;
    a.window = _i ? 6 : 0;
    a.distances = 60;
    a.distance_bias = a.relative = a.position_bias = true;
    Case c = attending_case(&a, attending_call, 2), wild = attending_case(&a, attending_call, 2);
    size_t end = 4 + (_i ? 6 : 37); /* entry 4 is distance 0 */
    for (size_t e = 0; e < 60; e++)
        for (size_t j = 0; (e < 4 || e >= end) && j < 10; j++) {
            *element(&wild.tensor[RELATIVE], e, j) = NAN;
            *element(&wild.tensor[DISTANCE_BIAS], e, j % 2) = INFINITY;
        }
    for (size_t k = 0; backend(k); k++) {
        static const int same[] = {Y, DQ, DK, DV, DDISTANCE_BIAS, DRELATIVE, DPOSITION_BIAS};
        Result r = case_run(&c, backend(k), backend(k)->type), s = case_run(&wild, backend(k), backend(k)->type);
        for (size_t t = 0; t < sizeof same / sizeof *same; t++)
            same_bits(&c, (size_t)same[t], &r, &s);
        for (size_t j = 0; j < 10; j++)
            ck_assert(result_at(&c, &r, DRELATIVE, 3, j) == 0 && result_at(&c, &r, DRELATIVE, end, j) == 0);
        result_free(&r);
        result_free(&s);
    }
    case_free(&c);
    case_free(&wild);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(keys_that_are_shuffled_with_their_values_change_nothing_without_distances, 2),
        TEST_LOOP(a_longer_row_of_keys_cut_to_the_shorter_gives_the_same_bits, 2),
        TEST_LOOP(a_row_in_pieces_is_the_row, 4),
        TEST(the_same_bias_at_all_distances_changes_nothing_but_lse),
        TEST(a_content_bias_is_added_to_every_query),
        TEST(relative_keys_equal_the_shifted_product_of_transformer_xl),
        TEST_LOOP(a_huge_bias_chooses_its_distance, 2),
        TEST_LOOP(a_score_of_minus_infinity_is_a_key_that_is_not_seen, 6),
        TEST_LOOP(tables_of_any_reach_agree_with_f64, 8),
        TEST_LOOP(wide_heads_agree_with_f64, 2),
        TEST_LOOP(entries_of_distances_that_nobody_has_may_hold_anything, 2)};
    return suite_run("kernels/score", tests, sizeof tests / sizeof *tests, argc, argv);
}
