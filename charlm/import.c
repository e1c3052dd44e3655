/* charlm import: a language model that others trained becomes a run. Read are
 *
 *     a folder as Hugging Face publishes it (core/exchange/hf_folder.h): GPT-2, Llama; or nanoGPT's weights in such a one
 *     a .bin file of llm.c (core/exchange/llmc.h), with --vocabulary and --codes
 *
 * What a configuration says that would change the meaning, and that we do not have, is refused by name. Weights are put
 * under our names, written to a file beside the run, and read as `train --weights` reads it, for a training of no steps.
 * The run learns from the built-in text, unless --data names another later. */
#include "charlm/charlm.h"
#include "charlm/names.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/hf_folder.h"
#include "core/exchange/llmc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 4096 };

typedef struct Import {
    App *a;
    const char *path; /* a folder or a file */
    HfFolder hf;
    Llmc llmc;
    HfTokens tokens;
    Names names;
    size_t dim, depth, vocabulary;
} Import;

/* ---- options, as if they had been typed */

static bool set(const Import *m, const char *option, const char *text, Error *e)
{
    return options_set(m->a->command_line, option, text, FROM_COMMAND_LINE, e);
}

static bool set_size(const Import *m, const char *option, size_t value, Error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return set(m, option, text, e);
}

static bool set_number(const Import *m, const char *option, double value, Error *e)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    return set(m, option, text, e);
}

static bool set_flag(const Import *m, const char *option, bool value, Error *e)
{
    return set(m, option, value ? "yes" : "no", e);
}

/* What all have in common: it is a GPT-2 but for what is said afterwards. */
static bool begin(Import *m, size_t heads, size_t ff, size_t context, Error *e)
{
    m->a->options->preset = "gpt2";
    return options_preset(m->a->command_line, "gpt2", e) && set_size(m, "dim", m->dim, e) &&
           set_size(m, "heads", heads, e) && set_size(m, "depth", m->depth, e) && set_size(m, "ff", ff, e) &&
           set_size(m, "context", context, e) && set_size(m, "steps", 0, e) && set_size(m, "batch", 1, e);
}

static bool set_activation(const Import *m, const char *key, const char *otherwise, Error *e)
{
    static const char *const names[][2] = {{"gelu_new", "gelu-tanh"}, {"gelu_pytorch_tanh", "gelu-tanh"},
                                           {"gelu", "gelu"},          {"relu", "relu"},
                                           {"silu", "silu"},          {"swish", "silu"},
                                           {"relu2", "relu2"}};
    const char *asked = json_get(m->hf.config, key) ? json_get_text(m->hf.config, key) : otherwise;
    for (size_t i = 0; asked && i < sizeof names / sizeof *names; i++)
        if (!strcmp(asked, names[i][0]))
            return set(m, "activation", names[i][1], e);
    return fail(e, "%s/config.json: '%s' is %s, which is not known here", m->path, key, asked ? asked : "no name");
}

/* ---- configurations */

static bool has_our_epsilon(const Import *m, const char *key, double otherwise, Error *e)
{
    double epsilon;
    return hf_number(&m->hf, key, otherwise, &epsilon, e) &&
           (fabs(epsilon - 1e-5) < 1e-12 ||
            fail(e, "%s/config.json: '%s' must be 1e-05: no norm here has another", m->path, key));
}

static bool heads_fit(const Import *m, size_t heads, Error *e)
{
    return m->dim % heads == 0 ||
           fail(e, "%s/config.json: 'n_embd' %zu is not a multiple of 'n_head' %zu", m->path, m->dim, heads);
}

static bool read_gpt2(Import *m, Error *e)
{
    const HfFolder *h = &m->hf;
    size_t heads, ff, context;
    m->names = NAMES_GPT2;
    return hf_must_be(h, "scale_attn_weights", true, true, e) &&
           hf_must_be(h, "scale_attn_by_inverse_layer_idx", false, false, e) &&
           hf_must_be(h, "tie_word_embeddings", true, true, e) &&
           hf_must_be(h, "add_cross_attention", false, false, e) && has_our_epsilon(m, "layer_norm_epsilon", 1e-5, e) &&
           hf_size(h, "n_embd", 0, &m->dim, e) && hf_size(h, "n_head", 0, &heads, e) && heads_fit(m, heads, e) &&
           hf_size(h, "n_layer", 0, &m->depth, e) && hf_size(h, "n_positions", 0, &context, e) &&
           hf_size(h, "n_inner", 4 * m->dim, &ff, e) && hf_size(h, "vocab_size", 0, &m->vocabulary, e) &&
           begin(m, heads, ff, context, e) && set_activation(m, "activation_function", "gelu_new", e);
}

