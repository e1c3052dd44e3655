/* Positions that alone are wanted: they have the logits that they have among all others, for less work. */
#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/loss.h"
#include "kernels/cost/cost.h"
#include "tests/nn/networks.h"

#include <string.h>

enum { KINDS = 10, CONTEXT = 13, ROWS = 5 };

static SharedOptions kind(int i)
{
    SharedOptions o = small_options();
    switch (i) {
    case 0: break;
    case 1: o.norm = NORM_PRE, o.positions = POSITIONS_SINUSOID, o.activation = ACTIVATION_GELU, o.bias = false; break;
    case 2: o.norm = NORM_PRE, o.tie = true, o.head_size = 5, o.value_size = 7, o.depth = 3; break;
    case 3: o.attention = 1, o.window = 4, o.positions = POSITIONS_NONE; break;
    case 4: o.depth = 1, o.value_size = 3, o.window = 2, o.norm = NORM_PRE, o.attention = 1; break;
    case 5: o.depth = 0; break;
    case 6: o.positions = POSITIONS_ROTARY; break;
    case 7: o.norm = NORM_RESIDUAL, o.macaron = o.value_residual = true, o.skip = SKIP_X0; break;
    case 9: o.residual_scores = true, o.attention = 1; break;
    case 8: o.norm = NORM_DEEP, o.norm_kind = NORM_TANH, o.qk_norm = true, o.qk_norm_kind = 1; break;
    }
    return o;
}

/* Rows of 0 to 13 positions, of each of which 0 to all are scored; seeds 0 and 1: nothing at all, all but one. */
static Batch tails(uint32_t seed)
{
    size_t lengths[ROWS];
    for (uint64_t r = 0; r < ROWS; r++)
        lengths[r] = (size_t)philox_below(CONTEXT + 1, 40 + seed, 0, r, 1);
    lengths[0] = CONTEXT;
    Batch b = random_batch(lengths, ROWS, seed);
    int32_t *targets = b.side[0].targets;
    for (size_t r = 0, at = 0; r < ROWS; at += lengths[r++]) {
        size_t before = (size_t)philox_below(lengths[r] + 1, 40 + seed, 0, r, 2);
        before = seed == 0 ? lengths[r] : seed == 1 ? r == 0 : before;
        for (size_t i = 0; i < lengths[r]; i++)
            targets[at + i] = i < before ? -1 : (int32_t)i;
    }
    return b;
}

typedef struct ParityFixture {
    Model model;
    Batch batch;
    TrainerFixture t;
    DeviceRows rows;
} ParityFixture;

static void parity_open(ParityFixture *s, const SharedOptions *o, const Kernels *k, uint32_t seed)
{
    Error e;
    ck_done(model_open(&s->model, o, BYTES, &e), e);
    s->batch = tails(seed);
    Network n = charlm_network(&s->model, 0);
    trainer_fixture_open(&s->t, k, &n, &s->batch, 1, &(Training){0});
    trainer_fixture_draw(&s->t, 9);
    ck_done(device_rows_open(&s->rows, k, &s->batch.size, &e), e);
    device_rows_upload(&s->rows, s->t.trainer.worker[0].stream, &s->batch, 0, ROWS);
}

static void parity_close(ParityFixture *s)
{
    device_rows_close(&s->rows);
    trainer_fixture_close(&s->t);
    batch_close(&s->batch);
    model_close(&s->model);
}

/* Logits of these positions, as doubles; to be freed with memory_free. */
static double *logits_of(ParityFixture *s, const Queries *only, size_t count)
{
    Worker *w = &s->t.trainer.worker[0];
    const Kernels *k = s->t.trainer.options.k;
    Error e;
    Tape tape;
    ck_done(tape_open(&tape, k, w->stream, &s->t.trainer.weights, &(TapePlan){.memory = 1 << 22, .host = 1 << 20}, &e),
            e);
    tape.state = w->state;
    Tensor *y = model_logits(&tape, &s->model, s->rows.rows, NULL, only);
    ck_assert_uint_eq(y->rows, count);
    double *values = memory_get(count * BYTES + 1, sizeof *values);
    ck_assert_ptr_nonnull(values);
    download_doubles(k, w->stream, values, y->data, count * BYTES);
    tape_close(&tape);
    return values;
}

