/* Which tensor was the first that is not finite. */
#include "core/tensor/nonfinite.h"

#include "base/memory.h"
#include "core/tensor/operations.h"
#include "tests/tensor/tape_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const TapeFixtureOptions post = {.activation = ACTIVATION_RELU};
static const TapeFixtureOptions pre = {.activation = ACTIVATION_GELU, .norm = NORM_PRE, .composed = true};

static Tensor *blocks(Tape *t, const TapeFixture *l)
{
    AttentionContext how = context_rows(&l->rows, true);
    Tensor *x = embed(t, &l->embedding, &l->rows);
    for (size_t i = 0; i < FIXTURE_BLOCKS; i++)
        x = block(t, &l->block[i], x, NULL, &how);
    return linear_logits(t, &l->logits, x);
}

/* What the tape blames when a program runs. */
static const char *nonfinite_in(TapeFixture *l, Program *program, Keep keep)
{
    static char name[NONFINITE_NAME];
    name[0] = 0;
    Pass p = tape_fixture_pass(l, program, &(PassOptions){.keep = keep, .nonfinite = name});
    pass_free(&p);
    return name;
}

static const char *nonfinite(TapeFixture *l, Keep keep) { return nonfinite_in(l, blocks, keep); }

/* A weight that is not a number, and the operation that reads it first. The last row and column of a table or a matrix
 * is read by no smaller part than the whole. */
typedef struct Plant {
    const char *parameter, *operation;
} Plant;

static const Plant plants[] = {
    {"embedding.weight", "the embedding with embedding.weight"},
    {"blocks.0.attention.query.weight", "the product with blocks.0.attention.query.weight"},
    {"blocks.1.attention.key.weight", "the product with blocks.1.attention.query.weight"}, /* three in one product */
    {"blocks.1.attention.value.bias", "the product with blocks.1.attention.query.weight"},
    {"blocks.2.attention.out.bias", "the product with blocks.2.attention.out.weight"},
    {"blocks.2.norm1.weight", "the norm with blocks.2.norm1.weight"},
    {"blocks.2.norm2.bias", "the norm with blocks.2.norm2.weight"},
    {"blocks.3.ff.in.weight", "the product with blocks.3.ff.in.weight"},
    {"blocks.3.ff.out.weight", "the product with blocks.3.ff.out.weight"},
    {"logits.weight", "the product with logits.weight"},
};

enum { PLANTS = sizeof plants / sizeof *plants };

static void check_plant(const Kernels *k, const TapeFixtureOptions *o, const Plant *plant, double value)
{
    TapeFixture l;
    char name[NONFINITE_NAME] = "", words[NONFINITE_NAME];
    tape_fixture_open(&l, k, o);
    const Parameter *p = parameters_find(&l.parameters, plant->parameter);
    ck_assert(p);
    size_t at = strcmp(p->name, "embedding.weight") == 0 ? (size_t)l.ids[3] * FIXTURE_DIM + 1 : p->count - 1;
    ck_assert_str_eq(nonfinite(&l, KEEP_ALL), "");
    tape_fixture_set(&l, p, at, value);
    for (int keep = 0; keep < 2; keep++)
        ck_assert_str_eq(nonfinite(&l, (Keep)keep), plant->operation);
    nonfinite_weights(name, &l.weights, l.stream);
    snprintf(words, sizeof words, "the weights %s", p->name);
    ck_assert_str_eq(name, words);
    tape_fixture_close(&l);
}

START_TEST(the_operation_that_first_reads_a_bad_weight_is_named)
{
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            check_plant(backend_of((NumberType)type, i), &post, &plants[_i], NAN);
            check_plant(backend_of((NumberType)type, i), &pre, &plants[_i], INFINITY);
        }
}

START_TEST(a_product_that_overflows_is_named)
{
    for (int type = 0; type < NUMBER_F64; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            TapeFixture l;
            char name[NONFINITE_NAME] = "";
            tape_fixture_open(&l, backend_of((NumberType)type, i), &post);
            for (size_t j = 0; j < l.block[2].ff.in.weight->count; j++)
                tape_fixture_set(&l, l.block[2].ff.in.weight, j, 3e38);
            nonfinite_weights(name, &l.weights, l.stream);
            ck_assert_str_eq(name, ""); /* all weights are finite */
            ck_assert_str_eq(nonfinite(&l, KEEP_ALL), "the product with blocks.2.ff.in.weight");
            tape_fixture_close(&l);
        }
}

