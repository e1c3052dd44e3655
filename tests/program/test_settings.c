/* config.json: every option of a run, as it was meant, comes back; what is fixed in a run stays fixed. */
#include "base/file.h"
#include "base/memory.h"
#include "core/program/settings.h"
#include "core/program/shared.h"
#include "core/run/json.h"
#include "core/run/run.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static const Command commands[] = {{"train", COMMAND_TRAIN, NULL, "train", NULL}};
static const Program program = {.name = "tiny", .about = "A program.", .commands = commands, .command_count = 1};
static const Program stranger = {.name = "other", .about = "A program.", .commands = commands, .command_count = 1};

/* `tiny train WORDS...`, up to a NULL */
typedef struct Call {
    SharedOptions v;
    Options o;
} Call;

static bool call(Call *c, const Program *p, char *const *words, Error *e)
{
    char *argv[16] = {"tiny", "train"};
    int argc = 2;
    const OptionTable table = {shared_options, shared_option_count, &c->v};
    while (words && *words)
        argv[argc++] = *words++;
    return options_open(&c->o, p, &table, 1, e) && options_parse(&c->o, argc, argv, e);
}

static void must_call(Call *c, char *const *words)
{
    Error e;
    ck_done(call(c, &program, words, &e), e);
}

static const char hash[65] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* A run that was made by such a call. */
static Run *made(char *const *words)
{
    static char path[600];
    Call c;
    Error e;
    Run *run;
    const DataNote data = {"some \"text\".txt", 12345, hash};
    snprintf(path, sizeof path, "%s/run", test_folder());
    must_call(&c, words);
    ck_done(run_create(&run, path, NULL, &e), e);
    ck_done(settings_save(run, &c.o, &data, &e), e);
    options_close(&c.o);
    return run;
}