static void check(const SharedOptions *o, const Kernels *k, uint32_t seed, double rounding)
{
    ParityFixture s;
    parity_open(&s, o, k, seed);
    const Queries *only = rows_scored(s.rows.rows);
    ck_assert_ptr_nonnull(only);
    double *whole = logits_of(&s, NULL, s.batch.side[0].positions), *alone = logits_of(&s, only, only->positions);
    size_t at = 0;
    for (size_t i = 0; i < s.batch.side[0].positions; i++) {
        if (s.batch.side[0].targets[i] < 0)
            continue;
        double far = largest_difference(whole + i * BYTES, alone + at++ * BYTES, BYTES);
        ck_assert_msg(far <= rounding, "%s, batch %u: the logits of position %zu are off by %g", k->backend, seed, i,
                      far);
    }
    ck_assert_uint_eq(at, only->positions);
    memory_free(whole);
    memory_free(alone);
    parity_close(&s);
}

START_TEST(scored_positions_alone_have_the_logits_that_they_have_among_all)
{
    SharedOptions o = kind(_i);
    for (uint32_t seed = 0; seed < 8; seed++) {
        check(&o, plain_of(NUMBER_F64), seed, 1e-12);
        for (size_t i = 0; backend_of(NUMBER_F32, i); i++)
            check(&o, backend_of(NUMBER_F32, i), seed, 1e-4);
    }
}

/* Pairs of query and key, with the queries of a row beginning at its position `from`. */
static double pairs(size_t from, size_t length)
{
    double sum = 0;
    for (size_t i = from; i < length; i++)
        sum += (double)i + 1;
    return sum;
}

/* A walk over two rows of 13, of which 1 and 4 positions are scored. */
static TapePlan walk(const SharedOptions *o, double *flop)
{
    const Kernels *k = cost_kernels(NUMBER_F32);
    Model m;
    Tape tape;
    Stream *s;
    DeviceRows rows;
    Error e;
    size_t count;
    ck_done(model_open(&m, o, BYTES, &e), e);
    Batch b = random_batch((size_t[]){13, 13}, 2, 1);
    for (size_t i = 0; i < 26; i++)
        b.side[0].targets[i] = i == 12 || i >= 22 ? 1 : -1;
    Weights weights = {.k = k, .parameters = &m.parameters, .reals = &weights, .numbers = &weights};
    ck_done(k->open(&s, 1, &e) && tape_open(&tape, k, s, &weights, NULL, &e) && device_rows_open(&rows, k, &b.size, &e),
            e);
    device_rows_upload(&rows, s, &b, 0, 2);
    model_logits(&tape, &m, rows.rows, NULL, rows_scored(rows.rows));
    const Cost *cost = cost_counted(s, &count);
    *flop = 0;
    for (size_t i = 0; i < count; i++)
        *flop += cost[i].flop;
    TapePlan plan = tape_plan(&tape);
    device_rows_close(&rows);
    tape_close(&tape);
    k->close(s);
    batch_close(&b);
    model_close(&m);
    return plan;
}

START_TEST(the_last_block_costs_keys_and_values_of_all_and_the_rest_of_what_is_scored)
{
    const double n = 26, scored = 5, d = 24, f = 31;
    const double block = 2 * n * (3 * d * d + d * d + 2 * d * f) + 4 * d * 2 * pairs(0, 13);
    const double last = 2 * n * 2 * d * d + 2 * scored * (d * d + d * d + 2 * d * f) +
                        4 * d * (pairs(12, 13) + pairs(9, 13));
    SharedOptions o = small_options();
    double flop;
    walk(&o, &flop);
    ck_assert_double_eq(flop, block + last + 2 * scored * d * BYTES);
}

/* Unless a later block reads it again, what a block has read is forgotten. */
START_TEST(more_blocks_need_no_more_activations_where_nothing_is_recorded)
{
    SharedOptions o = small_options();
    size_t needed[3];
    double flop;
    for (size_t i = 0; i < 3; i++) {
        o.depth = i ? 6 : 3;
        o.skip = i == 2 ? SKIP_X0 : SKIP_NONE;
        needed[i] = walk(&o, &flop).memory;
    }
    ck_assert_uint_eq(needed[0], needed[1]);
    ck_assert_uint_gt(needed[2], needed[1]);
}

