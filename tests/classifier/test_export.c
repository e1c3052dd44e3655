/* classifier export: a folder that is imported again gives the same run, whoever trained it; and a graph with its inputs,
 * outputs and vocabulary. That transformers and onnxruntime compute the same, tests/peers/interop.py shows. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/command.h"
#include "tests/npy.h"

#include <stdio.h>
#include <string.h>

/* Dropout is BERT's, so that both runs have the same options. */
#define SMALL                                                                                                          \
    "--dim 8 --heads 2 --depth 2 --ff 12 --context 24 --batch 4 --micro-batch 2 --workers 1 --norm post --no-cache "   \
    "--activation gelu-tanh --positions learned --distances none --minutes 0 --epochs 0 --steps 2 --words 120 "        \
    "--init gpt2 --lr 1e-2 --embedding-norm --tokens bert --marks --norm-epsilon 1e-12 --dropout 0.1 -q "
#define BERT    SMALL "--segments "
#define CLASSES "--pool first --pooler "

static const char *const kinds[] = {"train " BERT CLASSES "tanh", "train " SMALL CLASSES "relu --bias=no",
                                    "pretrain " BERT "--next-sentence --pooler tanh --tie",
                                    "pretrain " SMALL "--tie=no --tokens bert-cased", "pretrain " BERT "--tie=no"};
static const char *const fixtures[] = {"bert",        "bert-pairs", "bert-classes",
                                       "bert-untied", "distilbert", "distilbert-classes"};

enum { KINDS = sizeof kinds / sizeof *kinds, FIXTURES = sizeof fixtures / sizeof *fixtures };

/* All tensors of a run are another's, to the bit; that one may have biases beside them. */
static void same_weights(const char *run, const char *other)
{
    static float values[2][1 << 14];
    const char *const runs[] = {run, other};
    Safetensors *file[2];
    Error e;
    for (size_t i = 0; i < 2; i++) {
        size_t size;
        char path[800], *best = read_in(runs[i], "best", &size);
        snprintf(path, sizeof path, "%s/checkpoints/%.8s/model.safetensors", runs[i], best);
        ck_done(safetensors_open(&file[i], path, &e), e);
        memory_free(best);
    }
    for (size_t i = 0; i < safetensors_count(file[0]); i++) {
        const SafeTensor *t = safetensors_at(file[0], i), *there = safetensors_find(file[1], t->name);
        ck_assert_msg(there && safe_elements(there) == safe_elements(t), "%s", t->name);
        ck_done(safetensors_read(file[0], t, SAFE_F32, values[0], safe_elements(t), &e), e);
        ck_done(safetensors_read(file[1], there, SAFE_F32, values[1], safe_elements(t), &e), e);
        ck_assert_mem_eq(values[0], values[1], safe_elements(t) * sizeof(float));
    }
    safetensors_close(file[0]);
    safetensors_close(file[1]);
}

/* Its vectors and tokens are those of the run, too. */
static void comes_back(const char *run)
{
    const char *folder = fresh_path("hf"), *again = fresh_path("again"), *vectors = fresh_path("vectors");
    Npy v[2];
    Error e;
    works("export --run %s --format hf --out %s -q", run, folder);
    works("import %s --out %s -q", folder, again);
    same_weights(run, again);
    ck_done(folder_make(vectors, &e), e);
    for (int i = 0; i < 2; i++) {
        char path[800];
        snprintf(path, sizeof path, "%s/%d.npy", vectors, i);
        works("predict --run %s --vectors %s -q The_film caf\xc3\xa9s! [MASK]", i ? again : run, path);
        v[i] = npy_read(path);
    }
    ck_assert(v[0].shape[0] == 3 && v[0].shape[1] == v[1].shape[1]);
    ck_assert_mem_eq(v[0].data, v[1].data, v[0].shape[0] * v[0].shape[1] * sizeof(float));
    npy_free(&v[0]);
    npy_free(&v[1]);
}

START_TEST(what_was_exported_is_imported_to_the_same_bits)
{
    const char *run = fresh_path("run");
    works("%s --run %s", kinds[_i], run);
    comes_back(run);
}

START_TEST(what_was_imported_goes_back)
{
    const char *run = fresh_path("run");
    works("import tests/fixtures/encoders/%s --out %s -q", fixtures[_i], run);
    comes_back(run);
}

