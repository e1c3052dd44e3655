/* Every allocation of a command fails once, in turn: the command ends with a line that says so and a status that is
 * not 0, and keeps neither memory nor open files. See starving.h; what is left of a run then is charlm's to show. */
#include "base/file.h"
#include "tests/command.h"
#include "tests/starving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int encdec_main(int argc, char **argv);
#define main encdec_main
#include "encdec/main.c"
#undef main

/* As small as a model gets. */
#define MODEL                                                                                                          \
    "--dim 2 --heads 1 --depth 1 --ff 2 --context 9 --longest 8 --batch-tokens 16 --micro-tokens 9 --workers 1 "       \
    "--device plain --merges 3 -q "
#define SMALLEST MODEL "--eval-every 1 --save-every 1 --keep 2 --minutes 0 "

static char place[300];

static void setup(void)
{
    static const char *const files[][2] = {{"train.en", "a b\na\nb a a\n\nc\n"},
                                           {"train.de", "x y\nx\ny x y\nz\nx\n"},
                                           {"val.en", "a\nb b"},
                                           {"val.de", "x\ny y\n"}};
    char words[STARVING_LINE];
    snprintf(place, sizeof place, "%s", test_folder());
    for (size_t i = 0; i < 4; i++)
        write_in(place, files[i][0], files[i][1], strlen(files[i][1]));
    starving_program("encdec", encdec_main, place);
    snprintf(words, sizeof words, "train --run %s/whole --data %s " SMALLEST "--steps 3", place, place);
    must_work(words);
}

static void remove_run(void)
{
    char path[700];
    Error e;
    snprintf(path, sizeof path, "%s/run", place);
    ck_done(folder_remove(path, &e), e);
}

START_TEST(a_training)
{
    static const char *const types[] = {
        "bpe",
        "words",
        "bytes",
        "wordpiece --size 40",
        "wordpiece --vocabulary tests/fixtures/wordpiece-vocab.txt --tokens spaces",
        "bpe --codes tests/fixtures/bpe/codes --vocabulary tests/fixtures/bpe/subwords --vocabulary-threshold 8"};
    setup();
    starve((Ways){remove_run, NULL, 0}, "train --run %s/run --data %s " SMALLEST "--steps 1 --type %s --json", place,
           place, types[_i]);
}

START_TEST(scoring)
{
    setup();
    starve((Ways){0}, "eval --run %s/whole --json -q --dump-logits %s/x.npy", place, place);
    starve((Ways){0}, "eval --run %s/whole -q --split train --weights last", place);
    starve((Ways){0}, "baseline --data %s", place);
    starve((Ways){0}, "baseline --data %s --split train --json", place);
}

START_TEST(averaging)
{
    char words[STARVING_LINE];
    setup();
    starve((Ways){0}, "average --run %s/whole --last 2 --json", place);
    snprintf(words, sizeof words, "eval --run %s/whole -q --weights average", place);
    must_work(words);
    starve((Ways){0}, "%s", words);
}

START_TEST(giving_a_model_away)
{
    setup();
    starve((Ways){remove_run, NULL, 0}, "export --run %s/whole --format ctranslate2 --out %s/run -q", place, place);
    starve((Ways){remove_run, NULL, 0}, "export --run %s/whole --format onnx --out %s/run -q", place, place);
}

START_TEST(translating)
{
    setup();
    write_in(place, "in", "a b\n\nb c\n", 9);
    starve((Ways){0}, "translate --run %s/whole --file %s/in --beam 2 --nbest 2 --max-extra 2 -q --format fairseq",
           place, place);
    write_in(place, "given", "x y\n\nz\n", 7);
    starve((Ways){0}, "translate --run %s/whole --file %s/in --prefixes %s/given --sample --ensemble %s/whole -q",
           place, place, place, place);
    starve((Ways){0}, "score --run %s/whole --file %s/in --translations %s/given --json -q", place, place, place);
}

START_TEST(what_only_looks)
{
    setup();
    starve((Ways){0}, "info --run %s/whole", place);
    starve((Ways){0}, "info --json --type words " MODEL);
    starve((Ways){0}, "train --dry-run --json --data %s " SMALLEST, place);
    starve((Ways){0}, "bench --steps 1 --json --length 3 " MODEL);
    starve((Ways){0}, "average --help");
}

START_TEST(heads_and_data)
{
    setup();
    starve((Ways){0}, "heads --run %s/whole --text ab --max-extra 2 --align --json -q --npy %s/w.npy", place, place);
    starve((Ways){0}, "heads --run %s/whole --text ab --target-text y --maps encoder --describe", place);
    if (!can_draw("encdec/starving/heads_and_data"))
        return;
    starve((Ways){.every = 23}, "plot --what lengths --run %s/whole --out %s/x.svg", place, place);
    starve((Ways){.every = 23}, "plot --what coverage --data %s --type words --out %s/x.svg", place, place);
    starve((Ways){.every = 23}, "plot --what embeddings --run %s/whole --out %s/x.svg", place, place);
}

START_TEST(learning_and_cutting_subwords)
{
    setup();
    write_in(place, "in", "aab, a\n\nb c\n", 12);
    starve((Ways){0}, "vocab --merges 3 --data %s --tokens spaces --out %s/made --threads 1", place, place);
    starve((Ways){0}, "vocab --type wordpiece --size 20 --out %s/made --threads 1 --json %s/train.en %s/in", place,
           place, place);
    starve((Ways){0}, "vocab --type words --size 4 --out %s/made --threads 1 %s/in", place, place);
    starve((Ways){0}, "subwords --threads 1 --file %s/in --codes tests/fixtures/bpe/codes --tokens moses", place);
    starve((Ways){0}, "subwords --threads 1 --file %s/in --type words --vocabulary %s/made/words.txt", place, place);
}

static const Test tests[] = {TEST_SLOW_LOOP(a_training, 6, 300), TEST_SLOW(scoring, 300),
                             TEST_SLOW(averaging, 300),          TEST_SLOW(giving_a_model_away, 300),
                             TEST_SLOW(translating, 300),        TEST_SLOW(what_only_looks, 300),
                             TEST_SLOW(heads_and_data, 300),     TEST_SLOW(learning_and_cutting_subwords, 300)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("encdec/starving", tests, sizeof tests / sizeof *tests, argc, argv);
}
