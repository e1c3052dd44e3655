/* charlm import: a GPT-2 that others trained becomes a run. Read is a folder as Hugging Face publishes it:
 *
 *     config.json                            the model; what it says that would change the meaning, and that we do not
 *                                            have, is refused by name
 *     model.safetensors                      the weights; or model.safetensors.index.json and the files that it names
 *     vocab.json, merges.txt                 the tokens; or encoder.json, vocab.bpe
 *
 * Weights are put into our names and order, written to a file beside the run, and read as `train --weights` reads it,
 * for a training of no steps. The run learns from the built-in text, unless --data names another later. */
#include "charlm/charlm.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/run/json.h"
#include "core/run/safetensors.h"

#include <stdio.h>
#include <string.h>

enum { MOST_FILES = 256, NAME = 96 };

typedef struct Import {
    const char *folder;
    Json *config;
    size_t dim, depth, ff, context, vocabulary;
    Safetensors *file[MOST_FILES]; /* [files] */
    size_t files;
    SafeTensor *tensor; /* [count] ours; their data are owned */
    size_t count, capacity;
} Import;

/* ---- config.json */

static bool read_json(Json **json, const char *folder, const char *name, Error *e)
{
    char *path = path_join(folder, name), *text = NULL;
    size_t size;
    const bool fine = (path || memory_error(e, "a path", 1, strlen(folder))) && file_read(path, &text, &size, e) &&
                      json_read(json, text, size, path, e);
    memory_free(text);
    memory_free(path);
    return fine;
}

/* A size, or another one's name for it; 0: what is not there, or null. */
static bool get_size(const Import *m, const char *key, size_t otherwise, size_t *size, Error *e)
{
    const Json *item = json_get(m->config, key);
    int64_t value;
    *size = otherwise;
    if (!item || item->kind == JSON_NULL)
        return otherwise > 0 || fail(e, "%s/config.json: '%s' is missing", m->folder, key);
    if (!json_integer(item, &value) || value < 1 || value > 1 << 30)
        return fail(e, "%s/config.json: '%s' is not a number of at least 1", m->folder, key);
    *size = (size_t)value;
    return true;
}

/* What a GPT-2 may say of itself that our network does not do. */
static bool refuse_others(const Import *m, Error *e)
{
    static const struct {
        const char *key;
        bool has; /* what it must be where it is there */
    } flags[] = {{"scale_attn_weights", true},
                 {"scale_attn_by_inverse_layer_idx", false},
                 {"tie_word_embeddings", true},
                 {"add_cross_attention", false}};
    const char *type = json_get_text(m->config, "model_type");
    const Json *epsilon = json_get(m->config, "layer_norm_epsilon");
    if (!type || strcmp(type, "gpt2") != 0)
        return fail(e, "%s/config.json: 'model_type' is %s; gpt2 can be imported", m->folder, type ? type : "missing");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const Json *item = json_get(m->config, flags[i].key);
        if (item && (item->kind != JSON_BOOL || item->truth != flags[i].has))
            return fail(e, "%s/config.json: '%s' must be %s: no network here does otherwise", m->folder, flags[i].key,
                        flags[i].has ? "true" : "false");
    }
    return !epsilon || (epsilon->kind == JSON_NUMBER && epsilon->number == 1e-5) ||
           fail(e, "%s/config.json: 'layer_norm_epsilon' must be 1e-05: no norm here has another", m->folder);
}

static bool set_size(App *a, const char *option, size_t value, Error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return options_set(a->command_line, option, text, FROM_COMMAND_LINE, e);
}

static const char *activation_of(const Import *m)
{
    static const char *const names[][2] = {{"gelu_new", "gelu-tanh"}, {"gelu_pytorch_tanh", "gelu-tanh"},
                                           {"gelu", "gelu"},          {"relu", "relu"},
                                           {"silu", "silu"},          {"swish", "silu"}};
    const char *asked = json_get_text(m->config, "activation_function");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(asked ? asked : "gelu_new", names[i][0]))
            return names[i][1];
    return NULL;
}

