/* A step, however many workers share it; what one of its batches shows to a hook; and what is said while batches are
 * scored. */
#include "base/memory.h"
#include "core/train/step.h"
#include "tests/train/tiny.h"

#include <math.h>
#include <string.h>

/* A gradient of several chunks, which workers share out. */
static const TinyOptions wide = {
    .letters = 4, .dim = 128, .heads = 4, .depth = 2, .rows = 6, .score_rows = 2, .score_batches = 1};

typedef struct Trained {
    Tiny tiny;
    Trainer trainer;
} Trained;

static void trained_open(Trained *t, const TinyOptions *model, const TrainerOptions *o)
{
    Error e;
    ck_done(tiny_open(&t->tiny, model, &e), e);
    ck_done(trainer_open(&t->trainer, o, &t->tiny.parameters, &t->tiny.task, &e), e);
    ck_done(weights_init(&t->trainer.weights, t->trainer.worker[0].stream, INIT_GPT2, 2, 1, &e), e);
}

static void trained_close(Trained *t)
{
    trainer_close(&t->trainer);
    tiny_close(&t->tiny);
}

static double *weights_of(const Trained *t)
{
    const Kernels *k = t->trainer.options.k;
    const size_t n = t->tiny.parameters.size;
    double *values = memory_get(n, sizeof *values);
    ck_assert(values && k->real == sizeof *values);
    k->download(t->trainer.worker[0].stream, values, t->trainer.weights.reals, n * sizeof *values);
    return values;
}

enum { NUMBERS = 4 * SQUARES_CHUNK }; /* of the weights, and there are more */

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/* SGD, because a step of it is as large as the gradient. */
static double *after_a_step(size_t workers, size_t shares, StepResult *result)
{
    Trained t;
    Error e;
    TrainerOptions o = tiny_trainer(workers, 1);
    o.shares = shares;
    o.k = kernels_find("plain", NUMBER_F64, NULL);
    o.optimizer.kind = 1;
    optimizer_configure(&o.optimizer);
    trained_open(&t, &wide, &o);
    ck_assert_uint_gt(t.tiny.parameters.size, NUMBERS);
    ck_done(trainer_step(&t.trainer, 1, 1, result, &e), e);
    double *weights = weights_of(&t);
    trained_close(&t);
    return weights;
}

/* Six micro-batches in six shares, or in five or four of one or two; more workers than shares, too. */
START_TEST(the_bits_of_a_step_do_not_depend_on_workers)
{
    const size_t shares = (size_t)_i + 1;
    StepResult one, several;
    double *a = after_a_step(1, shares, &one), moved = 0;
    for (size_t workers = 2; workers < 8; workers++) {
        double *b = after_a_step(workers, shares, &several);
        for (size_t i = 0; i < NUMBERS; i++)
            ck_assert_msg(same_bits(a[i], b[i]), "%zu workers, weight %zu: %g and %g", workers, i, a[i], b[i]);
        ck_assert(same_bits(one.norm, several.norm) && same_bits(one.loss, several.loss));
        memory_free(b);
    }
    for (size_t i = 0; i < NUMBERS; i++)
        moved += fabs(a[i]);
    ck_assert(moved > 1 && one.norm > 0);
    memory_free(a);
}

/* Summed up otherwise it is the same but for rounding, and not to the bit: so the test above compares something. */
START_TEST(shares_change_rounding_alone)
{
    StepResult one, several;
    double *a = after_a_step(2, 1, &one), *b = after_a_step(2, 6, &several), apart = 0;
    for (size_t i = 0; i < NUMBERS; i++) {
        ck_assert_msg(fabs(a[i] - b[i]) < 1e-12, "weight %zu: %g and %g", i, a[i], b[i]);
        apart = fmax(apart, fabs(a[i] - b[i]));
    }
    ck_assert(apart > 0 && fabs(one.norm - several.norm) < 1e-12 * one.norm);
    ck_assert(fabs(one.loss - several.loss) < 1e-12);
    memory_free(a);
    memory_free(b);
}

/* One step of SGD without decay or clipping: weights before and after it. */
static StepResult plain_step(Trained *t, double rate, double **before, double **after)
{
    StepResult result;
    Error e;
    *before = weights_of(t);
    ck_done(trainer_step(&t->trainer, 1, rate, &result, &e), e);
    *after = weights_of(t);
    return result;
}

START_TEST(the_norm_is_of_all_of_the_gradient)
{
    Trained t;
    double *before, *after, squares = 0;
    TrainerOptions o = tiny_trainer((size_t)_i + 1, 1);
    o.k = kernels_find("plain", NUMBER_F64, NULL);
    o.clip = 0;
    o.optimizer.kind = OPTIMIZER_SGD;
    o.optimizer.decay = 0;
    optimizer_configure(&o.optimizer);
    trained_open(&t, &wide, &o);
    const StepResult result = plain_step(&t, 1, &before, &after);
    for (size_t i = 0; i < t.tiny.parameters.count; i++) {
        const Parameter *p = t.tiny.parameters.list[i];
        for (size_t j = p->offset; j < p->offset + p->count; j++)
            squares += (before[j] - after[j]) * (before[j] - after[j]);
    }
    ck_assert_double_eq_tol(result.norm, sqrt(squares), 1e-9 * result.norm);
    memory_free(before);
    memory_free(after);
    trained_close(&t);
}

