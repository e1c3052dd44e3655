/* classifier export --format onnx: a folder with model.onnx, a graph that onnxruntime runs, the vocabulary and, where there
 * are classes, their names.
 *
 *     ids [batch, length], mask [batch, length] (1 at a text's tokens, 0 after its end),
 *     segments [batch, length] (0, or in the second of two parts 1) where the run has --segments
 *
 *     classes   ->  logits [batch, classes]
 *     masked    ->  logits [batch, length, tokens], of all positions; next [batch, 2] with --next-sentence; hidden
 *     vectors   ->  vectors [batch, dim], as predict --vectors writes them; pooled [batch, dim] with --pooler; hidden
 *
 * hidden [batch, length, dim]: the last vectors. Any batch works, and any length up to the context. A caller cuts texts into
 * tokens, and puts [CLS] and [SEP] around them where the run has --marks. What a graph cannot say is refused by the
 * option's name. */
#include "classifier/export.h"
#include "core/exchange/onnx_network.h"
#include "core/exchange/text_file.h"

#include <math.h>
#include <stdio.h>

static const Sayable says[] = {ONNX_SAYS,          {"pool", NULL},       {"pooler", NULL},
                               {"words", NULL},    {"tokens", NULL},     {"marks", NULL},
                               {"segments", NULL}, {"objective", NULL},  {"next-sentence", NULL},
                               {"ngrams", NULL},   {"ngram-rows", NULL}, {NULL, NULL}};

/* x [batch, length, dim]: [batch, dim] of the first position, and of the tokens whose mask is 1 the mean and the largest */
static OnnxValue first(OnnxNetwork *n, OnnxValue x)
{
    static const int64_t by_position[] = {1, 0, 2};
    Onnx *g = &n->graph;
    return onnx_two(g, "Gather", onnx_transpose(g, x, by_position, 3), onnx_integer(g, 0));
}

static OnnxValue column(OnnxNetwork *n, OnnxValue mask, OnnxType type)
{
    static const int64_t shape[] = {0, -1, 1};
    return onnx_cast(&n->graph, onnx_reshape(&n->graph, mask, shape, 3), type);
}

static OnnxValue average(OnnxNetwork *n, OnnxValue x, OnnxValue mask)
{
    Onnx *g = &n->graph;
    const OnnxValue share = column(n, mask, ONNX_FLOAT);
    return onnx_two(g, "Div", onnx_reduce(g, "ReduceSum", onnx_two(g, "Mul", x, share), 1),
                    onnx_reduce(g, "ReduceSum", share, 1));
}

static OnnxValue largest(OnnxNetwork *n, OnnxValue x, OnnxValue mask)
{
    Onnx *g = &n->graph;
    const OnnxValue seen = column(n, mask, ONNX_BOOL);
    return onnx_reduce(g, "ReduceMax", onnx_three(g, "Where", seen, x, onnx_number(g, -INFINITY)), 1);
}

/* v [batch, dim], as the pooler makes it where there is one */
static OnnxValue through_pooler(OnnxNetwork *n, OnnxValue v)
{
    if (!onnx_has(n, "pooler.weight"))
        return v;
    return onnx_one(&n->graph, model_is(n->model, "pooler", "tanh") ? "Tanh" : "Relu", onnx_linear(n, "pooler", v));
}

/* y [batch, size] or [batch, length, size] */
static void output(OnnxNetwork *n, OnnxValue y, const char *name, bool of_positions, size_t size)
{
    char count[24];
    const char *const dims[] = {"batch", of_positions ? "length" : count, count};
    snprintf(count, sizeof count, "%zu", size);
    onnx_output(&n->graph, y, name, dims, of_positions ? 3 : 2);
}

/* ---- what is computed of the last vectors */

static void add_classes(OnnxNetwork *n, OnnxValue x, OnnxValue mask, size_t classes)
{
    const OnnxValue v = model_is(n->model, "pool", "first") ? first(n, x)
                        : model_is(n->model, "pool", "max") ? largest(n, x, mask)
                                                            : average(n, x, mask);
    output(n, onnx_capped(n, onnx_linear(n, "logits", through_pooler(n, v))), "logits", false, classes);
}

static void add_masked(OnnxNetwork *n, OnnxValue x, size_t tokens)
{
    static const char map[] = "masked.logits";
    const OnnxValue h = onnx_norm(n, "masked.norm", onnx_activation(n, onnx_linear(n, "masked.transform", x))),
                    y = onnx_has(n, "masked.logits.weight")
                            ? onnx_linear(n, map, h)
                            : onnx_linear_by(n, onnx_weight(n, "token_embedding.weight"), map, h);
    output(n, onnx_capped(n, y), "logits", true, tokens);
    if (onnx_has(n, "next.weight"))
        output(n, onnx_linear(n, "next", through_pooler(n, first(n, x))), "next", false, 2);
}

static void add_vectors(OnnxNetwork *n, OnnxValue x, OnnxValue mask, size_t dim)
{
    output(n, average(n, x, mask), "vectors", false, dim);
    if (onnx_has(n, "pooler.weight"))
        output(n, through_pooler(n, first(n, x)), "pooled", false, dim);
}

static OnnxValue embedded(OnnxNetwork *n, OnnxValue ids, OnnxValue positions, const char *const *dims)
{
    static const char table[] = "segment_embedding.weight";
    Onnx *g = &n->graph;
    OnnxValue x = onnx_embedding(n, "token_embedding.weight", "position_embedding.weight", 1, ids, positions);
    x = onnx_ngrams(n, NGRAM_FACTOR, NGRAM_PRIME, ids, x);
    if (!onnx_has(n, table))
        return x;
    const OnnxValue segments = onnx_input(g, "segments", ONNX_INT64, dims, 2);
    return onnx_two(g, "Add", x, onnx_embedding(n, table, "", 1, segments, positions));
}

static bool write_graph(const Export *x, const Classifier *c, Error *e)
{
    static const char *const texts[] = {"batch", "length"};
    const size_t dim = c->options->shared.dim;
    OnnxNetwork n;
    if (!onnx_network_open(&n, x->model, &x->weights, e))
        return false;
    Onnx *g = &n.graph;
    const OnnxValue ids = onnx_input(g, "ids", ONNX_INT64, texts, 2),
                    mask = onnx_input(g, "mask", ONNX_INT64, texts, 2), positions = onnx_positions(&n, ids),
                    seen = onnx_two(g, "And", onnx_seen(&n, positions, false), onnx_valid(&n, mask));
    const OnnxStack blocks = {"blocks", "", model_size(x->model, "depth"), positions, seen, NULL, NULL};
    const OnnxValue last = onnx_stack(&n, &blocks, embedded(&n, ids, positions, texts));
    if (classifier_has_classes(c))
        add_classes(&n, last, mask, c->class_count);
    else {
        if (c->model.masked)
            add_masked(&n, last, c->model.classes);
        else
            add_vectors(&n, last, mask, dim);
        output(&n, last, "hidden", true, dim);
    }
    return onnx_network_write(&n, x->making, "model.onnx", e);
}

static bool write_classes(const Export *x, const Classifier *c, Error *e)
{
    Buffer b = {0};
    for (size_t i = 0; i < c->class_count; i++)
        buffer_print(&b, "%s\n", c->classes[i]);
    return text_file(x->making, "classes.txt", &b, e);
}

bool classifier_export_onnx(const Classifier *c, Export *x, Error *e)
{
    return sayable_all(x->model, says, "onnx", e) && write_graph(x, c, e) &&
           (!classifier_has_classes(c) || write_classes(x, c, e)) && tokens_write(c->reading, x->making, e);
}
