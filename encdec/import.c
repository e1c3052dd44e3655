/* encdec import: a translator that others trained becomes a run: a Marian as Hugging Face publishes it (opus-mt), a folder
 * (core/exchange/hf_folder.h), or a .safetensors file in it, with
 *
 *     vocab.json               ids of tokens by their names, and target_vocab.json where the target has others
 *     source.spm, target.spm   models of SentencePiece, which cut texts into tokens
 *
 * Its ids are put in our order: <unk>, </s>, then all others as they come (marian_words.h). What its configuration says that
 * would change the meaning, and that no network here does, is refused by name.
 *
 * The run has learned from no data: the first that it is trained on become its own. */
#include "encdec/encdec.h"

#include "base/memory.h"
#include "core/program/import.h"
#include "encdec/marian_names.h"
#include "encdec/marian_npz.h"
#include "encdec/marian_words.h"

#include <stdio.h>
#include <string.h>

/* What a tensor may be called, too. */
static const char *const aliases[][2] = {{"model.shared.weight", "model.encoder.embed_tokens.weight"},
                                         {"model.shared.weight", "model.decoder.embed_tokens.weight"},
                                         {"model.shared.weight", "lm_head.weight"},
                                         {"model.encoder.embed_tokens.weight", "model.shared.weight"},
                                         {"model.decoder.embed_tokens.weight", "model.shared.weight"},
                                         {"model.decoder.embed_tokens.weight", "lm_head.weight"},
                                         {NULL, NULL}};

typedef struct Marian {
    Import base; /* first */
    MarianWords words[SIDES_USED];
    MarianNpz npz;
    bool is_npz;
    bool two; /* vocabularies, or tables: the target has its own */
    size_t depth, dim, tokens[SIDES_USED];
} Marian;

static const MarianWords *words_of(const Marian *m, size_t side) { return &m->words[m->two ? side : SOURCE]; }

/* ---- the configuration */

static bool says_nothing_else(const HfFolder *h, const char *path, Error *e)
{
    static const struct {
        const char *key;
        bool value;
    } fixed[] = {{"is_decoder", false},
                 {"is_encoder_decoder", true},
                 {"normalize_before", false},
                 {"normalize_embedding", false},
                 {"add_final_layer_norm", false},
                 {"add_bias_logits", false},
                 {"static_position_embeddings", true}};
    const Json *list = json_get(h->config, "architectures");
    const char *type = hf_said(h, "model_type");
    const char *name = list && list->kind == JSON_ARRAY && list->count ? list->items[0].text : NULL;
    if (strcmp(type, "marian") != 0)
        return fail(e, "%s/config.json: 'model_type' is %.40s; marian can be imported", path, type);
    if (name && strcmp(name, "MarianMTModel") != 0)
        return fail(e, "%s/config.json: 'architectures' is %.60s; MarianMTModel can be imported", path, name);
    if (json_get(h->config, "num_experts"))
        return fail(e, "%s/config.json: 'num_experts' is not supported", path);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (!hf_must_be(h, fixed[i].key, fixed[i].value, fixed[i].value, e))
            return false;
    return true;
}

/* A size that both stacks have. */
static bool read_both(const Marian *m, const char *encoder, const char *decoder, size_t otherwise, size_t *size,
                      Error *e)
{
    size_t other;
    return hf_size(&m->base.hf, encoder, otherwise, size, e) && hf_size(&m->base.hf, decoder, otherwise, &other, e) &&
           (*size == other || fail(e, "%s/config.json: '%s' %zu differs from '%s' %zu, which is not supported",
                                   m->base.path, decoder, other, encoder, *size));
}

static bool read_rate(const Marian *m, const char *key, const char *option, Error *e)
{
    double rate;
    return hf_number(&m->base.hf, key, 0, &rate, e) &&
           (!(rate >= 0 && rate < 1) || import_number(&m->base, option, rate, e));
}

