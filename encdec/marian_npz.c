/* See marian_npz.h. */
#include "encdec/marian_npz.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "core/exchange/tensors.h"
#include "encdec/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE = 400, SIZE_MOST = 1 << 30 };
static const char yml[] = "special:model.yml";
static float *read(Source *s, const char *name, size_t rows, size_t columns, Error *e);

/* ---- YAML, as far as these files have it: a key and a value on a line */

/* Characters of a quoted text become themselves; returns what follows the text, or NULL. */
static const char *unquote(const char *at, const char *end, Buffer *to)
{
    const char quote = *at++;
    for (; at < end; at++) {
        if (*at == quote) {
            if (quote != '\'' || at + 1 >= end || at[1] != quote)
                return at + 1;
            at++; /* '' is ' */
        }
        if (quote == '"' && *at == '\\' && at + 1 < end) {
            const char kind = *++at;
            const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
            char hex[9] = "", text[4] = {kind == 'n' ? '\n' : kind == 't' ? '\t' : kind};
            if (digits && (size_t)(end - at) > digits) {
                memcpy(hex, at + 1, digits);
                at += digits;
                buffer_add(to, text, utf8_encode(text, (uint32_t)strtoul(hex, NULL, 16)));
            } else
                buffer_add(to, text, 1);
            continue;
        }
        buffer_add(to, at, 1);
    }
    return NULL;
}

/* A line's key and value; false: it has none. A plain key ends at the last colon before a space. */
static bool split(const char *line, size_t size, Buffer *key, Buffer *value)
{
    const char *end = line + size, *colon = end;
    key->size = value->size = 0;
    if (!size || *line == ' ' || *line == '#' || (*line == '-' && (size == 1 || line[1] == ' '))) /* "--" is a key */
        return false;
    if (*line == '"' || *line == '\'')
        colon = unquote(line, end, key);
    else
        while (--colon > line && (*colon != ':' || (colon + 1 < end && colon[1] != ' ')))
            ;
    if (!colon || colon <= line || colon >= end || *colon != ':')
        return false;
    if (!key->size)
        buffer_add(key, line, (size_t)(colon - line));
    for (colon++; colon < end && *colon == ' '; colon++)
        ;
    if (colon < end && (*colon == '"' || *colon == '\''))
        unquote(colon, end, value);
    else
        buffer_add(value, colon, (size_t)(end - colon));
    buffer_add(value, "", 0);
    return true;
}

static size_t line_length(const char *at, const char *end)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    return (size_t)((line_end ? line_end : end) - at);
}

/* What follows the line of a key, whose value is there; NULL: there is none. */
static const char *find_key(const char *at, const char *end, const char *wanted, Buffer *value)
{
    Buffer key = {0};
    bool found = false;
    while (!found && at < end && *at) {
        const size_t size = line_length(at, end);
        found = split(at, size - (size && at[size - 1] == '\r'), &key, value) && key.text &&
                !strcmp(key.text, wanted) && value->text;
        at += size + (at + size < end);
    }
    value->failed = value->failed || key.failed;
    buffer_free(&key);
    return found ? at : NULL;
}

/* The value of a key of the model, "" where it has none. */
static void value_of(const MarianNpz *n, const char *wanted, char value[VALUE])
{
    const NpzArray *text = npz_find(&n->npz, yml);
    const char *end = text->data + text->elements;
    Buffer found = {0};
    const char *next = find_key(text->data, end, wanted, &found), *word = next;
    snprintf(value, VALUE, "%s", next ? found.text : "");
    while (word && word < end && *word == ' ') /* of a list below its key: the first line says whether it is empty */
        word++;
    if (word && !*value && word < end && (word > next || *word == '-'))
        snprintf(value, VALUE, "%.*s", (int)line_length(word, end), word);
    buffer_free(&found);
}

/* The first two entries of a list, each on a line of its own below the key, and how many there are; 0: there is no list, or
 * an empty one. What is on the key's own line counts as one. */
static size_t list_of(const char *text, size_t size, const char *wanted, Buffer item[SIDES_USED])
{
    Buffer own = {0};
    const char *end = text + size, *at = find_key(text, end, wanted, &own);
    size_t count = at && own.size && *own.text != '#' && strcmp(own.text, "[]") != 0;
    item[SOURCE].failed = own.failed;
    buffer_free(&own);
    while (at && at < end) {
        const size_t length = line_length(at, end);
        const char *line_end = at + length, *from = at + strspn(at, " ");
        if (from >= line_end || *from != '-')
            break;
        for (from++; from < line_end && *from == ' '; from++)
            ;
        while (line_end > from && strchr(" \r", line_end[-1]))
            line_end--;
        Buffer *b = &item[count < SIDES_USED ? count : TARGET];
        b->size = 0;
        if (from < line_end && (*from == '"' || *from == '\''))
            unquote(from, line_end, b);
        else
            buffer_add(b, from, (size_t)(line_end - from));
        count += b->text != NULL;
        at += length + (at + length < end);
    }
    return count;
}

