/* charlm import: a GPT-2 of transformers (tests/fixtures/gpt2_model.py) computes here what it computes there, and what
 * is no such model is refused. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/charlm/tiny.h"
#include "tests/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/fixtures/gpt2-model"

/* A copy of the model's folder, with its tokens. */
static const char *model(void)
{
    static const char *const files[][2] = {{MODEL "/config.json", "config.json"},
                                           {MODEL "/model.safetensors", "model.safetensors"},
                                           {"tests/fixtures/gpt2-encoder.json", "vocab.json"},
                                           {"tests/fixtures/gpt2-vocab.bpe", "merges.txt"}};
    const char *folder = fresh_path("model");
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *bytes;
        size_t size;
        ck_done(file_read(files[i][0], &bytes, &size, &e), e);
        write_in(folder, files[i][1], bytes, size);
        memory_free(bytes);
    }
    return folder;
}

static void same_logits(const char *folder)
{
    char path[800];
    snprintf(path, sizeof path, "%s/d.npy", folder);
    Npy ours = npy_read(path), theirs = npy_read(MODEL "/logits.npy");
    ck_assert(ours.rank == 2 && ours.shape[0] == theirs.shape[0] && ours.shape[1] == theirs.shape[1]);
    for (size_t i = 0; i < ours.shape[0] * ours.shape[1]; i++) {
        const double a = (double)((float *)ours.data)[i], b = (double)((float *)theirs.data)[i];
        ck_assert_msg(fabs(a - b) <= 1e-9 + 0x1p-23 * fabs(b), "logit %zu: %.9g, there %.9g", i, a, b); /* as floats */
    }
    npy_free(&ours);
    npy_free(&theirs);
}

START_TEST(logits_are_those_of_transformers)
{
    const char *folder = model(), *run = fresh_path("run");
    Said s = must("import %s --out %s -q", folder, run);
    said_free(&s);
    s = must("eval --run %s --data " MODEL "/text.txt --split all --device plain --precision f64 -q --dump-logits "
             "%s/d.npy",
             run, folder);
    said_free(&s);
    same_logits(folder);
    char path[800];
    snprintf(path, sizeof path, "%s.import.safetensors", run);
    ck_assert(!file_exists(path));
}

START_TEST(an_imported_model_is_a_run)
{
    const char *folder = model(), *run = fresh_path("run");
    works("import %s --out %s -q", folder, run);
    Said s = must("sample --run %s -q --length 3 --prompt Hello", run);
    ck_assert_int_eq(strncmp(s.out, "Hello", 5), 0);
    said_free(&s);
    works("train --resume %s --steps 2 --batch 2 --eval-bytes 200 -q", run);
    refused(1, "is not empty", "import %s --out %s", folder, run);
}

/* The same weights under names with a prefix, which an index finds in a file. */
START_TEST(weights_may_be_in_several_files)
{
    const char *folder = model(), *run = fresh_path("run");
    char path[800];
    Error e;
    Safetensors *file;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    ck_done(safetensors_open(&file, path, &e), e);
    const size_t count = safetensors_count(file);
    SafeTensor *parts[2] = {calloc(count, sizeof(SafeTensor)), calloc(count, sizeof(SafeTensor))};
    size_t counts[2] = {0, 0};
    Buffer index = {0};
    buffer_print(&index, "{\"weight_map\": {");
    for (size_t i = 0; i < count; i++) {
        const SafeTensor *t = safetensors_at(file, i);
        SafeTensor *copy = &parts[i % 2][counts[i % 2]++];
        *copy = *t;
        copy->type = SAFE_F32;
        void *data = memory_get(safe_elements(t), sizeof(float));
        ck_done(safetensors_read(file, t, SAFE_F32, data, safe_elements(t), &e), e);
        copy->data = data;
        buffer_print(&index, "%s\"%s\": \"part-%zu.safetensors\"", i ? ", " : "", t->name, i % 2);
    }
    buffer_print(&index, "}}");
    for (size_t i = 0; i < 2; i++) {
        char part[900];
        snprintf(part, sizeof part, "%s/part-%zu.safetensors", folder, i);
        ck_done(safetensors_write(part, parts[i], counts[i], NULL, 0, &e), e);
        for (size_t k = 0; k < counts[i]; k++)
            memory_free((void *)(uintptr_t)parts[i][k].data);
        free(parts[i]);
    }
    safetensors_close(file);
    ck_assert_int_eq(remove(path), 0);
    write_in(folder, "model.safetensors.index.json", index.text, index.size);
    buffer_free(&index);
    works("import %s --out %s -q", folder, run);
    works("eval --run %s --data " MODEL
          "/text.txt --split all --device plain --precision f64 -q --dump-logits %s/d.npy",
          run, folder);
    same_logits(folder);
    write_in(folder, "model.safetensors.index.json", "{\"weight_map\": {\"a\": \"../b\"}}", 29);
    refused(1, "is in no file of the folder", "import %s --out %s-2", folder, run);
}

START_TEST(what_is_no_such_model_is_refused)
{
    static const struct {
        const char *from, *to, *said;
    } edits[] = {
        {"\"gpt2\"", "\"bert\"", "'model_type' is bert; gpt2 can be imported"},
        {"1e-05", "1e-06", "'layer_norm_epsilon' must be 1e-05"},
        {"gelu_new", "mish", "'activation_function' is mish"},
        {"\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false", "'tie_word_embeddings' must be true"},
        {"\"n_embd\": 8", "\"n_embd\": 10", "tensor 'wte.weight' is of another shape; by config.json it is [457, 10]"},
        {"\"n_embd\": 8", "\"n_embd\": null", "'n_embd' is missing"},
        {"\"n_layer\": 2", "\"n_layer\": 0", "'n_layer' is not a number of at least 1"},
        {"\"n_layer\": 2", "\"n_layer\": 3", "tensor 'h.2.ln_1.weight' is missing"},
        {"\"n_head\": 2", "\"n_head\": 3", "heads"},
        {"{", "[", "config.json"}};
    const char *folder = model(), *run = fresh_path("run");
    size_t size;
    char *config = read_in(folder, "config.json", &size);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        Buffer edited = {0};
        const char *at = strstr(config, edits[i].from);
        ck_assert_ptr_nonnull(at);
        buffer_add(&edited, config, (size_t)(at - config));
        buffer_print(&edited, "%s%s", edits[i].to, at + strlen(edits[i].from));
        write_in(folder, "config.json", edited.text, edited.size);
        buffer_free(&edited);
        Said s = command("import %s --out %s -q", folder, run);
        ck_assert_msg((s.status == 1 || s.status == 2) && strstr(s.err, edits[i].said) && !s.out[0], "%s", s.err);
        said_free(&s);
        ck_assert(!folder_exists(run));
    }
    write_in(folder, "config.json", config, size);
    memory_free(config);
    char *weights = read_in(folder, "model.safetensors", &size);
    write_in(folder, "model.safetensors", weights, size - 100);
    memory_free(weights);
    refused(1, "model.safetensors", "import %s --out %s -q", folder, run);
    refused(2, "Give --out RUN", "import %s", folder);
    refused(2, "Name one folder", "import --out %s", run);
    refused(1, "config.json", "import /no/such --out %s", run);
}

static const Test tests[] = {TEST(logits_are_those_of_transformers), TEST(an_imported_model_is_a_run),
                             TEST(weights_may_be_in_several_files), TEST(what_is_no_such_model_is_refused)};

int main(int argc, char **argv) { return suite_run("charlm/import", tests, sizeof tests / sizeof *tests, argc, argv); }
