/* What is scored as the validation part is never what the run has learned from; and a run may be beside its data. */
#include "base/memory.h"
#include "encdec/builtin.h"
#include "tests/command.h"

#include <stdio.h>

#define TINY                                                                                                           \
    "--preset minute --minutes 0 --dim 16 --heads 1 --ff 32 --depth 1 --batch-tokens 256 --workers 2 --steps 2 "       \
    "--eval-every 0 -q "

/* A table of pairs without a validation part. */
static void make_table(const char *folder, const char *name, size_t first, char path[700])
{
    Buffer b = {0};
    for (size_t i = 0; i < 60; i++) {
        Buffer english = {0}, german = {0};
        builtin_pair(&english, &german, first + i);
        buffer_print(&b, "%s\t%s\n", english.text, german.text);
        buffer_free(&english);
        buffer_free(&german);
    }
    write_in(folder, name, b.text, b.size);
    buffer_free(&b);
    snprintf(path, 700, "%s/%s", folder, name);
}

START_TEST(another_seed_than_the_runs_is_refused_where_it_draws_what_is_held_out)
{
    static const char says[] = "held out texts by its seed, 1, and learned from those that another seed draws";
    char table[700], other[700], run[700];
    make_table(fresh_path("data"), "pairs.tsv", 0, table);
    make_table(fresh_path("others"), "pairs.tsv", 100, other);
    snprintf(run, sizeof run, "%s", fresh_path("run"));
    works("train --run %s " TINY "--data %s", run, table);
    refused(2, says, "eval --run %s --seed 2 -q", run);
    refused(2, says, "eval --run %s --seed 2 -q --data %s", run, table);
    refused(2, says, "train --resume %s --seed 2 --steps 4 -q", run);
    works("eval --run %s --seed 1 -q", run);
    works("eval --run %s --seed 2 -q --data %s", run, other);
    works("train --resume %s --seed 1 --steps 4 -q", run);
}

/* Of a folder it reads parts by their names, and no file of a run is called so. */
START_TEST(a_run_may_be_in_the_folder_of_its_data)
{
    static const char pairs[] = "one\ntwo\nthree\nfour\n";
    static const char *const names[] = {"train.en", "train.de", "valid.en", "valid.de"};
    const char *folder = fresh_path("data");
    for (size_t i = 0; i < 4; i++)
        write_in(folder, names[i], pairs, sizeof pairs - 1);
    works("train --run %s/run " TINY "--data %s", folder, folder);
    works("train --resume %s/run --steps 4 -q", folder);
}

START_TEST(any_seed_is_taken_where_the_data_say_what_is_held_out)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY, run);
    works("eval --run %s --seed 2 -q", run);
    works("train --resume %s --seed 2 --steps 4 -q", run);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(another_seed_than_the_runs_is_refused_where_it_draws_what_is_held_out),
                                 TEST(a_run_may_be_in_the_folder_of_its_data),
                                 TEST(any_seed_is_taken_where_the_data_say_what_is_held_out)};
    command_program("encdec");
    test_folders_in_memory();
    return suite_run("encdec/held_out", tests, sizeof tests / sizeof *tests, argc, argv);
}
