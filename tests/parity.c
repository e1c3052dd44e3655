/* See parity.h. */
#include "tests/parity.h"

#include "base/memory.h"

#include <math.h>

enum { ADAM_STEPS = 20 };

const Tolerance parity_f64 = {NUMBER_F64, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9};
const Tolerance parity_f32 = {NUMBER_F32, 1e-5, 1e-4, 1e-4, INFINITY, 1e-4};
const Tolerance parity_bf16 = {NUMBER_BF16, 0.02, 0.5, 0.1, INFINITY, 0.05};

static double fixture_one(const Fixture *f, const char *name)
{
    size_t count;
    double *values = fixture_reals(f, name, &count), value = values[0];
    memory_free(values);
    return value;
}

static void check_losses(const Fixture *f, const Trial *t, const StepResult *r, const char *words, const Tolerance *by)
{
    size_t count;
    double *losses = fixture_reals(f, "losses", &count), loss = fixture_one(f, "loss");
    double norm = fixture_one(f, "norm"), far = largest_difference(t->losses, losses, count);
    ck_assert_msg(fabs(r->loss - loss) <= by->loss * loss, "%s: loss %.12g, not %.12g", words, r->loss, loss);
    ck_assert_msg(far <= by->position, "%s: a position's loss is off by %g", words, far);
    ck_assert_msg(fabs(r->norm - norm) <= by->norm * norm, "%s: norm %.12g, not %.12g", words, r->norm, norm);
    memory_free(losses);
}

static void check_gradients(const Fixture *f, Trial *t, const char *words, const Tolerance *by)
{
    const Parameters *p = t->network.parameters;
    double *wanted = fixture_gradient(f, p), *found = trial_gradient(t);
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
        ck_assert_msg(far <= by->element * largest + 1e-13 * all, "%s: the gradient of %s, at most %g, is off by %g",
                      words, one->name, largest, far);
    }
    memory_free(wanted);
    memory_free(found);
}

void parity_step(const Fixture *f, Trial *t, const char *words, const Tolerance *by)
{
    StepResult r = trial_step(t, 1, 0);
    check_losses(f, t, &r, words, by);
    check_gradients(f, t, words, by);
}

Training parity_training(const char *name)
{
    Fixture f = fixture_open(name, 1);
    Training training = {.moving = true, .clip = fixture_number(&f, "clip")};
    fixture_close(&f);
    return training;
}

void parity_adam(const Fixture *f, Trial *t, const char *words, const Tolerance *by)
{
    size_t count;
    double *losses = fixture_reals(f, "adam", &count), rate = fixture_number(f, "rate");
    ck_assert_uint_eq(count, ADAM_STEPS + 1);
    for (size_t step = 1; step <= count; step++) { /* the loss of step 21 is the one after 20 steps */
        double loss = trial_step(t, step, rate).loss, wanted = losses[step - 1];
        ck_assert_msg(fabs(loss - wanted) <= by->adam * wanted, "%s: in step %zu the loss is %.12g, not %.12g", words,
                      step, loss, wanted);
    }
    memory_free(losses);
}
