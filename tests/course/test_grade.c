/* What a grader says of answers that are wrong in every way: tests of course/frame/grade.c with checks made for it. */
#include "base/file.h"
#include "base/memory.h"
#include "course/frame/grade.h"
#include "tests/suite.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int always = 1; /* what a compiler cannot see through */

static const double expected[4] = {1, 2, 3, 4}, doubled[4] = {2, 4, 6, 8};
static const Suspect suspects[] = {{doubled, "it was doubled"}, {NULL, NULL}};

static void right(Grade *g)
{
    float *x = grade_input(g, "x", 4, 1), *y = grade_output(g, "y", 4);
    for (int i = 0; i < 4; i++)
        y[i] = (float)expected[i] + 0 * x[i];
    expect_numbers(g, "y", y, expected, 4, 2, 1e-6, suspects, "the hint");
    expect(g, true, "the hint", "nothing is wrong");
}

static void empty(Grade *g) { expect_numbers(g, "y", grade_output(g, "y", 4), expected, 4, 2, 1e-6, suspects, "no"); }

static void half(Grade *g)
{
    float *y = grade_output(g, "y", 4);
    y[0] = 1, y[1] = 2, y[3] = 4;
    expect_numbers(g, "y", y, expected, 4, 2, 1e-6, NULL, "no");
}

static void added(Grade *g)
{
    float *y = grade_output(g, "y", 4);
    for (int i = 0; i < 4; i++)
        y[i] += (float)expected[i];
    expect_numbers(g, "y", y, expected, 4, 0, 1e-6, NULL, "no");
}

static void twice(Grade *g)
{
    float *y = grade_output(g, "y", 4);
    for (int i = 0; i < 4; i++)
        y[i] = 2 * (float)expected[i];
    expect_numbers(g, "y", y, expected, 4, 0, 1e-6, suspects, "no");
}

static void not_a_number(Grade *g)
{
    float *y = grade_output(g, "y", 4);
    for (int i = 0; i < 4; i++)
        y[i] = NAN;
    expect_numbers(g, "y", y, expected, 4, 0, 1e-6, NULL, "no");
}

static void a_bit_off(Grade *g)
{
    float *y = grade_output(g, "y", 4);
    for (int i = 0; i < 4; i++)
        y[i] = (float)expected[i] + (i == 3 ? 0.01f : 0);
    expect_numbers(g, "y", y, expected, 4, 2, 1e-3, suspects, "the last one");
}

/* Right, as long as what comes after x is smaller than all of it. */
static void reads_beyond(Grade *g)
{
    float *x = grade_input(g, "x", 4, 1), *y = grade_output(g, "y", 4), largest = -INFINITY;
    for (int i = 0; i < 4 + always; i++)
        largest = fmaxf(largest, x[i]);
    for (int i = 0; i < 4; i++)
        y[i] = largest < 1 ? (float)expected[i] : 5;
    expect_numbers(g, "y", y, expected, 4, 0, 1e-6, NULL, "no");
}

/* Wrong in either case, and each time in another way. */
static void multiplies_beyond(Grade *g)
{
    float *x = grade_input(g, "x", 4, 1), *y = grade_output(g, "y", 4);
    for (int i = 0; i < 4; i++)
        y[i] = (float)expected[i] * x[i + always];
    expect_numbers(g, "y", y + 3, expected + 3, 1, 0, 1e-6, NULL, "no");
}

/* Memory of a process that has done nothing yet is mostly zeros. */
static void forgets_zeros(Grade *g)
{
    float *y = grade_output(g, "y", 4), *volatile sum = malloc((size_t)(always << 20));
    if (!sum)
        exit(2);
    for (int i = 0; i < 4; i++)
        y[i] = sum[(size_t)i << 10] + (float)expected[i];
    free(sum);
    expect_numbers(g, "y", y, expected, 4, 0, 1e-6, NULL, "no");
}

