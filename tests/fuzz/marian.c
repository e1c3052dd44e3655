/* Marian's own texts, and the ids that transformers writes: the first byte says which of them the rest is. y: vocab.yml
 * beside a model; d: decoder.yml, which names it; m: model.yml, which is an array of model.npz; j: vocab.json. Words that were read have all ids once, and are
 * the same when they are written and read again. */
#include "base/file.h"
#include "base/memory.h"
#include "encdec/marian_npz.h"
#include "encdec/marian_words.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const char ids[] = "</s>: 0\n<unk>: 1\na: 2\n";
static const char model[] = "dim-emb: 8\nenc-depth: 1\ndec-depth: 1\ntransformer-heads: 2\ntransformer-dim-ffn: 16\n";

static void put(const char *folder, const char *name, const void *bytes, size_t size)
{
    char *path = path_join(folder, name);
    Error e;
    DEMAND(path && file_write(path, bytes, size, &e), "a file can be written");
    memory_free(path);
}

/* ---- an archive of one array of bytes */

static void set(char *record, size_t at, size_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        record[at + i] = (char)(value >> 8 * i);
}

static void put_npz(const char *folder, const void *text, size_t size)
{
    static const char name[] = "special:model.yml.npy";
    enum { LOCAL = 30, ENTRY = 46, LAST = 22, NAME = sizeof name - 1 };
    char local[LOCAL] = "PK\3\4", entry[ENTRY] = "PK\1\2", last[LAST] = "PK\5\6", start[10] = "\x93NUMPY\1";
    Buffer file = {0}, header = {0};
    buffer_print(&header, "{'descr': '|i1', 'fortran_order': False, 'shape': (%zu,), }\n", size);
    const size_t bytes = sizeof start + header.size + size;
    set(start, 8, header.size, 2);
    set(local, 26, NAME, 2);
    set(entry, 20, bytes, 4);
    set(entry, 24, bytes, 4);
    set(entry, 28, NAME, 2);
    set(last, 10, 1, 2);
    set(last, 16, LOCAL + NAME + bytes, 4);
    buffer_add(&file, local, LOCAL);
    buffer_add(&file, name, NAME);
    buffer_add(&file, start, sizeof start);
    buffer_add(&file, header.text, header.size);
    buffer_add(&file, text, size);
    buffer_add(&file, entry, ENTRY);
    buffer_add(&file, name, NAME);
    buffer_add(&file, last, LAST);
    DEMAND(!file.failed && !header.failed, "there is memory for a small file");
    put(folder, "model.npz", file.text, file.size);
    buffer_free(&file);
    buffer_free(&header);
}

/* ---- what was read */

static void expect_again(const MarianWords *w)
{
    const Vocabulary *v = &w->words;
    Buffer b = {0};
    Json *json = NULL;
    MarianWords again;
    Error e;
    buffer_print(&b, "{");
    for (size_t i = 0; i < v->count; i++)
        json_add_member(&b, vocabulary_word(v, (int32_t)i), w->theirs[i]);
    buffer_print(&b, "}");
    DEMAND(!b.failed && json_read(&json, b.text, b.size, "words", &e) && marian_words_read(&again, json, "words", &e),
           "what is written is read");
    DEMAND(again.words.count == v->count && again.pad == w->pad &&
               !memcmp(again.theirs, w->theirs, v->count * sizeof *w->theirs),
           "ids that are read again are equal");
    for (size_t i = 0; i < v->count; i++)
        DEMAND(!strcmp(vocabulary_word(&again.words, (int32_t)i), vocabulary_word(v, (int32_t)i)),
               "words that are read again are equal");
    marian_words_close(&again);
    json_free(json);
    buffer_free(&b);
}

