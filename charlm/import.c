/* charlm import: a language model that others trained becomes a run. Read are
 *
 *     a folder as Hugging Face publishes it (core/exchange/hf_folder.h): GPT-2, Llama; or nanoGPT's weights in such a one
 *     a file FILE.safetensors, with config.json and tokens beside it in its folder
 *     a .bin file of llm.c (core/exchange/llmc.h), with --vocabulary and --codes
 *
 * What a configuration says that would change the meaning, and that we do not have, is refused by name. Weights are put
 * under our names, written to a file beside the run, and read as `train --weights` reads it, for a training of no steps.
 *
 * The run has learned from no data: the first that it is trained on become its own. */
#include "charlm/charlm.h"
#include "charlm/names.h"

#include "base/memory.h"
#include "core/exchange/llmc.h"
#include "core/program/import.h"

#include <stdio.h>
#include <string.h>

typedef struct LmImport {
    Import base; /* first */
    Llmc llmc;
    HfTokens tokens;
    Names names;
    size_t dim, depth, vocabulary;
} LmImport;

/* What all have in common: it is a GPT-2 but for what is said afterwards. */
static bool begin(LmImport *m, size_t heads, size_t ff, size_t context, Error *e)
{
    m->base.a->options->preset = "gpt2";
    return options_preset(m->base.a->command_line, "gpt2", e) && import_size(&m->base, "dim", m->dim, e) &&
           import_size(&m->base, "heads", heads, e) && import_size(&m->base, "depth", m->depth, e) &&
           import_size(&m->base, "ff", ff, e) && import_size(&m->base, "context", context, e) &&
           import_size(&m->base, "steps", 0, e) && import_size(&m->base, "batch", 1, e);
}

/* ---- configurations */

static bool heads_fit(const LmImport *m, size_t heads, Error *e)
{
    return m->dim % heads == 0 ||
           fail(e, "%s/config.json: 'n_embd' %zu is not a multiple of 'n_head' %zu", m->base.path, m->dim, heads);
}

static bool read_gpt2(LmImport *m, Error *e)
{
    const HfFolder *h = &m->base.hf;
    size_t heads, ff, context;
    m->names = NAMES_GPT2;
    return hf_must_be(h, "scale_attn_weights", true, true, e) &&
           hf_must_be(h, "scale_attn_by_inverse_layer_idx", false, false, e) &&
           hf_must_be(h, "tie_word_embeddings", true, true, e) &&
           hf_must_be(h, "add_cross_attention", false, false, e) && hf_size(h, "n_embd", 0, &m->dim, e) &&
           hf_size(h, "n_head", 0, &heads, e) && heads_fit(m, heads, e) && hf_size(h, "n_layer", 0, &m->depth, e) &&
           hf_size(h, "n_positions", 0, &context, e) && hf_size(h, "n_inner", 4 * m->dim, &ff, e) &&
           hf_size(h, "vocab_size", 0, &m->vocabulary, e) && begin(m, heads, ff, context, e) &&
           import_activation(&m->base, "activation_function", "gelu_new", e) &&
           import_epsilon(&m->base, "layer_norm_epsilon", 1e-5, e);
}

/* The arguments of nanoGPT's model, as JSON. */
static bool read_nanogpt(LmImport *m, Error *e)
{
    const HfFolder *h = &m->base.hf;
    size_t heads, context;
    bool bias;
    m->names = NAMES_NANOGPT;
    return hf_size(h, "n_embd", 0, &m->dim, e) && hf_size(h, "n_head", 0, &heads, e) && heads_fit(m, heads, e) &&
           hf_size(h, "n_layer", 0, &m->depth, e) && hf_size(h, "block_size", 0, &context, e) &&
           hf_size(h, "vocab_size", 0, &m->vocabulary, e) && hf_truth(h, "bias", true, &bias, e) &&
           begin(m, heads, 4 * m->dim, context, e) && import_set(&m->base, "activation", "gelu", e) &&
           (bias || import_set(&m->base, "bias-free", "yes", e));
}

