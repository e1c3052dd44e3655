/* Attention that knows distances, in a small network: tests/kernels/test_score.c asks the same of the operation. */
#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/block.h"
#include "core/nn/embedding.h"
#include "tests/nn/networks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 2, HEADS = 2, DIM = 10, KINDS = 7, WITH_SPAN = 5 };

typedef struct Net {
    Parameters parameters;
    Embedding embedding;
    Block block[DEPTH];
    Linear logits;
    bool causal;
    Batch batch;
    TrainerFixture t;
} Net;

/* One after another: each kind alone, and some that a span is added to; where there is none the span is alone. */
typedef struct Which {
    DistanceKind kind;
    bool span;
    double span_loss;
} Which;

static Which which(int i)
{
    static const DistanceKind with[WITH_SPAN] = {DISTANCE_NONE, DISTANCE_BIAS, DISTANCE_ALIBI, DISTANCE_XL,
                                                 DISTANCE_T5};
    if (i < KINDS)
        return (Which){.kind = (DistanceKind)(i + 1)};
    return (Which){with[i - KINDS], true, 0};
}

static Tensor *logits(const void *model, Tape *t, const Rows *rows)
{
    const Net *n = model;
    AttentionContext how = context_rows(rows, n->causal);
    Tensor *x = embed(t, &n->embedding, rows);
    for (size_t i = 0; i < DEPTH; i++)
        x = block(t, &n->block[i], x, NULL, &how);
    return linear_logits(t, &n->logits, x);
}

static void net_open(Net *n, Which which, bool composed, const Kernels *k, const Training *training)
{
    static const size_t lengths[] = {7, 0, 1, 12, 3};
    Error e;
    const DistanceKind kind = which.kind;
    *n = (Net){.causal = kind != DISTANCE_KEYS && kind != DISTANCE_T5};
    BlockOptions o = {.attention = {.dim = DIM,
                                    .heads = HEADS,
                                    .key_size = 4,
                                    .value_size = 5,
                                    .bias = true,
                                    .composed = composed,
                                    .dropout = 0.1,
                                    .distances = {kind, .reach = 4, .ahead = n->causal ? 0 : 3,
                                                  .span_ramp = which.span ? 1.5 : 0, .span_loss = which.span_loss}},
                      .ff = 9,
                      .activation = ACTIVATION_GELU};
    Parameters *p = &n->parameters;
    char name[32];
    n->embedding = embedding_new(p, &(EmbeddingOptions){.vocabulary = BYTES, .dim = DIM, .scale = 1},
                                 "token_embedding.weight", "");
    for (size_t i = 0; i < DEPTH; i++) {
        snprintf(name, sizeof name, "blocks.%zu", i);
        n->block[i] = block_new(p, &o, name);
    }
    n->logits = linear_new(p, DIM, BYTES, true, "logits");
    ck_done(parameters_finish(p, &e), e);
    n->batch = random_batch(lengths, 5, 11);
    trainer_fixture_open(&n->t, k, &(Network){.model = n, .parameters = p, .logits = logits, .sides = 1}, &n->batch, 1,
                         training);
}

static void net_close(Net *n)
{
    trainer_fixture_close(&n->t);
    batch_close(&n->batch);
    parameters_close(&n->parameters);
}

/* Weights for a step; spans of 1 to 3 of the 5 distances, so that some keys are whole, some on the ramp, some behind it. */
static void draw(Net *n)
{
    trainer_fixture_draw(&n->t, 5);
    for (size_t i = 0; i < n->parameters.count; i++)
        for (size_t h = 0; strstr(n->parameters.list[i]->name, ".span") && h < HEADS; h++)
            trainer_fixture_nudge(&n->t, n->parameters.list[i], h, 0.4);
}

/* One step's gradient: of the drawn weights. */
static double *gradient_of(Which which, const Kernels *k, const Training *training, size_t *size)
{
    Net n;
    net_open(&n, which, false, k, training);
    draw(&n);
    trainer_fixture_step(&n.t, 1, 0);
    double *gradient = trainer_fixture_gradient(&n.t);
    *size = n.parameters.size;
    net_close(&n);
    return gradient;
}