/* The options of the model, as if they had been typed. */
static bool set_options(Import *m, App *a, Error *e)
{
    size_t heads;
    const char *activation = activation_of(m);
    if (!refuse_others(m, e) || !get_size(m, "n_embd", 0, &m->dim, e) || !get_size(m, "n_head", 0, &heads, e) ||
        !get_size(m, "n_layer", 0, &m->depth, e) || !get_size(m, "n_positions", 0, &m->context, e) ||
        !get_size(m, "n_inner", 4 * m->dim, &m->ff, e) || !get_size(m, "vocab_size", 0, &m->vocabulary, e))
        return false;
    if (!activation)
        return fail(e, "%s/config.json: 'activation_function' is %s, which is not known here", m->folder,
                    json_get_text(m->config, "activation_function"));
    a->options->preset = "gpt2";
    return options_preset(a->command_line, a->options->preset, e) && set_size(a, "dim", m->dim, e) &&
           set_size(a, "heads", heads, e) && set_size(a, "depth", m->depth, e) && set_size(a, "ff", m->ff, e) &&
           set_size(a, "context", m->context, e) && set_size(a, "steps", 0, e) && set_size(a, "batch", 1, e) &&
           options_set(a->command_line, "activation", activation, FROM_COMMAND_LINE, e);
}

/* ---- tokens */

static bool set_file(App *a, const char *option, const char *folder, const char *name, const char *older, Error *e)
{
    char *path = path_join(folder, name), *other = path_join(folder, older);
    bool fine = (path && other) || memory_error(e, "a path", 2, strlen(folder));
    const char *found = !fine ? NULL : file_exists(path) ? path : other;
    if (fine && !file_exists(found))
        fine = fail(e, "%s has neither %s nor %s: the tokens are missing", folder, name, older);
    fine = fine && options_set(a->command_line, option, found, FROM_COMMAND_LINE, e);
    memory_free(path);
    memory_free(other);
    return fine;
}

/* ---- weights */

static bool open_file(Import *m, const char *name, Error *e)
{
    if (m->files == MOST_FILES)
        return fail(e, "%s: weights in more than %d files", m->folder, MOST_FILES);
    char *path = path_join(m->folder, name);
    const bool fine = path ? safetensors_open(&m->file[m->files], path, e) : memory_error(e, "a path", 1, NAME);
    m->files += fine;
    memory_free(path);
    return fine;
}

/* Each file that the index names, once. A name with a folder in it is no file of the model. */
static bool open_shards(Import *m, Error *e)
{
    Json *index = NULL;
    bool fine = read_json(&index, m->folder, "model.safetensors.index.json", e);
    const Json *map = fine ? json_get(index, "weight_map") : NULL;
    if (fine && (!map || map->kind != JSON_OBJECT))
        fine = fail(e, "%s/model.safetensors.index.json has no 'weight_map'", m->folder);
    for (size_t i = 0; fine && i < map->count; i++) {
        const Json *item = &map->items[i];
        bool known = false;
        for (size_t k = 0; k < i && !known; k++)
            known = map->items[k].kind == JSON_STRING && item->kind == JSON_STRING &&
                    !strcmp(map->items[k].text, item->text);
        if (item->kind != JSON_STRING || strchr(item->text, '/'))
            fine = fail(e, "%s/model.safetensors.index.json: '%s' is in no file of the folder", m->folder, item->key);
        fine = fine && (known || open_file(m, item->text, e));
    }
    json_free(index);
    return fine;
}

