/* See trainer_fixture.h. */
#include "tests/trainer_fixture.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/nn/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const Kernels *plain_of(NumberType type)
{
    Error e;
    const Kernels *k = kernels_find("plain", type, &e);
    ck_done(k, e);
    return k;
}

/* ---- the Task */

static void copy_batch(const TrainerFixture *t, size_t i, Batch *b)
{
    const Batch *from = &t->batches[i % t->batch_count];
    batch_clear(b);
    for (size_t s = 0; s < from->size.sides; s++) {
        const Side *side = &from->side[s];
        for (size_t r = 0; r < side->rows; r++)
            batch_row(b, s, (size_t)(side->start[r + 1] - side->start[r]));
        b->side[s].among = side->among;
        memcpy(b->side[s].ids, side->ids, side->positions * sizeof *side->ids);
        memcpy(b->side[s].targets, side->targets, side->positions * sizeof *side->targets);
    }
}

static void step_batch(void *self, uint64_t step, Batch *b) { copy_batch(self, (size_t)(step - 1), b); }
static void score_batch(void *self, size_t i, Batch *b) { copy_batch(self, i, b); }

static Tensor *loss(void *self, Tape *tape, const Rows *rows)
{
    TrainerFixture *t = self;
    const Network *n = &t->network;
    Tensor *logits = n->logits(n->model, tape, rows);
    Tensor *losses = cross_entropy_z(tape, logits, rows[n->side].targets, n->smoothing, n->z_loss, 0);
    if (n->again)
        once_more(tape, logits, n->again, n->model, rows, rows[n->side].targets, n->smoothing, n->z_loss, n->r_drop);
    if (tape->k != t->trainer.options.k) /* a walk over shapes has no numbers */
        return losses;
    int32_t end;
    uint32_t first;
    tape->k->download(tape->stream, &end, &rows[n->side].start[rows[n->side].rows], sizeof end);
    tape->k->download(tape->stream, &first, &tape->state->first_position[n->side], sizeof first);
    size_t count = (size_t)end; /* the others belong to no row */
    download_doubles(tape->k, tape->stream, t->losses + first, losses->data, count);
    return losses;
}

void trainer_fixture_open(TrainerFixture *t, const Kernels *k, const Network *n, const Batch *batches, size_t count,
                          const Training *training)
{
    Error e;
    size_t longest = 1, most_rows = 1, most = 1;
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < batches[i].size.sides; s++) {
            const Side *side = &batches[i].side[s];
            most_rows = side->rows > most_rows ? side->rows : most_rows;
            most = side->positions > most ? side->positions : most;
            for (size_t r = 0; r < side->rows; r++)
                if ((size_t)(side->start[r + 1] - side->start[r]) > longest)
                    longest = (size_t)(side->start[r + 1] - side->start[r]);
        }
    setenv("ATTEND_GRAPHS", "no", 1); /* losses are looked at in the middle of a step */
    *t = (TrainerFixture){.network = *n, .batches = batches, .batch_count = count};
    t->losses = memory_get(most, sizeof *t->losses);
    ck_assert_ptr_nonnull(t->losses);
    t->task = (Task){.self = t,
                     .sides = n->sides,
                     .before = n->sides == 2 && n->side == 0 ? 2 : 0, /* the memory of what is scored */
                     .loss_side = {n->side, n->guided},
                     .most_rows = most_rows,
                     .micro_positions = training->micro_positions,
                     .batch = step_batch,
                     .loss = loss,
                     .score_batches = count,
                     .score_rows = most_rows,
                     .score_batch = score_batch,
                     .per_nat = 1};
    for (size_t side = 0; side < n->sides; side++)
        t->task.longest[side] = longest;
    TrainerOptions o = {.k = k,
                        .workers = training->workers ? training->workers : 1,
                        .micro_rows = training->micro_rows,
                        .training = true,
                        .keep = training->keep,
                        .optimizer = {.adam = {training->moving ? 0.9 : 0, 0.999, 1e-8}, .decay = training->decay},
                        .clip = training->clip,
                        .seed = 3};
    ck_done(trainer_open(&t->trainer, &o, n->parameters, &t->task, &e), e);
}

