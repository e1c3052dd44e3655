/* The loop: when it evaluates, saves and stops; that going on with a run is the same as never having stopped; and that
 * a model learns by it. */
#include "base/file.h"
#include "base/memory.h"
#include "core/cli/progress.h"
#include "core/cli/stop.h"
#include "tests/train/tiny.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LATE = 6 }; /* columns of the log before those that tell the time */

static LoopOptions standard(uint64_t steps)
{
    return (LoopOptions){.schedule = {.kind = SCHEDULE_COSINE, .rate = 3e-3, .warmup = 3, .decay_steps = 40},
                         .steps = steps,
                         .eval_every = 4,
                         .keep = 2};
}

static char *run_path(const char *name)
{
    static char paths[4][600];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static void expect_checkpoints(const TinyRun *r, size_t wanted, const uint64_t *steps)
{
    Error e;
    uint64_t *found;
    size_t count;
    ck_done(run_checkpoint_list(r->run, &found, &count, &e), e);
    ck_assert_uint_eq(count, wanted);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(found[i], steps[i]);
    memory_free(found);
}

static uint64_t marked(const TinyRun *r, const char *name)
{
    Error e;
    uint64_t step = 0;
    ck_done(run_marked(r->run, name, &step, &e), e);
    return step;
}

/* The log's lines, each without its last columns: speed and seconds. */
static char *log_without_time(const TinyRun *r)
{
    size_t size, used = 0, column = 0;
    char *text = tiny_run_text(r, "log.tsv", &size);
    for (size_t i = 0; i < size; i++) {
        column = text[i] == '\n' ? 0 : column + (text[i] == '\t');
        if (column < LATE)
            text[used++] = text[i];
    }
    text[used] = 0;
    return text;
}

static void expect_same(const TinyRun *a, const TinyRun *b, const char *name)
{
    size_t first, second;
    char *x = tiny_run_text(a, name, &first), *y = tiny_run_text(b, name, &second);
    ck_assert_uint_eq(first, second);
    ck_assert_msg(memcmp(x, y, first) == 0, "%s differs", name);
    memory_free(x);
    memory_free(y);
}

static void expect_same_log(const TinyRun *a, const TinyRun *b)
{
    char *x = log_without_time(a), *y = log_without_time(b);
    ck_assert_str_eq(x, y);
    memory_free(x);
    memory_free(y);
}

/* --- what is saved when --- */

START_TEST(no_steps_make_a_run_with_its_initial_weights)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(0);
    tiny_run_open(&r, run_path("run"), &tiny_standard, &o);
    ck_done(loop_run(&r.loop, &e), e);
    expect_checkpoints(&r, 1, (const uint64_t[]){0});
    ck_assert_uint_eq(marked(&r, "best"), 0);
    ck_assert_uint_eq(marked(&r, "last"), 0);
    ck_assert(loop_over(&r.loop));
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_run_that_is_never_scored_has_its_last_as_best)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(5);
    tiny_run_open(&r, run_path("run"), &tiny_standard, &o);
    r.tiny.task.score_batches = 0;
    ck_done(loop_run(&r.loop, &e), e);
    ck_assert(!r.loop.at.scored);
    ck_assert_uint_eq(marked(&r, "best"), 5);
    ck_assert_uint_eq(marked(&r, "last"), 5);
    tiny_run_close(&r);
}

START_TEST(checkpoints_come_by_steps_and_the_last_ones_are_kept)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(20);
    o.save_every = 3;
    o.eval_every = 0; /* at the end only, which makes it the best */
    tiny_run_open(&r, run_path("run"), &tiny_standard, &o);
    ck_done(loop_run(&r.loop, &e), e);
    expect_checkpoints(&r, 2, (const uint64_t[]){18, 20});
    tiny_run_close(&r);

    o.keep = 0;
    tiny_run_open(&r, run_path("all"), &tiny_standard, &o);
    ck_done(loop_run(&r.loop, &e), e);
    expect_checkpoints(&r, 8, (const uint64_t[]){0, 3, 6, 9, 12, 15, 18, 20});
    tiny_run_close(&r);
}

START_TEST(checkpoints_come_by_time)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(4);
    o.keep = 0;
    o.eval_every = 0;
    o.save_seconds = 1e-9;
    tiny_run_open(&r, run_path("run"), &tiny_standard, &o);
    ck_done(loop_run(&r.loop, &e), e);
    expect_checkpoints(&r, 5, (const uint64_t[]){0, 1, 2, 3, 4});
    tiny_run_close(&r);
}

