/* See attention.h. */
#include "core/nn/attention.h"

#include "core/tensor/nonfinite.h"
#include "core/tensor/operations.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static size_t kv_heads_of(const AttentionOptions *o) { return o->kv_heads ? o->kv_heads : o->heads; }
size_t attention_keys(const AttentionOptions *o) { return kv_heads_of(o) * o->key_size; }
size_t attention_values(const AttentionOptions *o) { return kv_heads_of(o) * o->value_size; }

/* A cosine's g begins as 10, about what Henry et al. have for rows of 32 words. */
static void add_qk_norm(Parameters *p, Attention *a, const char *prefix)
{
    const AttentionOptions *o = &a->options;
    char name[sizeof(((Parameter *)0)->name)];
    snprintf(name, sizeof name, "%s.query_norm", prefix);
    a->query_norm = norm_new(p, o->qk_cosine ? NORM_RMS_PLAIN : NORM_RMS, o->key_size, name);
    snprintf(name, sizeof name, "%s.key_norm", prefix);
    a->key_norm = norm_new(p, o->qk_cosine ? NORM_RMS_PLAIN : NORM_RMS, o->key_size, name);
    if (!o->qk_cosine)
        return;
    a->query_norm.epsilon = a->key_norm.epsilon = 1e-12; /* a cosine, except for tiny vectors */
    a->cosine_scale = parameters_add(p, ROLE_GAIN, o->heads, 0, "%s.cosine_scale", prefix);
    if (a->cosine_scale)
        a->cosine_scale->constant = always_one, a->cosine_scale->times = 10;
    a->cosine_ones = parameters_constant(p, o->key_size, 0, always_one, prefix, "cosine_ones");
}

Attention attention_new(Parameters *p, const AttentionOptions *o, const char *prefix)
{
    static const char *const names[] = {"query", "key", "value"};
    const size_t out[] = {o->heads * o->key_size, attention_keys(o), attention_values(o)};
    const ScoringOptions scoring = {.score = o->score,
                                    .heads = o->heads,
                                    .kv_heads = kv_heads_of(o),
                                    .key_size = o->key_size,
                                    .value_size = o->value_size,
                                    .weights = o->weights};
    Attention a = {.options = *o};
    char name[sizeof(((Parameter *)0)->name)];

    if (o->cross) {
        a.query = linear_joined(p, o->dim, out, 1, o->bias, prefix, names, NULL);
        Linear parts[2];
        a.key_value = linear_joined(p, o->dim, out + 1, 2, o->bias, prefix, names + 1, parts);
        a.value = parts[1];
    } else {
        Linear parts[3];
        a.all = linear_joined(p, o->dim, out, 3, o->bias, prefix, names, parts);
        a.query = parts[0];
        a.key_value = parts[1];
        a.value = parts[2];
        a.key_value.out += out[2];
    }
    if (o->gate) {
        snprintf(name, sizeof name, "%s.gate", prefix);
        a.gate = linear_new(p, o->dim, o->heads * o->value_size, true, name);
    }
    if (o->sink && (a.sink = parameters_add(p, ROLE_BIAS, o->heads, 0, "%s.sink", prefix)))
        a.sink->fan_in = 0; /* it begins as 0 */
    snprintf(name, sizeof name, "%s.out", prefix);
    a.out = linear_new(p, o->heads * o->value_size, o->dim, true, name);
    linear_ends_branch(&a.out);
    a.drop = parameters_dropout(p, o->dropout);
    assert(o->composed ? !o->sink : score_is_dot(o->score));
    a.scoring = scoring_new(p, &scoring, prefix);
    if (o->qk_norm)
        add_qk_norm(p, &a, prefix);
    if (o->value_residual) {
        snprintf(name, sizeof name, "%s.value_blend", prefix);
        a.value_blend = blend_new(p, attention_values(o), 0.5, 0.5, name);
    }
    a.rotary = rotary_new(p, &o->rotary, o->key_size, prefix);
    a.distances = distances_new(p, &o->distances, o->dim, o->heads, o->key_size, prefix);
    return a;
}