/* ---- what it is */

/* Whether an option is true; otherwise: where the model says nothing. */
static bool truth_of(const MarianNpz *n, const char *option, bool otherwise, bool *truth, Error *e)
{
    char value[VALUE];
    value_of(n, option, value);
    *truth = *value ? !strcmp(value, "true") : otherwise;
    return *truth || !*value || !strcmp(value, "false") ||
           fail(e, "%s: '%s' is %.60s, neither true nor false", n->npz.path, option, value);
}

/* Which tables are one. */
static bool read_ties(MarianNpz *n, Error *e)
{
    bool sources;
    if (!truth_of(n, "tied-embeddings-all", true, &n->one, e) || !truth_of(n, "tied-embeddings", false, &n->tied, e) ||
        !truth_of(n, "tied-embeddings-src", false, &sources, e))
        return false;
    n->tied = n->tied || n->one;
    return n->one || !sources ||
           fail(e, "%s: 'tied-embeddings-src' is supported only with 'tied-embeddings-all'", n->npz.path);
}

/* The one value that each may have; where nothing is said, it is meant. */
static const char *const fixed[][2] = {{"type", "transformer"},
                                       {"transformer-preprocess", ""},
                                       {"transformer-postprocess", "dan"},
                                       {"transformer-postprocess-emb", "d"},
                                       {"transformer-postprocess-top", ""},
                                       {"transformer-ffn-depth", "2"},
                                       {"transformer-decoder-autoreg", "self-attention"},
                                       {"transformer-train-position-embeddings", "false"},
                                       {"transformer-no-projection", "false"},
                                       {"transformer-no-bias", "false"},
                                       {"transformer-no-affine", "false"},
                                       {"transformer-tied-layers", "[]"},
                                       {"right-left", "false"},
                                       {"ulr", "false"},
                                       {"lemma-dim-emb", "0"},
                                       {"input-types", "[]"}};

static const char *const sizes[][2] = {{"dim-emb", "d_model"},
                                       {"enc-depth", "encoder_layers"},
                                       {"dec-depth", "decoder_layers"},
                                       {"transformer-heads", "encoder_attention_heads"},
                                       {"transformer-heads", "decoder_attention_heads"},
                                       {"transformer-dim-ffn", "encoder_ffn_dim"}};

/* may_lack: nothing said, or 0, is 0. */
static bool size_of(const MarianNpz *n, const char *option, bool may_lack, size_t *size, Error *e)
{
    char value[VALUE];
    value_of(n, option, value);
    const bool digits = *value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 11;
    *size = digits ? strtoul(value, NULL, 10) : 0;
    return (digits && *size && *size <= SIZE_MOST) || (may_lack && (!*value || (digits && !*size))) ||
           fail(e, "%s: '%s' must be a whole number from 1 to %d", n->npz.path, option, SIZE_MOST);
}

static bool write_config(const MarianNpz *n, Buffer *b, Error *e)
{
    char value[VALUE];
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        value_of(n, fixed[i][0], value);
        if (*value && strcmp(value, fixed[i][1]) != 0)
            return fail(e, "%s: '%s' is %.60s, and only '%s' is supported", n->npz.path, fixed[i][0], value,
                        fixed[i][1]);
    }
    size_t size, dim, heads, ff;
    buffer_print(b, "{");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!size_of(n, sizes[i][0], false, &size, e))
            return false;
        json_add_member(b, sizes[i][1], (double)size);
    }
    if (!size_of(n, "dim-emb", false, &dim, e) || !size_of(n, "transformer-heads", false, &heads, e) ||
        !size_of(n, "transformer-dim-ffn", false, &ff, e) || !size_of(n, "transformer-decoder-dim-ffn", true, &size, e))
        return false;
    if (size && size != ff)
        return fail(e, "%s: 'transformer-decoder-dim-ffn' must be 0, or 'transformer-dim-ffn'", n->npz.path);
    if (dim % heads)
        return fail(e, "%s: 'dim-emb' %zu is not a multiple of 'transformer-heads' %zu", n->npz.path, dim, heads);
    json_add_member(b, "decoder_ffn_dim", (double)ff);
    value_of(n, "transformer-ffn-activation", value);
    if (*value && strcmp(value, "swish") != 0 && strcmp(value, "relu") != 0 && strcmp(value, "gelu") != 0)
        return fail(e, "%s: 'transformer-ffn-activation' is %.60s; swish, relu and gelu are supported", n->npz.path,
                    value);
    json_add_key(b, "activation_function");
    json_add_string(b, *value ? value : "swish");
    json_add_member(b, "max_position_embeddings", 512);
    json_add_member(b, "vocab_size", (double)n->ids->count);
    if (n->target_ids)
        json_add_member(b, "decoder_vocab_size", (double)n->target_ids->count);
    buffer_print(b,
                 ", \"scale_embedding\": true, \"share_encoder_decoder_embeddings\": %s, \"tie_word_embeddings\": %s}",
                 n->one ? "true" : "false", n->tied ? "true" : "false");
    return true;
}

