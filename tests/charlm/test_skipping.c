/* Blocks that are left out: what remains is the model that has only the others. */
#include "tests/charlm/tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    "--norm pre --branch-dropout 0.2", "--norm post --distances none --positions learned",
    "--norm pre --window 5 --embedding-norm", "--norm pre --attention composed --distances none --residual-scores"};

static void same(const char *command, const char *run, const char *skip, const char *other, const char *words)
{
    Said a = must("%s --run %s --weights last --skip-blocks %s %s", command, run, skip, words),
         b = must("%s --run %s --weights last %s", command, other, words);
    ck_assert_msg(!strcmp(a.out, b.out), "%s %s %s:\n%s\n%s", command, skip, words, a.out, b.out);
    said_free(&a);
    said_free(&b);
}

/* A model of the middle one of three blocks, and one of the first and the last. */
START_TEST(a_model_without_some_blocks_is_that_of_the_others)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --depth 3 --steps 60 -q %s", run, kinds[_i]);
    works("train --run %s-1 " TINY " --depth 1 --steps 0 -q %s --from %s/checkpoints/00000060/model.safetensors "
          "--map blocks.1.=blocks.0.,blocks.0.=a.,blocks.2.=b.",
          run, kinds[_i], run);
    works("train --run %s-2 " TINY " --depth 2 --steps 0 -q %s --from %s/checkpoints/00000060/model.safetensors "
          "--map blocks.2.=blocks.1.,blocks.1.=a.",
          run, kinds[_i], run);
    for (size_t i = 0; i < 2; i++) {
        char other[700];
        const char *skip = i ? "1" : "0,2";
        snprintf(other, sizeof other, "%s-%d", run, i ? 2 : 1);
        same("eval", run, skip, other, "--bytes 400 --device plain --precision f64");
        same("eval", run, skip, other, "--bytes 400 --stride 3 --device plain --precision f64");
        same("sample", run, skip, other, "--temperature 0 --length 60 --prompt The --device plain --precision f64 -q");
        same("sample", run, skip, other,
             "--temperature 0 --length 60 --prompt The --exact --device plain --precision f64 -q");
    }
    Said all = must("eval --run %s --weights last --json", run),
         some = must("eval --run %s --weights last --skip-blocks 1 --json", run),
         none = must("eval --run %s --weights last --skip-blocks 0,1,2 --json", run);
    ck_assert(strcmp(all.out, some.out) != 0 && strcmp(none.out, some.out) != 0);
    said_free(&all);
    said_free(&some);
    said_free(&none);
}

START_TEST(only_numbers_of_blocks_are_a_list)
{
    static const char *const lists[] = {"3", "a", "1,", ",1", "-1", "1;2", "1x", "99999999999999999999999"};
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --depth 3 --steps 1 -q", run);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        refused(2, "from 0 to 2", "eval --run %s --skip-blocks=%s", run, lists[i]);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_model_without_some_blocks_is_that_of_the_others, 4),
                                 TEST(only_numbers_of_blocks_are_a_list)};
    test_folders_in_memory();
    return suite_run("charlm/skipping", tests, sizeof tests / sizeof *tests, argc, argv);
}