typedef struct AttendNode {
    Node node;
    Tensor *q, *k, *v;
    DistanceTensors distant;
    const Attention *a;
    void *lse;
    Attend how;
} AttendNode;

static void attend_back(Tape *t, Node *node)
{
    AttendNode *n = (AttendNode *)node;
    AttendGradients d = {.q.stride = n->q->stride, .k.stride = n->k->stride, .v.stride = n->v->stride};
    d.q.data = tensor_gradient(t, n->q, &d.add_q);
    d.k.data = tensor_gradient(t, n->k, &d.add_k);
    d.v.data = tensor_gradient(t, n->v, &d.add_v);
    distances_gradients(t, &n->a->distances, &n->distant, &d);
    if (n->a->sink)
        t->k->sink_backward(t->stream, tape_gradient_of(t, n->a->sink), node->y->gradient, node->y->data, n->lse,
                            tape_reals_of(t, n->a->sink), &n->how);
    t->k->attention_backward(t->stream, &d, node->y->gradient, node->y->data, n->lse, tensor_strided(n->q),
                             tensor_strided(n->k), tensor_strided(n->v), &n->how, t->state);
    distances_backward(t, &n->a->distances, &n->distant);
}

static Tensor *attend(Tape *t, const Attention *a, Tensor *q, Tensor *k, Tensor *v, DistanceTensors distant,
                      const Attend *how)
{
    Tensor *y = tape_tensor(t, how->queries, how->heads * how->value_size, false, true);
    void *lse = tape_reals(t, how->queries * how->heads);
    t->k->attention_forward(t->stream, y->data, lse, tensor_strided(q), tensor_strided(k), tensor_strided(v), how,
                            t->state);
    if (a->sink)
        t->k->sink_forward(t->stream, y->data, lse, tape_reals_of(t, a->sink), how);
    AttendNode *n = tape_node(t, sizeof *n, attend_back, y);
    if (n) {
        n->q = q, n->k = k, n->v = v, n->distant = distant, n->lse = lse, n->how = *how;
        n->a = a;
        n->how.weights = NULL;
    }
    return y;
}

/* Queries or keys as scores use them: normalized, then rotated. */
static Tensor *prepared(Tape *t, const Attention *a, const Norm *l, Tensor *x, RowPositions positions)
{
    if (l->gain)
        x = norm(t, l, x->base ? concat(t, &x, 1) : x);
    return rotate(t, &a->rotary, x, positions);
}

/* Keys or values of the cache as a tensor: if they are stored by head, a row is a position of one head. */
static Tensor *remembered(Tape *t, const Cache *c, void *memory, size_t columns)
{
    return tape_outside(t, memory, c->heads * c->rows * c->capacity, columns / c->heads);
}

static void append(Tape *t, const CacheLayer *layer, Tensor *const kv[2], const int32_t *start, size_t rows)
{
    const Cache *c = layer->cache;
    cache_append(c, t->stream, layer->keys, tensor_strided(kv[0]), kv[0]->columns, start, rows);
    cache_append(c, t->stream, layer->values, tensor_strided(kv[1]), kv[1]->columns, start, rows);
}

void attention_remember(Tape *t, const Attention *a, Tensor *memory, const Rows *rows, const CacheLayer *cache)
{
    size_t columns[] = {attention_keys(&a->options), attention_values(&a->options)};
    Tensor *kv[2];
    assert(a->options.cross);
    tape_split(t, linear(t, &a->key_value, memory), kv, columns, 2);
    kv[0] = prepared(t, a, &a->key_norm, kv[0], (RowPositions){0});
    append(t, cache, kv, rows->start, rows->rows);
}

