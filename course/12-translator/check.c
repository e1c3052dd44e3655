/* Lesson 12: what is graded. */
#include "course/12-translator/exercise.h"
#include "course/frame/grade.h"

#include <math.h>
#include <string.h>

/* ---- 1. teacher_forcing */

enum { NEVER = -77 };

/* Expects whole numbers, and says what a certain mistake would have given. */
static void expect_ids(Grade *g, const char *name, const int32_t *found, const int32_t *expected,
                       const int32_t *suspect, const char *mistake, const char *hint, size_t n)
{
    bool is_suspect = suspect && memcmp(found, suspect, n * sizeof *found) == 0;
    for (size_t i = 0; i < n; i++)
        expect(g, found[i] == expected[i],
               found[i] == NEVER ? "it was not written"
               : is_suspect      ? mistake
                                 : hint,
               "%s[%zu] is %d, not %d", name, i, (int)found[i], (int)expected[i]);
}

static void forces(Grade *g, const int32_t *start, size_t rows)
{
    enum { MOST = 12 };
    int32_t say[MOST], read[MOST + 2], position[MOST + 2], expected[MOST] = {0}, own[MOST] = {0}, through[MOST] = {0},
                                                           count[MOST] = {0};
    size_t n = (size_t)start[rows];
    for (size_t i = 0; i < MOST; i++)
        say[i] = (int32_t)(100 + 7 * i);
    for (size_t i = 0; i < MOST + 2; i++)
        read[i] = position[i] = NEVER;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = (size_t)start[r]; i < (size_t)start[r + 1]; i++) {
            bool first = i == (size_t)start[r];
            expected[i] = first ? 1 : say[i - 1];
            own[i] = say[i];
            through[i] = i ? say[i - 1] : 1;
            count[i] = (int32_t)(i - (size_t)start[r]);
        }
    teacher_forcing(read + 1, position + 1, say, start, rows, 1);
    expect(g, read[0] == NEVER && read[n + 1] == NEVER && position[0] == NEVER && position[n + 1] == NEVER,
           "write no more than the rows have", "something outside of the rows was written");
    const int32_t *suspect = memcmp(own, expected, n * sizeof *own) == 0 ? NULL : own;
    if (n && memcmp(read + 1, through, n * sizeof *through) == 0)
        suspect = NULL;
    expect_ids(g, "read", read + 1, expected, suspect,
               "a decoder that reads what it is to say has nothing to learn: read is one position behind say",
               "a row begins with `begin`, whatever the row before it ended with; then comes say, one position later",
               n);
    expect_ids(g, "position", position + 1, count, NULL, NULL, "the number within the row, from 0", n);
}

static void forces_one(Grade *g) { forces(g, (const int32_t[]){0, 5}, 1); }

static void forces_rows(Grade *g)
{
    forces(g, (const int32_t[]){0, 4, 4, 5, 5, 12}, 5);
    forces(g, (const int32_t[]){0, 0}, 1);
    forces(g, (const int32_t[]){0}, 0);
}

/* ---- 2. embed_backward */

enum { N = 7, D = 6, V = 4, PLACES = 4 };

static const int32_t slots[N] = {2, 0, 2, 2, -9, 3, 0}, position[N] = {0, 1, 2, 0, -1, 1, 3};

