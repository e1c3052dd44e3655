/* encdec export --format hf: a folder that Hugging Face's transformers loads as a MarianMTModel, with its MarianTokenizer: what
 * `import` reads. What the class cannot say is refused by the option's name (core/exchange/sayable.h).
 *
 * Ids are ours. A Marian has a <pad>, which its decoder begins with, and which it never says; a run that has none gets one
 * after all others, with the vectors of </s>, which the decoder of such a run begins with.
 *
 * A Marian's sinusoids are all sines, then all cosines. Where a run has them in turns, all numbers of the model's width are
 * put into Marian's order, which changes nothing else: neither norms nor products depend on an order. */
#include "encdec/export.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/text_file.h"
#include "encdec/marian_names.h"

#include <string.h>

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
                               {"norm", "post"},
                               {"norm-kind", "layer"},
                               {"norm-epsilon", NULL},
                               {"positions", "sinusoid|sinusoid-halves"},
                               {"distances", "none"},
                               {"attention", NULL},
                               {"score", "scaled-dot"},
                               {"bias", NULL},
                               {"tie", NULL},
                               {"plain-embeddings", NULL},
                               {"logits-bias", NULL},
                               {"two-vocabularies", NULL},
                               {"type", "sentencepiece"},
                               {"tokens", NULL},
                               {"size", NULL},
                               {"merges", NULL},
                               {"lower", NULL},
                               {NULL, NULL}};

enum { NEVER = -1000000000 }; /* the logit of <pad> */

typedef struct Away {
    Export *x;
    const Subwords *p;
    const SharedOptions *options;
    bool adds_pad, tied, one; /* one: table for both sides, and the logits */
    size_t dim, depth, decoder_depth, tokens[SIDES_USED];
    int32_t pad;
} Away;

static bool begin(Away *w, Export *x, const EncDec *c, Error *e)
{
    const Subwords *p = &c->subwords;
    const double epsilon = model_epsilon(x->model);
    const size_t other = model_size(x->model, "decoder-depth");
    *w = (Away){
        .x = x, .p = p, .options = &c->options->shared, .adds_pad = !p->pad, .tied = model_is(x->model, "tie", "yes")};
    w->one = w->tied && !p->apart;
    w->dim = model_size(x->model, "dim");
    w->depth = model_size(x->model, "depth");
    w->decoder_depth = other ? other : w->depth;
    for (size_t side = 0; side < SIDES_USED; side++)
        w->tokens[side] = subwords_count(p, side) + w->adds_pad;
    w->pad = w->adds_pad ? (int32_t)w->tokens[TARGET] - 1 : p->pad;
    return (epsilon > 0.99e-5 && epsilon < 1.01e-5) ||
           fail(e, "--format hf cannot express --norm-epsilon %g: a Marian of transformers has 1e-05", epsilon);
}

/* ---- files of texts */

static void add_sizes(Buffer *b, const Away *w)
{
    static const char *const stacks[][3] = {{"encoder_layers", "encoder_attention_heads", "encoder_ffn_dim"},
                                            {"decoder_layers", "decoder_attention_heads", "decoder_ffn_dim"}};
    const Json *m = w->x->model;
    const size_t ff = model_size(m, "ff");
    json_add_member(b, "d_model", (double)w->dim);
    for (size_t side = 0; side < SIDES_USED; side++) {
        json_add_member(b, stacks[side][0], (double)(side == SOURCE ? w->depth : w->decoder_depth));
        json_add_member(b, stacks[side][1], (double)model_size(m, "heads"));
        json_add_member(b, stacks[side][2], (double)(ff ? ff : 4 * w->dim));
    }
    json_add_member(b, "dropout", w->options->dropout);
    json_add_member(b, "attention_dropout", w->options->attention_dropout);
    json_add_member(b, "activation_dropout", w->options->ff_dropout);
    json_add_member(b, "max_position_embeddings", (double)model_size(m, "context"));
    json_add_member(b, "vocab_size", (double)w->tokens[SOURCE]);
    json_add_member(b, "decoder_vocab_size", (double)w->tokens[TARGET]);
}

