/* Lesson 6: what is graded. */
#include "course/06-masks/exercise.h"
#include "course/frame/grade.h"
#include "course/frame/matrix.h"

#include <math.h>
#include <string.h>

/* ---- 1. and 2. pad, unpad */

enum { ROWS = 4, N = 9, T = 3, D = 2, STRIDE = 5 };

static const int32_t start[ROWS + 1] = {0, 2, 2, 6, 8}; /* lengths 2, 0, 4 and 2; vector 8 belongs to no row */

/* Where vector i of block r is in x, or N: nowhere */
static size_t origin(const int32_t *row, size_t r, size_t i)
{
    size_t which = row ? (size_t)row[r] : r, at = (size_t)start[which] + i;
    return at < (size_t)start[which + 1] ? at : N;
}

static void pads(Grade *g, const int32_t *row, size_t stride)
{
    float *x = grade_input(g, "x", N * STRIDE, 1), *y = grade_output(g, "y", ROWS * T * D);
    double expected[ROWS * T * D], on[ROWS * T * D], dense[ROWS * T * D], own[ROWS * T * D];
    for (size_t e = 0; e < ROWS * T * D; e++) {
        size_t r = e / (T * D), i = e / D % T, j = e % D, at = origin(row, r, i), other = origin(NULL, r, i);
        size_t next = (size_t)start[row ? (size_t)row[r] : r] + i;
        expected[e] = at < N ? (double)x[at * stride + j] : 0;
        on[e] = next < N ? (double)x[next * stride + j] : 0;
        dense[e] = at < N ? (double)x[at * D + j] : 0;
        own[e] = other < N ? (double)x[other * stride + j] : 0;
    }
    mine_pad(NULL, y, (Strided){x, stride}, start, row, ROWS, T, D);
    const Suspect suspects[] = {
        {on, "after a row's end there are zeros, not the row next to it"},
        {dense, "vector i of x begins at x.data + i * x.stride: x may be columns of a wider matrix"},
        {own, "block r is row[r] of x, where row is not NULL"},
        {NULL, NULL}};
    expect_numbers(g, "y", y, expected, ROWS * T * D, D, 0, suspects,
                   "y[r,i] = x[start[r] + i] while that is before start[r+1], and then zeros");
}

static const int32_t chosen[ROWS] = {2, 0, 2, 3};

static void pads_rows(Grade *g) { pads(g, NULL, D); }
static void pads_chosen(Grade *g) { pads(g, chosen, STRIDE); }

