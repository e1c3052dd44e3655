/* Every allocation of the commands that look at a model or its data fails once, in turn: a line says so, and neither
 * memory nor open files are kept. See starving.h. */
#include "base/file.h"
#include "tests/command.h"
#include "tests/starving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int classifier_main(int argc, char **argv);
#define main classifier_main
#include "classifier/main.c"
#undef main

#define SMALLEST                                                                                                       \
    "--dim 2 --heads 1 --depth 1 --ff 2 --context 9 --words 9 --batch 2 --micro-batch 1 --workers 1 --device plain "   \
    "--eval-every 0 --minutes 0 --no-cache -q "

static char place[300];

/* Ten reviews: of each class a fifth is held out. */
static void setup(void)
{
    static const char table[] = "text\tlabel\nnot bad\tgood\nno bad\tgood\na good one\tgood\ngood\tgood\ngood!\tgood\n"
                                "bad\tpoor\nnot good\tpoor\na bad one\tpoor\nbad, bad\tpoor\nno\tpoor\n";
    char words[STARVING_LINE];
    snprintf(place, sizeof place, "%s", test_folder());
    write_in(place, "in.tsv", table, sizeof table - 1);
    starving_program("classifier", classifier_main, place);
    snprintf(words, sizeof words, "train --run %s/whole --data %s/in.tsv " SMALLEST "--steps 1", place, place);
    must_work(words);
}

START_TEST(which_words_moved_the_answer)
{
    setup();
    starve((Ways){0}, "heads --run %s/whole --text not-bad --attribution -q", place);
    starve((Ways){0}, "heads --run %s/whole --text not-bad --attribution -q --json --npy %s/w.npy", place, place);
}

START_TEST(pictures_of_data_and_model)
{
    static const char *const subjects[] = {"lengths", "coverage", "embeddings", "positions"};
    setup();
    if (!can_draw("classifier/starving/pictures_of_data_and_model"))
        return;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        starve((Ways){0}, "plot --run %s/whole --what %s --no-cache -q --out %s/x.svg", place, subjects[i], place);
    starve((Ways){0}, "heads --run %s/whole --text not-bad --attribution -q --out %s/x.svg", place, place);
}

static void nothing_imported(void)
{
    char path[400];
    Error e;
    snprintf(path, sizeof path, "%s/imported", place);
    ck_done(folder_remove(path, &e), e);
}

START_TEST(a_model_of_others_and_its_vectors)
{
    static const char *const names[] = {"bert", "bert-classes"};
    char words[STARVING_LINE];
    setup();
    for (size_t i = 0; i < 2; i++)
        starve((Ways){nothing_imported, NULL, 0}, "import tests/fixtures/encoders/%s --out %s/imported -q", names[i],
               place);
    snprintf(words, sizeof words, "import tests/fixtures/encoders/bert-classes --out %s/kept -q", place);
    must_work(words);
    starve((Ways){nothing_imported, NULL, 0}, "export --run %s/kept --format hf --out %s/imported -q", place, place);
    starve((Ways){0}, "predict --run %s/whole --vectors %s/v.npy -q not-bad", place, place);
}

static const Test tests[] = {TEST_SLOW(which_words_moved_the_answer, 300), TEST_SLOW(pictures_of_data_and_model, 300),
                             TEST_SLOW(a_model_of_others_and_its_vectors, 300)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("classifier/starving", tests, sizeof tests / sizeof *tests, argc, argv);
}
