/* What a tape needs for one shape suffices for every smaller one: random networks, and random rows within a plan. */
#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/loss.h"
#include "core/tensor/operations.h"
#include "kernels/cost/cost.h"
#include "tests/tensor/tape_fixture.h"

#include <stdio.h>
#include <string.h>

typedef struct Random {
    uint32_t seed;
    uint64_t drawn;
} Random;

static size_t below(Random *r, size_t n) { return (size_t)philox_below(n, r->seed, 0, r->drawn++, 3); }
static size_t between(Random *r, size_t least, size_t most) { return least + below(r, most - least + 1); }

/* ---- networks: an encoder, or one and a decoder that attends to it */

enum { DEPTH = 4, ROWS = 12, LONGEST = 40 };

typedef struct Network {
    Parameters parameters;
    Embedding source, target;
    Block encoder[DEPTH], decoder[DEPTH];
    Attention cross[DEPTH];
    Branch branch[DEPTH];
    Norm norm;
    Linear logits;
    size_t depth, scratch; /* scratch: of a segment of no other use */
    bool decodes, gated;
    Keep keep;
} Network;

static void network_open(Network *n, Random *r)
{
    Error e;
    char name[32];
    size_t heads = between(r, 1, 4), key = between(r, 1, 8), value = below(r, 2) ? key : between(r, 1, 8);
    size_t dim = between(r, 1, 40);
    BlockOptions o = {.attention = {.dim = dim,
                                    .heads = heads,
                                    .key_size = key,
                                    .value_size = value,
                                    .bias = below(r, 2),
                                    .composed = below(r, 3) > 0,
                                    .dropout = below(r, 2) ? 0.1 : 0},
                      .ff = between(r, 1, 4 * dim),
                      .activation = below(r, 2) ? ACTIVATION_RELU : ACTIVATION_GELU,
                      .norm = below(r, 2) ? NORM_POST : NORM_PRE,
                      .dropout = below(r, 2) ? 0.1 : 0};
    AttentionOptions cross = o.attention;
    EmbeddingOptions words = {.vocabulary = between(r, 1, 60), .dim = dim, .scale = 1};
    cross.cross = true;
    *n = (Network){
        .depth = between(r, 1, DEPTH), .decodes = below(r, 3) == 0, .gated = below(r, 2), .keep = (Keep)below(r, 2)};
    n->scratch = below(r, 4) ? 0 : dim;
    Parameters *p = &n->parameters;
    n->source = embedding_new(p, &words, "source", "");
    n->target = embedding_new(p, &words, "target", "");
    for (size_t i = 0; i < n->depth; i++) {
        snprintf(name, sizeof name, "encoder.%zu", i);
        n->encoder[i] = block_new(p, &o, name);
        snprintf(name, sizeof name, "decoder.%zu", i);
        n->decoder[i] = block_new(p, &o, name);
        snprintf(name, sizeof name, "cross.%zu", i);
        n->cross[i] = attention_new(p, &cross, name);
        snprintf(name, sizeof name, "norm.%zu", i);
        n->branch[i] = (Branch){
            .norm = norm_new(p, NORM_LAYER, dim, name), .drop = parameters_dropout(p, o.dropout), .placement = o.norm};
    }
    n->norm = norm_new(p, NORM_LAYER, dim, "norm");
    n->logits = linear_new(p, dim, words.vocabulary, true, "logits");
    ck_done(parameters_finish(p, &e), e);
}

typedef struct CrossArgs {
    const Network *n;
    size_t layer;
    const Rows *rows;
} CrossArgs;

static Tensor *cross(Tape *t, const void *args, Tensor *const *inputs)
{
    const CrossArgs *a = args;
    const Branch *b = &a->n->branch[a->layer];
    Attend how = attend_across(&a->rows[1], &a->rows[0]);
    Tensor *y = multihead(t, &a->n->cross[a->layer], enter(t, b, inputs[0]), inputs[1], &how, NULL, (RowPositions){0});
    return leave(t, b, inputs[0], y);
}

/* What it keeps is after something that shrinks faster than it does. */
static Tensor *behind_scratch(Tape *t, const void *args, Tensor *const *inputs)
{
    const CrossArgs *a = args;
    tape_reals(t, a->rows->rows * a->rows->longest * a->rows->longest * a->n->scratch / 16);
    return activate(t, inputs[0], ACTIVATION_TANH);
}

