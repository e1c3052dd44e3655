/* Denormal numbers, each of which costs some processors more than a hundred cycles: threads count them as 0, and an
 * ordinary step makes none, even where a thread does keep them. */
#include "base/bf16.h"
#include "base/memory.h"
#include "base/thread.h"
#include "core/tensor/nonfinite.h"
#include "tests/nn/networks.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t tensors, numbers, denormals;
static char first[NONFINITE_NAME + 32];

static void count(const Kernels *k, Stream *s, const void *data, size_t n, bool real, const char *what,
                  const char *name)
{
    const bool half = !real && k->type == NUMBER_BF16;
    const size_t before = denormals, bytes = n * (half ? sizeof(Bf16) : sizeof(float));
    void *copy = memory_get(n, sizeof(float));
    ck_assert(copy || !n);
    k->download(s, copy, data, bytes);
    for (size_t i = 0; i < n; i++) {
        float x = half ? bf16_to_float(((Bf16 *)copy)[i]) : ((float *)copy)[i];
        denormals += fpclassify(x) == FP_SUBNORMAL;
    }
    memory_free(copy);
    tensors++;
    numbers += n;
    if (denormals > before && !first[0])
        snprintf(first, sizeof first, "%s %s", what, name);
}

/* These stand where the library's own look for what is not finite: each operation calls the first with what it made. */
void tape_check(Tape *t, const Tensor *y, const char *what, const Parameter *p)
{
    count(t->k, t->stream, y->data, y->rows * y->columns, y->real, what, p ? p->name : "");
}

void nonfinite_weights(char *name, const Weights *w, Stream *s) { (void)name, (void)w, (void)s; }
void nonfinite_gradients(char *name, const Tape *t) { (void)name, (void)t; }

/* Gradients of activations are where the tape left them, later ones over earlier ones; those of parameters are Adam's
 * first moments. */
static void count_gradients(const Trainer *c)
{
    const Tape *t = &c->worker[0].tape;
    count(t->k, t->stream, t->owned[1], t->gradients.peak / t->k->number, false, "a gradient of", "an activation");
    count(t->k, t->stream, c->optimizer.block[0], c->parameters->size, true, "a gradient of", "a parameter");
}

static const size_t lengths[] = {5, 1, 9, 0, 13, 3, 2};

/* Also one so wide that oneDNN makes all its products. */
static void try_step(const Kernels *k, size_t dim)
{
    Error e;
    Model model;
    TrainerFixture t;
    SharedOptions o = small_options();
    Batch batch = random_batch(lengths, sizeof lengths / sizeof *lengths, 11);
    o.dim = dim, o.dropout = 0.1;
    ck_done(model_open(&model, &o, BYTES, &e), e);
    Network n = charlm_network(&model, 0.1);
    trainer_fixture_open(&t, k, &n, &batch, 1, &(Training){.clip = 1});
    ck_done(weights_init(&t.trainer.weights, t.trainer.worker[0].stream, INIT_PYTORCH, o.depth, 1, &e), e);
    tensors = numbers = denormals = 0;
    first[0] = 0;
    trainer_fixture_step(&t, 1, 1e-3);
    trainer_fixture_step(&t, 2, 1e-3);
    count_gradients(&t.trainer);
    ck_assert_uint_gt(tensors, 30);
    ck_assert_msg(!denormals, "%s, %s, %d wide: %d of %d numbers are denormal, the first in %s", k->backend,
                  number_type_name(k->type), (int)dim, (int)denormals, (int)numbers, first);
    trainer_fixture_close(&t);
    batch_close(&batch);
    model_close(&model);
}

START_TEST(a_step_makes_none)
{
    static const char *const backends[] = {"plain", "cpu", "emulated", "checked"};
    thread_flush(false);
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        const Kernels *k = kernels_find(backends[i], _i ? NUMBER_BF16 : NUMBER_F32, NULL);
        if (k)
            try_step(k, 24);
        if (k && !strcmp(backends[i], "cpu"))
            try_step(k, 1032);
    }
}

/* What becomes of a number that is too small to be normal, as a result and as an operand. */
static void be_small(void *argument, size_t worker)
{
    volatile float smallest = FLT_MIN, smaller = FLT_TRUE_MIN;
    ((bool *)argument)[worker] = smallest / 2 > 0 || smaller * 0x1p100f > 0;
}

START_TEST(threads_take_them_as_0)
{
    enum { WORKERS = 3 };
    bool kept[WORKERS];
    Pool *pool;
    Error e;
    if (!thread_flush(true)) {
        test_skip("threads_take_them_as_0", "the processor cannot");
        return;
    }
    ck_done(pool_open(&pool, WORKERS, false, &e), e);
    pool_run(pool, be_small, kept);
    for (size_t i = 0; i < WORKERS; i++)
        ck_assert_msg(!kept[i], "worker %d keeps denormal numbers", (int)i);
    pool_close(pool);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_step_makes_none, 2), TEST(threads_take_them_as_0)};
    return suite_run("nn/denormals", tests, sizeof tests / sizeof *tests, argc, argv);
}
