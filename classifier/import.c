/* classifier import: an encoder that others trained becomes a run: a folder of Hugging Face's (core/exchange/hf_folder.h)
 * that holds one of the classes below, or a .safetensors file in it. What its configuration says that would change the
 * meaning, and that no network here does, is refused by name.
 *
 * The run has learned from no data: the first that it is trained on become its own. */
#include "classifier/classifier.h"
#include "classifier/names.h"

#include "base/memory.h"
#include "core/program/import.h"

#include <stdio.h>
#include <string.h>

static const struct Architecture {
    const char *name, *type;
    Names names;
    int objective;
} architectures[] = {
    {"BertModel", "bert", NAMES_BERT, OBJECTIVE_VECTORS},
    {"BertForMaskedLM", "bert", NAMES_BERT, OBJECTIVE_MASKED},
    {"BertForPreTraining", "bert", NAMES_BERT, OBJECTIVE_MASKED},
    {"BertForSequenceClassification", "bert", NAMES_BERT, OBJECTIVE_CLASSES},
    {"DistilBertModel", "distilbert", NAMES_DISTILBERT, OBJECTIVE_VECTORS},
    {"DistilBertForMaskedLM", "distilbert", NAMES_DISTILBERT, OBJECTIVE_MASKED},
    {"DistilBertForSequenceClassification", "distilbert", NAMES_DISTILBERT, OBJECTIVE_CLASSES},
};

typedef struct Encoder {
    Import base; /* first */
    const struct Architecture *is;
    HfWordPiece tokens;
    size_t dim, depth, vocabulary;
} Encoder;

/* ---- the configuration */

/* Without a name it is the first of its type, whose weights show whether that is right. */
static bool find_architecture(Encoder *m, Error *e)
{
    const Json *config = m->base.hf.config, *list = json_get(config, "architectures");
    const char *type = hf_said(&m->base.hf, "model_type"), *path = m->base.path;
    const char *name = list && list->kind == JSON_ARRAY && list->count ? list->items[0].text : NULL;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures && !m->is; i++)
        if (!strcmp(type, architectures[i].type) && (!name || !strcmp(name, architectures[i].name)))
            m->is = &architectures[i];
    if (strcmp(type, "bert") != 0 && strcmp(type, "distilbert") != 0)
        return fail(e, "%s/config.json: 'model_type' is %.40s; bert and distilbert can be imported", path, type);
    return m->is || fail(e,
                         "%s/config.json: 'architectures' is %.60s; of %s, the model itself can be imported, and with "
                         "a head ForMaskedLM, ForPreTraining and ForSequenceClassification",
                         path, name, type);
}

/* What any of these models may say of itself, and what it must say then. */
static bool says_nothing_else(const Encoder *m, Error *e)
{
    const HfFolder *h = &m->base.hf;
    size_t types;
    if (!hf_must_say(h, "position_embedding_type", "absolute", e) || !hf_must_be(h, "is_decoder", false, false, e) ||
        !hf_must_be(h, "add_cross_attention", false, false, e) ||
        (m->is->objective == OBJECTIVE_CLASSES && !hf_must_say(h, "problem_type", "single_label_classification", e)) ||
        !hf_size(h, "type_vocab_size", 2, &types, e))
        return false;
    return m->is->names != NAMES_BERT || types == 2 ||
           fail(e, "%s/config.json: 'type_vocab_size' must be 2: texts here have one part or two", m->base.path);
}

/* Under which keys a model says its sizes. */
static const struct Keys {
    const char *dim, *heads, *depth, *ff, *activation, *dropout, *attention_dropout;
    size_t blocks; /* where it does not say */
} keys[] = {
    [NAMES_BERT] = {"hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "hidden_act",
                    "hidden_dropout_prob", "attention_probs_dropout_prob", 12},
    [NAMES_DISTILBERT] = {"dim", "n_heads", "n_layers", "hidden_dim", "activation", "dropout", "attention_dropout", 6},
};

/* Rates under which training would continue; whatever is no rate is left to the preset. */
static bool read_rate(const Encoder *m, const char *key, const char *option, Error *e)
{
    double rate;
    return hf_number(&m->base.hf, key, 0.1, &rate, e) &&
           (!(rate >= 0 && rate < 1) || import_number(&m->base, option, rate, e));
}