START_TEST(classes_keep_their_names)
{
    const char *run = fresh_path("run"), *folder = fresh_path("hf"), *again = fresh_path("again");
    works("%s --run %s", kinds[0], run);
    works("export --run %s --format hf --out %s -q", run, folder);
    works("import %s --out %s -q", folder, again);
    Json *ours = must_json("predict --run %s --json good", run),
         *theirs = must_json("predict --run %s --json good", again);
    const Json *a = json_get(ours, "probabilities"), *b = json_get(theirs, "probabilities");
    ck_assert(a->count == 2 && b->count == 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(a->items[i].key, b->items[i].key);
        ck_assert_str_eq(a->items[i].text, b->items[i].text);
    }
    json_free(ours);
    json_free(theirs);
}

START_TEST(what_a_bert_cannot_say_is_refused_by_name)
{
    static const struct {
        const char *options, *said;
    } cases[] = {
        {"train " BERT CLASSES "tanh --norm pre", "cannot express --norm pre, only post"},
        {"train " BERT CLASSES "tanh --norm-kind rms", "cannot express --norm-kind rms, only layer"},
        {"train " BERT CLASSES "tanh --positions rotary", "cannot express --positions rotary, only learned"},
        {"train " BERT CLASSES "tanh --tokens wordpiece", "cannot express --tokens wordpiece, only bert|bert-cased"},
        {"train " BERT CLASSES "tanh --embedding-norm=no", "cannot express --embedding-norm no, only yes"},
        {"train " BERT CLASSES "tanh --loops 2", "cannot express --loops 2"},
        {"train " BERT CLASSES "tanh --head-size 3", "cannot express --head-size 3"},
        {"train " BERT CLASSES "tanh --value-size 3", "cannot express --value-size 3"},
        {"train " BERT CLASSES "relu", "a BERT tells classes with --pool first and --pooler tanh"},
        {"train " BERT CLASSES "tanh --pool max", "a BERT tells classes with --pool first and --pooler tanh"},
        {"train " SMALL CLASSES "tanh", "a DistilBERT tells classes with --pool first and --pooler relu"},
        {"train " SMALL CLASSES "relu --norm-epsilon 0", "has --norm-epsilon 1e-12"},
        {"pretrain " BERT "--next-sentence --pooler none", "with --next-sentence in any case"},
        {"pretrain " SMALL "--pooler tanh", "has a --pooler only before classes"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *run = fresh_path("run"), *folder = fresh_path("hf");
        works("%s --steps 0 --run %s", cases[i].options, run);
        refused(1, cases[i].said, "export --run %s --format hf --out %s -q", run, folder);
        ck_assert(!folder_exists(folder));
        Error e;
        ck_done(folder_remove(run, &e), e);
    }
    refused(2, "Give --format hf", "export --run %s", fresh_path("run"));
    refused(2, "Give --out DIR", "export --format hf --run %s", fresh_path("run"));
}

/* ---- graphs */

#define TINY                                                                                                           \
    "--dim 16 --heads 2 --depth 2 --ff 24 --context 16 --words 100 --steps 0 --epochs 0 --minutes 0 --no-cache -q "

static const char *trained(const char *command, const char *words)
{
    const char *run = fresh_path("run");
    works("%s --run %s " TINY "%s", command, run, words);
    return run;
}

START_TEST(a_graph_is_equal_each_time_and_has_its_words_and_classes)
{
    static const char *const ways[] = {"",
                                       "--pool max --distances alibi --norm pre --window 3 --embedding-norm",
                                       "--pool first --marks --positions rotary --kv-heads 1 --gate --norm-kind rms",
                                       "--distances buckets --positions none",
                                       "--distances t5 --window 5",
                                       "--segments --pool first --pooler tanh",
                                       "--ngrams 3 --ngram-rows 40"};
    static const char *const files[] = {"model.onnx", "vocabulary.tsv", "classes.txt"};
    const char *run = trained("train", ways[_i]), *first = fresh_path("a"), *second = fresh_path("b");
    works("export --run %s --format onnx --out %s", run, first);
    works("export --run %s --format onnx --out %s -q", run, second);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size, again;
        char *a = read_in(first, files[i], &size), *b = read_in(second, files[i], &again);
        ck_assert_msg(a && b && size == again && !memcmp(a, b, size), "%s", files[i]);
        ck_assert(i < 2 || !strcmp(a, "neg\npos\n"));
        memory_free(a);
        memory_free(b);
    }
}

/* How often a graph names a value: after its field's number and its length. */
static size_t names_value(const char *graph, size_t size, const char *name)
{
    const size_t length = strlen(name);
    size_t times = 0;
    for (size_t i = 2; i + length < size; i++)
        times += graph[i - 2] == '\n' && (size_t)graph[i - 1] == length && !memcmp(graph + i, name, length);
    return times;
}

static void has_file(const char *folder, const char *name, bool wanted)
{
    size_t size;
    char *text = read_in(folder, name, &size);
    ck_assert_msg((text != NULL) == wanted, "%s", name);
    memory_free(text);
}