/* A learning rate so high that the first evaluation stays the best for ever. */
static void spoiled(LoopOptions *o)
{
    o->schedule = (Schedule){.kind = SCHEDULE_CONSTANT, .rate = 0.3, .warmup = 8};
    o->eval_every = 1;
}

START_TEST(the_best_is_kept_however_old_it_is)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(40);
    spoiled(&o);
    o.save_every = 1;
    tiny_run_open(&r, run_path("run"), &tiny_standard, &o);
    ck_done(loop_run(&r.loop, &e), e);
    uint64_t best = r.loop.at.best_step;
    ck_assert_uint_lt(best, 38);
    expect_checkpoints(&r, 3, (const uint64_t[]){best, 39, 40});
    ck_assert_uint_eq(marked(&r, "best"), best);
    ck_assert_uint_eq(marked(&r, "last"), 40);

    Progression at;
    MeanLoss score;
    ck_done(checkpoint_load(r.run, &r.trainer, best, NULL, &at, &e), e);
    ck_done(trainer_score(&r.trainer, &score, &e), e);
    ck_assert(at.best == r.loop.at.best && score.loss == at.best);
    tiny_run_close(&r);
}

START_TEST(a_run_ends_when_its_patience_does)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(1000);
    spoiled(&o);
    o.patience = 5;
    tiny_run_open(&r, run_path("run"), &tiny_standard, &o);
    ck_done(loop_run(&r.loop, &e), e);
    ck_assert_uint_eq(r.loop.at.stalled, 5);
    ck_assert_uint_lt(r.loop.at.step, 1000);
    ck_assert_uint_eq(r.loop.at.step, marked(&r, "last"));
    ck_assert(loop_over(&r.loop) && !r.loop.stopped);
    tiny_run_close(&r);
}

START_TEST(a_step_that_would_not_fit_is_not_begun)
{
    Loop l = {.options = {.steps = 100, .minutes = 1}};
    const struct {
        uint64_t step;
        double seconds;
        bool over;
    } cases[] = {{0, 0, false}, {1, 29.9, false}, {1, 30.1, true}, {50, 58, false}, {50, 59, true}, {99, 60, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        l.at = (Progression){.step = cases[i].step, .seconds = cases[i].seconds};
        ck_assert_msg(loop_over(&l) == cases[i].over, "%d steps in %g s", (int)cases[i].step, cases[i].seconds);
    }
}

START_TEST(minutes_end_a_run_and_are_remembered)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(1000000);
    char *path = run_path("run");
    o.minutes = 0.3 / 60;
    tiny_run_open(&r, path, &tiny_standard, &o);
    ck_done(loop_run(&r.loop, &e), e);
    double seconds = r.loop.at.seconds;
    uint64_t step = r.loop.at.step;
    ck_assert(seconds > 0.2 && seconds < 5);
    ck_assert(step > 3 && loop_over(&r.loop));
    tiny_run_close(&r);

    tiny_run_open(&r, path, &tiny_standard, &o);
    ck_assert(r.loop.at.seconds == seconds && r.loop.at.step == step && loop_over(&r.loop));
    r.loop.options.minutes *= 2;
    ck_assert(!loop_over(&r.loop));
    ck_done(loop_run(&r.loop, &e), e);
    ck_assert(r.loop.at.step > step && r.loop.at.seconds > 0.5);
    tiny_run_close(&r);
}

/* --- going on --- */

/* Opens a run, trains it up to this many steps, closes it. */
static void train_up_to(const char *path, uint64_t steps)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(steps);
    tiny_run_open(&r, path, &tiny_standard, &o);
    ck_done(loop_run(&r.loop, &e), e);
    ck_assert_uint_eq(r.loop.at.step, steps);
    tiny_run_close(&r);
}

static void expect_equal_runs(const char *one, const char *other, uint64_t step)
{
    TinyRun a, b;
    LoopOptions o = standard(step);
    char name[100];
    tiny_run_open(&a, one, &tiny_standard, &o);
    tiny_run_open(&b, other, &tiny_standard, &o);
    snprintf(name, sizeof name, "checkpoints/%08u/model.safetensors", (unsigned)step);
    expect_same(&a, &b, name);
    snprintf(name, sizeof name, "checkpoints/%08u/state.safetensors", (unsigned)step);
    expect_same(&a, &b, name);
    expect_same(&a, &b, "best");
    expect_same(&a, &b, "last");
    expect_same_log(&a, &b);
    tiny_run_close(&a);
    tiny_run_close(&b);
}

