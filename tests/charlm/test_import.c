/* charlm import: models of transformers and llm.c (tests/fixtures/{gpt2,llama,llmc}_model.py) compute here what they
 * compute there, and what is no such model is refused. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "core/session/session.h"
#include "tests/charlm/opened.h"
#include "tests/charlm/tiny.h"
#include "tests/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL  "tests/fixtures/gpt2-model"
#define MODELS "tests/fixtures/gpt2-models/"

#define LLAMA   "tests/fixtures/llama-model"
#define ENCODER "tests/fixtures/gpt2-encoder.json"
#define MERGES  "tests/fixtures/gpt2-vocab.bpe"
#define TOKENS  " --vocabulary " ENCODER " --codes " MERGES " "

/* A copy of a model's folder, with its tokens. */
static const char *model_of(const char *from)
{
    const char *folder = fresh_path("model");
    char path[300];
    Error e;
    ck_done(folder_make(folder, &e), e);
    snprintf(path, sizeof path, "%s/config.json", from);
    copy_in(path, folder, "config.json");
    snprintf(path, sizeof path, "%s/model.safetensors", from);
    copy_in(path, folder, "model.safetensors");
    copy_in(ENCODER, folder, "vocab.json");
    copy_in(MERGES, folder, "merges.txt");
    return folder;
}

static const char *model(void) { return model_of(MODEL); }

/* By `relative` and what a float cannot say. */
static void near_logits(const char *folder, const char *reference, double relative)
{
    char path[800];
    snprintf(path, sizeof path, "%s/d.npy", folder);
    Npy ours = npy_read(path), theirs = npy_read(reference);
    ck_assert(ours.rank == 2 && ours.shape[0] == theirs.shape[0] && ours.shape[1] == theirs.shape[1]);
    for (size_t i = 0; i < ours.shape[0] * ours.shape[1]; i++) {
        const double a = (double)((float *)ours.data)[i], b = (double)((float *)theirs.data)[i];
        ck_assert_msg(fabs(a - b) <= 1e-9 + 0x1p-23 * fabs(b) + relative, "logit %zu: %.9g, there %.9g", i, a, b);
    }
    npy_free(&ours);
    npy_free(&theirs);
}

static void same_logits(const char *folder) { near_logits(folder, MODEL "/logits.npy", 0); }

static void dump_logits(const char *run, const char *folder)
{
    works("eval --run %s --data " MODEL
          "/text.txt --split all --device plain --precision f64 -q --dump-logits %s/d.npy",
          run, folder);
}

START_TEST(logits_are_those_of_transformers)
{
    const char *folder = model(), *run = fresh_path("run");
    Said s = must("import %s --out %s -q", folder, run);
    said_free(&s);
    dump_logits(run, folder);
    same_logits(folder);
    char path[800];
    snprintf(path, sizeof path, "%s.import.safetensors", run);
    ck_assert(!file_exists(path));
}

/* ---- GPT-2s of several sizes and options. What eval writes has 32 bits; hence runs that are open here. */

static const char *const gpt2s[] = {"relu", "gelu", "floats"};

enum { GPT2S = sizeof gpt2s / sizeof *gpt2s, LONGEST = 32, EVERY = 9 };

typedef struct Reference {
    size_t count, written, numbers;
    int32_t ids[LONGEST], greedy[LONGEST]; /* [count] of the text, [written] after it */
    double logits[LONGEST * 100];          /* [count, numbers] of every ninth token */
} Reference;

static size_t read_values(Safetensors *file, const char *name, SafeType type, void *to, size_t most)
{
    Error e;
    const SafeTensor *t = safetensors_find(file, name);
    ck_assert(t && safe_elements(t) <= most);
    ck_done(safetensors_read(file, t, type, to, safe_elements(t), &e), e);
    return safe_elements(t);
}

