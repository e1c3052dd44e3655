/* Keys and values of earlier positions: appended to, counted, and attended to as if the row had come at once. */
#include "tests/kernels/attending.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- one append */

enum { CACHE, VALID, LENGTH, START, X };

typedef struct Append {
    size_t rows, capacity, d;
} Append;

static void append(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    (void)state;
    const Append *a = c->shape;
    k->cache_lengths(s, at[VALID], at[LENGTH], at[START], a->rows);
    k->cache_append(s, at[CACHE], at[LENGTH], a->capacity, strided_of(c, at, X), at[START], a->rows, a->d);
}

/* Rows of 0 to capacity positions after 0 to what is left; some rows become exactly full. */
static Case append_case(Append *a, uint32_t seed)
{
    Case c = case_new(append, a, seed);
    *a = (Append){below(&c.random, 5), 1 + below(&c.random, 9), 1 + below(&c.random, 20)};
    snprintf(c.words, sizeof c.words, "%d rows of %d, d %d", (int)a->rows, (int)a->capacity, (int)a->d);
    tensor(&c, CACHE, "cache", NUMBERS, ADDED, a->rows * a->capacity, a->d);
    tensor(&c, VALID, "valid", INTEGERS, WRITTEN, a->rows, 1);
    Tensor *length = tensor(&c, LENGTH, "length", INTEGERS, READ, a->rows, 1);
    Tensor *start = tensor(&c, START, "start", INTEGERS, READ, a->rows + 1, 1);
    for (size_t b = 0; b < a->rows; b++) {
        size_t used = below(&c.random, a->capacity + 1), capacity = a->capacity - used;
        *element(length, b, 0) = (double)used;
        *element(start, b + 1, 0) = *element(start, b, 0) +
                                    (double)(chance(&c.random, 0.3) ? capacity : below(&c.random, capacity + 1));
    }
    size_t n = (size_t)*element(start, a->rows, 0) + below(&c.random, 3);
    tensor_strided(&c, X, "x", NUMBERS, READ, n, a->d, a->d + below(&c.random, 5));
    return c;
}

START_TEST(appended_rows_follow_what_was_there)
{
    SKIP_IF_FAST(_i);
    Append a = {0};
    Case c = append_case(&a, (uint32_t)_i);
    EACH_BACKEND(r, &c) {
        for (size_t line = 0; line < a.rows * a.capacity; line++) {
            size_t b = line / a.capacity, i = line % a.capacity, used = (size_t)*element(&c.tensor[LENGTH], b, 0);
            size_t first = (size_t)*element(&c.tensor[START], b, 0);
            size_t more = (size_t)*element(&c.tensor[START], b + 1, 0) - first;
            ck_assert(result_at(&c, &r, VALID, b, 0) == (double)(used + more));
            for (size_t j = 0; j < a.d; j++) {
                double was = *element(&c.tensor[CACHE], line, j), is = result_at(&c, &r, CACHE, line, j);
                if (i >= used && i < used + more)
                    ck_assert(is == result_at(&c, &r, X, first + i - used, j));
                else
                    ck_assert(fabs(is - was) <= fabs(was) * 0x1p-8); /* it was rounded on its way in */
            }
        }
    }
    case_ask(case_agrees, c);
}

/* ---- attention over a cache */

enum { TIMES = 4 }; /* that every row grows */
enum { KEY_CACHE = OWN, VALUE_CACHE, STARTS, VALIDS, CACHE_START, PIECE_Q, PIECE_K, PIECE_V, PIECE_Y };

/* A whole row, and the same row in TIMES pieces; lengths of pieces [TIMES][ROWS], some 0. */
typedef struct Growing {
    Attending whole; /* first, because the case's shape is read as one */
    int32_t piece[TIMES][ROWS];
    size_t capacity;
} Growing;

static size_t piece_first(const Growing *g, size_t time)
{
    size_t first = 0;
    for (size_t t = 0; t < time; t++)
        first += sum_of(g->piece[t], g->whole.rows);
    return first;
}

/* The pieces stand below one another in PIECE_Q, .., the starts and lengths of each time in a row of STARTS, VALIDS. */
static void grow(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Growing *g = c->shape;
    const Attending *a = &g->whole;
    size_t q_width = a->heads * a->key_size, v_width = a->heads * a->value_size, b = a->rows;
    attending_call(k, s, at, state, c);
    for (size_t t = 0; t < TIMES; t++) {
        size_t first = piece_first(g, t);
        Strided q = {(char *)at[PIECE_Q] + first * q_width * k->number, q_width};
        Strided x = {(char *)at[PIECE_K] + first * q_width * k->number, q_width};
        Strided v = {(char *)at[PIECE_V] + first * v_width * k->number, v_width};
        const int32_t *start = (const int32_t *)at[STARTS] + t * (b + 1);
        int32_t *valid = (int32_t *)at[VALIDS] + t * b;
        k->cache_append(s, at[KEY_CACHE], valid, g->capacity, x, start, b, q_width);
        k->cache_append(s, at[VALUE_CACHE], valid, g->capacity, v, start, b, v_width);
        k->cache_lengths(s, valid + b, valid, start, b);
        Attend how = attend_of(a, at);
        how.query_start = start;
        how.queries = sum_of(g->piece[t], b);
        how.longest_query = most_of(g->piece[t], b);
        how.key_start = at[CACHE_START];
        how.keys = b * g->capacity;
        how.longest_key = g->capacity;
        how.key_length = valid + b;
        how.query_offset = valid;
        k->attention_forward(s, (char *)at[PIECE_Y] + first * v_width * k->number, at[LSE], q,
                             (Strided){at[KEY_CACHE], q_width}, (Strided){at[VALUE_CACHE], v_width}, &how, state);
    }
}

