/* Mistakes of the host that were made on purpose: in what streams, events and copies promise of one another. Streams do
 * what they are asked for late, or too early, as ATTEND_ORDER says, so each shows as wrong values or is told. */
#include "tests/suite.h"

#ifdef HAVE_EMULATOR

#include "kernels/cuda/emulator/runtime.h"

#include <stdlib.h>
#include <string.h>

typedef enum Slip {
    NO_SLIP,
    NO_WAIT_FOR_BATCH,   /* before a step reads the batch that was sent */
    NO_WAIT_FOR_STEP,    /* before the next batch is sent to where a step still reads */
    EVENT_TOO_EARLY,     /* recorded before the copy that it stands for */
    EVENT_FORGOTTEN,     /* recorded for the first batch alone */
    BUFFER_REUSED,       /* the host writes over what a copy still reads */
    BUFFER_RELEASED,     /* or gives it back */
    READ_TOO_EARLY,      /* the host reads what a copy has still to write */
    READ_OTHER_STREAM,   /* the host waits for a stream that was not asked for it */
    ZEROS_BESIDE,        /* a memset on the default stream, for which others do not wait */
    ALLOCATED_CAPTURING, /* memory is asked for while a stream is captured */
    DEFAULT_CAPTURING,   /* the default stream is used while another that waits for it is captured */
    SLIPS
} Slip;

enum { STEPS = 5, N = 3 };

/* A training loop as core/train has it, its steps copies: a batch is sent ahead on a stream of its own, a step fetches
 * it, and what is captured once is replayed. */
typedef struct Loop {
    Slip slip;
    bool replays, fine;
    cudaStream_t queue, ahead;
    cudaEvent_t sent, fetched, read;
    cudaGraphExec_t step;
    float *host, *result;              /* [N], [STEPS, N], pinned */
    float *place, *batch, *seen, *all; /* the device's: [N] and [STEPS, N] */
} Loop;

static void ask(Loop *l, cudaError_t error) { l->fine &= error == cudaSuccess; }

static float *device(Loop *l, size_t n)
{
    void *memory = NULL;
    ask(l, cudaMalloc(&memory, n * sizeof(float)));
    ck_assert_ptr_nonnull(memory);
    ask(l, cudaMemset(memory, 0, n * sizeof(float)));
    return memory;
}

static float *pinned(Loop *l, size_t n)
{
    void *memory = NULL;
    ask(l, cudaMallocHost(&memory, n * sizeof(float)));
    ck_assert_ptr_nonnull(memory);
    float *numbers = memory;
    for (size_t i = 0; i < n; i++)
        numbers[i] = 0;
    return numbers;
}

static void open_loop(Loop *l)
{
    unsigned flags = l->slip == DEFAULT_CAPTURING ? 0 : cudaStreamNonBlocking;
    ask(l, cudaStreamCreateWithFlags(&l->queue, flags));
    ask(l, cudaStreamCreateWithFlags(&l->ahead, cudaStreamNonBlocking));
    ask(l, cudaEventCreateWithFlags(&l->sent, cudaEventDisableTiming));
    ask(l, cudaEventCreateWithFlags(&l->fetched, cudaEventDisableTiming));
    ask(l, cudaEventCreateWithFlags(&l->read, cudaEventDisableTiming));
    l->host = pinned(l, N);
    l->result = pinned(l, STEPS * N);
    l->all = device(l, STEPS * N);
    l->seen = device(l, N);
    l->batch = device(l, N);
    l->place = device(l, N);
    if (l->slip != ZEROS_BESIDE)
        ask(l, cudaStreamSynchronize(NULL));
}

static void compute(Loop *l)
{
    ask(l, cudaMemsetAsync(l->seen, 0, N * sizeof *l->seen, l->queue));
    ask(l, cudaMemcpyAsync(l->seen, l->batch, N * sizeof *l->seen, cudaMemcpyDeviceToDevice, l->queue));
}

static void capture(Loop *l)
{
    cudaGraph_t graph = NULL;
    void *more = NULL;
    ask(l, cudaStreamBeginCapture(l->queue, cudaStreamCaptureModeThreadLocal));
    if (l->slip == ALLOCATED_CAPTURING)
        ask(l, cudaMalloc(&more, 1));
    if (l->slip == DEFAULT_CAPTURING)
        ask(l, cudaMemset(l->place, 0, N * sizeof *l->place));
    compute(l);
    ask(l, cudaStreamEndCapture(l->queue, &graph));
    ask(l, cudaGraphInstantiateWithFlags(&l->step, graph, 0));
    ask(l, cudaGraphDestroy(graph));
}