/* Angles of rotary positions: the base, and a linear stretch. Of two descriptions the older key's counts. */
static bool read_rotary(const LmImport *m, Error *e)
{
    const Json *parameters = json_get(m->base.hf.config, "rope_parameters"),
               *scaling = json_get(m->base.hf.config, "rope_scaling");
    const Json *all = scaling && scaling->kind == JSON_OBJECT && scaling->count ? scaling : parameters;
    const Json *base = json_get(all, "rope_theta"), *factor = json_get(all, "factor");
    const char *type = json_get_text(all, "rope_type") ? json_get_text(all, "rope_type") : json_get_text(all, "type");
    double theta;
    if (!hf_number(&m->base.hf, "rope_theta", 10000, &theta, e))
        return false;
    theta = base && base->kind == JSON_NUMBER ? base->number : theta;
    if (type && strcmp(type, "default") != 0 && strcmp(type, "linear") != 0)
        return fail(e, "%s/config.json: 'rope_type' is %.40s; default and linear are supported", m->base.path, type);
    const bool linear = type && !strcmp(type, "linear");
    if (linear && (!factor || factor->kind != JSON_NUMBER || factor->number < 1e-3))
        return fail(e, "%s/config.json: 'factor' of linear rotary positions is missing", m->base.path);
    return import_number(&m->base, "rotary-base", theta, e) &&
           (!linear || import_number(&m->base, "rotary-stretch", factor->number, e));
}

static bool read_llama(LmImport *m, Error *e)
{
    const HfFolder *h = &m->base.hf;
    size_t heads, kv, ff, context, head;
    bool attention, mlp, tied;
    m->names = NAMES_LLAMA;
    if (!hf_size(h, "hidden_size", 0, &m->dim, e) || !hf_size(h, "num_attention_heads", 0, &heads, e) ||
        !hf_size(h, "num_key_value_heads", heads, &kv, e) || !hf_size(h, "head_dim", m->dim / heads, &head, e) ||
        !hf_size(h, "num_hidden_layers", 0, &m->depth, e) || !hf_size(h, "intermediate_size", 0, &ff, e) ||
        !hf_size(h, "max_position_embeddings", 2048, &context, e) || !hf_size(h, "vocab_size", 0, &m->vocabulary, e) ||
        !hf_truth(h, "attention_bias", false, &attention, e) || !hf_truth(h, "mlp_bias", false, &mlp, e) ||
        !hf_truth(h, "tie_word_embeddings", false, &tied, e))
        return false;
    if (attention != mlp)
        return fail(e, "%s/config.json: 'attention_bias' and 'mlp_bias' must be equal", m->base.path);
    if (!tied && mlp)
        return fail(e,
                    "%s/config.json: 'tie_word_embeddings' must be true where maps have biases: logits have one then",
                    m->base.path);
    return begin(m, heads, ff, context, e) && import_size(&m->base, "kv-heads", kv, e) &&
           import_size(&m->base, "head-size", head, e) && import_set(&m->base, "norm-kind", "rms", e) &&
           import_set(&m->base, "positions", "rotary", e) && import_set(&m->base, "gate", "yes", e) &&
           import_flag(&m->base, "tie", tied, e) && import_flag(&m->base, "bias-free", !mlp, e) &&
           import_activation(&m->base, "hidden_act", "silu", e) && import_epsilon(&m->base, "rms_norm_eps", 1e-6, e) &&
           read_rotary(m, e);
}

static bool read_config(LmImport *m, Error *e)
{
    const Json *config = m->base.hf.config;
    const char *type = hf_said(&m->base.hf, "model_type");
    if (!json_get(config, "model_type") && json_get(config, "block_size"))
        return read_nanogpt(m, e);
    if (!strcmp(type, "llama"))
        return read_llama(m, e);
    return !strcmp(type, "gpt2")
               ? read_gpt2(m, e)
               : fail(e, "%s/config.json: 'model_type' is %.40s; gpt2 and llama can be imported", m->base.path, type);
}

/* ---- tokens, then weights */

static bool give_tokens(const LmImport *m, const char *vocabulary, const char *merges, Error *e)
{
    return import_set(&m->base, "vocabulary", vocabulary, e) && import_set(&m->base, "codes", merges, e);
}

static bool are_given(const LmImport *m) { return ((const Charlm *)m->base.a)->options->vocabulary; }