/* Cuts the whole rows into pieces: what stands where. Calls with (row in pieces, row in whole). */
static void cut(Case *c, const Growing *g)
{
    static const int from[] = {Q, K, V}, to[] = {PIECE_Q, PIECE_K, PIECE_V};
    int32_t done[ROWS] = {0};
    for (size_t t = 0; t < TIMES; t++) {
        size_t line = piece_first(g, t);
        for (size_t b = 0; b < g->whole.rows; b++) {
            size_t first = sum_of(g->whole.queries, b) + (size_t)done[b];
            *element(&c->tensor[STARTS], t, b + 1) = *element(&c->tensor[STARTS], t, b) + g->piece[t][b];
            for (size_t i = 0; i < (size_t)g->piece[t][b]; i++, line++)
                for (size_t k = 0; k < 3; k++)
                    for (size_t j = 0; j < c->tensor[to[k]].columns; j++)
                        *element(&c->tensor[to[k]], line, j) = *element(&c->tensor[from[k]], first + i, j);
            done[b] += g->piece[t][b];
        }
    }
}

static Growing growing(uint32_t seed)
{
    Random r = {.seed = seed};
    Growing g = {.whole = {.rows = 1 + below(&r, 4), .heads = 2, .key_size = 5, .value_size = 3, .scale = 0.4}};
    Attending *a = &g.whole;
    a->key_rows = a->rows;
    a->causal = true;
    a->window = chance(&r, 0.4) ? 1 + below(&r, 4) : 0;
    for (size_t t = 0; t < TIMES; t++)
        for (size_t b = 0; b < a->rows; b++) {
            g.piece[t][b] = (int32_t)(t ? below(&r, 3) : below(&r, 7)); /* a prompt, and then a token or two */
            a->queries[b] += g.piece[t][b];
            a->keys[b] += g.piece[t][b];
        }
    g.capacity = most_of(a->queries, a->rows) + below(&r, 3);
    return g;
}

static Case growing_case(const Growing *g, uint32_t seed)
{
    const Attending *a = &g->whole;
    Case c = attending_case(a, grow, seed);
    c.shape = g;
    size_t n = sum_of(a->queries, a->rows), b = a->rows;
    size_t q_width = a->heads * a->key_size, v_width = a->heads * a->value_size;
    c.tensor[LSE].use = SPOILED;
    c.tensor[DQ].use = c.tensor[DK].use = c.tensor[DV].use = ABSENT;
    tensor(&c, KEY_CACHE, "key cache", NUMBERS, SPOILED, b * g->capacity, q_width);
    tensor(&c, VALUE_CACHE, "value cache", NUMBERS, SPOILED, b * g->capacity, v_width);
    tensor_fill(&c.tensor[KEY_CACHE], NAN); /* what was never appended is never read */
    tensor_fill(&c.tensor[VALUE_CACHE], NAN);
    tensor(&c, STARTS, "starts", INTEGERS, READ, TIMES, b + 1);
    tensor(&c, VALIDS, "valids", INTEGERS, SPOILED, TIMES + 1, b);
    Tensor *starts = tensor(&c, CACHE_START, "cache start", INTEGERS, READ, b + 1, 1);
    for (size_t row = 0; row <= b; row++)
        *element(starts, row, 0) = (double)(row * g->capacity);
    tensor(&c, PIECE_Q, "piece q", NUMBERS, READ, n, q_width);
    tensor(&c, PIECE_K, "piece k", NUMBERS, READ, n, q_width);
    tensor(&c, PIECE_V, "piece v", NUMBERS, READ, n, v_width);
    tensor(&c, PIECE_Y, "piece y", NUMBERS, SPOILED, n, v_width);
    cut(&c, g);
    return c;
}

static void pieces_equal_whole(const Case *c, const Growing *g, const Kernels *k)
{
    Result r = case_run(c, k, k->type);
    double tolerance = k->type == NUMBER_BF16 ? 0x1p-8 : 1e-6;
    int32_t done[ROWS] = {0};
    for (size_t t = 0; t < TIMES; t++) {
        size_t line = piece_first(g, t);
        for (size_t b = 0; b < g->whole.rows; b++) {
            size_t first = sum_of(g->whole.queries, b) + (size_t)done[b];
            for (size_t i = 0; i < (size_t)g->piece[t][b]; i++, line++)
                for (size_t j = 0; j < c->tensor[Y].columns; j++)
                    ck_assert_double_le(fabs(result_at(c, &r, PIECE_Y, line, j) - result_at(c, &r, Y, first + i, j)),
                                        tolerance);
            done[b] += g->piece[t][b];
            ck_assert(result_at(c, &r, VALIDS, t + 1, b) == done[b]);
        }
    }
    result_free(&r);
}

START_TEST(attention_over_a_cache_equals_attention_over_the_whole_row)
{
    SKIP_IF_FAST(_i);
    Growing g = growing((uint32_t)_i);
    Case c = growing_case(&g, (uint32_t)_i);
    for (size_t k = 0; backend(k); k++)
        pieces_equal_whole(&c, &g, backend(k));
    case_free(&c);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(appended_rows_follow_what_was_there, 24),
                                 TEST_LOOP(attention_over_a_cache_equals_attention_over_the_whole_row, 24)};
    return suite_run("kernels/cache", tests, sizeof tests / sizeof *tests, argc, argv);
}
