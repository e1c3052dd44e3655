/* What only the GPU's backend has: operations that are captured and replayed, copies beside them, and products by
 * cuBLAS or, under the emulator, by what stands in for it. */
#include "base/memory.h"
#include "base/thread.h"
#include "tests/kernels/backends.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Those that can, in f32. */
static const Kernels *gpu(size_t i)
{
    static const char *const devices[] = {"cuda", "emulated", "checked"};
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        const Kernels *k = kernels_find(devices[d], NUMBER_F32, NULL);
        if (k && !i--)
            return k;
    }
    return NULL;
}

static bool real_one(const Kernels *k) { return strcmp(k->backend, "cuda") == 0; }

static Stream *opened(const Kernels *k)
{
    Stream *s;
    Error e;
    ck_done(k->open(&s, 1, &e), e);
    return s;
}

static void finished(const Kernels *k, Stream *s)
{
    Error e;
    ck_done(k->finish(s, &e), e);
    k->close(s);
}

static float *numbers(const Kernels *k, Stream *s, const float *values, size_t n)
{
    float *there = k->allocate(n * sizeof *there);
    ck_assert_ptr_nonnull(there);
    if (values)
        k->upload(s, there, values, n * sizeof *values);
    return there;
}

enum { N = 700 };

static void expect(const Kernels *k, Stream *s, const float *there, float first, float step)
{
    float values[N];
    k->download(s, values, there, sizeof values);
    for (size_t i = 0; i < N; i++)
        ck_assert_msg(values[i] == first + (float)i * step, "%s: number %d is %g, not %g", k->backend, (int)i,
                      values[i], first + (float)i * step);
}

START_TEST(captured_operations_run_when_they_are_replayed_on_what_is_there_then)
{
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Stream *s = opened(k);
        float values[N];
        for (size_t j = 0; j < N; j++)
            values[j] = (float)j;
        float *from = numbers(k, s, values, N), *sum = numbers(k, s, NULL, N), *copy = numbers(k, s, NULL, N);
        k->accumulate(s, sum, from, N);
        ck_assert(k->capture(s));
        k->accumulate(s, sum, from, N);
        k->copy(s, copy, sum, N * sizeof *sum);
        k->zero(s, from, sizeof *from);
        Captured *operations = k->captured(s);
        ck_assert_ptr_nonnull(operations);
        expect(k, s, sum, 0, 1);
        expect(k, s, copy, 0, 0);
        k->replay(s, operations);
        k->replay(s, operations);
        expect(k, s, sum, 0, 3);
        expect(k, s, copy, 0, 3);
        for (size_t j = 0; j < N; j++)
            values[j] = 10;
        k->upload(s, from, values, sizeof values);
        k->replay(s, operations);
        expect(k, s, copy, 10, 3);
        k->download(s, values, from, sizeof values);
        ck_assert(values[0] == 0 && values[1] == 10);
        k->forget(operations);
        k->release(from), k->release(sum), k->release(copy);
        finished(k, s);
    }
}

/* The emulator is stricter than CUDA: what a step must not do cannot be captured. */
START_TEST(reading_or_writing_the_host_s_memory_is_not_captured)
{
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        if (real_one(k))
            continue;
        for (int way = 0; way < 2; way++) {
            Stream *s = opened(k);
            Error e;
            float one = 1, *there = numbers(k, s, &one, 1);
            ck_assert(k->capture(s));
            if (way == 0)
                k->upload(s, there, &one, sizeof one);
            else
                k->download(s, &one, there, sizeof one);
            ck_assert_ptr_null(k->captured(s));
            ck_assert(!k->finish(s, &e));
            ck_assert_msg(strstr(e.text, "not permitted when stream is capturing"), "%s", e.text);
            ck_assert(!k->capture(s)); /* nor is what comes after an error */
            k->release(there);
            k->close(s);
        }
    }
}

/* Cross-entropy keeps something between two kernels. A longer one needs more room for it; the captured one continues
 * with what it had. */
