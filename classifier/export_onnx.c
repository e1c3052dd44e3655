/* classifier export --format onnx: a folder with model.onnx, a graph that onnxruntime runs, the vocabulary and the names
 * of the classes.
 *
 *     ids [batch, length], mask [batch, length] (1 at a text's tokens, 0 after its end)  ->  logits [batch, classes]
 *
 * for any batch and any length up to the context. A caller cuts texts into tokens, and puts [CLS] and [SEP] around them
 * where the run has --marks. What a graph cannot say is refused by the option's name. */
#include "classifier/export.h"
#include "core/exchange/onnx_network.h"
#include "core/exchange/text_file.h"

#include <math.h>
#include <stdio.h>

static const Sayable says[] = {ONNX_SAYS,        {"pool", NULL},  {"words", NULL},
                               {"tokens", NULL}, {"marks", NULL}, {NULL, NULL}};

/* x [batch, length, dim] of the tokens whose mask is 1: [batch, dim] */
static OnnxValue pooled(OnnxNetwork *n, OnnxValue x, OnnxValue mask)
{
    static const int64_t column[] = {0, -1, 1}, by_position[] = {1, 0, 2};
    Onnx *g = &n->graph;
    const OnnxValue one = onnx_reshape(g, mask, column, 3);
    if (model_is(n->model, "pool", "first"))
        return onnx_two(g, "Gather", onnx_transpose(g, x, by_position, 3), onnx_integer(g, 0));
    if (model_is(n->model, "pool", "max")) {
        const OnnxValue seen = onnx_cast(g, one, ONNX_BOOL);
        return onnx_reduce(g, "ReduceMax", onnx_three(g, "Where", seen, x, onnx_number(g, -INFINITY)), 1);
    }
    const OnnxValue share = onnx_cast(g, one, ONNX_FLOAT);
    return onnx_two(g, "Div", onnx_reduce(g, "ReduceSum", onnx_two(g, "Mul", x, share), 1),
                    onnx_reduce(g, "ReduceSum", share, 1));
}

static bool write_graph(const Export *x, size_t classes, Error *e)
{
    static const char *const texts[] = {"batch", "length"};
    char count[24];
    OnnxNetwork n;
    if (!onnx_network_open(&n, x->model, &x->weights, e))
        return false;
    Onnx *g = &n.graph;
    snprintf(count, sizeof count, "%zu", classes);
    const OnnxValue ids = onnx_input(g, "ids", ONNX_INT64, texts, 2),
                    mask = onnx_input(g, "mask", ONNX_INT64, texts, 2), positions = onnx_positions(&n, ids),
                    seen = onnx_two(g, "And", onnx_seen(&n, positions, false), onnx_valid(&n, mask));
    const OnnxStack blocks = {"blocks", "", model_size(x->model, "depth"), positions, seen, NULL, NULL};
    const OnnxValue embedded = onnx_embedding(&n, "token_embedding.weight", "position_embedding.weight", 1, ids,
                                              positions);
    const OnnxValue y = pooled(&n, onnx_stack(&n, &blocks, embedded), mask);
    onnx_output(g, onnx_capped(&n, onnx_linear(&n, "logits", y)), "logits", (const char *const[]){"batch", count}, 2);
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
    return sayable_all(x->model, says, "onnx", e) && write_graph(x, c->class_count, e) && write_classes(x, c, e) &&
           tokens_write(c->reading, x->making, e);
}
