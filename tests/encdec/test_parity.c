/* encdec's network against PyTorch in double: logits, losses, every gradient, twenty steps of Adam; see tests/fixtures.
 * And what must not matter to it: insides that are dropped, how a step is cut, and which pairs share a batch. */
#include "tests/parity.h"

#include "base/memory.h"
#include "encdec/model.h"

#include <string.h>

static const char *const names[] = {"encdec-base", "encdec-apart"};

enum { NETWORKS = sizeof names / sizeof *names, SOURCE = 0, TARGET, SIDES_USED };

static Tensor *logits(const void *model, Tape *t, const Rows *rows)
{
    return model_pairs(t, model, &rows[SOURCE], &rows[TARGET]);
}

static Network open_encdec(Subject *s, bool composed)
{
    Error e;
    Model *m = memory_get(1, sizeof *m);
    Values v = {.shared = fixture_options(&s->f), .decoder_depth = (size_t)fixture_number(&s->f, "decoder-depth")};
    ck_assert_ptr_nonnull(m);
    v.shared.attention = composed;
    ck_done(model_open(m, &v, (size_t)fixture_number(&s->f, "pieces"), &e), e);
    s->model = m;
    return (Network){m, &m->parameters, logits, SIDES_USED, TARGET, v.shared.smoothing};
}

static void close_encdec(void *model) { model_close(model); }

static const SubjectKind kind = {SIDES_USED, open_encdec, close_encdec};

START_TEST(f64_equals_pytorch_in_logits_loss_and_every_gradient) { parity_network(&kind, names[_i], &parity_f64); }
END_TEST
START_TEST(f32_equals_pytorch_to_rounding) { parity_network(&kind, names[_i], &parity_f32); }
END_TEST
START_TEST(bf16_comes_near_pytorch) { parity_network(&kind, names[_i], &parity_bf16); }
END_TEST

START_TEST(twenty_steps_of_adam_in_f64_equal_pytorch) { parity_adam(&kind, names[_i], &parity_f64); }
END_TEST
START_TEST(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding) { parity_adam(&kind, names[_i], &parity_f32); }
END_TEST
START_TEST(twenty_steps_of_adam_in_bf16_come_near_pytorch) { parity_adam(&kind, names[_i], &parity_bf16); }
END_TEST

START_TEST(a_tied_table_has_no_second_name)
{
    static const char *const tables[] = {"embedding.weight", "source_embedding.weight", "target_embedding.weight",
                                         "logits.weight", "logits.bias"};
    Subject s;
    subject_open(&s, &kind, names[_i], plain_of(NUMBER_F64), false, &(Training){0});
    for (size_t i = 0; i < 5; i++)
        ck_assert_msg((parameters_find(s.t.network.parameters, tables[i]) == NULL) == (_i == 0 ? i > 0 : i == 0), "%s",
                      tables[i]);
    subject_close(&s, &kind);
}
END_TEST

/* Three steps on one batch after the other; to be freed with memory_free. */
static double *trained(const char *name, const Kernels *k, Keep keep, double *loss, size_t *size)
{
    Subject s;
    subject_open(&s, &kind, name, k, false, &(Training){.keep = keep, .moving = true, .clip = 1});
    for (uint64_t step = 1; step <= 3; step++)
        loss[step - 1] = trial_step(&s.t, step, 1e-2).loss;
    double *weights = trial_weights(&s.t);
    *size = s.t.network.parameters->size;
    subject_close(&s, &kind);
    return weights;
}

START_TEST(insides_that_are_dropped_give_the_same_bits)
{
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; twin_of((NumberType)type, i); i++) {
            double kept[3], dropped[3];
            size_t size;
            double *a = trained(names[_i], twin_of((NumberType)type, i), KEEP_ALL, kept, &size);
            double *b = trained(names[_i], twin_of((NumberType)type, i), KEEP_INPUTS, dropped, &size);
            ck_assert_mem_eq(kept, dropped, sizeof kept);
            ck_assert_mem_eq(a, b, size * sizeof *a);
            memory_free(a);
            memory_free(b);
        }
}
END_TEST

