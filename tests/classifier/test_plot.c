/* classifier plot: its accuracy, its data and its words. */
#include "base/memory.h"
#include "tests/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *trained(void)
{
    const char *run = fresh_path("run");
    works("train --run %s --dim 16 --heads 2 --depth 1 --ff 32 --context 12 --words 40 --steps 9 --eval-every 3 "
          "--batch 8 --minutes 0 --workers 1 --distances bias -q",
          run);
    return run;
}

START_TEST(its_log_has_accuracy)
{
    if (!can_draw("classifier/plot/its_log_has_accuracy"))
        return;
    const char *run = trained();
    size_t size;
    Said s = must("plot --run %s --what accuracy,norm --out - --size 70x60", run);
    ck_assert_str_eq(s.err, "");
    said_free(&s);
    char *data = read_in(run, "pictures/loss.tsv", &size);
    ck_assert_ptr_nonnull(strstr(data, "\taccuracy (%)\t"));
    memory_free(data);
    refused(1, "has no bleu, only loss,accuracy", "plot --run %s --what bleu --out -", run);
}

START_TEST(its_data_are_drawn_whole)
{
    static const char table[] = "text\tlabel\none\tx\none two\tx\none two three\tx\none\tx\none\tx\na\ty\na\ty\na\ty\n"
                                "a\ty\na a a a a a a a a a a a a a a a\ty\n";
    const char *folder = fresh_path("folder");
    size_t size;
    if (!can_draw("classifier/plot/its_data_are_drawn_whole"))
        return;
    write_in(folder, "in.tsv", table, sizeof table - 1);
    Said s = must("plot --what lengths --data %s/in.tsv --context 4 --no-cache --out %s/l.svg", folder, folder);
    ck_assert_str_eq(s.err, "");
    said_free(&s);
    char *data = read_in(folder, "l.tsv", &size); /* though a model would read 4 of it */
    ck_assert_msg(strstr(data, "\t16\t16\t"), "%s", data);
    memory_free(data);
    works("plot --what coverage --data %s/in.tsv --words 2 --no-cache --out %s/c.svg", folder, folder);
    data = read_in(folder, "c.tsv", &size);
    const char *last = strstr(data, "\n\n\n"); /* of what is trained on, all words together are all of it */
    ck_assert_msg(last && !strncmp(last - 4, "\t100", 4), "%s", data);
    memory_free(data);
}

START_TEST(a_model_and_its_vocabulary_are_drawn)
{
    size_t size;
    if (!can_draw("classifier/plot/a_model_and_its_vocabulary_are_drawn"))
        return;
    const char *run = trained();
    static const char *const subjects[] = {"embeddings", "positions", "lengths", "coverage", "schedule"};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        Said s = must("plot --run %s --what %s --json", run, subjects[i]);
        Json *j = said_json(&s);
        ck_assert_msg(strstr(json_get_text(j, "picture"), subjects[i]) && !s.err[0], "%s", s.err);
        json_free(j);
        said_free(&s);
    }
    char *data = read_in(run, "pictures/positions.tsv", &size);
    ck_assert_msg(strstr(data, "exp(bias of a distance), 1 at each head's largest\thead, layer after layer\t") &&
                      strstr(data, "\n0\t-11\t"),
                  "%s", data);
    memory_free(data);
    data = read_in(run, "pictures/embeddings.tsv", &size);
    ck_assert_ptr_nonnull(strstr(data, "\t<unk>\n"));
    memory_free(data);
}

static const Test tests[] = {TEST_SLOW(its_log_has_accuracy, 120), TEST_SLOW(its_data_are_drawn_whole, 120),
                             TEST_SLOW(a_model_and_its_vocabulary_are_drawn, 120)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    command_program("classifier");
    return suite_run("classifier/plot", tests, sizeof tests / sizeof *tests, argc, argv);
}
