/* What a step costs, to the call: calls, FLOP and bytes of each operation of a small fixed network, as the profile
 * counts them while it runs. Times are noise on a machine that is shared; these numbers are exact, and change only when
 * layers call other operations, or on other shapes. */
#include "kernels/profile/profile.h"

#include "base/memory.h"
#include "tests/nn/networks.h"

#include <stdio.h>
#include <string.h>

/* Two blocks of width 32 with 4 heads; 4 rows of 16 bytes, 2 at a time, by one worker. */
typedef struct Step {
    Model model;
    Network network;
    Batch batch;
    TrainerFixture fixture;
} Step;

static void step_open(Step *s, const Kernels *k, NormPlacement norm, size_t workers)
{
    Error e;
    SharedOptions o = {.dim = 32,
                       .heads = 4,
                       .depth = 2,
                       .context = 16,
                       .activation = ACTIVATION_RELU,
                       .norm = (int)norm,
                       .positions = POSITIONS_LEARNED};
    ck_done(model_open(&s->model, &o, BYTES, &e), e);
    s->network = charlm_network(&s->model, 0);
    s->batch = random_batch((size_t[]){16, 16, 16, 16}, 4, 1);
    trainer_fixture_open(&s->fixture, k, &s->network, &s->batch, 1,
                         &(Training){.workers = workers, .micro_rows = 2, .clip = 1});
    trainer_fixture_draw(&s->fixture, 1);
}

static void step_close(Step *s)
{
    trainer_fixture_close(&s->fixture);
    batch_close(&s->batch);
    model_close(&s->model);
}

typedef struct Expected {
    const char *operation;
    size_t in, out;
    uint64_t calls;
    double flop, bytes;
} Expected;

static const Expected post_f32[] = {
    {"copy", 0, 0, 4, 0, 624},
    {"embed_forward", 0, 0, 2, 0, 24576},
    {"linear_forward", 32, 96, 4, 786432, 114688},
    {"attention_forward", 0, 0, 4, 139264, 67584},
    {"linear_forward", 32, 32, 4, 262144, 49664},
    {"add_norm_forward", 0, 0, 8, 0, 135168},
    {"linear_forward", 32, 128, 4, 1048576, 149504},
    {"linear_forward", 128, 32, 4, 1048576, 147968},
    {"linear_forward", 32, 256, 2, 1048576, 141312},
    {"cross_entropy_forward", 0, 0, 2, 0, 66048},
    {"cross_entropy_backward", 0, 0, 2, 0, 131328},
    {"linear_backward", 32, 256, 2, 2097152, 348160},
    {"add_norm_backward", 0, 0, 8, 0, 138240},
    {"linear_backward", 128, 32, 4, 2097152, 361472},
    {"linear_backward", 32, 128, 4, 2097152, 512000},
    {"linear_backward", 32, 32, 4, 524288, 115712},
    {"attention_backward", 0, 0, 4, 278528, 133120},
    {"linear_backward", 32, 96, 4, 1572864, 294912},
    {"embed_backward", 0, 0, 2, 0, 40960},
    {"accumulate", 0, 0, 1, 0, 430464},
    {"zero", 0, 0, 2, 0, 286976},
    {"squares", 0, 0, 1, 0, 143488},
    {"clip", 0, 0, 1, 0, 0},
    {"adam", 0, 0, 1, 0, 956928},
    {"adam_rows", 0, 0, 1, 0, 196608},
};
static const Expected post_bf16[] = {
    {"copy", 0, 0, 4, 0, 624},
    {"embed_forward", 0, 0, 2, 0, 20480},
    {"linear_forward", 32, 96, 4, 786432, 57344},
    {"attention_forward", 0, 0, 4, 139264, 34816},
    {"linear_forward", 32, 32, 4, 262144, 25088},
    {"add_norm_forward", 0, 0, 8, 0, 69632},
    {"linear_forward", 32, 128, 4, 1048576, 75776},
    {"linear_forward", 128, 32, 4, 1048576, 74240},
    {"linear_forward", 32, 256, 2, 1048576, 104448},
    {"cross_entropy_forward", 0, 0, 2, 0, 66048},
    {"cross_entropy_backward", 0, 0, 2, 0, 98560},
    {"linear_backward", 32, 256, 2, 2097152, 241664},
    {"add_norm_backward", 0, 0, 8, 0, 72704},
    {"linear_backward", 128, 32, 4, 2097152, 246784},
    {"linear_backward", 32, 128, 4, 2097152, 323584},
    {"linear_backward", 32, 32, 4, 524288, 74752},
    {"attention_backward", 0, 0, 4, 278528, 67584},
    {"linear_backward", 32, 96, 4, 1572864, 196608},
    {"embed_backward", 0, 0, 2, 0, 36864},
    {"accumulate", 0, 0, 1, 0, 430464},
    {"zero", 0, 0, 2, 0, 286976},
    {"squares", 0, 0, 1, 0, 143488},
    {"clip", 0, 0, 1, 0, 0},
    {"adam", 0, 0, 1, 0, 1025280},
    {"adam_rows", 0, 0, 1, 0, 196608},
};

