/* classifier export --format hf: a folder that Hugging Face's transformers loads: a BERT, or without segments a
 * DistilBERT, of the class that its head makes it. What the class does not say is refused by the option's name
 * (core/exchange/sayable.h). */
#include "classifier/export.h"
#include "classifier/names.h"

#include "base/memory.h"
#include "core/exchange/hf_folder.h"
#include "core/exchange/text_file.h"

#include <stdio.h>
#include <string.h>

static const Sayable sayable[] = {{"dim", NULL},
                                  {"heads", NULL},
                                  {"head-size", NULL},
                                  {"value-size", NULL},
                                  {"depth", NULL},
                                  {"ff", NULL},
                                  {"context", NULL},
                                  {"window", "0"},
                                  {"activation", "relu|gelu|gelu-tanh|silu"},
                                  {"norm", "post"},
                                  {"norm-kind", "layer"},
                                  {"norm-epsilon", NULL},
                                  {"positions", "learned"},
                                  {"distances", "none"},
                                  {"attention", NULL},
                                  {"score", "scaled-dot"},
                                  {"bias", NULL},
                                  {"tie", NULL},
                                  {"embedding-norm", "yes"},
                                  {"segments", NULL},
                                  {"marks", "yes"},
                                  {"tokens", "bert|bert-cased"},
                                  {"words", NULL},
                                  {"objective", NULL},
                                  {"next-sentence", NULL},
                                  {"pool", NULL},
                                  {"pooler", NULL},
                                  {NULL, NULL}};

typedef struct Away {
    const Classifier *c;
    Export *x;
    bool distil;
    size_t dim, heads, depth, ff;
    double epsilon;
} Away;

/* ---- what depends on more than one option */

static bool fits_sizes(const Away *w, Error *e)
{
    const size_t head = model_size(w->x->model, "head-size"), value = model_size(w->x->model, "value-size");
    const char *option = head && head * w->heads != w->dim     ? "head-size"
                         : value && value * w->heads != w->dim ? "value-size"
                                                               : NULL;
    return !option || fail(e, "--format hf cannot express --%s %zu: a BERT has heads of dim / heads = %zu numbers",
                           option, model_size(w->x->model, option), w->dim / w->heads);
}

static bool fits_head(const Away *w, Error *e)
{
    const bool classes = classifier_has_classes(w->c), pairs = w->c->options->next_sentence;
    const int pooler = w->c->options->pooler, usual = w->distil ? POOLER_RELU : POOLER_TANH;
    const char *name = w->distil ? "DistilBERT" : "BERT";
    if (classes && (pooler != usual || w->c->options->pool != POOLING_FIRST))
        return fail(e, "--format hf: a %s tells classes with --pool first and --pooler %s", name,
                    w->distil ? "relu" : "tanh");
    if (w->distil && !classes && pooler)
        return fail(e, "--format hf: a DistilBERT, which has no --segments, has a --pooler only before classes");
    if (!w->distil && !classes && (pooler == POOLER_RELU || (pairs && !pooler)))
        return fail(e, "--format hf: a BERT has --pooler tanh, if any, and with --next-sentence in any case");
    return !w->distil || (w->epsilon > 0.99e-12 && w->epsilon < 1.01e-12) ||
           fail(e, "--format hf: a DistilBERT, which has no --segments, has --norm-epsilon 1e-12");
}

static bool begin(Away *w, Error *e)
{
    const Json *m = w->x->model;
    w->distil = !model_is(m, "segments", "yes");
    w->dim = model_size(m, "dim");
    w->heads = model_size(m, "heads");
    w->depth = model_size(m, "depth");
    w->ff = model_size(m, "ff") ? model_size(m, "ff") : 4 * w->dim;
    w->epsilon = model_epsilon(m);
    return fits_sizes(w, e) && fits_head(w, e);
}

/* ---- config.json */

static const char *architecture(const Away *w)
{
    const Classifier *c = w->c;
    const char *const *names = w->distil ? (const char *const[]){"DistilBertModel", "DistilBertForMaskedLM", "",
                                                                 "DistilBertForSequenceClassification"}
                                         : (const char *const[]){"BertModel", "BertForMaskedLM", "BertForPreTraining",
                                                                 "BertForSequenceClassification"};
    return names[classifier_has_classes(c) ? 3 : !c->model.masked ? 0 : c->options->next_sentence ? 2 : 1];
}

