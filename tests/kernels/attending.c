/* See attending.h. */
#include "tests/kernels/attending.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

size_t kv_heads_of(const Attending *a) { return a->kv_heads ? a->kv_heads : a->heads; }

/* Block k of keys, from block p. */
static bool block_sees(const Attending *a, long p, long k)
{
    long stride = (long)a->stride, away = labs(p - k);
    switch (a->rule) {
    case PATTERN_LISTS: return a->listed(a, (size_t)p, (size_t)k);
    case PATTERN_LOCAL: return away < stride;
    case PATTERN_STRIDED: return away < stride || away % stride == 0;
    case PATTERN_FIXED: return p / stride == k / stride || k % stride == stride - 1;
    }
    return false;
}

bool sees(const Attending *a, size_t b, size_t i, size_t j)
{
    long position = (long)i + (a->offsets ? a->offset[b] : 0), key = (long)j;
    if (i >= (size_t)a->queries[b] || key >= a->keys[keys_of(a, b)])
        return false;
    if (a->lengths && key >= a->length[keys_of(a, b)])
        return false;
    if (a->causal && key > position)
        return false;
    if (j < a->sinks)
        return true;
    bool all = a->rule == PATTERN_LOCAL && position < (long)a->sinks;
    if (a->block && !all && !block_sees(a, position / (long)a->block, key / (long)a->block))
        return false;
    return !a->window || key > position - (long)a->window;
}

size_t entry_of(const Attending *a, size_t b, size_t i, size_t j)
{
    long back = (long)i + (a->offsets ? a->offset[b] : 0) - (long)j;
    long lowest = -(long)a->ahead, highest = lowest + (long)a->distances - 1;
    return (size_t)((back < lowest ? lowest : back > highest ? highest : back) - lowest);
}

bool listed_by_chance(const Attending *a, size_t position, size_t key)
{
    Random r = {.seed = a->pattern + (uint32_t)(1009 * position + key)};
    return chance(&r, 0.4);
}

/* Lengths 0 and 1 are frequent, because they are where loops go wrong. */
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
    static const size_t blocks[] = {1, 2, 3, 4, 7, 32};
    a.block = chance(&r, 0.3) ? blocks[below(&r, 6)] : 0;
    a.listed = listed_by_chance;
    a.pattern = 100000 * seed;
    Random own = {.seed = seed + 17000}; /* other draws stay as they were without it */
    a.rule = a.block && chance(&own, 0.6) ? (Pattern)below(&own, PATTERN_FIXED + 1) : PATTERN_LISTS;
    a.stride = a.rule == PATTERN_LISTS ? 0 : 1 + below(&own, 4);
    a.sinks = chance(&own, 0.25) ? 1 + below(&own, 4) : 0;
    return a;
}

Attending attending_distant(uint32_t seed)
{
    Random r = {.seed = seed + 6000};
    Attending a = attending_random(seed);
    a.distances = 1 + below(&r, chance(&r, 0.3) ? 80 : 9);
    a.ahead = chance(&r, 0.3) ? 0 : below(&r, a.distances + 2);
    a.distance_bias = chance(&r, 0.6);
    a.relative = chance(&r, 0.6);
    a.content_bias = chance(&r, 0.4);
    a.position_bias = a.relative && chance(&r, 0.5);
    a.cap = chance(&r, 0.3) ? 0.4 + (double)below(&r, 5) : 0;
    return a;
}

Attending attending_grouped(uint32_t seed)
{
    Attending a = seed % 2 ? attending_distant(seed / 2) : attending_random(seed / 2);
    Random r = {.seed = seed + 7000};
    a.kv_heads = chance(&r, 0.4) ? 1 : a.heads;
    a.heads = a.kv_heads * (2 + below(&r, 2));
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
    int n = snprintf(text, size, "H %d/%d dk %d dv %d%s%s%s%s%s", (int)a->heads, (int)kv_heads_of(a), (int)a->key_size,
                     (int)a->value_size, a->causal ? " causal" : "", a->window ? " window" : "",
                     a->lengths ? " lengths" : "", a->offsets ? " offsets" : "", a->drop.rate > 0 ? " dropout" : "");
    if (a->block)
        n += snprintf(text + n, size - (size_t)n, " block %d rule %d stride %d", (int)a->block, (int)a->rule,
                      (int)a->stride);
    if (a->sinks || a->cap > 0)
        n += snprintf(text + n, size - (size_t)n, " sinks %d cap %g", (int)a->sinks, a->cap);
    if (a->distances)
        n += snprintf(text + n, size - (size_t)n, " distances %d-%d%s%s%s%s", (int)a->distances, (int)a->ahead,
                      a->distance_bias ? " bias" : "", a->relative ? " relative" : "",
                      a->content_bias ? " content" : "", a->position_bias ? " position" : "");
    for (size_t b = 0; b < a->rows && n > 0 && (size_t)n < size; b++)
        n += snprintf(text + n, size - (size_t)n, " %dx%d", a->queries[b], a->keys[keys_of(a, b)]);
}

