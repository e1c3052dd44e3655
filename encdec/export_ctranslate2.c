/* encdec export --format ctranslate2: a folder that CTranslate2's Translator loads: model.bin, config.json,
 * shared_vocabulary.json (or source_vocabulary.json and target_vocabulary.json). What its specification cannot say is
 * refused by the option's name.
 *
 * Tokens are our subwords: a caller cuts texts as `encdec subwords` does. */
#include "encdec/export.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/ctranslate2.h"
#include "core/exchange/naming.h"
#include "core/exchange/text_file.h"

#include <stdio.h>
#include <string.h>

static const char format[] = "ctranslate2";

static const Sayable says[] = {{"dim", NULL},
                               {"heads", NULL},
                               {"head-size", "0"},
                               {"value-size", "0"},
                               {"depth", NULL},
                               {"decoder-depth", NULL},
                               {"ff", NULL},
                               {"context", NULL},
                               {"window", "0"},
                               {"activation", "relu|gelu|gelu-tanh|silu"},
                               {"gate", NULL},
                               {"norm", "post|pre"},
                               {"norm-kind", "layer|rms|rms-plain"},
                               {"norm-epsilon", NULL},
                               {"positions", "sinusoid|sinusoid-halves|sinusoid-slower|learned|none"},
                               {"distances", "none"},
                               {"attention", NULL},
                               {"score", "scaled-dot"},
                               {"bias", NULL},
                               {"bias-free", NULL},
                               {"tie", NULL},
                               {"plain-embeddings", NULL},
                               {"logits-bias", NULL},
                               {"two-vocabularies", NULL},
                               {"type", NULL},
                               {"tokens", NULL},
                               {"size", NULL},
                               {"merges", NULL},
                               {"lower", NULL},
                               {NULL, NULL}};

/* ---- names: S is a stack, O how it is called here, P a part of its blocks */

#define LAYER(S) S "/layer_#/"
#define SELF(S, O)                                                                                                     \
    NAMED(LAYER(S) "self_attention/linear_0/weight", O ".#.attention.query.weight", O ".#.attention.key.weight",       \
          O ".#.attention.value.weight"),                                                                              \
        NAMED_MAY(LAYER(S) "self_attention/linear_0/bias", O ".#.attention.query.bias", O ".#.attention.key.bias",     \
                  O ".#.attention.value.bias"),                                                                        \
        NAMED_MAY_BOTH(LAYER(S) "self_attention/linear_1/", O ".#.attention.out"),                                     \
        NAMED(LAYER(S) "self_attention/layer_norm/gamma", O ".#.norm1.weight")
#define FEED_FORWARD(S, O)                                                                                             \
    NAMED_MAY_BOTH(LAYER(S) "ffn/linear_1/", O ".#.ff.out"), NAMED(LAYER(S) "ffn/layer_norm/gamma", O ".#.norm2."      \
                                                                                                      "weight")

static const Naming encoder[] = {SELF("encoder", "encoder"), FEED_FORWARD("encoder", "encoder")};
static const Naming decoder[] = {
    SELF("decoder", "decoder"),
    FEED_FORWARD("decoder", "decoder"),
    NAMED_MAY_BOTH(LAYER("decoder") "attention/linear_0/", "decoder.#.cross.query"),
    NAMED(LAYER("decoder") "attention/linear_1/weight", "decoder.#.cross.key.weight", "decoder.#.cross.value.weight"),
    NAMED_MAY(LAYER("decoder") "attention/linear_1/bias", "decoder.#.cross.key.bias", "decoder.#.cross.value.bias"),
    NAMED_MAY_BOTH(LAYER("decoder") "attention/linear_2/", "decoder.#.cross.out"),
    NAMED(LAYER("decoder") "attention/layer_norm/gamma", "decoder.#.norm_cross.weight"),
};

/* Of layer norms: a norm without a beta is an RMS norm there. */
#define BETAS(S)                                                                                                       \
    NAMED(LAYER(S) "self_attention/layer_norm/beta", S ".#.norm1.bias"),                                               \
        NAMED(LAYER(S) "ffn/layer_norm/beta", S ".#.norm2.bias")
static const Naming encoder_betas[] = {BETAS("encoder")};
static const Naming decoder_betas[] = {
    BETAS("decoder"), NAMED(LAYER("decoder") "attention/layer_norm/beta", "decoder.#.norm_cross.bias")};