static void add_sizes(Buffer *b, const Away *w)
{
    const SharedOptions *o = &w->c->options->shared;
    const char *activation = model_says(w->x->model, "activation");
    static const char *const keys[2][7] = {
        {"hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "hidden_dropout_prob",
         "attention_probs_dropout_prob", "hidden_act"},
        {"dim", "n_heads", "n_layers", "hidden_dim", "dropout", "attention_dropout", "activation"}};
    const double values[] = {(double)w->dim, (double)w->heads, (double)w->depth,
                             (double)w->ff,  o->dropout,       o->attention_dropout};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        json_add_member(b, keys[w->distil][i], values[i]);
    json_add_text(b, keys[w->distil][6], strcmp(activation, "gelu-tanh") ? activation : "gelu_new");
    json_add_member(b, "max_position_embeddings", (double)o->context);
    json_add_member(b, "vocab_size", (double)tokens_count(w->c->reading));
}

static void add_classes(Buffer *b, const Away *w)
{
    json_open(b, "id2label", '{');
    for (size_t i = 0; i < w->c->class_count; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        json_add_text(b, number, w->c->classes[i]);
    }
    buffer_print(b, "}");
    json_open(b, "label2id", '{');
    for (size_t i = 0; i < w->c->class_count; i++)
        json_add_member(b, w->c->classes[i], (double)i);
    buffer_print(b, "}");
}

static bool write_config(const Away *w, Error *e)
{
    Buffer b = {0};
    const int32_t pad = vocabulary_search(tokens_list(w->c->reading), "[PAD]", strlen("[PAD]"));
    const bool tied = !w->c->model.masked || w->c->options->shared.tie;
    buffer_print(&b, "{");
    json_add_text(&b, "model_type", w->distil ? "distilbert" : "bert");
    json_add_key(&b, "architectures");
    buffer_print(&b, "[\"%s\"]", architecture(w));
    add_sizes(&b, w);
    if (!w->distil) {
        json_add_member(&b, "layer_norm_eps", w->epsilon);
        json_add_member(&b, "type_vocab_size", 2);
        json_add_text(&b, "position_embedding_type", "absolute");
    }
    if (classifier_has_classes(w->c))
        add_classes(&b, w);
    json_add_key(&b, "pad_token_id");
    buffer_print(&b, pad < 0 ? "null" : "%d", (int)pad);
    json_add_key(&b, "tie_word_embeddings");
    buffer_print(&b, tied ? "true" : "false");
    json_add_text(&b, "torch_dtype", "float32");
    buffer_print(&b, "}\n");
    return text_file(w->x->making, "config.json", &b, e);
}

/* ---- weights */

/* The bias of tokens is a parameter of the head; where its map is its own, the map has one beside it, which is read. */
static bool add_bias(const Away *w, Tensors *t, Error *e)
{
    static const char of_map[] = "cls.predictions.decoder.bias", of_head[] = "cls.predictions.bias";
    const SafeTensor *bias = tensors_find(t, of_map);
    if (!bias)
        return true;
    if (w->c->options->shared.tie) {
        memcpy((char *)(uintptr_t)bias->name, of_head, sizeof of_head);
        return true;
    }
    const size_t rows = bias->shape[0];
    float *copy = tensor_values(of_head, rows, 0, e);
    if (copy)
        memcpy(copy, bias->data, rows * sizeof *copy);
    return tensors_add(t, of_head, copy, rows, 0, e);
}

static bool write_weights(const Away *w, Error *e)
{
    const NamingTable table = names_table(w->distil ? NAMES_DISTILBERT : NAMES_BERT, w->depth, w->dim);
    Tensors t = {0};
    const bool fine = naming_write(&table, &w->x->weights, &t, e) && add_bias(w, &t, e) && export_tensors(w->x, &t, e);
    tensors_close(&t);
    return fine;
}

bool classifier_export_hf(const Classifier *c, Export *x, Error *e)
{
    Away w = {.c = c, .x = x};
    return sayable_all(x->model, sayable, "hf", e) && begin(&w, e) && write_config(&w, e) &&
           hf_wordpiece_write(x->making, &c->reading->subwords, c->options->shared.context, e) && write_weights(&w, e);
}