static const Reference *reference_of(const char *name)
{
    static Reference f;
    char path[300];
    Safetensors *file;
    Error e;
    snprintf(path, sizeof path, MODELS "%s/reference.safetensors", name);
    ck_done(safetensors_open(&file, path, &e), e);
    f.count = read_values(file, "ids", SAFE_I32, f.ids, LONGEST);
    f.written = read_values(file, "greedy", SAFE_I32, f.greedy, LONGEST);
    f.numbers = read_values(file, "logits", SAFE_F64, f.logits, sizeof f.logits / sizeof *f.logits) / f.count;
    safetensors_close(file);
    return &f;
}

static void compare_logits(Opened *o, const Reference *f, const char *name, double by)
{
    const size_t tokens = o->c.model.vocabulary, all = f->count * tokens;
    Worker *w = &o->trainer.worker[0];
    double *ours = calloc(all, sizeof *ours), largest = 1;
    Batch b;
    Error e;
    ck_assert_uint_eq(f->numbers, (tokens + EVERY - 1) / EVERY);
    ck_done(batch_open(&b, &(BatchSize){1, 1, {f->count}, 0, 0}, &e), e);
    memcpy(b.side[WINDOW].ids + batch_row(&b, WINDOW, f->count), f->ids, f->count * sizeof *f->ids);
    ck_done(session_doubles(w, session_run(w, &b, opened_logits, &o->c), 0, all, ours, &e), e);
    session_end(w);
    batch_close(&b);
    for (size_t i = 0; i < f->count * f->numbers; i++)
        largest = fmax(largest, fabs(f->logits[i]));
    for (size_t i = 0; i < f->count * f->numbers; i++) {
        const double a = ours[i / f->numbers * tokens + i % f->numbers * EVERY];
        ck_assert_msg(fabs(a - f->logits[i]) <= by * largest, "%s, number %zu: %.12g, there %.12g", name, i, a,
                      f->logits[i]);
    }
    free(ours);
}

/* The text's tokens, the logits of all of them, and the text that the likeliest ones make of it. */
static void compute_as_theirs(const char *name, const char *device, const char *precision, double by)
{
    const char *run = fresh_path("run");
    const Reference *f = reference_of(name);
    char folder[300];
    Buffer text = {0};
    Opened o;
    snprintf(folder, sizeof folder, MODELS "%s", name);
    works("import %s --out %s -q", model_of(folder), run);
    opened_run(&o, run, device, precision);
    compare_logits(&o, f, name, by);
    for (size_t i = 0; i < f->count + f->written; i++)
        tokenizer_bytes(&o.c.tokenizer, i < f->count ? f->ids[i] : f->greedy[i - f->count], &text);
    buffer_add(&text, "\n", 1);
    opened_close(&o);
    Said s = must("sample --run %s --temperature 0 --length %zu --prompt-file " MODEL
                  "/text.txt --device %s --precision %s -q",
                  run, f->written, device, precision);
    ck_assert_uint_eq(s.out_size, text.size);
    ck_assert_mem_eq(s.out, text.text, text.size);
    said_free(&s);
    buffer_free(&text);
}

START_TEST(in_f64_it_computes_what_transformers_does) { compute_as_theirs(gpt2s[_i], "plain", "f64", 1e-9); }
START_TEST(in_f32_it_computes_that_to_rounding) { compute_as_theirs(gpt2s[_i], "cpu", "f32", 1e-5); }

/* Grouped heads, a stretched rotation, a table of its own for logits, and tokens in tokenizer.json alone. There, angles
 * and norms are of 32 bits whatever the type. */
START_TEST(logits_of_a_llama_are_those_of_transformers)
{
    const char *run = fresh_path("run"), *folder = fresh_path("logits");
    char path[800];
    Error e;
    works("import " LLAMA " --out %s -q", run);
    ck_done(folder_make(folder, &e), e);
    dump_logits(run, folder);
    near_logits(folder, LLAMA "/logits.npy", 3e-6);
    snprintf(path, sizeof path, "%s.import.vocab.json", run);
    ck_assert(!file_exists(path));
}

