/* See onnx_network.h. Heads are two dimensions, [kv heads, heads of queries that share them], so that keys and values
 * broadcast over the second. */
#include "core/exchange/onnx_network.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/naming.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool onnx_network_open(OnnxNetwork *n, const Json *model, const Tensors *weights, Error *e)
{
    *n = (OnnxNetwork){.model = model, .weights = weights, .given = memory_get(weights->count + 1, sizeof *n->given)};
    n->heads = model_size(model, "heads");
    n->kv_heads = model_size(model, "kv-heads") ? model_size(model, "kv-heads") : n->heads;
    n->key_size = model_size(model, "head-size") ? model_size(model, "head-size") : model_size(model, "dim") / n->heads;
    n->value_size = model_size(model, "value-size") ? model_size(model, "value-size") : n->key_size;
    return n->given || memory_error(e, "weights of a graph", weights->count, sizeof *n->given);
}

bool onnx_network_write(OnnxNetwork *n, const char *folder, const char *name, Error *e)
{
    char *path = path_join(folder, name);
    const bool fine = path ? onnx_write(&n->graph, path, e) : memory_error(e, folder, 1, 1);
    memory_free(path);
    onnx_close(&n->graph);
    memory_free(n->given);
    *n = (OnnxNetwork){.model = NULL};
    return fine;
}

/* ---- weights */

bool onnx_has(const OnnxNetwork *n, const char *name) { return tensors_find(n->weights, name); }

OnnxValue onnx_weight(OnnxNetwork *n, const char *name)
{
    const SafeTensor *t = tensors_find(n->weights, name);
    OnnxValue v = {""};
    if (!t) {
        n->graph.failed = true; /* an option that ONNX_SAYS should not have: a test finds it */
        return v;
    }
    bool *given = &n->given[t - n->weights->list];
    if (!*given)
        onnx_floats(&n->graph, name, tensor_floats(t), t->shape, t->rank);
    *given = true;
    snprintf(v.name, sizeof v.name, "%s", name);
    return v;
}

typedef struct Name {
    char text[NAMING_NAME];
} Name;

/* "blocks.0.ff" and its "in" */
static Name part(const char *of, const char *which)
{
    Name name;
    snprintf(name.text, sizeof name.text, "%.90s.%.30s", of, which);
    return name;
}

OnnxValue onnx_linear_by(OnnxNetwork *n, OnnxValue w, const char *name, OnnxValue x)
{
    static const int64_t transposed[] = {1, 0};
    const Name bias = part(name, "bias");
    Onnx *g = &n->graph;
    const OnnxValue y = onnx_two(g, "MatMul", x, onnx_transpose(g, w, transposed, 2));
    return onnx_has(n, bias.text) ? onnx_two(g, "Add", y, onnx_weight(n, bias.text)) : y;
}

OnnxValue onnx_linear(OnnxNetwork *n, const char *name, OnnxValue x)
{
    return onnx_linear_by(n, onnx_weight(n, part(name, "weight").text), name, x);
}

OnnxValue onnx_norm(OnnxNetwork *n, const char *name, OnnxValue x)
{
    const Name bias = part(name, "bias");
    const double epsilon = model_epsilon(n->model);
    Onnx *g = &n->graph;
    const OnnxValue gain = onnx_weight(n, part(name, "weight").text), none = {""};
    if (model_is(n->model, "norm-kind", "layer"))
        return onnx_layer_norm(g, x, gain, onnx_has(n, bias.text) ? onnx_weight(n, bias.text) : none, epsilon);
    const OnnxValue squares = onnx_mean(g, onnx_two(g, "Mul", x, x)),
                    root = onnx_one(g, "Sqrt", onnx_two(g, "Add", squares, onnx_number(g, epsilon)));
    return onnx_two(g, "Mul", onnx_two(g, "Div", x, root), gain);
}

/* ---- the feed-forward network */

