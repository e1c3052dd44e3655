/* train --from: a run begins with what fits of another's weights, of this program or of another, and needs them
 * once. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

#define SMALL                                                                                                          \
    "--dim 16 --heads 2 --ff 32 --context 16 --batch 4 --micro-batch 1 --workers 2 --norm post --norm-kind layer "     \
    "--activation relu "                                                                                               \
    "--positions none --distances none --minutes 0 --dropout 0.1 --lr 1e-2 --init gpt2 --eval-every 4 "

#define CLASSIFIER "--preset minute --no-cache " SMALL

static const char step0[] = "checkpoints/00000000/model.safetensors",
                  step4[] = "checkpoints/00000004/model.safetensors";

static char charlm_run[700], one[700]; /* sources: a charlm, and a classifier, of one block each */

static void setup(void)
{
    snprintf(charlm_run, sizeof charlm_run, "%s", fresh_path("charlm"));
    snprintf(one, sizeof one, "%s", fresh_path("one"));
    command_program("charlm");
    works("train --run %s --depth 1 --steps 4 --eval-bytes 300 -q --bias=no --no-gate " SMALL, charlm_run);
    command_program("classifier");
    works("train --run %s --depth 1 --steps 4 -q " CLASSIFIER, one);
}

/* Whether a tensor of one run's file has the bits of one of another's. */
static bool same(const char *run, const char *file, const char *name, const char *other, const char *their_file,
                 const char *theirs)
{
    static float values[2][1 << 16];
    const char *const runs[] = {run, other}, *const files[] = {file, their_file}, *const names[] = {name, theirs};
    size_t count[2];
    for (int i = 0; i < 2; i++) {
        Safetensors *opened;
        Error e;
        char *path = path_join(runs[i], files[i]);
        ck_done(safetensors_open(&opened, path, &e), e);
        const SafeTensor *t = safetensors_find(opened, names[i]);
        ck_assert_msg(t && (count[i] = safe_elements(t)) <= 1 << 16, "%s: %s", path, names[i]);
        ck_done(safetensors_read(opened, t, SAFE_F32, values[i], count[i], &e), e);
        safetensors_close(opened);
        memory_free(path);
    }
    return count[0] == count[1] && !memcmp(values[0], values[1], count[0] * sizeof(float));
}

/* What both have is the source's; what it lacks is what the seed gives. */
START_TEST(a_deeper_model_begins_with_a_shallower_ones_blocks)
{
    setup();
    const char *two = fresh_path("two"), *fresh = fresh_path("fresh");
    Said s = must("train --run %s --from %s --depth 2 --steps 0 " CLASSIFIER, two, one);
    ck_assert_msg(strstr(s.err, " 16 read: token_embedding.weight, ") &&
                      strstr(s.err, " 13 not in the file: blocks.1."),
                  "%s", s.err);
    ck_assert_msg(!strstr(s.err, "left over") && strstr(s.err, "a row of token_embedding.weight stands for a word"),
                  "%s", s.err);
    said_free(&s);
    works("train --run %s --depth 2 --steps 0 -q " CLASSIFIER, fresh);
    static const char *const from_one[] = {"token_embedding.weight", "blocks.0.ff.in.bias", "logits.weight"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_msg(same(two, step0, from_one[i], one, step4, from_one[i]), "%s", from_one[i]);
        ck_assert_msg(!same(two, step0, from_one[i], fresh, step0, from_one[i]), "%s", from_one[i]);
    }
    ck_assert(same(two, step0, "blocks.1.ff.in.weight", fresh, step0, "blocks.1.ff.in.weight"));
}

START_TEST(blocks_of_another_program_come_by_map)
{
    setup();
    const char *run = fresh_path("run");
    size_t size;
    Said s = must("train --run %s --from %s --map blocks.0.=blocks.1.,token=other --depth 2 --steps 0 " CLASSIFIER, run,
                  charlm_run);
    ck_assert_msg(strstr(s.err, "other_embedding.weight") && strstr(s.err, "logits.weight [256,16] instead of [2,16]"),
                  "%s", s.err);
    said_free(&s);
    ck_assert(
        same(run, step0, "blocks.1.attention.query.weight", charlm_run, step4, "blocks.0.attention.query.weight"));
    ck_assert(
        !same(run, step0, "blocks.0.attention.query.weight", charlm_run, step4, "blocks.0.attention.query.weight"));

    char *config = read_in(run, "config.json", &size), whole[800]; /* which weights they were, and how they got there */
    snprintf(whole, sizeof whole, "\"from\": \"%s/%s\"", charlm_run, step4);
    ck_assert_msg(strstr(config, whole) && strstr(config, "\"map\": \"blocks.0.=blocks.1.,token=other\""), "%s",
                  config);
    memory_free(config);
    config = read_in(one, "config.json", &size); /* as runs of older versions */
    ck_assert(!strstr(config, "\"from\"") && !strstr(config, "\"map\""));
    memory_free(config);
}