static void send(Loop *l, size_t t)
{
    if (l->slip != BUFFER_REUSED)
        ask(l, cudaEventSynchronize(l->read));
    for (size_t i = 0; i < N; i++)
        l->host[i] = (float)(t * N + i + 1);
    if (l->slip != NO_WAIT_FOR_STEP)
        ask(l, cudaStreamWaitEvent(l->ahead, l->fetched, 0));
    if (l->slip == EVENT_TOO_EARLY)
        ask(l, cudaEventRecord(l->sent, l->ahead));
    ask(l, cudaMemcpyAsync(l->place, l->host, N * sizeof *l->host, cudaMemcpyHostToDevice, l->ahead));
    ask(l, cudaEventRecord(l->read, l->ahead));
    if (l->slip != EVENT_TOO_EARLY && (l->slip != EVENT_FORGOTTEN || t == 0))
        ask(l, cudaEventRecord(l->sent, l->ahead));
}

static void step(Loop *l, size_t t)
{
    if (l->slip != NO_WAIT_FOR_BATCH)
        ask(l, cudaStreamWaitEvent(l->queue, l->sent, 0));
    ask(l, cudaMemcpyAsync(l->batch, l->place, N * sizeof *l->batch, cudaMemcpyDeviceToDevice, l->queue));
    ask(l, cudaEventRecord(l->fetched, l->queue));
    if (l->replays)
        ask(l, cudaGraphLaunch(l->step, l->queue));
    else
        compute(l);
    ask(l, cudaMemcpyAsync(l->all + t * N, l->seen, N * sizeof *l->seen, cudaMemcpyDeviceToDevice, l->queue));
}

static void read_back(Loop *l)
{
    ask(l, cudaMemcpyAsync(l->result, l->all, STEPS * N * sizeof *l->all, cudaMemcpyDeviceToHost, l->queue));
    if (l->slip == READ_OTHER_STREAM)
        ask(l, cudaStreamSynchronize(l->ahead));
    else if (l->slip != READ_TOO_EARLY)
        ask(l, cudaStreamSynchronize(l->queue));
    for (size_t i = 0; i < STEPS * N; i++)
        l->fine &= l->result[i] == (float)(i + 1);
}

static void close_loop(Loop *l)
{
    cudaStreamSynchronize(l->queue);
    cudaStreamSynchronize(l->ahead);
    cudaGraphExecDestroy(l->step);
    cudaFree(l->place), cudaFree(l->batch), cudaFree(l->seen), cudaFree(l->all);
    cudaEventDestroy(l->sent), cudaEventDestroy(l->fetched), cudaEventDestroy(l->read);
    cudaFreeHost(l->host), cudaFreeHost(l->result);
    cudaStreamDestroy(l->queue), cudaStreamDestroy(l->ahead);
}

static bool runs_well(Slip slip, bool replays, const char *order)
{
    Loop l = {.slip = slip, .replays = replays, .fine = true};
    setenv("ATTEND_ORDER", order, 1);
    open_loop(&l);
    if (replays)
        capture(&l);
    send(&l, 0);
    if (slip == BUFFER_RELEASED)
        ask(&l, cudaFreeHost(l.host)); /* which the emulator refuses */
    for (size_t t = 0; t < STEPS && (l.step || !replays); t++) {
        step(&l, t);
        if (t + 1 < STEPS)
            send(&l, t + 1);
        ask(&l, cudaStreamSynchronize(l.queue));
    }
    read_back(&l);
    close_loop(&l);
    return l.fine;
}

static const char *const orders[] = {"forward",  "backward", "random",   "random:1", "random:2",
                                     "random:3", "random:4", "random:5", "greedy",   "greedy:9"};
enum { ORDERS = sizeof orders / sizeof *orders };

static bool shows(Slip slip, bool replays)
{
    bool well = true;
    for (size_t i = 0; i < ORDERS; i++)
        well &= runs_well(slip, replays, orders[i]);
    return !well;
}

START_TEST(what_waits_where_it_must_is_right_in_each_order)
{
    for (int replays = 0; replays < 2; replays++)
        ck_assert_msg(runs_well(NO_SLIP, replays, orders[_i]), "%s", orders[_i]);
}