static OnnxValue times(Onnx *g, OnnxValue x, double factor) { return onnx_two(g, "Mul", x, onnx_number(g, factor)); }

/* x (1 + f) / 2 */
static OnnxValue half_more(Onnx *g, OnnxValue x, OnnxValue f)
{
    return times(g, onnx_two(g, "Mul", x, onnx_two(g, "Add", f, onnx_number(g, 1))), 0.5);
}

OnnxValue onnx_activation(OnnxNetwork *n, OnnxValue x)
{
    Onnx *g = &n->graph;
    if (model_is(n->model, "activation", "silu"))
        return onnx_two(g, "Mul", x, onnx_one(g, "Sigmoid", x));
    if (model_is(n->model, "activation", "gelu"))
        return half_more(g, x, onnx_one(g, "Erf", times(g, x, sqrt(0.5))));
    if (model_is(n->model, "activation", "gelu-tanh")) {
        const OnnxValue cube = onnx_two(g, "Mul", onnx_two(g, "Mul", x, x), x),
                        inner = onnx_two(g, "Add", x, times(g, cube, 0.044715));
        return half_more(g, x, onnx_one(g, "Tanh", times(g, inner, 0.79788456080286535588)));
    }
    const OnnxValue y = onnx_one(g, "Relu", x);
    return model_is(n->model, "activation", "relu2") ? onnx_two(g, "Mul", y, y) : y;
}

static OnnxValue feedforward(OnnxNetwork *n, const char *name, OnnxValue x)
{
    const OnnxValue h = onnx_linear(n, part(name, "in").text, x);
    const bool gated = model_is(n->model, "gate", "yes");
    const OnnxValue active = onnx_activation(n, gated ? onnx_linear(n, part(name, "gate").text, x) : h);
    return onnx_linear(n, part(name, "out").text, gated ? onnx_two(&n->graph, "Mul", active, h) : active);
}

/* ---- attention */

OnnxValue onnx_positions(OnnxNetwork *n, OnnxValue ids)
{
    Onnx *g = &n->graph;
    const OnnxValue length = onnx_two(g, "Gather", onnx_one(g, "Shape", ids), onnx_integer(g, 1));
    return onnx_three(g, "Range", onnx_integer(g, 0), length, onnx_integer(g, 1));
}

/* As a column, for queries; as a row it broadcasts over keys. */
static OnnxValue column(Onnx *g, OnnxValue positions)
{
    static const int64_t shape[] = {-1, 1};
    return onnx_reshape(g, positions, shape, 2);
}

OnnxValue onnx_seen(OnnxNetwork *n, OnnxValue positions, bool causal)
{
    Onnx *g = &n->graph;
    const OnnxValue query = column(g, positions);
    const size_t window = model_size(n->model, "window");
    const OnnxValue last = causal ? query : onnx_one(g, "ReduceMax", positions),
                    seen = onnx_two(g, "LessOrEqual", positions, last);
    if (!window)
        return seen;
    const OnnxValue after = onnx_two(g, "Sub", query, onnx_integer(g, (int64_t)window));
    return onnx_two(g, "And", seen, onnx_two(g, "Greater", positions, after));
}

/* x cos + half(x) sin, for [batch, length, kv heads, heads, size] */
static OnnxValue rotated(OnnxNetwork *n, const char *name, OnnxValue x, OnnxValue positions)
{
    const int64_t shape[] = {-1, 1, 1, (int64_t)n->key_size};
    Onnx *g = &n->graph;
    OnnxValue angle[2];
    for (size_t i = 0; i < 2; i++) {
        const OnnxValue rows = onnx_weight(n, part(name, i ? "sine" : "cosine").text);
        angle[i] = onnx_reshape(g, onnx_two(g, "Gather", rows, positions), shape, 4);
    }
    const OnnxValue half = onnx_two(g, "MatMul", x, onnx_weight(n, part(name, "half").text));
    return onnx_two(g, "Add", onnx_two(g, "Mul", x, angle[0]), onnx_two(g, "Mul", half, angle[1]));
}