/* The lists of blocks, for all positions that there are, and a block of keys after the last. */
static void lay_out_blocks(Case *c, const Attending *a)
{
    size_t positions = most_of(a->queries, a->rows) + (a->offsets ? most_of(a->offset, a->rows) : 0);
    size_t block = a->block ? a->block : 1, keys = most_of(a->keys, a->key_rows) / block + 2, n = 0;
    const bool lists = a->block && !a->stride;
    Use use = lists ? READ : ABSENT;
    positions = positions / block + 1;
    Tensor *start = tensor(c, BLOCK_START, "block_start", INTEGERS, use, positions + 1, 1);
    Tensor *index = tensor(c, BLOCK_INDEX, "block_index", INTEGERS, use, positions * keys, 1);
    for (size_t p = 0; lists && p < positions; p++) {
        for (size_t k = 0; k < keys; k++)
            if (a->listed(a, p, k))
                *element(index, n++, 0) = (double)k;
        *element(start, p + 1, 0) = (double)n;
    }
}

/* Terms of a score beyond q . k, and their gradients. */
static void lay_out_terms(Case *c, const Attending *a)
{
    size_t width = a->heads * a->key_size, pairs = sum_of(a->queries, a->rows) * most_of(a->keys, a->key_rows);
    tensor(c, DISTANCE_BIAS, "distance_bias", REALS, a->distance_bias ? READ : ABSENT, a->distances, a->heads);
    tensor_strided(c, RELATIVE, "relative", NUMBERS, a->relative ? READ : ABSENT, a->distances, width, width + a->gap);
    tensor(c, CONTENT_BIAS, "content_bias", REALS, a->content_bias ? READ : ABSENT, 1, width);
    tensor(c, POSITION_BIAS, "position_bias", REALS, a->position_bias ? READ : ABSENT, 1, width);
    for (size_t i = 0; i < 4; i++) {
        static const char *const names[] = {"ddistance_bias", "drelative", "dcontent_bias", "dposition_bias"};
        const Tensor *of = &c->tensor[DISTANCE_BIAS + i];
        Use use = of->use == ABSENT || a->shared ? ABSENT : of->kind == NUMBERS ? GRADIENT : ADDED;
        Tensor *t = gradient(c, DDISTANCE_BIAS + i, names[i], of->kind, use, DISTANCE_BIAS + i);
        t->terms = pairs;
        t->stores = 3;
        t->floor = sqrt((double)(1 + a->value_size * sum_of(a->queries, a->rows))); /* each query's terms cancel */
        t->optional = true;
    }
}

