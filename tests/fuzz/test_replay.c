/* Every stored input of every harness, with any compiler: seeds are inputs that reach far into a reader, crashes are
 * inputs that once broke one. A failure names the input as its place. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <string.h>

typedef int Harness(const uint8_t *data, size_t size);

/* In a block that ends where the input does, so that a read beyond it shows. */
static void replay_file(const char *path, Harness *harness)
{
    char *bytes;
    size_t size;
    Error e;
    ck_done(file_read(path, &bytes, &size, &e), e);
    uint8_t *exact = malloc(size + !size);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, bytes, size);
    memory_free(bytes);
    (_mark_point)(path, 1);
    ck_assert_int_eq(harness(exact, size), 0);
    mark_point();
    free(exact);
}

static size_t replay_folder(const char *parent, const char *kind, Harness *harness)
{
    char **names = NULL, *folder = path_join(parent, kind);
    size_t count = 0;
    Error e;
    if (folder_exists(folder))
        ck_done(folder_list(folder, &names, &count, &e), e);
    for (size_t i = 0; i < count; i++) {
        char *path = path_join(folder, names[i]);
        replay_file(path, harness);
        memory_free(path);
    }
    folder_list_free(names, count);
    memory_free(folder);
    return count;
}

static void replay(const char *kind, Harness *harness)
{
    ck_assert_uint_gt(replay_folder("tests/fuzz/seeds", kind, harness), 0);
    replay_folder("tests/fuzz/crashes", kind, harness);
}

START_TEST(bleu) { replay("bleu", fuzz_bleu); }

START_TEST(bpe) { replay("bpe", fuzz_bpe); }

START_TEST(csv) { replay("csv", fuzz_csv); }

START_TEST(gpt2) { replay("gpt2", fuzz_gpt2); }

START_TEST(hf) { replay("hf", fuzz_hf); }

START_TEST(json) { replay("json", fuzz_json); }

START_TEST(llmc) { replay("llmc", fuzz_llmc); }

START_TEST(marian) { replay("marian", fuzz_marian); }

START_TEST(moses) { replay("moses", fuzz_moses); }

START_TEST(npz) { replay("npz", fuzz_npz); }
START_TEST(options) { replay("options", fuzz_options); }

START_TEST(plan) { replay("plan", fuzz_plan); }

START_TEST(safetensors) { replay("safetensors", fuzz_safetensors); }

START_TEST(sentencepiece) { replay("sentencepiece", fuzz_sentencepiece); }
START_TEST(source) { replay("source", fuzz_source); }

START_TEST(tree) { replay("tree", fuzz_tree); }

START_TEST(tree_tokens) { replay("tree_tokens", fuzz_tree_tokens); }
START_TEST(vocabulary) { replay("vocabulary", fuzz_vocabulary); }

START_TEST(wordpiece) { replay("wordpiece", fuzz_wordpiece); }

START_TEST(words) { replay("words", fuzz_words); }

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(bleu),    TEST(bpe),         TEST(csv),         TEST(gpt2),          TEST(hf),
                                 TEST(json),    TEST(llmc),        TEST(marian),      TEST(moses),         TEST(npz),
                                 TEST(options), TEST(plan),        TEST(safetensors), TEST(sentencepiece), TEST(source),
                                 TEST(tree),    TEST(tree_tokens), TEST(vocabulary),  TEST(wordpiece),     TEST(words)};
    return suite_run("fuzz/replay", tests, sizeof tests / sizeof *tests, argc, argv);
}
