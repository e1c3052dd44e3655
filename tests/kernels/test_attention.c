/* Attention over packed rows. The composition it must equal is in test_composed.c. */
#include "tests/kernels/attending.h"

#include <math.h>
#include <string.h>

/* Every kind of descriptor; every second one has scores that are dot products alone. */
static Attending attending_any(int i)
{
    uint32_t seed = (uint32_t)i;
    return i % 5 == 4 ? attending_grouped(seed) : i % 2 ? attending_distant(seed / 2) : attending_random(seed / 2);
}

START_TEST(every_backend_agrees_with_f64)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_any(_i);
    case_ask(case_agrees, attending_case(&a, attending_call, (uint32_t)_i));
}

/* Rows that end in the middle of a tile, or one after it, and heads of all widths that tiles are cut to. */
static Attending tiled(int i)
{
    static const size_t sizes[][2] = {{64, 64},   {16, 40}, {130, 31}, {33, 128},
                                      {256, 256}, {8, 8},   {20, 200}, {400, 7}};
    static const int32_t lengths[][3] = {{65, 1, 0}, {17, 33, 64}, {0, 31, 2}, {32, 0, 66}};
    const int32_t *length = lengths[i % 4];
    Attending a = {.rows = 3, .key_rows = 3, .heads = 1 + (size_t)i % 3 / 2, .causal = i % 2};
    a.key_size = sizes[i % 8][0];
    a.value_size = sizes[i % 8][1];
    a.kv_heads = i % 3 == 1 ? a.heads : 0;
    a.heads *= i % 3 == 1 ? 3 : 1;
    a.scale = 1 / sqrt((double)a.key_size);
    for (size_t b = 0; b < 3; b++) {
        a.queries[b] = length[b];
        a.keys[b] = i < 8 ? length[b] : length[(b + 1) % 3] + 5;
        a.offset[b] = (int32_t)(7 * b);
    }
    a.offsets = i >= 8;
    a.window = i % 8 == 5 ? 40 : 0;
    a.drop = (Dropout){.rate = i % 3 ? 0 : 0.25, .site = 9};
    a.distances = i % 5 == 0 ? 20 : 0;
    a.ahead = 9;
    a.distance_bias = i % 5 == 0;
    a.relative = a.content_bias = i == 5;
    a.block = i % 8 == 7 ? 24 : 0;
    a.listed = listed_by_chance;
    return a;
}

START_TEST(tiles_of_every_width_agree_with_f64)
{
    SKIP_IF_FAST(_i);
    Attending a = tiled(_i);
    Case c = attending_case(&a, attending_call, 1 + 4 * (uint32_t)_i); /* never the first version */
    case_ask(case_agrees, c);
}

/* Where rows begin at multiples of 16 bytes a backend may copy them in pieces of that size. */
START_TEST(rows_at_multiples_of_16_bytes_agree_with_f64)
{
    static const int aligned[] = {Q, K, V, DY};
    static const size_t sizes[][2] = {{16, 16}, {64, 32}, {40, 72}, {8, 128}, {20, 12}};
    SKIP_IF_FAST(_i);
    Attending a = tiled(_i % 4);
    a.key_size = sizes[_i % 5][0]; /* the last: all rows begin at such, and not all heads */
    a.value_size = sizes[_i % 5][1];
    a.heads = 2, a.kv_heads = (size_t)_i % 2;
    a.gap = (size_t)_i / 5 * 8;
    Case c = attending_case(&a, attending_call, 1 + 4 * (uint32_t)_i);
    for (size_t t = 0; t < 4; t++)
        c.tensor[aligned[t]].offset = 8; /* numbers, of two bytes or four */
    case_ask(case_agrees, c);
}