static void read_back(Grade *g, bool with_positions, Dropout drop)
{
    const double scale = 2.5;
    const StepState state = {.seed = 3, .step = 5, .first_position = {10, 20}};
    float *dy = grade_input(g, "dy", N * D, 1), *dtable = grade_output(g, "dtable", V * D);
    float *dpositions = grade_output(g, "dpositions", PLACES * D);
    double table[V * D], positions[PLACES * D], last[V * D], undropped[V * D], unscaled[V * D], fresh[V * D] = {0};
    for (size_t i = 0; i < V * D; i++)
        table[i] = last[i] = undropped[i] = unscaled[i] = dtable[i] = 0.25f;
    for (size_t i = 0; i < PLACES * D; i++)
        positions[i] = dpositions[i] = 0.5f;
    for (size_t e = 0; e < N * D; e++) {
        size_t i = e / D, j = e % D;
        if (position[i] < 0)
            continue;
        size_t at = (size_t)slots[i] * D + j;
        double value = (double)dy[e] * dropout_factor(drop, &state, i, 0, j);
        table[at] += scale * value;
        fresh[at] += scale * value;
        last[at] = 0.25 + scale * value;
        undropped[at] += scale * (double)dy[e];
        unscaled[at] += value;
        positions[(size_t)position[i] * D + j] += value;
    }
    mine_embed_backward(NULL, dtable, with_positions ? dpositions : NULL, dy, slots, position, scale, drop, &state, N,
                        D);
    const Suspect suspects[] = {
        {last, "a vector that was read several times gets all of their gradients: add, each time"},
        {fresh, "gradients of parameters are added to what is there"},
        {unscaled, "what was multiplied by scale forward is multiplied by it backward"},
        {drop.rate > 0 ? undropped : NULL, "what was dropped forward is dropped backward, by the same "
                                           "dropout_factor"},
        {NULL, NULL}};
    expect_numbers(g, "dtable", dtable, table, V * D, D, 1e-5, suspects,
                   "dtable[slots[i]] += scale * factor * dy[i], unless position[i] is below 0");
    if (with_positions)
        expect_numbers(g, "dpositions", dpositions, positions, PLACES * D, D, 1e-5, NULL,
                       "dpositions[position[i]] += factor * dy[i]: no scale, that is for words");
    else
        for (size_t i = 0; i < PLACES * D; i++)
            expect(g, dpositions[i] == 0.5f, "dpositions is NULL here", "dpositions[%zu] was changed", i);
}

static void reads_back(Grade *g)
{
    read_back(g, false, (Dropout){0});
    read_back(g, true, (Dropout){0});
}

static void reads_dropped(Grade *g) { read_back(g, true, (Dropout){.rate = 0.4, .site = 2, .side = 1}); }

/* ---- 3. attention_forward */

/* Mistakes that the reference can make on purpose */
typedef enum Mistake { NONE, UNSCALED, OWN_ROW, PADDED, FIRST_HEAD, UNDROPPED } Mistake;

typedef struct Place {
    size_t b, h, i, j;
} Place;

static double number_at(Strided x, size_t i, size_t h, size_t size, size_t c)
{
    return (double)((const float *)x.data)[i * x.stride + h * size + c];
}

static double bias_at(const void *bias, size_t h, size_t size, size_t c)
{
    return bias ? (double)((const float *)bias)[h * size + c] : 0;
}

static double score_at(const Attend *how, Keys keys, Strided q, Strided k, Place p, Mistake m)
{
    size_t n = (size_t)how->query_start[p.b] + p.i, dk = how->key_size;
    size_t e = how->distances ? distance_entry(how, keys, p.i, p.j) : 0, h = m == FIRST_HEAD ? 0 : p.h;
    double sum = 0;
    for (size_t c = 0; c < dk; c++) {
        double query = number_at(q, n, h, dk, c);
        sum += (query + bias_at(how->content_bias, h, dk, c)) * number_at(k, keys.start + p.j, h, dk, c);
        if (how->relative.data)
            sum += (query + bias_at(how->position_bias, h, dk, c)) * number_at(how->relative, e, h, dk, c);
    }
    sum *= m == UNSCALED ? 1 : how->scale;
    return how->distance_bias ? sum + (double)((const float *)how->distance_bias)[e * how->heads + p.h] : sum;
}

static bool is_seen(const Attend *how, Keys keys, size_t i, size_t j)
{
    return j < keys.length && keys_next(how, keys, i, j) == j;
}

typedef struct Expected {
    double *y, *lse, *weights;
} Expected;