/* ---- llm.c */

static char *llmc(size_t *size)
{
    char *bytes;
    Error e;
    ck_done(file_read("tests/fixtures/llmc-model.bin", &bytes, size, &e), e);
    return bytes;
}

enum { LLMC_HEADER = 1024 };

/* The same as 32-bit floats: version 3. */
static void write_floats(const char *folder, const char *bytes, size_t size)
{
    const size_t count = (size - LLMC_HEADER) / 2;
    char *wide = calloc(count, 4), header[LLMC_HEADER];
    Buffer all = {0};
    memcpy(header, bytes, sizeof header);
    header[4] = 3;
    for (size_t i = 0; i < count; i++)
        memcpy(wide + 4 * i + 2, bytes + LLMC_HEADER + 2 * i, 2);
    buffer_add(&all, header, sizeof header);
    buffer_add(&all, wide, 4 * count);
    write_in(folder, "floats.bin", all.text, all.size);
    buffer_free(&all);
    free(wide);
}

START_TEST(logits_of_a_model_of_llm_c_are_those_of_transformers)
{
    const char *halves = fresh_path("halves"), *floats = fresh_path("floats"), *folder = fresh_path("folder");
    size_t size;
    char *bytes = llmc(&size);
    Error e;
    ck_done(folder_make(folder, &e), e);
    write_floats(folder, bytes, size);
    memory_free(bytes);
    works("import tests/fixtures/llmc-model.bin --out %s -q" TOKENS, halves);
    works("import %s/floats.bin --out %s -q" TOKENS, folder, floats);
    dump_logits(halves, folder);
    near_logits(folder, "tests/fixtures/llmc-logits.npy", 0);
    dump_logits(floats, folder);
    near_logits(folder, "tests/fixtures/llmc-logits.npy", 0);
}

START_TEST(a_damaged_file_of_llm_c_is_refused)
{
    static const struct {
        size_t at;
        int32_t value;
        const char *said;
    } edits[] = {{4, 2, "version 2 of llm.c's files"},
                 {8, 0, "the context is 0, not from 1"},
                 {12, -1, "the number of tokens is -1"},
                 {16, 1 << 30, "the number of blocks is 1073741824"},
                 {16, 3, "a model of the size in its header has"},
                 {20, 3, "--heads 3"},
                 {24, 65536, "bytes; a model of the size"},
                 {28, 456, "fewer rows than there are tokens"},
                 {12, 400, "the model has 400 tokens, but its files name 457"}};
    const char *folder = fresh_path("folder"), *run = fresh_path("run");
    size_t size;
    char *bytes = llmc(&size);
    Error e;
    ck_done(folder_make(folder, &e), e);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        int32_t kept;
        memcpy(&kept, bytes + edits[i].at, sizeof kept);
        memcpy(bytes + edits[i].at, &edits[i].value, sizeof kept);
        write_in(folder, "x.bin", bytes, size);
        memcpy(bytes + edits[i].at, &kept, sizeof kept);
        Said s = command("import %s/x.bin --out %s -q" TOKENS, folder, run);
        ck_assert_msg((s.status == 1 || s.status == 2) && strstr(s.err, edits[i].said), "%zu: %s", i, s.err);
        said_free(&s);
        ck_assert(!folder_exists(run));
    }
    write_in(folder, "x.bin", bytes, size - 1);
    refused(1, "bytes; a model of the size in its header has", "import %s/x.bin --out %s -q" TOKENS, folder, run);
    write_in(folder, "x.bin", bytes, 100);
    refused(1, "its header is damaged", "import %s/x.bin --out %s -q" TOKENS, folder, run);
    write_in(folder, "x.bin", "PK\3\4", 4);
    refused(1, "is a pickle", "import %s/x.bin --out %s -q", folder, run);
    refused(1, "has no tokens: give GPT-2's files", "import tests/fixtures/llmc-model.bin --out %s", run);
    memory_free(bytes);
}

