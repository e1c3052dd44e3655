/* Mistakes of kernels that were made on purpose: the emulator or its checker finds each, and nothing where there is
 * none.
 */
#ifdef HAVE_EMULATOR
#include "kernels/cuda/emulator/runtime.h"
#endif
#include "tests/emulator/planted.h"
#include "tests/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_EMULATOR

static const char *const orders[] = {"forward", "backward", "random", "random:5", "greedy", "greedy:9"};

enum { ORDERS_TRIED = sizeof orders / sizeof *orders };

/* What shows in values, in one order or another; and what the program does not survive, as an access ends at a page
 * that may not be touched. */
START_TEST(what_is_right_is_right_in_each_order)
{
    Error e;
    float sum;
    setenv("ATTEND_ORDER", orders[_i], 1);
    ck_done(planted_emulated(NO_MISTAKE, &sum, &e), e);
    ck_assert_msg(sum == PLANTED_SUM, "%s: %g", orders[_i], (double)sum);
#ifdef HAVE_CHECKED
    ck_done(planted_checked(NO_MISTAKE, &sum, &e), e);
    ck_assert_msg(sum == PLANTED_SUM, "%s: %g", orders[_i], (double)sum);
#endif
}

START_TEST(no_stream_is_the_default_one)
{
    const float from[3] = {1, 2, 3};
    float to[3] = {0};
    void *device = NULL;
    ck_assert_int_eq(cudaMalloc(&device, sizeof from), cudaSuccess);
    ck_assert_int_eq(cudaMemcpyAsync(device, from, sizeof from, cudaMemcpyHostToDevice, NULL), cudaSuccess);
    ck_assert_int_eq(cudaMemsetAsync(device, 0, sizeof *from, NULL), cudaSuccess);
    ck_assert_int_eq(cudaMemcpyAsync(to, device, sizeof to, cudaMemcpyDeviceToHost, NULL), cudaSuccess);
    ck_assert_int_eq(cudaStreamSynchronize(NULL), cudaSuccess);
    ck_assert(to[0] == 0 && to[1] == 2 && to[2] == 3);
    cudaFree(device);
}

static bool shows(Mistake mistake)
{
    Error e;
    float sum;
    bool wrong = false;
    for (size_t i = 0; i < ORDERS_TRIED; i++) {
        setenv("ATTEND_ORDER", orders[i], 1);
        wrong |= !planted_emulated(mistake, &sum, &e) || sum != PLANTED_SUM;
    }
    return wrong;
}

/* A copy arrives when it is waited for, and not before. */
START_TEST(a_missing_wait_shows_in_values)
{
    ck_assert(shows(NO_WAIT));
    ck_assert(shows(WAIT_FOR_OTHER));
    ck_assert(shows(NO_BARRIER_AFTER_WAIT));
}

START_TEST(a_missing_barrier_shows_in_values)
{
    ck_assert(shows(NO_BARRIER));
    ck_assert(shows(NO_BARRIER_AFTER));
    ck_assert(!shows(NO_MISTAKE));
}

typedef struct Told {
    Mistake mistake;
    const char *words;
} Told;

