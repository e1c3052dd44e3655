/* Which words moved an answer: each way of asking against what it means, and what `heads` says and draws. */
#include "base/memory.h"
#include "classifier/attribution.h"
#include "core/program/heads.h"
#include "tests/command.h"
#include "tests/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CONTEXT = 12 };

static const char *trained(const char *words)
{
    const char *run = fresh_path("run");
    works("train --run %s --dim 16 --heads 2 --depth 2 --ff 32 --context %d --steps 60 --eval-every 0 --batch 16 "
          "--lr 1e-2 --minutes 0 --dropout 0.3 --attention-dropout 0.2 --smoothing 0.1 --workers 1 -q %s",
          run, CONTEXT, words);
    return run;
}

/* The program, opened on a run as its main does. */
typedef struct Opened {
    ClassifierOptions values;
    InspectOptions look;
    Options options;
    Classifier c;
} Opened;

static void open_run(Opened *o, const char *run)
{
    Error e;
    char *words[] = {"classifier", "heads", "--run",       (char *)run, "--text", "x",
                     "--device",   "plain", "--precision", "f64",       "-q"};
    *o = (Opened){.c = {.app = {.kind = &classifier_kind}}};
    o->c.options = &o->values;
    o->c.app.options = &o->values.shared;
    o->c.app.command_line = &o->options;
    o->c.app.inspect = &o->look;
    const OptionTable tables[] = {{shared_options, shared_option_count, &o->values.shared},
                                  {classifier_options, classifier_option_count, &o->values},
                                  {inspect_options, inspect_option_count, &o->look}};
    static const Command heads = {"heads", COMMAND_HEADS, NULL, "", app_heads};
    Program program = classifier_program;
    program.commands = &heads, program.command_count = 1;
    ck_done(options_open(&o->options, &program, tables, 3, &e) && options_parse(&o->options, 11, words, &e), e);
    ck_done(attribution_prepare(&o->options, &e) && classifier_open_run(&o->c, &e), e);
    classifier_task(&o->c);
}

static void close_run(Opened *o)
{
    app_close(&o->c.app);
    options_close(&o->options);
}

/* Log odds of a class for one text, by weights of which one word's vector is scaled. */
static double odds(Opened *o, Trainer *trainer, const int32_t *ids, size_t count, size_t answer, int32_t scaled,
                   double by)
{
    const Parameter *table = o->c.model.embedding.table;
    const size_t start[] = {0, count};
    double *old = memory_get(table->count, sizeof *old), *new = memory_get(table->count, sizeof *new);
    float logits[2];
    Error e;
    ck_assert(old && new && o->c.class_count == 2);
    weights_get(&trainer->weights, trainer->worker[0].stream, table, old);
    for (size_t i = 0; i < table->count; i++)
        new[i] = old[i] * (i / table->shape[1] == (size_t)scaled ? by : 1);
    weights_set(&trainer->weights, trainer->worker[0].stream, table, new);
    ck_done(classifier_logits(&o->c, trainer, &(Texts){.count = 1, .ids = ids, .start = start}, logits, &e), e);
    weights_set(&trainer->weights, trainer->worker[0].stream, table, old);
    memory_free(old);
    memory_free(new);
    return (double)logits[answer] - (double)logits[1 - answer];
}

/* Of a word's own vector; n-grams that it is in have theirs. */
START_TEST(gradient_and_leaving_out_are_what_they_say)
{
    static const char *const models[] = {"", "--ngrams 3 --ngram-rows 200",
                                         "--branch-dropout 0.5 --experts 3 --load-loss 0.5", "--r-drop 1"};
    static const int32_t ids[] = {7, 3, 12, 5, 9}; /* each once: scaling a word's vector scales one place */
    enum { COUNT = sizeof ids / sizeof *ids };
    const double step = 1e-2; /* logits come as floats */
    Opened o;
    Attribution m;
    Trainer trainer;
    Error e;
    open_run(&o, trained(models[_i]));
    ck_done(attribution_open(&m, &o.c, ids, COUNT, NULL, &e), e);
    ck_done(app_open_trainer(&o.c.app, &trainer, &e), e);
    double whole = odds(&o, &trainer, ids, COUNT, m.answer, -1, 1), largest = 0;
    ck_assert_double_lt(fabs(log(m.share / (1 - m.share)) - whole), 1e-5);
    ck_assert(whole >= 0);
    for (size_t i = 0; i < COUNT; i++) {
        double up = odds(&o, &trainer, ids, COUNT, m.answer, ids[i], 1 + step);
        double down = odds(&o, &trainer, ids, COUNT, m.answer, ids[i], 1 - step), slope = (up - down) / (2 * step);
        largest = fmax(largest, fabs(slope));
        ck_assert_msg(fabs(m.gradient[i] - slope) < 1e-3 * fmax(1, fabs(slope)), "%zu: %g, not %g", i, m.gradient[i],
                      slope);
        int32_t rest[COUNT - 1];
        for (size_t j = 0, at = 0; j < COUNT; j++)
            if (j != i)
                rest[at++] = ids[j];
        double without = odds(&o, &trainer, rest, COUNT - 1, m.answer, -1, 1);
        ck_assert_double_lt(fabs(m.left_out[i] - (whole - without)), 1e-5);
    }
    ck_assert_double_gt(largest, 0.01); /* there was something to compare */
    attribution_close(&m);
    trainer_close(&trainer);
    close_run(&o);
}

