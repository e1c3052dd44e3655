/* Guided alignment: loss and gradients of a head that is told where to look against the formula, and a network of which one
 * block's head is told so against slopes. */
#include "core/nn/guide.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/mask.h"
#include "tests/nn/encdec.h"
#include "tests/nn/networks.h"

#include <math.h>
#include <string.h>

enum { HEADS = 4, DK = 5, ROWS = 4, QUERIES = 9, KEYS = 13 };

static const int32_t queries[ROWS + 1] = {0, 3, 3, 4, 9}, keys[ROWS + 1] = {0, 6, 8, 9, 13};
static const int32_t wanted[QUERIES] = {2, -1, 5, 0, 3, 3, -1, 0, 1};
static const double scale = 0.7, times = 0.25, some_cap = 1.5;

static void draw(double *to, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        to[i] = 4 * philox_uniform(seed, 0, i, 3) - 2;
}

/* cap 0: none. Adds to dq and dk; the sum of losses. */
static double by_formula(const double *q, const double *k, size_t head, size_t kv_heads, double cap, double *dq,
                         double *dk)
{
    const size_t width = HEADS * DK, kv_width = kv_heads * DK, kv_head = head * kv_heads / HEADS;
    double sum = 0;
    for (size_t b = 0; b < ROWS; b++)
        for (int32_t i = queries[b]; i < queries[b + 1]; i++) {
            double score[KEYS] = {0}, all = 0;
            for (int32_t j = keys[b]; j < keys[b + 1]; j++) {
                score[j] = 0;
                for (size_t c = 0; c < DK; c++)
                    score[j] += scale * q[(size_t)i * width + head * DK + c] *
                                k[(size_t)j * kv_width + kv_head * DK + c];
                score[j] = cap > 0 ? cap * tanh(score[j] / cap) : score[j];
                all += exp(score[j]);
            }
            for (int32_t j = keys[b]; wanted[i] >= 0 && j < keys[b + 1]; j++) {
                const bool right = j - keys[b] == wanted[i];
                const double slope = cap > 0 ? 1 - pow(score[j] / cap, 2) : 1,
                             d = times * scale * slope * (exp(score[j]) / all - right);
                sum -= right ? log(exp(score[j]) / all) : 0;
                for (size_t c = 0; c < DK; c++) {
                    dq[(size_t)i * width + head * DK + c] += d * k[(size_t)j * kv_width + kv_head * DK + c];
                    dk[(size_t)j * kv_width + kv_head * DK + c] += d * q[(size_t)i * width + head * DK + c];
                }
            }
        }
    return sum;
}

static void near(const Kernels *k, const void *found, const double *right, size_t count, double rounding)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs(real_at(k, found, i) - right[i]) <= rounding, "%s: number %zu is %.15g, not %.15g",
                      k->backend, i, real_at(k, found, i), right[i]);
}