/* Wrong, and what is said of it is another thing each time, for no fault of what is beside an array. */
static void throws_dice(Grade *g)
{
    float *y = grade_output(g, "y", 4);
    for (int i = 0; i < 4; i++)
        y[i] = (float)getpid();
    expect_numbers(g, "y", y, expected, 4, 0, 1e-6, NULL, "the dice");
}

static void damages(Grade *g)
{
    float *y = grade_output(g, "y", 4);
    for (int i = 0; i < 4; i++)
        y[i - always] = (float)expected[i];
    expect_numbers(g, "y", y, expected, 4, 0, 1e-6, NULL, "no");
}

static void prints(Grade *g)
{
    (void)g;
    while (always)
        puts("here I am");
}

static void beyond(Grade *g) { grade_output(g, "y", 4)[3 + always] = 1; }
static void before(Grade *g) { grade_output(g, "y", 4)[-always] = 1; }
static void input(Grade *g) { grade_input(g, "x", 4, 1)[2] = 1; }
static void crashes(Grade *g) { (void)g, raise(SIGSEGV); }
static void divides(Grade *g) { (void)g, raise(SIGFPE); }
static void aborts(Grade *g) { (void)g, abort(); }
static void leaves(Grade *g) { (void)g, exit(0); }

static void loops(Grade *g)
{
    (void)g;
    while (always)
        ;
}

static void sleeps(Grade *g)
{
    (void)g;
    while (always)
        sleep(1);
}

/* What the grader of one check prints, and its exit status; to be freed. */
static char *words_of(void (*run)(Grade *), int *status)
{
    const Check checks[] = {{"right", "all is well", 2, right, 0}, {"function", "it holds", 3, run, 1}};
    const Lesson lesson = {.title = "A lesson", .checks = checks, .count = 2};
    char *argv[] = {"grade", NULL}, path[700], *text;
    size_t size;
    Error e;
    snprintf(path, sizeof path, "%s/words", test_folder());
    ck_assert(freopen(path, "w", stdout) != NULL);
    *status = grade_main(&lesson, 1, argv);
    fflush(stdout);
    ck_done(file_read(path, &text, &size, &e), e);
    return text;
}

static const struct {
    void (*run)(Grade *);
    const char *found, *hint;
    bool caught; /* by a sanitizer, which names the line and ends the program */
} wrong[] = {
    {empty, "y[0,0] should be 1, and was not written", "nothing was written", false},
    {half, "y[1,0] should be 3, and was not written", "this number was never written", false},
    {added, "y[0] is 4097 and should be 1", "begin a sum with 0", false},
    {twice, "y[0] is 2 and should be 1", "hint: it was doubled", false},
    {not_a_number, "nan and should be 1", "NaN comes from", false},
    {reads_beyond, "y[0] is 5 and should be 1", "hint: something beside its array was read", true},
    {multiplies_beyond, "y[0] is -32770 and should be 4", "hint: something beside its array was read", true},
    {forgets_zeros, " and should be 1", "from malloc that nobody had written", false},
    {throws_dice, " and should be 1", "hint: the dice", false},
    {damages, "y was written before its beginning", "below 0", true},
    {prints, "it printed without end", "printf in a loop", false},
    {a_bit_off, "y[1,1] is 4.01 and should be 4", "hint: the last one", false},
    {beyond, "y has 4 numbers, and number 4 was written", "bounds of the loops", true},
    {before, "y was written before its beginning", "below 0", true},
    {input, "x is an input, and it was changed", "const", false},
    {crashes, "it crashed", "an index beyond the end", true},
    {divides, "a whole number was divided by 0", "which size", true},
    {aborts, "it gave up", "assert", false},
    {leaves, "it ended the program (exit status 0)", "a function returns", false},
    {loops, "it was not done after 1 seconds", "does every loop end?", false},
    {sleeps, "it was not done after 1 seconds", "does every loop end?", false},
};