/* linear_0 is activated: the gate, where there is one. */
#define PLAIN(S) NAMED_MAY_BOTH(LAYER(S) "ffn/linear_0/", S ".#.ff.in")
#define GATED(S)                                                                                                       \
    NAMED_MAY_BOTH(LAYER(S) "ffn/linear_0/", S ".#.ff.gate"),                                                          \
        NAMED_MAY_BOTH(LAYER(S) "ffn/linear_0_noact/", S ".#.ff.in")
static const Naming encoder_plain[] = {PLAIN("encoder")}, encoder_gated[] = {GATED("encoder")};
static const Naming decoder_plain[] = {PLAIN("decoder")}, decoder_gated[] = {GATED("decoder")};

static const Naming last_gains[] = {NAMED("encoder/layer_norm/gamma", "encoder.norm.weight"),
                                    NAMED("decoder/layer_norm/gamma", "decoder.norm.weight")};
static const Naming last_betas[] = {NAMED("encoder/layer_norm/beta", "encoder.norm.bias"),
                                    NAMED("decoder/layer_norm/beta", "decoder.norm.bias")};
static const Naming one_table[] = {NAMED("decoder/embeddings/weight", "embedding.weight")};
static const Naming two_tables[] = {NAMED("encoder/embeddings_0/weight", "source_embedding.weight"),
                                    NAMED("decoder/embeddings/weight", "target_embedding.weight")};
static const Naming projection[] = {NAMED("decoder/projection/weight", "logits.weight")};
static const Naming last_bias[] = {NAMED_MAY("decoder/projection/bias", "logits.bias")};
static const Naming positions[] = {NAMED("encoder/position_encodings/encodings", "source_position_embedding.weight"),
                                   NAMED("decoder/position_encodings/encodings", "target_position_embedding.weight")};

#define WRITE(rows, blocks, when) (!(when) || write_rows(x, rows, sizeof(rows) / sizeof *(rows), blocks, t, e))

static bool write_rows(const Export *x, const Naming *rows, size_t count, size_t blocks, Tensors *t, Error *e)
{
    const NamingTable table = {.rows = rows, .count = count, .blocks = blocks, .dim = model_size(x->model, "dim")};
    return naming_write(&table, &x->weights, t, e);
}

/* Whatever makes positions, there they are tables, of each side: sinusoids are the same for both. */
static bool add_positions(Export *x, Error *e)
{
    static const char *const names[] = {"source_position_embedding.weight", "target_position_embedding.weight"};
    const size_t context = model_size(x->model, "context"), dim = model_size(x->model, "dim");
    for (size_t i = 0; i < 2; i++) {
        const SafeTensor *one = tensors_find(&x->weights, names[0]);
        if (tensors_find(&x->weights, names[i]))
            continue;
        float *table = tensor_values(names[i], context, dim, e);
        if (table && one)
            memcpy(table, one->data, context * dim * sizeof *table);
        if (!tensors_add(&x->weights, names[i], table, context, dim, e))
            return false;
    }
    return true;
}

/* A run that has <pad> never says it. */
static bool silence_pad(Export *x, const Subwords *p, Error *e)
{
    const bool there = tensors_find(&x->weights, "logits.bias");
    const size_t tokens = subwords_count(p, TARGET);
    if (!p->pad)
        return true;
    if (!there && !tensors_add(&x->weights, "logits.bias", tensor_values("logits.bias", tokens, 0, e), tokens, 0, e))
        return false;
    ((float *)(uintptr_t)tensors_find(&x->weights, "logits.bias")->data)[p->pad] = -1e9f;
    return true;
}

/* For both sides. Logits may be tied to it, or to the target's. */
static bool has_one_table(const Export *x) { return tensors_find(&x->weights, "embedding.weight"); }