static void unpads(Grade *g, const int32_t *row, size_t stride, bool add)
{
    float *x = grade_input(g, "x", ROWS * T * D, 2), *y = grade_output(g, "y", N * STRIDE);
    double expected[N * STRIDE], last[N * STRIDE], over[N * STRIDE];
    for (size_t i = 0; i < N * STRIDE; i++)
        y[i] = (float)i;
    for (size_t i = 0; i < N * stride; i++)
        expected[i] = last[i] = over[i] = add || i % stride >= D ? (double)i : 0;
    for (size_t i = 0; i < N * stride; i++)
        over[i] = i % stride < D ? 0 : over[i];
    for (size_t e = 0; e < ROWS * T * D; e++) {
        size_t at = origin(row, e / (T * D), e / D % T) * stride + e % D;
        if (at / stride < N) {
            expected[at] += (double)x[e], over[at] += (double)x[e];
            last[at] = (double)x[e] + (add ? (double)at : 0);
        }
    }
    mine_unpad(NULL, (Strided){y, stride}, add, x, start, row, ROWS, N, T, D);
    const Suspect suspects[] = {{last, "two blocks may come from one row: their vectors are summed"},
                                {over, "with `add`, what is there stays, and x is added to it"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, N * stride, stride, 1e-6, suspects,
                   "y begins as zeros (unless `add`), n vectors of d numbers, y.stride apart; what is between them "
                   "stays; then x[r,i] goes to y[start[r] + i] while that is before start[r+1]");
}

static void unpads_rows(Grade *g) { unpads(g, NULL, D, false); }
static void unpads_sums(Grade *g)
{
    unpads(g, chosen, STRIDE, false);
    unpads(g, chosen, STRIDE, true);
}

/* ---- 3. sees */

typedef enum Mistake {
    NONE,
    AXIS,
    BEHIND,
    FUTURE,
    STRICT,
    UNMOVED,
    WIDE,
    WRAPPED,
    BLOCK_UNMOVED,
    OWN_ROW,
    LENGTH_UNMAPPED,
    WHOLE,
    BEYOND,
    MISTAKES
} Mistake;

static const char *const hints[MISTAKES] = {
    [AXIS] = "the end of a row hides keys: j < length. A mask on the queries leaves padding to be listened to",
    [BEHIND] = "a query after the end of its own row, i >= query_start[b+1] - query_start[b], sees nothing",
    [FUTURE] = "this is the mask transposed: it shows the future and hides the past. Seen is j <= p",
    [STRICT] = "a query sees itself, too: j <= p",
    [UNMOVED] = "query i is at position p = i + query_offset[b] among the keys",
    [WIDE] = "the last `window` keys, the query's own included: j + window > p",
    [WRAPPED] = "sizes have no sign: p - window is huge where window > p. Write j + window > p",
    [BLOCK_UNMOVED] = "the list is that of the query's position: l = p / block, with p = i + query_offset[b]",
    [OWN_ROW] = "the row of keys is key_row[b], where key_row is not NULL",
    [LENGTH_UNMAPPED] = "key_length has an entry for each row of keys: key_length[key_row[b]]",
    [WHOLE] = "of a row of keys no more than key_length[row] are valid, where key_length is not NULL",
    [BEYOND] = "a row of keys ends where key_start says, however large its key_length is"};

/* By the book, but for one mistake */
static bool seen(const Attend *how, size_t b, size_t i, size_t j, Mistake m)
{
    size_t row = how->key_row && m != OWN_ROW ? (size_t)how->key_row[b] : b;
    size_t length = (size_t)(how->key_start[row + 1] - how->key_start[row]);
    size_t valid = how->key_length ? (size_t)how->key_length[m == LENGTH_UNMAPPED ? b : row] : length;
    size_t moved = how->query_offset ? (size_t)how->query_offset[b] : 0, p = i + (m == UNMOVED ? 0 : moved);
    length = m == BEYOND || (m != WHOLE && valid < length) ? valid : length;
    bool all = (m == BEHIND || i < (size_t)(how->query_start[b + 1] - how->query_start[b])) &&
               (m == AXIS || j < length) &&
               (!how->causal || (m == FUTURE   ? j >= p
                                 : m == STRICT ? j < p
                                               : j <= p)) &&
               (!how->window || j + how->window + (m == WIDE) > p) && (m != WRAPPED || how->window <= p);
    bool listed = !how->block;
    size_t l = how->block ? (m == BLOCK_UNMOVED ? i : p) / how->block : 0;
    for (int32_t at = how->block ? how->block_start[l] : 0; how->block && at < how->block_start[l + 1]; at++)
        listed = listed || (size_t)how->block_index[at] == j / how->block;
    return all && listed;
}

static void asks(Grade *g, const Attend *how)
{
    size_t t = how->longest_query, s = how->longest_key, n = how->rows * t * s;
    float *found = grade_output(g, "sees", n);
    double *expected = grade_doubles(n);
    Suspect suspects[MISTAKES] = {{NULL, NULL}};
    for (Mistake m = AXIS; m < MISTAKES; m++) {
        double *value = grade_doubles(n);
        for (size_t e = 0; e < n; e++)
            value[e] = seen(how, e / (t * s), e / s % t, e % s, m);
        suspects[m - 1] = (Suspect){value, hints[m]};
    }
    for (size_t e = 0; e < n; e++) {
        expected[e] = seen(how, e / (t * s), e / s % t, e % s, NONE);
        found[e] = sees(how, e / (t * s), e / s % t, e % s) ? 1 : 0;
    }
    expect_numbers(g, "sees", found, expected, n, s, 0, suspects,
                   "numbers are 1 where a query (down) sees a key (across), all rows one below another");
}

static const int32_t query_start[4] = {0, 5, 8, 8}, key_start[4] = {0, 4, 11, 12};

static Attend lengths(void)
{
    return (Attend){.rows = 3,
                    .queries = 8,
                    .longest_query = 5,
                    .keys = 12,
                    .longest_key = 7,
                    .heads = 1,
                    .query_start = query_start,
                    .key_start = key_start};
}

/* One Attend for each thing that it can say; KINDS of them */
enum { LENGTHS, CAUSAL, MOVED, WINDOW, BOTH_SIDES, BLOCKS, OTHER_ROWS, VALID, KINDS };

static Attend attend_of(int kind)
{
    static const int32_t offset[3] = {0, 3, 1}, begins[6] = {0, 1, 3, 3, 5, 6}, listed[6] = {1, 0, 3, 0, 1, 2};
    static const int32_t row[3] = {1, 2, 0}, valid[3] = {3, 5, 9};
    Attend how = lengths();
    how.causal = kind == CAUSAL || kind == MOVED || kind == WINDOW;
    if (kind >= MOVED && kind <= BLOCKS)
        how.query_offset = offset;
    if (kind == WINDOW || kind == BOTH_SIDES)
        how.window = 2;
    if (kind == BLOCKS)
        how.block = 2, how.block_start = begins, how.block_index = listed;
    if (kind >= OTHER_ROWS)
        how.key_row = row;
    if (kind == VALID)
        how.key_length = valid;
    return how;
}

static void asks_kinds(Grade *g, int first, int last)
{
    for (int kind = first; kind <= last; kind++) {
        Attend how = attend_of(kind);
        asks(g, &how);
    }
}

static void asks_lengths(Grade *g) { asks_kinds(g, LENGTHS, LENGTHS); }
static void asks_causal(Grade *g) { asks_kinds(g, CAUSAL, MOVED); }
static void asks_window(Grade *g) { asks_kinds(g, WINDOW, BOTH_SIDES); }
static void asks_blocks(Grade *g) { asks_kinds(g, BLOCKS, BLOCKS); }
static void asks_other_rows(Grade *g) { asks_kinds(g, OTHER_ROWS, VALID); }

/* ---- 4. mask */

/* scores of two heads; odd: those to be hidden are not numbers */
static void hides(Grade *g, int kind, bool odd)
{
    enum { HEADS = 2 };
    Attend how = attend_of(kind);
    how.heads = HEADS;
    size_t t = how.longest_query, s = how.longest_key, n = how.rows * HEADS * t * s;
    float *scores = grade_output(g, "scores", n);
    for (size_t e = 0; e < n; e++) /* what is hidden may be anything */
        scores[e] = odd && !seen(&how, e / (HEADS * t * s), e / s % t, e % s, NONE) ? NAN : (float)e;
    mine_mask(NULL, scores, &how);
    for (size_t e = 0; e < n; e++) {
        size_t b = e / (HEADS * t * s), h = e / (t * s) % HEADS, i = e / s % t, j = e % s;
        bool hidden = isinf(scores[e]) && scores[e] < 0;
        if (seen(&how, b, i, j, NONE))
            expect(g, scores[e] == (float)e, "a score that is seen stays as it was",
                   "scores[%zu,%zu,%zu,%zu] is %g and was %zu", b, h, i, j, (double)scores[e], e);
        else
            expect(g, hidden,
                   isnan(scores[e])    ? "write -INFINITY over what is there: NaN + -INFINITY stays NaN"
                   : scores[e] == 0    ? "0 is a score like others, and exp(0) is 1: hidden is -INFINITY"
                   : scores[e] < -1000 ? "-INFINITY, and not a large number: only that one weighs exactly 0 and can "
                                         "be told from a score"
                   : h > 0 && !odd     ? "every head has scores of its own: [B,H,T,S]"
                                       : "what is not seen becomes -INFINITY",
                   "scores[%zu,%zu,%zu,%zu] is %g, and query %zu does not see key %zu", b, h, i, j, (double)scores[e],
                   i, j);
    }
}

static void hides_keys(Grade *g) { hides(g, CAUSAL, false); }

static void hides_all(Grade *g)
{
    for (int kind = 0; kind < KINDS; kind++) {
        hides(g, kind, false);
        hides(g, kind, true);
    }
}

/* ---- 5. packed_attention */

/* y [n,d]: vector i averages vectors from[i] .. to[i]-1 */
static void average(double *y, const float *x, const size_t *from, const size_t *to, double scale, size_t n, size_t d)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t l = 0; l < d; l++)
            y[i * d + l] = 0;
        for (size_t j = from[i]; j < to[i]; j++) {
            double s = 0, w;
            for (size_t l = 0; l < d; l++)
                s += (double)x[i * d + l] * (double)x[j * d + l];
            sum += w = exp(s * scale);
            for (size_t l = 0; l < d; l++)
                y[i * d + l] += w * (double)x[j * d + l];
        }
        for (size_t l = 0; l < d && sum > 0; l++)
            y[i * d + l] /= sum;
    }
}

