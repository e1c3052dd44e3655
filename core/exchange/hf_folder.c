/* See hf_folder.h. */
#include "core/exchange/hf_folder.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/text/gpt2.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *read(Source *s, const char *name, size_t rows, size_t columns, Error *e);

/* ---- config.json */

bool hf_json(Json **json, const HfFolder *h, const char *name, Error *e)
{
    char *path = path_join(h->path, name), *text = NULL;
    size_t size;
    const bool fine = (path || memory_error(e, "a path", 1, strlen(h->path))) && file_read(path, &text, &size, e) &&
                      json_read(json, text, size, path, e);
    memory_free(text);
    memory_free(path);
    return fine;
}

bool hf_json_if_there(Json **json, const HfFolder *h, const char *name, Error *e)
{
    char *path;
    bool there;
    *json = NULL;
    const bool fine = hf_file(&path, h, name, &there, e) && (!there || hf_json(json, h, name, e));
    memory_free(path);
    return fine;
}

bool hf_is_file(const char *path) { return name_ends(path, ".safetensors") && !folder_exists(path); }

/* The folder around a file of weights that is named. */
static bool find_folder(HfFolder *h, Error *e)
{
    if (!hf_is_file(h->path))
        return true;
    h->single = path_name(h->path);
    const size_t before = (size_t)(h->single - h->path);
    h->around = memory_string(before ? h->path : ".");
    if (!h->around)
        return memory_error(e, "a path", strlen(h->path), 1);
    if (before)
        h->around[before > 1 ? before - 1 : 1] = 0; /* without its last slash, unless it is the root */
    h->path = h->around;
    return true;
}

/* NULL where it is not there, or null. */
static const Json *given(const HfFolder *h, const char *key)
{
    const Json *item = json_get(h->config, key);
    return item && item->kind != JSON_NULL ? item : NULL;
}

const char *hf_said(const HfFolder *h, const char *key)
{
    const char *text = json_get_text(h->config, key);
    return text ? text : given(h, key) ? "no text" : "missing";
}

/* What each kind of model may say, and no network here does. */
static bool says_nothing_else(const HfFolder *h, Error *e)
{
    static const char *const absent[] = {"quantization_config", "auto_map"};
    const Json *pruned = json_get(h->config, "pruned_heads");
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (given(h, absent[i]))
            return fail(e, "%s/config.json: '%s' is not supported", h->path, absent[i]);
    return !pruned || !pruned->count ||
           fail(e, "%s/config.json: 'pruned_heads' must be empty: all blocks here have as many heads", h->path);
}

bool hf_open(HfFolder *h, const char *path, const char *prefix, Error *e)
{
    *h = (HfFolder){.source = {read, path}, .path = path, .prefix = prefix};
    if (file_exists(path) && !hf_is_file(path))
        return fail(
            e,
            "%s is no folder: name the model's folder, or a .safetensors file in it. A .pt or .bin of PyTorch is "
            "a pickle, which Python alone reads: docs/exchange.md says how to convert it",
            path);
    return find_folder(h, e) && hf_json(&h->config, h, "config.json", e) && says_nothing_else(h, e);
}

void hf_close(HfFolder *h)
{
    for (size_t i = 0; i < h->files; i++) {
        safetensors_close(h->file[i]);
        memory_free(h->used[i]);
    }
    json_free(h->config);
    memory_free(h->around);
    *h = (HfFolder){.path = NULL};
}

bool hf_size(const HfFolder *h, const char *key, size_t otherwise, size_t *size, Error *e)
{
    const Json *item = given(h, key);
    int64_t value;
    *size = otherwise;
    if (!item)
        return otherwise > 0 || fail(e, "%s/config.json: '%s' is missing", h->path, key);
    if (!json_integer(item, &value) || value < 1 || value > 1 << 30)
        return fail(e, "%s/config.json: '%s' must be a whole number from 1 to %d", h->path, key, 1 << 30);
    *size = (size_t)value;
    return true;
}

bool hf_number(const HfFolder *h, const char *key, double otherwise, double *number, Error *e)
{
    const Json *item = given(h, key);
    *number = item && item->kind == JSON_NUMBER ? item->number : otherwise;
    return !item || item->kind == JSON_NUMBER || fail(e, "%s/config.json: '%s' is not a number", h->path, key);
}

