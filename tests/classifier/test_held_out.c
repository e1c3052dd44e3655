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
    Buffer b = {0};
    buffer_print(&b, "text,label\n");
    for (size_t i = 0; i < 20; i++)
        buffer_print(&b, "text number %zu,%s\n", i, i % 2 ? "pos" : "neg");
    write_in(run, "other.csv", b.text, b.size);
    buffer_free(&b);
    snprintf(table, sizeof table, "%s/other.csv", run);
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

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(another_seed_than_the_runs_is_refused_where_it_draws_what_is_held_out),
                                 TEST(other_texts_than_the_runs_may_be_drawn_by_any_seed),
                                 TEST(a_run_that_holds_nothing_out_may_go_on_with_another_seed),
                                 TEST(what_a_run_has_learned_from_is_not_held_out_afterwards)};
    command_program("classifier");
    test_folders_in_memory();
    return suite_run("classifier/held_out", tests, sizeof tests / sizeof *tests, argc, argv);
}