void trainer_fixture_close(TrainerFixture *t)
{
    trainer_close(&t->trainer);
    memory_free(t->losses);
}

StepResult trainer_fixture_step(TrainerFixture *t, uint64_t step, double rate)
{
    StepResult result;
    Error e;
    ck_done(trainer_step(&t->trainer, step, rate, &result, &e), e);
    return result;
}

double trainer_fixture_score(TrainerFixture *t)
{
    MeanLoss score;
    Error e;
    ck_done(trainer_score(&t->trainer, &score, &e), e);
    return score.loss;
}

/* n numbers of a device, as doubles */
static double *doubles(const Kernels *k, Stream *stream, const void *from, size_t n)
{
    double *values = memory_get(n, sizeof *values);
    ck_assert_ptr_nonnull(values);
    download_doubles(k, stream, values, from, n);
    return values;
}

double *trainer_fixture_reals(TrainerFixture *t, const void *block)
{
    return doubles(t->trainer.options.k, t->trainer.worker[0].stream, block, t->network.parameters->size);
}

double *trainer_fixture_weights(TrainerFixture *t) { return trainer_fixture_reals(t, t->trainer.weights.reals); }
double *trainer_fixture_gradient(TrainerFixture *t) { return trainer_fixture_reals(t, t->trainer.optimizer.block[0]); }

static void set_one(TrainerFixture *t, const Parameter *p, const double *values)
{
    const Kernels *k = t->trainer.options.k;
    void *reals = memory_get(p->count, k->real);
    ck_assert_ptr_nonnull(reals);
    for (size_t i = 0; i < p->count; i++)
        real_put(k, reals, i, values[i]);
    weights_set(&t->trainer.weights, t->trainer.worker[0].stream, p, reals);
    memory_free(reals);
}

void trainer_fixture_nudge(TrainerFixture *t, const Parameter *p, size_t i, double by)
{
    double *weights = trainer_fixture_weights(t);
    weights[p->offset + i] += by;
    set_one(t, p, weights + p->offset);
    memory_free(weights);
}

void trainer_fixture_draw(TrainerFixture *t, uint32_t seed)
{
    const Parameters *p = t->network.parameters;
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (one->role == ROLE_CONSTANT)
            continue;
        double *values = memory_get(one->count, sizeof *values);
        ck_assert_ptr_nonnull(values);
        double centre = one->role == ROLE_GAIN ? 1 : 0, spread = one->rank == 2 ? 0.5 : 0.25;
        for (size_t j = 0; j < one->count; j++)
            values[j] = centre + spread * (2 * philox_uniform(seed, 0, j, (uint32_t)i) - 1);
        set_one(t, one, values);
        memory_free(values);
    }
}

void pass_open(Pass *p, TrainerFixture *t)
{
    Error e;
    Worker *w = &t->trainer.worker[0];
    *p = (Pass){.k = t->trainer.options.k, .stream = w->stream};
    ck_done(
        tape_open(&p->tape, p->k, p->stream, &t->trainer.weights, &(TapePlan){.memory = 1 << 22, .host = 1 << 20}, &e),
        e);
    p->tape.state = w->state;
}

double *pass_reals(const Pass *p, const Tensor *x) { return doubles(p->k, p->stream, x->data, x->rows * x->columns); }

double *trainer_fixture_logits(TrainerFixture *t, const Batch *b)
{
    Pass p;
    Error e;
    DeviceRows rows;
    BatchSize size = b->size;
    size.before = t->task.before;
    pass_open(&p, t);
    ck_done(device_rows_open(&rows, p.k, &size, &e), e);
    device_rows_upload(&rows, p.stream, b, 0, b->side[0].rows);
    double *values = pass_reals(&p, t->network.logits(t->network.model, &p.tape, rows.rows));
    device_rows_close(&rows);
    tape_close(&p.tape);
    return values;
}

double distance(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (a[i] - (b ? b[i] : 0)) * (a[i] - (b ? b[i] : 0));
    return sqrt(sum);
}

double largest_difference(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs(a[i] - (b ? b[i] : 0));
        if (!(d <= most)) /* not a number counts */
            most = d;
    }
    return most;
}