/* ---- the ids of tokens */

/* Which files have them: of the names in a folder. */
typedef struct Files {
    const char *folder;
    char **names;
    size_t count;
} Files;

static bool is_there(const Files *f, const char *name)
{
    size_t i = 0;
    while (i < f->count && strcmp(f->names[i], name) != 0)
        i++;
    return i < f->count;
}

/* How many end so, and one of them. */
static size_t ending(const Files *f, const char *end, const char **found)
{
    size_t times = 0;
    for (size_t i = 0; i < f->count; i++)
        if (name_ends(f->names[i], end)) {
            *found = f->names[i];
            times++;
        }
    return times;
}

/* Of a model with one vocabulary the only one, of one with two that which is called after the side; if none is, then the
 * only one is that of both. NULL: an Error. */
static const char *file_of(const Files *f, size_t side, bool two, Error *e)
{
    static const char *const ends[SIDES_USED] = {"source.vocab.yml", "target.vocab.yml"};
    const char *name = NULL;
    if (two && ending(f, ends[side], &name) == 1)
        return name;
    const size_t all = ending(f, "vocab.yml", &name);
    if (all == 1 && !(two && ending(f, ends[1 - side], &name)))
        return name;
    if (!all)
        fail(e, "%s has no file vocab.yml", f->folder);
    else if (two)
        fail(e, "%s has no one file whose name ends in %s, and others (%zu) that end in vocab.yml", f->folder,
             ends[side], all);
    else
        fail(e, "%s has %zu files whose names end in vocab.yml, and the model one vocabulary: leave only its own there",
             f->folder, all);
    return NULL;
}

static bool write_ids(const char *text, size_t size, Buffer *b)
{
    Buffer key = {0}, value = {0};
    size_t count = 0;
    buffer_print(b, "{");
    for (const char *at = text, *end = text + size; at < end;) {
        const size_t length = line_length(at, end);
        if (split(at, length - (length && at[length - 1] == '\r'), &key, &value) && key.text && value.text) {
            json_add_member(b, key.text, strtod(value.text, NULL));
            count++;
        }
        at += length + (at + length < end);
    }
    json_add_member(b, "<pad>", (double)count);
    buffer_print(b, "}");
    b->failed = b->failed || key.failed || value.failed;
    buffer_free(&key);
    buffer_free(&value);
    return !b->failed;
}

static bool read_file(Json **ids, const char *folder, const char *name, Error *e)
{
    char *path = path_join(folder, name), *text = NULL;
    size_t size;
    Buffer b = {0};
    if (!path)
        return memory_error(e, "a path", strlen(folder), 1);
    const bool fine = file_read(path, &text, &size, e) &&
                      (write_ids(text, size, &b) || memory_error(e, path, size, 1)) &&
                      json_read(ids, b.text, b.size, path, e);
    buffer_free(&b);
    memory_free(text);
    memory_free(path);
    return fine;
}