static void add_truth(Buffer *b, const char *key, bool is)
{
    json_add_key(b, key);
    buffer_print(b, is ? "true" : "false");
}

/* What begins and ends a translation. */
static void add_marks(Buffer *b, const Away *w)
{
    json_add_member(b, "pad_token_id", w->pad);
    json_add_member(b, "eos_token_id", END);
    json_add_member(b, "decoder_start_token_id", w->pad);
}

static bool write_config(const Away *w, Error *e)
{
    Buffer b = {0};
    const Json *m = w->x->model;
    const char *activation = model_says(m, "activation");
    buffer_print(&b, "{");
    json_add_text(&b, "model_type", "marian");
    json_add_key(&b, "architectures");
    buffer_print(&b, "[\"MarianMTModel\"]");
    add_sizes(&b, w);
    json_add_text(&b, "activation_function", strcmp(activation, "gelu-tanh") ? activation : "gelu_new");
    add_truth(&b, "is_encoder_decoder", true);
    add_truth(&b, "scale_embedding", !model_is(m, "plain-embeddings", "yes"));
    add_truth(&b, "share_encoder_decoder_embeddings", w->one);
    add_truth(&b, "tie_word_embeddings", w->tied);
    add_truth(&b, "static_position_embeddings", true);
    add_marks(&b, w);
    json_add_text(&b, "torch_dtype", "float32");
    buffer_print(&b, "}\n");
    return text_file(w->x->making, "config.json", &b, e);
}

static bool write_generation(const Away *w, Error *e)
{
    Buffer b = {0};
    buffer_print(&b, "{");
    add_marks(&b, w);
    json_add_member(&b, "forced_eos_token_id", END);
    json_add_key(&b, "bad_words_ids");
    buffer_print(&b, "[[%d]]", (int)w->pad);
    json_add_member(&b, "max_length", (double)model_size(w->x->model, "context"));
    json_add_member(&b, "num_beams", 4);
    buffer_print(&b, "}\n");
    return text_file(w->x->making, "generation_config.json", &b, e);
}

static bool write_tokenizer(const Away *w, const EncDec *c, Error *e)
{
    Buffer b = {0};
    buffer_print(&b, "{");
    json_add_text(&b, "tokenizer_class", "MarianTokenizer");
    json_add_text(&b, "source_lang", c->options->source ? c->options->source : "");
    json_add_text(&b, "target_lang", c->options->target ? c->options->target : "");
    add_truth(&b, "separate_vocabs", !w->one);
    json_add_member(&b, "model_max_length", (double)model_size(w->x->model, "context"));
    json_add_text(&b, "unk_token", "<unk>");
    json_add_text(&b, "eos_token", "</s>");
    json_add_text(&b, "pad_token", "<pad>");
    buffer_print(&b, "}\n");
    return text_file(w->x->making, "tokenizer_config.json", &b, e);
}

/* Names and ids of a side. */
static bool write_names(const Away *w, size_t side, const char *file, Error *e)
{
    const Vocabulary *v = side == TARGET && w->p->apart ? &w->p->target : &w->p->vocabulary;
    Buffer b = {0};
    buffer_print(&b, "{");
    for (size_t i = 0; i < v->count; i++)
        json_add_member(&b, i ? vocabulary_word(v, (int32_t)i) : "<unk>", (double)i);
    if (w->adds_pad)
        json_add_member(&b, "<pad>", (double)v->count);
    buffer_print(&b, "}\n");
    return text_file(w->x->making, file, &b, e);
}

static bool write_pieces(const Away *w, Error *e)
{
    static const char *const files[] = {"source.spm", "target.spm"};
    bool fine = true;
    for (size_t side = 0; fine && side < SIDES_USED; side++) {
        char *path = path_join(w->x->making, files[side]);
        fine = (path || memory_error(e, "a path", 1, 1)) && sentencepiece_write(&w->p->pieces[side], path, e);
        memory_free(path);
    }
    return fine;
}

/* ---- weights */