START_TEST(twice_n_steps_are_n_steps_and_n_more_bit_for_bit)
{
    char *whole = run_path("whole"), *halves = run_path("halves");
    train_up_to(whole, 24);
    train_up_to(halves, 12);
    train_up_to(halves, 24);
    expect_equal_runs(whole, halves, 24);
}

START_TEST(the_same_run_twice_gives_the_same_files)
{
    char *one = run_path("one"), *two = run_path("two");
    train_up_to(one, 13);
    train_up_to(two, 13);
    expect_equal_runs(one, two, 13);
}

/* A process of its own, because a stop is asked for once and for all; stops at that step, and says how it went. */
static int stopped_child(const char *path, uint64_t stop_at, uint64_t steps)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(steps);
    tiny_run_open(&r, path, &tiny_standard, &o);
    r.tiny.stop_at = stop_at;
    Progress progress = progress_open(stderr, true);
    const Watch watch = progress_watch(&progress);
    r.trainer.watch = &watch;
    stop_catch();
    if (!loop_run(&r.loop, &e))
        return 2;
    bool right = r.loop.at.step == stop_at && r.loop.stopped == (stop_at < steps) && marked(&r, "last") == stop_at;
    tiny_run_close(&r);
    return right ? 0 : 3;
}

static void stop_run(const char *path, uint64_t stop_at, uint64_t steps)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child)
        _exit(stopped_child(path, stop_at, steps));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
}

/* At a plain step, at one that is evaluated, at the last. */
START_TEST(a_stop_finishes_its_step_and_costs_nothing)
{
    const uint64_t moments[] = {6, 8, 20};
    char *whole = run_path("whole");
    train_up_to(whole, 20);
    for (size_t i = 0; i < 3; i++) {
        char *stopped = run_path("stopped");
        stop_run(stopped, moments[i], 20);
        train_up_to(stopped, 20);
        expect_equal_runs(whole, stopped, 20);
    }
}

/* What a process leaves that was killed after a checkpoint and before its marks. */
START_TEST(marks_that_a_killed_process_did_not_set_are_set)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(20);
    char *path = run_path("run");
    train_up_to(path, 20);
    tiny_run_open(&r, path, &tiny_standard, &o);
    uint64_t best = marked(&r, "best");
    ck_done(run_mark(r.run, "best", 4, &e), e);
    ck_done(run_mark(r.run, "last", 4, &e), e);
    tiny_run_close(&r);
    tiny_run_open(&r, path, &tiny_standard, &o);
    ck_assert_uint_eq(marked(&r, "best"), best);
    ck_assert_uint_eq(marked(&r, "last"), 20);
    tiny_run_close(&r);
}

START_TEST(a_damaged_checkpoint_is_passed_over_and_named)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(12);
    char *whole = run_path("whole"), *path = run_path("damaged"), file[800];
    train_up_to(whole, 12);
    train_up_to(path, 12);
    snprintf(file, sizeof file, "%s/checkpoints/00000012/state.safetensors", path);
    ck_assert_int_eq(truncate(file, 100), 0);
    tiny_run_open(&r, path, &tiny_standard, &o);
    ck_assert_uint_eq(r.loop.at.step, 8);
    ck_assert_msg(strstr(r.loop.damaged.text, "00000012/state.safetensors"), "%s", r.loop.damaged.text);
    ck_done(loop_run(&r.loop, &e), e);
    tiny_run_close(&r);
    expect_equal_runs(whole, path, 12);
}

/* Where nothing is whole, it does not begin again without a word. */
START_TEST(a_run_without_a_whole_checkpoint_is_not_resumed)
{
    Error e;
    TinyRun r;
    char *path = run_path("run"), file[800];
    LoopOptions o = standard(0);
    tiny_run_open(&r, path, &tiny_standard, &o);
    snprintf(file, sizeof file, "%s/checkpoints/00000000/model.safetensors", path);
    ck_assert_int_eq(truncate(file, 100), 0);
    ck_assert(!loop_resume(&r.loop, &e));
    ck_assert_msg(strstr(e.text, path) && strstr(e.text, "00000000/model.safetensors"), "%s", e.text);
    snprintf(file, sizeof file, "%s/checkpoints/00000000", path);
    ck_done(folder_remove(file, &e), e);
    ck_assert(!loop_resume(&r.loop, &e));
    ck_assert_msg(strstr(e.text, "no complete checkpoint"), "%s", e.text);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Whatever it began with: a process that is killed before its first step has saved it. */
START_TEST(a_run_begins_with_a_checkpoint_of_step_0)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(8);
    char *whole = run_path("whole"), *killed = run_path("killed");
    train_up_to(whole, 8);
    tiny_run_open(&r, killed, &tiny_standard, &o);
    expect_checkpoints(&r, 1, (const uint64_t[]){0});
    ck_assert(marked(&r, "best") == 0 && marked(&r, "last") == 0);
    tiny_run_close(&r);
    tiny_run_open(&r, killed, &tiny_standard, &o);
    memset(r.trainer.weights.reals, 0, r.tiny.parameters.size * sizeof(float)); /* not what a seed gives */
    ck_done(loop_resume(&r.loop, &e) && loop_run(&r.loop, &e), e);
    tiny_run_close(&r);
    expect_equal_runs(whole, killed, 8);
}

