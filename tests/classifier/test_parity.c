/* classifier's network against PyTorch in double: logits, losses, every gradient, twenty steps of Adam; see
 * tests/fixtures. And what must not matter to it: insides that are dropped, and which texts share a batch. */
#include "tests/parity.h"

#include "base/memory.h"
#include "classifier/model.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"classifier-average", "classifier-max",         "classifier-first",
                                    "classifier-pooler",  "classifier-pooler-relu", "classifier-twice",
                                    "classifier-bias",    "classifier-xl",          "classifier-keys",
                                    "classifier-mlp",     "classifier-alibi",       "classifier-buckets"};

enum { NETWORKS = sizeof names / sizeof *names, SIDES_USED = LABEL + 1 };

static Tensor *logits(const void *model, Tape *t, const Rows *rows) { return model_logits(t, model, rows); }

/* The second pass of R-Drop pools otherwise. */
typedef struct Twice {
    Model model, again; /* the first: all else takes it for one */
} Twice;

static Tensor *again(const void *model, Tape *t, const Rows *rows)
{
    return model_logits(t, &((const Twice *)model)->again, rows);
}

static Network open_classifier(ParityFixture *s, bool composed)
{
    static const char *const pools[] = {"first", "average", "max", NULL};
    static const char *const poolers[] = {"none", "tanh", "relu", NULL};
    Error e;
    Twice *both = memory_get(1, sizeof *both);
    Model *m = &both->model;
    ClassifierOptions v = {.shared = reference_options(&s->f), .pool = reference_choice(&s->f, "pool", pools)};
    if (safetensors_text(s->f.file, "pooler"))
        v.pooler = reference_choice(&s->f, "pooler", poolers);
    ck_assert_ptr_nonnull(both);
    if (composed)
        reference_compose(&v.shared);
    ck_done(model_open(m, &v, (size_t)reference_number(&s->f, "words"), (size_t)reference_number(&s->f, "classes"), &e),
            e);
    both->again = *m;
    both->again.pool = POOLING_MAX;
    s->model = both;
    Network n = {.model = m,
                 .parameters = &m->parameters,
                 .logits = logits,
                 .sides = SIDES_USED,
                 .side = LABEL,
                 .smoothing = v.shared.smoothing,
                 .z_loss = v.shared.z_loss};
    if (safetensors_text(s->f.file, "again")) {
        n.again = again;
        n.r_drop = reference_number(&s->f, "r-drop-permille") / 1000;
    }
    return n;
}

static void close_classifier(void *model) { model_close(model); }

static const ParityKind kind = {SIDES_USED, open_classifier, close_classifier};

static const Model *model_of(const ParityFixture *s) { return s->model; }

START_TEST(f64_equals_pytorch_in_logits_loss_and_every_gradient) { parity_network(&kind, names[_i], &parity_f64); }
START_TEST(f32_equals_pytorch_to_rounding) { parity_network(&kind, names[_i], &parity_f32); }
START_TEST(bf16_comes_near_pytorch) { parity_network(&kind, names[_i], &parity_bf16); }

START_TEST(twenty_steps_of_adam_in_f64_equal_pytorch) { parity_adam(&kind, names[_i], &parity_f64); }
START_TEST(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding) { parity_adam(&kind, names[_i], &parity_f32); }
START_TEST(twenty_steps_of_adam_in_bf16_come_near_pytorch) { parity_adam(&kind, names[_i], &parity_bf16); }

START_TEST(words_that_no_text_has_get_no_gradient)
{
    ParityFixture s;
    parity_open(&s, &kind, names[_i], plain_of(NUMBER_F64), false, &(Training){0});
    trainer_fixture_step(&s.t, 1, 0);
    double *gradient = trainer_fixture_gradient(&s.t);
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
    parity_close(&s, &kind);
}

START_TEST(insides_that_are_dropped_give_the_same_bits) { parity_dropped(&kind, names[_i]); }

START_TEST(a_text_has_the_same_logits_alone_and_in_company) { parity_alone(&kind, names[_i], LABEL, "classes"); }

START_TEST(any_texts_in_a_micro_batch_give_the_gradient_of_pytorch)
{
    for (size_t micro = 1; micro <= 3; micro++)
        for (size_t workers = 1; workers <= 2; workers++) {
            ParityFixture s;
            Training training = {.micro_rows = micro, .workers = workers};
            parity_open(&s, &kind, names[_i], plain_of(NUMBER_F64), false, &training);
            parity_step(&s, &parity_f64);
            parity_close(&s, &kind);
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
        TEST_LOOP(twenty_steps_of_adam_in_bf16_come_near_pytorch, NETWORKS),
        TEST_LOOP(words_that_no_text_has_get_no_gradient, NETWORKS),
        TEST_LOOP(insides_that_are_dropped_give_the_same_bits, NETWORKS),
        TEST_LOOP(a_text_has_the_same_logits_alone_and_in_company, NETWORKS),
        TEST_LOOP(any_texts_in_a_micro_batch_give_the_gradient_of_pytorch, NETWORKS),
    };
    return suite_run("classifier/parity", tests, sizeof tests / sizeof *tests, argc, argv);
}