/* More queries than a block has, more tiles of keys than are kept at once, and a window that ends within a tile. */
START_TEST(rows_of_many_tiles_agree_with_f64)
{
    static const int aligned[] = {Q, K, V, DY};
    static const size_t sizes[][2] = {{16, 8}, {5, 3}, {72, 8}, {8, 67}};
    Attending a = {.rows = 2, .key_rows = 2, .heads = 1, .causal = _i % 2, .scale = 0.3, .listed = listed_by_chance};
    a.queries[0] = a.keys[0] = 203;
    a.queries[1] = 3;
    a.keys[1] = 141;
    a.heads += a.kv_heads = _i % 3 == 1;
    a.key_size = sizes[_i / 2][0];
    a.value_size = sizes[_i / 2][1];
    a.window = _i % 4 == 1 ? 100 : 0;
    a.distances = 40;
    a.ahead = 20;
    a.distance_bias = _i % 4 == 2;
    a.block = _i == 4 ? 50 : 0;
    a.sinks = _i % 4 == 1 ? 70 : 0;
    a.cap = _i % 4 == 3 ? 0.7 : 0;
    a.drop = (Dropout){.rate = _i % 4 == 3 ? 0.25 : 0, .site = 3};
    Case c = attending_case(&a, attending_call, 1 + 4 * (uint32_t)_i);
    for (size_t t = 0; t < 4 && _i / 2 % 2 == 0; t++)
        c.tensor[aligned[t]].offset = 8;
    case_ask(case_agrees, c);
}

/* Of each length of a last tile: it looks at fewer distances than those before it, which begin where it ends. */
START_TEST(relative_keys_agree_with_f64_at_every_length)
{
    SKIP_IF_FAST(_i);
    Attending a = {.rows = 1, .key_rows = 1, .heads = 1, .key_size = 5, .value_size = 3, .scale = 0.4};
    a.queries[0] = a.keys[0] = 32 + _i;
    a.distances = 80;
    a.ahead = 40;
    a.relative = true;
    case_ask(case_agrees, attending_case(&a, attending_call, 1 + 4 * (uint32_t)_i));
}

START_TEST(the_team_changes_no_bit)
{
    Attending a = attending_few((uint32_t)_i);
    a.queries[1] += _i % 2 ? 40 : 0;
    case_ask(case_teams, attending_forward(&a, (uint32_t)_i));
}

START_TEST(gradients_are_slopes)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_any(_i);
    case_ask(case_differentiates, attending_case(&a, attending_call, (uint32_t)_i));
}

START_TEST(gradients_are_added_where_asked)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_any(_i);
    case_ask(case_adds, attending_case(&a, attending_call, (uint32_t)_i));
}

/* One row of 12 by 12. */
static Attending square(void)
{
    return (Attending){.rows = 1,
                       .key_rows = 1,
                       .queries = {12},
                       .keys = {12},
                       .heads = 2,
                       .key_size = 5,
                       .value_size = 7,
                       .causal = true,
                       .scale = 0.4};
}

/* The same with all that a score may hold. */
static Attending full_square(void)
{
    Attending a = square();
    a.distances = 7, a.ahead = 2;
    a.distance_bias = a.relative = a.content_bias = a.position_bias = true;
    return a;
}

START_TEST(gradients_need_not_be_wanted)
{
    Attending a = _i < 2 ? square() : full_square();
    Case c = attending_case(&a, attending_call, (uint32_t)_i);
    case_spares(&c);
    if (_i % 2)
        c.tensor[DK].use = c.tensor[DV].use = ABSENT; /* memory of an earlier segment */
    else
        c.tensor[DQ].use = ABSENT;
    case_ask(case_agrees, c);
}

START_TEST(each_gradient_has_its_own_flag)
{
    static const int flagged[] = {DQ, DK, DV, DRELATIVE};
    Attending a = full_square();
    a.turn_q = _i == 0, a.turn_k = _i == 1, a.turn_v = _i == 2, a.turn_relative = _i == 3;
    Case c = attending_case(&a, attending_call, 4);
    c.add = false;
    c.tensor[flagged[_i]].use = ADDED;
    case_agrees(&c);
    case_ask(case_differentiates, c);
}

/* One number of a bias of queries, 0 where there is none. */
static double bias_of(const Case *c, size_t index, size_t column)
{
    return c->tensor[index].use == ABSENT ? 0 : *element(&c->tensor[index], 0, column);
}

/* Heads 0 .. H/G-1 read head 0 of keys and values, the next H/G head 1, and so on. */
static size_t kv_of(const Attending *a, size_t head) { return head * kv_heads_of(a) / a->heads; }