bool hf_truth(const HfFolder *h, const char *key, bool otherwise, bool *truth, Error *e)
{
    const Json *item = json_get(h->config, key);
    *truth = item ? item->truth : otherwise;
    return !item || item->kind == JSON_BOOL || fail(e, "%s/config.json: '%s' is not true or false", h->path, key);
}

bool hf_must_be(const HfFolder *h, const char *key, bool otherwise, bool wanted, Error *e)
{
    bool truth;
    return hf_truth(h, key, otherwise, &truth, e) &&
           (truth == wanted || fail(e, "%s/config.json: '%s' must be %s: anything else is not supported", h->path, key,
                                    wanted ? "true" : "false"));
}

bool hf_must_say(const HfFolder *h, const char *key, const char *wanted, Error *e)
{
    const Json *item = given(h, key);
    return !item || (item->kind == JSON_STRING && !strcmp(item->text, wanted)) ||
           fail(e, "%s/config.json: '%s' must be %s: anything else is not supported", h->path, key, wanted);
}

/* ---- weights */

static bool open_file(HfFolder *h, const char *name, Error *e)
{
    if (h->files == HF_FILES)
        return fail(e, "%s: weights in more than %d files", h->path, HF_FILES);
    char *path = path_join(h->path, name);
    Safetensors **file = &h->file[h->files];
    bool fine = path ? safetensors_open(file, path, e) : memory_error(e, "a path", 1, strlen(name));
    memory_free(path);
    if (!fine)
        return false;
    const size_t count = safetensors_count(*file);
    h->used[h->files++] = memory_get(count, sizeof **h->used);
    return h->used[h->files - 1] || memory_error(e, name, count, sizeof **h->used);
}

/* Each file that the index names, once. A name with a folder in it is no file of the model. */
static bool open_shards(HfFolder *h, Error *e)
{
    Json *index = NULL;
    bool fine = hf_json(&index, h, "model.safetensors.index.json", e);
    const Json *map = fine ? json_get(index, "weight_map") : NULL;
    if (fine && (!map || map->kind != JSON_OBJECT))
        fine = fail(e, "%s/model.safetensors.index.json has no 'weight_map'", h->path);
    const char *opened[HF_FILES]; /* [h->files] */
    for (size_t i = 0; fine && i < map->count; i++) {
        const Json *item = &map->items[i];
        if (item->kind != JSON_STRING || strchr(item->text, '/')) {
            fine = fail(e, "%s/model.safetensors.index.json: '%s' is in no file of the folder", h->path, item->key);
            break;
        }
        size_t k = 0;
        while (k < h->files && strcmp(opened[k], item->text) != 0)
            k++;
        if (k == h->files && (fine = open_file(h, item->text, e)))
            opened[k] = item->text;
    }
    json_free(index);
    return fine;
}

bool hf_weights(HfFolder *h, Error *e)
{
    if (h->single)
        return open_file(h, h->single, e);
    char *one = path_join(h->path, "model.safetensors"), *index = path_join(h->path, "model.safetensors.index.json");
    bool fine = (one && index) || memory_error(e, "a path", 2, strlen(h->path));
    if (fine && file_exists(one))
        fine = open_file(h, "model.safetensors", e);
    else if (fine && file_exists(index))
        fine = open_shards(h, e);
    else if (fine)
        fine = fail(e,
                    "%s has no model.safetensors; files of PyTorch are pickles, which Python alone reads: "
                    "docs/exchange.md says how to convert them",
                    h->path);
    memory_free(one);
    memory_free(index);
    return fine;
}

static const SafeTensor *find_named(const HfFolder *h, const char *name, size_t *file)
{
    static const char *const before[] = {"", "_orig_mod."}; /* of a module that was compiled */
    for (*file = 0; *file < h->files; ++*file)
        for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
            char longer[2 * NAMING_NAME];
            snprintf(longer, sizeof longer, "%s%s", before[i], name);
            const SafeTensor *t = safetensors_find(h->file[*file], longer);
            if (t)
                return t;
        }
    return NULL;
}

/* With the prefix or without it. */
static const SafeTensor *find_prefixed(const HfFolder *h, const char *name, size_t *file)
{
    const size_t skip = strlen(h->prefix);
    const SafeTensor *t = find_named(h, name, file);
    return t || strncmp(name, h->prefix, skip) != 0 ? t : find_named(h, name + skip, file);
}