/* [batch, length, kv heads, heads of each, size] in this order */
static OnnxValue heads_of(OnnxNetwork *n, OnnxValue x, size_t each, size_t size)
{
    const int64_t shape[] = {0, 0, (int64_t)n->kv_heads, (int64_t)each, (int64_t)size};
    return onnx_reshape(&n->graph, x, shape, 5);
}

/* A bias for each distance [entries, heads], made of buckets as distances.c names them. All blocks of a stack have the same
 * buckets, so those of the first serve all; of t5 the table, too, is the stack's. */
static OnnxValue of_buckets(OnnxNetwork *n, const char *name)
{
    const int stack = (int)strcspn(name, ".");
    Name owner, buckets;
    snprintf(owner.text, sizeof owner.text, "%.*s", model_is(n->model, "distances", "t5") ? stack : 90, name);
    snprintf(buckets.text, sizeof buckets.text, "%.*s.0.attention.bucket", stack, name);
    return onnx_linear(n, part(owner.text, "distance_bias").text, onnx_weight(n, buckets.text));
}

/* The entry of each distance in a table [entries, heads]: [kv heads, heads of each, queries, keys] */
static OnnxValue distance_bias(OnnxNetwork *n, OnnxValue table, size_t count, OnnxValue positions)
{
    static const int64_t order[] = {2, 3, 0, 1};
    const int64_t shape[] = {0, 0, (int64_t)n->kv_heads, (int64_t)(n->heads / n->kv_heads)};
    const int64_t entries = (int64_t)count, context = (int64_t)model_size(n->model, "context");
    Onnx *g = &n->graph;
    OnnxValue entry = onnx_two(g, "Sub", column(g, positions), positions);
    if (entries > context) /* those of keys ahead come first */
        entry = onnx_two(g, "Add", entry, onnx_integer(g, entries - context));
    entry = onnx_two(g, "Max", entry, onnx_integer(g, 0));
    entry = onnx_two(g, "Min", entry, onnx_integer(g, entries - 1));
    const OnnxValue bias = onnx_two(g, "Gather", table, entry);
    return onnx_transpose(g, onnx_reshape(g, bias, shape, 4), order, 4);
}

/* What spans add for each distance: log clamp((R + clamp(z, 0, 1) S - d) / R, 0, 1), S the context and R the ramp */
static OnnxValue span_bias(OnnxNetwork *n, const char *span, OnnxValue positions)
{
    const int64_t shape[] = {(int64_t)n->kv_heads, (int64_t)(n->heads / n->kv_heads), 1, 1};
    const double ramp = json_get(n->model, "adaptive-span")->number, context = (double)model_size(n->model, "context");
    Onnx *g = &n->graph;
    const OnnxValue none = onnx_number(g, 0), all = onnx_number(g, 1),
                    z = onnx_three(g, "Clip", onnx_weight(n, span), none, all),
                    reach = onnx_reshape(g, times(g, z, context / ramp), shape, 4),
                    distance = onnx_cast(g, onnx_one(g, "Abs", onnx_two(g, "Sub", column(g, positions), positions)),
                                         ONNX_FLOAT),
                    left = onnx_two(g, "Sub", onnx_two(g, "Add", reach, all), times(g, distance, 1 / ramp));
    return onnx_one(g, "Log", onnx_three(g, "Clip", left, none, all));
}