static double score_of(const Case *c, size_t b, size_t i, size_t j, size_t head)
{
    const Attending *a = c->shape;
    size_t query = sum_of(a->queries, b) + i, key = sum_of(a->keys, keys_of(a, b)) + j, entry = entry_of(a, b, i, j);
    double sum = 0;
    for (size_t d = head * a->key_size; d < (head + 1) * a->key_size; d++) {
        double q = *element(&c->tensor[Q], query, d);
        sum += (q + bias_of(c, CONTENT_BIAS, d)) *
               *element(&c->tensor[K], key, d - (head - kv_of(a, head)) * a->key_size);
        if (a->relative)
            sum += (q + bias_of(c, POSITION_BIAS, d)) * *element(&c->tensor[RELATIVE], entry, d);
    }
    return a->scale * sum + (a->distance_bias ? *element(&c->tensor[DISTANCE_BIAS], entry, head) : 0);
}

/* One head of one query from the definition: weights [S], and whether any key is live. */
static bool weights_of(const Case *c, size_t b, size_t i, size_t head, double *weights, size_t longest_key)
{
    const Attending *a = c->shape;
    double sum = 0;
    for (size_t j = 0; j < longest_key; j++) {
        double score = sees(a, b, i, j) ? (double)score_of(c, b, i, j, head) : -INFINITY;
        weights[j] = exp(a->cap > 0 && sees(a, b, i, j) ? a->cap * tanh(score / a->cap) : score);
        sum += weights[j];
    }
    for (size_t j = 0; j < longest_key && sum > 0; j++)
        weights[j] /= sum;
    return sum > 0;
}

enum { LONGEST = 80 };

static void equals_definition(const Case *c, const Result *r, size_t b, size_t i, size_t head)
{
    const Attending *a = c->shape;
    size_t query = sum_of(a->queries, b) + i, first = sum_of(a->keys, keys_of(a, b));
    size_t longest_query = most_of(a->queries, a->rows), longest_key = most_of(a->keys, a->key_rows);
    double weights[LONGEST];
    ck_assert(longest_key <= LONGEST);
    bool live = weights_of(c, b, i, head, weights, longest_key);
    for (size_t d = 0; d < a->value_size; d++) {
        double y = 0;
        for (size_t j = 0; j < longest_key; j++)
            y += weights[j] > 0 ? weights[j] * *element(&c->tensor[V], first + j, kv_of(a, head) * a->value_size + d)
                                : 0;
        ck_assert_double_eq_tol(result_at(c, r, Y, query, head * a->value_size + d), y, 1e-13);
    }
    ck_assert_int_eq(isfinite(result_at(c, r, LSE, query, head)), live);
    for (size_t j = 0; a->weights && j < longest_key; j++) {
        double w = result_at(c, r, WEIGHTS, (b * a->heads + head) * longest_query + i, j);
        ck_assert_double_eq_tol(w, weights[j], 1e-13);
        ck_assert(sees(a, b, i, j) || w == 0);
    }
}

START_TEST(y_and_weights_are_what_the_definition_says)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_any(_i);
    a.drop.rate = 0;
    Case c = attending_case(&a, attending_call, (uint32_t)_i);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    for (size_t b = 0; b < a.rows; b++)
        for (size_t i = 0; i < (size_t)a.queries[b]; i++)
            for (size_t head = 0; head < a.heads; head++)
                equals_definition(&c, &r, b, i, head);
    for (size_t i = sum_of(a.queries, a.rows); i < c.tensor[Y].rows; i++)
        for (size_t d = 0; d < c.tensor[Y].columns; d++)
            ck_assert(result_at(&c, &r, Y, i, d) == 0);
    result_free(&r);
    case_free(&c);
}

START_TEST(weights_sum_to_1_and_are_0_where_nothing_is_seen)
{
    SKIP_IF_FAST(_i);
    Attending a = attending_any(_i);
    a.weights = true;
    a.drop.rate = _i % 2 ? 0.5 : 0; /* weights are those before dropout */
    Case c = attending_case(&a, attending_call, (uint32_t)_i);
    size_t longest_query = most_of(a.queries, a.rows), longest_key = most_of(a.keys, a.key_rows);
    EACH_BACKEND(r, &c) {
        for (size_t line = 0; line < a.rows * a.heads * longest_query; line++) {
            size_t b = line / longest_query / a.heads, i = line % longest_query, live = 0;
            double sum = 0;
            for (size_t j = 0; j < longest_key; j++) {
                bool seen = sees(&a, b, i, j);
                sum += result_at(&c, &r, WEIGHTS, line, j);
                live += seen;
                ck_assert(seen || result_at(&c, &r, WEIGHTS, line, j) == 0);
            }
            ck_assert_double_eq_tol(sum, live > 0, 1e-5);
        }
    }
    case_free(&c);
}

