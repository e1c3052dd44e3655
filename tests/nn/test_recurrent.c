/* A memory (Transformer-XL): against PyTorch, and that a window after it reads what one row of both would. */
#include "base/memory.h"
#include "base/philox.h"
#include "tests/nn/networks.h"
#include "tests/parity.h"

#include <string.h>

static Tensor *windows(const void *model, Tape *t, const Rows *rows) { return model_windows(t, model, rows, NULL); }

static Network recurrent_network(const Model *m, double smoothing)
{
    return (Network){.model = m,
                     .parameters = &m->parameters,
                     .logits = windows,
                     .sides = 2,
                     .side = WINDOW,
                     .smoothing = smoothing};
}

static Network open(ParityFixture *s, bool composed)
{
    SharedOptions o = reference_options(&s->f);
    (void)composed;
    s->model = opened_model(&o);
    return recurrent_network(s->model, o.smoothing);
}

static void close(void *model) { model_close(model); }

static const ParityKind kind = {2, open, close};

START_TEST(a_memory_equals_pytorch_in_loss_and_every_gradient)
{
    parity_network(&kind, "recurrent", &parity_f64);
    parity_network(&kind, "recurrent", &parity_f32);
    parity_network(&kind, "recurrent", &parity_bf16);
}

START_TEST(twenty_steps_of_adam_equal_pytorch)
{
    parity_adam(&kind, "recurrent", &parity_f64);
    parity_adam(&kind, "recurrent", &parity_f32);
}

START_TEST(insides_that_are_computed_again_give_the_same_bits) { parity_dropped(&kind, "recurrent"); }

enum { KINDS = 5, ROWS = 4, CONTEXT = 9, MEMORY_MOST = 6 };

static SharedOptions options(int i)
{
    SharedOptions o = small_options();
    o.positions = POSITIONS_NONE, o.context = CONTEXT, o.memory = MEMORY_MOST;
    switch (i) {
    case 0: o.distances = DISTANCE_XL; break;
    case 1:
        o.positions = POSITIONS_ROTARY, o.norm = NORM_PRE, o.kv_heads = 1, o.window = 4, o.window_pattern = "SL";
        break;
    case 2: o.distances = DISTANCE_BIAS, o.norm = NORM_RESIDUAL, o.embedding_norm = true, o.loops = 2; break;
    case 3: o.attention = ATTENTION_COMPOSED, o.memory_keys = 2, o.norm = NORM_SANDWICH; break;
    case 4: o.distances = DISTANCE_ALIBI, o.experts = 3, o.norm = NORM_PARALLEL, o.sink_score = true; break;
    }
    return o;
}

/* Windows, and (apart) the memory of each on a side of its own, or in the same row. */
static Batch batch_of(bool apart)
{
    static const size_t length[ROWS] = {9, 1, 4, 0}, memory[ROWS] = {6, 3, 0, 2};
    Batch b;
    Error e;
    ck_done(
        batch_open(
            &b, &(BatchSize){.sides = apart ? 2 : 1, .rows = ROWS, .positions = {64, 64}, .before = apart ? 2 : 0}, &e),
        e);
    for (size_t r = 0; r < ROWS; r++) {
        const size_t from = apart ? batch_row(&b, WINDOW, length[r]) : batch_row(&b, WINDOW, memory[r] + length[r]);
        const size_t before = apart ? batch_row(&b, MEMORY, memory[r]) : from;
        for (size_t i = 0; i < memory[r] + length[r]; i++) {
            const bool old = i < memory[r];
            Side *side = &b.side[apart && old ? MEMORY : WINDOW];
            const size_t at = old ? before + i : apart ? from + i - memory[r] : from + i;
            side->ids[at] = (int32_t)philox_below(BYTES, 3, (uint32_t)r, i, 1);
            side->targets[at] = old ? -1 : (int32_t)philox_below(BYTES, 3, (uint32_t)r, i, 2);
        }
    }
    return b;
}

static double *logits_of(const SharedOptions *o, bool apart, uint32_t seed, Batch *b, double *score)
{
    Model m;
    TrainerFixture t;
    Error e;
    *b = batch_of(apart);
    ck_done(model_open(&m, o, BYTES, &e), e);
    Network n = apart ? recurrent_network(&m, 0) : charlm_network(&m, 0);
    trainer_fixture_open(&t, plain_of(NUMBER_F64), &n, b, 1, &(Training){0});
    trainer_fixture_draw(&t, seed);
    *score = trainer_fixture_score(&t);
    double *logits = trainer_fixture_logits(&t, b);
    trainer_fixture_close(&t);
    model_close(&m);
    return logits;
}

START_TEST(a_window_after_its_memory_has_the_logits_of_one_row_of_both)
{
    SharedOptions o = options(_i);
    Batch apart, together;
    double scores[2];
    double *a = logits_of(&o, true, 5, &apart, &scores[0]), *b = logits_of(&o, false, 5, &together, &scores[1]);
    ck_assert_double_eq_tol(scores[0], scores[1], 1e-12);
    for (size_t r = 0; r < ROWS; r++) {
        const size_t from = (size_t)apart.side[0].start[r], length = (size_t)apart.side[0].start[r + 1] - from,
                     old = (size_t)together.side[0].start[r + 1] - length;
        ck_assert_double_le(largest_difference(a + from * BYTES, b + old * BYTES, length * BYTES), 1e-12);
    }
    memory_free(a);
    memory_free(b);
    batch_close(&apart);
    batch_close(&together);
}

/* The same step in parts: dropout counts positions of windows alone. */
START_TEST(a_step_in_parts_is_the_same_step)
{
    SharedOptions o = options(_i);
    double *gradient[2];
    size_t size = 0;
    o.dropout = 0.2, o.attention_dropout = 0.1;
    for (int parts = 0; parts < 2; parts++) {
        Model m;
        TrainerFixture t;
        Error e;
        Batch b = batch_of(true);
        ck_done(model_open(&m, &o, BYTES, &e), e);
        Network n = recurrent_network(&m, 0);
        trainer_fixture_open(&t, plain_of(NUMBER_F64), &n, &b, 1,
                             &(Training){.workers = parts ? 2 : 1, .micro_rows = parts ? 1 : 0});
        trainer_fixture_draw(&t, 5);
        trainer_fixture_step(&t, 1, 0);
        gradient[parts] = trainer_fixture_gradient(&t);
        size = m.parameters.size;
        trainer_fixture_close(&t);
        batch_close(&b);
        model_close(&m);
    }
    ck_assert_double_le(largest_difference(gradient[0], gradient[1], size), 1e-13);
    ck_assert_double_gt(largest_difference(gradient[0], NULL, size), 1e-4);
    memory_free(gradient[0]);
    memory_free(gradient[1]);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(a_memory_equals_pytorch_in_loss_and_every_gradient),
                                 TEST(twenty_steps_of_adam_equal_pytorch),
                                 TEST(insides_that_are_computed_again_give_the_same_bits),
                                 TEST_LOOP(a_window_after_its_memory_has_the_logits_of_one_row_of_both, KINDS),
                                 TEST_LOOP(a_step_in_parts_is_the_same_step, KINDS)};
    return suite_run("nn/recurrent", tests, sizeof tests / sizeof *tests, argc, argv);
}