static void finish_kv(Tape *t, const Attention *a, Tensor *kv[2], RowPositions positions, Tensor *first_values)
{
    kv[0] = prepared(t, a, &a->key_norm, kv[0], positions);
    if (a->value_blend.own)
        kv[1] = blend(t, &a->value_blend, kv[1], first_values);
}

/* Queries, keys and values: of x, of memory, or from the cache. This is where positions enter queries and keys. */
static void project(Tape *t, const Attention *a, Tensor *x, Tensor *memory, const Attend *how, const CacheLayer *cache,
                    RowPositions positions, Tensor *first_values, Tensor *qkv[3])
{
    size_t columns[] = {a->options.heads * a->options.key_size, attention_keys(&a->options),
                        attention_values(&a->options)};
    const RowPositions all = {positions.position, positions.count, NULL};
    if (!a->options.cross && !memory) {
        tape_split(t, linear(t, &a->all, x), qkv, columns, 3);
        finish_kv(t, a, qkv + 1, all, first_values);
        if (cache)
            append(t, cache, qkv + 1, how->query_start, how->rows);
    } else {
        qkv[0] = linear(t, &a->query, x);
        assert(!cache != !memory);
        if (memory) {
            tape_split(t, linear(t, &a->key_value, memory), qkv + 1, columns + 1, 2);
            finish_kv(t, a, qkv + 1, all, first_values);
        }
    }
    qkv[0] = prepared(t, a, &a->query_norm, qkv[0], positions);
    if (a->cosine_scale)
        qkv[0] = mul_row(t, qkv[0], spread(t, tape_parameter(t, a->cosine_scale), a->cosine_ones));
    if (cache) {
        qkv[1] = remembered(t, cache->cache, cache->keys, columns[1]);
        qkv[2] = remembered(t, cache->cache, cache->values, columns[2]);
    }
}

/* The scale of q . k. If both are normalized for a cosine, q . k is dk times the cosine. */
static double scale_of(const Attention *a)
{
    const AttentionOptions *o = &a->options;
    if (a->cosine_scale)
        return 1 / (double)o->key_size;
    return score_scale(o->score, o->key_size) / (o->key_wider > 0 ? sqrt(o->key_wider) : 1);
}

Tensor *multihead(Tape *t, const Attention *a, Tensor *x, Tensor *memory, const Attend *rows, const CacheLayer *cache,
                  RowPositions positions)
{
    return multihead_after(t, a, x, memory, rows, cache, positions, NULL, NULL, NULL);
}

Tensor *multihead_after(Tape *t, const Attention *a, Tensor *x, Tensor *memory, const Attend *rows,
                        const CacheLayer *cache, RowPositions positions, Tensor *first_values, Tensor **residual,
                        const Guide *guided)
{
    const AttentionOptions *o = &a->options;
    Tensor *qkv[3];
    Attend how = *rows;
    how.heads = o->heads, how.kv_heads = o->kv_heads, how.key_size = o->key_size, how.value_size = o->value_size;
    how.by_head = cache && cache->cache->heads > 1;
    how.cap = o->weights.cap;
    how.scale = scale_of(a);
    how.dropout = tape_dropout(t, a->drop);
    assert(o->composed || !residual);
    how.weights = t->hook && t->hook->weights ? t->hook->weights(t->hook, t, a->out.weight, &how) : NULL;

    project(t, a, x, memory, &how, cache, positions, first_values, qkv);
    if (guided)
        guide(t, guided, &a->scoring, qkv[0], qkv[1], &how);
    DistanceTensors distant = distances_describe(t, &a->distances, &how);
    Tensor *y = o->composed ? attend_composed(t, &a->scoring, qkv[0], qkv[1], qkv[2], &how, residual)
                            : attend(t, a, qkv[0], qkv[1], qkv[2], distant, &how);
    tape_check(t, y, "the attention before the product", a->out.weight);
    if (a->gate.weight)
        y = mul(t, y, activate(t, linear(t, &a->gate, x), ACTIVATION_SIGMOID));
    return linear(t, &a->out, y);
}
