/* Alignments that a head is guided by: read from files, guessed from pairs, and drawn into batches. */
#define _XOPEN_SOURCE 700
#include "encdec/alignments.h"

#include "base/file.h"
#include "base/memory.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

#define GUIDED                                                                                                         \
    "--source en --target de --type words --dim 8 --heads 2 --depth 1 --context 8 --batch-tokens 20 --minutes 0 "      \
    "--bleu-sentences 0 --steps 2 --workers 1 --guided-alignment 0.5 -q"

/* Of the second line too much is on a side: it is left out. */
static const char source[] = "a b c\na a a a a a a a\nb a\nc\na c\nb c a\n",
                  target[] = "x y z\nx x\ny x\nz\nx z\ny z x\n";

static char path[700];

static const char *each_target = target;

static void open_pairs(Bitext *b, size_t registers)
{
    Error e;
    snprintf(path, sizeof path, "%s", test_folder());
    write_in(path, "train.en", source, strlen(source));
    write_in(path, "train.de", each_target, strlen(each_target));
    write_in(path, "val.en", "a b\n", 4);
    write_in(path, "val.de", "x y\n", 4);
    const BitextOptions o = {.source = {.path = path, .language = {"en", "de"}},
                             .subwords = {.registers = registers},
                             .longest = 5 + registers,
                             .context = 9};
    ck_done(bitext_open(b, &o, &e), e);
    ck_assert_uint_eq(b->parts[SPLIT_TRAIN].count, 5);
}

static const char *file_with(const char *text)
{
    static char links[710];
    snprintf(links, sizeof links, "%s/links", path);
    write_in(path, "links", text, strlen(text));
    return links;
}

enum { LINES = 7 }; /* of the training part */