START_TEST(the_gradient_is_that_of_central_differences)
{
    const double h = 1e-5;
    Net n;
    net_open(&n, which(_i), false, plain_of(NUMBER_F64), &(Training){.workers = 2, .micro_rows = 2});
    draw(&n);
    trainer_fixture_step(&n.t, 1, 0);
    double *gradient = trainer_fixture_gradient(&n.t);
    for (size_t i = 0; i < n.parameters.count; i++) {
        const Parameter *one = n.parameters.list[i];
        if (one->role == ROLE_CONSTANT || one->role == ROLE_LOOKUP)
            continue;
        double largest = largest_difference(gradient + one->offset, NULL, one->count);
        ck_assert_msg(largest > 0 || strstr(one->name, "key.bias"), "%s has no gradient", one->name);
        for (uint64_t draw = 0; draw < 4; draw++) {
            size_t j = (size_t)philox_below(one->count, 7, (uint32_t)_i, draw, (uint32_t)i);
            trainer_fixture_nudge(&n.t, one, j, h);
            double more = trainer_fixture_step(&n.t, 1, 0).loss;
            trainer_fixture_nudge(&n.t, one, j, -2 * h);
            double less = trainer_fixture_step(&n.t, 1, 0).loss;
            trainer_fixture_nudge(&n.t, one, j, h);
            double slope = (more - less) / (2 * h), found = gradient[one->offset + j];
            ck_assert_msg(fabs(slope - found) <= 1e-6 * largest + 2e-9, "%s[%zu]: the gradient is %.9g, the slope %.9g",
                          one->name, j, found, slope);
        }
    }
    memory_free(gradient);
    net_close(&n);
}

START_TEST(kept_computed_again_and_split_give_the_same_gradient)
{
    static const Training ways[] = {{.workers = 1}, {.keep = KEEP_INPUTS}, {.workers = 3, .micro_rows = 1}};
    for (size_t i = 0; backend_of(NUMBER_F32, i); i++) {
        size_t size;
        double *one = gradient_of(which(_i), backend_of(NUMBER_F32, i), &ways[0], &size);
        for (size_t w = 1; w < 3; w++) {
            double *other = gradient_of(which(_i), backend_of(NUMBER_F32, i), &ways[w], &size);
            ck_assert_double_le(distance(one, other, size), w == 1 ? 0 : 1e-5 * distance(one, NULL, size));
            memory_free(other);
        }
        memory_free(one);
    }
}

START_TEST(backends_and_types_agree)
{
    size_t size;
    double *f64 = gradient_of(which(_i), plain_of(NUMBER_F64), &(Training){0}, &size);
    for (int type = NUMBER_F32; type <= NUMBER_BF16; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            double *one = gradient_of(which(_i), backend_of((NumberType)type, i), &(Training){0}, &size);
            ck_assert_double_le(distance(one, f64, size),
                                (type == NUMBER_BF16 ? 0.05 : 1e-5) * distance(f64, NULL, size));
            memory_free(one);
        }
    memory_free(f64);
}

/* Half of it for each of two heads. */
START_TEST(the_loss_of_spans_is_in_the_gradient_once_however_a_step_is_cut)
{
    static const Training ways[] = {{.workers = 1}, {.keep = KEEP_INPUTS}, {.workers = 3, .micro_rows = 1}};
    for (size_t w = 0; w < 3; w++) {
        size_t size, more = 0;
        double *without = gradient_of((Which){DISTANCE_NONE, true, 0}, plain_of(NUMBER_F64), &ways[w], &size),
               *with = gradient_of((Which){DISTANCE_NONE, true, 0.5}, plain_of(NUMBER_F64), &ways[w], &size);
        for (size_t i = 0; i < size; i++)
            if (with[i] != without[i]) {
                ck_assert_double_eq_tol(with[i] - without[i], 0.25, 1e-12);
                more++;
            }
        ck_assert_uint_eq(more, DEPTH * HEADS);
        memory_free(without);
        memory_free(with);
    }
}

START_TEST(learned_or_fixed_a_bias_begins_as_alibi)
{
    Net n;
    Error e;
    for (int init = INIT_PYTORCH; init <= INIT_XAVIER; init++) {
        net_open(&n, (Which){.kind = _i ? DISTANCE_ALIBI : DISTANCE_BIAS}, false, plain_of(NUMBER_F64), &(Training){0});
        ck_done(weights_init(&n.t.trainer.weights, n.t.trainer.worker[0].stream, (Init)init, DEPTH, 4, &e), e);
        const Parameter *bias = parameters_find(&n.parameters, "blocks.1.attention.distance_bias");
        ck_assert(bias && bias->shape[0] == 5 && bias->shape[1] == HEADS);
        double values[5 * HEADS];
        weights_get(&n.t.trainer.weights, n.t.trainer.worker[0].stream, bias, values);
        for (size_t d = 0; d < 5; d++) {
            ck_assert(values[d * HEADS] == -(double)d / 16);
            ck_assert(values[d * HEADS + 1] == -(double)d / 256);
        }
        net_close(&n);
    }
}

