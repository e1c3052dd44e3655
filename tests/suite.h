/* What every test program shares: a list of Check tests that can be selected by name, and a spoken skip.
 *
 *     static const Test tests[] = {TEST(sum_is_zero), TEST(sum_is_one)};
 *     int main(int argc, char **argv)
 *     {
 *         return suite_run("module/file", tests, sizeof tests / sizeof *tests, argc, argv);
 *     }
 *
 * A test program with NAMES after it runs those tests only; a name that does not exist is an error. With STOP=1 in the
 * environment it ends at the first test, or turn of a loop test, that fails. */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include "base/error.h" /* before check.h, which has an old macro called fail */

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#undef fail

/* Of each assertion that holds, Check's test sends a message to its parent, which says after a crash which one was the
 * last. Millions of them take longer than what they assert, so here a line sends the first one alone. */
#define _mark_point(file, line) test_mark(file, line)
void test_mark(const char *file, int line);

typedef struct Test {
    const char *name;
    const TTest **test; /* START_TEST makes a pointer of that name */
    int loops;          /* 0: once; n: called with _i = 0 .. n-1 */
    int seconds;        /* on a quiet machine, at most; 0: the default of 60 */
    bool learns;        /* it judges what a training comes to, where memory and threads have nothing new to show:
                           sanitizers, valgrind and coverage leave it out */
} Test;

/* clang-format off */
#define TEST(f)                       {#f, &f, 0, 0, false}
#define TEST_LOOP(f, n)               {#f, &f, n, 0, false}
#define TEST_SLOW(f, seconds)         {#f, &f, 0, seconds, false}
#define TEST_SLOW_LOOP(f, n, seconds) {#f, &f, n, seconds, false}
#define TEST_LEARNS(f, n, seconds)    {#f, &f, n, seconds, true}
/* clang-format on */

int suite_run(const char *suite, const Test *tests, size_t count, int argc, char **argv);

/* Says on standard output that this test did not run, and why; the caller returns. */
void test_skip(const char *test, const char *why);

/* Whether there is a gnuplot; where not, that this test did not run has been said. */
bool can_draw(const char *test);

/* FAST=1 in the environment, as valgrind sets it: a test that repeats itself may do so less often. */
bool test_is_fast(void);

/* A sanitizer keeps memory of its own beside that of the program: what a program holds is not compared with a plan
 * then.
 */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };
#elif defined __has_feature
enum { SANITIZED = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) };
#else
enum { SANITIZED = 0 };
#endif

/* Runs an action again and again, with its 1st, 2nd, 3rd, .. allocation failing, until one run meets no failure. Each
 * failed run must return false with a line in the Error and keep no memory; the last one must succeed. */
void fail_each_allocation(bool (*action)(void *argument, Error *e), void *argument);

/* Asserts that a call returned true, and shows its Error if not. */
#define ck_done(call, error) ck_assert_msg(call, "%s", (error).text)

/* From now on test folders are in memory, where there is such a place: syncing a file costs nothing there. To be called
 * first in main. */
void test_folders_in_memory(void);

/* A fresh empty folder for one test, removed when the process ends. */
const char *test_folder(void);

#endif