START_TEST(what_was_captured_keeps_its_scratch_memory)
{
    enum { SHORT = 3, LONG = 3000, V = 5 };
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Stream *s = opened(k);
        float values[LONG * V], before[SHORT], after[SHORT];
        int32_t ids[LONG];
        for (size_t j = 0; j < LONG * V; j++)
            values[j] = (float)(j % 11);
        for (size_t j = 0; j < LONG; j++)
            ids[j] = (int32_t)(j % V);
        float *logits = numbers(k, s, values, LONG * V), *losses = numbers(k, s, NULL, LONG),
              *lse = numbers(k, s, NULL, LONG);
        int32_t *targets = k->allocate(sizeof ids);
        StepState *state = k->allocate(sizeof *state);
        ck_assert(targets && state);
        k->upload(s, targets, ids, sizeof ids);
        k->cross_entropy_forward(s, losses, lse, state, 0, logits, targets, 0.1, SHORT, V);
        k->download(s, before, losses, sizeof before);
        ck_assert(k->capture(s));
        k->cross_entropy_forward(s, losses, lse, state, 0, logits, targets, 0.1, SHORT, V);
        Captured *operations = k->captured(s);
        ck_assert_ptr_nonnull(operations);
        k->cross_entropy_forward(s, losses, lse, state, 0, logits, targets, 0.1, LONG, V);
        k->zero(s, losses, LONG * sizeof *losses);
        k->replay(s, operations);
        k->download(s, after, losses, sizeof after);
        ck_assert(memcmp(before, after, sizeof after) == 0 && after[0] > 0);
        k->forget(operations);
        k->release(logits), k->release(losses), k->release(lse), k->release(targets), k->release(state);
        finished(k, s);
    }
}

/* Cross-entropy on more and more rows, by a little each time: what is between two of its kernels fits. */
START_TEST(scratch_memory_grows_by_a_little)
{
    enum { MOST = 600, V = 3 };
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Stream *s = opened(k);
        static float values[MOST * V];
        float loss[MOST];
        int32_t ids[MOST] = {0};
        float *logits = numbers(k, s, values, MOST * V), *losses = numbers(k, s, NULL, MOST),
              *lse = numbers(k, s, NULL, MOST);
        int32_t *targets = k->allocate(sizeof ids);
        StepState *state = k->allocate(sizeof *state);
        ck_assert(targets && state);
        k->upload(s, targets, ids, sizeof ids);
        for (size_t n = 8; n < MOST; n += n / 3) {
            Error e;
            k->cross_entropy_forward(s, losses, lse, state, 0, logits, targets, 0, n, V);
            k->download(s, loss, losses, n * sizeof *loss);
            ck_done(k->finish(s, &e), e);
            for (size_t j = 0; j < n; j++)
                ck_assert_float_eq_tol(loss[j], logf(V), 1e-6F);
        }
        k->release(logits), k->release(losses), k->release(lse), k->release(targets), k->release(state);
        finished(k, s);
    }
}

START_TEST(what_is_sent_arrives_when_it_is_fetched)
{
    static const size_t sizes[] = {1, 5, 4000, 3 << 20};
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Stream *s = opened(k);
        size_t most = sizes[3];
        float *host = memory_get(most, sizeof *host), *there = k->allocate(most * sizeof *host),
              *to = k->allocate(most * sizeof *host);
        ck_assert(host && there && to);
        for (int round = 0; round < 6; round++) {
            size_t n = sizes[round % 4];
            float last;
            for (size_t j = 0; j < n; j++)
                host[j] = (float)(j % 1000 + (size_t)round);
            k->send(s, there, host, n * sizeof *host);
            memset(host, 0, n * sizeof *host); /* it has been read */
            k->zero(s, to, n * sizeof *to);
            k->fetch(s, to, there, n * sizeof *to);
            k->download(s, host, to, n * sizeof *to);
            size_t wrong = 0;
            for (size_t j = 0; j < n; j++)
                wrong += host[j] != (float)(j % 1000 + (size_t)round);
            ck_assert_uint_eq(wrong, 0);
            k->upload(s, to, &(float){-1}, sizeof last);
            k->download(s, &last, to, sizeof last);
            ck_assert(last == -1);
        }
        memory_free(host);
        k->release(there), k->release(to);
        finished(k, s);
    }
}

