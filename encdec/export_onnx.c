/* encdec export --format onnx: a folder with two graphs that onnxruntime runs, and the tokens in the order of their ids
 * (of two vocabularies: source_tokens.json and target_tokens.json).
 *
 *     encoder.onnx   ids [batch, source], mask [batch, source] (1 at tokens, 0 after the end)  ->  memory
 *     decoder.onnx   ids [batch, target], memory [batch, source, dim], mask [batch, source]    ->  logits [batch,
 *                    target, tokens]
 *
 * A source ends in </s>, and the decoder begins with it, or with <pad> where the run has one. The decoder reads all that
 * was written so far, each time: it has no cache. */
#include "encdec/export.h"

#include "core/exchange/onnx_network.h"
#include "core/exchange/text_file.h"

#include <math.h>
#include <stdio.h>

static const Sayable says[] = {
    {"window", "0"},       ONNX_SAYS,       {"decoder-depth", NULL},    {"plain-embeddings", NULL},
    {"logits-bias", NULL}, {"type", NULL},  {"tokens", NULL},           {"size", NULL},
    {"merges", NULL},      {"lower", NULL}, {"two-vocabularies", NULL}, {NULL, NULL}};

static const char *const source_of[] = {"batch", "source"};

/* e(ids): of one table for both sides, or of each side's; likewise of positions, where sinusoids are the same. */
static OnnxValue embedded(OnnxNetwork *n, const char *side, OnnxValue ids, OnnxValue positions)
{
    char table[64], places[64];
    const bool one = onnx_has(n, "embedding.weight");
    snprintf(table, sizeof table, one ? "embedding.weight" : "%s_embedding.weight", side);
    snprintf(places, sizeof places, "%s_position_embedding.weight", side);
    return onnx_embedding(n, table, onnx_has(n, places) ? places : "source_position_embedding.weight",
                          model_is(n->model, "plain-embeddings", "yes") ? 1 : sqrt((double)model_size(n->model, "dim")),
                          ids, positions);
}

static bool write_encoder(const Export *x, const char *dim, Error *e)
{
    OnnxNetwork n;
    if (!onnx_network_open(&n, x->model, &x->weights, e))
        return false;
    const OnnxValue ids = onnx_input(&n.graph, "ids", ONNX_INT64, source_of, 2),
                    mask = onnx_input(&n.graph, "mask", ONNX_INT64, source_of, 2), positions = onnx_positions(&n, ids);
    const OnnxStack stack = {"encoder", "encoder.", model_size(x->model, "depth"), positions, onnx_valid(&n, mask),
                             NULL,      NULL};
    const OnnxValue y = onnx_stack(&n, &stack, embedded(&n, "source", ids, positions));
    onnx_output(&n.graph, y, "memory", (const char *const[]){"batch", "source", dim}, 3);
    return onnx_network_write(&n, x->making, "encoder.onnx", e);
}

static bool write_decoder(const Export *x, const char *dim, const char *tokens, Error *e)
{
    OnnxNetwork n;
    if (!onnx_network_open(&n, x->model, &x->weights, e))
        return false;
    const size_t own = model_size(x->model, "decoder-depth");
    const OnnxValue ids = onnx_input(&n.graph, "ids", ONNX_INT64, (const char *const[]){"batch", "target"}, 2),
                    memory = onnx_input(&n.graph, "memory", ONNX_FLOAT, (const char *const[]){"batch", "source", dim},
                                        3),
                    mask = onnx_input(&n.graph, "mask", ONNX_INT64, source_of, 2), valid = onnx_valid(&n, mask),
                    positions = onnx_positions(&n, ids);
    const OnnxStack stack = {
        "decoder", "decoder.", own ? own : model_size(x->model, "depth"), positions, onnx_seen(&n, positions, true),
        &memory,   &valid};
    OnnxValue y = onnx_stack(&n, &stack, embedded(&n, "target", ids, positions));
    const char *table = onnx_has(&n, "embedding.weight") ? "embedding.weight" : "target_embedding.weight";
    y = model_is(x->model, "tie", "yes") ? onnx_linear_by(&n, onnx_weight(&n, table), "logits", y)
                                         : onnx_linear(&n, "logits", y);
    onnx_output(&n.graph, onnx_capped(&n, y), "logits", (const char *const[]){"batch", "target", tokens}, 3);
    return onnx_network_write(&n, x->making, "decoder.onnx", e);
}

bool encdec_export_onnx(Export *x, const EncDec *c, Error *e)
{
    char dim[24], tokens[24];
    snprintf(dim, sizeof dim, "%zu", model_size(x->model, "dim"));
    snprintf(tokens, sizeof tokens, "%zu", subwords_count(&c->subwords, TARGET));
    return sayable_all(x->model, says, "onnx", e) && write_encoder(x, dim, e) && write_decoder(x, dim, tokens, e) &&
           encdec_export_tokens(x, &c->subwords, "tokens.json", e);
}