/* Scores of 1e38 squared: the softmax makes NaN of two infinities. */
START_TEST(attention_that_overflows_is_named)
{
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F32, 0), _i ? &pre : &post);
    Linear query = l.block[1].attention.query;
    for (size_t m = 0; m < 2; m++) { /* query and key */
        const Parameter *bias = l.parameters.list[0];
        for (size_t i = 0; i < l.parameters.count; i++)
            if (l.parameters.list[i] == query.bias)
                bias = l.parameters.list[i + m];
        for (size_t j = 0; j < bias->count; j++)
            tape_fixture_set(&l, bias, j, 1e30);
    }
    ck_assert_str_eq(nonfinite(&l, KEEP_ALL),
                     _i ? "the product of two tensors after blocks.1.attention.query.weight"
                        : "the attention before the product with blocks.1.attention.out.weight");
    tape_fixture_close(&l);
}

/* ---- operations without a parameter: each reads the output of a map, which is finite, and something from outside */

enum { OUTSIDE = FIXTURE_ROWS * 6 * FIXTURE_DIM };

static Tensor *mapped(Tape *t, const TapeFixture *l)
{
    return linear(t, &l->narrow, embed(t, &l->embedding, &l->rows));
}

/* All of one value, in f32. */
static Tensor *outside(Tape *t, float value)
{
    static float memory[OUTSIDE];
    for (size_t i = 0; i < OUTSIDE; i++)
        memory[i] = value;
    return tape_outside(t, memory, FIXTURE_POSITIONS, FIXTURE_DIM);
}

static Tensor *finished(Tape *t, const TapeFixture *l, Tensor *x) { return linear_logits(t, &l->logits, x); }

static Tensor *large_sum(Tape *t, const TapeFixture *l)
{
    Tensor *x = mapped(t, l), *large = outside(t, 2e38f);
    return finished(t, l, add(t, add(t, large, x, (Dropout){0}), large, (Dropout){0}));
}

static Tensor *large_product(Tape *t, const TapeFixture *l)
{
    enum { N = FIXTURE_POSITIONS, D = FIXTURE_DIM };
    ProductShape squares = {{0, 0, N, 1}, {0, 0, D, 1}, {0, 0, 1, D}, 1, 1, N, N, D, 1};
    Tensor *x = mapped(t, l), *large = outside(t, 1e20f);
    product(t, large, large, &squares, N, N);
    return finished(t, l, x);
}

static Tensor *activated_nan(Tape *t, const TapeFixture *l)
{
    Tensor *x = mapped(t, l);
    activate(t, outside(t, NAN), ACTIVATION_GELU);
    return finished(t, l, x);
}

static Tensor *infinite_scores(Tape *t, const TapeFixture *l)
{
    Attend how = attend_rows(&l->rows, true);
    Tensor *x = mapped(t, l);
    how.heads = 1;
    Tensor *scores = outside(t, INFINITY);
    scores->rows = FIXTURE_ROWS * 6, scores->columns = scores->stride = 6;
    mask_scores(t, scores, &how, 0);
    ck_assert(!softmax(t, scores)->real); /* weights are numbers, as the scores they take the place of */
    return finished(t, l, x);
}

static Tensor *dropped_nan(Tape *t, const TapeFixture *l)
{
    Tensor *x = mapped(t, l);
    add(t, NULL, outside(t, NAN), (Dropout){.rate = 0.5, .site = 77});
    return finished(t, l, x);
}

static Tensor *large_square(Tape *t, const TapeFixture *l)
{
    Tensor *x = mapped(t, l), *large = outside(t, 1e20f);
    mul(t, large, large);
    return finished(t, l, x);
}

static const struct {
    Program *program;
    const char *operation;
} nameless[] = {
    {large_sum, "the sum"},
    {large_product, "the product of two tensors"},
    {activated_nan, "the activation"},
    {large_square, "the elementwise product"},
    {infinite_scores, "the softmax"},
    {dropped_nan, "the dropout"},
};

enum { NAMELESS = sizeof nameless / sizeof *nameless };

START_TEST(an_operation_without_a_parameter_is_named_by_the_last_one_that_was_fine)
{
    for (size_t i = 0; backend_of(NUMBER_F32, i); i++) {
        TapeFixture l;
        char words[NONFINITE_NAME];
        tape_fixture_open(&l, backend_of(NUMBER_F32, i), &post);
        snprintf(words, sizeof words, "%s after narrow.weight", nameless[_i].operation);
        ck_assert_str_eq(nonfinite_in(&l, nameless[_i].program, KEEP_ALL), words);
        tape_fixture_close(&l);
    }
}