/* Streams of the emulator are late, or others go first, as the order says: zeros are there before what is sent. */
static const char *const orders[] = {"forward", "backward", "random:1", "random:2", "greedy:3"};
enum { ORDERS = sizeof orders / sizeof *orders };

START_TEST(fresh_memory_is_zero_before_anything_arrives)
{
    setenv("ATTEND_ORDER", orders[_i], 1);
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Stream *s = opened(k);
        float values[N], *there = numbers(k, s, NULL, N), *to = numbers(k, s, NULL, N);
        for (size_t j = 0; j < N; j++)
            values[j] = (float)j + 1;
        k->send(s, there, values, sizeof values);
        k->fetch(s, to, there, sizeof values);
        expect(k, s, to, 1, 1);
        k->release(there), k->release(to);
        finished(k, s);
    }
}

/* Steps as core/train has them: each fetches its batch, and the next one is sent while it computes. */
START_TEST(a_batch_sent_ahead_is_the_next_step_s)
{
    enum { STEPS = 7 };
    setenv("ATTEND_ORDER", orders[_i], 1);
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Stream *s = opened(k);
        float values[N], *there = numbers(k, s, NULL, N), *batch = numbers(k, s, NULL, N),
                         *sum = numbers(k, s, NULL, N);
        for (size_t t = 0; t <= STEPS; t++) {
            for (size_t j = 0; j < N; j++)
                values[j] = (float)(t + 1);
            size_t bytes = t % 3 == 1 ? sizeof values / 2 : sizeof values; /* other sizes share the same memory */
            if (t == 0)
                k->zero(s, sum, sizeof values);
            else
                k->accumulate(s, sum, batch, N);
            k->send(s, there, values, bytes);
            memset(values, 0, sizeof values);
            Error e;
            if (t % 2)
                ck_done(k->finish(s, &e), e);
            k->fetch(s, batch, there, bytes);
        }
        k->download(s, values, sum, sizeof values);
        ck_assert_msg(values[0] == STEPS * (STEPS + 1) / 2 && values[N - 1] == 1 + 1 + 3 + 4 + 4 + 6 + 7,
                      "%s, %s: %g and %g", k->backend, orders[_i], values[0], values[N - 1]);
        k->release(there), k->release(batch), k->release(sum);
        finished(k, s);
    }
}

/* More of them than a stream keeps pages for, each from the same memory of the host. */
START_TEST(what_is_uploaded_may_change_at_once)
{
    enum { UPLOADS = 11 };
    setenv("ATTEND_ORDER", orders[_i], 1);
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Stream *s = opened(k);
        float values[N], *there[UPLOADS];
        for (size_t n = 0; n < UPLOADS; n++) {
            size_t count = n == 6 ? N : N / 2 + 8 * n; /* some need more room than was there */
            for (size_t j = 0; j < N; j++)
                values[j] = (float)(n + j);
            there[n] = numbers(k, s, values, count);
        }
        for (size_t n = 0; n < UPLOADS; n++) {
            k->download(s, values, there[n], N / 2 * sizeof *values);
            for (size_t j = 0; j < N / 2; j++)
                ck_assert_msg(values[j] == (float)(n + j), "%s, %s: %g", k->backend, orders[_i], values[j]);
            k->release(there[n]);
        }
        finished(k, s);
    }
}