static OnnxValue scores(OnnxNetwork *n, const char *name, OnnxValue q, OnnxValue k, OnnxValue positions, OnnxValue seen)
{
    static const int64_t queries[] = {0, 2, 3, 1, 4}, keys[] = {0, 2, 3, 4, 1};
    const Name table = part(name, "distance_bias"), bucket = part(name, "bucket"), span = part(name, "span");
    const SafeTensor *own = tensors_find(n->weights, table.text), *buckets = tensors_find(n->weights, bucket.text);
    Onnx *g = &n->graph;
    OnnxValue s = onnx_two(g, "MatMul", onnx_transpose(g, q, queries, 5), onnx_transpose(g, k, keys, 5));
    if (model_is(n->model, "score", "scaled-dot"))
        s = times(g, s, 1 / sqrt((double)n->key_size));
    if (own)
        s = onnx_two(g, "Add", s, distance_bias(n, onnx_weight(n, table.text), own->shape[0], positions));
    if (buckets)
        s = onnx_two(g, "Add", s, distance_bias(n, of_buckets(n, name), buckets->shape[0], positions));
    if (onnx_has(n, span.text))
        s = onnx_two(g, "Add", s, span_bias(n, span.text, positions));
    return onnx_three(g, "Where", seen, s, onnx_number(g, -1e30)); /* finite: a query may see no key, in padding */
}

/* Queries of x, keys and values of y; where these are others, positions are not counted. */
static OnnxValue attention(OnnxNetwork *n, const char *name, OnnxValue x, OnnxValue y, OnnxValue positions,
                           OnnxValue seen)
{
    static const int64_t values[] = {0, 2, 3, 1, 4}, back[] = {0, 3, 1, 2, 4};
    const int64_t joined[] = {0, 0, (int64_t)(n->heads * n->value_size)};
    const size_t each = n->heads / n->kv_heads;
    Onnx *g = &n->graph;
    OnnxValue q = heads_of(n, onnx_linear(n, part(name, "query").text, x), each, n->key_size),
              k = heads_of(n, onnx_linear(n, part(name, "key").text, y), 1, n->key_size),
              v = heads_of(n, onnx_linear(n, part(name, "value").text, y), 1, n->value_size);
    if (onnx_has(n, part(name, "cosine").text)) {
        q = rotated(n, name, q, positions);
        k = rotated(n, name, k, positions);
    }
    const OnnxValue weights = onnx_softmax(g, scores(n, name, q, k, positions, seen)),
                    sums = onnx_two(g, "MatMul", weights, onnx_transpose(g, v, values, 5));
    return onnx_linear(n, part(name, "out").text, onnx_reshape(g, onnx_transpose(g, sums, back, 5), joined, 3));
}

/* ---- blocks */

/* Where norms are, as block.c has it: before a branch, after it, or after the sum. */
static OnnxValue enter(OnnxNetwork *n, const char *name, OnnxValue x)
{
    return model_is(n->model, "norm", "post") ? x : onnx_norm(n, name, x);
}

static OnnxValue leave(OnnxNetwork *n, const char *name, OnnxValue x, OnnxValue f)
{
    Name out;
    snprintf(out.text, sizeof out.text, "%.100s_out", name);
    const OnnxValue sum = onnx_two(&n->graph, "Add", x,
                                   model_is(n->model, "norm", "sandwich") ? onnx_norm(n, out.text, f) : f);
    return model_is(n->model, "norm", "post") ? onnx_norm(n, name, sum) : sum;
}

static OnnxValue block(OnnxNetwork *n, const OnnxStack *s, const char *name, OnnxValue x)
{
    const Name first = part(name, "norm1"), cross = part(name, "norm_cross"), last = part(name, "norm2");
    const bool parallel = model_is(n->model, "norm", "parallel");
    const OnnxValue read = enter(n, first.text, x);
    x = leave(n, first.text, x, attention(n, part(name, "attention").text, read, read, s->positions, s->seen));
    if (s->memory) {
        const OnnxValue q = parallel ? read : enter(n, cross.text, x);
        x = leave(n, cross.text, x,
                  attention(n, part(name, "cross").text, q, *s->memory, s->positions, *s->memory_seen));
    }
    return leave(n, last.text, x, feedforward(n, part(name, "ff").text, parallel ? read : enter(n, last.text, x)));
}