/* One query and head */
static void attend_one(Expected *x, const Attend *how, Keys keys, Strided q, Strided k, Strided v,
                       const StepState *state, Place p, Mistake m)
{
    size_t n = (size_t)how->query_start[p.b] + p.i, dv = how->value_size, H = how->heads;
    double sum = 0, *out = x->y + (n * H + p.h) * dv;
    double *weights = x->weights + ((p.b * H + p.h) * how->longest_query + p.i) * how->longest_key;
    for (p.j = 0; p.j < keys.length; p.j++)
        if (is_seen(how, keys, p.i, p.j))
            sum += weights[p.j] = exp(score_at(how, keys, q, k, p, m));
    x->lse[n * H + p.h] = log(sum);
    for (p.j = 0; p.j < keys.length; p.j++) {
        if (!is_seen(how, keys, p.i, p.j))
            continue;
        double padding = m == PADDED ? (double)(how->longest_key - keys.length) : 0;
        weights[p.j] /= sum + padding;
        double factor = m == UNDROPPED ? 1 : dropout_factor(how->dropout, state, n, p.h, p.j);
        for (size_t c = 0; c < dv; c++)
            out[c] += factor * weights[p.j] * number_at(v, keys.start + p.j, p.h, dv, c);
    }
}

static Expected attend(const Attend *how, Strided q, Strided k, Strided v, const StepState *state, Mistake m)
{
    Expected x = {grade_doubles(how->queries * how->heads * how->value_size), grade_doubles(how->queries * how->heads),
                  grade_doubles(how->rows * how->heads * how->longest_query * how->longest_key)};
    Attend own = *how;
    if (m == OWN_ROW)
        own.key_start = own.query_start, own.key_row = own.key_length = NULL;
    for (size_t b = 0; b < how->rows; b++)
        for (size_t i = 0; i < (size_t)(how->query_start[b + 1] - how->query_start[b]); i++)
            for (size_t h = 0; h < how->heads; h++)
                attend_one(&x, &own, keys_of_row(&own, b), q, k, v, state, (Place){b, h, i, 0}, m);
    return x;
}

enum { DK = 3, DV = 2, HEADS = 2, QUERIES = 9, KEYS = 13, WIDER = 20 };

static const int32_t query_start[4] = {0, 5, 8, 8}, key_start[4] = {0, 4, 11, 12};

/* Queries of three rows, the last without any, and a position of no row; keys of three rows, and one of no row */
static Attend packed(void)
{
    return (Attend){.rows = 3,
                    .queries = QUERIES,
                    .longest_query = 5,
                    .keys = KEYS,
                    .longest_key = 7,
                    .heads = 1,
                    .key_size = DK,
                    .value_size = DV,
                    .query_start = query_start,
                    .key_start = key_start,
                    .scale = 0.577};
}

static void attends(Grade *g, Attend how, bool wants_weights)
{
    const StepState state = {.seed = 3, .step = 5, .first_position = {10, 20}};
    size_t H = how.heads, ny = how.queries * H * how.value_size, nl = how.queries * H;
    size_t nw = how.rows * H * how.longest_query * how.longest_key;
    float *q = grade_input(g, "q", QUERIES * WIDER, 1), *k = grade_input(g, "k", KEYS * WIDER, 2);
    float *v = grade_input(g, "v", KEYS * WIDER, 3), *y = grade_output(g, "y", ny), *lse = grade_output(g, "lse", nl);
    float *weights = wants_weights ? grade_output(g, "weights", nw) : NULL;
    for (size_t i = 0; i < QUERIES * WIDER; i++)
        q[i] *= 3;
    grade_seal(g);
    Strided sq = {q, WIDER}, sk = {k, WIDER}, sv = {v, WIDER};
    Expected right = attend(&how, sq, sk, sv, &state, NONE);
    double *lse_expected = grade_doubles(nl);
    for (size_t i = 0; i < nl; i++) /* -infinity is asked for below */
        lse_expected[i] = isfinite(right.lse[i]) ? right.lse[i] : 0;
    how.weights = weights;
    mine_attention_forward(NULL, y, lse, sq, sk, sv, &how, &state);
    how.weights = NULL;
    const Suspect suspects[] = {
        {attend(&how, sq, sk, sv, &state, UNSCALED).y, "scores are multiplied by how->scale"},
        {attend(&how, sq, sk, sv, &state, OWN_ROW).y,
         "keys have rows of their own: keys_of_row says where those of row b are, not query_start"},
        {attend(&how, sq, sk, sv, &state, FIRST_HEAD).y,
         "head h compares columns h*dk .. of q and k, each with its own"},
        {attend(&how, sq, sk, sv, &state, PADDED).y,
         "what comes after the end of a row of keys is no key: not even one with score 0"},
        {attend(&how, sq, sk, sv, &state, UNDROPPED).y,
         "after the softmax, each weight is multiplied by its dropout_factor"},
        {NULL, NULL}};
    expect_numbers(g, "y", y, right.y, ny, H * how.value_size, 1e-5, suspects,
                   "softmax of the scores of the keys that are seen, and the average of their values; positions of no "
                   "row, and queries that see nothing, give 0");
    for (size_t i = 0; i < nl; i++)
        if (!isfinite(right.lse[i])) {
            expect(g, isinf(lse[i]) && lse[i] < 0, "lse of a query that sees nothing is -infinity: log of a sum of 0",
                   "lse[%zu] is %g", i, (double)lse[i]);
            lse[i] = 0;
        }
    expect_numbers(g, "lse", lse, lse_expected, nl, H, 1e-5, NULL,
                   "lse is the largest score + log(sum of exp(score - largest)); 0 for positions of no row");
    if (weights)
        expect_numbers(g, "weights", weights, right.weights, nw, how.longest_key, 1e-5, NULL,
                       "how->weights [B,H,T,S] gets the softmax before dropout, and zeros everywhere else");
}

