/* What is scored as the validation part is never what the run has learned from. */
#include "base/memory.h"
#include "tests/command.h"

#include <stdio.h>
#include <string.h>

#define TINY                                                                                                           \
    "--preset minute --minutes 0 --dim 16 --heads 1 --ff 32 --context 32 --batch 16 --workers 2 --steps 2 "            \
    "--eval-every 0 --no-cache -q "

static const char *trained(const char *words)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " %s", run, words);
    return run;
}

/* So many texts, of two classes in turn; without classes: labels is false. */
static void make_table(const char *folder, size_t count, bool labels, char path[700])
{
    Buffer b = {0};
    buffer_print(&b, labels ? "text,label\n" : "text\n");
    for (size_t i = 0; i < count; i++)
        buffer_print(&b, labels ? "text number %zu,%s\n" : "text number %zu\n", i, i % 2 ? "pos" : "neg");
    write_in(folder, "texts.csv", b.text, b.size);
    buffer_free(&b);
    snprintf(path, 700, "%s/texts.csv", folder);
}

START_TEST(another_seed_than_the_runs_is_refused_where_it_draws_what_is_held_out)
{
    static const char says[] = "held out texts by its seed, 1, and learned from those that another seed draws";
    const char *run = trained("");
    refused(2, says, "eval --run %s --seed 2 --no-cache", run);
    refused(2, says, "train --resume %s --seed 2 --steps 4 --no-cache -q", run);
    works("eval --run %s --seed 1 --no-cache", run);
    works("eval --run %s --seed 2 --final --no-cache", run); /* the test part is nobody's draw */
    works("train --resume %s --seed 1 --steps 4 --no-cache -q", run);
}

START_TEST(other_texts_than_the_runs_may_be_drawn_by_any_seed)
{
    const char *run = trained("");
    char table[700];
    make_table(run, 20, true, table);
    works("eval --run %s --seed 2 --data %s --split valid --no-cache -q", run, table);
}

START_TEST(a_run_that_holds_nothing_out_may_go_on_with_another_seed)
{
    const char *run = trained("--final");
    works("train --resume %s --seed 2 --steps 4 --no-cache -q", run);
    works("eval --run %s --seed 3 --final --no-cache", run);
}

START_TEST(what_a_run_has_learned_from_is_not_held_out_afterwards)
{
    static const char says[] = "has learned from all texts (--final), and none is left to validate it with";
    const char *run = trained("--final"), *half = trained("");
    refused(2, says, "eval --run %s --no-final --no-cache", run);
    refused(2, says, "eval --run %s --no-final --split train --no-cache", run);
    refused(2, says, "train --resume %s --no-final --steps 4 --no-cache -q", run);
    works("eval --run %s --final --no-cache", run);
    works("train --resume %s --final --steps 4 --no-cache -q", half);
    refused(2, says, "eval --run %s --no-final --no-cache", half);
}

START_TEST(a_run_without_a_validation_part_is_warned_of_unless_it_is_meant)
{
    static const char says[] = "classifier: warning: too few texts to hold any out for validation;";
    static const struct {
        size_t count;
        bool labels;
        const char *words;
        bool warned;
    } cases[] = {{4, true, "train", true},
                 {6, true, "train", false},
                 {4, true, "train --final", false},
                 {9, false, "pretrain", true},
                 {10, false, "pretrain", false}};
    char table[700];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_table(fresh_path("data"), cases[i].count, cases[i].labels, table);
        Said s = must("%s --run %s " TINY "--data %s", cases[i].words, fresh_path("run"), table);
        ck_assert_msg((strstr(s.err, says) != NULL) == cases[i].warned, "%zu: %s", i, s.err);
        said_free(&s);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(another_seed_than_the_runs_is_refused_where_it_draws_what_is_held_out),
                                 TEST(other_texts_than_the_runs_may_be_drawn_by_any_seed),
                                 TEST(a_run_that_holds_nothing_out_may_go_on_with_another_seed),
                                 TEST(what_a_run_has_learned_from_is_not_held_out_afterwards),
                                 TEST(a_run_without_a_validation_part_is_warned_of_unless_it_is_meant)};
    command_program("classifier");
    test_folders_in_memory();
    return suite_run("classifier/held_out", tests, sizeof tests / sizeof *tests, argc, argv);
}