/* --- what goes wrong --- */

START_TEST(a_step_that_is_not_finite_stops_the_run_and_names_the_tensor)
{
    Error e;
    TinyRun r;
    LoopOptions o = standard(50);
    char *path = run_path("run");
    o.schedule = (Schedule){.kind = SCHEDULE_CONSTANT, .rate = 1e-3};
    o.steps = 8;
    tiny_run_open(&r, path, &tiny_standard, &o);
    ck_done(loop_run(&r.loop, &e), e);
    r.loop.options.steps = 50;
    r.loop.options.schedule.rate = 1e30;
    ck_assert(!loop_run(&r.loop, &e));
    ck_assert_msg(strncmp(e.text, "step ", 5) == 0 && strstr(e.text, "not finite"), "%s", e.text);
    ck_assert_msg(strstr(e.text, "blocks.0.") || strstr(e.text, "logits") || strstr(e.text, "embedding"), "%s", e.text);
    ck_assert_uint_eq(strtoull(e.text + 5, NULL, 10), r.loop.at.step + 1);
    expect_checkpoints(&r, 2, (const uint64_t[]){4, 8});
    tiny_run_close(&r);

    tiny_run_open(&r, path, &tiny_standard, &o); /* and the checkpoint is good to continue from */
    ck_assert_uint_eq(r.loop.at.step, 8);
    r.loop.options.steps = 12;
    ck_done(loop_run(&r.loop, &e), e);
    ck_assert(isfinite(r.loop.at.best));
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_failing_step_leaves_weights_as_they_were)
{
    Error e;
    TinyRun r;
    StepResult result;
    LoopOptions o = standard(1);
    tiny_run_open(&r, run_path("run"), &tiny_standard, &o);
    Parameter *p = parameters_find(&r.tiny.parameters, "blocks.0.ff.in.weight");
    float *weights = memory_get(p->count, sizeof(float)), *after = memory_get(p->count, sizeof(float));
    weights_get(&r.trainer.weights, r.trainer.worker[0].stream, p, weights);
    weights[7] = NAN;
    weights_set(&r.trainer.weights, r.trainer.worker[0].stream, p, weights);
    ck_done(trainer_step(&r.trainer, 1, 1e-3, &result, &e), e);
    ck_assert(!result.finite);
    weights_get(&r.trainer.weights, r.trainer.worker[0].stream, p, after);
    ck_assert(memcmp(weights, after, p->count * sizeof(float)) == 0);
    trainer_find_nonfinite(&r.trainer, 1, &e);
    ck_assert_msg(strstr(e.text, "blocks.0.ff.in.weight") != NULL, "%s", e.text);
    memory_free(weights);
    memory_free(after);
    tiny_run_close(&r);
}

/* --- scoring --- */

