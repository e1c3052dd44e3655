/* muP: what a wider model computes, how its weights begin and how they move, against Table 8 of Yang et al. 2022; at the
 * base width nothing differs. */
#include "base/memory.h"
#include "core/train/groups.h"
#include "tests/nn/networks.h"

#include <math.h>
#include <string.h>

enum { BASE = 24, TIMES = 2, MUP = PARAMETRIZATION_MUP };

static SharedOptions options_of(size_t dim, int parametrization)
{
    SharedOptions o = small_options();
    o.dim = dim, o.ff = 0;
    o.parametrization = parametrization, o.base_width = parametrization == MUP ? BASE : 0;
    return o;
}

static Model model_of(size_t dim, int parametrization)
{
    const SharedOptions o = options_of(dim, parametrization);
    Model m;
    Error e;
    ck_done(model_open(&m, &o, BYTES, &e), e);
    return m;
}

/* A map whose two sides grow with the width */
static bool inside(const Parameter *p)
{
    return p->role == ROLE_WEIGHT && strstr(p->name, "blocks.") && !strstr(p->name, "relative");
}

static void scale(Weights *w, Stream *s, const Parameter *p, double by)
{
    double *x = memory_get(p->count, sizeof *x);
    ck_assert_ptr_nonnull(x);
    weights_get(w, s, p, x);
    for (size_t i = 0; i < p->count; i++)
        x[i] *= by;
    weights_set(w, s, p, x);
    memory_free(x);
}

/* A model twice as wide as its base is the standard one with smaller queries, by the root of 2, and half the weights at its
 * end. */
START_TEST(scores_and_logits_are_scaled)
{
    static const size_t lengths[] = {5, 13, 1};
    Model model[2] = {model_of(TIMES * BASE, MUP), model_of(TIMES * BASE, 0)};
    double *logits[2];
    Batch batch = random_batch(lengths, 3, 11);
    for (int i = 0; i < 2; i++) {
        TrainerFixture t;
        const Network n = charlm_network(&model[i], 0);
        trainer_fixture_open(&t, plain_of(NUMBER_F64), &n, &batch, 1, &(Training){0});
        trainer_fixture_draw(&t, 5);
        Stream *s = t.trainer.worker[0].stream;
        for (size_t k = 0; i && k < model[i].parameters.count; k++) {
            const Parameter *p = model[i].parameters.list[k];
            if (strstr(p->name, "attention.query"))
                scale(&t.trainer.weights, s, p, 1 / sqrt(TIMES));
            if (!strcmp(p->name, "logits.weight"))
                scale(&t.trainer.weights, s, p, 1.0 / TIMES);
        }
        logits[i] = trainer_fixture_logits(&t, &batch);
        trainer_fixture_close(&t);
    }
    ck_assert_double_gt(largest_difference(logits[0], NULL, 19 * BYTES), 0.1);
    ck_assert_double_le(largest_difference(logits[0], logits[1], 19 * BYTES), 1e-12);
    for (int i = 0; i < 2; i++) {
        memory_free(logits[i]);
        model_close(&model[i]);
    }
    batch_close(&batch);
}

/* The root of the mean square of a parameter that is drawn; 0: it is not. */
static double size_of(const Model *m, const Parameter *p, Init init)
{
    const Kernels *k = plain_of(NUMBER_F64);
    double *x = memory_get(p->count, sizeof *x), square = 0;
    Stream *s;
    Weights w;
    Error e;
    ck_done(k->open(&s, 1, &e) && weights_open(&w, k, s, &m->parameters, &e) && weights_init(&w, s, init, 2, 3, &e), e);
    weights_get(&w, s, p, x);
    for (size_t i = 0; i < p->count; i++)
        square += x[i] * x[i];
    square /= (double)p->count;
    weights_close(&w);
    k->close(s);
    memory_free(x);
    return sqrt(square);
}

