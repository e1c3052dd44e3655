/* charlm export: what is written is a model of others. That transformers and llama.cpp compute the same with it,
 * tests/peers/interop.py shows; here a GPT-2 is imported again, and files have what their readers ask for. */
#define _XOPEN_SOURCE 700 /* symlink */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/charlm/tiny.h"
#include "tests/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPT2                                                                                                           \
    TINY " --norm pre --norm-kind layer --distances none --positions learned --activation gelu-tanh --tie --bias "     \
         "--steps 5 -q "
#define LLAMA                                                                                                          \
    TINY " --norm pre --norm-kind rms --distances none --positions rotary --activation silu --gate --tie --steps 2 "   \
         "-q "

static const char text[] = "Weights, 1 caf\xc3\xa9 \xff";

/* The logits of a run on the text above in DIR/NAME.npy. */
static Npy logits_of(const char *run, const char *name)
{
    char path[800];
    const char *folder = fresh_path(name);
    Error e;
    ck_done(folder_make(folder, &e), e);
    write_in(folder, "text", text, sizeof text - 1);
    works("eval --run %s --data %s/text --split all --device plain --precision f32 -q --dump-logits %s/d.npy", run,
          folder, folder);
    snprintf(path, sizeof path, "%s/d.npy", folder);
    return npy_read(path);
}

static void same(Npy a, Npy b)
{
    ck_assert(a.rank == 2 && b.rank == 2 && a.shape[0] == b.shape[0] && a.shape[1] == b.shape[1] && a.shape[0] > 2);
    ck_assert_mem_eq(a.data, b.data, a.shape[0] * a.shape[1] * sizeof(float));
    npy_free(&a);
    npy_free(&b);
}

/* With tokens of its own, with bytes, and where biases, or positions, or both, are not those of a GPT-2. */
START_TEST(what_was_exported_is_imported_to_the_same_bits)
{
    static const char *const kinds[] = {GPT2,
                                        GPT2 "--tokens bpe --merges 60 --norm-epsilon 0.01",
                                        GPT2 "--no-bias --bias-free",
                                        GPT2 "--positions sinusoid --ff 10",
                                        GPT2 "--positions none --bias=no --activation relu",
                                        LLAMA
                                        "--bias=no --kv-heads 1 --head-size 6 --rotary-base 300 --norm-epsilon 1e-6",
                                        LLAMA "--tie=no --bias-free --rotary-stretch 3 --activation gelu-tanh"};
    const char *run = fresh_path("run"), *folder = fresh_path("hf"), *again = fresh_path("again");
    works("train --run %s %s", run, kinds[_i]);
    works("export --run %s --format hf --out %s", run, folder);
    works("import %s --out %s -q", folder, again);
    same(logits_of(run, "a"), logits_of(again, "b"));
}

START_TEST(transformers_finds_what_it_asks_for)
{
    static const char *const files[] = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json"};
    const char *run = fresh_path("run"), *folder = fresh_path("hf");
    Safetensors *weights;
    Error e;
    char path[800];
    works("train --run %s " LLAMA "--kv-heads 1 --bias=no --tokens bpe --merges 30", run);
    works("export --run %s --format hf --out %s -q", run, folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size;
        char *bytes = read_in(folder, files[i], &size);
        Json *json = NULL;
        ck_assert_msg(bytes && size, "%s", files[i]);
        ck_assert_msg(!strstr(files[i], ".json") || json_read(&json, bytes, size, files[i], &e), "%s", e.text);
        if (i == 0) {
            ck_assert_str_eq(json_get_text(json, "model_type"), "llama");
            ck_assert(json_real(json, "num_key_value_heads") == 1 && json_real(json, "head_dim") == 8 &&
                      json_real(json, "vocab_size") == 287 && json_real(json, "bos_token_id") == 286);
            ck_assert(json_get(json, "attention_bias")->truth && json_get(json, "mlp_bias")->truth);
        }
        json_free(json);
        memory_free(bytes);
    }
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    ck_done(safetensors_open(&weights, path, &e), e);
    ck_assert_str_eq(safetensors_text(weights, "format"), "pt");
    const SafeTensor *key = safetensors_find(weights, "model.layers.0.self_attn.k_proj.weight");
    ck_assert(key && key->shape[0] == 8 && key->shape[1] == 16);
    ck_assert_ptr_nonnull(safetensors_find(weights, "model.layers.0.self_attn.q_proj.bias"));
    safetensors_close(weights);
    snprintf(path, sizeof path, "%s/checkpoints/00000002/model.safetensors", run);
    ck_done(safetensors_open(&weights, path, &e), e);
    ck_assert_str_eq(safetensors_text(weights, "format"), "pt");
    safetensors_close(weights);
}

START_TEST(a_gguf_file_is_equal_each_time_and_through_a_llama)
{
    size_t size, again;
    const char *run = fresh_path("run"), *folder = fresh_path("gguf");
    Error e;
    works("train --run %s " LLAMA "--rotary-stretch 2 --bias-free", run);
    ck_done(folder_make(folder, &e), e);
    works("export --run %s --format gguf --out %s/a.gguf", run, folder);
    works("export --run %s --format gguf --out %s/b.gguf --weights last -q", run, folder);
    char *first = read_in(folder, "a.gguf", &size), *second = read_in(folder, "b.gguf", &again);
    /* a link stays one, as for whatever a user names */
    char link[800];
    snprintf(link, sizeof link, "%s/link.gguf", folder);
    ck_assert(!symlink("b.gguf", link));
    works("export --run %s --format gguf --out %s", run, link);
    ck_assert(is_link(link));
    ck_assert(size == again && !memcmp(first, second, size) && !memcmp(first, "GGUF\3\0\0\0", 8));
    /* keys are texts with their lengths before them */
    static const char scaling[] = "\x12\0\0\0\0\0\0\0llama.rope.scaling";
    bool found = false;
    for (size_t i = 0; i + sizeof scaling < size; i++)
        found = found || !memcmp(first + i + 8, scaling + 8, sizeof scaling - 9);
    ck_assert(found);
    memory_free(first);
    memory_free(second);
}

