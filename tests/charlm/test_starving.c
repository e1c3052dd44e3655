/* Every allocation of a command fails once, in turn: the command ends with a line that says so and a status that is
 * not 0, keeps neither memory nor open files, and what was in the run's folder before is still whole. See starving.h.
 */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/command.h"
#include "tests/npy.h"
#include "tests/starving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int charlm_main(int argc, char **argv);
#define main charlm_main
#include "charlm/main.c"
#undef main

enum { LINE = STARVING_LINE, SIZE = 700 /* of the text; its first 90 % are learned from */ };

/* As small as a model gets. oneDNN takes longer to prepare its products than plain to compute all; the cpu's own
 * allocations are tried where a command is short. */
#define MODEL    "--dim 2 --heads 1 --depth 1 --ff 2 --context 4 --batch 2 --micro-batch 1 --workers 1 --device plain -q "
#define SMALLEST MODEL "--eval-bytes 6 --eval-every 1 --sample-every 3 --save-every 1 --keep 1 --minutes 0 --init gpt2 "

static char place[600];

/* A path in the test's folder; good for seven more calls. */
static const char *in(const char *name)
{
    static char paths[8][700];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", place, name);
    return path;
}

/* --- what is in a folder --- */

static void copy_folder(const char *from, const char *to)
{
    char **names;
    size_t count, size;
    Error e;
    ck_done(folder_make(to, &e) && folder_list(from, &names, &count, &e), e);
    for (size_t i = 0; i < count; i++) {
        char *old = path_join(from, names[i]), *new = path_join(to, names[i]), *bytes;
        if (folder_exists(old)) {
            copy_folder(old, new);
        } else {
            ck_done(file_read(old, &bytes, &size, &e), e);
            FILE *f = fopen(new, "wb"); /* nothing is to outlast this process, so nothing is synced */
            ck_assert(f && fwrite(bytes, 1, size, f) == size);
            ck_assert(!fclose(f));
            memory_free(bytes);
        }
        memory_free(old);
        memory_free(new);
    }
    folder_list_free(names, count);
}

static void expect_same(const char *path, const char *other)
{
    size_t first, second;
    char *a = read_in(place, path, &first), *b = read_in(place, other, &second);
    ck_assert_msg(a && b && first == second && !memcmp(a, b, first), "%s is not as %s", path, other);
    memory_free(a);
    memory_free(b);
}

/* What has a checkpoint's name is a whole one; how many there are. */
static size_t expect_whole(void)
{
    static const char *const files[] = {"model", "state"};
    char **names = NULL, path[800];
    size_t count = 0, whole = 0;
    Error e;
    if (folder_exists(in("run/checkpoints")))
        ck_done(folder_list(in("run/checkpoints"), &names, &count, &e), e);
    for (size_t i = 0; i < count; i++) {
        if (names[i][0] == '.') /* the next program that opens the run removes it */
            continue;
        for (int k = 0; k < 2; k++) {
            Safetensors *file;
            snprintf(path, sizeof path, "%s/%s/%s.safetensors", in("run/checkpoints"), names[i], files[k]);
            ck_done(safetensors_open(&file, path, &e), e);
            safetensors_close(file);
        }
        whole++;
    }
    folder_list_free(names, count);
    return whole;
}

/* --- what is tried --- */

enum { LAST = 3, HEADS = 16 /* one failure in this many, what is left is also continued */ };

static void must_train(const char *run, int steps)
{
    char words[LINE];
    const char *how = file_exists(in("run/config.json")) && !strcmp(run, "run") ? "resume" : "run";
    snprintf(words, sizeof words, "train --%s %s %s --steps %d -q", how, in(run), !strcmp(how, "run") ? SMALLEST : "",
             steps);
    if (!strcmp(how, "run"))
        snprintf(words + strlen(words), sizeof words - strlen(words), " --decay-steps %d --data %s", LAST, in("text"));
    must_work(words);
}

static void setup(void)
{
    char text[SIZE];
    Error e;
    snprintf(place, sizeof place, "%s", test_folder());
    starving_program("charlm", charlm_main, place);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i * i % 7);
    ck_done(file_write(in("text"), text, sizeof text, &e), e);
    must_train("whole", LAST);
    must_train("half", LAST - 1);
}

static void remove_run(void)
{
    Error e;
    ck_done(folder_remove(in("run"), &e), e);
}

/* What tells whether a run was written to: files are replaced, and folders of checkpoints are counted as links. */
typedef struct Mark {
    ino_t config, last;
    nlink_t checkpoints;
} Mark;