static bool read_sizes(Marian *m, Error *e)
{
    const HfFolder *h = &m->base.hf;
    const Import *i = &m->base;
    size_t heads, ff, context, decoder;
    if (!hf_size(h, "d_model", 1024, &m->dim, e) || !hf_size(h, "encoder_layers", 12, &m->depth, e) ||
        !hf_size(h, "decoder_layers", 12, &decoder, e) ||
        !read_both(m, "encoder_attention_heads", "decoder_attention_heads", 16, &heads, e) ||
        !read_both(m, "encoder_ffn_dim", "decoder_ffn_dim", 4096, &ff, e) ||
        !hf_size(h, "max_position_embeddings", 1024, &context, e) ||
        !hf_size(h, "vocab_size", 58101, &m->tokens[SOURCE], e) ||
        !hf_size(h, "decoder_vocab_size", m->tokens[SOURCE], &m->tokens[TARGET], e))
        return false;
    if (m->dim % heads)
        return fail(e, "%s/config.json: 'd_model' %zu is not a multiple of 'encoder_attention_heads' %zu", i->path,
                    m->dim, heads);
    const bool fine = import_size(i, "dim", m->dim, e) && import_size(i, "heads", heads, e) &&
                      import_size(i, "depth", m->depth, e) && import_size(i, "decoder-depth", decoder, e) &&
                      import_size(i, "ff", ff, e) && import_size(i, "context", context, e) &&
                      import_activation(i, "activation_function", "gelu", e) && read_rate(m, "dropout", "dropout", e) &&
                      read_rate(m, "attention_dropout", "attention-dropout", e) &&
                      read_rate(m, "activation_dropout", "ff-dropout", e);
    m->depth = m->depth > decoder ? m->depth : decoder;
    return fine;
}

static bool read_tables(Marian *m, Error *e)
{
    const HfFolder *h = &m->base.hf;
    bool shared, tied, scaled;
    if (!hf_truth(h, "share_encoder_decoder_embeddings", true, &shared, e) ||
        !hf_truth(h, "tie_word_embeddings", true, &tied, e) || !hf_truth(h, "scale_embedding", false, &scaled, e))
        return false;
    m->two = !shared;
    return import_flag(&m->base, "tie", tied, e) && import_flag(&m->base, "two-vocabularies", m->two, e) &&
           import_flag(&m->base, "plain-embeddings", !scaled, e) &&
           import_flag(&m->base, "logits-bias", tied && (m->is_npz || hf_has(h, "final_logits_bias")), e);
}

/* ---- tokens */

/* A configuration, and the file that it comes from. */
typedef struct Said {
    const Marian *m;
    const Json *json;
    const char *file;
} Said;

static const Json *given(const Said *s, const char *key)
{
    const Json *item = json_get(s->json, key);
    return item && item->kind != JSON_NULL ? item : NULL;
}

/* A token that it names by its id, alone or as the only one of a list, is what we take it for. */
static bool is_token(const Said *s, const char *key, const char *name, int64_t id, Error *e)
{
    const Json *said = given(s, key);
    int64_t is;
    if (said && said->kind == JSON_ARRAY && said->count == 1)
        said = &said->items[0];
    return !said || (json_integer(said, &is) && is == id) ||
           fail(e, "%s/%s: '%s' is not the id of %s, %d", s->m->base.path, s->file, key, name, (int)id);
}

/* Nothing is kept from being said but <pad>. */
static bool forbids_pad_alone(const Said *s, Error *e)
{
    const Json *bad = given(s, "bad_words_ids");
    int64_t id;
    if (!bad)
        return true;
    const Json *one = bad->kind == JSON_ARRAY && bad->count == 1 ? &bad->items[0] : NULL;
    return (one && one->kind == JSON_ARRAY && one->count == 1 && json_integer(&one->items[0], &id) &&
            id == words_of(s->m, TARGET)->pad) ||
           fail(e, "%s/%s: 'bad_words_ids' must be that of <pad> alone", s->m->base.path, s->file);
}

/* Translations begin, go on and end as here. How they are searched for (num_beams, length_penalty and so on) is for the
 * options of translate to say. */
static bool writes_as_here(const Said *s, Error *e)
{
    static const char *const absent[] = {"forced_bos_token_id", "forced_decoder_ids", "suppress_tokens",
                                         "sequence_bias", "begin_suppress_tokens"};
    const MarianWords *w = words_of(s->m, TARGET);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        const Json *item = given(s, absent[i]);
        if (item && !((item->kind == JSON_ARRAY || item->kind == JSON_OBJECT) && !item->count))
            return fail(e, "%s/%s: '%s' is not supported", s->m->base.path, s->file, absent[i]);
    }
    return is_token(s, "eos_token_id", "</s>", w->theirs[END], e) && is_token(s, "pad_token_id", "<pad>", w->pad, e) &&
           is_token(s, "decoder_start_token_id", "<pad>", w->pad, e) && forbids_pad_alone(s, e);
}