START_TEST(an_answer_that_is_wrong_gets_no_point_and_is_told_why)
{
    int status;
    if (SANITIZED && wrong[_i].run == forgets_zeros)
        return; /* its malloc has a filling of its own */
    char *words = words_of(wrong[_i].run, &status);
    bool told = strstr(words, wrong[_i].found) && strstr(words, wrong[_i].hint);
    bool caught = SANITIZED && wrong[_i].caught && strstr(words, "it ended the program");
    ck_assert_int_eq(status, 1);
    ck_assert_msg(told || caught, "%.2000s", words);
    ck_assert(strstr(words, "   2/2  right: all is well\n") && strstr(words, "   0/3  function: it holds\n"));
    ck_assert_msg(strstr(words, "\n2 of 5 points\n"), "%s", words);
    memory_free(words);
}

START_TEST(an_answer_that_is_right_gets_all_points)
{
    int status;
    char *words = words_of(right, &status);
    ck_assert_int_eq(status, 0);
    ck_assert_msg(strstr(words, "   3/3  function: it holds\n\n5 of 5 points: all of it.\n"), "%s", words);
    memory_free(words);
}

/* A pipe whose writing end each process of a check holds as long as it lives */
static int held[2];

static bool nobody_holds_it(void)
{
    struct pollfd one = {.fd = held[0], .events = POLLIN};
    char byte;
    close(held[1]);
    return poll(&one, 1, 10000) == 1 && read(held[0], &byte, 1) == 0;
}

static void leaves_a_process(Grade *g)
{
    if (fork() == 0)
        sleeps(g);
    right(g);
}

static void tells_and_sleeps(Grade *g)
{
    if (write(held[1], "", 1) == 1)
        sleeps(g);
}

START_TEST(what_a_check_has_started_ends_with_it)
{
    int status;
    ck_assert_int_eq(pipe(held), 0);
    memory_free(words_of(leaves_a_process, &status));
    ck_assert_int_eq(status, 0);
    ck_assert(nobody_holds_it());
}

/* Long enough to be found, and no longer. */
static void sleeps_on(void)
{
    sleep(30);
    _exit(0);
}

/* In sessions of their own, so that they are in no group of the check's; and one whose parent has ended. */
static void leaves_sessions(Grade *g)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            setsid();
            sleeps_on();
        }
        _exit(0);
    }
    if (fork() == 0) {
        setsid();
        sleeps_on();
    }
    right(g);
}

/* What began before the checks, as a constructor may, belongs to the grader as well. */
START_TEST(what_has_left_its_check_ends_with_the_grader)
{
    static const Check check = {"function", "it leaves", 1, leaves_sessions, 60};
    static const Lesson lesson = {.title = "A lesson", .checks = &check, .count = 1};
    char *argv[] = {"grade", NULL};
    int status;
    ck_assert_int_eq(pipe(held), 0);
    pid_t grader = fork();
    if (grader == 0) {
        if (fork() == 0)
            sleeps_on();
        _exit(grade_main(&lesson, 1, argv));
    }
    ck_assert_int_eq(waitpid(grader, &status, 0), grader);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(nobody_holds_it());
}

START_TEST(a_check_ends_with_its_grader)
{
    static const Check check = {"function", "it sleeps", 1, tells_and_sleeps, 60};
    static const Lesson lesson = {.title = "A lesson", .checks = &check, .count = 1};
    char *argv[] = {"grade", NULL}, byte;
    int status;
    ck_assert_int_eq(pipe(held), 0);
    pid_t grader = fork();
    if (grader == 0)
        _exit(grade_main(&lesson, 1, argv));
    ck_assert_int_eq(read(held[0], &byte, 1), 1);
    kill(grader, SIGTERM);
    ck_assert_int_eq(waitpid(grader, &status, 0), grader);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    ck_assert(nobody_holds_it());
}

static const Test tests[] = {
    TEST_LOOP(an_answer_that_is_wrong_gets_no_point_and_is_told_why, sizeof wrong / sizeof *wrong),
    TEST(an_answer_that_is_right_gets_all_points), TEST(what_a_check_has_started_ends_with_it),
    TEST(what_has_left_its_check_ends_with_the_grader), TEST(a_check_ends_with_its_grader)};

int main(int argc, char **argv) { return suite_run("course/grade", tests, sizeof tests / sizeof *tests, argc, argv); }
