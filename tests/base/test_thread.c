/* The pool: everybody runs, barriers hold, signals go elsewhere, and quotas are read as the kernel writes them. */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tests/suite.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 9 };

static const size_t teams[] = {1, 2, 3, 4, MOST};

typedef struct Shared {
    Pool *pool;
    size_t workers;
    int seen[MOST]; /* plain on purpose: only the pool orders these, and a thread sanitizer would see if it did not */
    int rounds;
} Shared;

static void add_one(void *argument, size_t worker) { ((Shared *)argument)->seen[worker]++; }

START_TEST(each_worker_runs_once_each_time)
{
    Shared s = {0};
    Error e;
    ck_done(pool_open(&s.pool, teams[_i], _i % 2, &e), e);
    ck_assert_uint_eq(pool_size(s.pool), teams[_i]);
    int wrong = 0;
    for (int k = 1; k <= (test_is_fast() ? 50 : 2000); k++) {
        pool_run(s.pool, add_one, &s);
        for (size_t i = 0; i < teams[_i]; i++)
            wrong += s.seen[i] != k;
    }
    ck_assert_int_eq(wrong, 0);
    pool_close(s.pool);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Each writes its own number, and after the barrier must read that of all the others. */
static void meet(void *argument, size_t worker)
{
    Shared *s = argument;
    int wrong = 0;
    for (int k = 1; k <= s->rounds; k++) {
        s->seen[worker] = k;
        pool_barrier(s->pool);
        for (size_t i = 0; i < s->workers; i++)
            wrong += s->seen[i] != k;
        pool_barrier(s->pool);
    }
    s->seen[worker] = wrong;
}

/* A thread that has waited for long sleeps; once it was woken it is awake, for a while, and runs what comes. (With
 * valgrind, which runs one thread at a time, nobody sees it awake.) */
START_TEST(who_sleeps_is_woken_without_waiting_for_it)
{
    Shared s = {0};
    Error e;
    bool awake;
    if (processors_allowed() < 2)
        return; /* none waits awake */
    ck_done(pool_open(&s.pool, 2, false, &e), e);
    for (int k = 1; k <= 20; k++) {
        awake = true;
        for (int i = 0; i < 100 && awake; i++) {
            clock_sleep(0.01);
            awake = pool_awake(s.pool);
        }
        ck_assert_msg(!awake, "it never sleeps");
        for (double start = clock_seconds(); !awake && clock_seconds() < start + (test_is_fast() ? 0.01 : 5);)
            awake = pool_awake(s.pool);
        ck_assert_msg(awake || test_is_fast(), "it never wakes");
        pool_run(s.pool, add_one, &s);
        ck_assert(s.seen[0] == k && s.seen[1] == k);
    }
    pool_close(s.pool);
}

START_TEST(what_was_written_before_a_barrier_is_read_after_it)
{
    Shared s = {.workers = teams[_i], .rounds = teams[_i] > 2 ? 500 : 10000};
    Error e;
    if (test_is_fast())
        s.rounds = 20;
    ck_done(pool_open(&s.pool, s.workers, false, &e), e);
    for (int again = 0; again < 3; again++) {
        pool_run(s.pool, meet, &s);
        for (size_t i = 0; i < s.workers; i++)
            ck_assert_int_eq(s.seen[i], 0);
    }
    pool_close(s.pool);
}

START_TEST(pools_open_and_close_many_times)
{
    Error e;
    for (int k = 0; k < (test_is_fast() ? 30 : 300); k++) {
        Pool *pool;
        ck_done(pool_open(&pool, 1 + (size_t)k % MOST, k % 3 == 0, &e), e);
        pool_close(pool);
    }
    pool_close(NULL);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool open_and_close(void *argument, Error *e)
{
    Pool *pool;
    (void)argument;
    if (!pool_open(&pool, 3, false, e))
        return false;
    pool_close(pool);
    return true;
}

START_TEST(a_failed_allocation_opens_no_pool) { fail_each_allocation(open_and_close, NULL); }

START_TEST(pinning_ends_with_the_pool)
{
    Pool *pool;
    Error e;
    size_t before = processors_allowed();
    ck_assert_uint_ge(before, 1);
    ck_done(pool_open(&pool, before, true, &e), e);
    pool_close(pool);
    ck_assert_uint_eq(processors_allowed(), before);
}

static void count_processors(void *argument, size_t worker)
{
    ((Shared *)argument)->seen[worker] = (int)processors_allowed();
}

START_TEST(a_second_pool_does_not_stay_where_the_first_keeps_its_caller)
{
    Pool *first;
    Shared s = {0};
    Error e;
    const size_t all = processors_allowed();
    ck_done(pool_open(&first, 1, true, &e) && pool_open(&s.pool, 2, false, &e), e);
    pool_run(s.pool, count_processors, &s);
    ck_assert_int_eq(s.seen[0], 1);
    ck_assert_int_eq(s.seen[1], (int)all);
    pool_close(s.pool);
    pool_close(first);
    ck_assert_uint_eq(processors_allowed(), all);
}

static void look_at_signals(void *argument, size_t worker)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    ((Shared *)argument)->seen[worker] = sigismember(&blocked, SIGINT);
}

START_TEST(only_the_caller_takes_signals)
{
    Shared s = {0};
    Error e;
    ck_done(pool_open(&s.pool, 3, false, &e), e);
    pool_run(s.pool, look_at_signals, &s);
    ck_assert_int_eq(s.seen[0], 0);
    ck_assert_int_eq(s.seen[1], 1);
    ck_assert_int_eq(s.seen[2], 1);
    pool_close(s.pool);
}

static void put(const char *folder, const char *name, const char *text)
{
    char *path = path_join(folder, name), *parent = memory_string(path);
    Error e;
    *strrchr(parent, '/') = 0;
    ck_done(folder_make(parent, &e), e);
    ck_done(file_write(path, text, strlen(text), &e), e);
    memory_free(path);
    memory_free(parent);
}

static double quota(const char *folder)
{
    char *groups = path_join(folder, "groups");
    double q = processors_quota(groups, folder);
    memory_free(groups);
    return q;
}

START_TEST(quotas_of_version_2_count_with_all_groups_above)
{
    const char *folder = test_folder();
    ck_assert_double_eq(quota(folder), 0);
    put(folder, "groups", "0::/a/b\n");
    ck_assert_double_eq(quota(folder), 0);
    put(folder, "a/b/cpu.max", "max 100000\n");
    ck_assert_double_eq(quota(folder), 0);
    put(folder, "a/cpu.max", "350000 100000\n");
    ck_assert_double_eq(quota(folder), 3.5);
    put(folder, "a/b/cpu.max", "50000 100000\n");
    ck_assert_double_eq(quota(folder), 0.5);
    put(folder, "groups", "0::/\n");
    put(folder, "cpu.max", "200000 100000\n");
    ck_assert_double_eq(quota(folder), 2);
}

START_TEST(quotas_of_version_1_count)
{
    const char *folder = test_folder();
    put(folder, "groups", "5:memory:/m\n4:cpu,cpuacct:/in/there\n0::/x\n");
    put(folder, "cpu/in/there/cpu.cfs_quota_us", "-1\n");
    put(folder, "cpu/in/there/cpu.cfs_period_us", "100000\n");
    ck_assert_double_eq(quota(folder), 0);
    put(folder, "cpu/cpu.cfs_quota_us", "150000\n"); /* inside a container, its own group is the root of the mount */
    put(folder, "cpu/cpu.cfs_period_us", "50000\n");
    ck_assert_double_eq(quota(folder), 3);
}

static const Test tests[] = {
    TEST_LOOP(each_worker_runs_once_each_time, 5),
    TEST_LOOP(what_was_written_before_a_barrier_is_read_after_it, 5),
    TEST(who_sleeps_is_woken_without_waiting_for_it),
    TEST(pools_open_and_close_many_times),
    TEST(a_failed_allocation_opens_no_pool),
    TEST(pinning_ends_with_the_pool),
    TEST(a_second_pool_does_not_stay_where_the_first_keeps_its_caller),
    TEST(only_the_caller_takes_signals),
    TEST(quotas_of_version_2_count_with_all_groups_above),
    TEST(quotas_of_version_1_count),
};

int main(int argc, char **argv) { return suite_run("base/thread", tests, sizeof tests / sizeof *tests, argc, argv); }