static void expect_all_ids(const MarianWords *w)
{
    bool *met = memory_get(w->words.count, sizeof *met);
    DEMAND(met, "there is memory for a small file");
    memset(met, 0, w->words.count * sizeof *met);
    for (size_t i = 0; i < w->words.count; i++) {
        const int32_t id = w->theirs[i];
        DEMAND(id >= 0 && (size_t)id < w->words.count && !met[id], "each id is that of one word");
        met[id] = true;
        DEMAND(strcmp(vocabulary_word(&w->words, (int32_t)i), "<pad>") || w->pad == id, "the id of <pad> is known");
    }
    memory_free(met);
}

static bool read_words(const Json *json, Error *e)
{
    MarianWords w;
    if (!marian_words_read(&w, json, "vocab.json", e))
        return false;
    DEMAND(w.words.count == json->count, "there are as many words as ids");
    expect_all_ids(&w);
    expect_again(&w);
    marian_words_close(&w);
    return true;
}

static bool read_json(const char *text, size_t size, Error *e)
{
    Json *json = NULL;
    const bool fine = json_read(&json, text, size, "vocab.json", e) && read_words(json, e);
    json_free(json);
    return fine;
}

static bool open_npz(MarianNpz *n, const char *folder, Error *e)
{
    char *path = path_join(folder, "model.npz");
    DEMAND(path, "there is memory for a path");
    const bool fine = marian_npz_open(n, path, e);
    memory_free(path);
    return fine;
}

static void add_quoted(Buffer *b, const char *word, char quote)
{
    buffer_add(b, &quote, 1);
    for (const char *at = word; *at; at++) {
        if (*at == quote || (quote == '"' && *at == '\\'))
            buffer_add(b, quote == '"' ? "\\" : &quote, 1);
        buffer_add(b, at, 1);
    }
    buffer_add(b, &quote, 1);
}

/* The same ids in quotes; <pad> is added by the reader. */
static void expect_again_as_yaml(const char *folder, const Json *words, char quote)
{
    Buffer b = {0};
    MarianNpz again;
    Error e;
    for (size_t i = 0; i + 1 < words->count; i++) {
        add_quoted(&b, words->items[i].key, quote);
        buffer_print(&b, ": %s\n", words->items[i].text);
    }
    DEMAND(!b.failed, "there is memory for a small file");
    put(folder, "vocab.yml", b.text, b.size);
    DEMAND(open_npz(&again, folder, &e) && again.ids->count == words->count, "what is written is read");
    for (size_t i = 0; i < words->count; i++)
        DEMAND(!strcmp(again.ids->items[i].key, words->items[i].key) &&
                   again.ids->items[i].number == words->items[i].number,
               "ids that are read again are equal");
    marian_npz_close(&again);
    buffer_free(&b);
}

static bool read_npz(const char *folder, Error *e)
{
    MarianNpz n;
    bool fine = open_npz(&n, folder, e);
    DEMAND(!fine || json_get_text(n.config, "activation_function"), "a configuration has the activation");
    fine = fine && read_words(n.ids, e);
    for (size_t i = 0; fine && i < 2; i++)
        expect_again_as_yaml(folder, n.ids, "\"'"[i]);
    marian_npz_close(&n);
    return fine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char kind = size ? (char)data[0] : 0, *rest = (const char *)data + 1, *folder = fuzz_place();
    Error e = {{0}};
    if (!kind || !strchr("ydmj", kind))
        return 0;
    DEMAND(folder_remove(folder, &e) && folder_make(folder, &e), "a folder can be made");
    put_npz(folder, kind == 'm' ? rest : model, kind == 'm' ? size - 1 : strlen(model));
    put(folder, "vocab.yml", kind == 'y' ? rest : ids, kind == 'y' ? size - 1 : strlen(ids));
    if (kind == 'd')
        put(folder, "decoder.yml", rest, size - 1);
    fuzz_begin();
    if (!(kind == 'j' ? read_json(rest, size - 1, &e) : read_npz(folder, &e)))
        fuzz_refused(&e);
    fuzz_end(size);
    DEMAND(folder_remove(folder, &e), "a folder can be removed");
    return 0;
}