/* Without looking at accesses: what a device would hang on, or refuse. */
START_TEST(threads_that_cannot_meet_are_told)
{
    static const Told told[] = {{BARRIER_IN_A_BRANCH, "at another"}, {BARRIER_AFTER_RETURN, "have returned"},
                                {MASK_OF_OTHERS, "has returned"},    {LANES_MISSING, "has returned"},
                                {COPY_UNALIGNED, "multiples of 16"}, {TOO_MANY_THREADS, "at most 1024"}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        for (size_t o = 0; o < ORDERS_TRIED; o++) {
            Error e;
            float sum;
            setenv("ATTEND_ORDER", orders[o], 1);
            ck_assert_msg(!planted_emulated(told[i].mistake, &sum, &e), "mistake %d, %s", (int)told[i].mistake,
                          orders[o]);
            bool never = told[i].mistake != TOO_MANY_THREADS && strstr(e.text, "deadlock");
            ck_assert_msg(never || strstr(e.text, told[i].words), "mistake %d, %s: %s", (int)told[i].mistake, orders[o],
                          e.text);
        }
}

/* Runs in a process of its own: does it die? */
static bool dies(Mistake mistake)
{
    fflush(stdout);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        Error e;
        float sum;
        planted_emulated(mistake, &sum, &e);
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

START_TEST(a_page_that_may_not_be_touched_ends_the_program)
{
    ck_assert(dies(GLOBAL_OFF_BY_ONE));
    ck_assert(dies(SHARED_OFF_BY_ONE_ASKED));
    ck_assert(dies(RELEASED));
    ck_assert(!dies(NO_MISTAKE));
}

#ifdef HAVE_CHECKED
START_TEST(the_checker_finds_each_in_each_order)
{
    static const Told told[] = {{NO_BARRIER, NULL}, /* a race, or unwritten, as the order is */
                                {NO_BARRIER_AFTER, "race"},
                                {NO_SYNCWARP, NULL},
                                {PLUS_FOR_ATOMIC, "race"},
                                {PLUS_FOR_ATOMIC_APART, "race"},
                                {NO_FENCE, "race"},
                                {NO_FENCE_AFTER, "race"},
                                {NO_BARRIER_BEFORE_FENCE, "race"},
                                {NOT_THE_LAST, "race"},
                                {SHARED_OFF_BY_ONE, "index: 64 is outside"},
                                {SHARED_OFF_BY_ONE_ASKED, NULL},
                                {GLOBAL_OFF_BY_ONE, "past the end"},
                                {UNWRITTEN, "unwritten"},
                                {NO_WAIT, "asynchronous copy"},
                                {WAIT_FOR_OTHER, "asynchronous copy"},
                                {NO_BARRIER_AFTER_WAIT, NULL},
                                {COPY_TOO_EARLY, NULL},
                                {HOST_POINTER, "not device memory"},
                                {RELEASED, "not device memory"}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        Error e;
        float sum;
        setenv("ATTEND_ORDER", orders[_i], 1);
        ck_assert_msg(!planted_checked(told[i].mistake, &sum, &e), "mistake %d, %s", (int)told[i].mistake, orders[_i]);
        bool found = told[i].words ? strstr(e.text, told[i].words) != NULL
                                   : strstr(e.text, "race") || strstr(e.text, "unwritten") ||
                                         strstr(e.text, "outside") || strstr(e.text, "under way");
        ck_assert_msg(found, "mistake %d, %s: %s", (int)told[i].mistake, orders[_i], e.text);
        ck_assert_msg(strstr(e.text, "thread (") && strstr(e.text, "block ("), "%s", e.text);
    }
}
#endif

#else

START_TEST(without_a_compiler_for_it_the_emulator_is_one_clear_line)
{
    test_skip("emulator", "this build has no C++17 compiler");
}

#endif

static const Test tests[] = {
#ifdef HAVE_EMULATOR
    TEST_LOOP(what_is_right_is_right_in_each_order, ORDERS_TRIED),
    TEST(no_stream_is_the_default_one),
    TEST(a_missing_barrier_shows_in_values),
    TEST(a_missing_wait_shows_in_values),
    TEST(threads_that_cannot_meet_are_told),
    TEST(a_page_that_may_not_be_touched_ends_the_program),
#ifdef HAVE_CHECKED
    TEST_LOOP(the_checker_finds_each_in_each_order, ORDERS_TRIED),
#endif
#else
    TEST(without_a_compiler_for_it_the_emulator_is_one_clear_line),
#endif
};

int main(int argc, char **argv)
{
    return suite_run("emulator/mistakes", tests, sizeof tests / sizeof *tests, argc, argv);
}