/* Rows 1 and 3 have no valid key; row 2 has keys, but its window is past them; row 0 reads an empty row. */
static Attending deaf(void)
{
    return (Attending){.rows = 4,
                       .key_rows = 4,
                       .queries = {3, 1, 2, 5},
                       .keys = {0, 3, 2, 4},
                       .heads = 2,
                       .key_size = 4,
                       .value_size = 3,
                       .lengths = true,
                       .length = {0, 0, 2, 0},
                       .offsets = true,
                       .offset = {0, 0, 9, 0},
                       .window = 2,
                       .scale = 0.5,
                       .weights = true,
                       .drop = {.rate = 0.1, .site = 1}};
}

START_TEST(a_query_that_sees_no_key_gives_zeros_and_zero_gradients)
{
    static const int zero[] = {Y, DQ, DK, DV, WEIGHTS};
    Attending a = deaf();
    Case c = attending_case(&a, attending_call, 4);
    c.add = false;
    EACH_BACKEND(r, &c) {
        for (size_t t = 0; t < sizeof zero / sizeof *zero; t++)
            for (size_t i = 0; i < c.tensor[zero[t]].rows; i++)
                for (size_t j = 0; j < c.tensor[zero[t]].columns; j++)
                    ck_assert(result_at(&c, &r, (size_t)zero[t], i, j) == 0);
    }
    case_ask(case_agrees, c);
}

/* What is after the valid keys of a cache, or in the row next door, is never looked at. */
START_TEST(keys_that_no_query_sees_may_hold_anything)
{
    SKIP_IF_FAST(_i);
    Attending a = _i < 80 ? attending_any(_i) : attending_one((uint32_t)_i);
    Case c = attending_case(&a, attending_call, (uint32_t)_i);
    c.add = false;
    Case wild = attending_case(&a, attending_call, (uint32_t)_i);
    wild.add = false;
    for (size_t j = 0; j < c.tensor[K].rows; j++) {
        bool seen = false;
        for (size_t b = 0; b < a.rows; b++) {
            size_t first = sum_of(a.keys, keys_of(&a, b));
            for (size_t i = 0; i < (size_t)a.queries[b] && j >= first; i++)
                seen |= sees(&a, b, i, j - first);
        }
        for (size_t d = 0; !seen && d < wild.tensor[K].columns; d++)
            *element(&wild.tensor[K], j, d) = NAN;
        for (size_t d = 0; !seen && d < wild.tensor[V].columns; d++)
            *element(&wild.tensor[V], j, d) = d % 2 ? NAN : INFINITY;
    }
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&c, backend(k), backend(k)->type), s = case_run(&wild, backend(k), backend(k)->type);
        same_bits(&c, Y, &r, &s);
        same_bits(&c, DQ, &r, &s);
        same_bits(&c, DK, &r, &s);
        same_bits(&c, DV, &r, &s);
        for (size_t t = DDISTANCE_BIAS; t <= DPOSITION_BIAS; t++)
            same_bits(&c, t, &r, &s);
        result_free(&r);
        result_free(&s);
    }
    case_free(&c);
    case_free(&wild);
}

/* A backend that works in tiles multiplies weights of 0, too: there others of the same row may see it, but those who
 * must, must. */
START_TEST(a_nan_reaches_the_queries_that_see_its_key)
{
    Attending a = square();
    a.window = 3;
    Case c = attending_case(&a, attending_call, 4);
    *element(&c.tensor[_i ? V : K], 4, 1) = NAN; /* head 0 */
    EACH_BACKEND(r, &c) {
        bool exact = strcmp(r.k->backend, "plain") == 0;
        for (size_t i = 0; i < 12; i++)
            for (size_t d = 0; d < 14; d++) {
                bool wanted = sees(&a, 0, i, 4) && (_i ? d == 1 : d < 7);
                if (exact || wanted)
                    ck_assert_int_eq(isnan(result_at(&c, &r, Y, i, d)), wanted);
            }
    }
    case_free(&c);
}

