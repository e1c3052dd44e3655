/* A folder with model.onnx, a graph that onnxruntime runs: ids [batch, length] of tokens in, logits [batch, length,
 * vocabulary] out, for any batch and any length up to the context; and the tokens, as Hugging Face's tokenizers read
 * them. */
#include "charlm/export.h"
#include "core/exchange/hf_tokens.h"
#include "core/exchange/onnx_network.h"

#include <stdio.h>

static bool write_graph(const Export *x, Error *e)
{
    OnnxNetwork n;
    char vocabulary[24];
    if (!onnx_network_open(&n, x->model, &x->weights, e))
        return false;
    const char *const ids_of[] = {"batch", "length"}, *const logits_of[] = {"batch", "length", vocabulary};
    const char table[] = "token_embedding.weight";
    snprintf(vocabulary, sizeof vocabulary, "%zu", tensors_find(&x->weights, table)->shape[0]);
    const OnnxValue ids = onnx_input(&n.graph, "ids", ONNX_INT64, ids_of, 2), positions = onnx_positions(&n, ids);
    OnnxValue y = onnx_embedding(&n, table, "position_embedding.weight", 1, ids, positions);
    y = onnx_ngrams(&n, NGRAM_FACTOR, NGRAM_PRIME, ids, y);
    const OnnxStack blocks = {"blocks", "",  model_size(x->model, "depth"), positions, onnx_seen(&n, positions, true),
                              NULL,     NULL};
    y = onnx_stack(&n, &blocks, y);
    y = model_is(x->model, "tie", "yes") ? onnx_linear_by(&n, onnx_weight(&n, table), "logits", y)
                                         : onnx_linear(&n, "logits", y);
    onnx_output(&n.graph, onnx_capped(&n, y), "logits", logits_of, 3);
    return onnx_network_write(&n, x->making, "model.onnx", e);
}

bool charlm_export_onnx(const Away *w, Error *e)
{
    return write_graph(w->x, e) && hf_tokens_write(w->x->making, w->tokens, w->context, e);
}