static bool find_tokens(LmImport *m, Error *e)
{
    bool found;
    if (are_given(m))
        return true;
    if (!hf_tokens_find(&m->tokens, &m->base.hf, m->base.beside, &found, e))
        return false;
    return found ? give_tokens(m, m->tokens.vocabulary, m->tokens.merges, e)
                 : fail(e,
                        "%s has neither tokenizer.json nor vocab.json and merges.txt: the tokens are missing; "
                        "--vocabulary and --codes name such files",
                        m->base.path);
}

static bool convert(LmImport *m, Source *theirs, Error *e)
{
    const CharlmOptions *o = ((const Charlm *)m->base.a)->options;
    const NamingTable table = names_table(m->names, m->depth, m->dim);
    const TokenizerOptions tokens = charlm_tokens((const Charlm *)m->base.a);
    size_t named;
    Model model = {.context = 0};
    if (!tokenizer_planned(&tokens, &named, e))
        return false;
    if (named > m->vocabulary)
        return fail(e, "%s: the model has %zu tokens, but its files name %zu", m->base.path, m->vocabulary, named);
    const bool fine = model_open(&model, &o->shared, named, e) &&
                      import_weights(&m->base, &table, theirs, &model.parameters, e);
    model_close(&model);
    return fine;
}

static void note_left_out(const LmImport *m, size_t rows)
{
    if (rows && !m->base.a->options->quiet)
        fprintf(stderr, "%s: %zu rows of the table belong to no token, and are left out\n", m->base.path, rows);
}

/* A copy of the table, which some files have beside it, is left unread: that it is tied, the configuration says. */
static bool import_folder(LmImport *m, Error *e)
{
    static const char *const ignored[] = {".attn.bias", ".attn.masked_bias", "lm_head.weight", ".rotary_emb.inv_freq",
                                          NULL};
    static const char *const longer[] = {"transformer.wte.weight", NULL};
    HfFolder *h = &m->base.hf;
    if (!hf_open(h, m->base.path, "transformer.", e))
        return false;
    m->base.path = h->path;
    if (!read_config(m, e) || !find_tokens(m, e))
        return false;
    h->longer = m->names == NAMES_LLAMA ? NULL : longer;
    if (!hf_weights(h, e) || !convert(m, &h->source, e) || !hf_nothing_left(h, ignored, e))
        return false;
    note_left_out(m, h->left_out);
    return true;
}

static bool import_llmc(LmImport *m, Error *e)
{
    Llmc *l = &m->llmc;
    if (!llmc_open(l, m->base.path, e))
        return false;
    if (!are_given(m))
        return fail(e, "%s has no tokens: give GPT-2's files, --vocabulary encoder.json and --codes vocab.bpe",
                    m->base.path);
    m->names = NAMES_NANOGPT;
    m->dim = l->dim;
    m->depth = l->depth;
    m->vocabulary = l->vocabulary;
    const bool fine = begin(m, l->heads, 4 * l->dim, l->context, e) && convert(m, &l->source, e);
    if (fine)
        note_left_out(m, l->left_out);
    return fine;
}

static bool import_any(Import *base, Error *e)
{
    LmImport *m = (LmImport *)base;
    const CharlmOptions *o = ((const Charlm *)base->a)->options;
    if (!o->vocabulary != !o->codes)
        return fail(e, "the tokens are two files: --vocabulary encoder.json and --codes vocab.bpe") ||
               app_misused(base->a);
    const bool fine = (llmc_is(base->path) ? import_llmc : import_folder)(m, e);
    llmc_close(&m->llmc);
    return fine;
}

/* Without data. */
static bool open_imported(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    const TokenizerOptions o = charlm_tokens(c);
    return tokenizer_learn(&c->tokenizer, &o, NULL, 0, e) && charlm_open_model(a, e);
}

bool charlm_import(App *a, Error *e)
{
    LmImport m = {.dim = 0};
    const bool fine = import_run(&m.base, a, "Name one folder, a .safetensors file in it, or a .bin of llm.c",
                                 import_any, open_imported, e);
    if (m.tokens.made && m.tokens.vocabulary && m.tokens.merges)
        remove(m.tokens.vocabulary), remove(m.tokens.merges);
    memory_free(m.tokens.vocabulary);
    memory_free(m.tokens.merges);
    return fine;
}
