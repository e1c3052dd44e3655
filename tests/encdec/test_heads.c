/* What encdec's `heads` looks at: three kinds of maps, of a pair or of the model's own translation. */
#include "base/memory.h"
#include "tests/command.h"
#include "tests/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS = 2, DECODER_LAYERS = 1, HEADS = 2, CONTEXT = 80 };

static const char *trained(const char *type)
{
    const char *run = fresh_path("run");
    works("train --run %s --dim 16 --heads 2 --depth 2 --decoder-depth 1 --ff 32 --context %d --type %s --steps 3 "
          "--eval-every 0 --longest 79 --batch-tokens 200 --minutes 0 --workers 1 -q",
          run, CONTEXT, type);
    return run;
}

/* Reads FILE, whose shape is checked and whose rows sum to 1. */
static void check_weights(const char *folder, const char *name, size_t layers, size_t queries, size_t keys, bool causal)
{
    char path[800];
    Npy a;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    a = npy_read(path);
    ck_assert_msg(a.shape[0] == layers && a.shape[1] == HEADS && a.shape[2] == queries && a.shape[3] == keys,
                  "%s: %zu %zu %zu %zu", name, a.shape[0], a.shape[1], a.shape[2], a.shape[3]);
    const float *w = a.data;
    for (size_t row = 0; row < layers * HEADS * queries; row++) {
        double sum = 0;
        for (size_t j = 0; j < keys; j++) {
            sum += (double)w[row * keys + j];
            ck_assert(causal && j > row % queries ? w[row * keys + j] == 0 : w[row * keys + j] > 0);
        }
        ck_assert_double_lt(fabs(sum - 1), 1e-6);
    }
    npy_free(&a);
}

static Json *labels(const char *folder, const char *name)
{
    size_t size;
    char *text = read_in(folder, name, &size);
    Json *j;
    Error e;
    ck_assert(text);
    ck_done(json_read(&j, text, size, name, &e), e);
    memory_free(text);
    return j;
}

static void expect_labels(const Json *list, const char *const *names, size_t count)
{
    ck_assert_uint_eq(list->count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(list->items[i].text, names[i]);
}

START_TEST(three_kinds_of_maps_of_a_pair)
{
    static const char *const source[] = {"a", "b", "</s>"};
    static const char *const reads[] = {"</s>", "x", "注₁", "注₂", "注₃"}, *const writes[] = {"x", "注₁", "注₂", "注₃",
                                                                                              "</s>"};
    const char *run = trained("bytes"), *folder = fresh_path("folder");
    write_in(folder, "none", "", 0);
    Said s = must("heads --run %s --text ab --target-text x注 --npy %s/w.npy -q", run, folder);
    check_weights(folder, "w.encoder.npy", LAYERS, 3, 3, false);
    check_weights(folder, "w.decoder.npy", DECODER_LAYERS, 5, 5, true);
    check_weights(folder, "w.cross.npy", DECODER_LAYERS, 5, 3, false);
    Json *cross = labels(folder, "w.cross.labels.json"), *decoder = labels(folder, "w.decoder.labels.json");
    expect_labels(json_get(cross, "shown_queries"), writes, 5);
    expect_labels(json_get(cross, "shown_keys"), source, 3);
    expect_labels(json_get(decoder, "shown_queries"), reads, 5);
    expect_labels(json_get(decoder, "shown_keys"), reads, 5);
    json_free(cross);
    json_free(decoder);
    said_free(&s);
}

START_TEST(the_translation_is_that_of_translate)
{
    const char *run = trained("words"), *folder = fresh_path("folder");
    write_in(folder, "text", "the cat sees\n", 13);
    Said one = must("translate --run %s --file %s/text -q", run, folder);
    Said other = must("heads --run %s --text-file %s/text --align", run, folder);
    const char *said = strstr(other.err, "its translation: ");
    ck_assert_msg(said && !strncmp(said + 17, one.out, one.out_size), "%s\n%s", other.err, one.out);
    said_free(&one);
    said_free(&other);
}

START_TEST(an_alignment_names_the_largest_weight)
{
    const char *run = trained("bytes"), *folder = fresh_path("folder");
    write_in(folder, "none", "", 0);
    Said s = must("heads --run %s --text abc --target-text xy --align --layer 0 --head 1 --npy %s/w.npy -q", run,
                  folder);
    char path[800], expected[200] = "";
    Npy a;
    snprintf(path, sizeof path, "%s/w.cross.npy", folder);
    a = npy_read(path);
    for (size_t i = 0; i < 3; i++) {
        const float *row = (const float *)a.data + (1 * 3 + i) * 4;
        size_t best = 0;
        for (size_t j = 1; j < 4; j++)
            best = row[j] > row[best] ? j : best;
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s\t%s\t%.2f\n",
                 ((const char *[]){"x", "y", "</s>"})[i], ((const char *[]){"a", "b", "c", "</s>"})[best],
                 (double)row[best]);
    }
    ck_assert_str_eq(s.out, expected);
    Json *j = must_json("heads --run %s --text abc --target-text xy --align --layer 0 --head 1 --json -q", run);
    const Json *list = json_get(j, "alignment");
    ck_assert(list && list->count == 3);
    for (size_t i = 0; i < 3; i++) {
        const Json *one = &list->items[i];
        const float *row = (const float *)a.data + (1 * 3 + i) * 4;
        ck_assert_double_eq_tol(json_real(one, "weight"), (double)row[(size_t)json_real(one, "position")], 1e-6);
    }
    json_free(j);
    npy_free(&a);
    said_free(&s);
}