START_TEST(links_are_read_for_the_pairs_that_are_trained_on)
{
    const size_t registers = _i ? 2 : 0;
    const int32_t first = (int32_t)registers, wanted[] = {1, 0, 2, 1, 0, 0, 1};
    Bitext b;
    Alignments a;
    Error e;
    open_pairs(&b, registers);
    const SentencePairs *p = &b.parts[SPLIT_TRAIN];
    ck_done(alignments_read(&a, p, b.subwords, LINES,
                            file_with("2-1 0-1 1-0\nwhatever\n 1-0\t0-1\r\n0-0\n\n1-2\n7-7\n"), &e),
            e);
    const size_t links[] = {1, 2, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0}; /* </s> has none */
    size_t all = 0;
    ck_assert_uint_eq(pairs_ids(p, TARGET), sizeof links / sizeof *links);
    for (size_t k = 0; k < sizeof links / sizeof *links; k++) {
        all += links[k];
        ck_assert_uint_eq(a.start[k + 1], all);
    }
    ck_assert_uint_eq(a.source.count, all);
    for (size_t i = 0; i < all; i++)
        ck_assert_int_eq(a.source.id[i], wanted[i] + first);
    alignments_close(&a);
    bitext_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static const struct {
    const char *text, *words;
} wrong[] = {
    {"0-0\n\n\n", "has no line 4"},
    {"0-0\n\n0\n\n\n\n", "line 3: expected links such as 0-0"},
    {"0:0\n\n\n\n\n\n", "line 1: expected links"},
    {"0-\n\n\n\n\n\n", "line 1: expected links"},
    {"-0\n\n\n\n\n\n", "line 1: expected links"},
    {"0-0x\n\n\n\n\n\n", "line 1: expected links"},
    {"0-0 3-0\n\n\n\n\n\n", "has a link 3-0, but this pair has 3 and 3 subwords"},
    {"0-3\n\n\n\n\n\n", "has a link 0-3"},
    {"0-0\n\n\n\n\n\n\n\n", "has a line 8, and the training part has 7"},
    {"0-99999999999999999999\n\n\n\n\n\n", "has a link 0-9999999999"},
    {"\n0-0\n\n\n\n\n\n", "has no link for a pair that is trained on: there is nothing to guide attention by"}};

START_TEST(what_is_no_alignment_is_refused)
{
    Bitext b;
    Alignments a;
    Error e;
    open_pairs(&b, 0);
    ck_assert(!alignments_read(&a, &b.parts[SPLIT_TRAIN], b.subwords, LINES, file_with(wrong[_i].text), &e));
    ck_assert_msg(strstr(e.text, wrong[_i].words), "%s", e.text);
    ck_assert_ptr_null(strchr(e.text, '\n'));
    alignments_close(&a);
    bitext_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Words that always come together belong together; a word of all sentences belongs to none, as </s> and registers do. */
START_TEST(words_that_come_together_are_linked)
{
    const size_t registers = _i ? 2 : 0;
    Bitext b;
    Alignments a;
    Error e;
    each_target = "x y z w\nx x\ny x w\nz w\nx z w\ny z x w\n";
    open_pairs(&b, registers);
    const SentencePairs *p = &b.parts[SPLIT_TRAIN];
    ck_done(alignments_learn(&a, p, b.subwords, &e), e);
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = p->start[TARGET][i]; k < p->start[TARGET][i + 1]; k++) {
            const char *word = vocabulary_word(&b.subwords->vocabulary, p->ids[TARGET][k]);
            const size_t links = a.start[k + 1] - a.start[k];
            ck_assert_uint_eq(links, k + 1 < p->start[TARGET][i + 1] && word[0] != 'w');
            if (!links)
                continue;
            const int32_t from = p->ids[SOURCE][p->start[SOURCE][i] + (size_t)a.source.id[a.start[k]]];
            ck_assert_int_eq(vocabulary_word(&b.subwords->vocabulary, from)[0], word[0] - 'x' + 'a');
        }
    alignments_close(&a);
    bitext_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Of two links each in half of the steps, by seed, step and row; and none where none is known. */
START_TEST(a_row_has_one_of_its_links)
{
    enum { STEPS = 2000 };
    Bitext b;
    Alignments a;
    Batch batch;
    Error e;
    size_t met[3] = {0}, apart = 0;
    open_pairs(&b, 0);
    const SentencePairs *p = &b.parts[SPLIT_TRAIN];
    ck_done(alignments_read(&a, p, b.subwords, LINES, file_with("2-1 0-1 1-0\n\n\n0-0\n\n\n"), &e), e);
    ck_done(batch_open(&batch, &(BatchSize){ALIGNED + 1, 3, {12, 12, 12}, 0, 0}, &e), e);
    for (uint64_t step = 1; step <= STEPS; step++) {
        batch_clear(&batch);
        alignments_row(&a, p, 0, 1, step, &batch);
        alignments_row(&a, p, 0, 1, step, &batch);
        alignments_row(NULL, p, 0, 1, step, &batch);
        const Side *s = &batch.side[ALIGNED];
        ck_assert(s->rows == 3 && s->positions == 12 && s->among == SOURCE + 1);
        ck_assert(s->targets[0] == 1 && s->targets[2] == -1 && s->targets[3] == -1);
        ck_assert(s->targets[8] == -1 && s->targets[9] == -1);
        met[s->targets[1]]++;
        apart += s->targets[1] != s->targets[5];
        if (step == 7) { /* again the same */
            const int32_t before[] = {s->targets[1], s->targets[5]};
            batch_clear(&batch);
            alignments_row(&a, p, 0, 1, step, &batch);
            alignments_row(&a, p, 0, 1, step, &batch);
            ck_assert(before[0] == s->targets[1] && before[1] == s->targets[5]);
        }
    }
    ck_assert(met[1] == 0 && met[0] > STEPS / 2 - 120 && met[2] > STEPS / 2 - 120);
    ck_assert(apart > STEPS / 2 - 120 && apart < STEPS / 2 + 120);
    batch_close(&batch);
    alignments_close(&a);
    bitext_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

typedef struct Files {
    Bitext b;
    const char *links;
} Files;

static bool read_and_learn(void *argument, Error *e)
{
    const Files *f = argument;
    Alignments read = {0}, learned = {0};
    bool done = alignments_read(&read, &f->b.parts[SPLIT_TRAIN], f->b.subwords, LINES, f->links, e) &&
                alignments_learn(&learned, &f->b.parts[SPLIT_TRAIN], f->b.subwords, e);
    alignments_close(&read);
    alignments_close(&learned);
    return done;
}

START_TEST(each_allocation_may_fail)
{
    Files f;
    open_pairs(&f.b, 0);
    f.b.subwords = &f.b.own;
    f.links = file_with("0-0 1-1\n\n0-0\n0-0\n\n\n");
    fail_each_allocation(read_and_learn, &f);
    bitext_close(&f.b);
}

/* Through the command, whose pairs remember how many lines they came from: one line is left out, and one too many refused. */
START_TEST(training_takes_a_file_of_alignments)
{
    static const char *const sides[] = {"train.en", "train.de", "val.en", "val.de"};
    const char *run = fresh_path("run"), *data = fresh_path("data");
    Buffer lines = {0}, links = {0};
    write_in(data, "none", "", 0);
    for (int i = 0; i < 30; i++) {
        buffer_print(&lines, i == 7 ? "\n" : "a b\n");
        buffer_print(&links, "0-0 1-1\n");
    }
    ck_assert(!lines.failed && !links.failed);
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        write_in(data, sides[i], lines.text, lines.size);
    write_in(data, "links", links.text, links.size);
    buffer_print(&links, "0-0\n");
    write_in(data, "more", links.text, links.size);
    works("train --run %s " GUIDED " --data %s --alignments %s/links", run, data, data);
    refused(1, "has a line 31, and the training part has 30",
            "train --run %s-1 " GUIDED " --data %s --alignments %s/more", run, data, data);
    buffer_free(&lines);
    buffer_free(&links);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(links_are_read_for_the_pairs_that_are_trained_on, 2),
                                 TEST_LOOP(what_is_no_alignment_is_refused, sizeof wrong / sizeof *wrong),
                                 TEST_LOOP(words_that_come_together_are_linked, 2),
                                 TEST(a_row_has_one_of_its_links),
                                 TEST(training_takes_a_file_of_alignments),
                                 TEST(each_allocation_may_fail)};
    command_program("encdec");
    test_folders_in_memory();
    return suite_run("encdec/alignments", tests, sizeof tests / sizeof *tests, argc, argv);
}