static Mark mark;

static Mark mark_of_run(void)
{
    struct stat config = {0}, last = {0}, checkpoints = {0};
    stat(in("run/config.json"), &config);
    stat(in("run/last"), &last);
    stat(in("run/checkpoints"), &checkpoints);
    return (Mark){config.st_ino, last.st_ino, checkpoints.st_nlink};
}

static bool is_untouched(void)
{
    const Mark now = mark_of_run();
    return now.config && now.config == mark.config && now.last == mark.last && now.checkpoints == mark.checkpoints;
}

static void half_a_run(void)
{
    if (is_untouched())
        return;
    remove_run();
    copy_folder(in("half"), in("run"));
    mark = mark_of_run();
}

/* Whatever was left can be begun again or gone on with, to the same end. */
static void go_on(uint64_t n)
{
    if (expect_whole() == 0)
        ck_assert(!file_exists(in("run/config.json")));
    if (n % HEADS)
        return;
    must_train("run", LAST);
    expect_same("run/checkpoints/00000003/model.safetensors", "whole/checkpoints/00000003/model.safetensors");
    expect_same("run/checkpoints/00000003/state.safetensors", "whole/checkpoints/00000003/state.safetensors");
}

static void old_checkpoint_or_new(uint64_t n)
{
    static const char old[] = "run/checkpoints/00000002/state.safetensors";
    if (is_untouched())
        return;
    ck_assert_uint_gt(expect_whole(), 0);
    if (file_exists(in(old)))
        expect_same(old, "half/checkpoints/00000002/state.safetensors");
    else
        ck_assert(file_exists(in("run/checkpoints/00000003/state.safetensors")));
    go_on(n);
}

START_TEST(a_training_that_begins)
{
    setup();
    starve((Ways){remove_run, go_on, 0}, "train --run %s --data %s " SMALLEST "--steps 1 --json", in("run"),
           in("text"));
}

START_TEST(a_training_that_goes_on)
{
    setup();
    starve((Ways){half_a_run, old_checkpoint_or_new, 0}, "train --resume %s --steps %d --keep 2 -q", in("run"), LAST);
}

static void whole_dump(uint64_t n)
{
    char **names = NULL;
    size_t count;
    Error e;
    (void)n;
    ck_done(folder_list(in("dump"), &names, &count, &e), e);
    for (size_t i = 0; i < count; i++) {
        Npy array;
        char *path = path_join(in("dump"), names[i]);
        ck_assert_msg(names[i][0] != '.', "%s is left", names[i]);
        array = npy_read(path);
        npy_free(&array);
        memory_free(path);
    }
    folder_list_free(names, count);
}

static void no_dump(void)
{
    Error e;
    ck_done(folder_remove(in("dump"), &e) && folder_make(in("dump"), &e), e);
}

START_TEST(scoring)
{
    setup();
    starve((Ways){0}, "eval --run %s --device cpu --bytes 6 --json -q", in("whole"));
    starve((Ways){0}, "eval --run %s --device cpu --bytes 6 --dynamic 0.1 -q", in("whole"));
    starve((Ways){no_dump, whole_dump, 0}, "eval --run %s --bytes 6 -q --dump-logits %s", in("whole"),
           in("dump/x.npy"));
}

START_TEST(writing)
{
    setup();
    starve((Ways){0}, "sample --run %s --length 3 --count 2 -q", in("whole"));
    starve((Ways){0}, "sample --run %s --length 3 --exact --json --prompt ab -q", in("whole"));
}

static void nothing_written(void)
{
    Error e;
    ck_done(folder_remove(in("hf"), &e) && folder_remove(in("onnx"), &e) && folder_remove(in("imported"), &e), e);
}

static void must_train_other(const char *run, const char *options)
{
    char words[LINE];
    snprintf(words, sizeof words, "train --run %s " SMALLEST "%s --data %s --steps 0", in(run), options, in("text"));
    must_work(words);
}