/* A stream that is closed while it has something to do. */
START_TEST(closing_waits)
{
    setenv("ATTEND_ORDER", orders[_i], 1);
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        size_t before = memory_in_use();
        Stream *s = opened(k);
        float values[N] = {0}, *there = numbers(k, s, values, N), *ahead = k->allocate(sizeof values);
        k->send(s, ahead, values, sizeof values);
        k->close(s);
        k->release(there), k->release(ahead);
        ck_assert_uint_eq(memory_in_use(), before); /* pages that are still read cannot be given back */
    }
}

/* One worker captures, while another opens a stream and wants memory. */
typedef struct Workers {
    const Kernels *k;
    Pool *pool;
    Stream *s;
    float *sum;
    Captured *operations;
    bool other_fine;
} Workers;

static bool other_works(const Kernels *k)
{
    float one = 1, back = 0;
    Stream *s;
    if (!k->open(&s, 1, NULL))
        return false;
    float *there = k->allocate(sizeof one);
    if (there) {
        k->upload(s, there, &one, sizeof one);
        k->download(s, &back, there, sizeof back);
    }
    bool fine = k->finish(s, NULL) && there && back == 1;
    k->release(there);
    k->close(s);
    return fine;
}

static void capture_or_work(void *argument, size_t worker)
{
    Workers *w = argument;
    bool captures = worker == 0 && w->k->capture(w->s);
    if (captures)
        w->k->zero(w->s, w->sum, sizeof *w->sum);
    pool_barrier(w->pool);
    if (worker == 1)
        w->other_fine = other_works(w->k);
    pool_barrier(w->pool);
    if (captures)
        w->operations = w->k->captured(w->s);
}

START_TEST(others_work_on_while_a_worker_captures)
{
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Workers w = {.k = k, .s = opened(k), .sum = numbers(k, NULL, NULL, N)};
        Error e;
        ck_done(pool_open(&w.pool, 2, false, &e), e);
        pool_run(w.pool, capture_or_work, &w);
        pool_close(w.pool);
        ck_assert_ptr_nonnull(w.operations);
        ck_assert(w.other_fine);
        k->replay(w.s, w.operations);
        expect(k, w.s, w.sum, 0, 0);
        k->forget(w.operations);
        k->release(w.sum);
        finished(k, w.s);
    }
}

/* A step may have nothing to add up, and CUDA takes no memset or copy of no bytes into every graph. */
START_TEST(nothing_can_be_captured_too)
{
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Stream *s = opened(k);
        float values[N] = {0}, *there = numbers(k, s, values, N);
        ck_assert(k->capture(s));
        k->zero(s, there, 0);
        k->copy(s, there, there, 0);
        k->accumulate(s, there, there, 0);
        Captured *operations = k->captured(s);
        ck_assert_ptr_nonnull(operations);
        k->replay(s, operations);
        expect(k, s, there, 0, 0);
        k->forget(operations);
        k->release(there);
        finished(k, s);
    }
}

/* ---- products */

/* What a stream of that table, opened as ATTEND_KERNELS says, makes of c [m,n] = 0.5 a b (+ c), each along rows or down
 * columns with a gap after each, batch by batch. */
typedef struct Layout {
    bool down_a, down_b, down_c, add;
    size_t outer, inner, m, n, k, gap;
    bool apart; /* the first of the inner matrices are side by side, then the second: no one distance between all */
} Layout;

enum { CAPACITY = 6000 };

static Operand operand(float *there, bool down, size_t rows, size_t columns, const Layout *l)
{
    size_t next = (down ? rows : columns) + l->gap, one = next * (down ? columns : rows);
    ck_assert(l->outer * l->inner * one <= CAPACITY);
    size_t outer = l->apart ? one : one * l->inner, inner = l->apart ? one * l->outer : one;
    return (Operand){there, outer, inner, down ? 1 : next, down ? next : 1};
}