START_TEST(options_come_back_as_they_were)
{
    char *const words[] = {"--dim=48",
                           "--no-bias",
                           "--tie",
                           "--lr=0.1",
                           "--betas",
                           "0.5,0.75",
                           "--norm=pre",
                           "--save-every",
                           "90s",
                           "--data",
                           "a\\b",
                           "--minutes=0.3333333333333333",
                           "--seed=4294967295",
                           NULL};
    Run *run = made(words);
    Call c;
    Error e;
    char sha[65];
    must_call(&c, NULL);
    ck_done(settings_load(run, &c.o, sha, &e), e);
    ck_assert_str_eq(sha, hash);
    ck_assert(c.v.dim == 48 && !c.v.bias && c.v.tie && c.v.lr == 0.1 && c.v.norm == 1 &&
              c.v.minutes == 0.3333333333333333);
    ck_assert(c.v.seed == 4294967295 && c.v.batch == 32);
    ck_assert_str_eq(c.v.betas, "0.5,0.75");
    ck_assert_str_eq(c.v.save_every, "90s");
    ck_assert_str_eq(c.v.data, "a\\b");
    options_close(&c.o);
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_file_tells_what_made_it)
{
    Run *run = made((char *const[]){"--json", "--quiet", NULL});
    Error e;
    Json *j;
    char *path = run_file(run, "config.json"), *text;
    size_t size;
    ck_done(file_read(path, &text, &size, &e), e);
    ck_done(json_read(&j, text, size, path, &e), e);
    ck_assert_str_eq(json_get_text(j, "program"), "tiny");
    ck_assert(json_get_text(j, "version") && json_get_text(j, "compiler") && json_get_text(j, "processor"));
    const Json *data = json_get(j, "data"), *model = json_get(j, "model"), *training = json_get(j, "training");
    int64_t bytes = 0;
    ck_assert(json_integer(json_get(data, "bytes"), &bytes) && bytes == 12345);
    ck_assert_str_eq(json_get_text(data, "path"), "some \"text\".txt");
    ck_assert_str_eq(json_get_text(data, "sha256"), hash);
    for (size_t i = 0; i < shared_option_count; i++) { /* every one under its name, in its class, and no other */
        const Option *row = &shared_options[i];
        bool has = row->standard || !(row->kind == OPTION_TEXT || row->kind == OPTION_PATH || row->kind == OPTION_SIZE);
        has = has && (row->kind != OPTION_CHOICE || row->standard || choice_name(row->choices, 0));
        ck_assert_msg((json_get(model, row->name) != NULL) == (row->class == OPTION_MODEL && has), "%s", row->name);
        ck_assert_msg((json_get(training, row->name) != NULL) == (row->class == OPTION_TRAINING && has), "%s",
                      row->name);
    }
    json_free(j);
    memory_free(text);
    memory_free(path);
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(the_model_is_fixed_and_training_is_not)
{
    Run *run = made((char *const[]){"--dim=48", "--lr=0.1", NULL});
    Call c;
    Error e;
    must_call(&c, (char *const[]){"--dim=64", NULL});
    ck_assert(!settings_load(run, &c.o, NULL, &e));
    ck_assert_msg(strstr(e.text, "dim") && strstr(e.text, "48"), "%s", e.text);
    options_close(&c.o);

    must_call(&c, (char *const[]){"--dim=48", "--lr=0.2", NULL}); /* the same again is no change */
    Buffer changes = {0};
    ck_done(settings_load(run, &c.o, NULL, &e), e);
    ck_assert(c.v.lr == 0.2 && c.v.dim == 48);
    options_changes(&c.o, &changes);
    ck_assert_str_eq(changes.text, "lr 0.1 -> 0.2\n");
    buffer_free(&changes);
    options_close(&c.o);
    run_close(run);
}

START_TEST(another_programs_run_is_refused)
{
    Run *run = made(NULL);
    Call c;
    Error e;
    ck_done(call(&c, &stranger, NULL, &e), e);
    ck_assert(!settings_load(run, &c.o, NULL, &e));
    ck_assert_msg(strstr(e.text, "a run of tiny, not of other") != NULL, "%s", e.text);
    options_close(&c.o);
    run_close(run);
}

START_TEST(a_configuration_that_is_none_is_refused)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"program\": \"tiny\"}",
        "{\"program\": \"tiny\", \"model\": {\"dim\": 0}, \"training\": {}}",
        "{\"program\": \"tiny\", \"model\": {\"dim\": 4.5}, \"training\": {}}",
        "{\"program\": \"tiny\", \"model\": {\"dim\": [4]}, \"training\": {}}",
        "{\"program\": \"tiny\", \"model\": {\"dimm\": 4}, \"training\": {}}",
        "{\"program\": \"tiny\", \"model\": {}}",
    };
    Run *run = made(NULL);
    char *path = run_file(run, "config.json");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Call c;
        Error e;
        ck_done(file_write(path, texts[i], strlen(texts[i]), &e), e);
        must_call(&c, NULL);
        e.text[0] = 0;
        ck_assert_msg(!settings_load(run, &c.o, NULL, &e), "%s", texts[i]);
        ck_assert_msg(e.text[0] && !strchr(e.text, '\n'), "%s: %s", texts[i], e.text);
        options_close(&c.o);
    }
    memory_free(path);
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* A value that cannot be, and none at all: which file, which option. */
START_TEST(what_is_wrong_with_a_configuration_is_said_with_its_name)
{
    static const struct {
        const char *from, *to, *words;
    } edits[] = {{"\"dim\": 256", "\"dim\": -3", "dim '-3'"},
                 {"\"lr\": 0.0001, ", "", "'lr' is missing"},
                 {"\"heads\": 8, ", "", "'heads' is missing"},
                 {"\"betas\": \"0.9,0.999\", ", "", "'betas' is missing"},
                 {"\"optimizer\": \"adam\", ", "", NULL}, /* of a run from before there was a choice */
                 {"\"tie\": false", "\"tie\": \"perhaps\"", "tie 'perhaps'"}};
    Run *run = made(NULL);
    char *path = run_file(run, "config.json"), *text;
    size_t size;
    Error e;
    ck_done(file_read(path, &text, &size, &e), e);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        Call c;
        Buffer b = {0};
        const char *at = strstr(text, edits[i].from);
        ck_assert_msg(at != NULL, "%s is not in %s", edits[i].from, text);
        buffer_print(&b, "%.*s%s%s", (int)(at - text), text, edits[i].to, at + strlen(edits[i].from));
        ck_done(file_write(path, b.text, b.size, &e), e);
        must_call(&c, NULL);
        ck_assert(settings_load(run, &c.o, NULL, &e) == !edits[i].words);
        ck_assert_msg(!edits[i].words || (strstr(e.text, "config.json: ") && strstr(e.text, edits[i].words)), "%s",
                      e.text);
        options_close(&c.o);
        buffer_free(&b);
    }
    memory_free(text);
    memory_free(path);
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool save_and_load(void *argument, Error *e)
{
    Run *run = argument;
    Call c;
    const DataNote data = {NULL, 1, hash};
    if (!call(&c, &program, (char *const[]){"--lr=0.5", "--data=x", NULL}, e)) {
        options_close(&c.o);
        return false;
    }
    bool fine = settings_save(run, &c.o, &data, e) && settings_load(run, &c.o, NULL, e);
    options_close(&c.o);
    return fine;
}

START_TEST(each_allocation_may_fail_and_nothing_is_kept)
{
    Run *run = made((char *const[]){"--lr=0.1", "--data=y", NULL});
    fail_each_allocation(save_and_load, run);
    run_close(run);
}

/* Plots, comparisons and checkpoints know what it means that a run has no such option. */
START_TEST(an_option_that_runs_may_lack_has_a_meaning)
{
    for (size_t i = 0; i < shared_option_count; i++)
        if (shared_options[i].class == OPTION_MODEL)
            ck_assert_msg(!shared_options[i].standard == !!run_unless_given(shared_options[i].name), "%s",
                          shared_options[i].name);
}

static const Test tests[] = {TEST(options_come_back_as_they_were),
                             TEST(a_file_tells_what_made_it),
                             TEST(the_model_is_fixed_and_training_is_not),
                             TEST(another_programs_run_is_refused),
                             TEST(a_configuration_that_is_none_is_refused),
                             TEST(what_is_wrong_with_a_configuration_is_said_with_its_name),
                             TEST(an_option_that_runs_may_lack_has_a_meaning),
                             TEST_SLOW(each_allocation_may_fail_and_nothing_is_kept, 120)};

int main(int argc, char **argv)
{
    return suite_run("program/settings", tests, sizeof tests / sizeof *tests, argc, argv);
}
