/* Whole networks against PyTorch in double: losses, every gradient, twenty steps of Adam; see tests/fixtures. */
#include "base/memory.h"
#include "tests/nn/encdec.h"
#include "tests/nn/trial.h"
#include "tests/parity.h"

#include <stdio.h>

static const char *const names[] = {"post-learned", "post-sinusoid", "pre-learned", "pre-sinusoid", "tied"};

/* A decoder over words that are looked up, and encoder-decoders: post-norm, one table for all; pre-norm, a table each.
 */
static const char *const encdecs[] = {"cross", "encdec-post", "encdec-pre"};

enum { NETWORKS = sizeof names / sizeof *names, ENCDECS = sizeof encdecs / sizeof *encdecs };

/* One network, on one twin, with one kind of attention. */
typedef struct Subject {
    Fixture f;
    SharedValues o;
    Model model;
    EncDec encdec;
    Trial t;
    char words[96];
} Subject;

static void subject_open(Subject *s, const char *name, const Kernels *k, bool composed, const Training *training)
{
    Error e;
    bool charlm = false;
    for (size_t i = 0; i < NETWORKS; i++)
        charlm = charlm || strcmp(name, names[i]) == 0;
    *s = (Subject){.f = fixture_open(name, charlm ? 1 : 2)};
    snprintf(s->words, sizeof s->words, "%s, %s %s, %s", name, k->twin, number_type_name(k->type),
             composed ? "composed" : "fused");
    Network n;
    if (charlm) {
        s->o = fixture_options(&s->f);
        s->o.attention = composed;
        ck_done(model_open(&s->model, &s->o, &e), e);
        n = charlm_network(&s->model, s->o.smoothing);
    } else {
        EncDecOptions o = encdec_options(&s->f);
        o.block.attention.composed = composed;
        ck_done(encdec_open(&s->encdec, &o, &e), e);
        n = encdec_network(&s->encdec);
    }
    trial_open(&s->t, k, &n, s->f.batch, s->f.batch_count, training);
    fixture_weights(&s->f, &s->t);
}

static void subject_close(Subject *s)
{
    trial_close(&s->t);
    model_close(&s->model);
    encdec_close(&s->encdec);
    fixture_close(&s->f);
}

/* Loss and gradients of the first batch on each twin of a type, fused and composed. */
static void check_network(const char *name, const Tolerance *by)
{
    for (size_t i = 0; twin_of(by->type, i); i++)
        for (int composed = 0; composed < 2; composed++) {
            Subject s;
            subject_open(&s, name, twin_of(by->type, i), composed, &(Training){0});
            parity_step(&s.f, &s.t, s.words, by);
            subject_close(&s);
        }
}

static void check_adam(const char *name, const Tolerance *by)
{
    for (size_t i = 0; twin_of(by->type, i); i++) {
        Subject s;
        Training training = parity_training(name);
        subject_open(&s, name, twin_of(by->type, i), false, &training);
        parity_adam(&s.f, &s.t, s.words, by);
        subject_close(&s);
    }
}

START_TEST(f64_equals_pytorch_in_loss_and_every_gradient) { check_network(names[_i], &parity_f64); }
END_TEST
START_TEST(f32_equals_pytorch_to_rounding) { check_network(names[_i], &parity_f32); }
END_TEST
START_TEST(bf16_comes_near_pytorch) { check_network(names[_i], &parity_bf16); }
END_TEST

START_TEST(twenty_steps_of_adam_in_f64_equal_pytorch) { check_adam(names[_i], &parity_f64); }
END_TEST
START_TEST(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding) { check_adam(names[_i], &parity_f32); }
END_TEST
START_TEST(twenty_steps_of_adam_in_bf16_come_near_pytorch) { check_adam(names[_i], &parity_bf16); }
END_TEST

START_TEST(encoder_decoders_over_rows_of_other_lengths_equal_pytorch)
{
    check_network(encdecs[_i], &parity_f64);
    check_network(encdecs[_i], &parity_f32);
    check_network(encdecs[_i], &parity_bf16);
}
END_TEST

START_TEST(fused_and_composed_attention_agree_in_loss_and_gradient)
{
    double *gradient[2], loss[2];
    size_t size = 0;
    for (int composed = 0; composed < 2; composed++) {
        Subject s;
        subject_open(&s, names[_i], plain_of(NUMBER_F64), composed, &(Training){0});
        loss[composed] = trial_step(&s.t, 1, 0).loss;
        gradient[composed] = trial_gradient(&s.t);
        size = s.model.parameters.size;
        subject_close(&s);
    }
    ck_assert_double_eq_tol(loss[0], loss[1], 1e-13);
    ck_assert_double_le(largest_difference(gradient[0], gradient[1], size), 1e-14);
    memory_free(gradient[0]);
    memory_free(gradient[1]);
}
END_TEST

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(f64_equals_pytorch_in_loss_and_every_gradient, NETWORKS),
        TEST_LOOP(f32_equals_pytorch_to_rounding, NETWORKS),
        TEST_LOOP(bf16_comes_near_pytorch, NETWORKS),
        TEST_LOOP(twenty_steps_of_adam_in_f64_equal_pytorch, NETWORKS),
        TEST_LOOP(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding, NETWORKS),
        TEST_LOOP(twenty_steps_of_adam_in_bf16_come_near_pytorch, NETWORKS),
        TEST_LOOP(encoder_decoders_over_rows_of_other_lengths_equal_pytorch, ENCDECS),
        TEST_LOOP(fused_and_composed_attention_agree_in_loss_and_gradient, NETWORKS),
    };
    return suite_run("nn/parity", tests, sizeof tests / sizeof *tests, argc, argv);
}
