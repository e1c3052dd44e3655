/* Presets are the models that they are named after, and what is not asked for is a recipe that learns. */
#include "base/memory.h"
#include "charlm/prose.h"
#include "tests/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(each_preset_has_the_parameters_of_its_model)
{
    static const struct {
        const char *preset;
        double parameters, tokens_a_step, shares; /* two of a large model */
    } models[] = {{"former", 9664768, 32 * 256, 8},
                  {"former-wide", 31684864, 32 * 256, 2},
                  {"gpt2", 124439808, 512 * 1024, 2},
                  {"gpt2-tiny", 3152064, 8 * 256, 2}}; /* as many as it has micro-batches */
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        Json *j = must_json("info --preset %s --json", models[i].preset);
        ck_assert_double_eq(json_real(j, "parameters"), models[i].parameters);
        ck_assert_double_eq(json_real(j, "tokens_a_step"), models[i].tokens_a_step);
        ck_assert_double_eq(json_real(j, "shares_a_step"), models[i].shares);
        json_free(j);
    }
}

static Json *configuration(const char *run)
{
    Error e;
    Json *j;
    size_t size;
    char *text = read_in(run, "config.json", &size);
    ck_done(json_read(&j, text, size, "config.json", &e), e);
    memory_free(text);
    return j;
}

/* Whatever the defaults are: a published figure belongs to these. */
START_TEST(former_trains_as_its_author_did)
{
    static const char *const settings[][2] = {
        {"norm", "post"},        {"activation", "relu"},     {"positions", "learned"}, {"distances", "none"},
        {"score", "scaled-dot"}, {"init", "pytorch"},        {"betas", "0.9,0.999"},   {"schedule", "constant"},
        {"dropout", "0"},        {"attention-dropout", "0"}, {"ff-dropout", "0"},      {"smoothing", "0"},
        {"batch", "32"},         {"lr", "0.0001"},           {"epsilon", "1e-08"},     {"decay", "0"},
        {"clip", "1"},           {"warmup", "156"},          {"steps", "170000"},      {"eval-every", "1500"},
        {"micro-batch", "2"},    {"patience", "0"}};
    const char *run = fresh_path("run");
    Said s = must("train --run %s --preset %s --dim 16 --heads 2 --head-size 8 --ff 8 --depth 1 --context 16 --minutes "
                  "1e-9 -q",
                  run, _i ? "former-wide" : "former");
    Json *j = configuration(run);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const Json *model = json_get(json_get(j, "model"), settings[i][0]);
        const Json *found = model ? model : json_get(json_get(j, "training"), settings[i][0]);
        ck_assert_msg(found != NULL, "%s", settings[i][0]);
        ck_assert_msg(found->kind == JSON_NUMBER ? found->number == atof(settings[i][1])
                                                 : !strcmp(found->text, settings[i][1]),
                      "%s is %s", settings[i][0], found->text);
    }
    json_free(j);
    said_free(&s);
}

static double learnt(const char *words)
{
    const char *run = fresh_path("run");
    write_in(run, "text", prose_text, prose_size);
    Json *j = must_json(
        "train --run %s/run --data %s/text %s --dim 32 --heads 2 --depth 2 --context 64 --steps 400 --minutes 0 "
        "--eval-every 0 --eval-bytes 5000 -q --json",
        run, run, words);
    double bits = json_real(j, "best");
    json_free(j);
    return bits;
}

/* With a size alone a model learns as with the preset that was made for a short time. */
START_TEST(without_a_preset_the_options_are_a_good_recipe)
{
    double with = learnt("--preset prose"), without = learnt("");
    ck_assert_msg(without < 1.02 * with, "%.4f bits/byte, %.4f with --preset prose", without, with);
}

/* The rate that is not given follows the width, and a run stores it. */
START_TEST(a_rate_of_0_is_that_of_the_width)
{
    const char *run = fresh_path("run");
    Said s = must("train --run %s --dim 16 --heads 2 --depth 1 --context 16 --steps 1 --lr 0 -q", run);
    Json *j = configuration(run);
    ck_assert_double_eq(json_real(json_get(j, "training"), "lr"), 0.025);
    json_free(j);
    said_free(&s);
}

static const Test tests[] = {
    TEST(each_preset_has_the_parameters_of_its_model), TEST_LOOP(former_trains_as_its_author_did, 2),
    TEST_SLOW(without_a_preset_the_options_are_a_good_recipe, 120), TEST(a_rate_of_0_is_that_of_the_width)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/presets", tests, sizeof tests / sizeof *tests, argc, argv);
}