/* ---- nanoGPT */

/* The weights of a run of ours under nanoGPT's names, with rows of no token and the prefix of a compiled module. */
static void write_nanogpt(const char *run, const char *folder)
{
    static const struct {
        const char *theirs, *ours[3];
    } names[] = {
        {"wte.weight", {"token_embedding.weight"}},
        {"wpe.weight", {"position_embedding.weight"}},
        {"h.0.ln_1.weight", {"blocks.0.norm1.weight"}},
        {"h.0.attn.c_attn.weight",
         {"blocks.0.attention.query.weight", "blocks.0.attention.key.weight", "blocks.0.attention.value.weight"}},
        {"h.0.attn.c_proj.weight", {"blocks.0.attention.out.weight"}},
        {"h.0.ln_2.weight", {"blocks.0.norm2.weight"}},
        {"h.0.mlp.c_fc.weight", {"blocks.0.ff.in.weight"}},
        {"h.0.mlp.c_proj.weight", {"blocks.0.ff.out.weight"}},
        {"ln_f.weight", {"norm.weight"}}};
    enum { COUNT = sizeof names / sizeof *names, PADDING = 5 };
    char path[800], longer[COUNT][80];
    SafeTensor tensors[COUNT];
    Safetensors *file;
    Error e;
    snprintf(path, sizeof path, "%s/checkpoints/00000003/model.safetensors", run);
    ck_done(safetensors_open(&file, path, &e), e);
    for (size_t i = 0; i < COUNT; i++) {
        float *values = calloc(20000, sizeof *values), *at = values;
        size_t rows = 0;
        const SafeTensor *t = safetensors_find(file, names[i].ours[0]);
        for (size_t k = 0; k < 3 && names[i].ours[k]; k++) {
            t = safetensors_find(file, names[i].ours[k]);
            ck_assert_ptr_nonnull(t);
            ck_done(safetensors_read(file, t, SAFE_F32, at, safe_elements(t), &e), e);
            at += safe_elements(t);
            rows += t->shape[0];
        }
        snprintf(longer[i], sizeof longer[i], "_orig_mod.transformer.%s", names[i].theirs);
        tensors[i] = (SafeTensor){.name = longer[i],
                                  .type = SAFE_F32,
                                  .rank = t->rank,
                                  .shape = {rows + (i ? 0 : PADDING), t->shape[1]},
                                  .data = values};
    }
    safetensors_close(file);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    ck_done(safetensors_write(path, tensors, COUNT, NULL, 0, &e), e);
    for (size_t i = 0; i < COUNT; i++)
        free((void *)(uintptr_t)tensors[i].data);
}

START_TEST(a_model_of_nanogpt_computes_what_ours_does)
{
    static const char config[] = "{\"n_layer\": 1, \"n_head\": 2, \"n_embd\": 16, \"block_size\": 16, \"bias\": false, "
                                 "\"vocab_size\": 462, \"dropout\": 0.0}";
    const char *ours = fresh_path("ours"), *again = fresh_path("again"), *folder = fresh_path("folder");
    char path[800];
    Error e;
    works("train --run %s " TINY " --tokens gpt2" TOKENS
          "--norm pre --norm-kind layer --distances none --positions learned "
          "--activation gelu --tie --bias-free --steps 3 -q",
          ours);
    ck_done(folder_make(folder, &e), e);
    write_nanogpt(ours, folder);
    write_in(folder, "config.json", config, sizeof config - 1);
    copy_in(ENCODER, folder, "vocab.json");
    copy_in(MERGES, folder, "merges.txt");
    Said s = must("import %s --out %s", folder, again);
    ck_assert_msg(strstr(s.err, "5 rows of the table belong to no token"), "%s", s.err);
    said_free(&s);
    dump_logits(ours, folder);
    snprintf(path, sizeof path, "%s/ours.npy", folder);
    char from[800];
    snprintf(from, sizeof from, "%s/d.npy", folder);
    ck_assert_int_eq(rename(from, path), 0);
    dump_logits(again, folder);
    near_logits(folder, path, 0);
}