static void multiplied(float *values, const Kernels *k, const char *kernels, const Layout *l)
{
    Random random = {.seed = 5};
    if (kernels)
        setenv("ATTEND_KERNELS", kernels, 1);
    Stream *s = opened(k);
    unsetenv("ATTEND_KERNELS");
    float *there[3];
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < CAPACITY; j++)
            values[j] = (float)uniform(&random);
        there[i] = numbers(k, s, values, CAPACITY);
    }
    k->product(s, operand(there[0], l->down_c, l->m, l->n, l), l->add, operand(there[1], l->down_a, l->m, l->k, l),
               operand(there[2], l->down_b, l->k, l->n, l), 0.5, l->outer, l->inner, l->m, l->n, l->k);
    k->download(s, values, there[0], CAPACITY * sizeof *values);
    for (size_t i = 0; i < 3; i++)
        k->release(there[i]);
    finished(k, s);
}

/* Both sum in the same order under the emulator, so bits are the same; on a GPU they are near. */
START_TEST(products_do_not_depend_on_what_multiplies)
{
    static const size_t sizes[][5] = {{1, 1, 3, 5, 7},    {2, 3, 4, 6, 5}, {1, 4, 17, 1, 9}, {3, 1, 1, 20, 2},
                                      {1, 1, 67, 66, 18}, {2, 2, 1, 1, 3}, {1, 1, 9, 8, 1},  {1, 1, 6, 5, 0}};
    static float mine[CAPACITY], theirs[CAPACITY];
    for (size_t i = 0; gpu(i); i++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            const size_t *z = sizes[n];
            Layout l = {_i & 1, _i & 2, _i & 4, _i & 8, z[0], z[1], z[2], z[3], z[4], n % 3, n % 2};
            multiplied(mine, gpu(i), "own", &l);
            multiplied(theirs, gpu(i), NULL, &l);
            float far = 0, most = real_one(gpu(i)) ? 1e-5F : 0;
            for (size_t j = 0; j < CAPACITY; j++)
                far = fabsf(mine[j] - theirs[j]) <= far ? far : fabsf(mine[j] - theirs[j]); /* NaN is far */
            ck_assert_msg(far <= most, "%s, layout %d, sizes %d: off by %g", gpu(i)->backend, _i, (int)n, far);
        }
}

/* What comes after a product is made by a warp for each row, 128 numbers at a time: here twice, and not all of them.
 */
START_TEST(rows_may_be_longer_than_a_warp_takes_at_once)
{
    enum { ROWS = 70, OUT = 251 };
    static float y[ROWS * OUT], x[ROWS], w[OUT], bias[OUT];
    for (size_t j = 0; j < ROWS; j++)
        x[j] = (float)(j % 50);
    for (size_t j = 0; j < OUT; j++)
        w[j] = 1, bias[j] = (float)(j % 7) - 9;
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = gpu(i);
        Stream *s = opened(k);
        float *there[] = {numbers(k, s, NULL, ROWS * OUT), numbers(k, s, x, ROWS), numbers(k, s, w, OUT),
                          numbers(k, s, bias, OUT)};
        k->linear_forward(s, there[0], false, there[1], there[2], there[3], true, ROWS, 1, OUT);
        k->download(s, y, there[0], sizeof y);
        size_t wrong = 0;
        for (size_t t = 0; t < ROWS * OUT; t++)
            wrong += y[t] != fmaxf(0, x[t / OUT] + bias[t % OUT]);
        ck_assert_msg(wrong == 0, "%s: %zu numbers are wrong", k->backend, wrong);
        for (size_t t = 0; t < 4; t++)
            k->release(there[t]);
        finished(k, s);
    }
}

/* Is y one of the two numbers with 10 bits of fraction between which x is? */
static bool has_10_bits(float x, float y)
{
    uint32_t exact, found;
    memcpy(&exact, &x, sizeof exact);
    memcpy(&found, &y, sizeof found);
    uint32_t cut = exact & ~0x1fffu; /* towards 0; the other one is away from it */
    return found == cut || (exact != cut && found == cut + 0x2000);
}

/* One number times one: in f32 it stays, in tf32 what is after 10 bits of fraction is rounded. On a GPU it may be cut
 * off, too, or halves go away from 0, as cuBLAS likes; and a product that tensor cores are too large for keeps all. */