static Name norm_of(const OnnxStack *s, const char *which)
{
    Name name;
    snprintf(name.text, sizeof name.text, "%.60s%.30s", s->norms, which);
    return name;
}

OnnxValue onnx_stack(OnnxNetwork *n, const OnnxStack *s, OnnxValue x)
{
    const size_t loops = model_size(n->model, "loops");
    const Name before = norm_of(s, "embedding_norm"), after = norm_of(s, "norm");
    if (onnx_has(n, part(before.text, "weight").text))
        x = onnx_norm(n, before.text, x);
    for (size_t i = 0; i < s->depth * (loops ? loops : 1); i++) {
        Name name;
        snprintf(name.text, sizeof name.text, "%.90s.%zu", s->blocks, i % s->depth);
        x = block(n, s, name.text, x);
    }
    return onnx_has(n, part(after.text, "weight").text) ? onnx_norm(n, after.text, x) : x;
}

/* ---- before and after them */

OnnxValue onnx_valid(OnnxNetwork *n, OnnxValue mask)
{
    static const int64_t keys[] = {0, 1, 1, 1, -1};
    return onnx_reshape(&n->graph, onnx_cast(&n->graph, mask, ONNX_BOOL), keys, 5);
}

OnnxValue onnx_embedding(OnnxNetwork *n, const char *table, const char *of_positions, double scale, OnnxValue ids,
                         OnnxValue positions)
{
    Onnx *g = &n->graph;
    OnnxValue x = onnx_two(g, "Gather", onnx_weight(n, table), ids);
    x = scale > 1 || scale < 1 ? times(g, x, scale) : x;
    if (!onnx_has(n, of_positions))
        return x;
    return onnx_two(g, "Add", x, onnx_two(g, "Gather", onnx_weight(n, of_positions), positions));
}

/* ids [batch, length] moved by some positions: -1 comes before the first. */
static OnnxValue earlier(Onnx *g, OnnxValue ids, size_t back)
{
    const int64_t pads[] = {0, (int64_t)back, 0, 0}, starts[] = {0, 0}, ends[] = {INT64_MAX, -(int64_t)back};
    if (!back)
        return ids;
    const OnnxValue moved = onnx_three(g, "Pad", ids, onnx_integers(g, pads, 4), onnx_integer(g, -1));
    return onnx_three(g, "Slice", moved, onnx_integers(g, starts, 2), onnx_integers(g, ends, 2));
}

OnnxValue onnx_ngrams(OnnxNetwork *n, int64_t factor, int64_t prime, OnnxValue ids, OnnxValue x)
{
    static const char name[] = "ngram_embedding.weight";
    const SafeTensor *table = tensors_find(n->weights, name);
    const size_t longest = model_size(n->model, "ngrams");
    Onnx *g = &n->graph;
    for (size_t length = 2; table && length <= longest; length++) {
        const OnnxValue by = onnx_integer(g, factor), modulo = onnx_integer(g, prime), more = onnx_integer(g, 2);
        OnnxValue hash = onnx_integer(g, (int64_t)length);
        for (size_t back = 0; back < length; back++) {
            const OnnxValue token = onnx_two(g, "Add", earlier(g, ids, back), more);
            hash = onnx_two(g, "Mod", onnx_two(g, "Add", onnx_two(g, "Mul", hash, by), token), modulo);
        }
        const OnnxValue row = onnx_two(g, "Mod", hash, onnx_integer(g, (int64_t)table->shape[0] - 1)),
                        rows = onnx_two(g, "Add", row, onnx_integer(g, 1));
        x = onnx_two(g, "Add", x, onnx_embedding(n, name, "", 1 / (double)longest, rows, ids));
    }
    return x;
}

OnnxValue onnx_capped(OnnxNetwork *n, OnnxValue logits)
{
    const double cap = model_number(n->model, "logit-cap");
    Onnx *g = &n->graph;
    return cap > 0 ? times(g, onnx_one(g, "Tanh", times(g, logits, 1 / cap)), cap) : logits;
}
