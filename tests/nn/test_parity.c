/* Whole networks against PyTorch in double: logits, losses, every gradient, twenty steps of Adam; see tests/fixtures. */
#include "base/memory.h"
#include "tests/nn/encdec.h"
#include "tests/nn/networks.h"
#include "tests/parity.h"

static const char *const names[] = {
    "post-learned", "post-sinusoid", "pre-learned", "pre-sinusoid", "tied",   "modern",  "small-gpt",
    "unet",         "residual",      "deepnorm",    "realformer",   "capped", "talking", "sigmoid",
    "strided",      "switch",        "experts",     "registers",    "span",   "shaw",    "xl",
    "biased",       "buckets",       "bilinear",    "additive",     "ntk"};

/* A decoder over words that are looked up, and encoder-decoders: post-norm, one table for all; pre-norm, a table each.
 */
static const char *const encdecs[] = {"cross", "encdec-post", "encdec-pre"};

enum { NETWORKS = sizeof names / sizeof *names, ENCDECS = sizeof encdecs / sizeof *encdecs };

static Network open_charlm(ParityFixture *s, bool composed)
{
    SharedOptions o = reference_options(&s->f);
    if (o.residual_scores || (composed && o.distances == DISTANCE_NONE)) /* composed attention has no distances */
        o.attention = ATTENTION_COMPOSED;
    s->model = opened_model(&o);
    Network n = charlm_network(s->model, o.smoothing);
    n.z_loss = o.z_loss;
    return n;
}

static void close_charlm(void *model) { model_close(model); }

static Network open_encdec(ParityFixture *s, bool composed)
{
    Error e;
    EncDec *m = memory_get(1, sizeof *m);
    EncDecOptions o = encdec_options(&s->f);
    ck_assert_ptr_nonnull(m);
    o.block.attention.composed = composed;
    ck_done(encdec_open(m, &o, &e), e);
    s->model = m;
    return encdec_network(m);
}

static void close_encdec(void *model) { encdec_close(model); }

static const ParityKind charlm_kind = {1, open_charlm, close_charlm}, encdec_kind = {2, open_encdec, close_encdec};

static void check_network(const char *name, const Tolerance *by) { parity_network(&charlm_kind, name, by); }
static void check_adam(const char *name, const Tolerance *by) { parity_adam(&charlm_kind, name, by); }

START_TEST(f64_equals_pytorch_in_loss_and_every_gradient) { check_network(names[_i], &parity_f64); }
START_TEST(f32_equals_pytorch_to_rounding) { check_network(names[_i], &parity_f32); }
START_TEST(bf16_comes_near_pytorch) { check_network(names[_i], &parity_bf16); }

START_TEST(twenty_steps_of_adam_in_f64_equal_pytorch) { check_adam(names[_i], &parity_f64); }
START_TEST(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding) { check_adam(names[_i], &parity_f32); }
START_TEST(twenty_steps_of_adam_in_bf16_come_near_pytorch) { check_adam(names[_i], &parity_bf16); }

START_TEST(encoder_decoders_over_rows_of_other_lengths_equal_pytorch)
{
    parity_network(&encdec_kind, encdecs[_i], &parity_f64);
    parity_network(&encdec_kind, encdecs[_i], &parity_f32);
    parity_network(&encdec_kind, encdecs[_i], &parity_bf16);
}

START_TEST(fused_and_composed_attention_agree_in_loss_and_gradient)
{
    double *gradient[2], loss[2];
    size_t size = 0;
    for (int composed = 0; composed < 2; composed++) {
        ParityFixture s;
        parity_open(&s, &charlm_kind, names[_i], plain_of(NUMBER_F64), composed, &(Training){0});
        loss[composed] = trainer_fixture_step(&s.t, 1, 0).loss;
        gradient[composed] = trainer_fixture_gradient(&s.t);
        size = s.t.network.parameters->size;
        parity_close(&s, &charlm_kind);
    }
    ck_assert_double_eq_tol(loss[0], loss[1], 1e-13);
    ck_assert_double_le(largest_difference(gradient[0], gradient[1], size), 1e-14);
    memory_free(gradient[0]);
    memory_free(gradient[1]);
}

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
