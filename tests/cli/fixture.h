/* A small program for the tests of core/cli: shared rows, rows of its own, commands, presets. */
#ifndef TESTS_CLI_FIXTURE_H
#define TESTS_CLI_FIXTURE_H

#include "base/file.h"
#include "base/memory.h"
#include "core/cli/options.h"
#include "tests/suite.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TRAIN = 1, SAMPLE = 2 };
enum Activation { RELU = 7, GELU = 3, GELU_TANH = 5 }; /* not as the help lists them */

typedef struct Shared {
    size_t dim, batch, seed;
    double lr, dropout;
    bool bias, quiet, json;
    enum Activation activation;
    const char *data, *preset, *config;
} Shared;

typedef struct Own {
    size_t length;
    const char *prompt;
} Own;

typedef struct Values {
    Shared shared;
    Own own;
} Values;

static const OptionChoice activations[] = {{"relu", RELU}, {"gelu", GELU}, {"gelu-tanh", GELU_TANH}, {NULL, 0}};

#define AT(field) offsetof(Shared, field)
static const Option shared_rows[] = {
    {"dim", 0, OPTION_SIZE, OPTION_MODEL, TRAIN, AT(dim), "128", "[1,65536]", "width of a position's vector"},
    {"bias", 0, OPTION_YES_NO, OPTION_MODEL, TRAIN, AT(bias), "yes", NULL, "biases in linear layers"},
    {"activation", 'a', OPTION_CHOICE, OPTION_MODEL, TRAIN, AT(activation), "relu", .choices = activations, "σ"},
    {"batch", 'b', OPTION_SIZE, OPTION_TRAINING, TRAIN, AT(batch), "32", "[1,]", "rows a step"},
    {"lr", 'l', OPTION_REAL, OPTION_TRAINING, TRAIN, AT(lr), "1e-4", "(0,]", "learning rate"},
    {"dropout", 0, OPTION_REAL, OPTION_TRAINING, TRAIN, AT(dropout), "0", "[0,1)", "share zeroed"},
    {"seed", 0, OPTION_SIZE, OPTION_TRAINING, TRAIN | SAMPLE, AT(seed), "1", NULL, "of all random numbers"},
    {"data", 'd', OPTION_PATH, OPTION_TRAINING, TRAIN, AT(data), NULL, NULL, "text to learn (built-in text)"},
    {"quiet", 'q', OPTION_FLAG, OPTION_HERE, TRAIN | SAMPLE, AT(quiet), NULL, NULL, "no progress"},
    {"json", 'j', OPTION_FLAG, OPTION_HERE, TRAIN | SAMPLE, AT(json), NULL, NULL, "one object at the end"},
    {"preset", 'p', OPTION_PRESET, OPTION_HERE, TRAIN, AT(preset), NULL, NULL, "a recipe"},
    {"config", 0, OPTION_CONFIG, OPTION_HERE, TRAIN, AT(config), NULL, NULL, "file of settings"},
};
static const Option own_rows[] = {
    {"length", 0, OPTION_SIZE, OPTION_HERE, SAMPLE, offsetof(Own, length), "600", "[0,]", "bytes to write"},
    {"prompt", 0, OPTION_TEXT, OPTION_HERE, SAMPLE, offsetof(Own, prompt), "", NULL, "text to go on from"},
};
static const Command commands[] = {
    {"train", TRAIN, NULL, "train a model", NULL},
    {"sample", SAMPLE, "[TEXT...]", "write text", NULL},
};
static const Setting tiny[] = {{"dim", "16"}, {"lr", "0.01"}, {"batch", "4"}, {NULL, NULL}};
static const Setting big[] = {{"dim", "1024"}, {"bias", "no"}, {"data", "big.txt"}, {NULL, NULL}};
static const Preset presets[] = {{"tiny", "a minute on a laptop", tiny}, {"big", "a day", big}};

static inline Program the_program(void)
{
    return (Program){.name = "lm",
                     .about = "A language model.",
                     .commands = commands,
                     .command_count = 2,
                     .presets = presets,
                     .preset_count = 2};
}

static inline bool open_options(Options *o, const Program *program, Values *v, Error *e)
{
    const OptionTable tables[] = {{shared_rows, sizeof shared_rows / sizeof *shared_rows, &v->shared},
                                  {own_rows, sizeof own_rows / sizeof *own_rows, &v->own}};
    return options_open(o, program, tables, 2, e);
}

/* Words are split at blanks; "''" stands for an empty word. */
typedef struct Line {
    char text[2048];
    char *word[32];
    int count;
} Line;

static inline void split(Line *line, const char *text)
{
    snprintf(line->text, sizeof line->text, "lm %s", text);
    line->count = 0;
    for (char *w = strtok(line->text, " "); w; w = strtok(NULL, " "))
        line->word[line->count++] = strcmp(w, "''") ? w : w + 2;
}

/* A program that was called as `lm TEXT`. The values and the program outlive the options. */
typedef struct Call {
    Program program;
    Options options;
    Values values;
    Line line;
    Error error;
    bool good;
} Call;

static inline void call(Call *c, const char *text)
{
    memset(&c->values, 0xa5, sizeof c->values); /* defaults must not rely on zeros */
    c->program = the_program();
    c->error.text[0] = 0;
    ck_assert_msg(open_options(&c->options, &c->program, &c->values, &c->error), "%s", c->error.text);
    split(&c->line, text);
    c->good = options_parse(&c->options, c->line.count, c->line.word, &c->error);
}

static inline void done(Call *c)
{
    options_close(&c->options);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Calls that must work, and that must fail with these words in the error. */
static inline Shared shared_after(const char *text)
{
    Call c;
    call(&c, text);
    ck_assert_msg(c.good, "`%s`: %s", text, c.error.text);
    Shared shared = c.values.shared;
    done(&c);
    return shared;
}

static inline void refused(const char *text, const char *words)
{
    Call c;
    call(&c, text);
    ck_assert_msg(!c.good, "`%s` was accepted", text);
    ck_assert_msg(strstr(c.error.text, words) != NULL, "`%s`: \"%s\" does not say \"%s\"", text, c.error.text, words);
    done(&c);
}

#endif