/* The same with a row for <pad>, that of </s>. */
static bool add_row(const Away *w, const char *name, Error *e)
{
    SafeTensor *t = (SafeTensor *)(uintptr_t)tensors_find(&w->x->weights, name);
    if (!t || !w->adds_pad)
        return true;
    const size_t rows = t->shape[0], columns = t->rank == 2 ? t->shape[1] : 1;
    float *values = tensor_values(name, rows + 1, columns, e);
    if (!values)
        return false;
    memcpy(values, t->data, rows * columns * sizeof *values);
    memcpy(values + rows * columns, values + END * columns, columns * sizeof *values);
    memory_free((void *)(uintptr_t)t->data);
    t->data = values, t->shape[0] = rows + 1;
    return true;
}

/* [1, tokens], with what keeps <pad> from being said. */
static bool write_bias(const Away *w, Tensors *to, Error *e)
{
    const SafeTensor *own = tensors_find(&w->x->weights, "logits.bias");
    float *bias = tensor_values("final_logits_bias", w->tokens[TARGET], 0, e);
    for (size_t i = 0; bias && own && i < own->shape[0]; i++)
        bias[i] = tensor_floats(own)[i];
    if (bias)
        bias[w->pad] = NEVER;
    return tensors_add(to, "final_logits_bias", bias, 1, w->tokens[TARGET], e);
}

/* Which of our numbers is Marian's i-th: sines are at even places. */
static size_t place(size_t i, size_t width)
{
    const size_t half = (width + 1) / 2;
    return i < half ? 2 * i : 2 * (i - half) + 1;
}

static bool reorder(SafeTensor *t, bool rows, Error *e)
{
    const size_t count = t->shape[0], columns = t->rank == 2 ? t->shape[1] : 1;
    const float *from = t->data;
    float *to = tensor_values(t->name, count, columns, e);
    if (!to)
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < columns; k++)
            to[i * columns + k] = rows ? from[place(i, count) * columns + k] : from[i * columns + place(k, columns)];
    memory_free((void *)(uintptr_t)t->data);
    t->data = to;
    return true;
}

/* The model's width are the rows of what writes to it and of norms, and the columns of all other matrices. */
static bool sines_first(const Away *w, Error *e)
{
    const Tensors *all = &w->x->weights;
    bool fine = true;
    for (size_t i = 0; fine && i < all->count; i++) {
        SafeTensor *t = &all->list[i];
        const bool rows = strstr(t->name, ".out.") || strstr(t->name, ".norm");
        fine = (!rows && t->rank < 2) || reorder(t, rows, e);
    }
    return fine;
}

static bool write_weights(const Away *w, Error *e)
{
    static const char *const tables[] = {"embedding.weight", "source_embedding.weight", "target_embedding.weight",
                                         "logits.weight"};
    const NamingTable parts[] = {marian_names(MARIAN_ENCODER, w->depth, w->dim),
                                 marian_names(MARIAN_DECODER, w->decoder_depth, w->dim),
                                 marian_names(MARIAN_TOKENS, 0, w->dim)};
    Tensors t = {0};
    bool fine = !model_is(w->x->model, "positions", "sinusoid") || sines_first(w, e);
    for (size_t i = 0; fine && i < sizeof tables / sizeof *tables; i++)
        fine = add_row(w, tables[i], e);
    for (size_t i = 0; fine && i < sizeof parts / sizeof *parts; i++)
        fine = naming_write(&parts[i], &w->x->weights, &t, e);
    fine = fine && write_bias(w, &t, e) && export_tensors(w->x, &t, e);
    tensors_close(&t);
    return fine;
}

bool encdec_export_hf(Export *x, const EncDec *c, Error *e)
{
    Away w;
    return sayable_all(x->model, says, "hf", e) && begin(&w, x, c, e) && write_config(&w, e) &&
           write_generation(&w, e) && write_tokenizer(&w, c, e) && write_names(&w, SOURCE, "vocab.json", e) &&
           (w.one || write_names(&w, TARGET, "target_vocab.json", e)) && write_pieces(&w, e) && write_weights(&w, e);
}