START_TEST(a_run_goes_on_without_what_it_came_from)
{
    setup();
    const char *whole = fresh_path("whole"), *parts = fresh_path("parts");
    Error e;
    size_t size, other;
    works("train --run %s --from %s --depth 2 --steps 8 -q " CLASSIFIER, whole, one);
    Said s = must("train --run %s --from %s --depth 2 --steps 4 -q " CLASSIFIER, parts, one);
    ck_assert_str_eq(s.err, "");
    said_free(&s);
    ck_done(folder_remove(one, &e), e);
    works("train --resume %s --steps 8 --no-cache -q", parts);
    char *a = read_in(whole, "checkpoints/00000008/state.safetensors", &size);
    char *b = read_in(parts, "checkpoints/00000008/state.safetensors", &other);
    ck_assert(a && b && size == other && !memcmp(a, b, size));
    memory_free(a);
    memory_free(b);
}

/* What a run has only where it was given is the run's, given or not, and no configuration's. */
START_TEST(a_run_begins_with_the_model_it_comes_from)
{
    static const char lines[] = "kv-heads = 1\nloops = 2\n";
    setup();
    const char *run = fresh_path("run");
    size_t size;
    write_in(charlm_run, "lines", lines, sizeof lines - 1);
    works("train --run %s --from %s --config %s/lines --steps 0 -q --no-cache", run, one, charlm_run);
    char *config = read_in(run, "config.json", &size);
    ck_assert_msg(!strstr(config, "kv-heads") && !strstr(config, "loops"), "%s", config);
    memory_free(config);
}

/* Two poolers have the same tensors, and are not the same. */
START_TEST(another_pooler_is_refused)
{
    setup();
    const char *run = fresh_path("run");
    works("train --run %s --pooler tanh --depth 1 --steps 1 -q " CLASSIFIER, run);
    refused(1, "weights of a model with pooler tanh, and this one has relu",
            "train --run %s-2 --pooler relu --depth 1 --steps 1 -q " CLASSIFIER " --weights %s/%s", run, run,
            "checkpoints/00000001/model.safetensors");
    works("train --run %s-3 --norm-epsilon 1e-5 --pooler tanh --depth 1 --steps 1 -q " CLASSIFIER
          " --weights %s/%s", /* 0 and what it stands for */
          run, run, "checkpoints/00000001/model.safetensors");
}

/* A model that wants marks cannot read with words that have none. */
START_TEST(words_without_marks_are_refused)
{
    setup();
    refused(1, "have no [CLS], [SEP] and [MASK]", "pretrain --run %s --from %s --steps 1 --no-cache -q",
            fresh_path("never"), one);
    refused(1, "have no [CLS], [SEP] and [MASK]", "train --run %s --from %s --marks --steps 1 --no-cache -q",
            fresh_path("never"), one);
}

START_TEST(what_cannot_be_begun_with_is_refused)
{
    static const struct {
        int status;
        const char *words, *how; /* %s: the run that is to be, a source, its file cut short */
    } cases[] = {
        {1, "there is no such run or file", "--run %s --from %s-none"},
        {1, "ends too early", "--run %s --from %s/cut"},
        {1, "none of its 16 tensors matches the model by name and shape", "--run %s --from %s --map =old."},
        {1, "no tensor has a name that starts with 'encoder.'", "--run %s --from %s --map encoder.=blocks."},
        {1, "two tensors would be named blocks.0.norm", "--run %s --from %s --map blocks.0.norm1=blocks.0.norm2"},
        {1, "heads 2, and this one has 4, where blocks.0.attention.query.weight means something else",
         "--run %s --from %s --heads 4"},
        {1, "gate no, and this one has yes, where blocks.0.ff.in.weight means something else",
         "--run %s --from %s --gate --ff 32"},
        {2, "--map 'blocks.' is not a list of pairs", "--run %s --from %s --map blocks."},
        {2, "is not a list of pairs", "--run %s --from %s --map a=b=c"},
        {2, "which is missing", "--run %s --map a=b"},
        {2, "give one of them", "--run %s --from %s --weights x"},
        {2, "leave them out", "--resume %s --from %s"}};
    size_t size;
    setup();
    char *bytes = read_in(one, step4, &size), line[2000];
    write_in(one, "cut", bytes, size - 1);
    memory_free(bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *run = fresh_path("never");
        snprintf(line, sizeof line, "train " CLASSIFIER "--steps 1 -q %s", cases[i].how);
        refused(cases[i].status, cases[i].words, line, run, one);
        ck_assert(!folder_exists(run));
    }
}

static const Test tests[] = {TEST(a_deeper_model_begins_with_a_shallower_ones_blocks),
                             TEST(blocks_of_another_program_come_by_map),
                             TEST(a_run_goes_on_without_what_it_came_from),
                             TEST(a_run_begins_with_the_model_it_comes_from),
                             TEST(another_pooler_is_refused),
                             TEST(words_without_marks_are_refused),
                             TEST(what_cannot_be_begun_with_is_refused)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("classifier/from", tests, sizeof tests / sizeof *tests, argc, argv);
}