static bool read_sizes(Encoder *m, Error *e)
{
    const HfFolder *h = &m->base.hf;
    const Import *i = &m->base;
    const struct Keys *k = &keys[m->is->names];
    size_t heads, ff, context;
    if (!hf_size(h, k->dim, 768, &m->dim, e) || !hf_size(h, k->heads, 12, &heads, e) ||
        !hf_size(h, k->depth, k->blocks, &m->depth, e) || !hf_size(h, k->ff, 3072, &ff, e) ||
        !hf_size(h, "max_position_embeddings", 512, &context, e) || !hf_size(h, "vocab_size", 30522, &m->vocabulary, e))
        return false;
    if (m->dim % heads)
        return fail(e, "%s/config.json: '%s' %zu is not a multiple of '%s' %zu", i->path, k->dim, m->dim, k->heads,
                    heads);
    return import_size(i, "dim", m->dim, e) && import_size(i, "heads", heads, e) &&
           import_size(i, "depth", m->depth, e) && import_size(i, "ff", ff, e) &&
           import_size(i, "context", context, e) && import_activation(i, k->activation, "gelu", e) &&
           import_epsilon(i, m->is->names == NAMES_BERT ? "layer_norm_eps" : "", 1e-12, e) &&
           read_rate(m, k->dropout, "dropout", e) && read_rate(m, k->attention_dropout, "attention-dropout", e);
}

/* What depends on the head, and on which of its tensors are there. */
static bool read_head(const Encoder *m, Error *e)
{
    static const char *const objectives[] = {
        [OBJECTIVE_CLASSES] = "classes", [OBJECTIVE_MASKED] = "masked", [OBJECTIVE_VECTORS] = "vectors"};
    const Import *i = &m->base;
    const bool bert = m->is->names == NAMES_BERT, masked = m->is->objective == OBJECTIVE_MASKED;
    const bool pairs = bert && masked &&
                       (!strcmp(m->is->name, "BertForPreTraining") || hf_has(&i->hf, "cls.seq_relationship.weight"));
    const bool classes = m->is->objective == OBJECTIVE_CLASSES;
    const char *pooler = !bert                                                            ? classes ? "relu" : "none"
                         : classes || pairs || hf_has(&i->hf, "bert.pooler.dense.weight") ? "tanh"
                                                                                          : "none";
    bool tied;
    return hf_truth(&i->hf, "tie_word_embeddings", true, &tied, e) &&
           import_set(i, "objective", objectives[m->is->objective], e) && import_set(i, "pooler", pooler, e) &&
           import_flag(i, "segments", bert, e) && import_flag(i, "next-sentence", pairs, e) &&
           import_flag(i, "tie", masked && tied, e);
}

/* ---- classes */

/* The name of class i: id2label has it under the number as a text; without names they are LABEL_0 and so on. */
static bool add_class(Classifier *c, const Encoder *m, const Json *names, size_t i, Error *e)
{
    char number[24], usual[32];
    snprintf(number, sizeof number, "%zu", i);
    snprintf(usual, sizeof usual, "LABEL_%zu", i);
    const char *name = names ? json_get_text(names, number) : usual;
    const char *fault = name ? class_fault(name, strlen(name)) : "is missing";
    for (size_t k = 0; !fault && k < i; k++)
        fault = strcmp(c->classes[k], name) ? NULL : "is the name of two classes";
    if (fault)
        return fail(e, "%s/config.json: 'id2label': '%s' %s", m->base.path, number, fault);
    c->classes[i] = memory_string(name);
    c->class_count += c->classes[i] != NULL;
    return c->classes[i] || memory_error(e, "the names of classes", strlen(name), 1);
}

static bool read_classes(Classifier *c, const Encoder *m, Error *e)
{
    enum { CLASSES_MOST = 1000 };
    const Json *names = json_get(m->base.hf.config, "id2label");
    size_t count = 2;
    names = names && names->kind == JSON_OBJECT ? names : NULL;
    if (!hf_size(&m->base.hf, "num_labels", 2, &count, e))
        return false;
    count = names ? names->count : count;
    if (count < 2 || count > CLASSES_MOST)
        return fail(e, "%s/config.json: %zu classes; a classifier has from 2 to %d", m->base.path, count, CLASSES_MOST);
    c->classes = memory_get(count, sizeof *c->classes);
    bool fine = c->classes || memory_error(e, "the names of classes", count, sizeof *c->classes);
    for (size_t i = 0; fine && i < count; i++)
        fine = add_class(c, m, names, i, e);
    return fine;
}

