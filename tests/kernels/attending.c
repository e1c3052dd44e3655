/* See attending.h. */
#include "tests/kernels/attending.h"

#include <math.h>
#include <stdio.h>

size_t sum_of(const int32_t *lengths, size_t rows)
{
    size_t sum = 0;
    for (size_t b = 0; b < rows; b++)
        sum += (size_t)lengths[b];
    return sum;
}

size_t most_of(const int32_t *lengths, size_t rows)
{
    size_t most = 0;
    for (size_t b = 0; b < rows; b++)
        most = (size_t)lengths[b] > most ? (size_t)lengths[b] : most;
    return most;
}

size_t keys_of(const Attending *a, size_t b) { return a->shared ? (size_t)a->key_row[b] : b; }

bool sees(const Attending *a, size_t b, size_t i, size_t j)
{
    long position = (long)i + (a->offsets ? a->offset[b] : 0), key = (long)j;
    if (i >= (size_t)a->queries[b] || key >= a->keys[keys_of(a, b)])
        return false;
    if (a->lengths && key >= a->length[keys_of(a, b)])
        return false;
    if (a->causal && key > position)
        return false;
    return !a->window || key > position - (long)a->window;
}

/* Lengths 0 and 1 are frequent, since they are where loops go wrong. */
static int32_t random_length(Random *r, bool longer)
{
    static const int32_t few[] = {0, 1, 2, 3, 5, 8};
    return longer && chance(r, 0.3) ? (int32_t)below(r, 70) : few[below(r, 6)];
}

Attending attending_random(uint32_t seed)
{
    Random r = {.seed = seed + 5000};
    bool longer = seed % 4 == 3;
    static const size_t sizes[] = {1, 2, 3, 5, 8, 16, 33, 64};
    Attending a = {.rows = seed ? 1 + below(&r, 4) : 0, .heads = 1 + below(&r, 3)};
    a.key_rows = a.rows;
    a.key_size = sizes[below(&r, longer ? 8 : 5)];
    a.value_size = chance(&r, 0.5) ? a.key_size : sizes[below(&r, longer ? 8 : 5)];
    a.spare_queries = chance(&r, 0.4) ? below(&r, 4) : 0;
    a.spare_keys = chance(&r, 0.4) ? below(&r, 4) : 0;
    a.shared = chance(&r, 0.3);
    if (a.shared)
        a.key_rows = 1 + below(&r, 3);
    bool cross = a.shared || chance(&r, 0.4);
    for (size_t b = 0; b < ROWS; b++) {
        a.queries[b] = random_length(&r, longer);
        a.keys[b] = cross ? random_length(&r, longer) : a.queries[b];
        a.key_row[b] = (int32_t)below(&r, a.key_rows + (a.key_rows == 0));
    }
    a.lengths = chance(&r, 0.3);
    a.offsets = chance(&r, 0.3);
    for (size_t b = 0; b < ROWS; b++) {
        a.length[b] = (int32_t)below(&r, (size_t)a.keys[b] + 1);
        a.offset[b] = (int32_t)below(&r, 6);
    }
    a.causal = chance(&r, 0.5);
    a.window = chance(&r, 0.3) ? 1 + below(&r, 4) : 0;
    a.weights = chance(&r, 0.4);
    a.gap = chance(&r, 0.5) ? 1 + below(&r, 9) : 0;
    a.scale = 1 / sqrt((double)a.key_size);
    a.drop = (Dropout){.rate = chance(&r, 0.4) ? 0.3 : 0, .site = 21, .side = seed % SIDES};
    return a;
}

static void lay_out(Case *c, size_t index, const char *name, const int32_t *lengths, size_t rows)
{
    Tensor *t = tensor(c, index, name, INTEGERS, READ, rows + 1, 1);
    for (size_t b = 0; b < rows; b++)
        *element(t, b + 1, 0) = *element(t, b, 0) + lengths[b];
}

static void per_row(Case *c, size_t index, const char *name, bool given, const int32_t *values, size_t rows)
{
    Tensor *t = tensor(c, index, name, INTEGERS, given ? READ : ABSENT, rows, 1);
    for (size_t b = 0; b < rows; b++)
        *element(t, b, 0) = values[b];
}

static void words(const Attending *a, char *text, size_t size)
{
    int n = snprintf(text, size, "H %d dk %d dv %d%s%s%s%s%s", (int)a->heads, (int)a->key_size, (int)a->value_size,
                     a->causal ? " causal" : "", a->window ? " window" : "", a->lengths ? " lengths" : "",
                     a->offsets ? " offsets" : "", a->drop.rate > 0 ? " dropout" : "");
    for (size_t b = 0; b < a->rows && n > 0 && (size_t)n < size; b++)
        n += snprintf(text + n, size - (size_t)n, " %dx%d", a->queries[b], a->keys[keys_of(a, b)]);
}