START_TEST(giving_a_model_away_and_taking_one)
{
    char words[LINE];
    setup();
    must_train_other("gpt2", "--norm pre --norm-kind layer --distances none --positions sinusoid --tie --activation "
                             "gelu-tanh --tokens bpe --merges 2");
    must_train_other("llama", "--norm pre --norm-kind rms --positions rotary --distances none --activation silu "
                              "--gate --tie");
    starve((Ways){nothing_written, NULL, 0}, "export --run %s --format hf --out %s -q", in("gpt2"), in("hf"));
    starve((Ways){nothing_written, NULL, 0}, "export --run %s --format hf --out %s -q", in("llama"), in("hf"));
    starve((Ways){0}, "export --run %s --format gguf --out %s -q", in("llama"), in("x.gguf"));
    starve((Ways){nothing_written, NULL, 0}, "export --run %s --format onnx --out %s -q", in("llama"), in("onnx"));
    snprintf(words, sizeof words, "export --run %s --format hf --out %s -q", in("gpt2"), in("theirs"));
    must_work(words);
    starve((Ways){nothing_written, NULL, 0}, "import %s --out %s -q", in("theirs"), in("imported"));
}

START_TEST(what_only_looks)
{
    setup();
    starve((Ways){0}, "info --run %s", in("whole"));
    starve((Ways){0}, "info --json " MODEL);
    starve((Ways){0}, "train --dry-run --json --data %s " SMALLEST, in("text"));
    starve((Ways){0}, "baseline --data %s --bytes 20 --json -q", in("text"));
    starve((Ways){0}, "bench --steps 1 --json --profile " MODEL "--device cpu");
    starve((Ways){0}, "train --help");
}

/* Pictures of letters and SVG: those that ask for fonts are tested in plot/glyphs. */
START_TEST(what_draws)
{
    setup();
    starve((Ways){0}, "heads --run %s --text ab --npy %s --html %s --describe --json", in("whole"), in("w.npy"),
           in("x.html"));
    starve((Ways){0}, "heads --run %s --text ab --describe --sort entropy", in("whole"));
    if (!can_draw("charlm/starving/what_draws"))
        return;
    starve((Ways){.every = 23}, "heads --run %s --text ab --out %s", in("whole"), in("x.txt"));
    starve((Ways){.every = 23}, "heads --run %s --text ab --rollout --out %s", in("whole"), in("x.svg"));
    starve((Ways){.every = 23}, "plot --run %s --out %s", in("whole"), in("x.svg"));
    starve((Ways){.every = 23}, "plot --run %s --what embeddings --out %s", in("whole"), in("x.svg"));
    starve((Ways){.every = 23}, "plot --run %s --what positions --out %s", in("whole"), in("x.svg"));
    starve((Ways){.every = 23}, "plot --data %s --what coverage --out %s", in("text"), in("x.svg"));
    starve((Ways){.every = 23}, "plot --data %s --what lengths --out %s", in("text"), in("x.svg"));
    starve((Ways){.every = 23}, "plot --what smoothing --smoothing 0.1 --run %s --out %s", in("whole"), in("x.svg"));
    starve((Ways){.every = 23}, "plot --what schedules --steps 20 --out %s", in("x.svg"));
}

/* With one more each time, until they suffice. */
static void few_files(void (*before)(void), void (*after)(uint64_t n), const char *words)
{
    Outcome o = {.status = 1};
    rlim_t first = (rlim_t)next_file();
    for (rlim_t files = 0; o.status; files++) {
        before();
        starving_call(&o, 0, first + 2 + files, words); /* two hold what standard output and error were */
        ck_assert_msg(o.kept == 0 && o.open == 0, "%d files: something is kept", (int)files);
        ck_assert_msg(o.status == 0 ? files > 0 : starving_says(o.err, strerror(EMFILE)), "%d files: %s", (int)files,
                      o.err);
        ck_assert_uint_lt(files, 20);
        after(0);
    }
}

START_TEST(a_training_with_few_files)
{
    char words[LINE];
    setup();
    snprintf(words, sizeof words, "train --run %s --data %s " SMALLEST "--steps 3", in("run"), in("text"));
    few_files(remove_run, go_on, words);
    snprintf(words, sizeof words, "train --resume %s --steps 3 -q", in("run"));
    few_files(half_a_run, old_checkpoint_or_new, words);
}

static const Test tests[] = {TEST_SLOW(a_training_that_begins, 300),
                             TEST_SLOW(a_training_that_goes_on, 300),
                             TEST_SLOW(scoring, 300),
                             TEST_SLOW(writing, 300),
                             TEST_SLOW(giving_a_model_away_and_taking_one, 300),
                             TEST_SLOW(what_only_looks, 300),
                             TEST_SLOW(what_draws, 300),
                             TEST_SLOW(a_training_with_few_files, 300)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/starving", tests, sizeof tests / sizeof *tests, argc, argv);
}