/* A graph says more than an architecture: post-norm, distances, windows and loops among it. */
START_TEST(a_graph_is_equal_each_time_and_has_its_tokens)
{
    static const char *const kinds[] = {TINY " --steps 2 -q",
                                        LLAMA "--tokens bpe --merges 30 --rotary-share 0.5",
                                        TINY " --steps 2 -q --ngrams 3 --ngram-rows 40",
                                        TINY " --steps 0 -q --norm sandwich --distances alibi --window 3 --loops 2 "
                                             "--adaptive-span 2",
                                        TINY " --steps 0 -q --distances t5 --adaptive-span 2",
                                        TINY " --steps 0 -q --distances buckets --loops 2"};
    const char *run = fresh_path("run"), *first = fresh_path("a"), *second = fresh_path("b");
    static const char *const files[] = {"model.onnx", "tokenizer.json", "tokenizer_config.json"};
    works("train --run %s %s", run, kinds[_i]);
    works("export --run %s --format onnx --out %s", run, first);
    works("export --run %s --format onnx --out %s -q", run, second);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size, again;
        char *a = read_in(first, files[i], &size), *b = read_in(second, files[i], &again);
        ck_assert_msg(a && b && size == again && !memcmp(a, b, size), "%s", files[i]);
        memory_free(a);
        memory_free(b);
    }
}

START_TEST(what_a_format_cannot_say_is_refused_by_name)
{
    static const struct {
        const char *options, *format, *said;
    } cases[] = {{GPT2 "--norm post", "hf", "--format hf cannot express --norm post, only pre"},
                 {GPT2 "--distances alibi", "hf", "--distances alibi"},
                 {GPT2 "--window 5", "gguf", "--window 5"},
                 {GPT2 "--activation relu", "gguf", "--activation relu, only gelu-tanh"},
                 {GPT2 "--kv-heads 1", "hf", "--kv-heads 1"},
                 {GPT2 "--gate", "hf", "--gate yes"},
                 {GPT2 "--loops 2", "hf", "--loops 2"},
                 {GPT2 "--head-size 4", "hf", "--head-size 4"},
                 {GPT2 "--value-size 4", "hf", "--value-size 4"},
                 {GPT2 "--tie=no", "gguf", "--tie no"},
                 {LLAMA "--rotary-share 0.5", "hf", "--rotary-share 0.5, only 0|1"},
                 {LLAMA "--qk-norm", "gguf", "--qk-norm yes"},
                 {LLAMA "--gate=no", "hf", "--gate no, only yes"},
                 {LLAMA "--activation gelu", "gguf", "--activation gelu, only silu"},
                 {LLAMA "--qk-norm", "onnx", "--qk-norm yes"},
                 {GPT2 "--macaron", "onnx", "--macaron yes"},
                 {GPT2 "--distances keys", "onnx", "--distances keys, only none|bias|alibi|buckets|t5"},
                 {GPT2 "--norm-kind tanh", "onnx", "--norm-kind tanh"},
                 {GPT2 "--sparse strided", "onnx", "--sparse strided"}};
    const char *run = fresh_path("run"), *out = fresh_path("out");
    works("train --run %s %s --steps 0", run, cases[_i].options);
    refused(1, cases[_i].said, "export --run %s --format %s --out %s", run, cases[_i].format, out);
    ck_assert(!folder_exists(out) && !file_exists(out));
}

START_TEST(what_cannot_be_done_is_said)
{
    const char *run = fresh_path("run"), *out = fresh_path("out");
    char path[800];
    works("train --run %s " GPT2 "--steps 0", run);
    refused(2, "Give --format hf", "export --run %s --out %s", run, out);
    refused(2, "Give --out", "export --run %s --format hf", run);
    refused(2, "--run DIR is missing", "export --format hf --out %s", out);
    refused(1, "is not empty", "export --run %s --format hf --out %s", run, run);
    snprintf(path, sizeof path, "%s/config.json", run);
    refused(1, "is a file", "export --run %s --format hf --out %s", run, path);
    refused(1, "/no/such", "export --run /no/such --format hf --out %s", out);
    refused(1, "step 7", "export --run %s --format hf --out %s --weights 7", run, out);
    command_limit_files(20000);
    refused(1, "model.safetensors", "export --run %s --format hf --out %s", run, out);
    refused(1, "model.onnx", "export --run %s --format onnx --out %s", run, out);
    refused(1, "x.gguf", "export --run %s --format gguf --out %s/x.gguf", run, run);
    command_limit_files(0);
    ck_assert(!folder_exists(out));
    Error e;
    ck_done(folder_make(out, &e), e); /* an empty one is filled */
    works("export --run %s --format hf --out %s -q", run, out);
}

static const Test tests[] = {TEST_LOOP(what_was_exported_is_imported_to_the_same_bits, 7),
                             TEST(transformers_finds_what_it_asks_for),
                             TEST(a_gguf_file_is_equal_each_time_and_through_a_llama),
                             TEST_LOOP(a_graph_is_equal_each_time_and_has_its_tokens, 6),
                             TEST_LOOP(what_a_format_cannot_say_is_refused_by_name, 19),
                             TEST(what_cannot_be_done_is_said)};

int main(int argc, char **argv) { return suite_run("charlm/export", tests, sizeof tests / sizeof *tests, argc, argv); }
