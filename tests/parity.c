/* See parity.h. */
#include "tests/parity.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADAM_STEPS = 20 };

const Tolerance parity_f64 = {NUMBER_F64, 1e-9, 1e-9, 1e-9, 1e-9, 1e-13, 1e-9};
const Tolerance parity_f32 = {NUMBER_F32, 1e-5, 1e-4, 1e-4, 1e-5, 1e-7, 1e-4};
const Tolerance parity_bf16 = {NUMBER_BF16, 0.02, 0.5, 0.1, 0.25, 0.003, 0.05};

/* What a step has learned from a position: of two passes it says the mean. */
static double loss_of(const TrainerFixture *t, const StepResult *r) { return t->network.again ? 2 * r->loss : r->loss; }

static double reference_one(const Reference *f, const char *name)
{
    size_t count;
    double *values = reference_reals(f, name, &count), value = values[0];
    memory_free(values);
    return value;
}

static void check_losses(const Reference *f, const TrainerFixture *t, const StepResult *r, const char *words,
                         const Tolerance *by)
{
    size_t count;
    double *losses = reference_reals(f, "losses", &count), loss = reference_one(f, "loss");
    double norm = reference_one(f, "norm"), far = largest_difference(t->losses, losses, count);
    ck_assert_msg(fabs(loss_of(t, r) - loss) <= by->loss * loss, "%s: loss %.12g, not %.12g", words, loss_of(t, r),
                  loss);
    ck_assert_msg(far <= by->position, "%s: a position's loss is off by %g", words, far);
    ck_assert_msg(fabs(r->norm - norm) <= by->norm * norm, "%s: norm %.12g, not %.12g", words, r->norm, norm);
    memory_free(losses);
}

static void check_gradients(const Reference *f, TrainerFixture *t, const char *words, const Tolerance *by)
{
    const Parameters *p = t->network.parameters;
    double *wanted = reference_gradient(f, p), *found = trainer_fixture_gradient(t);
    double all = distance(wanted, NULL, p->size);
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        if (one->role == ROLE_CONSTANT)
            continue;
        const double *a = found + one->offset, *b = wanted + one->offset;
        double largest = largest_difference(b, NULL, one->count), off = distance(a, b, one->count);
        double far = largest_difference(a, b, one->count);
        ck_assert_msg(off <= by->norm * all, "%s: the gradient of %s is off by %g where that of all is %g", words,
                      one->name, off, all);
        ck_assert_msg(far <= by->element * largest + by->floor * all,
                      "%s: the gradient of %s, at most %g, is off by %g", words, one->name, largest, far);
    }
    memory_free(wanted);
    memory_free(found);
}

/* Of the first batch, all or every so many; numbers are around 1. */
static void check_logits(ParityFixture *s, const Tolerance *by)
{
    const char *key = "logits-every";
    const size_t every = safetensors_text(s->f.file, key) ? (size_t)reference_number(&s->f, key) : 1;
    size_t count;
    double *wanted = reference_reals(&s->f, "logits", &count), *found = trainer_fixture_logits(&s->t, s->f.batch);
    for (size_t i = 1; i < count; i++)
        found[i] = found[i * every];
    double far = largest_difference(found, wanted, count);
    ck_assert_msg(far <= by->position, "%s: a logit is off by %g", s->words, far);
    memory_free(wanted);
    memory_free(found);
}

void parity_step(ParityFixture *s, const Tolerance *by)
{
    check_logits(s, by);
    StepResult r = trainer_fixture_step(&s->t, 1, 0);
    check_losses(&s->f, &s->t, &r, s->words, by);
    check_gradients(&s->f, &s->t, s->words, by);
}

void parity_open(ParityFixture *s, const ParityKind *kind, const char *name, const Kernels *k, bool composed,
                 const Training *training)
{
    *s = (ParityFixture){.f = reference_open(name, kind->sides)};
    snprintf(s->words, sizeof s->words, "%s, %s %s, %s", name, k->backend, number_type_name(k->type),
             composed ? "composed" : "fused");
    Network n = kind->open(s, composed);
    trainer_fixture_open(&s->t, k, &n, s->f.batch, s->f.batch_count, training);
    reference_weights(&s->f, &s->t);
}

void parity_close(ParityFixture *s, const ParityKind *kind)
{
    trainer_fixture_close(&s->t);
    kind->close(s->model);
    memory_free(s->model);
    reference_close(&s->f);
}

/* Those of every test; then a GPU, where there is one, or whatever device ATTEND_DEVICE names. */
static const Kernels *parity_backend(NumberType type, size_t i)
{
    const char *named = getenv("ATTEND_DEVICE");
    size_t count = 0;
    while (backend_of(type, count))
        count++;
    return i < count ? backend_of(type, i) : i == count ? kernels_find(named ? named : "cuda", type, NULL) : NULL;
}

