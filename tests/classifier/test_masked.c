/* The pretrained network against PyTorch in double: logits of masked positions, losses, every gradient, twenty steps of
 * Adam; see tests/fixtures/masked.py. And what must not matter to it: insides that are dropped, which texts share a
 * batch, how it is cut. */
#include "tests/parity.h"

#include "base/memory.h"
#include "classifier/model.h"
#include "core/nn/loss.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"masked-bert", "masked-rotary", "masked-window"};

enum { NETWORKS = sizeof names / sizeof *names };

static Tensor *logits(const void *model, Tape *t, const Rows *rows)
{
    return model_tokens(t, model, model_masked(t, model, rows));
}

static Network open_masked(ParityFixture *s, bool composed)
{
    Error e;
    Model *m = memory_get(1, sizeof *m);
    ClassifierOptions v = {.shared = reference_options(&s->f),
                           .objective = OBJECTIVE_MASKED,
                           .segments = reference_number(&s->f, "segments") > 0};
    ck_assert_ptr_nonnull(m);
    v.shared.attention = composed;
    ck_done(model_open(m, &v, (size_t)reference_number(&s->f, "words"), 0, &e), e);
    for (size_t i = 0; i < s->f.batch_count; i++)
        s->f.batch[i].side[MASKED].among = TEXT + 1;
    s->model = m;
    return (Network){.model = m,
                     .parameters = &m->parameters,
                     .logits = logits,
                     .sides = model_sides(m),
                     .side = MASKED,
                     .smoothing = v.shared.smoothing,
                     .z_loss = v.shared.z_loss};
}

static void close_masked(void *model) { model_close(model); }

/* Only the first has segments. */
static ParityKind kind_of(const char *name)
{
    return (ParityKind){name == names[0] ? SEGMENT + 1 : MASKED + 1, open_masked, close_masked};
}

static void each(int i, void (*check)(const ParityKind *kind, const char *name, const Tolerance *by),
                 const Tolerance *by)
{
    const ParityKind kind = kind_of(names[i]);
    check(&kind, names[i], by);
}

START_TEST(f64_equals_pytorch_in_logits_loss_and_every_gradient) { each(_i, parity_network, &parity_f64); }
START_TEST(f32_equals_pytorch_to_rounding) { each(_i, parity_network, &parity_f32); }
START_TEST(bf16_comes_near_pytorch) { each(_i, parity_network, &parity_bf16); }
START_TEST(twenty_steps_of_adam_in_f64_equal_pytorch) { each(_i, parity_adam, &parity_f64); }
START_TEST(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding) { each(_i, parity_adam, &parity_f32); }

START_TEST(insides_that_are_dropped_give_the_same_bits)
{
    const ParityKind kind = kind_of(names[_i]);
    parity_dropped(&kind, names[_i]);
}

START_TEST(a_text_has_the_same_logits_alone_and_in_company)
{
    const ParityKind kind = kind_of(names[_i]);
    parity_alone(&kind, names[_i], MASKED, "words");
}

START_TEST(any_texts_in_a_micro_batch_give_the_gradient_of_pytorch)
{
    const ParityKind kind = kind_of(names[_i]);
    for (size_t micro = 1; micro <= 3; micro++)
        for (size_t workers = 1; workers <= 2; workers++) {
            ParityFixture s;
            Training training = {.micro_rows = micro, .workers = workers};
            parity_open(&s, &kind, names[_i], plain_of(NUMBER_F64), false, &training);
            parity_step(&s, &parity_f64);
            parity_close(&s, &kind);
        }
}

/* --- two losses, and dropout --- */

/* A whole small network of [CLS] a [SEP] b [SEP] with both of BERT's losses. */
typedef struct Pairs {
    Model model;
    Batch batch;
    Task task;
    Trainer trainer;
} Pairs;

