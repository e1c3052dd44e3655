/* Other programs: what they write arrives whole, however they mix it, and how they ended is known. */
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "tests/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int shell(const char *script, Buffer *out, Buffer *err)
{
    return process_run("/bin/sh", (const char *const[]){"sh", "-c", script, NULL}, NULL, out, err);
}

START_TEST(what_is_written_arrives)
{
    Buffer out = {0}, err = {0};
    ck_assert_int_eq(shell("echo a; echo b >&2; cat; exit 3", &out, &err), 3); /* there is nothing to read */
    ck_assert_str_eq(out.text, "a\n");
    ck_assert_str_eq(err.text, "b\n");
    buffer_free(&out);
    buffer_free(&err);
    /* more than two pipes hold, in turn */
    ck_assert_int_eq(
        shell("i=0; while [ $i -lt 3000 ]; do printf %0100d $i; printf %0100d $i >&2; i=$((i + 1)); done", &out, &err),
        0);
    ck_assert(out.size == 300000 && err.size == 300000 && !memcmp(out.text, err.text, out.size));
    buffer_free(&out);
    buffer_free(&err);
}

static void leave_a_mark(void) { setenv("MARK", "here", 1); }

START_TEST(a_child_is_prepared)
{
    Buffer out = {0};
    ck_assert_int_eq(
        process_run("/bin/sh", (const char *const[]){"sh", "-c", "echo $MARK", NULL}, leave_a_mark, &out, &out), 0);
    ck_assert_str_eq(out.text, "here\n");
    ck_assert_ptr_null(getenv("MARK"));
    buffer_free(&out);
}

START_TEST(what_does_not_run_or_is_killed_has_no_status)
{
    Buffer out = {0};
    ck_assert_int_eq(process_run("/nowhere", (const char *const[]){"x", NULL}, NULL, &out, &out), -1);
    ck_assert_int_eq(shell("kill -9 $$", &out, &out), -1);
    ck_assert_uint_eq(out.size, 0);
    buffer_free(&out);
}

START_TEST(several_run_at_once)
{
    const char *folder = test_folder();
    const struct timespec little = {0, 5 * 1000 * 1000};
    pid_t child[3];
    char path[2][700], *text;
    size_t size, ended = 0;
    int sum = 0;
    Error e;
    ck_assert_int_eq(process_ended(&(int){0}), 0);
    snprintf(path[0], sizeof path[0], "%s/out", folder);
    snprintf(path[1], sizeof path[1], "%s/err", folder);
    for (int i = 0; i < 3; i++) {
        char script[40];
        snprintf(script, sizeof script, "echo %d; exit %d", i, i + 1);
        child[i] = process_start("/bin/sh", (const char *const[]){"sh", "-c", script, NULL}, path[0], path[1], &e);
        ck_assert_int_gt(child[i], 0);
    }
    for (int status; ended < 3; nanosleep(&little, NULL))
        for (pid_t which = process_ended(&status); which; which = process_ended(&status), ended++)
            for (int i = 0; i < 3; i++)
                sum += which == child[i] ? status == i + 1 : 0;
    ck_assert_int_eq(sum, 3);
    ck_done(file_read(path[0], &text, &size, &e), e);
    ck_assert_uint_eq(size, 2);
    memory_free(text);
}

START_TEST(a_child_does_not_outlive_its_parent)
{
    const char *folder = test_folder();
    char pid_path[700], out[700], *text;
    size_t size;
    Error e;
    snprintf(pid_path, sizeof pid_path, "%s/pid", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    const pid_t parent = fork();
    if (!parent) {
        char number[32];
        const pid_t child = process_start("/bin/sleep", (const char *const[]){"sleep", "100", NULL}, out, out, &e);
        snprintf(number, sizeof number, "%ld\n", (long)child);
        _exit(!file_write(pid_path, number, strlen(number), &e) || pause());
    }
    const struct timespec little = {0, 10 * 1000 * 1000};
    while (!file_exists(pid_path))
        nanosleep(&little, NULL);
    ck_done(file_read(pid_path, &text, &size, &e), e);
    const pid_t child = (pid_t)strtol(text, NULL, 10);
    memory_free(text);
    ck_assert(kill(child, 0) == 0);
    kill(parent, SIGKILL);
    int tries = 0;
    while (kill(child, 0) == 0 && tries++ < 500)
        nanosleep(&little, NULL);
    ck_assert_int_lt(tries, 500);
}

static const Test tests[] = {
    TEST(what_is_written_arrives),
    TEST(a_child_is_prepared),
    TEST(what_does_not_run_or_is_killed_has_no_status),
    TEST(several_run_at_once),
    TEST(a_child_does_not_outlive_its_parent),
};

int main(int argc, char **argv) { return suite_run("base/process", tests, sizeof tests / sizeof *tests, argc, argv); }
