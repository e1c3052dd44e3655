/* Weights of attention as a hook sees them: those of a softmax computed directly, and looking changes
 * nothing. */
#include "base/memory.h"
#include "core/inspect/maps.h"
#include "tests/nn/networks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 11, BACKENDS = 4, LAYOUTS = 4, LAYERS = 2, HEADS = 3, DIM = 24, DK = DIM / HEADS };

/* A network that has read one row with a hook. */
typedef struct Reading {
    Model model;
    TrainerFixture t;
    Batch batch, longest;
    DeviceRows rows;
    Pass pass;
    MapRecorder recorder;
    double *logits;
} Reading;

static SharedOptions layout(int i)
{
    SharedOptions o = small_options();
    o.attention = i % 2;          /* fused, composed */
    o.window = i / 2 % 2 ? 4 : 0; /* keys */
    return o;
}

static void reading_open(Reading *r, int l, const Kernels *k)
{
    Error e;
    const size_t length = LENGTH;
    const BatchSize size = {1, 1, {LENGTH}, 0, 0};
    SharedOptions o = layout(l);
    ck_done(model_open(&r->model, &o, BYTES, &e), e);
    r->batch = random_batch(&length, 1, 5);
    Network n = charlm_network(&r->model, 0);
    trainer_fixture_open(&r->t, k, &n, &r->batch, 1, &(Training){0});
    trainer_fixture_draw(&r->t, 9);
    pass_open(&r->pass, &r->t);
    ck_done(device_rows_open(&r->rows, k, &size, &e), e);
    device_rows_upload(&r->rows, r->pass.stream, &r->batch, 0, 1);
    recorder_begin(&r->recorder, &r->pass.tape);
    Tensor *logits = model_logits(&r->pass.tape, &r->model, r->rows.rows, NULL, NULL);
    ck_done(recorder_end(&r->recorder, &e), e);
    r->logits = pass_reals(&r->pass, logits);
}

static void reading_close(Reading *r)
{
    recorder_close(&r->recorder);
    memory_free(r->logits);
    tape_close(&r->pass.tape);
    device_rows_close(&r->rows);
    trainer_fixture_close(&r->t);
    batch_close(&r->batch);
    model_close(&r->model);
}

/* [count] of a parameter as doubles */
static const double *parameter(const Reading *r, const double *weights, const char *name)
{
    const Parameter *p = parameters_find(&r->model.parameters, name);
    ck_assert_msg(p != NULL, "%s", name);
    return weights + p->offset;
}

/* One head's part of w x + b, x = table[id] + position[i] */
static void project(const Reading *r, const double *weights, const char *what, size_t head, size_t i, double out[DK])
{
    char name[64];
    const double *table = parameter(r, weights, "token_embedding.weight") + (size_t)r->batch.side[0].ids[i] * DIM;
    const double *place = parameter(r, weights, "position_embedding.weight") + i * DIM;
    snprintf(name, sizeof name, "blocks.0.attention.%s.weight", what);
    const double *w = parameter(r, weights, name) + head * DK * DIM;
    snprintf(name, sizeof name, "blocks.0.attention.%s.bias", what);
    const double *b = parameter(r, weights, name) + head * DK;
    for (size_t c = 0; c < DK; c++) {
        out[c] = b[c];
        for (size_t d = 0; d < DIM; d++)
            out[c] += w[c * DIM + d] * (table[d] + place[d]);
    }
}

/* softmax(q k / sqrt(dk)) of a query of the first layer over the keys it sees, by the formula; zeros elsewhere */
static void direct(const Reading *r, const double *weights, size_t head, size_t i, size_t window, double out[LENGTH])
{
    double q[DK], k[DK], sum = 0;
    memset(out, 0, LENGTH * sizeof *out);
    project(r, weights, "query", head, i, q);
    for (size_t j = window && i + 1 > window ? i + 1 - window : 0; j <= i; j++) {
        double score = 0;
        project(r, weights, "key", head, j, k);
        for (size_t c = 0; c < DK; c++)
            score += q[c] * k[c];
        sum += out[j] = exp(score / sqrt(DK));
    }
    for (size_t j = 0; j < LENGTH; j++)
        out[j] /= sum;
}

/* Each turn a backend and a layout: plain in f64 first, then what computes in f32. */
static const Kernels *backend(int i)
{
    return i / LAYOUTS == 0 ? backend_of(NUMBER_F64, 0) : backend_of(NUMBER_F32, (size_t)(i / LAYOUTS - 1));
}

START_TEST(weights_are_the_softmax)
{
    Reading r = {0};
    const Kernels *k = backend(_i);
    if (!k)
        return;
    reading_open(&r, _i % LAYOUTS, k);
    double *weights = trainer_fixture_weights(&r.t), expected[LENGTH], furthest = 0;
    const Maps *m = recorder_maps(&r.recorder, "blocks");
    ck_assert(m && r.recorder.count == 1 && m->causal);
    ck_assert(m->layers == LAYERS && m->heads == HEADS && m->queries == LENGTH && m->keys == LENGTH);
    for (size_t head = 0; head < HEADS; head++)
        for (size_t i = 0; i < LENGTH; i++) {
            direct(&r, weights, head, i, layout(_i % LAYOUTS).window, expected);
            for (size_t j = 0; j < LENGTH; j++) {
                double has = (double)maps_head(m, 0, head)[i * LENGTH + j];
                furthest = fmax(furthest, fabs(has - expected[j]));
                ck_assert(expected[j] > 0 ? has > 0 : has == 0);
            }
        }
    ck_assert_double_lt(furthest, k->type == NUMBER_F64 ? 6e-8 /* they are kept as floats */ : 2e-6);
    memory_free(weights);
    reading_close(&r);
}

START_TEST(every_row_sums_to_one)
{
    Reading r = {0};
    const Kernels *k = backend(_i);
    if (!k)
        return;
    reading_open(&r, _i % LAYOUTS, k);
    const Maps *m = recorder_maps(&r.recorder, "blocks");
    for (size_t row = 0; row < m->layers * m->heads * m->queries; row++) {
        double sum = 0;
        for (size_t j = 0; j < m->keys; j++)
            sum += (double)m->weights[row * m->keys + j];
        ck_assert_double_lt(fabs(sum - 1), 2e-6);
    }
    reading_close(&r);
}

START_TEST(looking_changes_no_bit)
{
    Reading r = {0};
    const Kernels *k = backend(_i);
    if (!k)
        return;
    reading_open(&r, _i % LAYOUTS, k);
    tape_reset(&r.pass.tape);
    double *alone = pass_reals(&r.pass, model_logits(&r.pass.tape, &r.model, r.rows.rows, NULL, NULL));
    ck_assert(!memcmp(alone, r.logits, LENGTH * BYTES * sizeof *alone));
    ck_assert(!recorder_maps(&r.recorder, "cross"));
    memory_free(alone);
    reading_close(&r);
}

static const Test tests[] = {TEST_LOOP(weights_are_the_softmax, BACKENDS *LAYOUTS),
                             TEST_LOOP(every_row_sums_to_one, BACKENDS *LAYOUTS),
                             TEST_LOOP(looking_changes_no_bit, BACKENDS *LAYOUTS)};

int main(int argc, char **argv) { return suite_run("nn/hook", tests, sizeof tests / sizeof *tests, argc, argv); }
