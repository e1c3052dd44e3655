/* encdec's network against PyTorch in double: logits, losses, every gradient, twenty steps of Adam; see tests/fixtures.
 * And what must not matter to it: insides that are dropped, how a step is cut, and which pairs share a batch. */
#include "tests/parity.h"

#include "base/memory.h"
#include "encdec/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"encdec-base",   "encdec-apart",         "encdec-deepnorm", "encdec-residual",
                                    "encdec-t5",     "encdec-gates",         "encdec-talking",  "encdec-sigmoid",
                                    "encdec-guided", "encdec-guided-grouped"};

enum { NETWORKS = sizeof names / sizeof *names, SOURCE = 0, TARGET, ALIGNED, FIRST_GUIDED = 8, UNTIED = 1 };

static Tensor *logits(const void *model, Tape *t, const Rows *rows)
{
    return model_pairs(t, model, &rows[SOURCE], &rows[TARGET]);
}

/* A model of which a head is told where to look. */
typedef struct Guided {
    Model model; /* first: all else takes it for one */
    size_t layer, head;
} Guided;

static Tensor *guided_logits(const void *model, Tape *t, const Rows *rows)
{
    const Guided *g = model;
    AttentionContext context = context_across(&rows[TARGET], &rows[SOURCE]);
    Guide *guide = arena_take(&t->host, sizeof *guide);
    *guide = (Guide){g->layer, g->head, rows[ALIGNED].targets, 1};
    context.guide = t->training ? guide : NULL;
    return model_logits(t, &g->model, &rows[TARGET], model_memory(t, &g->model, &rows[SOURCE]), &context);
}

static Network open_encdec(ParityFixture *s, bool composed)
{
    Error e;
    Guided *g = memory_get(1, sizeof *g);
    Model *m = &g->model;
    EncdecOptions v = {.shared = reference_options(&s->f),
                       .decoder_depth = (size_t)reference_number(&s->f, "decoder-depth")};
    ck_assert_ptr_nonnull(g);
    if (composed || v.shared.residual_scores)
        reference_compose(&v.shared);
    ck_done(model_open(m, &v, (size_t)reference_number(&s->f, "tokens"), 0, &e), e);
    s->model = g;
    Network n = {.model = g,
                 .parameters = &m->parameters,
                 .logits = logits,
                 .sides = TARGET + 1,
                 .side = TARGET,
                 .smoothing = v.shared.smoothing,
                 .z_loss = v.shared.z_loss};
    const char *guided = safetensors_text(s->f.file, "guided");
    if (guided) {
        ck_assert(sscanf(guided, "decoder.%zu.cross", &g->layer) == 1);
        g->head = (size_t)reference_number(&s->f, "guided-head");
        n.logits = guided_logits;
        n.sides = ALIGNED + 1;
        n.guided = ALIGNED;
    }
    return n;
}

static void close_encdec(void *model) { model_close(model); }

static const ParityKind kinds[] = {{TARGET + 1, open_encdec, close_encdec}, {ALIGNED + 1, open_encdec, close_encdec}};

static const ParityKind *kind_of(int i) { return &kinds[i >= FIRST_GUIDED]; }

START_TEST(f64_equals_pytorch_in_logits_loss_and_every_gradient)
{
    parity_network(kind_of(_i), names[_i], &parity_f64);
}
START_TEST(f32_equals_pytorch_to_rounding) { parity_network(kind_of(_i), names[_i], &parity_f32); }
START_TEST(bf16_comes_near_pytorch) { parity_network(kind_of(_i), names[_i], &parity_bf16); }

START_TEST(twenty_steps_of_adam_in_f64_equal_pytorch) { parity_adam(kind_of(_i), names[_i], &parity_f64); }
START_TEST(twenty_steps_of_adam_in_f32_equal_pytorch_to_rounding) { parity_adam(kind_of(_i), names[_i], &parity_f32); }
START_TEST(twenty_steps_of_adam_in_bf16_come_near_pytorch) { parity_adam(kind_of(_i), names[_i], &parity_bf16); }

START_TEST(a_tied_table_has_no_second_name)
{
    static const char *const tables[] = {"embedding.weight", "source_embedding.weight", "target_embedding.weight",
                                         "logits.weight", "logits.bias"};
    ParityFixture s;
    parity_open(&s, kind_of(_i), names[_i], plain_of(NUMBER_F64), false, &(Training){0});
    for (size_t i = 0; i < 5; i++)
        ck_assert_msg((parameters_find(s.t.network.parameters, tables[i]) == NULL) ==
                          (_i == UNTIED || _i == FIRST_GUIDED ? i == 0 : i > 0),
                      "%s", tables[i]);
    parity_close(&s, kinds);
}

/* Of 2 blocks of an encoder and 3 of a decoder (Wang et al. 2022, Table 1). */
START_TEST(deepnorm_draws_by_the_depths_of_both)
{
    static const struct {
        const char *name;
        double times;
    } drawn[] = {{"encoder.0.ff.in.weight", 0.6830330},       {"encoder.1.attention.value.weight", 0.6830330},
                 {"encoder.1.attention.key.weight", 0},       {"decoder.2.ff.out.weight", 0.4082483},
                 {"decoder.0.cross.value.weight", 0.4082483}, {"decoder.0.cross.out.weight", 0.4082483},
                 {"decoder.0.cross.key.weight", 0},           {"decoder.1.attention.query.weight", 0}};
    ParityFixture s;
    parity_open(&s, kinds, "encdec-deepnorm", plain_of(NUMBER_F64), false, &(Training){0});
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        const Parameter *p = parameters_find(s.t.network.parameters, drawn[i].name);
        ck_assert_msg(p && fabs(p->times - drawn[i].times) < 1e-7, "%s", drawn[i].name);
    }
    parity_close(&s, kinds);
}

START_TEST(insides_that_are_dropped_give_the_same_bits) { parity_dropped(kind_of(_i), names[_i]); }

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
            for (size_t backend = 0; backend_of(by[type]->type, backend); backend++) {
                ParityFixture s;
                parity_open(&s, kind_of(_i), names[_i], backend_of(by[type]->type, backend), i % 2, &ways[i]);
                parity_step(&s, by[type]);
                parity_close(&s, kinds);
            }
}

START_TEST(a_pair_has_the_same_logits_alone_and_in_company) { parity_alone(kind_of(_i), names[_i], TARGET, "tokens"); }

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
        TEST(deepnorm_draws_by_the_depths_of_both),
        TEST_LOOP(insides_that_are_dropped_give_the_same_bits, NETWORKS),
        TEST_LOOP(however_a_step_is_cut_it_has_the_gradient_of_pytorch, NETWORKS),
        TEST_LOOP(a_pair_has_the_same_logits_alone_and_in_company, NETWORKS),
    };
    return suite_run("encdec/parity", tests, sizeof tests / sizeof *tests, argc, argv);
}