static void attends_one(Grade *g)
{
    static const int32_t start[2] = {0, 6}, keys[2] = {0, 9};
    Attend how = packed();
    how.rows = 1, how.queries = how.longest_query = 6, how.keys = how.longest_key = 9;
    how.query_start = start, how.key_start = keys;
    attends(g, how, false);
}

static void attends_rows(Grade *g) { attends(g, packed(), false); }

static void attends_heads(Grade *g)
{
    Attend how = packed();
    how.heads = HEADS;
    attends(g, how, false);
}

static void attends_some(Grade *g)
{
    static const int32_t offset[3] = {0, 3, 1}, row[3] = {1, 1, 0}, valid[3] = {3, 0, 1};
    static const int32_t begins[6] = {0, 1, 3, 3, 5, 6}, listed[6] = {1, 0, 3, 0, 1, 2};
    Attend how = packed();
    how.heads = HEADS, how.causal = true;
    attends(g, how, false);
    how.query_offset = offset, how.window = 2;
    attends(g, how, false);
    how.causal = false, how.window = 0;
    how.block = 2, how.block_start = begins, how.block_index = listed;
    attends(g, how, false);
    how = packed();
    how.key_row = row;
    attends(g, how, false);
    how.key_row = NULL, how.key_length = valid;
    attends(g, how, false);
}

static void attends_large(Grade *g)
{
    Attend how = packed();
    how.scale = 40;
    const StepState state = {0};
    float *q = grade_input(g, "q", QUERIES * DK, 1), *k = grade_input(g, "k", KEYS * DK, 2);
    float *v = grade_input(g, "v", KEYS * DV, 3), *y = grade_output(g, "y", QUERIES * DV);
    float *lse = grade_output(g, "lse", QUERIES);
    for (size_t i = 0; i < QUERIES * DK; i++)
        q[i] = 3 + q[i];
    for (size_t i = 0; i < KEYS * DK; i++)
        k[i] = 1 + k[i] / 20;
    grade_seal(g);
    Strided sq = {q, DK}, sk = {k, DK}, sv = {v, DV};
    Expected right = attend(&how, sq, sk, sv, &state, NONE);
    mine_attention_forward(NULL, y, lse, sq, sk, sv, &how, &state);
    for (size_t i = 0; i < QUERIES * DV; i++)
        expect(g, isfinite(y[i]), "take the largest score off before exp", "y[%zu] is %g, with scores of up to 700", i,
               (double)y[i]);
    expect_numbers(g, "y", y, right.y, QUERIES * DV, DV, 1e-3, NULL, "take the largest score off before exp");
    expect_numbers(g, "lse", lse, right.lse, QUERIES, 1, 1e-5, NULL, "largest + log(sum of exp(score - largest))");
}

static void attends_dropped(Grade *g)
{
    Attend how = packed();
    how.heads = HEADS, how.causal = true;
    how.dropout = (Dropout){.rate = 0.3, .site = 1, .side = 1};
    attends(g, how, false);
    attends(g, how, true);
}