static bool open_weights(Import *m, Error *e)
{
    char *one = path_join(m->folder, "model.safetensors"),
         *index = path_join(m->folder, "model.safetensors.index.json");
    bool fine = (one && index) || memory_error(e, "a path", 2, strlen(m->folder));
    if (fine && file_exists(one))
        fine = open_file(m, "model.safetensors", e);
    else if (fine && file_exists(index))
        fine = open_shards(m, e);
    else if (fine)
        fine = fail(e, "%s has no model.safetensors", m->folder);
    memory_free(one);
    memory_free(index);
    return fine;
}

/* A tensor of [rows, columns] (0: [rows]), to be freed with memory_free; NULL: an Error. */
static float *read_tensor(const Import *m, const char *name, size_t rows, size_t columns, Error *e)
{
    char longer[NAME + 16];
    const SafeTensor *t = NULL;
    const size_t count = rows * (columns ? columns : 1), rank = columns ? 2 : 1;
    size_t i = 0;
    snprintf(longer, sizeof longer, "transformer.%s", name);
    for (; i < m->files; i++)
        if ((t = safetensors_find(m->file[i], name)) || (t = safetensors_find(m->file[i], longer)))
            break;
    if (!t || t->rank != rank || t->shape[0] != rows || (columns && t->shape[1] != columns)) {
        fail(e, "%s: tensor '%s' is %s; by config.json it is [%zu%s%.0zu]", m->folder, name,
             t ? "of another shape" : "missing", rows, columns ? ", " : "", columns);
        return NULL;
    }
    float *values = memory_get(count, sizeof *values);
    if (!values) {
        memory_error(e, name, count, sizeof *values);
        return NULL;
    }
    if (safetensors_read(m->file[i], t, SAFE_F32, values, count, e))
        return values;
    memory_free(values);
    return NULL;
}

/* Takes over `values`, which may be NULL with its Error. */
static bool add_tensor(Import *m, const char *name, float *values, size_t rows, size_t columns, Error *e)
{
    char *own = values ? memory_string(name) : NULL;
    if (own && memory_grow(&m->tensor, &m->capacity, m->count + 1, sizeof *m->tensor, "tensors", e)) {
        m->tensor[m->count++] = (SafeTensor){
            .name = own, .type = SAFE_F32, .rank = columns ? 2 : 1, .shape = {rows, columns}, .data = values};
        return true;
    }
    if (values && !own)
        memory_error(e, "a name", 1, NAME);
    memory_free(own);
    memory_free(values);
    return false;
}

/* As it is. */
static bool take(Import *m, const char *ours, const char *theirs, size_t rows, size_t columns, Error *e)
{
    return add_tensor(m, ours, read_tensor(m, theirs, rows, columns, e), rows, columns, e);
}

/* A linear map of theirs is [in, all outputs]: outputs first .. first + out - 1 of it are ours, [out, in]. */
static bool take_linear(Import *m, const char *ours, const char *theirs, size_t in, size_t all, size_t first,
                        size_t out, Error *e)
{
    char name[NAME], from[NAME];
    snprintf(name, sizeof name, "%s.weight", ours);
    snprintf(from, sizeof from, "%s.weight", theirs);
    float *whole = read_tensor(m, from, in, all, e), *turned = whole ? memory_get(out * in, sizeof *turned) : NULL;
    if (whole && !turned)
        memory_error(e, name, out * in, sizeof *turned);
    for (size_t o = 0; turned && o < out; o++)
        for (size_t i = 0; i < in; i++)
            turned[o * in + i] = whole[i * all + first + o];
    memory_free(whole);
    if (!add_tensor(m, name, turned, out, in, e))
        return false;
    snprintf(name, sizeof name, "%s.bias", ours);
    snprintf(from, sizeof from, "%s.bias", theirs);
    float *bias = read_tensor(m, from, all, 0, e);
    if (bias)
        memmove(bias, bias + first, out * sizeof *bias);
    return add_tensor(m, name, bias, out, 0, e);
}