START_TEST(loss_and_gradients_are_those_of_the_formula)
{
    static const struct {
        const char *backend;
        NumberType type;
        double rounding;
    } on[] = {{"plain", NUMBER_F64, 1e-14},
              {"plain", NUMBER_F32, 1e-5},
              {"cpu", NUMBER_F32, 1e-5},
              {"cpu", NUMBER_BF16, 0.03}};
    const int way = _i % 16;
    const double cap = _i < 16 ? 0 : some_cap;
    static double q[QUERIES * HEADS * DK], k[KEYS * HEADS * DK], dq[QUERIES * HEADS * DK], dk[KEYS * HEADS * DK];
    const size_t kv_heads = way % 2 ? 2 : HEADS, head = (size_t)way % HEADS;
    const Kernels *kernels = kernels_find(on[way / 4].backend, on[way / 4].type, NULL);
    const Rows of_queries = {.positions = QUERIES, .rows = ROWS, .longest = 5, .start = queries};
    const Rows of_keys = {.positions = KEYS, .rows = ROWS, .longest = 6, .start = keys};
    const Guide g = {.head = head, .key = wanted, .which = 1};
    Attend how = attend_across(&of_queries, &of_keys);
    StepState state = {.loss[1].scale = times};
    Parameters p = {0};
    Weights w;
    Stream *s;
    Tape t;
    Error e;
    how.heads = HEADS, how.kv_heads = kv_heads < HEADS ? kv_heads : 0, how.key_size = DK, how.scale = scale;
    how.cap = cap;
    const Parameter *queries_of = parameters_add(&p, ROLE_WEIGHT, QUERIES, HEADS * DK, "q"),
                    *keys_of = parameters_add(&p, ROLE_WEIGHT, KEYS, kv_heads * DK, "k");
    const Scoring scoring = scoring_new(&p, &(ScoringOptions){.heads = HEADS, .key_size = DK, .weights.cap = cap},
                                        "attention");
    ck_done(parameters_finish(&p, &e) && kernels->open(&s, 1, &e) && weights_open(&w, kernels, s, &p, &e) &&
                tape_open(&t, kernels, s, &w, &(TapePlan){1 << 20, 1 << 20, 1 << 16}, &e),
            e);
    draw(q, queries_of->count, 1), draw(k, keys_of->count, 2);
    memset(dq, 0, sizeof dq), memset(dk, 0, sizeof dk);
    for (size_t i = 0; i < queries_of->count; i++)
        real_put(kernels, w.reals, queries_of->offset + i, q[i]);
    for (size_t i = 0; i < keys_of->count; i++)
        real_put(kernels, w.reals, keys_of->offset + i, k[i]);
    if (kernels->number != kernels->real)
        kernels->convert(s, w.numbers, w.reals, p.size);
    t.state = &state, t.gradient = memory_get(p.size, kernels->real);
    for (int training = 0; training < 2; training++) {
        t.training = t.recording = training;
        guide(&t, &g, &scoring, tape_parameter(&t, queries_of), tape_parameter(&t, keys_of), &how);
        tape_backward(&t);
        tape_reset(&t);
        ck_assert(training || state.loss[1].count == 0);
    }
    const double sum = by_formula(q, k, head, kv_heads, cap, dq, dk);
    ck_assert_double_eq_tol(state.loss[1].sum, sum, on[way / 4].rounding * 10);
    ck_assert(state.loss[1].count == 7 && state.loss[0].count == 0);
    near(kernels, parameter_in(queries_of, t.gradient, kernels->real), dq, queries_of->count, on[way / 4].rounding);
    near(kernels, parameter_in(keys_of, t.gradient, kernels->real), dk, keys_of->count, on[way / 4].rounding);
    memory_free(t.gradient);
    tape_close(&t);
    weights_close(&w);
    kernels->close(s);
    parameters_close(&p);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* ---- in a network */

static Tensor *guided(const void *model, Tape *t, const Rows *rows)
{
    const EncDec *m = model;
    AttentionContext context = context_across(&rows[1], &rows[0]);
    Guide *g = arena_take(&t->host, sizeof *g);
    *g = (Guide){.layer = 1, .head = 1, .key = rows[2].targets, .which = 1};
    context.guide = g;
    return encdec_logits(t, m, &rows[1], encdec_memory(t, m, &rows[0]), &context);
}

/* Side 2: a key of the source for each position of the target. */
static Batch guided_batch(void)
{
    static const size_t lengths[3][3] = {{3, 5, 1}, {4, 2, 6}, {4, 2, 6}};
    Batch b;
    Error e;
    ck_done(batch_open(&b, &(BatchSize){3, 3, {9, 12, 12}, 0, 0}, &e), e);
    for (size_t side = 0; side < 3; side++)
        for (size_t r = 0; r < 3; r++) {
            const size_t at = batch_row(&b, side, lengths[side][r]);
            for (size_t i = 0; i < lengths[side][r]; i++) {
                b.side[side].ids[at + i] = side < 2 ? (int32_t)philox_below(7, 5, (uint32_t)side, at + i, 1) : 0;
                b.side[side].targets[at + i] = side == 1 ? (int32_t)philox_below(7, 6, 0, at + i, 1)
                                               : side == 2
                                                   ? (int32_t)philox_below(lengths[0][r] + 1, 7, 0, at + i, 1) - 1
                                                   : -1;
            }
        }
    b.side[2].among = 1;
    return b;
}

static void open_network(TrainerFixture *t, const EncDec *m, const Batch *b, const Training *training, const Kernels *k)
{
    const Network n = {.model = m, .parameters = &m->parameters, .logits = guided, .sides = 3, .side = 1};
    trainer_fixture_open(t, k, &n, b, 1, training);
    t->task.loss_side[1] = 2;
    t->task.loss_times[1] = 3;
    trainer_fixture_draw(t, 4);
}

static double total(TrainerFixture *t)
{
    const StepResult r = trainer_fixture_step(t, 1, 0);
    return r.part[0] + 3 * r.part[1];
}

/* Fused and composed; with a segment's inside kept, and computed again; cut into micro-batches. */
START_TEST(gradients_of_a_network_are_its_slopes)
{
    static const Training ways[] = {{0}, {.keep = KEEP_INPUTS}, {.micro_rows = 1, .workers = 2}, {0}};
    const EncDecOptions o = {
        .block = {.attention = {12, 3, 4, 4, .bias = true, .composed = _i == 3, .weights.cap = _i % 2 ? some_cap : 0},
                  .norm = NORM_POST,
                  .ff = 10},
        .encoder = 1,
        .decoder = 2,
        .source = 7,
        .target = 7,
        .context = 8,
        .scale = 1};
    const double h = 1e-5;
    Batch b = guided_batch();
    EncDec m;
    TrainerFixture t;
    Error e;
    ck_done(encdec_open(&m, &o, &e), e);
    open_network(&t, &m, &b, &ways[_i], plain_of(NUMBER_F64));
    ck_assert_double_gt(total(&t), 0);
    const StepResult first = trainer_fixture_step(&t, 1, 0);
    double *gradient = trainer_fixture_gradient(&t), largest = 0;
    ck_assert(first.part[1] > 0.1);
    for (size_t i = 0; i < m.parameters.size; i++)
        largest = fmax(largest, fabs(gradient[i]));
    for (size_t i = 0; i < m.parameters.count; i++) {
        const Parameter *p = m.parameters.list[i];
        for (size_t j = 0; p->role != ROLE_CONSTANT && p->role != ROLE_LOOKUP && j < p->count; j += 1 + p->count / 3) {
            trainer_fixture_nudge(&t, p, j, h);
            const double more = total(&t);
            trainer_fixture_nudge(&t, p, j, -2 * h);
            const double less = total(&t), slope = (more - less) / (2 * h);
            trainer_fixture_nudge(&t, p, j, h);
            ck_assert_msg(fabs(slope - gradient[p->offset + j]) <= 1e-6 * largest + 2e-9,
                          "%s[%zu]: %.9g, the slope %.9g", p->name, j, gradient[p->offset + j], slope);
        }
    }
    memory_free(gradient);
    trainer_fixture_close(&t);
    encdec_close(&m);
    batch_close(&b);
    ck_assert_uint_eq(memory_in_use(), 0);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(loss_and_gradients_are_those_of_the_formula, 32),
                                 TEST_LOOP(gradients_of_a_network_are_its_slopes, 4)};
    return suite_run("nn/guide", tests, sizeof tests / sizeof *tests, argc, argv);
}