static void step_batch(void *self, uint64_t step, Batch *b)
{
    const Batch *from = &((const Pairs *)self)->batch;
    (void)step;
    batch_clear(b);
    for (size_t s = 0; s < from->size.sides; s++) {
        const Side *side = &from->side[s];
        for (size_t r = 0; r < side->rows; r++)
            batch_row(b, s, (size_t)(side->start[r + 1] - side->start[r]));
        memcpy(b->side[s].ids, side->ids, side->positions * sizeof *side->ids);
        memcpy(b->side[s].targets, side->targets, side->positions * sizeof *side->targets);
        b->side[s].among = side->among;
    }
}

static Tensor *both_losses(void *self, Tape *t, const Rows *rows)
{
    const Model *m = &((const Pairs *)self)->model;
    Tensor *vectors = model_masked(t, m, rows);
    cross_entropy(t, model_next(t, m, vectors, rows), rows[NEXT].targets, 0, 1);
    return cross_entropy(t, model_tokens(t, m, vectors), rows[MASKED].targets, 0, 0);
}

enum { WORDS = 13, ROWS = 4, LONGEST = 9, PREDICTED = 3 };

static void fill(Batch *b)
{
    for (size_t r = 0; r < ROWS; r++) {
        const size_t length = LONGEST - r, text = batch_row(b, TEXT, length), masked = batch_row(b, MASKED, PREDICTED),
                     part = batch_row(b, SEGMENT, length), next = batch_row(b, NEXT, 1);
        for (size_t i = 0; i < length; i++) {
            b->side[TEXT].ids[text + i] = (int32_t)((7 * r + 5 * i) % WORDS);
            b->side[SEGMENT].ids[part + i] = i > length / 2;
            b->side[TEXT].targets[text + i] = b->side[SEGMENT].targets[part + i] = -1;
        }
        for (size_t i = 0; i < PREDICTED; i++) {
            b->side[MASKED].ids[masked + i] = (int32_t)(i * (1 + r % 2));
            b->side[MASKED].targets[masked + i] = i ? (int32_t)((3 * r + i) % WORDS) : -1;
        }
        b->side[NEXT].ids[next] = 0;
        b->side[NEXT].targets[next] = r % 2;
    }
    b->side[MASKED].among = TEXT + 1;
}

static void pairs_open(Pairs *p, const Kernels *k, size_t micro, double dropout)
{
    Error e;
    const ClassifierOptions v = {.shared = {.dim = 8,
                                            .heads = 2,
                                            .depth = 2,
                                            .ff = 10,
                                            .context = LONGEST,
                                            .activation = ACTIVATION_GELU,
                                            .norm = NORM_POST,
                                            .positions = POSITIONS_LEARNED,
                                            .bias = true,
                                            .tie = true,
                                            .embedding_norm = true,
                                            .dropout = dropout,
                                            .attention_dropout = dropout,
                                            .ff_dropout = dropout},
                                 .objective = OBJECTIVE_MASKED,
                                 .segments = true,
                                 .next_sentence = true};
    *p = (Pairs){0};
    ck_done(model_open(&p->model, &v, WORDS, 0, &e), e);
    const BatchSize size = {.sides = model_sides(&p->model),
                            .rows = ROWS,
                            .positions = {ROWS * LONGEST, ROWS * PREDICTED, ROWS * LONGEST, ROWS}};
    ck_done(batch_open(&p->batch, &size, &e), e);
    fill(&p->batch);
    p->task = (Task){.self = p,
                     .sides = size.sides,
                     .longest = {LONGEST, PREDICTED, LONGEST, 1},
                     .most_rows = ROWS,
                     .loss_side = {MASKED, NEXT},
                     .batch = step_batch,
                     .loss = both_losses,
                     .per_nat = 1};
    const TrainerOptions o = {.k = k,
                              .workers = 1,
                              .micro_rows = micro,
                              .training = true,
                              .optimizer = {.adam = {0, 0.999, 1e-8}},
                              .seed = 5};
    ck_done(trainer_open(&p->trainer, &o, &p->model.parameters, &p->task, &e), e);
    ck_done(weights_init(&p->trainer.weights, p->trainer.worker[0].stream, INIT_PYTORCH, 2, 7, &e), e);
}

