/* charlm export: a run becomes a model of others. A graph says how numbers are computed; of other formats two
 * architectures are known, by what the run is:
 *
 *     GPT-2    pre-norm, layer norm, positions that are added
 *     Llama    pre-norm, RMS norm, rotary positions, gates; keys and values may have fewer heads
 *
 * What the architecture lacks and the run does not use costs nothing: biases that are absent are zeros, positions that are
 * fixed are a table, absent positions zeros. All else is refused by the option's name (core/exchange/sayable.h). */
#include "charlm/export.h"
#include "core/exchange/onnx_network.h"

#include <stdio.h>

enum { ARCHITECTURES = 2 };

#define ANY(option)                                                                                                    \
    {                                                                                                                  \
        (option), NULL                                                                                                 \
    }
/* What both architectures say in all formats. */
#define COMMON                                                                                                         \
    ANY("dim"), ANY("heads"), ANY("head-size"), ANY("value-size"), ANY("depth"), ANY("ff"), ANY("context"),            \
        ANY("bias"), ANY("bias-free"), ANY("tie"), ANY("tokens"), ANY("merges"), ANY("attention"), {"norm", "pre"},    \
        {"window", "0"}, {"distances", "none"}, ANY("norm-epsilon"),                                                   \
    {                                                                                                                  \
        "score", "scaled-dot"                                                                                          \
    }
#define GPT2                                                                                                           \
    COMMON, {"norm-kind", "layer"}, { "positions", "learned|sinusoid|none" }
#define LLAMA                                                                                                          \
    COMMON, ANY("kv-heads"), {"norm-kind", "rms|rms-plain"}, {"positions", "rotary"}, {"gate", "yes"},                 \
        ANY("rotary-base"), {"rotary-share", "0|1"}, ANY("rotary-stretch"), ANY("rotary-scaling")

static const Sayable hf_gpt2[] = {GPT2, {"activation", "relu|gelu|gelu-tanh|silu|relu2"}, {NULL, NULL}};
static const Sayable hf_llama[] = {LLAMA, {"activation", "relu|gelu|gelu-tanh|silu|relu2"}, {NULL, NULL}};
static const Sayable gguf_gpt2[] = {GPT2, {"activation", "gelu-tanh"}, {NULL, NULL}};
static const Sayable gguf_llama[] = {LLAMA, {"activation", "silu"}, {NULL, NULL}};

static const Sayable onnx[] = {ONNX_SAYS,     ANY("adaptive-span"), ANY("ngrams"), ANY("ngram-rows"),
                               ANY("tokens"), ANY("merges"),        {NULL, NULL}};

static const struct {
    const char *name;
    const Sayable *says[ARCHITECTURES];
    bool folder;
    bool (*write)(const Away *w, Error *e);
} formats[] = {
    [EXPORT_HF] = {"hf", {hf_gpt2, hf_llama}, true, charlm_export_hf},
    [EXPORT_GGUF] = {"gguf", {gguf_gpt2, gguf_llama}, false, charlm_export_gguf},
    [EXPORT_ONNX] = {"onnx", {onnx, onnx}, true, charlm_export_onnx},
};

static bool write_model(Charlm *c, Export *x, int format, const char **what, Error *e)
{
    const char *name = formats[format].name;
    const bool llama = model_is(x->model, "positions", "rotary"), graph = format == EXPORT_ONNX;
    Away w = {.c = c};
    *what = graph ? "a graph" : llama ? "a Llama" : "a GPT-2";
    const bool fine = sayable_all(x->model, formats[format].says[llama], name, e) &&
                      away_open(&w, c, x, graph ? NULL : name, e) && formats[format].write(&w, e);
    away_close(&w);
    return fine;
}

/* ---- the command */

bool charlm_export(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    const int format = c->options->format;
    Export x = {.to = NULL};
    const char *what;
    if (format == EXPORT_NONE)
        return fail(e, "which format? Give --format hf, gguf or onnx") || app_misused(a);
    if (!a->options->out)
        return fail(e, "where to? Give --out") || app_misused(a);
    if (!charlm_open_run(c, e) || !export_open(&x, a, formats[format].folder, e))
        return false;
    const bool fine = write_model(c, &x, format, &what, e);
    if (!export_close(&x, fine, e))
        return false;
    if (!a->options->quiet)
        fprintf(stderr, "%s: %s of %zu blocks, %zu wide, with %zu tokens\n", a->options->out, what,
                c->options->shared.depth, c->options->shared.dim, c->tokenizer.count);
    return true;
}
