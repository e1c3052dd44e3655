/* encdec plot: its BLEU, its sentences and its subwords. */
#include "base/memory.h"
#include "tests/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *trained(void)
{
    const char *run = fresh_path("run");
    works("train --run %s --dim 16 --heads 2 --depth 1 --ff 32 --context 40 --type words --size 30 --steps 6 "
          "--eval-every 3 --longest 39 --batch-tokens 200 --bleu-sentences 3 --minutes 0 --workers 1 -q",
          run);
    return run;
}

START_TEST(its_log_has_bleu_and_perplexity)
{
    if (!can_draw("encdec/plot/its_log_has_bleu_and_perplexity"))
        return;
    const char *run = trained();
    Said s = must("plot --run %s --what bleu,perplexity --out - --size 70x50", run);
    ck_assert_msg(strstr(s.out, "BLEU") && strstr(s.out, "perplexity") && !s.err[0], "%s%s", s.out, s.err);
    said_free(&s);
    s = must("plot --run %s --what all --out - --size 70x90", run);
    ck_assert_msg(strstr(s.out, "BLEU"), "%s", s.out);
    said_free(&s);
}

START_TEST(a_model_and_its_sentences_are_drawn)
{
    static const char *const subjects[] = {"embeddings", "positions", "lengths", "coverage", "schedule", "smoothing"};
    size_t size;
    if (!can_draw("encdec/plot/a_model_and_its_sentences_are_drawn"))
        return;
    const char *run = trained();
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        Said s = must("plot --run %s --what %s --json", run, subjects[i]);
        Json *j = said_json(&s);
        ck_assert_msg(strstr(json_get_text(j, "picture"), subjects[i]) && !s.err[0], "%s", s.err);
        json_free(j);
        said_free(&s);
    }
    char *data = read_in(run, "pictures/lengths.tsv", &size);
    ck_assert(strstr(data, "train, source\t") && strstr(data, "valid, target\t"));
    memory_free(data);
    data = read_in(run, "pictures/positions.tsv", &size); /* both sides read one table: it is drawn once */
    const char *first = strstr(data, "sinusoids\t");
    ck_assert(first && !strstr(first + 1, "sinusoids\t"));
    memory_free(data);
}

START_TEST(all_words_of_a_text_are_counted)
{
    const char *folder = fresh_path("folder");
    size_t size;
    if (!can_draw("encdec/plot/all_words_of_a_text_are_counted"))
        return;
    write_in(folder, "train.en", "a b\na c\n", 8);
    write_in(folder, "train.de", "x y\nx x\n", 8);
    write_in(folder, "val.en", "a q\n", 4);
    write_in(folder, "val.de", "x x\n", 4);
    Said s = must("plot --what coverage --data %s --type words --tokens spaces --out %s/c.svg", folder, folder);
    ck_assert_str_eq(s.err, "");
    said_free(&s);
    char *data = read_in(folder, "c.tsv", &size);
    /* </s> 4, x 3, a 2, b, c, y: of "a q </s>" a and </s> are known */
    ck_assert_msg(strstr(data, "train, source\t6\t6\n1\t33.333333\n2\t33.333333\n3\t66.666667\n"), "%s", data);
    ck_assert_msg(strstr(data, "valid, source\t3\t6\n1\t33.333333\n2\t33.333333\n3\t66.666667\n"), "%s", data);
    memory_free(data);
}

static const Test tests[] = {TEST_SLOW(its_log_has_bleu_and_perplexity, 120),
                             TEST_SLOW(a_model_and_its_sentences_are_drawn, 200),
                             TEST_SLOW(all_words_of_a_text_are_counted, 100)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    command_program("encdec");
    return suite_run("encdec/plot", tests, sizeof tests / sizeof *tests, argc, argv);
}
