/* The command line of charlm, and the configuration file that it names. An input is a word a line, the command first;
 * after an empty line follows the file, whatever name --config gives it.
 *
 * What was understood, written as texts or as the JSON of a run and read again, means the same. */
#include "charlm/options.h"
#include "base/memory.h"
#include "core/program/settings.h"
#include "core/run/json.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 64 };

typedef struct Call {
    char *text, *word[WORDS + 1];
    char config[400]; /* --config=PATH */
    int count;
} Call;

/* Puts our own file in the place of any other: no fuzzer is to read the machine's. */
static char *replace_path(Call *c, char *word, bool *is_path)
{
    bool was_path = *is_path;
    *is_path = !strcmp(word, "--config");
    if (was_path)
        return c->config + strlen("--config=");
    return strncmp(word, "--config=", strlen("--config=")) ? word : c->config;
}

static void call_open(Call *c, const uint8_t *data, size_t size)
{
    static char program[] = "charlm";
    *c = (Call){.text = memory_get(size + 1, 1)};
    DEMAND(c->text, "there is memory");
    memcpy(c->text, data, size);
    char *file = strstr(c->text, "\n\n");
    size_t from = file ? (size_t)(file - c->text) + 2 : size;
    snprintf(c->config, sizeof c->config, "--config=%s", fuzz_file(data + from, size - from));
    if (file)
        *file = 0;
    c->word[c->count++] = program;
    bool is_path = false;
    for (char *at = c->text; at && c->count < WORDS;) {
        char *end = strchr(at, '\n');
        if (end)
            *end = 0;
        c->word[c->count++] = replace_path(c, at, &is_path);
        at = end ? end + 1 : NULL;
    }
}

/* charlm's, of which only names and bits are read. */
static const Command commands[] = {
    {"train", COMMAND_TRAIN, NULL, "", NULL},       {"eval", COMMAND_EVAL, NULL, "", NULL},
    {"baseline", COMMAND_BASELINE, NULL, "", NULL}, {"sample", COMMAND_WRITE, NULL, "", NULL},
    {"heads", COMMAND_HEADS, NULL, "", NULL},       {"plot", COMMAND_PLOT, "[RUN...]", "", NULL},
    {"info", COMMAND_INFO, NULL, "", NULL},         {"bench", COMMAND_BENCH, NULL, "", NULL}};

static bool open_table(Options *o, CharlmOptions *v, Error *e)
{
    const OptionTable tables[] = {{shared_options, shared_option_count, &v->shared},
                                  {charlm_options, charlm_option_count, v}};
    memset(v, 0xa5, sizeof *v); /* defaults must not rely on zeros */
    static Program program;     /* outlives the options */
    program = charlm_program;
    program.commands = commands;
    program.command_count = sizeof commands / sizeof *commands;
    return options_open(o, &program, tables, 2, e);
}

static void expect_same_text(const OptionState *a, const OptionState *b)
{
    Buffer x = {0}, y = {0};
    DEMAND(options_text(a, &x) == options_text(b, &y) && x.size == y.size &&
               (!x.size || !memcmp(x.text, y.text, x.size)),
           "a value that is read again is the same");
    buffer_free(&x);
    buffer_free(&y);
}

/* Of options of one name, which different commands have, the first is meant where no command says which. */
static bool is_meant(const Options *o, size_t i)
{
    size_t first = 0;
    while (strcmp(o->states[first].row->name, o->states[i].row->name) != 0)
        first++;
    return first == i;
}

/* Every value as its text, into a fresh table. */
static void read_texts_again(const Options *o)
{
    CharlmOptions values;
    Options other;
    Error e;
    DEMAND(open_table(&other, &values, &e), "the table is sound");
    for (size_t i = 0; i < o->count; i++) {
        Buffer text = {0};
        if (!is_meant(o, i))
            continue;
        if (options_text(&o->states[i], &text))
            DEMAND(options_set(&other, o->states[i].row->name, text.text ? text.text : "", FROM_COMMAND_LINE, &e),
                   "the text of a value is read");
        buffer_free(&text);
        expect_same_text(&o->states[i], &other.states[i]);
    }
    options_close(&other);
}

/* The options of a class as a run stores them. */
static void read_json_again(const Options *o, OptionClass class)
{
    CharlmOptions values;
    Options other;
    Buffer text = {0};
    Json *json = NULL;
    Error e;
    DEMAND(open_table(&other, &values, &e) && settings_json(o, class, &text, &e), "options are written as JSON");
    DEMAND(json_read(&json, text.text, text.size, "options", &e), "the JSON of options is read");
    for (size_t i = 0; i < json->count; i++) {
        const Json *item = &json->items[i];
        const char *value = item->kind == JSON_BOOL ? (item->truth ? "yes" : "no") : item->text;
        DEMAND(value && options_set(&other, item->key, value, FROM_RUN, &e), "the JSON of an option is read");
    }
    for (size_t i = 0; i < o->count; i++) /* texts that are no UTF-8 cannot be stored */
        if (o->states[i].row->class == class && o->states[i].row->kind < OPTION_TEXT)
            expect_same_text(&o->states[i], &other.states[i]);
    json_free(json);
    buffer_free(&text);
    options_close(&other);
}

/* CharlmOptions that are texts with a form of their own. */
static void read_forms(const CharlmOptions *v)
{
    double seconds, beta1, beta2;
    size_t steps, stride;
    Error e = {{0}};
    if (parse_every(v->shared.save_every, &steps, &seconds, &e))
        DEMAND(isfinite(seconds) && seconds >= 0 && steps <= (size_t)1e15, "a time is finite");
    if (parse_betas(v->shared.betas, &beta1, &beta2, &e))
        DEMAND(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1, "betas are below 1");
    if (parse_stride(v->stride, v->shared.context, &stride, &e))
        DEMAND(stride >= 1 && stride <= v->shared.context, "a stride is within the context");
}

static void show_help(const Options *o)
{
    Buffer text = {0};
    options_help(o, &text);
    DEMAND(!text.failed && text.size, "there is help");
    buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Call c;
    CharlmOptions values;
    Options options;
    Error e = {{0}};
    fuzz_begin();
    call_open(&c, data, size);
    DEMAND(open_table(&options, &values, &e), "the table is sound");
    if (!options_parse(&options, c.count, c.word, &e)) {
        fuzz_refused(&e);
    } else if (options.asked == ASKED_HELP) {
        show_help(&options);
    } else if (options.asked == ASKED_WORK) {
        read_texts_again(&options);
        read_json_again(&options, OPTION_MODEL);
        read_json_again(&options, OPTION_TRAINING);
        read_forms(&values);
    }
    options_close(&options);
    memory_free(c.text);
    fuzz_end(size);
    return 0;
}