/* The arguments of nanoGPT's model, as JSON. */
static bool read_nanogpt(Import *m, Error *e)
{
    const HfFolder *h = &m->hf;
    size_t heads, context;
    bool bias;
    m->names = NAMES_NANOGPT;
    return hf_size(h, "n_embd", 0, &m->dim, e) && hf_size(h, "n_head", 0, &heads, e) && heads_fit(m, heads, e) &&
           hf_size(h, "n_layer", 0, &m->depth, e) && hf_size(h, "block_size", 0, &context, e) &&
           hf_size(h, "vocab_size", 0, &m->vocabulary, e) && hf_truth(h, "bias", true, &bias, e) &&
           begin(m, heads, 4 * m->dim, context, e) && set(m, "activation", "gelu", e) &&
           (bias || set(m, "bias-free", "yes", e));
}

/* Angles of rotary positions: the base, and a linear stretch. */
static bool read_rotary(const Import *m, Error *e)
{
    const Json *parameters = json_get(m->hf.config, "rope_parameters"),
               *scaling = json_get(m->hf.config, "rope_scaling");
    const Json *all = parameters && parameters->kind == JSON_OBJECT ? parameters : scaling;
    const Json *base = json_get(parameters, "rope_theta"), *factor = json_get(all, "factor");
    const char *type = json_get_text(all, "rope_type") ? json_get_text(all, "rope_type") : json_get_text(all, "type");
    double theta;
    if (!hf_number(&m->hf, "rope_theta", 10000, &theta, e))
        return false;
    theta = base && base->kind == JSON_NUMBER ? base->number : theta;
    if (type && strcmp(type, "default") != 0 && strcmp(type, "linear") != 0)
        return fail(e, "%s/config.json: 'rope_type' is %.40s; default and linear are known here", m->path, type);
    const bool linear = type && !strcmp(type, "linear");
    if (linear && (!factor || factor->kind != JSON_NUMBER || factor->number < 1e-3))
        return fail(e, "%s/config.json: 'factor' of linear rotary positions is missing", m->path);
    return set_number(m, "rotary-base", theta, e) && (!linear || set_number(m, "rotary-stretch", factor->number, e));
}

static bool read_llama(Import *m, Error *e)
{
    const HfFolder *h = &m->hf;
    size_t heads, kv, ff, context, head;
    bool attention, mlp, tied;
    m->names = NAMES_LLAMA;
    if (!has_our_epsilon(m, "rms_norm_eps", 1e-6, e) || !hf_size(h, "hidden_size", 0, &m->dim, e) ||
        !hf_size(h, "num_attention_heads", 0, &heads, e) || !hf_size(h, "num_key_value_heads", heads, &kv, e) ||
        !hf_size(h, "head_dim", m->dim / heads, &head, e) || !hf_size(h, "num_hidden_layers", 0, &m->depth, e) ||
        !hf_size(h, "intermediate_size", 0, &ff, e) || !hf_size(h, "max_position_embeddings", 2048, &context, e) ||
        !hf_size(h, "vocab_size", 0, &m->vocabulary, e) || !hf_truth(h, "attention_bias", false, &attention, e) ||
        !hf_truth(h, "mlp_bias", false, &mlp, e) || !hf_truth(h, "tie_word_embeddings", false, &tied, e))
        return false;
    if (attention != mlp)
        return fail(e, "%s/config.json: 'attention_bias' and 'mlp_bias' must be alike: no network here does otherwise",
                    m->path);
    if (!tied && mlp)
        return fail(e,
                    "%s/config.json: 'tie_word_embeddings' must be true where maps have biases: logits have one then",
                    m->path);
    return begin(m, heads, ff, context, e) && set_size(m, "kv-heads", kv, e) && set_size(m, "head-size", head, e) &&
           set(m, "norm-kind", "rms", e) && set(m, "positions", "rotary", e) && set(m, "gate", "yes", e) &&
           set_flag(m, "tie", tied, e) && set_flag(m, "bias-free", !mlp, e) &&
           set_activation(m, "hidden_act", "silu", e) && read_rotary(m, e);
}

static bool read_config(Import *m, Error *e)
{
    const char *type = json_get_text(m->hf.config, "model_type");
    if (!type && json_get(m->hf.config, "block_size"))
        return read_nanogpt(m, e);
    if (type && !strcmp(type, "llama"))
        return read_llama(m, e);
    return type && !strcmp(type, "gpt2")
               ? read_gpt2(m, e)
               : fail(e, "%s/config.json: 'model_type' is %s; gpt2 can be imported, and llama", m->path,
                      type ? type : "missing");
}

/* ---- tokens, then weights */

static bool give_tokens(const Import *m, const char *vocabulary, const char *merges, Error *e)
{
    return set(m, "vocabulary", vocabulary, e) && set(m, "codes", merges, e);
}

static bool are_given(const Import *m) { return ((const Charlm *)m->a)->options->vocabulary; }