static void attends_distances(Grade *g)
{
    enum { DISTANCES = 5 };
    Attend how = packed();
    how.heads = HEADS, how.distances = DISTANCES, how.ahead = 2;
    how.distance_bias = grade_input(g, "distance_bias", DISTANCES * HEADS, 5);
    attends(g, how, false);
    how.relative = (Strided){grade_input(g, "relative", DISTANCES * HEADS * DK, 6), HEADS * DK};
    attends(g, how, false);
    how.content_bias = grade_input(g, "content_bias", HEADS * DK, 7);
    how.position_bias = grade_input(g, "position_bias", HEADS * DK, 8);
    attends(g, how, false);
}

static void mine(Kernels *k)
{
    k->embed_backward = mine_embed_backward;
    k->attention_forward = mine_attention_forward;
}

/* ---- speed */

enum { TEXTS = 16, LONG = 24, WIDTH = 64 };

static void time_embed(Grade *g, const Kernels *k, Stream *s)
{
    static const StepState state;
    static int32_t ids[TEXTS * LONG * 8], places[TEXTS * LONG * 8];
    enum { MANY = sizeof ids / sizeof *ids };
    float *dy = grade_input(g, "dy", MANY * WIDTH, 1), *dtable = grade_output(g, "dtable", MANY * WIDTH);
    for (size_t i = 0; i < MANY; i++)
        ids[i] = (int32_t)(i * 37 % MANY), places[i] = (int32_t)(i % LONG);
    while (grade_again(g))
        k->embed_backward(s, dtable, NULL, dy, ids, places, 8, (Dropout){0}, &state, MANY, WIDTH);
}

static void time_attention(Grade *g, const Kernels *k, Stream *s)
{
    static const StepState state;
    static int32_t start[TEXTS + 1];
    const size_t n = TEXTS * LONG;
    float *q = grade_input(g, "q", n * WIDTH, 1), *keys = grade_input(g, "k", n * WIDTH, 2);
    float *v = grade_input(g, "v", n * WIDTH, 3), *y = grade_output(g, "y", n * WIDTH);
    float *lse = grade_output(g, "lse", n * 4);
    for (int32_t i = 0; i < TEXTS; i++)
        start[i + 1] = start[i] + LONG;
    const Attend how = {.rows = TEXTS,
                        .queries = n,
                        .longest_query = LONG,
                        .keys = n,
                        .longest_key = LONG,
                        .heads = 4,
                        .key_size = WIDTH / 4,
                        .value_size = WIDTH / 4,
                        .query_start = start,
                        .key_start = start,
                        .scale = 0.25};
    Strided sq = {q, WIDTH}, sk = {keys, WIDTH}, sv = {v, WIDTH};
    while (grade_again(g))
        k->attention_forward(s, y, lse, sq, sk, sv, &how, &state);
}

int main(int argc, char **argv)
{
    static const Check checks[] = {
        {"teacher_forcing", "one position later", 1, forces_one, 0},
        {"teacher_forcing", "each row by itself", 1, forces_rows, 0},
        {"embed_backward", "added up where a vector was read", 2, reads_back, 0},
        {"embed_backward", "and dropped as it was dropped", 1, reads_dropped, 0},
        {"attention_forward", "queries of one sentence, keys of another", 2, attends_one, 0},
        {"attention_forward", "several rows, each with its own keys", 2, attends_rows, 0},
        {"attention_forward", "several heads", 1, attends_heads, 0},
        {"attention_forward", "large scores", 1, attends_large, 0},
        {"attention_forward", "only what may be seen", 1, attends_some, 0},
        {"attention_forward", "dropout, and weights to look at", 1, attends_dropped, 0},
        {"attention_forward", "more terms of a score", 1, attends_distances, 0},
    };
    static const Timed timed[] = {{"embed_backward", time_embed}, {"attention_forward", time_attention}};
    const Lesson lesson = {"Lesson 12: a translator", checks, sizeof checks / sizeof *checks, mine, timed, 2};
    return grade_main(&lesson, argc, argv);
}
