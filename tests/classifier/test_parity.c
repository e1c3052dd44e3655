/* classifier's network against PyTorch in double: logits, losses, every gradient, twenty steps of Adam; see
 * tests/fixtures. And what must not matter to it: insides that are dropped, and which texts share a batch. */
#include "tests/parity.h"

#include "base/memory.h"
#include "classifier/model.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"classifier-average", "classifier-max", "classifier-first"};

enum { NETWORKS = sizeof names / sizeof *names, TEXT = 0, LABEL, SIDES_USED };

static Tensor *logits(const void *model, Tape *t, const Rows *rows) { return model_logits(t, model, &rows[TEXT]); }

static Network open_classifier(Subject *s, bool composed)
{
    static const char *const pools[] = {"first", "average", "max", NULL};
    Error e;
    Model *m = memory_get(1, sizeof *m);
    Values v = {.shared = fixture_options(&s->f), .pool = fixture_choice(&s->f, "pool", pools)};
    ck_assert_ptr_nonnull(m);
    v.shared.attention = composed;
    ck_done(model_open(m, &v, (size_t)fixture_number(&s->f, "words"), (size_t)fixture_number(&s->f, "classes"), &e), e);
    s->model = m;
    return (Network){m, &m->parameters, logits, SIDES_USED, LABEL, v.shared.smoothing};
}

static void close_classifier(void *model) { model_close(model); }

static const SubjectKind kind = {SIDES_USED, open_classifier, close_classifier};

static const Model *model_of(const Subject *s) { return s->model; }

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

START_TEST(words_that_no_text_has_get_no_gradient)
{
    Subject s;
    subject_open(&s, &kind, names[_i], plain_of(NUMBER_F64), false, &(Training){0});
    trial_step(&s.t, 1, 0);
    double *gradient = trial_gradient(&s.t);
    const Parameter *table = model_of(&s)->embedding.table;
    const Side *texts = &s.f.batch[0].side[TEXT];
    for (size_t word = 0; word < table->shape[0]; word++) {
        bool read = false;
        for (size_t i = 0; i < texts->positions; i++)
            read = read || (size_t)texts->ids[i] == word;
        double largest = largest_difference(gradient + table->offset + word * table->shape[1], NULL, table->shape[1]);
        ck_assert_msg(read == (largest > 0), "word %zu: gradient %g", word, largest);
    }
    memory_free(gradient);
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
    *size = model_of(&s)->parameters.size;
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

/* Text r of a batch, with its label, as a batch of its own. */
static Batch alone(const Batch *all, size_t r)
{
    Batch b;
    Error e;
    const Side *from = &all->side[TEXT];
    size_t first = (size_t)from->start[r], length = (size_t)from->start[r + 1] - first;
    ck_done(batch_open(&b, &(BatchSize){SIDES_USED, 1, {length, 1}, 0}, &e), e);
    batch_row(&b, TEXT, length);
    batch_row(&b, LABEL, 1);
    memcpy(b.side[TEXT].ids, from->ids + first, length * sizeof *from->ids);
    memcpy(b.side[TEXT].targets, from->targets + first, length * sizeof *from->targets);
    b.side[LABEL].ids[0] = 0;
    b.side[LABEL].targets[0] = all->side[LABEL].targets[r];
    return b;
}

START_TEST(a_text_has_the_same_logits_alone_and_in_company)
{
    for (size_t i = 0; !i || twin_of(NUMBER_F32, i - 1); i++) {
        const Kernels *k = i ? twin_of(NUMBER_F32, i - 1) : plain_of(NUMBER_F64);
        Subject s;
        subject_open(&s, &kind, names[_i], k, false, &(Training){0});
        const Batch *all = &s.f.batch[0];
        double *packed = trial_logits(&s.t, all);
        for (size_t r = 0; r < all->side[TEXT].rows; r++) {
            Batch one = alone(all, r);
            double *own = trial_logits(&s.t, &one);
            double far = largest_difference(own, packed + r * model_of(&s)->classes, model_of(&s)->classes);
            ck_assert_msg(far <= (i ? 1e-5 : 1e-14), "%s: alone, text %zu has a logit that is off by %g", s.words, r,
                          far);
            memory_free(own);
            batch_close(&one);
        }
        memory_free(packed);
        subject_close(&s, &kind);
    }
}
END_TEST

START_TEST(any_texts_in_a_micro_batch_give_the_gradient_of_pytorch)
{
    for (size_t micro = 1; micro <= 3; micro++)
        for (size_t workers = 1; workers <= 2; workers++) {
            Subject s;
            Training training = {.micro_rows = micro, .workers = workers};
            subject_open(&s, &kind, names[_i], plain_of(NUMBER_F64), false, &training);
            parity_step(&s, &parity_f64);
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
        TEST_LOOP(words_that_no_text_has_get_no_gradient, NETWORKS),
        TEST_LOOP(insides_that_are_dropped_give_the_same_bits, NETWORKS),
        TEST_LOOP(a_text_has_the_same_logits_alone_and_in_company, NETWORKS),
        TEST_LOOP(any_texts_in_a_micro_batch_give_the_gradient_of_pytorch, NETWORKS),
    };
    return suite_run("classifier/parity", tests, sizeof tests / sizeof *tests, argc, argv);
}