static bool write_tensors(Export *x, size_t depth, size_t decoder_depth, Tensors *t, Error *e)
{
    const Json *m = x->model;
    const bool layer = model_is(m, "norm-kind", "layer"), pre = model_is(m, "norm", "pre"),
               gate = model_is(m, "gate", "yes"), tie = model_is(m, "tie", "yes"), one = has_one_table(x);
    return add_positions(x, e) && WRITE(encoder, depth, true) && WRITE(decoder, decoder_depth, true) &&
           WRITE(encoder_betas, depth, layer) && WRITE(decoder_betas, decoder_depth, layer) &&
           WRITE(encoder_plain, depth, !gate) && WRITE(decoder_plain, decoder_depth, !gate) &&
           WRITE(encoder_gated, depth, gate) && WRITE(decoder_gated, decoder_depth, gate) &&
           WRITE(last_gains, 0, pre) && WRITE(last_betas, 0, pre && layer) && WRITE(one_table, 0, one) &&
           WRITE(two_tables, 0, !one) && WRITE(projection, 0, !tie) && WRITE(last_bias, 0, true) &&
           WRITE(positions, 0, true);
}

static int activation(const Json *m)
{
    static const struct {
        const char *ours;
        int theirs;
    } names[] = {{"relu", 0}, {"gelu-tanh", 1}, {"silu", 2}, {"gelu", 3}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (model_is(m, "activation", names[i].ours))
            return names[i].theirs;
    return 0;
}

static bool write_model(Export *x, Error *e)
{
    const Json *m = x->model;
    const int heads = (int)model_size(m, "heads"), scaled = !model_is(m, "plain-embeddings", "yes"),
              pre = model_is(m, "norm", "pre"), f = activation(m);
    const size_t depth = model_size(m, "depth"), other = model_size(m, "decoder-depth");
    const Ct2Number numbers[] = {{"encoder/num_heads", heads, true},
                                 {"encoder/pre_norm", pre, false},
                                 {"encoder/activation", f, false},
                                 {"encoder/embeddings_merge", 0, false},
                                 {"encoder/scale_embeddings", scaled, false},
                                 {"encoder/multi_query_attention", 0, false},
                                 {"decoder/num_heads", heads, true},
                                 {"decoder/pre_norm", pre, false},
                                 {"decoder/activation", f, false},
                                 {"decoder/scale_embeddings", scaled, false},
                                 {"decoder/start_from_zero_embedding", 0, false},
                                 {"decoder/alignment_layer", -1, true},
                                 {"decoder/alignment_heads", 1, true},
                                 {"decoder/alibi", 0, false},
                                 {"decoder/alibi_use_positive_positions", 0, false},
                                 {"decoder/scale_alibi", 0, false}};
    const size_t tied = model_is(m, "tie", "yes");
    static const Ct2Alias table[] = {{"decoder/projection/weight", "decoder/embeddings/weight"},
                                     {"encoder/embeddings_0/weight", "decoder/embeddings/weight"}};
    Tensors t = {0};
    const Ct2Model model = {.tensors = &t,
                            .number = numbers,
                            .numbers = sizeof numbers / sizeof *numbers,
                            .alias = table,
                            .aliases = tied + has_one_table(x)};
    char *path = path_join(x->making, "model.bin");
    const bool fine = (path || memory_error(e, "a path", 1, 1)) &&
                      write_tensors(x, depth, other ? other : depth, &t, e) && ct2_write(&model, path, e);
    memory_free(path);
    tensors_close(&t);
    return fine;
}

/* ---- the other files */

static bool write_config(const Export *x, const Subwords *p, Error *e)
{
    static const char *const ends[] = {"bos_token", "eos_token", "decoder_start_token"};
    const int32_t ids[] = {END, END, subwords_begin(p)};
    Buffer b = {0};
    buffer_print(&b, "{\"add_source_bos\": false, \"add_source_eos\": true, \"multi_query_attention\": false");
    json_add_member(&b, "layer_norm_epsilon", model_epsilon(x->model));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        json_add_key(&b, ends[i]);
        encdec_export_token(&b, p, ids[i]);
    }
    json_add_key(&b, "unk_token");
    encdec_export_token(&b, p, UNKNOWN);
    buffer_print(&b, "}\n");
    return text_file(x->making, "config.json", &b, e);
}

bool encdec_export_ctranslate2(Export *x, const EncDec *c, Error *e)
{
    return sayable_all(x->model, says, format, e) && silence_pad(x, &c->subwords, e) && write_model(x, e) &&
           write_config(x, &c->subwords, e) && encdec_export_tokens(x, &c->subwords, "shared_vocabulary.json", e);
}