START_TEST(every_map_can_be_described_and_drawn)
{
    static const char *const ways[] = {"--maps encoder", "--maps decoder",           "",
                                       "--align",        "--maps encoder --rollout", "--maps decoder --describe"};
    const char *run = trained("words"), *folder = fresh_path("folder");
    write_in(folder, "none", "", 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        Said s = command("heads --run %s --text zebra --out %s/p.svg -q %s", run, folder, ways[i]); /* an <unk> */
        if (s.status)
            ck_assert_msg(strstr(s.err, "make deps"), "%s: %s", ways[i], s.err);
        ck_assert_msg(!strstr(s.err, "gnuplot says"), "%s", s.err);
        said_free(&s);
    }
}

START_TEST(long_and_empty_sides)
{
    const char *run = trained("bytes"), *folder = fresh_path("folder");
    write_in(folder, "none", "", 0);
    char letters[2 * CONTEXT + 1] = "";
    memset(letters, 'a', 2 * CONTEXT);
    Said s = must("heads --run %s --text %s --target-text= --npy %s/w.npy", run, letters, folder);
    ck_assert_msg(strstr(s.err, "the text has 160 tokens; the model reads 79: the last 81 are ignored"), "%s", s.err);
    check_weights(folder, "w.cross.npy", DECODER_LAYERS, 1, CONTEXT, false); /* nothing but </s> is written */
    said_free(&s);
    refused(2, "is empty", "heads --run %s --text=", run);
    refused(2, "--align shows attention from target to source",
            "heads --run %s --text a --target-text b --align --maps encoder", run);
    refused(2, "--rollout needs self-attention", "heads --run %s --text a --target-text b --rollout --out p.png", run);
    refused(2, "the layers of cross are 0 to 0", "heads --run %s --text a --target-text b --layer 1", run);
}

static const Test tests[] = {TEST(three_kinds_of_maps_of_a_pair), TEST(the_translation_is_that_of_translate),
                             TEST(an_alignment_names_the_largest_weight), TEST(every_map_can_be_described_and_drawn),
                             TEST(long_and_empty_sides)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    command_program("encdec");
    return suite_run("encdec/heads", tests, sizeof tests / sizeof *tests, argc, argv);
}