/* Distances back, and (negative) ahead: T5's own buckets, worked out by its formula. */
START_TEST(buckets_are_those_of_t5)
{
    static const struct {
        int distance;
        size_t causal, both;
    } cases[] = {{0, 0, 0},    {1, 1, 1},    {7, 7, 7},    {8, 8, 8},     {15, 15, 9},    {16, 16, 10},
                 {18, 16, 10}, {19, 17, 10}, {64, 26, 14}, {127, 31, 15}, {128, 31, 15},  {150, 31, 15},
                 {-1, 99, 17}, {-7, 99, 23}, {-8, 99, 24}, {-64, 99, 30}, {-128, 99, 31}, {-150, 99, 31}};
    for (size_t ahead = 0; ahead <= 150; ahead += 150) {
        Parameters p = {0};
        Distances d = distances_new(&p, &(DistanceOptions){DISTANCE_BUCKETS, .reach = 150, .ahead = ahead}, 8, 2, 4,
                                    "blocks.0.attention");
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (size_t column = 0; column < BUCKETS && (ahead || cases[i].distance >= 0); column++) {
                double one = d.inputs->constant(d.inputs, (size_t)(cases[i].distance + (int)ahead), column);
                ck_assert_msg(one == (column == (ahead ? cases[i].both : cases[i].causal)), "%zu ahead, %d: bucket %zu",
                              ahead, cases[i].distance, column);
            }
        parameters_close(&p);
    }
}

/* Slopes are those of a network that has this many heads; the others hear of no distance. */
START_TEST(alibi_may_be_for_the_first_heads_alone)
{
    Parameters p = {0};
    Distances some = distances_new(&p, &(DistanceOptions){DISTANCE_ALIBI, .reach = 9, .heads = 2}, 8, 3, 4, "a"),
              all = distances_new(&p, &(DistanceOptions){DISTANCE_ALIBI, .reach = 9}, 8, 2, 4, "b");
    for (size_t distance = 0; distance < 10; distance++)
        for (size_t h = 0; h < 3; h++)
            ck_assert(some.bias->constant(some.bias, distance, h) ==
                      (h < 2 ? all.bias->constant(all.bias, distance, h) : 0));
    ck_assert(all.bias->constant(all.bias, 3, 1) == -3 * exp2(-8));
    parameters_close(&p);
}

/* T5 has one table for all blocks, whose names have one number each. */
START_TEST(t5_has_one_table_and_buckets_one_a_block)
{
    for (int t5 = 0; t5 < 2; t5++) {
        Parameters p = {0};
        DistanceOptions o = {t5 ? DISTANCE_T5 : DISTANCE_BUCKETS, .reach = 9};
        Distances first = distances_new(&p, &o, 8, 2, 4, "blocks.0.attention"),
                  second = distances_new(&p, &o, 8, 2, 4, "blocks.1.attention");
        ck_assert((first.last.weight == second.last.weight) == t5);
        ck_assert_str_eq(second.last.weight->name,
                         t5 ? "blocks.distance_bias.weight" : "blocks.1.attention.distance_bias.weight");
        parameters_close(&p);
    }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(the_gradient_is_that_of_central_differences, KINDS + WITH_SPAN),
                                 TEST_LOOP(kept_computed_again_and_split_give_the_same_gradient, KINDS + WITH_SPAN),
                                 TEST_LOOP(backends_and_types_agree, KINDS + WITH_SPAN),
                                 TEST(the_loss_of_spans_is_in_the_gradient_once_however_a_step_is_cut),
                                 TEST_LOOP(learned_or_fixed_a_bias_begins_as_alibi, 2),
                                 TEST(alibi_may_be_for_the_first_heads_alone),
                                 TEST(buckets_are_those_of_t5),
                                 TEST(t5_has_one_table_and_buckets_one_a_block)};
    return suite_run("nn/distances", tests, sizeof tests / sizeof *tests, argc, argv);
}
