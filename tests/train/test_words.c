/* Word dropout: which ids of a step's batch become <unk>, and that nothing else changes. */
#include "base/memory.h"
#include "core/train/step.h"
#include "tests/train/tiny.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIRST = 5, ALL = 4 * 6 }; /* four rows of six letters */

static void open_run(TinyRun *r, double rate, int32_t first)
{
    char path[600];
    Error e;
    snprintf(path, sizeof path, "%s/run%g-%d", test_folder(), rate, (int)first);
    tiny_run_open(r, path, &tiny_standard, &(LoopOptions){.steps = 0});
    trainer_close(&r->trainer);
    r->tiny.task.first_word[0] = first;
    TrainerOptions o = tiny_trainer(2, 1);
    r->tiny.task.word_dropout[0] = first ? rate : 0;
    ck_done(trainer_open(&r->trainer, &o, &r->tiny.parameters, &r->tiny.task, &e), e);
    ck_done(weights_init(&r->trainer.weights, r->trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
}

START_TEST(words_become_unknown_as_often_as_said)
{
    static const double rates[] = {0.5, 0.125};
    TinyRun with, without;
    open_run(&with, rates[_i], FIRST);
    open_run(&without, 0, FIRST);
    const Side *side = &with.trainer.batch.side[0], *whole = &without.trainer.batch.side[0];
    double words = 0, dropped = 0;
    for (uint64_t step = 1; step <= 200; step++) {
        int32_t ids[ALL];
        step_begin(&with.trainer, step, 0);
        step_begin(&without.trainer, step, 0);
        ck_assert(side->positions == ALL && whole->positions == ALL);
        memcpy(ids, side->ids, sizeof ids);
        for (size_t n = 0; n < ALL; n++) {
            const bool word = whole->ids[n] >= FIRST, gone = ids[n] != whole->ids[n];
            words += word, dropped += gone;
            ck_assert(!gone || (word && ids[n] == 0));
            ck_assert_int_eq(side->targets[n], whole->targets[n]);
        }
        step_begin(&with.trainer, step, 0); /* a pure function of the step */
        ck_assert(memcmp(ids, side->ids, sizeof ids) == 0);
    }
    ck_assert_double_eq_tol(dropped / words, rates[_i], 4 * sqrt(rates[_i] * (1 - rates[_i]) / words));
    tiny_run_close(&with);
    tiny_run_close(&without);
}

START_TEST(a_side_without_words_and_what_is_scored_stay)
{
    TinyRun with, without;
    MeanLoss scores[2];
    Error e;
    open_run(&with, 0.5, _i ? FIRST : 0);
    open_run(&without, 0, FIRST);
    step_begin(&with.trainer, 1, 0);
    step_begin(&without.trainer, 1, 0);
    ck_assert(!memcmp(with.trainer.batch.side[0].ids, without.trainer.batch.side[0].ids, ALL * sizeof(int32_t)) == !_i);
    ck_done(trainer_score(&with.trainer, &scores[0], &e) && trainer_score(&without.trainer, &scores[1], &e), e);
    ck_assert(scores[0].loss == scores[1].loss);
    tiny_run_close(&with);
    tiny_run_close(&without);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(words_become_unknown_as_often_as_said, 2),
                                 TEST_LOOP(a_side_without_words_and_what_is_scored_stay, 2)};
    return suite_run("train/words", tests, sizeof tests / sizeof *tests, argc, argv);
}