/* The names that the first releases of BERT have for gains and biases of norms. */
static const SafeTensor *find_older(const HfFolder *h, const char *name, size_t *file)
{
    static const char *const endings[][2] = {{".weight", ".gamma"}, {".bias", ".beta"}};
    const size_t size = strlen(name);
    const SafeTensor *t = NULL;
    for (size_t i = 0; i < 2 && !t; i++) {
        const size_t tail = strlen(endings[i][0]);
        char older[2 * NAMING_NAME];
        if (size <= tail || strcmp(name + size - tail, endings[i][0]) != 0)
            continue;
        snprintf(older, sizeof older, "%.*s%s", (int)(size - tail), name, endings[i][1]);
        t = find_prefixed(h, older, file);
    }
    return t;
}

static const SafeTensor *find(const HfFolder *h, const char *name, size_t *file)
{
    const SafeTensor *t = find_prefixed(h, name, file);
    t = t ? t : find_older(h, name, file);
    for (size_t i = 0; !t && h->aliases && h->aliases[i][0]; i++)
        if (!strcmp(h->aliases[i][0], name))
            t = find_prefixed(h, h->aliases[i][1], file);
    return t;
}

bool hf_has(const HfFolder *h, const char *name)
{
    size_t file;
    return find(h, name, &file);
}

static void mark(HfFolder *h, size_t file, const SafeTensor *t)
{
    for (size_t i = 0; i < safetensors_count(h->file[file]); i++)
        if (safetensors_at(h->file[file], i) == t)
            h->used[file][i] = true;
}

/* Reads all rows of such a tensor, and keeps the first ones. */
static bool has_more(HfFolder *h, const char *name, const SafeTensor *t, size_t rows, size_t columns)
{
    const char *const *longer = h->longer;
    while (longer && *longer && strcmp(*longer, name) != 0)
        longer++;
    if (!longer || !*longer || t->rank != (columns ? 2 : 1) || (columns && t->shape[1] != columns) ||
        t->shape[0] <= rows)
        return false;
    h->left_out = t->shape[0] - rows;
    return true;
}

static float *read(Source *s, const char *name, size_t rows, size_t columns, Error *e)
{
    HfFolder *h = (HfFolder *)s;
    size_t file;
    const size_t skip = strlen(h->prefix);
    const char *shorter = strncmp(name, h->prefix, skip) ? name : name + skip;
    const SafeTensor *t = find(h, name, &file);
    const bool more = t && has_more(h, name, t, rows, columns);
    if (!t || (!more && (t->rank != (columns ? 2 : 1) || t->shape[0] != rows || (columns && t->shape[1] != columns)))) {
        fail(e, "%s: tensor '%s' is %s; by config.json it is [%zu%s%.0zu]", h->path, shorter,
             t ? "of another shape" : "missing", rows, columns ? ", " : "", columns);
        return NULL;
    }
    float *values = tensor_values(name, t->shape[0], columns, e);
    if (values && safetensors_read(h->file[file], t, SAFE_F32, values, safe_elements(t), e)) {
        mark(h, file, t);
        return values;
    }
    memory_free(values);
    return NULL;
}

static bool is_ignored(const char *name, const char *const *ignored)
{
    for (; *ignored; ignored++)
        if (strlen(name) >= strlen(*ignored) && !strcmp(name + strlen(name) - strlen(*ignored), *ignored))
            return true;
    return false;
}

bool hf_nothing_left(const HfFolder *h, const char *const *ignored, Error *e)
{
    for (size_t f = 0; f < h->files; f++)
        for (size_t i = 0; i < safetensors_count(h->file[f]); i++) {
            const char *name = safetensors_at(h->file[f], i)->name;
            size_t other;
            if (h->used[f][i] || is_ignored(name, ignored))
                continue;
            if (find_named(h, name, &other) && other != f)
                return fail(e, "%s: tensor '%.100s' is in two files", h->path, name);
            return fail(e, "%s: tensor '%.100s' has no place in the model that config.json describes", h->path, name);
        }
    return true;
}

/* ---- tokens */

bool hf_blame(Error *e, const HfFolder *h, const char *made, const char *called)
{
    const size_t size = strlen(made);
    return strncmp(e->text, made, size)
               ? false
               : fail(e, "%s/tokenizer.json (written as %s)%s", h->path, called, e->text + size);
}