Case attending_case(const Attending *a, Call *call, uint32_t seed)
{
    Case c = case_new(call, a, seed);
    words(a, c.words, sizeof c.words);
    size_t rowed = sum_of(a->queries, a->rows), n = rowed + a->spare_queries;
    size_t keys = sum_of(a->keys, a->key_rows) + a->spare_keys;
    size_t longest_query = most_of(a->queries, a->rows), longest_key = most_of(a->keys, a->key_rows);
    size_t heads = a->heads, group = heads / kv_heads_of(a), q_width = heads * a->key_size,
           v_width = heads * a->value_size;

    Tensor *y = tensor(&c, Y, "y", NUMBERS, WRITTEN, n, v_width);
    tensor(&c, LSE, "lse", REALS, a->spare_queries ? SPOILED : WRITTEN, n, heads)->floor = 1; /* of no row: anything */
    tensor(&c, WEIGHTS, "weights", REALS, a->weights ? WRITTEN : ABSENT, a->rows * heads * longest_query, longest_key)
        ->floor = 1;
    tensor_strided(&c, Q, "q", NUMBERS, READ, n, q_width, q_width + a->gap);
    tensor_strided(&c, K, "k", NUMBERS, READ, keys, q_width / group, q_width / group + 2 * a->gap);
    tensor_strided(&c, V, "v", NUMBERS, READ, keys, v_width / group, v_width / group + a->gap);
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
    dk->terms = dv->terms = group * longest_query + a->value_size;
    dq->optional = dk->optional = dv->optional = true;
    y->floor = dq->floor = dk->floor = dv->floor = 1;
    if (a->block || a->sinks) /* where a query sees one key alone, dy . v is all of dy . y */
        dq->floor = dk->floor = sqrt((double)a->value_size);
    dq->stores = dk->stores = 3; /* y's rounding comes back in dy . y */
    lay_out_blocks(&c, a);
    lay_out_terms(&c, a);
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
                    .kv_heads = a->kv_heads,
                    .key_size = a->key_size,
                    .value_size = a->value_size,
                    .query_start = at[QUERY_START],
                    .key_start = at[KEY_START],
                    .key_row = at[KEY_ROW],
                    .key_length = at[KEY_LENGTH],
                    .query_offset = at[QUERY_OFFSET],
                    .causal = a->causal,
                    .window = a->window,
                    .sinks = a->sinks,
                    .block = a->block,
                    .pattern = a->rule,
                    .stride = a->stride,
                    .block_start = at[BLOCK_START],
                    .block_index = at[BLOCK_INDEX],
                    .scale = a->scale,
                    .cap = a->cap,
                    .distances = a->distances,
                    .ahead = a->ahead,
                    .distance_bias = at[DISTANCE_BIAS],
                    .relative = {at[RELATIVE], a->heads * a->key_size + a->gap},
                    .content_bias = at[CONTENT_BIAS],
                    .position_bias = at[POSITION_BIAS],
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
    AttendGradients d = {.q = strided_of(c, at, DQ),
                         .k = strided_of(c, at, DK),
                         .v = strided_of(c, at, DV),
                         .relative = strided_of(c, at, DRELATIVE),
                         .add_q = c->add != a->turn_q,
                         .add_k = c->add != a->turn_k,
                         .add_v = c->add != a->turn_v,
                         .add_relative = c->add != a->turn_relative,
                         .distance_bias = at[DDISTANCE_BIAS],
                         .content_bias = at[DCONTENT_BIAS],
                         .position_bias = at[DPOSITION_BIAS]};
    if (!a->shared)
        k->attention_backward(s, &d, at[DY], at[Y], at[LSE], q, keys, v, &how, state);
}

Attending attending_few(uint32_t seed)
{
    static const size_t sizes[] = {1, 7, 16, 31, 32, 33, 48, 64, 65, 100, 131, 150};
    Random r = {.seed = seed + 9000};
    Attending a = {.rows = 2, .key_rows = 2, .heads = 1 + seed % 5, .scale = 0.1, .lengths = true, .offsets = true};
    for (size_t b = 0; b < 2; b++) {
        a.queries[b] = 1 + (int32_t)below(&r, 4);
        a.keys[b] = 1 + (int32_t)below(&r, 100);
        a.length[b] = a.keys[b] - (int32_t)below(&r, 2);
        a.offset[b] = a.length[b] > a.queries[b] ? a.length[b] - a.queries[b] : 0;
    }
    a.key_size = sizes[below(&r, 12)];
    a.value_size = sizes[below(&r, 12)];
    a.causal = chance(&r, 0.7);
    a.window = chance(&r, 0.4) ? 1 + below(&r, 40) : 0;
    a.sinks = seed % 7 == 3 ? 2 : 0;
    a.cap = seed % 5 == 1 ? 1.5 : 0;
    a.weights = chance(&r, 0.3);
    a.gap = below(&r, 3);
    a.drop = (Dropout){.rate = chance(&r, 0.2) ? 0.3 : 0, .site = 4};
    return a;
}

Attending attending_one(uint32_t seed)
{
    static const size_t values[] = {32, 64, 96, 128, 16, 33};
    Random r = {.seed = seed + 700};
    Attending a = attending_few(seed);
    a.rows = a.key_rows = 1;
    a.queries[0] = 1;
    a.heads = 1 + below(&r, 9);
    a.value_size = values[seed % 6];
    a.weights = a.weights && seed % 4 == 0;
    a.drop.rate = seed % 5 ? 0 : 0.3;
    a.spare_queries = below(&r, 2);
    a.offset[0] = a.length[0] - (int32_t)below(&r, 3);
    a.offset[0] = a.offset[0] < 0 ? 0 : a.offset[0];
    return a;
}

Case attending_forward(const Attending *a, uint32_t seed)
{
    Case c = attending_case(a, attending_call, seed);
    c.tensor[DQ].use = c.tensor[DK].use = c.tensor[DV].use = ABSENT;
    return c;
}