/* A pass says nothing about the one before it. */
START_TEST(a_new_pass_knows_of_no_parameter_yet)
{
    TapeFixture l;
    Tape t;
    Error e;
    char name[NONFINITE_NAME] = "";
    const TapePlan plan = {1 << 18, 1 << 18, 1 << 14};
    tape_fixture_open(&l, backend_of(NUMBER_F32, 0), &post);
    ck_done(tape_open(&t, l.k, l.stream, &l.weights, &plan, &e), e);
    t.nonfinite = name;
    mapped(&t, &l);
    ck_assert_ptr_eq(t.fine, l.narrow.weight);
    tape_reset(&t);
    activate(&t, outside(&t, NAN), ACTIVATION_GELU);
    ck_assert_str_eq(name, "the activation");
    tape_close(&t);
    tape_fixture_close(&l);
}

START_TEST(the_first_bad_tensor_is_named_not_the_last)
{
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F32, 0), &post);
    tape_fixture_set(&l, l.block[3].ff.in.weight, 0, NAN);
    tape_fixture_set(&l, l.block[1].ff.in.weight, 0, NAN);
    tape_fixture_set(&l, l.logits.bias, 0, NAN);
    ck_assert_str_eq(nonfinite(&l, KEEP_ALL), "the product with blocks.1.ff.in.weight");
    tape_fixture_close(&l);
}

/* Logits are finite, the loss is not: its target was ruled out. */
START_TEST(a_loss_that_is_not_finite_is_named)
{
    TapeFixture l;
    tape_fixture_open(&l, backend_of(NUMBER_F32, 0), &post);
    for (size_t i = 0; i < FIXTURE_WORDS; i++)
        tape_fixture_set(&l, l.logits.bias, i, i % 2 ? 3e38 : -3e38);
    ck_assert_str_eq(nonfinite(&l, KEEP_ALL), "the loss after logits.weight");
    tape_fixture_close(&l);
}

START_TEST(gradients_are_named_in_the_order_of_the_backward_pass)
{
    TapeFixture l;
    char name[NONFINITE_NAME] = "", words[NONFINITE_NAME];
    tape_fixture_open(&l, backend_of((NumberType)_i, 0), &post);
    void *gradient = memory_get(l.parameters.size, l.k->real);
    Tape t = {.k = l.k, .stream = l.stream, .weights = &l.weights, .gradient = gradient};
    nonfinite_gradients(name, &t);
    ck_assert_str_eq(name, "");
    for (size_t i = 0; i < l.parameters.count; i++) { /* more and more of them, from first to last */
        const Parameter *p = l.parameters.list[i];
        size_t at = p->offset + p->count / 2;
        if (p->role == ROLE_CONSTANT)
            continue;
        real_put(l.k, gradient, at, NAN);
        name[0] = 0;
        nonfinite_gradients(name, &t);
        snprintf(words, sizeof words, "the gradient of %s", p->name);
        ck_assert_str_eq(name, words);
    }
    memory_free(gradient);
    tape_fixture_close(&l);
}

START_TEST(numbers_are_looked_at_to_the_last)
{
    TapeFixture l;
    Tape t;
    Error e;
    char name[NONFINITE_NAME] = "";
    const TapePlan plan = {1 << 18, 0, 1 << 12};
    tape_fixture_open(&l, backend_of(NUMBER_F64, 0), &post);
    ck_done(tape_open(&t, l.k, l.stream, &l.weights, &plan, &e), e);
    t.nonfinite = name;
    for (size_t n = 1021; n < 1028; n++) { /* around the size of a piece */
        Tensor *x = tape_tensor(&t, 1, n, false, false);
        for (size_t i = 0; i < n; i++)
            ((double *)x->data)[i] = 1;
        tape_check(&t, x, "a tensor", NULL);
        ck_assert_str_eq(name, "");
        ((double *)x->data)[n - 1] = NAN;
        tape_check(&t, x, "a tensor", NULL);
        ck_assert_str_eq(name, "a tensor");
        name[0] = 0;
        tape_reset(&t);
    }
    tape_close(&t);
    tape_fixture_close(&l);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(the_operation_that_first_reads_a_bad_weight_is_named, PLANTS),
        TEST(a_product_that_overflows_is_named),
        TEST_LOOP(attention_that_overflows_is_named, 2),
        TEST_LOOP(an_operation_without_a_parameter_is_named_by_the_last_one_that_was_fine, NAMELESS),
        TEST(a_new_pass_knows_of_no_parameter_yet),
        TEST(the_first_bad_tensor_is_named_not_the_last),
        TEST(a_loss_that_is_not_finite_is_named),
        TEST_LOOP(gradients_are_named_in_the_order_of_the_backward_pass, NUMBER_TYPES),
        TEST(numbers_are_looked_at_to_the_last),
    };
    return suite_run("tensor/nonfinite", tests, sizeof tests / sizeof *tests, argc, argv);
}