void parity_network(const ParityKind *kind, const char *name, const Tolerance *by)
{
    for (size_t i = 0; parity_backend(by->type, i); i++)
        for (int composed = 0; composed < 2; composed++) {
            ParityFixture s;
            parity_open(&s, kind, name, parity_backend(by->type, i), composed, &(Training){0});
            parity_step(&s, by);
            parity_close(&s, kind);
        }
}

static void check_adam(ParityFixture *s, const Tolerance *by)
{
    size_t count;
    double *losses = reference_reals(&s->f, "adam", &count), rate = reference_number(&s->f, "rate");
    ck_assert_uint_eq(count, ADAM_STEPS + 1);
    for (size_t step = 1; step <= count; step++) { /* the loss of step 21 is the one after 20 steps */
        const StepResult r = trainer_fixture_step(&s->t, step, rate);
        double loss = loss_of(&s->t, &r), wanted = losses[step - 1];
        ck_assert_msg(fabs(loss - wanted) <= by->adam * wanted, "%s: in step %zu the loss is %.12g, not %.12g",
                      s->words, step, loss, wanted);
    }
    memory_free(losses);
}

void parity_adam(const ParityKind *kind, const char *name, const Tolerance *by)
{
    Reference f = reference_open(name, kind->sides);
    Training training = {.moving = true, .clip = reference_number(&f, "clip")};
    reference_close(&f);
    for (size_t i = 0; parity_backend(by->type, i); i++) {
        ParityFixture s;
        parity_open(&s, kind, name, parity_backend(by->type, i), false, &training);
        check_adam(&s, by);
        parity_close(&s, kind);
    }
}

/* Three steps on one batch after the other; to be freed with memory_free. */
static double *trained(const ParityKind *kind, const char *name, const Kernels *k, Keep keep, double *loss,
                       size_t *size)
{
    ParityFixture s;
    parity_open(&s, kind, name, k, false, &(Training){.keep = keep, .moving = true, .clip = 1});
    for (uint64_t step = 1; step <= 3; step++)
        loss[step - 1] = trainer_fixture_step(&s.t, step, 1e-2).loss;
    double *weights = trainer_fixture_weights(&s.t);
    *size = s.t.network.parameters->size;
    parity_close(&s, kind);
    return weights;
}

void parity_dropped(const ParityKind *kind, const char *name)
{
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            double kept[3], dropped[3];
            size_t size;
            double *a = trained(kind, name, backend_of((NumberType)type, i), KEEP_ALL, kept, &size);
            double *b = trained(kind, name, backend_of((NumberType)type, i), KEEP_INPUTS, dropped, &size);
            ck_assert_mem_eq(kept, dropped, sizeof kept);
            ck_assert_mem_eq(a, b, size * sizeof *a);
            memory_free(a);
            memory_free(b);
        }
}

/* Row r of all sides of a batch as a batch of its own. */
static Batch alone(const Batch *all, size_t r)
{
    Batch b;
    Error e;
    BatchSize size = {.sides = all->size.sides, .rows = 1};
    for (size_t side = 0; side < size.sides; side++)
        size.positions[side] = (size_t)(all->side[side].start[r + 1] - all->side[side].start[r]);
    ck_done(batch_open(&b, &size, &e), e);
    for (size_t side = 0; side < size.sides; side++) {
        size_t first = (size_t)all->side[side].start[r], length = size.positions[side];
        batch_row(&b, side, length);
        b.side[side].among = all->side[side].among;
        memcpy(b.side[side].ids, all->side[side].ids + first, length * sizeof(int32_t));
        memcpy(b.side[side].targets, all->side[side].targets + first, length * sizeof(int32_t));
    }
    return b;
}

static void check_alone(ParityFixture *s, size_t side, size_t classes, double within)
{
    const Batch *all = &s->f.batch[0];
    double *packed = trainer_fixture_logits(&s->t, all), *at = packed;
    for (size_t r = 0; r < all->side[side].rows; r++) {
        Batch one = alone(all, r);
        size_t numbers = one.side[side].positions * classes;
        double *own = trainer_fixture_logits(&s->t, &one), far = largest_difference(own, at, numbers);
        ck_assert_msg(far <= within, "%s: alone, row %zu has a logit that is off by %g", s->words, r, far);
        at += numbers;
        memory_free(own);
        batch_close(&one);
    }
    memory_free(packed);
}

void parity_alone(const ParityKind *kind, const char *name, size_t side, const char *classes)
{
    for (size_t i = 0; !i || backend_of(NUMBER_F32, i - 1); i++) {
        ParityFixture s;
        parity_open(&s, kind, name, i ? backend_of(NUMBER_F32, i - 1) : plain_of(NUMBER_F64), false, &(Training){0});
        check_alone(&s, side, (size_t)reference_number(&s.f, classes), i ? 1e-5 : 1e-14);
        parity_close(&s, kind);
    }
}