/* The timings as lines that could stand above: what a failure prints. */
static void print_timings(const Timing *t, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("    {\"%s\", %zu, %zu, %d, %.0f, %.0f},\n", t[i].operation, t[i].in, t[i].out, (int)t[i].calls,
               t[i].flop, t[i].bytes);
    fflush(stdout); /* before a failed check ends this process */
}

static void check(NumberType type, const Expected *expected, size_t count)
{
    Error e;
    Step s;
    const Kernels *inner = kernels_find("cpu", type, &e);
    ck_done(inner, e);
    step_open(&s, profile_over(inner), NORM_POST, 1);
    Stream *stream = s.fixture.trainer.worker[0].stream;
    profile_reset(stream);
    trainer_fixture_step(&s.fixture, 1, 0);
    size_t n;
    double flop = 0;
    const Timing *t = profile_timings(stream, &n);
    bool same = n == count;
    for (size_t i = 0; i < n; i++) {
        const Expected *x = same ? &expected[i] : NULL;
        same = same && strcmp(t[i].operation, x->operation) == 0 && t[i].in == x->in && t[i].out == x->out &&
               t[i].calls == x->calls && t[i].flop == x->flop && t[i].bytes == x->bytes;
        ck_assert(t[i].seconds >= 0);
        flop += t[i].flop;
    }
    if (!same)
        print_timings(t, n);
    ck_assert_msg(same, "%s: a step does not cost what it did; it is now as above", number_type_name(type));
    ck_assert_msg(flop == s.fixture.trainer.plan.flop, "a step costs %.0f FLOP, but the plan says %.0f", flop,
                  s.fixture.trainer.plan.flop);
    step_close(&s);
}

START_TEST(a_step_costs_the_calls_flop_and_bytes_that_are_written_here)
{
    if (_i == 0)
        check(NUMBER_F32, post_f32, sizeof post_f32 / sizeof *post_f32);
    else
        check(NUMBER_BF16, post_bf16, sizeof post_bf16 / sizeof *post_bf16);
}

START_TEST(a_profiled_step_gives_the_same_bits)
{
    for (int type = 0; type < NUMBER_TYPES; type++)
        for (size_t i = 0; backend_of((NumberType)type, i); i++) {
            const Kernels *inner = backend_of((NumberType)type, i);
            Step plain, profiled;
            step_open(&plain, inner, NORM_PRE, 2);
            step_open(&profiled, profile_over(inner), NORM_PRE, 2);
            ck_assert_str_eq(profiled.fixture.trainer.options.k->backend, inner->backend);
            for (uint64_t step = 1; step <= 2; step++) {
                StepResult a = trainer_fixture_step(&plain.fixture, step, 1e-2),
                           b = trainer_fixture_step(&profiled.fixture, step, 1e-2);
                ck_assert(a.loss == b.loss && a.norm == b.norm && a.loss > 0);
            }
            double *a = trainer_fixture_weights(&plain.fixture), *b = trainer_fixture_weights(&profiled.fixture);
            ck_assert(memcmp(a, b, plain.network.parameters->size * sizeof *a) == 0);
            memory_free(a);
            memory_free(b);
            step_close(&plain);
            step_close(&profiled);
        }
}

START_TEST(a_reset_forgets)
{
    Step s;
    size_t n;
    step_open(&s, profile_over(plain_of(NUMBER_F32)), NORM_POST, 1);
    Stream *stream = s.fixture.trainer.worker[0].stream;
    trainer_fixture_step(&s.fixture, 1, 0);
    profile_timings(stream, &n);
    ck_assert(n > 10 && profile_overhead(stream) > 0);
    profile_reset(stream);
    profile_timings(stream, &n);
    ck_assert(n == 0 && profile_overhead(stream) == 0);
    step_close(&s);
}

/* Sizes beyond those that there is room for are counted all the same. */
START_TEST(no_call_is_lost_however_many_sizes_there_are)
{
    static float x[300], w[300], y[1];
    const Kernels *k = profile_over(plain_of(NUMBER_F32));
    Stream *s;
    Error e;
    ck_done(k->open(&s, 1, &e), e);
    for (size_t i = 1; i <= 300; i++)
        k->linear_forward(s, y, false, x, w, NULL, false, 1, i, 1);
    size_t n;
    uint64_t calls = 0;
    double flop = 0;
    const Timing *t = profile_timings(s, &n);
    for (size_t i = 0; i < n; i++)
        calls += t[i].calls, flop += t[i].flop;
    ck_assert(calls == 300 && flop == 300 * 301);
    k->close(s);
}

static bool open_and_close(void *argument, Error *e)
{
    const Kernels *k = argument;
    Stream *s;
    if (!k->open(&s, 1, e))
        return false;
    k->close(s);
    return true;
}

START_TEST(a_stream_that_finds_no_memory_says_so)
{
    Kernels copy = *profile_over(plain_of(NUMBER_F64));
    fail_each_allocation(open_and_close, &copy);
}

int main(int argc, char **argv)
{
    static const Test tests[] = {TEST_LOOP(a_step_costs_the_calls_flop_and_bytes_that_are_written_here, 2),
                                 TEST(a_profiled_step_gives_the_same_bits), TEST(a_reset_forgets),
                                 TEST(no_call_is_lost_however_many_sizes_there_are),
                                 TEST(a_stream_that_finds_no_memory_says_so)};
    return suite_run("nn/profile", tests, sizeof tests / sizeof *tests, argc, argv);
}