START_TEST(each_missing_wait_shows)
{
    Slip slip = (Slip)(_i + 1);
    bool only_captured = slip == ALLOCATED_CAPTURING || slip == DEFAULT_CAPTURING;
    for (int replays = only_captured; replays < 2; replays++)
        ck_assert_msg(shows(slip, replays), "slip %d, %s", (int)slip, replays ? "replayed" : "asked for anew");
}

/* Where everything is late nothing comes too early: that needs the other order. */
START_TEST(what_comes_too_early_shows_where_other_streams_go_first)
{
    ck_assert(runs_well(NO_WAIT_FOR_STEP, false, "forward"));
    ck_assert(!runs_well(NO_WAIT_FOR_STEP, false, "backward"));
}

START_TEST(writing_over_what_is_being_sent_is_reported)
{
    Loop l = {.slip = BUFFER_REUSED, .fine = true};
    open_loop(&l);
    send(&l, 0);
    send(&l, 1);
    cudaError_t error = cudaStreamSynchronize(l.ahead);
    ck_assert_int_eq(error, cudaErrorLaunchFailure);
    ck_assert_msg(strstr(cudaGetErrorString(error), "the host has overwritten 12 bytes"), "%s",
                  cudaGetErrorString(error));
    ck_assert_int_eq(cudaStreamSynchronize(l.ahead), cudaSuccess); /* told once */
    close_loop(&l);
}

/* Pages that a GPU cannot read for itself: CUDA keeps what was there, and waits before it returns from a copy back. */
START_TEST(other_memory_of_the_host_may_change_at_once)
{
    float from[N] = {1, 2, 3}, to[N];
    void *there;
    cudaStream_t s;
    setenv("ATTEND_ORDER", "forward", 1);
    ck_assert(!cudaStreamCreate(&s) && !cudaMalloc(&there, sizeof from));
    ck_assert(!cudaMemcpyAsync(there, from, sizeof from, cudaMemcpyHostToDevice, s));
    from[1] = 7;
    ck_assert(!cudaMemcpyAsync(to, there, sizeof to, cudaMemcpyDeviceToHost, s));
    ck_assert(to[0] == 1 && to[1] == 2 && to[2] == 3);
    cudaFree(there);
    cudaStreamDestroy(s);
}

START_TEST(a_copy_that_is_not_the_device_s_is_refused)
{
    float host[N] = {0};
    void *there;
    ck_assert(!cudaMalloc(&there, sizeof host));
    ck_assert(!cudaMemcpyAsync(there, host, sizeof host, cudaMemcpyHostToDevice, NULL));
    ck_assert(cudaMemcpyAsync(there, host, sizeof host + 1, cudaMemcpyHostToDevice, NULL) == cudaErrorInvalidValue);
    ck_assert(cudaMemcpyAsync(host, host, sizeof host, cudaMemcpyDeviceToHost, NULL) == cudaErrorInvalidValue);
    ck_assert(cudaMemcpyAsync(there, host, sizeof host, cudaMemcpyDeviceToDevice, NULL) == cudaErrorInvalidValue);
    ck_assert(cudaMemsetAsync((char *)there + 1, 0, sizeof host, NULL) == cudaErrorInvalidValue);
    ck_assert(cudaFreeHost(host) == cudaErrorInvalidValue);
    ck_assert(!cudaFree(there));
}

static const Test tests[] = {
    TEST_LOOP(what_waits_where_it_must_is_right_in_each_order, ORDERS),
    TEST_LOOP(each_missing_wait_shows, SLIPS - 1),
    TEST(what_comes_too_early_shows_where_other_streams_go_first),
    TEST(writing_over_what_is_being_sent_is_reported),
    TEST(other_memory_of_the_host_may_change_at_once),
    TEST(a_copy_that_is_not_the_device_s_is_refused),
};

#else

START_TEST(without_a_compiler_for_it_the_emulator_is_one_clear_line)
{
    test_skip("emulator", "this build has no C++17 compiler");
}

static const Test tests[] = {TEST(without_a_compiler_for_it_the_emulator_is_one_clear_line)};

#endif

int main(int argc, char **argv)
{
    return suite_run("emulator/streams", tests, sizeof tests / sizeof *tests, argc, argv);
}
