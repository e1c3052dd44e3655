/* A folder with model.onnx, a graph that onnxruntime runs: ids [batch, length] of tokens in, logits [batch, length,
 * vocabulary] out, for any batch and any length up to the context; and the tokens, as Hugging Face's tokenizers read
 * them. */
#include "charlm/export.h"
#include "core/exchange/hf_tokens.h"
#include "core/exchange/onnx_network.h"

#include <stdio.h>

/* ids [batch, length] moved by some positions: -1 comes before the first. */
static OnnxValue earlier(Onnx *g, OnnxValue ids, size_t back)
{
    const int64_t pads[] = {0, (int64_t)back, 0, 0}, starts[] = {0, 0}, ends[] = {INT64_MAX, -(int64_t)back};
    if (!back)
        return ids;
    const OnnxValue moved = onnx_three(g, "Pad", ids, onnx_integers(g, pads, 4), onnx_integer(g, -1));
    return onnx_three(g, "Slice", moved, onnx_integers(g, starts, 2), onnx_integers(g, ends, 2));
}

/* ngram_row of each position. */
static OnnxValue ngram_rows(Onnx *g, const Ngrams *of, size_t length, OnnxValue ids)
{
    const OnnxValue factor = onnx_integer(g, NGRAM_FACTOR), prime = onnx_integer(g, NGRAM_PRIME),
                    more = onnx_integer(g, 2);
    OnnxValue hash = onnx_integer(g, (int64_t)length);
    for (size_t back = 0; back < length; back++) {
        const OnnxValue token = onnx_two(g, "Add", earlier(g, ids, back), more);
        hash = onnx_two(g, "Mod", onnx_two(g, "Add", onnx_two(g, "Mul", hash, factor), token), prime);
    }
    return onnx_two(g, "Add", onnx_two(g, "Mod", hash, onnx_integer(g, (int64_t)of->rows - 1)), onnx_integer(g, 1));
}

static OnnxValue add_ngrams(OnnxNetwork *n, const Ngrams *of, OnnxValue ids, OnnxValue x)
{
    for (size_t length = 2; length <= of->longest; length++)
        x = onnx_two(&n->graph, "Add", x,
                     onnx_embedding(n, "ngram_embedding.weight", "", 1 / (double)of->longest,
                                    ngram_rows(&n->graph, of, length, ids), ids));
    return x;
}

static bool write_graph(const Export *x, const Ngrams *ngrams, Error *e)
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
    y = add_ngrams(&n, ngrams, ids, y);
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
    return write_graph(w->x, &w->c->model.ngrams, e) && hf_tokens_write(w->x->making, w->tokens, w->context, e);
}