static void packed(Grade *g, bool causal)
{
    enum { COLUMNS = 4, SIZE = N * COLUMNS };
    float *x = grade_input(g, "x", SIZE, 3), *y = grade_output(g, "y", SIZE);
    double expected[SIZE], mixed[SIZE], unscaled[SIZE], future[SIZE];
    size_t from[N] = {0}, to[N] = {0}, none[N] = {0}, all[N], end[N] = {0};
    for (size_t i = 0; i < SIZE; i++)
        x[i] *= 3;
    grade_seal(g);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t i = (size_t)start[r]; i < (size_t)start[r + 1]; i++)
            from[i] = (size_t)start[r], end[i] = (size_t)start[r + 1], to[i] = causal ? i + 1 : end[i];
    for (size_t i = 0; i < N; i++)
        all[i] = causal ? i + 1 : N;
    average(expected, x, from, to, 0.5, N, COLUMNS); /* 1 / sqrt(4) */
    average(mixed, x, none, all, 0.5, N, COLUMNS);
    average(unscaled, x, from, to, 1, N, COLUMNS);
    average(future, x, from, end, 0.5, N, COLUMNS);
    packed_attention(y, x, start, causal, ROWS, N, COLUMNS);
    const Suspect suspects[] = {{mixed, "a vector sees those of its own row alone: start[r] .. start[r+1]-1"},
                                {unscaled, "scores are divided by sqrt(d)"},
                                {future, "if `causal`, vector i of x sees those up to i, and none after it"},
                                {NULL, NULL}};
    expect_numbers(g, "y", y, expected, SIZE, COLUMNS, 1e-5, suspects,
                   "softmax of the scores in a row, and the average of that row; vectors of no row give zeros");
}