/* By rows, and by positions, where what is filled up belongs to no row. */
START_TEST(however_a_step_is_cut_it_has_the_gradient_of_pytorch)
{
    static const Training ways[] = {{.micro_rows = 1},
                                    {.micro_rows = 2, .workers = 2},
                                    {.micro_positions = 12},
                                    {.micro_positions = 14, .workers = 2},
                                    {.micro_positions = 20, .workers = 3},
                                    {.micro_positions = 60}};
    static const Tolerance *const by[] = {&parity_f64, &parity_f32, &parity_bf16};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (size_t type = 0; type < 3; type++)
            for (size_t twin = 0; twin_of(by[type]->type, twin); twin++) {
                Subject s;
                subject_open(&s, &kind, names[_i], twin_of(by[type]->type, twin), i % 2, &ways[i]);
                parity_step(&s, by[type]);
                subject_close(&s, &kind);
            }
}
END_TEST

/* Pair r of a batch as a batch of its own. */
static Batch alone(const Batch *all, size_t r)
{
    Batch b;
    Error e;
    size_t first[SIDES_USED], length[SIDES_USED];
    for (size_t side = 0; side < SIDES_USED; side++) {
        first[side] = (size_t)all->side[side].start[r];
        length[side] = (size_t)all->side[side].start[r + 1] - first[side];
    }
    ck_done(batch_open(&b, &(BatchSize){SIDES_USED, 1, {length[0], length[1]}, 0}, &e), e);
    for (size_t side = 0; side < SIDES_USED; side++) {
        batch_row(&b, side, length[side]);
        memcpy(b.side[side].ids, all->side[side].ids + first[side], length[side] * sizeof(int32_t));
        memcpy(b.side[side].targets, all->side[side].targets + first[side], length[side] * sizeof(int32_t));
    }
    return b;
}

START_TEST(a_pair_has_the_same_logits_alone_and_in_company)
{
    for (size_t i = 0; !i || twin_of(NUMBER_F32, i - 1); i++) {
        const Kernels *k = i ? twin_of(NUMBER_F32, i - 1) : plain_of(NUMBER_F64);
        Subject s;
        subject_open(&s, &kind, names[_i], k, false, &(Training){0});
        const Batch *all = &s.f.batch[0];
        const size_t pieces = ((const Model *)s.model)->logits.out;
        double *packed = trial_logits(&s.t, all);
        for (size_t r = 0; r < all->side[TARGET].rows; r++) {
            Batch one = alone(all, r);
            double *own = trial_logits(&s.t, &one);
            double far = largest_difference(own, packed + (size_t)all->side[TARGET].start[r] * pieces,
                                            one.side[TARGET].positions * pieces);
            ck_assert_msg(far <= (i ? 1e-5 : 1e-14), "%s: alone, pair %zu has a logit that is off by %g", s.words, r,
                          far);
            memory_free(own);
            batch_close(&one);
        }
        memory_free(packed);
        subject_close(&s, &kind);
    }
}
END_TEST

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(f64_equals_pytorch_in_logits_loss_and_every_gradient, NETWORKS),
        TEST_LOOP(f32_equals_pytorch_to_rounding, NETWORKS),
        TEST_LOOP(bf16_comes_near_pytorch, NETWORKS),
        TEST_LOOP(twenty_steps_of_adam_in_f64_equal_pytorch, NETWORKS),
        TEST_LOOP(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding, NETWORKS),
        TEST_LOOP(twenty_steps_of_adam_in_bf16_come_near_pytorch, NETWORKS),
        TEST_LOOP(a_tied_table_has_no_second_name, NETWORKS),
        TEST_LOOP(insides_that_are_dropped_give_the_same_bits, NETWORKS),
        TEST_LOOP(however_a_step_is_cut_it_has_the_gradient_of_pytorch, NETWORKS),
        TEST_LOOP(a_pair_has_the_same_logits_alone_and_in_company, NETWORKS),
    };
    return suite_run("encdec/parity", tests, sizeof tests / sizeof *tests, argc, argv);
}