START_TEST(weights_begin_as_table_8_says)
{
    Model wide = model_of(TIMES * BASE, MUP), base = model_of(BASE, 0);
    for (size_t i = 0; i < base.parameters.count; i++) {
        const Parameter *b = base.parameters.list[i], *p = parameters_find(&wide.parameters, b->name);
        const double found = size_of(&wide, p, (Init)_i),
                     wanted = size_of(&base, b, (Init)_i) / (inside(b) ? sqrt(TIMES) : 1);
        ck_assert_msg(fabs(found - wanted) <= 5 * wanted / sqrt((double)b->count), "%s: %g, not %g", b->name, found,
                      wanted);
    }
    model_close(&wide);
    model_close(&base);
}

/* The rate and the decay of each parameter, 0.1 of matrices; rate 1 in the base. */
static void check_motions(const char *groups, int kind, size_t dim, size_t wanted_groups)
{
    const double times = (double)dim / BASE;
    const OptimizerOptions o = {.kind = kind, .decay = 0.1, .groups = groups};
    Model m = model_of(dim, MUP);
    const Parameters *p = &m.parameters;
    size_t count;
    Error e;
    Motion *motions = groups_motions(&o, p, &count, &e);
    ck_done(motions != NULL, e);
    ck_assert_uint_eq(count, wanted_groups);
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        const double own = groups && strstr(one->name, "blocks.") ? 0.25 : 1;
        const double rate = (kind == OPTIMIZER_SGD ? times : 1) / (inside(one) ? times : 1);
        if (one->role == ROLE_CONSTANT)
            continue;
        ck_assert_msg(motions[i].rate == own * rate, "%s: %g", one->name, motions[i].rate);
        ck_assert_msg(fabs(motions[i].decay - (one->rank == 2 ? 0.1 : 0) / rate) < 1e-15, "%s decays by %g", one->name,
                      motions[i].decay);
        for (size_t j = 0; j < i; j++) /* one group, one rate */
            ck_assert(p->list[j]->role == ROLE_CONSTANT || motions[j].group != motions[i].group ||
                      motions[j].rate == motions[i].rate);
        ck_assert(motions[i].group || motions[i].rate == 1);
    }
    memory_free(motions);
    model_close(&m);
}

START_TEST(weights_move_as_table_8_says)
{
    check_motions(NULL, OPTIMIZER_ADAM, TIMES * BASE, 1);
    check_motions(NULL, OPTIMIZER_SGD, TIMES * BASE, 1);
    check_motions("blocks.*:lr=0.25", OPTIMIZER_ADAM, TIMES * BASE, 3);
    check_motions("blocks.*:lr=0.25", OPTIMIZER_SGD, TIMES * BASE, 3);
}

START_TEST(at_the_base_width_nothing_differs)
{
    Model mup = model_of(BASE, MUP), standard = model_of(BASE, 0);
    ck_assert_ptr_null(mup.logits.multiplier);
    ck_assert_uint_eq(mup.parameters.count, standard.parameters.count);
    for (size_t i = 0; i < standard.parameters.count; i++) {
        const Parameter *a = mup.parameters.list[i], *b = standard.parameters.list[i];
        for (int init = INIT_PYTORCH; init <= INIT_XAVIER; init++)
            ck_assert(size_of(&mup, a, (Init)init) == size_of(&standard, b, (Init)init));
    }
    check_motions(NULL, OPTIMIZER_ADAM, BASE, 0);
    check_motions("blocks.*:lr=0.25", OPTIMIZER_SGD, BASE, 1);
    model_close(&mup);
    model_close(&standard);
}

static const Test tests[] = {
    TEST(scores_and_logits_are_scaled),
    TEST_LOOP(weights_begin_as_table_8_says, INIT_XAVIER + 1),
    TEST(weights_move_as_table_8_says),
    TEST(at_the_base_width_nothing_differs),
};

int main(int argc, char **argv) { return suite_run("nn/mup", tests, sizeof tests / sizeof *tests, argc, argv); }