static void packs_whole(Grade *g) { packed(g, false); }
static void packs_causal(Grade *g) { packed(g, true); }

static void mine(Kernels *k)
{
    k->pad = mine_pad;
    k->unpad = mine_unpad;
    k->mask = mine_mask;
}

/* ---- speed */

enum { TEXTS = 16, LONG = 128, WIDTH = 64 };

static const int32_t *long_start(void)
{
    static int32_t begins[TEXTS + 1];
    for (int32_t i = 0; i < TEXTS; i++)
        begins[i + 1] = begins[i] + LONG - 4 * i;
    return begins;
}

static void time_pad(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", TEXTS * LONG * WIDTH, 1), *y = grade_output(g, "y", TEXTS * LONG * WIDTH);
    while (grade_again(g))
        k->pad(s, y, (Strided){x, WIDTH}, long_start(), NULL, TEXTS, LONG, WIDTH);
}

static void time_unpad(Grade *g, const Kernels *k, Stream *s)
{
    float *x = grade_input(g, "x", TEXTS * LONG * WIDTH, 1), *y = grade_output(g, "y", TEXTS * LONG * WIDTH);
    size_t n = (size_t)long_start()[TEXTS];
    while (grade_again(g))
        k->unpad(s, (Strided){y, WIDTH}, false, x, long_start(), NULL, TEXTS, n, LONG, WIDTH);
}

static void time_mask(Grade *g, const Kernels *k, Stream *s)
{
    float *scores = grade_output(g, "scores", TEXTS * LONG * LONG);
    Attend how = {.rows = TEXTS,
                  .longest_query = LONG,
                  .longest_key = LONG,
                  .heads = 1,
                  .query_start = long_start(),
                  .key_start = long_start(),
                  .causal = true};
    while (grade_again(g))
        k->mask(s, scores, &how);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"pad", "rows of different lengths", 1, pads_rows, 0},
        {"pad", "chosen rows of a wider matrix", 1, pads_chosen, 0},
        {"unpad", "and back", 1, unpads_rows, 0},
        {"unpad", "sums, adds, and touches nothing else", 1, unpads_sums, 0},
        {"sees", "no key after its row's end", 1, asks_lengths, 0},
        {"sees", "no future", 1, asks_causal, 0},
        {"sees", "no more than a window", 1, asks_window, 0},
        {"sees", "blocks that are listed", 1, asks_blocks, 0},
        {"sees", "keys of another row, as far as they are valid", 1, asks_other_rows, 0},
        {"mask", "-infinity where nothing is seen, in every head", 2, hides_keys, 0},
        {"mask", "all that sees knows, and whatever was there", 1, hides_all, 0},
        {"packed_attention", "each row by itself", 2, packs_whole, 0},
        {"packed_attention", "and no future", 1, packs_causal, 0},
    };
    static const Timed timed[] = {{"pad", time_pad}, {"unpad", time_unpad}, {"mask", time_mask}};
    const Lesson lesson = {"Lesson 06: masks", checks, sizeof checks / sizeof *checks, mine, timed, 3};
    return grade_main(&lesson, argc, argv);
}