START_TEST(what_left_its_range_is_put_back)
{
    Trained t;
    double *before, *after;
    TrainerOptions o = tiny_trainer((size_t)_i + 1, 1);
    o.k = kernels_find("plain", NUMBER_F64, NULL);
    trained_open(&t, &tiny_standard, &o);
    Parameter *logits = t.tiny.logits.weight;
    logits->unit = true;
    t.trainer.options.k->upload(t.trainer.worker[0].stream, (double *)t.trainer.weights.reals + logits->offset,
                                (double[]){1.5, 0.5}, 2 * sizeof(double));
    plain_step(&t, 0, &before, &after);
    for (size_t i = 0; i < t.tiny.parameters.size; i++) {
        const bool within = i >= logits->offset && i < logits->offset + logits->count;
        ck_assert(after[i] == (within ? fmin(fmax(before[i], 0), 1) : before[i]));
    }
    ck_assert(after[logits->offset] == 1 && after[logits->offset + 1] == 0.5);
    memory_free(before);
    memory_free(after);
    trained_close(&t);
}

START_TEST(a_loss_with_one_target_is_a_mean_too)
{
    const Sums s = {.sum = {2, 6}, .nll = {1, 3}, .count = {1, 2}, .hits = 1};
    const MeanLoss mean = sums_mean(&s);
    ck_assert(mean.part[0] == 2 && mean.part[1] == 3 && mean.loss == 5 && mean.nll == 2.5);
    ck_assert(mean.targets == 1 && mean.hits == 1);
}

/* ---- a hook */

typedef struct Seen {
    Hook hook; /* first */
    size_t made;
} Seen;

static void note_made(Hook *h, Tape *t, const Tensor *y, const char *what, const Parameter *p)
{
    (void)t, (void)p;
    ck_assert(y->rows && what[0]);
    ((Seen *)h)->made++;
}

START_TEST(a_hook_sees_a_step_that_changes_nothing)
{
    Trained t;
    Error e;
    StepResult before, after;
    Seen seen = {.hook = {.made = note_made}};
    TrainerOptions o = tiny_trainer(1, 2);
    o.k = kernels_find("plain", NUMBER_F64, NULL);
    trained_open(&t, &tiny_standard, &o);
    ck_done(trainer_step(&t.trainer, 1, 0, &before, &e), e);
    double *weights = weights_of(&t);
    trainer_show(&t.trainer, 1, &seen.hook);
    ck_assert_uint_gt(seen.made, 4);
    double *still = weights_of(&t);
    ck_assert_mem_eq(weights, still, t.tiny.parameters.size * sizeof *weights);
    ck_done(trainer_step(&t.trainer, 1, 0, &after, &e), e); /* gradients are zeros again, and nobody is shown it */
    ck_assert(after.norm == before.norm && after.loss == before.loss);
    memory_free(weights);
    memory_free(still);
    trained_close(&t);
}

/* ---- a watch */

typedef struct Heard {
    double loss[4];
    size_t reports;
} Heard;

static void hear(void *self, const Report *report, bool stays)
{
    Heard *h = self;
    ck_assert(!stays && h->reports < 4);
    h->loss[h->reports++] = report->loss;
}

/* With one worker, it is the mean of the batches so far. */
START_TEST(what_is_said_of_scoring_is_the_mean_so_far)
{
    Trained t;
    Error e;
    Heard heard = {.reports = 0};
    const Watch watch = {.self = &heard, .report = hear};
    MeanLoss score;
    TinyOptions model = tiny_standard;
    TrainerOptions o = tiny_trainer(1, 1);
    model.score_batches = 3;
    trained_open(&t, &model, &o);
    t.trainer.watch = &watch;
    ck_done(trainer_score(&t.trainer, &score, &e), e);
    ck_assert_uint_eq(heard.reports, 3);
    ck_assert(heard.loss[0] > 0 && heard.loss[1] > 0);
    ck_assert(fabs(heard.loss[2] - score.loss * t.tiny.task.per_nat) < 1e-12 * score.loss);
    ck_assert(fabs(heard.loss[0] - heard.loss[2]) > 0);
    trained_close(&t);
}

static const Test tests[] = {TEST_LOOP(the_bits_of_a_step_do_not_depend_on_workers, 6),
                             TEST(shares_change_rounding_alone),
                             TEST_LOOP(the_norm_is_of_all_of_the_gradient, 3),
                             TEST_LOOP(what_left_its_range_is_put_back, 2),
                             TEST(a_loss_with_one_target_is_a_mean_too),
                             TEST(a_hook_sees_a_step_that_changes_nothing),
                             TEST(what_is_said_of_scoring_is_the_mean_so_far)};

int main(int argc, char **argv) { return suite_run("train/step", tests, sizeof tests / sizeof *tests, argc, argv); }