/* What a configuration beside the model says of the vocabularies: their names, the source's first, or nothing. */
static bool read_names(const MarianNpz *n, const Files *f, const char *path, Buffer name[SIDES_USED], Error *e)
{
    char *text;
    size_t size;
    if (!file_read(path, &text, &size, e))
        return false;
    const size_t count = list_of(text, size, "vocabs", name);
    memory_free(text);
    if (name[SOURCE].failed || name[TARGET].failed)
        return memory_error(e, path, size, 1);
    if (count && count != SIDES_USED)
        return fail(e, "%s: 'vocabs' must be two files, each on a line, the source's first", path);
    for (size_t side = 0; side < count; side++) {
        const char *last = path_name(name[side].text);
        if (!name_ends(last, ".yml"))
            return fail(e, "%s: 'vocabs' names '%.100s', but only files whose names end in .yml are read", path, last);
        if (!is_there(f, last))
            return fail(e, "%s: 'vocabs' names '%.100s', which is not in %s", path, last, f->folder);
    }
    return !count || !n->one || !strcmp(path_name(name[SOURCE].text), path_name(name[TARGET].text)) ||
           fail(e, "%s: 'vocabs' names two different files, but the model has one table", path);
}

/* Of the first configuration that names any: for translation with this model, for translation, for its training. */
static bool find_names(const MarianNpz *n, const Files *f, Buffer name[SIDES_USED], Error *e)
{
    const char *model = path_name(n->npz.path);
    const char *const files[][2] = {{model, ".decoder.yml"}, {"", "decoder.yml"}, {model, ".yml"}};
    bool fine = true;
    for (size_t i = 0; fine && i < 3 && !name[SOURCE].size; i++) {
        Buffer path = {0};
        buffer_print(&path, "%s/%s%s", f->folder, files[i][0], files[i][1]);
        fine = path.failed ? memory_error(e, "a path", path.size, 1)
                           : !file_exists(path.text) || read_names(n, f, path.text, name, e);
        buffer_free(&path);
    }
    return fine;
}

static bool read_ids(MarianNpz *n, Error *e)
{
    Files f = {.folder = n->folder};
    Buffer named[SIDES_USED] = {{0}, {0}};
    if (!folder_list(f.folder, &f.names, &f.count, e))
        return false;
    bool fine = find_names(n, &f, named, e);
    for (size_t side = 0; fine && side < (n->one ? 1 : SIDES_USED); side++) {
        const char *name = named[side].size ? path_name(named[side].text) : file_of(&f, side, !n->one, e);
        fine = name && read_file(side == SOURCE ? &n->ids : &n->target_ids, n->folder, name, e);
    }
    buffer_free(&named[SOURCE]);
    buffer_free(&named[TARGET]);
    folder_list_free(f.names, f.count);
    return fine;
}

/* ---- weights */

/* Parts of names: of transformers, and here; weights of maps are [in, out] here. */
static const struct Part {
    const char *theirs, *here;
    bool map;
} parts[] = {{"self_attn.q_proj.weight", "self_Wq", true},
             {"self_attn.q_proj.bias", "self_bq", false},
             {"self_attn.k_proj.weight", "self_Wk", true},
             {"self_attn.k_proj.bias", "self_bk", false},
             {"self_attn.v_proj.weight", "self_Wv", true},
             {"self_attn.v_proj.bias", "self_bv", false},
             {"self_attn.out_proj.weight", "self_Wo", true},
             {"self_attn.out_proj.bias", "self_bo", false},
             {"self_attn_layer_norm.weight", "self_Wo_ln_scale", false},
             {"self_attn_layer_norm.bias", "self_Wo_ln_bias", false},
             {"encoder_attn.q_proj.weight", "context_Wq", true},
             {"encoder_attn.q_proj.bias", "context_bq", false},
             {"encoder_attn.k_proj.weight", "context_Wk", true},
             {"encoder_attn.k_proj.bias", "context_bk", false},
             {"encoder_attn.v_proj.weight", "context_Wv", true},
             {"encoder_attn.v_proj.bias", "context_bv", false},
             {"encoder_attn.out_proj.weight", "context_Wo", true},
             {"encoder_attn.out_proj.bias", "context_bo", false},
             {"encoder_attn_layer_norm.weight", "context_Wo_ln_scale", false},
             {"encoder_attn_layer_norm.bias", "context_Wo_ln_bias", false},
             {"fc1.weight", "ffn_W1", true},
             {"fc1.bias", "ffn_b1", false},
             {"fc2.weight", "ffn_W2", true},
             {"fc2.bias", "ffn_b2", false},
             {"final_layer_norm.weight", "ffn_ffn_ln_scale", false},
             {"final_layer_norm.bias", "ffn_ffn_ln_bias", false}};

/* What an array is called here; false: it is none of a layer. */
static bool name_here(char here[NAMING_NAME], const char *name, bool *map)
{
    char stack[16];
    unsigned layer;
    int used = 0;
    if (sscanf(name, "model.%15[a-z].layers.%u.%n", stack, &layer, &used) != 2 || !used)
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(name + used, parts[i].theirs)) {
            snprintf(here, NAMING_NAME, "%s_l%u_%s", stack, layer + 1, parts[i].here);
            *map = parts[i].map;
            return true;
        }
    return false;
}