static bool take_norm(Import *m, const char *ours, const char *theirs, Error *e)
{
    static const char *const parts[] = {"weight", "bias"};
    for (size_t i = 0; i < 2; i++) {
        char name[NAME], from[NAME];
        snprintf(name, sizeof name, "%s.%s", ours, parts[i]);
        snprintf(from, sizeof from, "%s.%s", theirs, parts[i]);
        if (!take(m, name, from, m->dim, 0, e))
            return false;
    }
    return true;
}

static bool take_block(Import *m, size_t block, Error *e)
{
    const size_t d = m->dim;
    const struct {
        const char *ours, *theirs;
        size_t in, all, first, out; /* in 0: a norm */
    } parts[] = {{"norm1", "ln_1", 0, 0, 0, 0},
                 {"attention.query", "attn.c_attn", d, 3 * d, 0, d},
                 {"attention.key", "attn.c_attn", d, 3 * d, d, d},
                 {"attention.value", "attn.c_attn", d, 3 * d, 2 * d, d},
                 {"attention.out", "attn.c_proj", d, d, 0, d},
                 {"norm2", "ln_2", 0, 0, 0, 0},
                 {"ff.in", "mlp.c_fc", d, m->ff, 0, m->ff},
                 {"ff.out", "mlp.c_proj", m->ff, d, 0, d}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char ours[NAME / 2], theirs[NAME / 2];
        snprintf(ours, sizeof ours, "blocks.%zu.%s", block, parts[i].ours);
        snprintf(theirs, sizeof theirs, "h.%zu.%s", block, parts[i].theirs);
        if (!(parts[i].in ? take_linear(m, ours, theirs, parts[i].in, parts[i].all, parts[i].first, parts[i].out, e)
                          : take_norm(m, ours, theirs, e)))
            return false;
    }
    return true;
}

static bool take_all(Import *m, Error *e)
{
    bool fine = take(m, "token_embedding.weight", "wte.weight", m->vocabulary, m->dim, e) &&
                take(m, "position_embedding.weight", "wpe.weight", m->context, m->dim, e);
    for (size_t i = 0; fine && i < m->depth; i++)
        fine = take_block(m, i, e);
    return fine && take_norm(m, "norm", "ln_f", e);
}

static void import_close(Import *m)
{
    for (size_t i = 0; i < m->files; i++)
        safetensors_close(m->file[i]);
    for (size_t i = 0; i < m->count; i++) {
        memory_free((char *)(uintptr_t)m->tensor[i].name);
        memory_free((void *)(uintptr_t)m->tensor[i].data);
    }
    memory_free(m->tensor);
    json_free(m->config);
}

/* Writes what was read, and forgets it before the run needs the memory. */
static bool convert(App *a, Import *m, const char *path, Error *e)
{
    const bool fine = read_json(&m->config, m->folder, "config.json", e) && set_options(m, a, e) &&
                      set_file(a, "vocabulary", m->folder, "vocab.json", "encoder.json", e) &&
                      set_file(a, "codes", m->folder, "merges.txt", "vocab.bpe", e) && open_weights(m, e) &&
                      take_all(m, e) && safetensors_write(path, m->tensor, m->count, NULL, 0, e);
    import_close(m);
    return fine && options_set(a->command_line, "weights", path, FROM_COMMAND_LINE, e);
}

bool charlm_import(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    Import m = {.folder = a->command_line->argument_count == 1 ? a->command_line->arguments[0] : NULL};
    char path[4096];
    if (!m.folder)
        return fail(e, "which model? Name one folder") || app_misused(a);
    if (!c->options->out)
        return fail(e, "where to? Give --out RUN") || app_misused(a);
    if (!run_may_begin(c->options->out, e))
        return false;
    if ((size_t)snprintf(path, sizeof path, "%s.import.safetensors", c->options->out) >= sizeof path)
        return fail(e, "--out %s: too long", c->options->out);
    a->options->run = c->options->out;
    const bool fine = convert(a, &m, path, e) && app_train(a, e) && run_mark(a->run, "best", 0, e);
    remove(path);
    return fine;
}