/* The first key alone is seen by the first query: the softmax of one NaN is NaN, not 1 and not 0. */
START_TEST(a_nan_score_without_company_is_nan)
{
    Attending a = square();
    Case c = attending_case(&a, attending_call, 4);
    *element(&c.tensor[Q], 0, 0) = NAN;
    EACH_BACKEND(r, &c) {
        ck_assert(isnan(result_at(&c, &r, Y, 0, 0)));
    }
    case_free(&c);
}

/* Scores of 1e4, or of 1e10, and their differences are far outside of what exp can do; the largest one takes it all. (The
 * logarithms that are saved for the gradients of the larger ones are rounded to hundreds.) */
START_TEST(huge_scores_choose_one_key)
{
    Attending a = square();
    a.causal = false;
    a.weights = true;
    a.scale = 1;
    Case c = attending_case(&a, attending_call, 6);
    const double q = (_i % 2 ? -128 : 128) * (_i < 2 ? 1 : 0x1p20);
    c.add = false;
    for (size_t i = 0; i < 12; i++)
        for (size_t d = 0; d < 10; d++) {
            *element(&c.tensor[Q], i, d) = d % 5 ? 0 : q;
            *element(&c.tensor[K], i, d) = d % 5 ? 0 : (double)(10 * i); /* scores 0, 1280, .. 14080 or minus that */
        }
    size_t chosen = _i % 2 ? 0 : 11;
    for (size_t k = 0; backend(k); k++) {
        Result r = case_run(&c, backend(k), backend(k)->type), f64 = case_run(&c, &plain_f64, backend(k)->type);
        for (size_t i = 0; i < 12; i++)
            for (size_t d = 0; d < 14; d++) {
                ck_assert(result_at(&c, &r, Y, i, d) == result_at(&c, &f64, V, chosen, d));
                ck_assert(result_at(&c, &r, WEIGHTS, i, chosen) == 1);
                ck_assert(_i >= 2 || isfinite(result_at(&c, &r, DV, i, d)));
            }
        result_free(&r);
        result_free(&f64);
    }
    case_free(&c);
}

START_TEST(equal_scores_give_the_mean_of_the_values)
{
    Attending a = square();
    Case c = attending_case(&a, attending_call, 6);
    tensor_fill(&c.tensor[Q], -0.0);
    Result r = case_run(&c, &plain_f64, NUMBER_F64);
    double sum = 0;
    for (size_t i = 0; i < 12; i++) {
        sum += *element(&c.tensor[V], i, 3);
        ck_assert_double_eq_tol(result_at(&c, &r, Y, i, 3), sum / (double)(i + 1), 1e-14);
        ck_assert_double_eq_tol(result_at(&c, &r, LSE, i, 1), log((double)(i + 1)), 1e-14);
    }
    result_free(&r);
    case_ask(case_agrees, c);
}

/* Copies the rows and columns of one tensor that begin at (row, column) over another. */
static void copy_rows(Tensor *to, const Tensor *from, size_t row)
{
    for (size_t i = 0; i < to->rows; i++)
        for (size_t j = 0; j < to->columns; j++)
            *element(to, i, j) = *element(from, row + i, j);
}

/* Rows from .. from + n - 1 of an attention, as one of its own. */
static Attending part_of(const Attending *a, size_t from, size_t n)
{
    Attending part = *a;
    part.rows = part.key_rows = n;
    part.spare_queries = part.spare_keys = 0;
    memcpy(part.queries, a->queries + from, n * sizeof *part.queries);
    memcpy(part.keys, a->keys + from, n * sizeof *part.keys);
    memcpy(part.length, a->length + from, n * sizeof *part.length);
    memcpy(part.offset, a->offset + from, n * sizeof *part.offset);
    return part;
}