/* What generation_config.json says comes first there, and must be as here, too. */
static bool both_write_as_here(const Marian *m, Error *e)
{
    static const char file[] = "generation_config.json";
    Json *generation;
    const bool fine = hf_json_if_there(&generation, &m->base.hf, file, e) &&
                      writes_as_here(&(Said){m, m->base.hf.config, "config.json"}, e) &&
                      writes_as_here(&(Said){m, generation, file}, e);
    json_free(generation);
    return fine;
}

static bool read_words(Marian *m, size_t side, const char *file, Error *e)
{
    char name[IMPORT_PATH];
    Json *ids = NULL;
    snprintf(name, sizeof name, "%.*s/%s", IMPORT_PATH - 64, m->base.path, file);
    const bool fine = hf_json(&ids, &m->base.hf, file, e) && marian_words_read(&m->words[side], ids, name, e);
    json_free(ids);
    const size_t count = fine ? m->words[side].words.count : 0;
    return fine && (count == m->tokens[side] || fail(e, "%s: the model has %zu tokens, but %s names %zu", m->base.path,
                                                     m->tokens[side], file, count));
}

/* Names of added tokens have the ids of the source; in a text they are text. */
static bool adds_none(const Marian *m, Error *e)
{
    static const char *const none[] = {NULL};
    static const char *const marks[][2] = {
        {"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}, {NULL, NULL}};
    const MarianWords *w = &m->words[SOURCE];
    const HfWords words = {.words = &w->words, .theirs = w->theirs, .named = none, .marks = marks};
    return hf_adds_as_here(&m->base.hf, NULL, &words, e);
}

static bool read_vocabularies(Marian *m, Error *e)
{
    char *own;
    bool there;
    if (!hf_file(&own, &m->base.hf, "target_vocab.json", &there, e))
        return false;
    memory_free(own);
    if (!read_words(m, SOURCE, "vocab.json", e) || !adds_none(m, e) ||
        (m->two && !read_words(m, TARGET, there ? "target_vocab.json" : "vocab.json", e)))
        return false;
    const MarianWords *w = words_of(m, TARGET);
    return (w->pad >= 0 || fail(e, "%s: its vocabulary has no <pad>, which a translation begins with", m->base.path)) &&
           both_write_as_here(m, e);
}

static bool read_pieces(Subwords *p, const Marian *m, size_t side, const char *file, Error *e)
{
    char *path;
    bool there;
    const bool fine = hf_file(&path, &m->base.hf, file, &there, e) &&
                      (there || fail(e, "%s has no %s", m->base.path, file)) &&
                      sentencepiece_read(&p->pieces[side], path, e) && import_set(&m->base, "vocabulary", path, e);
    memory_free(path);
    return fine;
}

/* The languages, where they have the short names that files of texts end in. */
static bool read_languages(const Marian *m, Error *e)
{
    static const char *const keys[][2] = {{"source_lang", "source"}, {"target_lang", "target"}};
    Json *said;
    bool fine = hf_json_if_there(&said, &m->base.hf, "tokenizer_config.json", e);
    for (size_t i = 0; fine && i < 2; i++) {
        const char *language = said ? json_get_text(said, keys[i][0]) : NULL;
        if (language && strlen(language) == 2)
            fine = import_set(&m->base, keys[i][1], language, e);
    }
    json_free(said);
    return fine;
}

/* The vocabularies become the run's. */
static bool take_subwords(Subwords *p, Marian *m, Error *e)
{
    *p = (Subwords){.type = SUBWORDS_SENTENCEPIECE, .apart = m->two};
    if (!read_pieces(p, m, SOURCE, "source.spm", e) || !read_pieces(p, m, TARGET, "target.spm", e))
        return false;
    p->vocabulary = m->words[SOURCE].words;
    p->count = p->vocabulary.count;
    m->words[SOURCE].words = (Vocabulary){0};
    if (m->two)
        p->target = m->words[TARGET].words;
    m->words[TARGET].words = (Vocabulary){0};
    subwords_find_pad(p);
    return true;
}

/* ---- weights */

/* The folder's tensors, with the rows of tables in our order. */
typedef struct Tables {
    Source source; /* first */
    Source *theirs;
    const Marian *m;
} Tables;

static float *read_ordered(Source *s, const char *name, size_t rows, size_t columns, Error *e)
{
    const Tables *t = (const Tables *)s;
    const bool bias = !strcmp(name, "final_logits_bias");
    const bool source = !strcmp(name, "model.shared.weight") || !strcmp(name, "model.encoder.embed_tokens.weight");
    const bool target = !strcmp(name, "model.decoder.embed_tokens.weight") || !strcmp(name, "lm_head.weight");
    if (!bias && !source && !target)
        return t->theirs->read(t->theirs, name, rows, columns, e);
    if (bias && !t->m->is_npz && !hf_has(&t->m->base.hf, name)) /* which an untied model has here */
        return tensor_values(name, rows, 0, e);
    float *values = bias ? t->theirs->read(t->theirs, name, 1, rows, e)
                         : t->theirs->read(t->theirs, name, rows, columns, e);
    return values ? marian_words_order(words_of(t->m, source ? SOURCE : TARGET), values, bias ? 1 : columns, e) : NULL;
}

/* Left unread are positions, which are computed, and copies of what is tied. */
static bool convert(EncDec *c, Marian *m, Error *e)
{
    static const char *const ignored[] = {"embed_positions.weight", "embed_tokens.weight", "shared.weight",
                                          "lm_head.weight", NULL};
    const NamingTable table = marian_names(MARIAN_ALL, m->depth, m->dim);
    HfFolder *h = &m->base.hf;
    Tables t = {.source = {read_ordered, m->base.path}, .theirs = m->is_npz ? &m->npz.source : &h->source, .m = m};
    Model model = {.context = 0};
    const bool fine = model_open(&model, c->options, m->tokens[SOURCE], m->two ? m->tokens[TARGET] : 0, e) &&
                      import_weights(&m->base, &table, &t.source, &model.parameters, e) &&
                      (m->is_npz ? marian_npz_nothing_left(&m->npz, e) : hf_nothing_left(h, ignored, e));
    model_close(&model);
    return fine;
}

/* A file of Marian's own; the folder that it is in has the rest. */
static bool read_npz(Marian *m, Error *e)
{
    Import *base = &m->base;
    EncDec *c = (EncDec *)base->a;
    if (!marian_npz_open(&m->npz, base->path, e))
        return false;
    base->hf = (HfFolder){.path = m->npz.folder, .prefix = "", .config = m->npz.config};
    m->npz.config = NULL; /* the folder's from now on */
    base->path = m->npz.folder;
    base->a->options->preset = "marian";
    return options_preset(base->a->command_line, "marian", e) && import_size(base, "steps", 0, e) &&
           import_set(base, "positions", "sinusoid-slower", e) && import_number(base, "norm-epsilon", 1e-6, e) &&
           read_sizes(m, e) && read_tables(m, e) &&
           marian_words_read(&m->words[SOURCE], m->npz.ids, m->npz.npz.path, e) &&
           (!m->two || marian_words_read(&m->words[TARGET], m->npz.target_ids, m->npz.npz.path, e)) &&
           convert(c, m, e) && take_subwords(&c->subwords, m, e);
}

static bool read_model(Import *base, Error *e)
{
    Marian *m = (Marian *)base;
    EncDec *c = (EncDec *)base->a;
    HfFolder *h = &base->hf;
    const size_t size = strlen(base->path);
    m->is_npz = size > 4 && !strcmp(base->path + size - 4, ".npz");
    if (m->is_npz)
        return read_npz(m, e);
    if (!hf_open(h, base->path, "model.", e))
        return false;
    base->path = h->path;
    if (!says_nothing_else(h, base->path, e))
        return false;
    h->aliases = aliases;
    base->a->options->preset = "marian";
    return options_preset(base->a->command_line, "marian", e) && import_size(base, "steps", 0, e) && hf_weights(h, e) &&
           read_sizes(m, e) && read_tables(m, e) && read_languages(m, e) && read_vocabularies(m, e) &&
           convert(c, m, e) && take_subwords(&c->subwords, m, e);
}

/* ---- the run */

/* Without data. */
static bool open_imported(App *a, Error *e)
{
    EncDec *c = (EncDec *)a;
    c->bitext.subwords = &c->subwords;
    if (!encdec_build(c, &c->subwords, e) || !encdec_task(c, e))
        return false;
    a->task.words = 1; /* the log has columns for them, as it will when there are data */
    return true;
}

bool encdec_import(App *a, Error *e)
{
    Marian m = {.depth = 0};
    const bool fine = import_run(&m.base, a, "Name one folder, a .safetensors file in it, or a file .npz of Marian",
                                 read_model, open_imported, e);
    marian_npz_close(&m.npz);
    for (size_t side = 0; side < SIDES_USED; side++)
        marian_words_close(&m.words[side]);
    return fine;
}
