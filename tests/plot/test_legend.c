/* Legends: curves are called by what differs between their runs, and by nothing else. */
#include "core/plot/legend.h"

#include "base/memory.h"
#include "tests/plot/runs.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

static Legend legend_of(const char *const *runs, size_t count, bool apart)
{
    Legend l;
    Error e;
    ck_done(legend_make(&l, runs, count, apart, &e), e);
    return l;
}

#define TRAINING(seed, more) "\"steps\": 9, \"decay-steps\": 9, \"workers\": " seed ", \"seed\": " seed more

START_TEST(labels_are_what_differs)
{
    const char *const runs[] = {
        made_run("a", "\"dim\": 64, \"norm\": \"pre\", \"bias\": true", TRAINING("1", ""), 3, 0),
        made_run("b", "\"dim\": 128, \"norm\": \"pre\", \"bias\": false", TRAINING("1", ""), 3, 0)};
    Legend l = legend_of(runs, 2, false);
    ck_assert_uint_eq(l.curves, 2);
    ck_assert_str_eq(l.label[0], "dim 64, bias yes");
    ck_assert_str_eq(l.label[1], "dim 128, bias no");
    legend_free(&l);
    l = legend_of(runs, 1, false); /* one curve needs no name */
    ck_assert(l.curves == 1 && l.label[0][0] == 0);
    legend_free(&l);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* A legend with all of them would fill the picture, and be cut off. */
START_TEST(runs_that_differ_in_many_options_are_called_by_their_folders)
{
    static const char model[] = "\"dim\": 64, \"heads\": 2, \"depth\": 1, \"ff\": 0",
                      three[] = "\"dim\": 32, \"heads\": 4, \"depth\": 2, \"ff\": 0",
                      four[] = "\"dim\": 16, \"heads\": 4, \"depth\": 2, \"ff\": 9";
    const char *const runs[] = {
        made_run("a", model, TRAINING("1", ""), 3, 0), made_run("big-s1", three, TRAINING("1", ""), 3, 0),
        made_run("c", four, TRAINING("1", ""), 3, 0), made_run("big-s2", three, TRAINING("2", ""), 3, 0)};
    Legend l = legend_of(runs, 2, false);
    ck_assert_str_eq(l.label[1], "dim 32, heads 4, depth 2");
    legend_free(&l);
    l = legend_of(runs, 3, false);
    ck_assert_str_eq(l.label[0], "a");
    ck_assert_str_eq(l.label[1], "big-s1");
    ck_assert_str_eq(l.label[2], "c");
    legend_free(&l);
    l = legend_of(runs, 4, false); /* of a sweep's row all seeds */
    ck_assert_uint_eq(l.curves, 3);
    ck_assert_str_eq(l.label[1], "big");
    legend_free(&l);
    l = legend_of(runs, 4, true);
    ck_assert_str_eq(l.label[3], "big-s2");
    legend_free(&l);
    const char *const alike[] = {runs[0], made_run("d/a", four, TRAINING("1", ""), 3, 0)};
    l = legend_of(alike, 2, false);
    ck_assert_str_eq(l.label[0], alike[0]);
    ck_assert_str_eq(l.label[1], alike[1]);
    legend_free(&l);
}

START_TEST(seeds_are_one_curve_unless_they_are_wanted_apart)
{
    const char *const runs[] = {made_run("a", "\"dim\": 64", TRAINING("1", ""), 3, 0),
                                made_run("b", "\"dim\": 32", TRAINING("1", ""), 3, 0),
                                made_run("c", "\"dim\": 64", TRAINING("2", ""), 3, 0)};
    Legend l = legend_of(runs, 3, false);
    ck_assert_uint_eq(l.curves, 2);
    ck_assert(l.curve[0] == 0 && l.curve[1] == 1 && l.curve[2] == 0);
    ck_assert_str_eq(l.label[0], "dim 64");
    ck_assert_str_eq(l.label[1], "dim 32");
    legend_free(&l);
    l = legend_of(runs, 3, true);
    ck_assert_uint_eq(l.curves, 3);
    ck_assert_str_eq(l.label[0], "dim 64, seed 1");
    ck_assert_str_eq(l.label[1], "dim 32");
    ck_assert_str_eq(l.label[2], "dim 64, seed 2");
    legend_free(&l);
}

/* Some options are stored only if they were given: a run without one is not a seed of those with it. */
START_TEST(an_option_that_was_not_given_differs_from_one_that_was)
{
    const char *const runs[] = {made_run("a", "\"dim\": 64", TRAINING("1", ""), 3, 0),
                                made_run("b", "\"dim\": 64, \"kv-heads\": 1", TRAINING("2", ""), 3, 0),
                                made_run("c", "\"dim\": 64, \"norm-kind\": \"layer\"", TRAINING("3", ""), 3, 0)};
    for (size_t turn = 0; turn < 2; turn++) {
        const char *const some[] = {runs[turn], runs[1 - turn], runs[2]};
        Legend l = legend_of(some, 3, false);
        ck_assert_uint_eq(l.curves, 2);
        ck_assert_uint_eq(l.curve[2], turn); /* layer norm is what a has, too */
        ck_assert_str_eq(l.label[turn], "kv-heads all");
        ck_assert_str_eq(l.label[1 - turn], "kv-heads 1");
        legend_free(&l);
    }
}

/* Those of training, too. */
START_TEST(a_group_that_was_not_given_differs_from_one_that_was)
{
    const char *const runs[] = {made_run("a", "\"dim\": 64", TRAINING("1", ""), 3, 0),
                                made_run("b", "\"dim\": 64", TRAINING("2", ", \"lr-end\": \"0.5\""), 3, 0),
                                made_run("c", "\"dim\": 64", TRAINING("3", ", \"ema\": 0"), 3, 0)};
    Legend l = legend_of(runs, 3, false);
    ck_assert_uint_eq(l.curves, 2);
    ck_assert_uint_eq(l.curve[2], 0);
    ck_assert_str_eq(l.label[0], "lr-end its own");
    ck_assert_str_eq(l.label[1], "lr-end 0.5");
    legend_free(&l);
}

START_TEST(runs_that_differ_in_nothing_are_called_by_their_folders)
{
    const char *const runs[] = {made_run("a", "\"dim\": 64", TRAINING("1", ""), 3, 0),
                                made_run("b#_^", "\"dim\": 64", TRAINING("1", ""), 3, 0), place("a/")};
    Legend l = legend_of(runs, 2, false);
    ck_assert_uint_eq(l.curves, 2); /* the same seed: not the spread of seeds */
    ck_assert_str_eq(l.label[0], "a");
    ck_assert_str_eq(l.label[1], "b#_^");
    legend_free(&l);
    l = legend_of(runs + 1, 2, false);
    ck_assert_str_eq(l.label[1], "a");
    legend_free(&l);
    const char *const alike[] = {runs[0], made_run("c/a", "\"dim\": 64", TRAINING("1", ""), 3, 0)};
    l = legend_of(alike, 2, false); /* and where those are alike, by their paths */
    ck_assert_str_eq(l.label[0], alike[0]);
    ck_assert_str_eq(l.label[1], alike[1]);
    legend_free(&l);
}

START_TEST(what_an_older_version_did_not_know_is_no_difference)
{
    const char *const runs[] = {made_run("a", "\"dim\": 64, \"score\": \"dot\"", TRAINING("1", ""), 3, 0),
                                made_run("b", "\"dim\": 65", TRAINING("1", ", \"clip\": 3"), 3, 0)};
    Legend l = legend_of(runs, 2, false);
    ck_assert_str_eq(l.label[0], "dim 64");
    ck_assert_str_eq(l.label[1], "dim 65");
    legend_free(&l);
}

START_TEST(what_follows_from_another_option_is_not_said_twice)
{
    const char *const runs[] = {made_run("a", "", "\"steps\": 9, \"decay-steps\": 9", 3, 0),
                                made_run("b", "", "\"steps\": 20, \"decay-steps\": 20", 3, 0),
                                made_run("c", "", "\"steps\": 20, \"decay-steps\": 5", 3, 0)};
    Legend l = legend_of(runs, 2, false);
    ck_assert_str_eq(l.label[0], "steps 9");
    ck_assert_str_eq(l.label[1], "steps 20");
    legend_free(&l);
    l = legend_of(runs + 1, 2, false);
    ck_assert_str_eq(l.label[0], "decay-steps 20");
    ck_assert_str_eq(l.label[1], "decay-steps 5");
    legend_free(&l);
}

START_TEST(a_folder_without_a_sound_configuration_is_refused)
{
    const char *runs[] = {made_run("a", "", "", 3, 0), place("nowhere")};
    Legend l;
    Error e;
    ck_assert(!legend_make(&l, runs, 2, false, &e));
    ck_assert_msg(strstr(e.text, "config.json"), "%s", e.text);
    text_file("a/config.json", "{\"model\": ");
    ck_assert(!legend_make(&l, runs, 1, false, &e));
    text_file("a/config.json", "[1, 2]");
    ck_done(legend_make(&l, runs, 1, false, &e), e); /* nothing to tell apart by, which is no harm */
    legend_free(&l);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool make_and_free(void *runs, Error *e)
{
    Legend l;
    if (!legend_make(&l, runs, 3, false, e))
        return false;
    legend_free(&l);
    return true;
}

START_TEST(each_failed_allocation_is_an_error)
{
    const char *runs[] = {made_run("a", "\"dim\": 64", TRAINING("1", ""), 3, 0),
                          made_run("b", "\"dim\": 64", TRAINING("2", ""), 3, 0),
                          made_run("c", "\"dim\": 65", TRAINING("2", ""), 3, 0)};
    fail_each_allocation(make_and_free, runs);
}

static const Test tests[] = {
    TEST(labels_are_what_differs),
    TEST(runs_that_differ_in_many_options_are_called_by_their_folders),
    TEST(seeds_are_one_curve_unless_they_are_wanted_apart),
    TEST(an_option_that_was_not_given_differs_from_one_that_was),
    TEST(a_group_that_was_not_given_differs_from_one_that_was),
    TEST(runs_that_differ_in_nothing_are_called_by_their_folders),
    TEST(what_an_older_version_did_not_know_is_no_difference),
    TEST(what_follows_from_another_option_is_not_said_twice),
    TEST(a_folder_without_a_sound_configuration_is_refused),
    TEST(each_failed_allocation_is_an_error),
};

int main(int argc, char **argv) { return suite_run("plot/legend", tests, sizeof tests / sizeof *tests, argc, argv); }
