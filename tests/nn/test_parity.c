/* Whole networks against PyTorch in double: losses, every gradient, twenty steps of Adam; see tests/fixtures. */
#include "base/memory.h"
#include "tests/nn/encdec.h"

#include <math.h>
#include <stdio.h>

static const char *const names[] = {"post-learned", "post-sinusoid", "pre-learned", "pre-sinusoid", "tied"};

/* A decoder over words that are looked up, and encoder-decoders: post-norm, one table for all; pre-norm, a table each.
 */
static const char *const encdecs[] = {"cross", "encdec-post", "encdec-pre"};

enum { NETWORKS = sizeof names / sizeof *names, ENCDECS = sizeof encdecs / sizeof *encdecs, ADAM_STEPS = 20 };

/* How far a twin may be from PyTorch. */
typedef struct Tolerance {
    NumberType type;
    double loss, position; /* the mean, relative; and one position's */
    double norm;           /* of the whole gradient, relative; and ||a-b|| of each gradient, relative to that */
    double element;        /* any value of a gradient, relative to its largest */
    double adam;           /* the loss after 20 steps, relative */
} Tolerance;

static const Tolerance f64 = {NUMBER_F64, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9};
static const Tolerance f32 = {NUMBER_F32, 1e-5, 1e-4, 1e-4, INFINITY, 1e-4};
static const Tolerance bf16 = {NUMBER_BF16, 0.02, 0.5, 0.1, INFINITY, 0.05};

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

static double fixture_one(const Fixture *f, const char *name)
{
    size_t count;
    double *values = fixture_reals(f, name, &count), value = values[0];
    memory_free(values);
    return value;
}

static void check_losses(Subject *s, const StepResult *r, const Tolerance *by)
{
    size_t count;
    double *losses = fixture_reals(&s->f, "losses", &count), loss = fixture_one(&s->f, "loss");
    double norm = fixture_one(&s->f, "norm"), far = largest_difference(s->t.losses, losses, count);
    ck_assert_msg(fabs(r->loss - loss) <= by->loss * loss, "%s: loss %.12g, not %.12g", s->words, r->loss, loss);
    ck_assert_msg(far <= by->position, "%s: a position's loss is off by %g", s->words, far);
    ck_assert_msg(fabs(r->norm - norm) <= by->norm * norm, "%s: norm %.12g, not %.12g", s->words, r->norm, norm);
    memory_free(losses);
}

static void check_gradients(Subject *s, const Tolerance *by)
{
    const Parameters *p = s->t.network.parameters;
    double *wanted = fixture_gradient(&s->f, p), *found = trial_gradient(&s->t);
    double all = distance(wanted, NULL, p->size);
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (one->role == ROLE_CONSTANT)
            continue;
        const double *a = found + one->offset, *b = wanted + one->offset;
        double largest = largest_difference(b, NULL, one->count), off = distance(a, b, one->count);
        double far = largest_difference(a, b, one->count);
        ck_assert_msg(off <= by->norm * all, "%s: the gradient of %s is off by %g where that of all is %g", s->words,
                      one->name, off, all);
        ck_assert_msg(far <= by->element * largest + 1e-13 * all, "%s: the gradient of %s, at most %g, is off by %g",
                      s->words, one->name, largest, far);
    }
    memory_free(wanted);
    memory_free(found);
}

/* Loss and gradients of the first batch on each twin of a type, fused and composed. */
static void check_network(const char *name, const Tolerance *by)
{
    for (size_t i = 0; twin_of(by->type, i); i++)
        for (int composed = 0; composed < 2; composed++) {
            Subject s;
            subject_open(&s, name, twin_of(by->type, i), composed, &(Training){0});
            StepResult r = trial_step(&s.t, 1, 0);
            check_losses(&s, &r, by);
            check_gradients(&s, by);
            subject_close(&s);
        }
}

static void check_adam(const char *name, const Tolerance *by)
{
    for (size_t i = 0; twin_of(by->type, i); i++) {
        Subject s;
        size_t count;
        Fixture f = fixture_open(name, 1);
        Training training = {.moving = true, .clip = fixture_number(&f, "clip")};
        double *losses = fixture_reals(&f, "adam", &count), rate = fixture_number(&f, "rate");
        subject_open(&s, name, twin_of(by->type, i), false, &training);
        ck_assert_uint_eq(count, ADAM_STEPS + 1);
        for (size_t step = 1; step <= count; step++) { /* the loss of step 21 is the one after 20 steps */
            double loss = trial_step(&s.t, step, rate).loss, wanted = losses[step - 1];
            ck_assert_msg(fabs(loss - wanted) <= by->adam * wanted, "%s: in step %zu the loss is %.12g, not %.12g",
                          s.words, step, loss, wanted);
        }
        memory_free(losses);
        subject_close(&s);
        fixture_close(&f);
    }
}

START_TEST(f64_equals_pytorch_in_loss_and_every_gradient) { check_network(names[_i], &f64); }
END_TEST
START_TEST(f32_equals_pytorch_to_rounding) { check_network(names[_i], &f32); }
END_TEST
START_TEST(bf16_comes_near_pytorch) { check_network(names[_i], &bf16); }
END_TEST

START_TEST(twenty_steps_of_adam_in_f64_equal_pytorch) { check_adam(names[_i], &f64); }
END_TEST
START_TEST(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding) { check_adam(names[_i], &f32); }
END_TEST
START_TEST(twenty_steps_of_adam_in_bf16_come_near_pytorch) { check_adam(names[_i], &bf16); }
END_TEST

START_TEST(encoder_decoders_over_rows_of_other_lengths_equal_pytorch)
{
    check_network(encdecs[_i], &f64);
    check_network(encdecs[_i], &f32);
    check_network(encdecs[_i], &bf16);
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