/* What scoring three batches says to a terminal or a pipe, and what came out. */
static char *said_of_scoring(bool terminal, size_t workers, MeanLoss *score)
{
    Error e;
    Tiny tiny;
    Trainer trainer;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    Progress progress = progress_open(out, false);
    const TrainerOptions options = tiny_trainer(workers, 1);
    progress.terminal = terminal;
    ck_done(tiny_open(&tiny, &tiny_standard, &e), e);
    ck_done(trainer_open(&trainer, &options, &tiny.parameters, &tiny.task, &e), e);
    ck_done(weights_init(&trainer.weights, trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
    const Watch watch = progress_watch(&progress);
    trainer.watch = &watch;
    ck_done(trainer_score(&trainer, score, &e), e);
    trainer_close(&trainer);
    tiny_close(&tiny);
    fclose(out);
    return text;
}

START_TEST(a_terminal_sees_how_far_scoring_is_and_a_pipe_nothing)
{
    MeanLoss score;
    for (size_t workers = 1; workers <= 4; workers++) {
        char wanted[40], *text = said_of_scoring(true, workers, &score);
        snprintf(wanted, sizeof wanted, "\rscored %zu/3  loss ", workers < 3 ? workers : 3);
        ck_assert_msg(strncmp(text, wanted, strlen(wanted)) == 0 && strstr(text, "nats  left "), "%s", text);
        free(text);
        text = said_of_scoring(false, workers, &score);
        ck_assert_str_eq(text, "");
        free(text);
    }
}

/* More batches than one round has, and none. */
START_TEST(scores_do_not_depend_on_workers_to_the_bit)
{
    static const size_t counts[] = {0, 1, 1024, 2050};
    Error e;
    double expected = 0;
    for (size_t i = 0; i < 4; i++)
        for (size_t workers = 1; workers <= 3; workers += 2) {
            Tiny tiny;
            Trainer trainer;
            MeanLoss score;
            TinyOptions o = tiny_standard;
            const TrainerOptions options = tiny_trainer(workers, 1);
            o.score_batches = counts[i];
            o.score_rows = 1;
            ck_done(tiny_open(&tiny, &o, &e), e);
            ck_done(trainer_open(&trainer, &options, &tiny.parameters, &tiny.task, &e), e);
            ck_done(weights_init(&trainer.weights, trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
            ck_done(trainer_score(&trainer, &score, &e), e);
            expected = workers == 1 ? score.loss : expected;
            ck_assert(score.targets == 3.0 * (double)counts[i] && score.loss == expected && score.nll == score.loss);
            ck_assert((score.loss == 0) == (counts[i] == 0));
            trainer_close(&trainer);
            tiny_close(&tiny);
        }
}

/* --- and what it is all for --- */

START_TEST(a_tiny_model_learns_to_copy)
{
    Error e;
    Tiny tiny;
    Trainer trainer;
    StepResult result;
    MeanLoss score = {.loss = INFINITY};
    const TinyOptions o = {
        .letters = 16, .dim = 64, .heads = 4, .depth = 1, .rows = 8, .score_rows = 8, .score_batches = 8};
    const TrainerOptions options = tiny_trainer(1, 8);
    ck_done(tiny_open(&tiny, &o, &e), e);
    ck_done(trainer_open(&trainer, &options, &tiny.parameters, &tiny.task, &e), e);
    ck_done(weights_init(&trainer.weights, trainer.worker[0].stream, INIT_GPT2, 1, 1, &e), e);
    ck_done(trainer_score(&trainer, &score, &e), e);
    ck_assert(score.targets == 8 * 8 * 16 && fabs(score.loss - log(LETTERS + 1)) < 0.1);
    for (uint64_t step = 1; score.loss >= 0.05 && step <= 2000; step++) {
        ck_done(trainer_step(&trainer, step, 4e-3 * fmin(1, (double)step / 50), &result, &e), e);
        if (step % 50 == 0)
            ck_done(trainer_score(&trainer, &score, &e), e);
    }
    ck_assert_msg(score.loss < 0.05, "%.4f nats on strings it never saw", score.loss);
    trainer_close(&trainer);
    tiny_close(&tiny);
}

static const Test tests[] = {TEST(no_steps_make_a_run_with_its_initial_weights),
                             TEST(a_run_that_is_never_scored_has_its_last_as_best),
                             TEST(checkpoints_come_by_steps_and_the_last_ones_are_kept),
                             TEST(checkpoints_come_by_time),
                             TEST(the_best_is_kept_however_old_it_is),
                             TEST(a_run_ends_when_its_patience_does),
                             TEST(a_step_that_would_not_fit_is_not_begun),
                             TEST(minutes_end_a_run_and_are_remembered),
                             TEST(twice_n_steps_are_n_steps_and_n_more_bit_for_bit),
                             TEST(the_same_run_twice_gives_the_same_files),
                             TEST(a_stop_finishes_its_step_and_costs_nothing),
                             TEST(marks_that_a_killed_process_did_not_set_are_set),
                             TEST(a_damaged_checkpoint_is_passed_over_and_named),
                             TEST(a_run_without_a_whole_checkpoint_is_not_resumed),
                             TEST(a_run_begins_with_a_checkpoint_of_step_0),
                             TEST(a_step_that_is_not_finite_stops_the_run_and_names_the_tensor),
                             TEST(a_failing_step_leaves_weights_as_they_were),
                             TEST(a_terminal_sees_how_far_scoring_is_and_a_pipe_nothing),
                             TEST(scores_do_not_depend_on_workers_to_the_bit),
                             TEST_LEARNS(a_tiny_model_learns_to_copy, 0, 180)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("train/loop", tests, sizeof tests / sizeof *tests, argc, argv);
}