START_TEST(a_split_batch_gives_the_same_bits)
{
    Attending a = attending_any(200 + _i), part[2];
    a.shared = a.weights = false;
    a.rows = a.key_rows = 4;
    a.lengths = false;
    a.drop.rate = 0.3;
    Case c = attending_case(&a, attending_call, 8), split[2];
    for (size_t p = 0; p < 2; p++) {
        size_t row = 2 * p, queries = sum_of(a.queries, row), keys = sum_of(a.keys, row);
        part[p] = part_of(&a, row, 2);
        split[p] = attending_case(&part[p], attending_call, 8);
        copy_rows(&split[p].tensor[Q], &c.tensor[Q], queries);
        copy_rows(&split[p].tensor[DY], &c.tensor[DY], queries);
        copy_rows(&split[p].tensor[K], &c.tensor[K], keys);
        copy_rows(&split[p].tensor[V], &c.tensor[V], keys);
        for (size_t t = DISTANCE_BIAS; t <= POSITION_BIAS; t++)
            copy_rows(&split[p].tensor[t], &c.tensor[t], 0);
        split[p].state.first_position[a.drop.side] += (uint32_t)queries;
    }
    EACH_BACKEND(whole, &c) {
        for (size_t p = 0; p < 2; p++) {
            static const int compared[] = {Y, DQ, DK, DV};
            Result r = case_run(&split[p], whole.k, whole.k->type);
            for (size_t t = 0; t < 4; t++) {
                size_t index = (size_t)compared[t], first = sum_of(t < 2 ? a.queries : a.keys, 2 * p);
                for (size_t i = 0; i < split[p].tensor[index].rows; i++)
                    for (size_t j = 0; j < split[p].tensor[index].columns; j++)
                        ck_assert(result_at(&split[p], &r, index, i, j) == result_at(&c, &whole, index, first + i, j));
            }
            result_free(&r);
        }
    }
    case_free(&c);
    case_free(&split[0]);
    case_free(&split[1]);
}

START_TEST(dropout_keeps_the_mean_of_y)
{
    enum { KEYS = 64, QUERIES = 256 };
    Attending a = {.rows = 1, .key_rows = 1, .queries = {QUERIES}, .keys = {KEYS}, .heads = 2, .key_size = 1};
    a.value_size = 1;
    a.drop = (Dropout){.rate = 0.4, .site = 3};
    Case c = attending_case(&a, attending_call, 6);
    tensor_fill(&c.tensor[V], 1); /* y is the sum of what is left of the weights, which are all 1/64: scale is 0 */
    EACH_BACKEND(r, &c) {
        double sum = 0;
        for (size_t i = 0; i < QUERIES; i++)
            sum += result_at(&c, &r, Y, i, 0) + result_at(&c, &r, Y, i, 1);
        ck_assert_double_eq_tol(sum / (2 * QUERIES), 1, 5 * sqrt(0.4 / 0.6 / (2.0 * QUERIES * KEYS)) + 0x1p-8);
    }
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(every_backend_agrees_with_f64, 200),
                                 TEST_LOOP(tiles_of_every_width_agree_with_f64, 16),
                                 TEST_LOOP(rows_at_multiples_of_16_bytes_agree_with_f64, 10),
                                 TEST_LOOP(rows_of_many_tiles_agree_with_f64, 8),
                                 TEST_LOOP(relative_keys_agree_with_f64_at_every_length, 9),
                                 TEST_LOOP(the_team_changes_no_bit, 12),
                                 TEST_LOOP(gradients_are_slopes, 80),
                                 TEST_LOOP(gradients_are_added_where_asked, 32),
                                 TEST_LOOP(gradients_need_not_be_wanted, 4),
                                 TEST_LOOP(each_gradient_has_its_own_flag, 4),
                                 TEST_LOOP(y_and_weights_are_what_the_definition_says, 120),
                                 TEST_LOOP(weights_sum_to_1_and_are_0_where_nothing_is_seen, 48),
                                 TEST(a_query_that_sees_no_key_gives_zeros_and_zero_gradients),
                                 TEST_LOOP(keys_that_no_query_sees_may_hold_anything, 104),
                                 TEST_LOOP(a_nan_reaches_the_queries_that_see_its_key, 2),
                                 TEST(a_nan_score_without_company_is_nan),
                                 TEST_LOOP(huge_scores_choose_one_key, 4),
                                 TEST(equal_scores_give_the_mean_of_the_values),
                                 TEST_LOOP(a_split_batch_gives_the_same_bits, 16),
                                 TEST(dropout_keeps_the_mean_of_y)};
    return suite_run("kernels/attention", tests, sizeof tests / sizeof *tests, argc, argv);
}
