/* What every test program shares. Check runs each test in a process of its own, so folders for tests are in one folder
 * of the parent, which removes it when all is over, however the tests ended. */
#define _GNU_SOURCE
#include "tests/suite.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[512]; /* the parent's folder */
static pid_t parent;

static void remove_root(void)
{
    Error e;
    if (root[0] && getpid() == parent && !folder_remove(root, &e))
        fprintf(stderr, "%s\n", e.text);
}

static bool make_root(void)
{
    const char *place = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/attend-test-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(root)) {
        perror(root);
        root[0] = 0;
        return false;
    }
    parent = getpid();
    return !setenv("TMPDIR", root, 1) && !atexit(remove_root); /* with what a starved program could not remove */
}

static bool is_chosen(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(name, argv[i]))
            return true;
    return argc < 2;
}

static bool names_exist(const char *suite, const Test *tests, size_t count, int argc, char **argv)
{
    bool all = true;
    for (int i = 1; i < argc; i++) {
        bool found = false;
        for (size_t k = 0; k < count; k++)
            found |= !strcmp(tests[k].name, argv[i]);
        if (!found)
            fprintf(stderr, "%s: there is no test '%s'\n", suite, argv[i]);
        all &= found;
    }
    return all;
}

enum { BUSY = 5 }; /* times what a test may take, which is what it takes at most on a machine that does nothing else */

/* How many of some turns of a test failed, or of all chosen tests where `only` is NULL. */
static int run(const char *suite, const Test *tests, size_t count, const Test *only, int turn, int argc, char **argv)
{
    Suite *all = suite_create(suite);
    for (size_t i = 0; i < count; i++) {
        const Test *t = &tests[i];
        if (only ? t != only : !is_chosen(t->name, argc, argv))
            continue;
        if (t->learns && (SANITIZED || test_is_fast()))
            continue;
        TCase *one = tcase_create(t->name); /* its own case, because a case has one time limit */
        tcase_set_timeout(one, BUSY * (t->seconds ? t->seconds : 60));
        if (t->loops)
            tcase_add_loop_test(one, *t->test, only ? turn : 0, only ? turn + 1 : t->loops);
        else
            tcase_add_test(one, *t->test);
        suite_add_tcase(all, one);
    }
    SRunner *runner = srunner_create(all);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}

/* The same, one turn after the other until one fails. */
static int run_until_failure(const char *suite, const Test *tests, size_t count, int argc, char **argv)
{
    for (size_t i = 0; i < count; i++)
        for (int turn = 0; is_chosen(tests[i].name, argc, argv) && turn < (tests[i].loops ? tests[i].loops : 1); turn++)
            if (run(suite, tests, count, &tests[i], turn, argc, argv))
                return 1;
    return 0;
}

int suite_run(const char *suite, const Test *tests, size_t count, int argc, char **argv)
{
    if (!names_exist(suite, tests, count, argc, argv) || !make_root())
        return 2;
    /* What is measured differs from machine to machine, and takes time; and a team is to share the small work of tests. */
    setenv("ATTEND_TUNING", "default alone=0", 0);
    const char *stop = getenv("STOP");
    int failed = stop && !strcmp(stop, "1") ? run_until_failure(suite, tests, count, argc, argv)
                                            : run(suite, tests, count, NULL, 0, argc, argv);
    return failed != 0;
}

void test_mark(const char *file, int line)
{
    static const char *seen[1 << 12]; /* by line: the file that was there last */
    const char **last = &seen[(size_t)line % (sizeof seen / sizeof *seen)];
    if (*last == file)
        return;
    *last = file;
    (_mark_point)(file, line);
}

void test_skip(const char *test, const char *why)
{
    printf("skipped: %s: %s\n", test, why);
    fflush(stdout);
}

bool can_draw(const char *test)
{
    bool can = system("gnuplot --version >/dev/null 2>&1") == 0; /* NOLINT: the shell finds it as the programs do */
    if (!can)
        test_skip(test, "there is no gnuplot");
    return can;
}

bool test_is_fast(void)
{
    const char *fast = getenv("FAST");
    return fast && *fast && strcmp(fast, "0") != 0;
}

void fail_each_allocation(bool (*action)(void *argument, Error *e), void *argument)
{
    for (uint64_t n = 1;; n++) {
        size_t before = memory_in_use();
        uint64_t asked = memory_requests();
        Error e = {{0}};
        memory_fail_at(n);
        bool done = action(argument, &e);
        bool met = memory_requests() - asked >= n;
        memory_fail_at(0);
        ck_assert_msg(done != met, "allocation %d: %s", (int)n, met ? "its failure went unnoticed" : e.text);
        ck_assert_msg(memory_in_use() == before, "allocation %d: %d bytes were kept", (int)n,
                      (int)(memory_in_use() - before));
        if (!met)
            return;
        ck_assert_msg(e.text[0] != 0, "allocation %d: no line says what failed", (int)n);
    }
}

void test_folders_in_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
}

const char *test_folder(void)
{
    static char folder[600];
    snprintf(folder, sizeof folder, "%s/XXXXXX", root);
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
    return folder;
}