START_TEST(attention_is_the_mean_of_columns)
{
    const char *run = trained(""), *folder = fresh_path("folder");
    write_in(folder, "none", "", 0);
    Said s = command("heads --run %s --text good-bad,awful --attribution --npy %s/w.npy --out %s/p.svg -q", run, folder,
                     folder);
    char path[800], *data, *line;
    Npy a;
    size_t size;
    if (s.status)
        ck_assert_msg(strstr(s.err, "make deps"), "%s", s.err);
    ck_assert_msg(!strstr(s.err, "gnuplot says"), "%s", s.err);
    ck_assert_msg(strstr(s.out, "not why it decides"), "%s", s.out);
    snprintf(path, sizeof path, "%s/w.npy", folder);
    a = npy_read(path);
    size_t n = a.shape[3], rows = a.shape[0] * a.shape[1] * n;
    ck_assert_uint_eq(n, 5); /* good - bad , awful */
    data = read_in(folder, "p.tsv", &size);
    line = strchr(data, '\n') + 1;
    for (size_t j = 0; j < n; j++, line = strchr(line, '\n') + 1) {
        double expected = 0, is;
        for (size_t row = 0; row < rows; row++)
            expected += (double)((float *)a.data)[row * n + j] * (double)n / (double)rows;
        ck_assert_int_eq(sscanf(line, "%*s %*f %*f %lf", &is), 1);
        ck_assert_double_lt(fabs(is - expected), 1e-6);
    }
    ck_assert(!*line);
    memory_free(data);
    Json *j = must_json("heads --run %s --text good-bad,awful --attribution --json -q", run);
    const Json *list = json_get(j, "words");
    ck_assert(list && list->count == 5 && json_get_text(j, "answer") && json_real(j, "probability") >= 0.5);
    ck_assert_ptr_nonnull(strchr(json_get_text(&list->items[1], "word"), '-')); /* it may be in brackets */
    json_free(j);
    npy_free(&a);
    said_free(&s);
}

START_TEST(any_text_can_be_looked_at)
{
    static const char *const texts[] = {"good", "!", "zzzzzz", "a-b-c-d-e-f-g-h-i-j-k", "\xff\"'"};
    const char *run = trained(""), *folder = fresh_path("folder");
    write_in(folder, "none", "", 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Said s = command("heads --run %s --text %s --attribution --out %s/p.svg", run, texts[i], folder);
        if (s.status)
            ck_assert_msg(strstr(s.err, "make deps"), "%s: %s", texts[i], s.err);
        ck_assert_msg(!strstr(s.err, "gnuplot says"), "%s", s.err);
        ck_assert_msg(i != 3 || strstr(s.err, "the text has 21 tokens; the model reads 12: the last 9 are ignored"),
                      "%s", s.err);
        said_free(&s);
        s = command("heads --run %s --text %s --out %s/p.png -q", run, texts[i], folder);
        ck_assert_msg(!strstr(s.err, "gnuplot says"), "%s", s.err);
        said_free(&s);
    }
    refused(2, "is empty", "heads --run %s --text= --attribution", run);
    refused(2, "the heads of a layer are 0 to 1", "heads --run %s --text a --attribution --head 2", run);
}

static const Test tests[] = {TEST_LOOP(gradient_and_leaving_out_are_what_they_say, 4),
                             TEST(attention_is_the_mean_of_columns), TEST_SLOW(any_text_can_be_looked_at, 120)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    command_program("classifier");
    return suite_run("classifier/heads", tests, sizeof tests / sizeof *tests, argc, argv);
}
