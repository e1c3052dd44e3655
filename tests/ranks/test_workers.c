/* Runs are the same with any number of workers, bit for bit. */
#include "tests/ranks/same.h"
#include "tests/same_runs.h"

#include <stdio.h>
#include <string.h>

START_TEST(any_number_of_workers_makes_the_same_run)
{
    const SameCase *c = &same_cases[_i];
    char one[700], other[720];
    command_program(c->program);
    snprintf(one, sizeof one, "%s", fresh_path("one"));
    works("train --run %s %s --workers 1", one, c->words);
    for (int workers = 2; workers <= 5; workers += workers == 2 ? 1 : 2) {
        snprintf(other, sizeof other, "%s-%d", one, workers);
        works("train --run %s %s --workers %d", other, c->words, workers);
        expect_same_runs(one, other, SAME_STEPS);
    }
}

/* And a run may go on with other workers than it began with. */
START_TEST(a_run_goes_on_with_another_number_of_workers)
{
    const SameCase *c = &same_cases[_i];
    char one[700], other[720];
    command_program(c->program);
    snprintf(one, sizeof one, "%s", fresh_path("one"));
    snprintf(other, sizeof other, "%s-other", one);
    works("train --run %s %s --workers 2", one, c->words);
    works("train --run %s %s --workers 3 --steps 5", other, c->words);
    works("train --resume %s --workers 1 --steps 9 -q %s", other, _i == 3 || _i == 4 ? "--no-cache" : "");
    expect_same(one, other, "checkpoints/00000009/model.safetensors");
}

/* 16 micro-batches in 8 shares: of three workers, two have three shares; of four, each has two. */
START_TEST(workers_with_uneven_shares_are_told_once)
{
    static const char *const words = "--dim 16 --heads 2 --depth 1 --context 16 --batch 16 --micro-batch 1 --minutes 0 "
                                     "--steps 3 --eval-bytes 300";
    Said s = must("train --run %s %s --workers 3", fresh_path("uneven"), words);
    const char *said = strstr(s.err,
                              "3 workers are as fast as 2.7: a step's 16 micro-batches are 8 shares, and one worker "
                              "has 6 micro-batches");
    ck_assert_msg(said && !strstr(said + 30, "as fast as"), "%s", s.err);
    said_free(&s);
    s = must("train --run %s %s --workers 4", fresh_path("even"), words);
    ck_assert_msg(!strstr(s.err, "as fast as"), "%s", s.err);
    said_free(&s);
    s = must("info %s --workers 3", "--dim 16 --heads 2 --depth 1 --context 16 --batch 16 --micro-batch 1");
    ck_assert_msg(strstr(s.out, "16 micro-batches in 8 shares; a worker computes up to 6"), "%s", s.out);
    said_free(&s);
    Json *j = must_json("info --dim 16 --heads 2 --depth 1 --context 16 --batch 16 --micro-batch 1 --workers 3 --json");
    ck_assert(json_real(j, "shares_a_step") == 8 && json_real(j, "micro_batches_a_step") == 16);
    ck_assert(json_real(j, "micro_batches_a_worker") == 6);
    json_free(j);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(any_number_of_workers_makes_the_same_run, SAME_CASES),
                                 TEST_LOOP(a_run_goes_on_with_another_number_of_workers, SAME_CASES),
                                 TEST(workers_with_uneven_shares_are_told_once)};
    return suite_run("ranks/workers", tests, sizeof tests / sizeof *tests, argc, argv);
}