/* rows: of the source, and of the target */
static Tensor *network_loss(const Network *n, Tape *t, const Rows rows[2])
{
    AttentionContext how = context_rows(&rows[0], false), causal = context_rows(&rows[1], true);
    Tensor *x = embed(t, &n->source, &rows[0]);
    for (size_t i = 0; i < n->depth; i++) {
        x = block(t, &n->encoder[i], x, NULL, &how);
        if (n->gated)
            x = mul(t, concat(t, (Tensor *[]){transpose(t, transpose(t, x))}, 1), activate(t, x, ACTIVATION_SIGMOID));
        if (n->scratch)
            x = tape_segment(t, behind_scratch, &(CrossArgs){n, i, rows}, sizeof(CrossArgs), &x, 1);
    }
    if (n->decodes) {
        Tensor *memory = x;
        x = embed(t, &n->target, &rows[1]);
        for (size_t i = 0; i < n->depth; i++) {
            x = block(t, &n->decoder[i], x, NULL, &causal);
            x = tape_segment(t, cross, &(CrossArgs){n, i, rows}, sizeof(CrossArgs), (Tensor *[]){x, memory}, 2);
        }
    }
    return cross_entropy(t, linear_logits(t, &n->logits, norm(t, &n->norm, x)), NULL, 0, 0);
}

/* ---- shapes */

typedef struct Shape {
    int32_t start[ROWS + 1];
    Rows rows;
} Shape;

static void shape_of(Shape *s, const size_t *lengths, size_t rows)
{
    *s = (Shape){0};
    s->rows.rows = rows;
    for (size_t b = 0; b < rows; b++) {
        s->start[b + 1] = s->start[b] + (int32_t)lengths[b];
        s->rows.longest = lengths[b] > s->rows.longest ? lengths[b] : s->rows.longest;
    }
    s->rows.positions = (size_t)s->start[rows];
}

/* As a plan fills its rows: as long as they may be, up to this many positions. */
static void largest_shape(Shape *s, Random *r, size_t rows)
{
    size_t lengths[ROWS], longest = between(r, 1, LONGEST), left = between(r, 1, rows * longest);
    for (size_t b = 0; b < rows; b++) {
        lengths[b] = longest < left ? longest : left;
        left -= lengths[b];
    }
    shape_of(s, lengths, rows);
}

/* No more rows, none longer, and no more positions in all; often just a little less of each. */
static void smaller_shape(Shape *s, const Shape *most, Random *r, size_t rows)
{
    size_t lengths[ROWS], longest = most->rows.longest, left = most->rows.positions;
    longest = below(r, 2) ? longest : below(r, longest + 1);
    for (size_t b = 0; b < rows; b++) {
        lengths[b] = below(r, 3) ? longest : below(r, longest + 1);
        lengths[b] = lengths[b] < left ? lengths[b] : left;
        left -= lengths[b];
    }
    shape_of(s, lengths, rows);
}

/* One pass over shapes: on invented memory that writes a plan, or on as much as the plan says. */
static TapePlan walk(const Network *n, const Shape shapes[2], const TapePlan *plan, Takes *takes, bool training)
{
    const Kernels *k = cost_kernels(NUMBER_F32);
    Weights weights = {k, &n->parameters, &weights, &weights};
    StepState state = {0};
    Rows rows[2] = {shapes[0].rows, shapes[1].rows};
    Stream *s;
    Tape t;
    Error e;
    for (size_t side = 0; side < 2; side++)
        rows[side].start = shapes[side].start; /* ids, targets and places are not looked at */
    ck_done(k->open(&s, 1, &e) && tape_open(&t, k, s, &weights, plan, &e), e);
    t.gradients.record = plan ? NULL : takes;
    t.gradients.plan = plan ? takes : NULL;
    t.keep = n->keep;
    t.training = t.recording = training;
    t.gradient = &t;
    t.state = &state;
    network_loss(n, &t, rows);
    tape_backward(&t);
    TapePlan used = tape_plan(&t);
    tape_reset(&t);
    tape_close(&t);
    k->close(s);
    return used;
}

/* Running out would be an assert; the gradients' use is that of the plan, and so none of it can be above. */
START_TEST(a_plan_suffices_for_every_smaller_shape)
{
    for (uint32_t seed = 0; seed < 40; seed++) {
        Random r = {.seed = 100 * (uint32_t)_i + seed};
        Network n;
        Shape most[2], less[2];
        Takes takes = {0};
        size_t rows = between(&r, 1, ROWS);
        network_open(&n, &r);
        for (size_t side = 0; side < 2; side++)
            largest_shape(&most[side], &r, rows);
        TapePlan plan = walk(&n, most, NULL, &takes, true);
        for (int i = 0; i < 50; i++) {
            size_t fewer = below(&r, 2) ? rows : between(&r, 1, rows);
            bool training = i % 8;
            for (size_t side = 0; side < 2; side++)
                smaller_shape(&less[side], &most[side], &r, fewer);
            TapePlan used = walk(&n, less, &plan, &takes, training);
            ck_assert(used.memory <= plan.memory && used.host <= plan.host);
            ck_assert_uint_eq(used.gradients, training ? plan.gradients : 0);
        }
        takes_close(&takes);
        parameters_close(&n.parameters);
    }
}