/* Tables of tokens, and the bias of logits: here they have a last row, or number, for <pad>. */
static const char *const tables[][2] = {{"model.shared.weight", "Wemb"},
                                        {"model.encoder.embed_tokens.weight", "encoder_Wemb"},
                                        {"model.decoder.embed_tokens.weight", "decoder_Wemb"},
                                        {"lm_head.weight", "decoder_ff_logit_out_Wt"},
                                        {"final_logits_bias", "decoder_ff_logit_out_b"}};

/* The array that a tensor of transformers is, and what it is called; NULL: there is none. */
static NpzArray *array_of(const MarianNpz *n, const char *name, char here[NAMING_NAME], bool *map)
{
    size_t i = 0;
    while (i < sizeof tables / sizeof *tables && strcmp(name, tables[i][0]) != 0)
        i++;
    if (i == sizeof tables / sizeof *tables)
        return name_here(here, name, map) ? npz_find(&n->npz, here) : NULL;
    snprintf(here, NAMING_NAME, "%s", tables[i][1]);
    NpzArray *a = npz_find(&n->npz, here);
    if (a || strcmp(name, "lm_head.weight") != 0)
        return a;
    *map = (a = npz_find(&n->npz, "decoder_ff_logit_out_W")); /* of older versions */
    return a;
}

static float *read(Source *s, const char *name, size_t rows, size_t columns, Error *e)
{
    const MarianNpz *n = (const MarianNpz *)s;
    const bool bias = !strcmp(name, "final_logits_bias"), table = !bias && !strstr(name, ".layers.");
    const size_t height = rows - table, width = (columns ? columns : 1) - bias;
    char here[NAMING_NAME] = "";
    bool map = false;
    NpzArray *a = array_of(n, name, here, &map);
    if (!a || strcmp(a->type, "f4") != 0 || a->elements != height * width ||
        ((map || table) && (a->rank != 2 || a->shape[0] != (map ? width : height)))) {
        fail(e, "%s: array '%s' is %s; by its options it has [%zu, %zu] floats", n->npz.path, here,
             a ? "of another shape or type" : "missing", map ? width : height, map ? height : width);
        return NULL;
    }
    float *values = tensor_values(name, rows, columns, e);
    if (!values)
        return NULL;
    a->used = true;
    if (!map)
        memcpy(values, a->data, a->elements * sizeof *values);
    for (size_t r = 0; map && r < height; r++)
        for (size_t c = 0; c < width; c++)
            memcpy(&values[r * width + c], a->data + (c * height + r) * sizeof *values, sizeof *values);
    if (bias)
        values[width] = -1e9F;
    return values;
}

bool marian_npz_nothing_left(const MarianNpz *n, Error *e)
{
    for (size_t i = 0; i < n->npz.count; i++)
        if (!n->npz.array[i].used && strncmp(n->npz.array[i].name, "special:", 8) != 0)
            return fail(e, "%s: array '%.100s' has no place in the model that its options describe", n->npz.path,
                        n->npz.array[i].name);
    return true;
}

/* ---- all of it */

static bool read_all(MarianNpz *n, Error *e)
{
    Buffer config = {0};
    const NpzArray *text = npz_find(&n->npz, yml);
    if (!text || text->type[1] != '1')
        return fail(e, "%s has no %s, which says what it is", n->npz.path, yml);
    const bool fine = read_ties(n, e) && read_ids(n, e) && write_config(n, &config, e) &&
                      (!config.failed || memory_error(e, "options", config.size, 1)) &&
                      json_read(&n->config, config.text, config.size, n->npz.path, e);
    buffer_free(&config);
    return fine;
}

bool marian_npz_open(MarianNpz *n, const char *path, Error *e)
{
    const char *slash = strrchr(path, '/');
    *n = (MarianNpz){.source = {read, path}, .folder = memory_string(slash ? path : ".")};
    if (!n->folder)
        return memory_error(e, "a path", strlen(path), 1);
    if (slash)
        n->folder[slash > path ? slash - path : 1] = 0;
    return npz_open(&n->npz, path, e) && read_all(n, e);
}

void marian_npz_close(MarianNpz *n)
{
    npz_close(&n->npz);
    memory_free(n->folder);
    json_free(n->config);
    json_free(n->ids);
    json_free(n->target_ids);
    *n = (MarianNpz){.folder = NULL};
}