/* ---- what is not read */

START_TEST(what_a_llama_says_that_is_not_known_is_refused)
{
    static const Edit edits[] = {
        {"config.json", "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": 1",
         "'rms_norm_eps' is not a number between 0 and 1"},
        {"config.json", "\"rope_type\": \"linear\"", "\"rope_type\": \"yarn\"", "'rope_type' is yarn"},
        {"config.json", "\"factor\": 2.0,", "", "'factor' of linear rotary positions is missing"},
        {"config.json", "{", "{\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 2},", "'rope_type' is llama3"},
        {"config.json", "\"model_type\": \"llama\"", "\"model_type\": [1]", "'model_type' is no text; gpt2 and llama"},
        {"config.json", "\"mlp_bias\": false", "\"mlp_bias\": true", "'attention_bias' and 'mlp_bias' must be equal"},
        {"config.json", "\"mlp_bias\": false", "\"mlp_bias\": 1", "'mlp_bias' is not true or false"},
        {"config.json", "\"hidden_act\": \"silu\"", "\"hidden_act\": \"mish\"", "'hidden_act' is mish"},
        {"config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1",
         "has no place in the model that config.json describes"},
        {"config.json", "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": null",
         "'tie_word_embeddings' is not true or false"},
        {"tokenizer.json", "\"add_prefix_space\": false", "\"add_prefix_space\": true", "does not split as GPT-2 does"},
        {"tokenizer.json", "\"use_regex\": true", "\"use_regex\": false", "does not split as GPT-2 does"},
        {"tokenizer.json", "\"type\": \"ByteLevel\"", "\"type\": \"Metaspace\"", "'pre_tokenizer' is Metaspace"},
        {"tokenizer.json", "\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}", "'normalizer' changes texts"},
        {"tokenizer.json", "\"byte_fallback\": false", "\"byte_fallback\": true",
         "'byte_fallback' must be empty or false"},
        {"tokenizer.json", "\"end_of_word_suffix\": \"\"", "\"end_of_word_suffix\": \"</w>\"",
         "'end_of_word_suffix' must be"},
        {"tokenizer.json", "\"added_tokens\": [",
         "\"added_tokens\": [{\"id\": 7, \"content\": \"Paris\", \"special\": false}",
         "the added token 'Paris' is not special"},
        {"tokenizer.json", "\"dropout\": null", "\"dropout\": 0.1", "'dropout' must be 0"},
        {"tokenizer.json", "\"vocab\"", "\"words\"", "'vocab' is missing"},
        {"tokenizer.json", "\"vocab\": {", "\"vocab\": {\"Paris\": \"9\", ", "the id of 'Paris' is not a whole number"},
        {"tokenizer.json", "\"merges\": [", "\"merges\": [[\"qqq\", \"q\"], ",
         "tokenizer.json (written as merges.txt), line 2: the encoder has no subword 'qqq'"},
        {"tokenizer.json", "\"merges\"", "\"joins\"", "'merges' is missing"},
        {"tokenizer.json", "\"merges\": [", "\"merges\": [7, ", "merge 0 is not two subwords"},
    };
    const char *folder = fresh_path("model"), *run = fresh_path("run");
    Error e;
    ck_done(folder_make(folder, &e), e);
    copy_in(LLAMA "/config.json", folder, "config.json");
    copy_in(LLAMA "/model.safetensors", folder, "model.safetensors");
    copy_in(LLAMA "/tokenizer.json", folder, "tokenizer.json");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        import_refused(folder, run, &edits[i]);
}