START_TEST(tf32_rounds_what_products_read_and_nothing_else)
{
    static const float values[][2] = {
        {1 + 0x1p-11F, 1},   {1 + 0x1.8p-10F, 1 + 0x1p-9F}, {1 + 0x1.2p-11F, 1 + 0x1p-10F},
        {-3 - 0x1p-12F, -3}, {0x1p-100F, 0x1p-100F},        {INFINITY, INFINITY}};
    ck_assert_str_eq(number_type_name(NUMBER_TF32), "tf32");
    for (size_t i = 0; gpu(i); i++) {
        const Kernels *k = kernels_find(gpu(i)->backend, NUMBER_TF32, NULL);
        if (!k)
            continue; /* a GPU that is too old */
        ck_assert(k->type == NUMBER_TF32 && k->number == 4);
        Stream *s = opened(k);
        for (size_t n = 0; n < sizeof values / sizeof *values; n++) {
            float one = 1, y;
            float *x = numbers(k, s, &values[n][0], 1), *w = numbers(k, s, &one, 1), *to = numbers(k, s, NULL, 1);
            k->linear_forward(s, to, false, x, w, NULL, false, 1, 1, 1);
            k->download(s, &y, to, sizeof y);
            ck_assert_msg(y == values[n][1] || (real_one(k) && (y == values[n][0] || has_10_bits(values[n][0], y))),
                          "%s: %a gives %a, not %a", k->backend, values[n][0], y, values[n][1]);
            k->accumulate(s, to, x, 1); /* no product */
            k->zero(s, to, sizeof y);
            k->accumulate(s, to, x, 1);
            k->download(s, &y, to, sizeof y);
            ck_assert(y == values[n][0]);
            k->release(x), k->release(w), k->release(to);
        }
        finished(k, s);
    }
}

START_TEST(tf32_is_a_gpu_s_and_no_old_one_s)
{
    static const char *const others[] = {"plain", "cpu", "mine"};
    Error e;
    for (size_t i = 0; i < 3; i++) {
        ck_assert(!kernels_find(others[i], NUMBER_TF32, &e));
        ck_assert_msg(strstr(e.text, "does not support tf32; it supports f32"), "%s", e.text);
    }
    setenv("ATTEND_GPU", "7.5", 1);
    if (kernels_find("emulated", NUMBER_F32, NULL)) {
        ck_assert(!kernels_find("emulated", NUMBER_TF32, &e));
        ck_assert_msg(strstr(e.text, "tf32 needs a GPU of capability 8.0 or newer, this one has 7.5"), "%s", e.text);
    }
    unsetenv("ATTEND_GPU");
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST(captured_operations_run_when_they_are_replayed_on_what_is_there_then),
                                 TEST(reading_or_writing_the_host_s_memory_is_not_captured),
                                 TEST(what_was_captured_keeps_its_scratch_memory),
                                 TEST(scratch_memory_grows_by_a_little),
                                 TEST(what_is_sent_arrives_when_it_is_fetched),
                                 TEST_LOOP(fresh_memory_is_zero_before_anything_arrives, ORDERS),
                                 TEST_LOOP(a_batch_sent_ahead_is_the_next_step_s, ORDERS),
                                 TEST_LOOP(what_is_uploaded_may_change_at_once, ORDERS),
                                 TEST_LOOP(closing_waits, ORDERS),
                                 TEST(others_work_on_while_a_worker_captures),
                                 TEST(nothing_can_be_captured_too),
                                 TEST_LOOP(products_do_not_depend_on_what_multiplies, 16),
                                 TEST(rows_may_be_longer_than_a_warp_takes_at_once),
                                 TEST(tf32_rounds_what_products_read_and_nothing_else),
                                 TEST(tf32_is_a_gpu_s_and_no_old_one_s)};
    return suite_run("kernels/gpu", tests, sizeof tests / sizeof *tests, argc, argv);
}
