/* A folder of Hugging Face's: the first byte says which of its files the rest is. c: config.json; t: tokenizer.json of byte
 * pairs; w: the same of WordPiece; v: tokenizer_config.json beside a vocab.txt; i: model.safetensors.index.json, whose files
 * may be a small one that is there. */
#include "base/file.h"
#include "base/memory.h"
#include "core/exchange/hf_folder.h"
#include "core/text/gpt2.h"
#include "core/text/wordpiece.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void put(const char *folder, const char *name, const void *bytes, size_t size)
{
    char *path = path_join(folder, name);
    Error e;
    DEMAND(path && file_write(path, bytes, size, &e), "a file can be written");
    memory_free(path);
}

static void put_weights(const char *folder)
{
    static const float values[] = {1, 2};
    const SafeTensor one = {.name = "a", .type = SAFE_F32, .rank = 1, .shape = {2}, .data = values};
    char *path = path_join(folder, "w");
    Error e;
    DEMAND(path && safetensors_write(path, &one, 1, NULL, 0, &e), "weights can be written");
    memory_free(path);
}

static bool read_config(const HfFolder *h, Error *e)
{
    static const char *const keys[] = {"n_embd", "vocab_size", "a"};
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        double number;
        bool truth;
        if (!hf_size(h, keys[i], i, &size, e) || !hf_number(h, keys[i], 1, &number, e) ||
            !hf_truth(h, "bias", true, &truth, e) || !hf_must_be(h, "tie", true, true, e))
            return false;
        DEMAND(size >= 1 && size <= 1 << 30, "a size is one");
    }
    return true;
}

static bool read_tokens(const HfFolder *h, const char *made, Error *e)
{
    HfTokens t;
    Gpt2 g;
    bool found, fine = hf_tokens_find(&t, h, made, &found, e);
    DEMAND(!fine || (found && t.made), "tokens that are there are found");
    if (fine && gpt2_read(&g, t.vocabulary, t.merges, e))
        gpt2_close(&g);
    memory_free(t.vocabulary);
    memory_free(t.merges);
    return fine;
}

/* What is made of a tokenizer is a vocabulary like others; where its words do not do, that says why. */
static bool read_wordpiece(const HfFolder *h, const char *made, bool beside, Error *e)
{
    HfWordPiece t;
    WordPiece w;
    bool fine = hf_wordpiece_find(&t, h, made, e);
    DEMAND(!fine || t.made != beside, "a file is made of what is in none");
    if (fine && (fine = wordpiece_read(&w, t.vocabulary, t.lower, e)))
        wordpiece_close(&w);
    memory_free(t.vocabulary);
    return fine;
}

static bool read_weights(HfFolder *h, Error *e)
{
    static const char *const none[] = {NULL};
    if (!hf_weights(h, e))
        return false;
    float *values = h->source.read(&h->source, "x.a", 2, 0, e);
    DEMAND(!values || (values[0] == 1 && values[1] == 2), "a tensor is what it is");
    const bool fine = values && hf_nothing_left(h, none, e);
    memory_free(values);
    return fine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char empty[] = "{}";
    static const struct {
        char kind;
        const char *name;
    } files[] = {{'c', "config.json"},
                 {'t', "tokenizer.json"},
                 {'w', "tokenizer.json"},
                 {'v', "tokenizer_config.json"},
                 {'i', "model.safetensors.index.json"}};
    size_t which = 0;
    HfFolder h;
    Error e = {{0}};
    while (size && which < sizeof files / sizeof *files && files[which].kind != (char)data[0])
        which++;
    if (!size || which == sizeof files / sizeof *files)
        return 0;
    const char kind = (char)data[0], *folder = fuzz_place();
    DEMAND(folder_remove(folder, &e) && folder_make(folder, &e), "a folder can be made");
    put_weights(folder);
    put(folder, "config.json", empty, 2);
    put(folder, files[which].name, data + 1, size - 1);
    if (kind == 'v')
        put(folder, "vocab.txt", "[UNK]\na", 7);
    char *made = path_join(folder, "made");
    fuzz_begin();
    const bool fine = hf_open(&h, folder, "x.", &e) &&
                      (kind == 'c'                  ? read_config(&h, &e)
                       : kind == 't'                ? read_tokens(&h, made, &e)
                       : kind == 'w' || kind == 'v' ? read_wordpiece(&h, made, kind == 'v', &e)
                                                    : read_weights(&h, &e));
    if (!fine)
        fuzz_refused(&e);
    hf_close(&h);
    fuzz_end(size);
    memory_free(made);
    DEMAND(folder_remove(folder, &e), "a folder can be removed");
    return 0;
}