/* --- scoring in a trainer: its tapes have room for whatever is scored --- */

enum { MOST = 64 };

typedef struct Scored {
    Model model;
    Batch batch[MOST];
    size_t count;
    bool alone; /* compute only what is scored */
} Scored;

static void score_batch(void *self, size_t i, Batch *b)
{
    const Side *from = &((const Scored *)self)->batch[i].side[0];
    batch_clear(b);
    for (size_t r = 0; r < from->rows; r++)
        batch_row(b, 0, (size_t)(from->start[r + 1] - from->start[r]));
    memcpy(b->side[0].ids, from->ids, from->positions * sizeof *from->ids);
    memcpy(b->side[0].targets, from->targets, from->positions * sizeof *from->targets);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const Scored *s = self;
    const Queries *only = s->alone && !t->training ? rows_scored(rows) : NULL;
    return cross_entropy(t, model_logits(t, &s->model, rows, NULL, only), only ? only->targets : rows->targets, 0, 0);
}

static MeanLoss score_of(Scored *s, bool training)
{
    Trainer trainer;
    MeanLoss score;
    Error e;
    const Task task = {.self = s,
                       .sides = 1,
                       .longest = {s->model.context},
                       .most_rows = 2,
                       .loss = loss,
                       .score_batches = s->count,
                       .score_rows = 2,
                       .score_batch = score_batch};
    ck_done(trainer_open(
                &trainer,
                &(TrainerOptions){.k = plain_of(NUMBER_F64), .workers = 2, .training = training, .keep = KEEP_INPUTS},
                &s->model.parameters, &task, &e),
            e);
    ck_done(weights_init(&trainer.weights, trainer.worker[0].stream, INIT_PYTORCH, 1, 5, &e), e);
    ck_done(trainer_score(&trainer, &score, &e), e);
    trainer_close(&trainer);
    return score;
}

/* Two rows as long as they come, or nearly, with every pair of tails. */
static void check_trainer(const SharedOptions *o, bool training)
{
    Scored s = {.count = 0};
    Error e;
    const size_t n = o->context;
    ck_done(model_open(&s.model, o, BYTES, &e), e);
    for (size_t length = n - 1; length <= n; length++)
        for (size_t first = 0; first <= n; first++)
            for (size_t second = 0; second <= length; second++) {
                Batch *b = &s.batch[s.count++];
                *b = random_batch((size_t[]){n, length}, 2, (uint32_t)s.count);
                for (size_t i = 0; i < n + length; i++)
                    b->side[0].targets[i] = (i < n ? i < first : i - n < second) ? -1 : (int32_t)i;
            }
    MeanLoss all = score_of(&s, training);
    s.alone = true;
    MeanLoss alone = score_of(&s, training);
    ck_assert(all.targets == alone.targets && all.targets > 0);
    ck_assert_double_eq_tol(all.loss, alone.loss, 1e-13);
    for (size_t i = 0; i < s.count; i++)
        batch_close(&s.batch[i]);
    model_close(&s.model);
}

START_TEST(a_trainer_has_room_for_any_tails)
{
    static const size_t depths[] = {0, 1, 2};
    for (size_t d = 0; d < 3; d++)
        for (int composed = 0; composed < 2; composed++)
            for (int norm = 0; norm < 2; norm++)
                for (size_t dim = 1; dim <= 16; dim *= 16) {
                    SharedOptions o = small_options();
                    o.depth = depths[d], o.attention = composed, o.norm = norm, o.dim = dim, o.heads = 1;
                    o.ff = 1 + dim / 2, o.context = 1 + (size_t)_i;
                    check_trainer(&o, false);
                    check_trainer(&o, true);
                }
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(scored_positions_alone_have_the_logits_that_they_have_among_all, KINDS),
                                 TEST(the_last_block_costs_keys_and_values_of_all_and_the_rest_of_what_is_scored),
                                 TEST(more_blocks_need_no_more_activations_where_nothing_is_recorded),
                                 TEST_LOOP(a_trainer_has_room_for_any_tails, 4)};
    return suite_run("nn/scored", tests, sizeof tests / sizeof *tests, argc, argv);
}