static bool find_tokens(Import *m, const char *beside, Error *e)
{
    bool found;
    if (are_given(m))
        return true;
    if (!hf_tokens_find(&m->tokens, &m->hf, beside, &found, e))
        return false;
    return found ? give_tokens(m, m->tokens.vocabulary, m->tokens.merges, e)
                 : fail(e,
                        "%s has neither tokenizer.json nor vocab.json and merges.txt: the tokens are missing; "
                        "--vocabulary "
                        "and --codes name such files",
                        m->path);
}

/* In our names, and forgotten before the run needs the memory. */
static bool convert(Import *m, Source *theirs, const char *to, Error *e)
{
    Charlm *c = (Charlm *)m->a;
    const CharlmOptions *o = c->options;
    const NamingTable table = names_table(m->names, m->depth, m->dim);
    const TokenizerOptions tokens = {(TokenKind)o->tokens, STANDARD_MERGES, o->vocabulary, o->codes};
    size_t named;
    Model model = {.context = 0};
    Tensors ours = {0};
    if (!tokenizer_planned(&tokens, &named, e))
        return false;
    if (named > m->vocabulary)
        return fail(e, "%s: the model has %zu tokens, and its files name %zu", m->path, m->vocabulary, named);
    const bool fine = model_open(&model, &o->shared, named, e) &&
                      naming_read(&table, theirs, &model.parameters, &ours, e) &&
                      safetensors_write(to, ours.list, ours.count, NULL, 0, e);
    model_close(&model);
    tensors_close(&ours);
    return fine;
}

/* A copy of the table, which some files have beside it, is left unread: that it is tied, the configuration says. */
static bool import_folder(Import *m, const char *to, const char *beside, Error *e)
{
    static const char *const ignored[] = {".attn.bias", ".attn.masked_bias", "lm_head.weight", ".rotary_emb.inv_freq",
                                          NULL};
    m->hf.table = NULL;
    if (!hf_open(&m->hf, m->path, "transformer.", e) || !read_config(m, e) || !find_tokens(m, beside, e))
        return false;
    m->hf.table = m->names == NAMES_LLAMA ? NULL : "transformer.wte.weight";
    if (!hf_weights(&m->hf, e) || !convert(m, &m->hf.source, to, e) || !hf_nothing_left(&m->hf, ignored, e))
        return false;
    if (m->hf.left_out && !m->a->options->quiet)
        fprintf(stderr, "%s: %zu rows of the table belong to no token, and are left out\n", m->path, m->hf.left_out);
    return true;
}

static bool import_llmc(Import *m, const char *to, Error *e)
{
    Llmc *l = &m->llmc;
    if (!llmc_open(l, m->path, e))
        return false;
    if (!are_given(m))
        return fail(e, "%s has no tokens: give GPT-2's files, --vocabulary encoder.json and --codes vocab.bpe",
                    m->path);
    m->names = NAMES_NANOGPT;
    m->dim = l->dim;
    m->depth = l->depth;
    m->vocabulary = l->vocabulary;
    return begin(m, l->heads, 4 * l->dim, l->context, e) && convert(m, &l->source, to, e);
}

static bool import_any(Import *m, const char *to, const char *beside, Error *e)
{
    bool fine;
    if (file_exists(m->path) && !llmc_is(m->path))
        fine = fail(
            e,
            "%s is no model of llm.c; of other models name the folder. A .pt or .bin of PyTorch is a pickle, which "
            "Python alone reads: docs/exchange.md says how to convert it",
            m->path);
    else
        fine = file_exists(m->path) ? import_llmc(m, to, e) : import_folder(m, to, beside, e);
    hf_close(&m->hf);
    llmc_close(&m->llmc);
    return fine && set(m, "weights", to, e);
}

bool charlm_import(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    Import m = {.a = a, .path = a->command_line->argument_count == 1 ? a->command_line->arguments[0] : NULL};
    char beside[LONGEST - 100], weights[LONGEST];
    if (!m.path)
        return fail(e, "which model? Name one folder, or a .bin of llm.c") || app_misused(a);
    if (!c->options->out)
        return fail(e, "where to? Give --out RUN") || app_misused(a);
    if (!run_may_begin(c->options->out, e))
        return false;
    if ((size_t)snprintf(beside, sizeof beside, "%s.import", c->options->out) >= sizeof beside)
        return fail(e, "--out %s: too long", c->options->out);
    snprintf(weights, sizeof weights, "%s.safetensors", beside);
    a->options->run = c->options->out;
    const bool fine = import_any(&m, weights, beside, e) && app_train(a, e) && run_mark(a->run, "best", 0, e);
    remove(weights);
    if (m.tokens.made && m.tokens.vocabulary && m.tokens.merges)
        remove(m.tokens.vocabulary), remove(m.tokens.merges);
    memory_free(m.tokens.vocabulary);
    memory_free(m.tokens.merges);
    return fine;
}