bool hf_file(char **path, const HfFolder *h, const char *name, bool *there, Error *e)
{
    *path = path_join(h->path, name);
    *there = *path && file_exists(*path);
    return *path || memory_error(e, "a path", strlen(h->path), 1);
}

/* What a tokenizer of byte pairs of bytes may not have, because it would cut otherwise. */
static bool cuts_as_here(const Json *t, const char *folder, Error *e)
{
    const Json *model = json_get(t, "model"), *before = json_get(t, "pre_tokenizer"),
               *normalizer = json_get(t, "normalizer"), *dropout = json_get(model, "dropout");
    static const char *const no[] = {"byte_fallback", "ignore_merges"};
    static const char *const none[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const char *type = json_get_text(model, "type"), *split = json_get_text(before, "type");
    if (type && strcmp(type, "BPE") != 0)
        return fail(e, "%s/tokenizer.json: 'model' is %.40s; BPE of bytes can be imported", folder, type);
    if (!split || strcmp(split, "ByteLevel") != 0)
        return fail(e, "%s/tokenizer.json: 'pre_tokenizer' is %.40s; ByteLevel can be imported", folder,
                    split ? split : "missing");
    const Json *space = json_get(before, "add_prefix_space"), *regex = json_get(before, "use_regex");
    if ((space && space->truth) || (regex && !regex->truth))
        return fail(e, "%s/tokenizer.json: 'pre_tokenizer' does not split as GPT-2 does", folder);
    if (normalizer && normalizer->kind != JSON_NULL)
        return fail(e, "%s/tokenizer.json: 'normalizer' changes texts, which no tokenizer here does", folder);
    if (dropout && dropout->kind != JSON_NULL && !(dropout->kind == JSON_NUMBER && fabs(dropout->number) <= 0))
        return fail(e, "%s/tokenizer.json: 'dropout' must be 0: tokens are not drawn at random here", folder);
    for (size_t i = 0; i < 2; i++) {
        const Json *flag = json_get(model, no[i]);
        const char *text = json_get_text(model, none[i]);
        if ((flag && flag->truth) || (text && *text))
            return fail(e, "%s/tokenizer.json: '%s' must be empty or false", folder, text && *text ? none[i] : no[i]);
    }
    return true;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Whether each token of an object has a number. */
static bool are_ids(const Json *words, const char *folder, Error *e)
{
    int64_t id;
    for (size_t i = 0; i < words->count; i++)
        if (!json_integer(&words->items[i], &id) || id < 0)
            return fail(e, "%s/tokenizer.json: the id of '%.40s' is not a whole number", folder, words->items[i].key);
    return true;
}

static bool write_vocabulary(const Json *t, const char *folder, const char *path, Error *e)
{
    const Json *words = json_get(json_get(t, "model"), "vocab"), *added = json_get(t, "added_tokens");
    Buffer b = {0};
    if (!words || words->kind != JSON_OBJECT)
        return fail(e, "%s/tokenizer.json: 'vocab' is missing", folder);
    if (!are_ids(words, folder, e))
        return false;
    const char **known = memory_get(words->count + 1, sizeof *known);
    if (!known)
        return memory_error(e, "tokens", words->count, sizeof *known);
    buffer_print(&b, "{");
    for (size_t i = 0; i < words->count; i++) {
        json_add_member(&b, words->items[i].key, words->items[i].number);
        known[i] = words->items[i].key;
    }
    qsort(known, words->count, sizeof *known, by_text);
    for (size_t i = 0; added && added->kind == JSON_ARRAY && i < added->count; i++) {
        const char *content = json_get_text(&added->items[i], "content");
        const Json *id = json_get(&added->items[i], "id"), *special = json_get(&added->items[i], "special");
        if (content && id && special && special->truth &&
            !bsearch(&content, known, words->count, sizeof *known, by_text))
            json_add_member(&b, content, id->number);
    }
    buffer_print(&b, "}");
    memory_free(known);
    return file_write_buffer(path, &b, e);
}

static bool write_merges(const Json *t, const char *folder, const char *path, Error *e)
{
    const Json *merges = json_get(json_get(t, "model"), "merges");
    Buffer b = {0};
    bool fine = (merges && merges->kind == JSON_ARRAY) || fail(e, "%s/tokenizer.json: 'merges' is missing", folder);
    buffer_print(&b, "#version: 0.2\n");
    for (size_t i = 0; fine && i < merges->count; i++) {
        const Json *m = &merges->items[i];
        if (m->kind == JSON_STRING)
            buffer_print(&b, "%s\n", m->text);
        else if (m->kind == JSON_ARRAY && m->count == 2 && m->items[0].text && m->items[1].text)
            buffer_print(&b, "%s %s\n", m->items[0].text, m->items[1].text);
        else
            fine = fail(e, "%s/tokenizer.json: merge %zu is not two subwords", folder, i);
    }
    fine = fine && file_write_buffer(path, &b, e);
    buffer_free(&b);
    return fine;
}

static char *path_made(const char *made, const char *ending, Error *e)
{
    const size_t size = strlen(made) + strlen(ending) + 1;
    char *path = memory_get(size, 1);
    if (path)
        snprintf(path, size, "%s%s", made, ending);
    else
        memory_error(e, "a path", size, 1);
    return path;
}

static bool make_files(HfTokens *t, const Json *tokenizer, const HfFolder *h, const char *made, Error *e)
{
    memory_free(t->vocabulary);
    memory_free(t->merges);
    t->made = true;
    t->vocabulary = path_made(made, ".vocab.json", e);
    t->merges = path_made(made, ".merges.txt", e);
    return t->vocabulary && t->merges && write_vocabulary(tokenizer, h->path, t->vocabulary, e) &&
           write_merges(tokenizer, h->path, t->merges, e);
}

static bool find_two(HfTokens *t, const HfFolder *h, bool *found, Error *e)
{
    static const char *const files[][2] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};
    for (size_t i = 0; i < 2 && !*found; i++) {
        bool first, second;
        memory_free(t->vocabulary);
        memory_free(t->merges);
        t->merges = NULL;
        if (!hf_file(&t->vocabulary, h, files[i][0], &first, e) || !hf_file(&t->merges, h, files[i][1], &second, e))
            return false;
        *found = first && second;
    }
    return true;
}

/* A text begins as it is, whatever the tokens are made of. */
static bool begins_as_here(const HfFolder *h, Error *e)
{
    static const char *const no[] = {"add_prefix_space", "add_bos_token"};
    Json *config;
    bool fine = hf_json_if_there(&config, h, "tokenizer_config.json", e);
    for (size_t i = 0; fine && i < 2; i++) {
        const Json *said = json_get(config, no[i]);
        fine = !said || said->kind == JSON_NULL || (said->kind == JSON_BOOL && !said->truth) ||
               fail(e, "%s/tokenizer_config.json: '%s' must be false: texts begin with nothing else here", h->path,
                    no[i]);
    }
    json_free(config);
    return fine;
}

static bool has_all(const HfTokens *t, const HfFolder *h, const Json *tokenizer, Error *e)
{
    static const char *const named[] = {GPT2_SEPARATOR, NULL}, *const flags[] = {"single_word", "lstrip", "rstrip",
                                                                                 NULL};
    Gpt2 g;
    if (!gpt2_read(&g, t->vocabulary, t->merges, e))
        return t->made && (hf_blame(e, h, t->vocabulary, "vocab.json") || hf_blame(e, h, t->merges, "merges.txt"));
    const HfWords words = {.words = &g.subwords, .named = named, .flags = flags, .single = "A"};
    const bool fine = hf_adds_as_here(h, tokenizer, &words, e);
    gpt2_close(&g);
    return fine;
}

bool hf_tokens_find(HfTokens *t, const HfFolder *h, const char *made, bool *found, Error *e)
{
    Json *tokenizer = NULL; /* which says all, where it is there */
    *t = (HfTokens){.made = false};
    *found = false;
    bool fine = find_two(t, h, found, e) && hf_json_if_there(&tokenizer, h, "tokenizer.json", e);
    *found = *found || tokenizer;
    fine = fine && (!tokenizer || (cuts_as_here(tokenizer, h->path, e) && make_files(t, tokenizer, h, made, e))) &&
           (!*found || (begins_as_here(h, e) && has_all(t, h, tokenizer, e)));
    json_free(tokenizer);
    return fine;
}