static void pairs_close(Pairs *p)
{
    trainer_close(&p->trainer);
    batch_close(&p->batch);
    model_close(&p->model);
}

static StepResult pairs_step(Pairs *p)
{
    StepResult r;
    Error e;
    ck_done(trainer_step(&p->trainer, 1, 0, &r, &e), e);
    return r;
}

/* The gradient, where Adam without momentum leaves it. */
static const double *gradient_of(const Pairs *p) { return p->trainer.optimizer.block[0]; }

START_TEST(the_gradient_of_both_losses_is_that_of_central_differences)
{
    Pairs p;
    pairs_open(&p, plain_of(NUMBER_F64), 0, 0);
    const StepResult now = pairs_step(&p);
    ck_assert_msg(now.targets == ROWS * (PREDICTED - 1) && now.part[1] > 0.1, "%g targets, losses %g and %g",
                  now.targets, now.part[0], now.part[1]);
    ck_assert_double_eq_tol(now.loss, now.part[0] + now.part[1], 1e-12);
    const size_t size = p.model.parameters.size;
    double *found = memory_get(size, sizeof *found), *weights = p.trainer.weights.reals;
    memcpy(found, gradient_of(&p), size * sizeof *found);
    for (size_t i = 0; i < p.model.parameters.count; i++) {
        const Parameter *one = p.model.parameters.list[i];
        for (size_t k = 0; one->role != ROLE_CONSTANT && k < one->count; k += 1 + one->count / 7) {
            double *w = &weights[one->offset + k], before = *w, loss[2];
            for (int side = 0; side < 2; side++) {
                *w = before + (side ? -1e-5 : 1e-5);
                loss[side] = pairs_step(&p).loss;
            }
            *w = before;
            ck_assert_msg(fabs((loss[0] - loss[1]) / 2e-5 - found[one->offset + k]) < 2e-9, "%s %zu: %g, not %g",
                          one->name, k, found[one->offset + k], (loss[0] - loss[1]) / 2e-5);
        }
    }
    memory_free(found);
    pairs_close(&p);
}

/* The last block's queries are a side of their own: dropout counts them over the whole step, too. */
START_TEST(dropout_is_the_same_however_a_batch_is_cut)
{
    for (size_t micro = 1; micro < ROWS; micro++) {
        Pairs whole, cut;
        pairs_open(&whole, plain_of(NUMBER_F64), 0, 0.3);
        pairs_open(&cut, plain_of(NUMBER_F64), micro, 0.3);
        const StepResult a = pairs_step(&whole), b = pairs_step(&cut);
        ck_assert_double_eq_tol(a.loss, b.loss, 1e-12);
        ck_assert(distance(gradient_of(&whole), gradient_of(&cut), whole.model.parameters.size) < 1e-12);
        pairs_close(&whole);
        pairs_close(&cut);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(f64_equals_pytorch_in_logits_loss_and_every_gradient, NETWORKS),
        TEST_LOOP(f32_equals_pytorch_to_rounding, NETWORKS),
        TEST_LOOP(bf16_comes_near_pytorch, NETWORKS),
        TEST_LOOP(twenty_steps_of_adam_in_f64_equal_pytorch, NETWORKS),
        TEST_LOOP(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding, NETWORKS),
        TEST_LOOP(insides_that_are_dropped_give_the_same_bits, NETWORKS),
        TEST_LOOP(a_text_has_the_same_logits_alone_and_in_company, NETWORKS),
        TEST_LOOP(any_texts_in_a_micro_batch_give_the_gradient_of_pytorch, NETWORKS),
        TEST(the_gradient_of_both_losses_is_that_of_central_differences),
        TEST(dropout_is_the_same_however_a_batch_is_cut),
    };
    return suite_run("classifier/masked", tests, sizeof tests / sizeof *tests, argc, argv);
}