/* A graph has these inputs and outputs, and no others. */
static void graph_has(const char *run, const char *const *named)
{
    static const char *const all[] = {"ids", "mask", "segments", "logits", "next", "vectors", "pooled", "hidden"};
    const char *out = fresh_path("out");
    size_t size;
    works("export --run %s --format onnx --out %s -q", run, out);
    char *graph = read_in(out, "model.onnx", &size);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        bool wanted = false;
        for (const char *const *name = named; *name; name++)
            wanted = wanted || !strcmp(*name, all[i]);
        ck_assert_msg((names_value(graph, size, all[i]) > 0) == wanted, "%s", all[i]);
    }
    memory_free(graph);
}

/* What the graph of a run computes depends on its objective and on the parts that it has. */
START_TEST(a_graph_has_what_its_run_has)
{
    static const struct {
        const char *command, *options, *named[8];
    } cases[] = {
        {"train", "", {"ids", "mask", "logits"}},
        {"train", "--segments --pooler tanh", {"ids", "mask", "segments", "logits"}},
        {"train", "--pooler relu --pool max", {"ids", "mask", "logits"}},
        {"pretrain", "", {"ids", "mask", "logits", "hidden"}},
        {"pretrain", "--tie=no --segments --tokens bert", {"ids", "mask", "segments", "logits", "hidden"}},
        {"pretrain", "--next-sentence --pooler tanh", {"ids", "mask", "segments", "logits", "next", "hidden"}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        graph_has(trained(cases[i].command, cases[i].options), cases[i].named);
}

/* Each length reads the one table. */
START_TEST(a_graph_looks_n_grams_up)
{
    static const char *const commands[] = {"train", "pretrain"};
    const char *run = trained(commands[_i], "--ngrams 4 --ngram-rows 40"), *out = fresh_path("out");
    size_t size;
    works("export --run %s --format onnx --out %s -q", run, out);
    char *graph = read_in(out, "model.onnx", &size);
    ck_assert_uint_eq(names_value(graph, size, "ngram_embedding.weight"), 3);
    memory_free(graph);
}

/* Runs without logits are imported. */
START_TEST(a_graph_of_vectors_has_no_logits_and_no_classes)
{
    static const char *const named[][8] = {{"ids", "mask", "segments", "vectors", "pooled", "hidden"},
                                           {"ids", "mask", "vectors", "hidden"}};
    for (size_t i = 0; i < 2; i++) {
        const char *run = fresh_path("run"), *out = fresh_path("out");
        works("import tests/fixtures/encoders/%s --out %s -q", i ? "distilbert" : "bert", run);
        graph_has(run, named[i]);
        works("export --run %s --format onnx --out %s -q", run, out);
        has_file(out, "vocab.txt", true);
        has_file(out, "classes.txt", false);
    }
}

START_TEST(what_a_graph_cannot_say_is_refused_by_name)
{
    static const char *const cases[][3] = {
        {"train", "--distances mlp", "--distances mlp, only none|bias|alibi|buckets|t5"},
        {"train", "--registers 1", "--registers 1"},
        {"train", "--top-keys 2 --attention composed", "--top-keys 2"},
        {"pretrain", "--registers 2", "--registers 2"}};
    const char *run = trained(cases[_i][0], cases[_i][1]), *out = fresh_path("out");
    refused(1, cases[_i][2], "export --run %s --format onnx --out %s", run, out);
    ck_assert(!folder_exists(out));
}

START_TEST(a_full_disk_leaves_nothing)
{
    const char *run = trained("train", ""), *out = fresh_path("out");
    command_limit_files(9000);
    refused(1, "model.onnx", "export --run %s --format onnx --out %s", run, out);
    command_limit_files(0);
    ck_assert(!folder_exists(out));
}

static const Test tests[] = {TEST_LOOP(what_was_exported_is_imported_to_the_same_bits, KINDS),
                             TEST_LOOP(what_was_imported_goes_back, FIXTURES),
                             TEST(classes_keep_their_names),
                             TEST(what_a_bert_cannot_say_is_refused_by_name),
                             TEST_LOOP(a_graph_is_equal_each_time_and_has_its_words_and_classes, 7),
                             TEST(a_graph_has_what_its_run_has),
                             TEST_LOOP(a_graph_looks_n_grams_up, 2),
                             TEST(a_graph_of_vectors_has_no_logits_and_no_classes),
                             TEST_LOOP(what_a_graph_cannot_say_is_refused_by_name, 4),
                             TEST(a_full_disk_leaves_nothing)};

int main(int argc, char **argv)
{
    command_program("classifier");
    return suite_run("classifier/export", tests, sizeof tests / sizeof *tests, argc, argv);
}