/* As of a chain that runs often: there are few parameters, and many nodes. */
START_TEST(blocks_that_share_all_parameters_can_be_measured)
{
    enum { TIMES = 1000 };
    const Kernels *k = cost_kernels(NUMBER_F32);
    BlockOptions o = {.attention = {.dim = 4, .heads = 1, .key_size = 4, .value_size = 4}, .ff = 4};
    Parameters p = {.again = true};
    Weights weights = {k, &p, &weights, &weights};
    StepState state = {0};
    Shape s;
    Stream *stream;
    Tape t;
    Block one;
    Error e;
    for (size_t i = 0; i < TIMES; i++)
        one = block_new(&p, &o, "block");
    shape_of(&s, (const size_t[]){3}, 1);
    s.rows.start = s.start;
    AttentionContext how = context_rows(&s.rows, true);
    ck_done(parameters_finish(&p, &e) && k->open(&stream, 1, &e) && tape_open(&t, k, stream, &weights, NULL, &e), e);
    t.training = t.recording = true;
    t.gradient = &t;
    t.state = &state;
    Tensor *x = tape_tensor(&t, s.rows.positions, o.attention.dim, false, true);
    for (size_t i = 0; i < TIMES; i++)
        x = block(&t, &one, x, NULL, &how);
    ck_assert_uint_gt(tape_plan(&t).host, TIMES * sizeof *x);
    tape_reset(&t);
    tape_close(&t);
    k->close(stream);
    parameters_close(&p);
}

/* ---- with numbers: pieces that overlapped would show */

static Tensor *blocks(Tape *t, const TapeFixture *l)
{
    AttentionContext how = context_rows(&l->rows, true);
    Tensor *x = embed(t, &l->embedding, &l->rows);
    for (size_t i = 0; i < FIXTURE_BLOCKS; i++)
        x = block(t, &l->block[i], x, NULL, &how);
    return linear_logits(t, &l->logits, x);
}

static void random_rows(TapeFixture *l, Random *r)
{
    size_t lengths[FIXTURE_ROWS], left = FIXTURE_POSITIONS;
    for (size_t b = 0; b < FIXTURE_ROWS; b++) {
        lengths[b] = below(r, 7);
        lengths[b] = lengths[b] < left ? lengths[b] : left;
        left -= lengths[b];
    }
    tape_fixture_rows(l, lengths);
}

START_TEST(a_pass_in_the_room_of_a_larger_one_gives_the_same_bits)
{
    TapeFixtureOptions o = {.dropout = 0.3, .composed = _i % 2, .norm = _i / 2 % 2 ? NORM_PRE : NORM_POST};
    Keep keep = (Keep)(_i / 4);
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            Random r = {.seed = (uint32_t)_i};
            TapeFixture l;
            tape_fixture_open(&l, backend_of((NumberType)type, i), &o);
            Pass most = tape_fixture_pass(&l, blocks, &(PassOptions){.keep = keep});
            for (int times = 0; times < 6; times++) {
                random_rows(&l, &r);
                Pass alone = tape_fixture_pass(&l, blocks, &(PassOptions){.keep = keep});
                Pass within = tape_fixture_pass(&l, blocks, &(PassOptions){.keep = keep, .plan = &most});
                ck_assert(memcmp(&alone.loss, &within.loss, sizeof alone.loss) == 0);
                ck_assert(memcmp(alone.gradient, within.gradient, l.parameters.size * l.k->real) == 0);
                pass_free(&alone);
                pass_free(&within);
            }
            pass_free(&most);
            tape_fixture_close(&l);
        }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST_LOOP(a_plan_suffices_for_every_smaller_shape, 8),
        TEST(blocks_that_share_all_parameters_can_be_measured),
        TEST_LOOP(a_pass_in_the_room_of_a_larger_one_gives_the_same_bits, 8),
    };
    return suite_run("tensor/plan", tests, sizeof tests / sizeof *tests, argc, argv);
}