Case attending_case(const Attending *a, Call *call, uint32_t seed)
{
    Case c = case_new(call, a, seed);
    words(a, c.words, sizeof c.words);
    size_t rowed = sum_of(a->queries, a->rows), n = rowed + a->spare_queries;
    size_t keys = sum_of(a->keys, a->key_rows) + a->spare_keys;
    size_t longest_query = most_of(a->queries, a->rows), longest_key = most_of(a->keys, a->key_rows);
    size_t heads = a->heads, q_width = heads * a->key_size, v_width = heads * a->value_size;

    Tensor *y = tensor(&c, Y, "y", NUMBERS, WRITTEN, n, v_width);
    tensor(&c, LSE, "lse", REALS, a->spare_queries ? SPOILED : WRITTEN, n, heads)->floor = 1; /* of no row: anything */
    tensor(&c, WEIGHTS, "weights", REALS, a->weights ? WRITTEN : ABSENT, a->rows * heads * longest_query, longest_key)
        ->floor = 1;
    tensor_strided(&c, Q, "q", NUMBERS, READ, n, q_width, q_width + a->gap);
    tensor_strided(&c, K, "k", NUMBERS, READ, keys, q_width, q_width + 2 * a->gap);
    tensor_strided(&c, V, "v", NUMBERS, READ, keys, v_width, v_width + a->gap);
    Use wanted = a->shared ? ABSENT : GRADIENT;
    Tensor *dq = gradient(&c, DQ, "dq", NUMBERS, wanted, Q);
    Tensor *dk = gradient(&c, DK, "dk", NUMBERS, wanted, K);
    Tensor *dv = gradient(&c, DV, "dv", NUMBERS, wanted, V);
    output(&c, Y, DY);
    lay_out(&c, QUERY_START, "query_start", a->queries, a->rows);
    lay_out(&c, KEY_START, "key_start", a->keys, a->key_rows);
    per_row(&c, KEY_ROW, "key_row", a->shared, a->key_row, a->rows);
    per_row(&c, KEY_LENGTH, "key_length", a->lengths, a->length, a->key_rows);
    per_row(&c, QUERY_OFFSET, "query_offset", a->offsets, a->offset, a->rows);
    y->terms = dq->terms = longest_key + a->key_size;
    dk->terms = dv->terms = longest_query + a->value_size;
    dq->optional = dk->optional = dv->optional = true;
    y->floor = dq->floor = dk->floor = dv->floor = 1;
    dq->stores = dk->stores = 3; /* y's rounding comes back in dy . y */
    return c;
}

Attend attend_of(const Attending *a, void *const *at)
{
    return (Attend){.rows = a->rows,
                    .queries = sum_of(a->queries, a->rows) + a->spare_queries,
                    .longest_query = most_of(a->queries, a->rows),
                    .keys = sum_of(a->keys, a->key_rows) + a->spare_keys,
                    .longest_key = most_of(a->keys, a->key_rows),
                    .heads = a->heads,
                    .key_size = a->key_size,
                    .value_size = a->value_size,
                    .query_start = at[QUERY_START],
                    .key_start = at[KEY_START],
                    .key_row = at[KEY_ROW],
                    .key_length = at[KEY_LENGTH],
                    .query_offset = at[QUERY_OFFSET],
                    .causal = a->causal,
                    .window = a->window,
                    .scale = a->scale,
                    .dropout = a->drop,
                    .weights = at[WEIGHTS]};
}

Strided strided_of(const Case *c, void *const *at, size_t index)
{
    return (Strided){at[index], c->tensor[index].stride};
}

void attending_call(const Kernels *k, Stream *s, void *const *at, StepState *state, const Case *c)
{
    const Attending *a = c->shape;
    Attend how = attend_of(a, at);
    Strided q = strided_of(c, at, Q), keys = strided_of(c, at, K), v = strided_of(c, at, V);
    k->attention_forward(s, at[Y], at[LSE], q, keys, v, &how, state);
    AttendGradients d = {strided_of(c, at, DQ), strided_of(c, at, DK), strided_of(c, at, DV),
                         c->add != a->turn_q,   c->add != a->turn_k,   c->add != a->turn_v};
    if (at[DQ] || at[DK] || at[DV])
        k->attention_backward(s, &d, at[DY], at[Y], at[LSE], q, keys, v, &how, state);
}