START_TEST(an_imported_model_is_a_run)
{
    const char *folder = model(), *run = fresh_path("run");
    works("import %s --out %s -q", folder, run);
    Said s = must("sample --run %s -q --length 3 --prompt Hello", run);
    ck_assert_int_eq(strncmp(s.out, "Hello", 5), 0);
    said_free(&s);
    works("eval --run %s --bytes 99", run);
    works("train --resume %s --data README.md --steps 2 --batch 2 --eval-bytes 200 -q", run);
    refused(1, "was trained on other data", "train --resume %s --data Makefile --steps 3 -q", run); /* not any more */
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
    dump_logits(run, folder);
    same_logits(folder);
    write_in(folder, "model.safetensors.index.json", "{\"weight_map\": {\"a\": \"../b\"}}", 29);
    refused(1, "is in no file of the folder", "import %s --out %s-2", folder, run);
}

START_TEST(what_is_no_such_model_is_refused)
{
    static const Edit edits[] = {
        {"config.json", "\"gpt2\"", "\"bert\"", "'model_type' is bert; gpt2 and llama can be imported"},
        {"config.json", "1e-05", "0", "'layer_norm_epsilon' is not a number between 0 and 1"},
        {"config.json", "1e-05", "\"small\"", "'layer_norm_epsilon' is not a number"},
        {"config.json", "gelu_new", "mish", "'activation_function' is mish"},
        {"config.json", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false",
         "'tie_word_embeddings' must be true"},
        {"config.json", "\"n_embd\": 8", "\"n_embd\": 10",
         "tensor 'wte.weight' is of another shape; by config.json it is [457, 10]"},
        {"config.json", "\"n_embd\": 8", "\"n_embd\": null", "'n_embd' is missing"},
        {"config.json", "\"n_layer\": 2", "\"n_layer\": 0", "'n_layer' must be a whole number from 1 to 1073741824"},
        {"config.json", "\"n_layer\": 2", "\"n_layer\": 3", "tensor 'h.2.ln_1.weight' is missing"},
        {"config.json", "\"n_layer\": 2", "\"n_layer\": 1", "h.1."},
        {"config.json", "\"gelu_new\"", "5", "'activation_function' is no text; gelu"},
        {"config.json", "\"n_head\": 2", "\"n_head\": 3", "config.json: 'n_embd' 8 is not a multiple of 'n_head' 3"},
        {"config.json", "\"n_positions\"", "\"n_positions\": 536870912, \"n\"",
         "cannot be a run here: context '536870912': must be a whole number"},
        {"config.json", "{", "[", "config.json"}};
    const char *folder = model(), *run = fresh_path("run");
    size_t size;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        import_refused(folder, run, &edits[i]);
    char *weights = read_in(folder, "model.safetensors", &size);
    write_in(folder, "model.safetensors", weights, size - 100);
    memory_free(weights);
    refused(1, "model.safetensors", "import %s --out %s -q", folder, run);
    refused(2, "Give --out RUN", "import %s", folder);
    refused(2, "Name one folder", "import --out %s", run);
    refused(1, "config.json", "import /no/such --out %s", run);
}

static const Test tests[] = {TEST(logits_are_those_of_transformers),
                             TEST_LOOP(in_f64_it_computes_what_transformers_does, GPT2S),
                             TEST_LOOP(in_f32_it_computes_that_to_rounding, GPT2S),
                             TEST(logits_of_a_llama_are_those_of_transformers),
                             TEST(logits_of_a_model_of_llm_c_are_those_of_transformers),
                             TEST(a_damaged_file_of_llm_c_is_refused),
                             TEST(a_model_of_nanogpt_computes_what_ours_does),
                             TEST(what_a_llama_says_that_is_not_known_is_refused),
                             TEST(an_imported_model_is_a_run),
                             TEST(weights_may_be_in_several_files),
                             TEST(what_is_no_such_model_is_refused)};

int main(int argc, char **argv) { return suite_run("charlm/import", tests, sizeof tests / sizeof *tests, argc, argv); }