/* ---- tokens and weights */

static bool read_tokens(Classifier *c, Encoder *m, Error *e)
{
    if (!hf_wordpiece_find(&m->tokens, &m->base.hf, m->base.beside, e))
        return false;
    const TokensOptions o = {
        .kind = m->tokens.lower ? TOKEN_BERT : TOKEN_BERT_CASED, .marks = true, .file = m->tokens.vocabulary};
    if (!tokens_learn(&c->tokens, &o, NULL, e))
        return false;
    c->reading = &c->tokens;
    if (tokens_count(&c->tokens) > m->vocabulary)
        return fail(e, "%s: the model has %zu tokens, but its files name %zu", m->base.path, m->vocabulary,
                    tokens_count(&c->tokens));
    return import_set(&m->base, "tokens", m->tokens.lower ? "bert" : "bert-cased", e) &&
           import_size(&m->base, "words", tokens_count(&c->tokens), e);
}

/* Left unread are buffers and copies of what is tied. */
static bool convert(Classifier *c, Encoder *m, Error *e)
{
    static const char *const ignored[] = {".position_ids",          "cls.predictions.decoder.weight",
                                          "cls.predictions.bias",   "cls.predictions.decoder.bias",
                                          "vocab_projector.weight", NULL};
    const NamingTable table = names_table(m->is->names, m->depth, m->dim);
    HfFolder *h = &m->base.hf;
    Model model = {.context = 0};
    const bool fine = model_open(&model, c->options, tokens_count(&c->tokens), c->class_count, e) &&
                      import_weights(&m->base, &table, &h->source, &model.parameters, e) &&
                      hf_nothing_left(h, ignored, e);
    model_close(&model);
    if (fine && h->left_out && !c->options->shared.quiet)
        fprintf(stderr, "%s: %zu rows of the table belong to no token, and are left out\n", m->base.path, h->left_out);
    return fine;
}

static bool read_folder(Import *base, Error *e)
{
    static const char *const longer[] = {"bert.embeddings.word_embeddings.weight",
                                         "distilbert.embeddings.word_embeddings.weight",
                                         "cls.predictions.decoder.weight",
                                         "cls.predictions.decoder.bias",
                                         "vocab_projector.weight",
                                         "vocab_projector.bias",
                                         NULL};
    static const char *const aliases[][2] = {{"cls.predictions.decoder.bias", "cls.predictions.bias"}, {NULL, NULL}};
    Encoder *m = (Encoder *)base;
    Classifier *c = (Classifier *)base->a;
    HfFolder *h = &base->hf;
    Options *o = base->a->command_line;
    if (!hf_open(h, base->path, "", e))
        return false;
    base->path = h->path;
    if (!find_architecture(m, e) || !says_nothing_else(m, e))
        return false;
    h->prefix = m->is->names == NAMES_BERT ? "bert." : "distilbert.";
    h->longer = longer;
    h->aliases = aliases;
    base->a->options->preset = "bert";
    return options_preset(o, "bert", e) && import_size(base, "steps", 0, e) && hf_weights(h, e) && read_sizes(m, e) &&
           read_head(m, e) && (m->is->objective != OBJECTIVE_CLASSES || read_classes(c, m, e)) &&
           read_tokens(c, m, e) && convert(c, m, e);
}

/* ---- the run */

/* Without data. */
static bool open_imported(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    if (!classifier_build(c, tokens_count(c->reading), c->class_count, e))
        return false;
    classifier_task(c);
    return true;
}

bool classifier_import(App *a, Error *e)
{
    Encoder m = {.dim = 0};
    const bool fine = import_run(&m.base, a, "Name one folder, or a .safetensors file in it", read_folder,
                                 open_imported, e);
    if (m.tokens.made && m.tokens.vocabulary)
        remove(m.tokens.vocabulary);
    memory_free(m.tokens.vocabulary);
    return fine;
}
