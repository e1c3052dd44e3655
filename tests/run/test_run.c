/* The run directory: one writer, checkpoints whole or absent whatever moment the process dies at, a log that is cut. */
#define _XOPEN_SOURCE 700
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "core/run/run.h"
#include "core/run/safetensors.h"
#include "tests/run/place.h"
#include "tests/suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = 5000 };

/* A checkpoint whose every number is `value`. */
static bool save(Run *run, uint64_t step, float value, Error *e)
{
    static float data[N];
    for (int i = 0; i < N; i++)
        data[i] = value;
    SafeTensor t = {.name = "t", .type = SAFE_F32, .rank = 1, .shape = {N}, .data = data};
    const char *const names[] = {"model.safetensors", "state.safetensors"};
    char *temporary;
    bool done = run_checkpoint_begin(run, step, &temporary, e);
    for (int i = 0; done && i < 2; i++) {
        char *path = path_join(temporary, names[i]);
        done = path ? safetensors_write(path, &t, 1, NULL, 0, e) : memory_error(e, "a path", 1, 1);
        memory_free(path);
    }
    memory_free(temporary);
    return done && run_checkpoint_commit(run, step, e);
}

/* What a checkpoint holds; both its files must be whole and agree. */
static float load(const Run *run, uint64_t step)
{
    const char *const names[] = {"model.safetensors", "state.safetensors"};
    static float data[2][N];
    Error e;
    for (int i = 0; i < 2; i++) {
        char *place = run_checkpoint_path(run, step), *path = path_join(place, names[i]);
        Safetensors *file;
        ck_done(safetensors_open(&file, path, &e), e);
        ck_done(safetensors_read(file, safetensors_find(file, "t"), SAFE_F32, data[i], N, &e), e);
        safetensors_close(file);
        memory_free(path);
        memory_free(place);
    }
    int other = 0;
    for (int i = 0; i < N; i++)
        other += data[0][i] != data[0][0] || data[1][i] != data[0][0];
    ck_assert_int_eq(other, 0);
    return data[0][0];
}

static void expect_steps(const Run *run, size_t wanted, const uint64_t *steps)
{
    uint64_t *found;
    size_t count;
    Error e;
    ck_done(run_checkpoint_list(run, &found, &count, &e), e);
    ck_assert_uint_eq(count, wanted);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(found[i], steps[i]);
    memory_free(found);
}

START_TEST(a_run_is_made_once_and_opened_again)
{
    place_run();
    Run *run, *other;
    Error e;
    ck_assert(!run_open(&run, folder, true, &e));
    ck_done(run_create(&run, folder, NULL, &e), e);
    ck_assert(!run_create(&other, folder, NULL, &e));
    ck_assert_ptr_null(other);
    run_close(run);
    put("config.json", "{}");
    ck_assert(!run_create(&run, folder, NULL, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "not empty"));
    ck_done(run_open(&run, folder, true, &e), e);
    run_close(run);
    run_close(NULL);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(somebodys_folder_is_left_alone)
{
    place_run();
    Run *run;
    Error e;
    ck_done(folder_make(in("sub"), &e), e);
    put(".draft.tmp", "mine");
    ck_assert(!run_create(&run, folder, NULL, &e));
    ck_assert(!run_open(&run, folder, true, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "is not a run"));
    ck_assert_ptr_null(strstr(e.text, "charlm")); /* nor any other program: whose run it was to be is not known here */
    ck_assert(!file_exists(in("lock")));
    expect_text(".draft.tmp", "mine");
    ck_assert_uint_eq(memory_in_use(), 0);
}

static const char *const files[] = {"classes.txt", "vocab.txt", NULL}; /* of its program */

/* A run whose process ended before config.json, which comes last. */
static void leave_beginning(void)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, files, &e), e);
    ck_done(save(run, 0, 1, &e) && run_mark(run, "best", 0, &e) && run_mark(run, "last", 0, &e), e);
    ck_done(folder_make(in("checkpoints/.00000000.tmp"), &e), e);
    put(".config.json.tmp", "{");
    put(".last.tmp", "0");
    put("vocab.txt", "the\n");
    put(".classes.txt.tmp", "");
    put("SHA256SUMS", "");
    run_close(run);
}

START_TEST(what_has_no_configuration_yet_is_made_anew)
{
    Run *run;
    Error e;
    leave_beginning();
    ck_done(run_create(&run, folder, files, &e), e);
    ck_assert(!folder_exists(in("checkpoints/.00000000.tmp")) && !file_exists(in(".config.json.tmp")));
    ck_done(save(run, 0, 2, &e), e);
    ck_assert(load(run, 0) == 2);
    put("config.json", "{}");
    run_close(run);
    ck_assert(!run_create(&run, folder, files, &e));
    ck_assert_msg(strstr(e.text, "holds a run") && strstr(e.text, "--resume"), "%s", e.text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Whatever else is there was trained, or is not ours. */
START_TEST(only_a_beginning_is_made_anew)
{
    static const char *const more[] = {
        "log.tsv", "notes", "codes.bpe", "checkpoints/00000001", "checkpoints/.00000001.tmp", ".notes.tmp"};
    Run *run;
    Error e;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        leave_beginning();
        put(more[i], "");
        ck_assert(!run_create(&run, folder, files, &e));
        ck_assert_msg(strstr(e.text, folder) && strstr(e.text, "other than a run"), "%s", e.text);
        ck_assert(load(&(Run){.path = folder}, 0) == 1);
    }
    leave_beginning();
    ck_assert_int_eq(unlink(in("lock")), 0); /* a user's files, named as ours are */
    ck_assert(!run_create(&run, folder, files, &e));
    ck_assert(!file_exists(in("lock")));
}

START_TEST(only_one_process_writes)
{
    place_run();
    Run *writer, *second, *reader;
    Error e;
    ck_done(run_create(&writer, folder, NULL, &e), e);
    ck_assert(!run_open(&second, folder, true, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "another process"));
    ck_done(run_open(&reader, folder, false, &e), e);
    run_close(reader);
    run_close(writer);
    ck_done(run_open(&second, folder, true, &e), e);
    run_close(second);
}

START_TEST(default_paths_count_up)
{
    ck_assert_int_eq(chdir(test_folder()), 0);
    char *path;
    Run *run;
    Error e;
    ck_done(run_default_path(&path, "charlm", &e), e);
    ck_assert_str_eq(path, "runs/charlm-1");
    ck_done(run_create(&run, path, NULL, &e), e);
    run_close(run);
    memory_free(path);
    ck_done(run_default_path(&path, "charlm", &e), e);
    ck_assert_str_eq(path, "runs/charlm-2");
    memory_free(path);
    ck_done(run_default_path(&path, "encdec", &e), e);
    ck_assert_str_eq(path, "runs/encdec-1");
    memory_free(path);
}

START_TEST(checkpoints_are_listed_in_order_and_the_last_is_found)
{
    place_run();
    Run *run;
    Error e;
    uint64_t step;
    bool found;
    ck_done(run_create(&run, folder, NULL, &e), e);
    ck_done(run_checkpoint_latest(run, &step, &found, NULL, &e), e);
    ck_assert(!found);
    const uint64_t saved[] = {200, 0, 123456789, 99999999};
    for (size_t i = 0; i < 4; i++)
        ck_done(save(run, saved[i], (float)saved[i], &e), e);
    ck_assert(folder_exists(in("checkpoints/00000200")));
    ck_assert(folder_exists(in("checkpoints/123456789")));
    expect_steps(run, 4, (const uint64_t[]){0, 200, 99999999, 123456789});
    ck_done(run_checkpoint_latest(run, &step, &found, NULL, &e), e);
    ck_assert(found && step == 123456789);
    ck_assert(load(run, 200) == 200);
    ck_done(save(run, 200, 7, &e), e);
    ck_assert(load(run, 200) == 7);
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(half_a_checkpoint_is_none)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    for (uint64_t step = 1; step <= 6; step++)
        ck_done(save(run, step, 1, &e), e);
    ck_assert_int_eq(unlink(in("checkpoints/00000005/state.safetensors")), 0);
    ck_assert_int_eq(truncate(in("checkpoints/00000004/model.safetensors"), 10000), 0);
    ck_assert_int_eq(truncate(in("checkpoints/00000003/state.safetensors"), 0), 0);
    ck_done(folder_make(in("checkpoints/00000009"), &e), e);
    ck_done(folder_make(in("checkpoints/notes"), &e), e);
    ck_done(folder_make(in("checkpoints/7"), &e), e);
    ck_assert_int_eq(rename(in("checkpoints/00000006"), in("checkpoints/10000000000000000000")), 0);
    put("checkpoints/00000008", "a file");
    expect_steps(run, 2, (const uint64_t[]){1, 2});
    run_close(run);
}

START_TEST(opening_to_write_removes_what_was_left_half_done)
{
    place_run();
    Run *run;
    Error e;
    char *temporary;
    ck_done(run_create(&run, folder, NULL, &e), e);
    ck_done(save(run, 1, 1, &e), e);
    ck_done(save(run, 2, 2, &e), e);
    ck_done(run_checkpoint_begin(run, 3, &temporary, &e), e);
    memory_free(temporary);
    put("checkpoints/.00000003.tmp/model.safetensors", "half");
    put(".log.tsv.tmp", "half");
    put(".hidden", "stays");
    /* killed between the two renames of a replacement, and after them */
    ck_assert_int_eq(rename(in("checkpoints/00000001"), in("checkpoints/.00000001.old")), 0);
    ck_done(folder_make(in("checkpoints/.00000002.old"), &e), e);
    run_close(run);

    ck_done(run_open(&run, folder, false, &e), e); /* to read: nothing is touched */
    ck_assert(folder_exists(in("checkpoints/.00000003.tmp")));
    run_close(run);
    ck_done(run_open(&run, folder, true, &e), e);
    ck_assert(!folder_exists(in("checkpoints/.00000003.tmp")));
    ck_assert(!folder_exists(in("checkpoints/.00000002.old")));
    ck_assert(!file_exists(in(".log.tsv.tmp")));
    expect_text(".hidden", "stays");
    expect_steps(run, 2, (const uint64_t[]){1, 2});
    ck_assert(load(run, 1) == 1);
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(the_newest_damaged_checkpoint_is_named)
{
    place_run();
    Run *run;
    Error e, damaged;
    uint64_t step;
    bool found;
    ck_done(run_create(&run, folder, NULL, &e), e);
    for (uint64_t i = 1; i <= 4; i++)
        ck_done(save(run, i, 1, &e), e);
    ck_assert_int_eq(truncate(in("checkpoints/00000001/model.safetensors"), 30), 0);
    ck_done(run_checkpoint_latest(run, &step, &found, &damaged, &e), e);
    ck_assert(found && step == 4 && !damaged.text[0]); /* an older one does not matter */
    ck_assert_int_eq(truncate(in("checkpoints/00000003/model.safetensors"), 30), 0);
    ck_assert_int_eq(truncate(in("checkpoints/00000004/state.safetensors"), 30), 0);
    ck_done(run_checkpoint_latest(run, &step, &found, &damaged, &e), e);
    ck_assert(found && step == 2);
    ck_assert_msg(strstr(damaged.text, "00000004/state.safetensors") != NULL, "%s", damaged.text);
    ck_assert_int_eq(truncate(in("checkpoints/00000002/state.safetensors"), 30), 0);
    ck_done(run_checkpoint_latest(run, &step, &found, &damaged, &e), e);
    ck_assert(!found);
    ck_assert_msg(strstr(damaged.text, "00000004/state.safetensors") != NULL, "%s", damaged.text);
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* In a process of its own: one checkpoint after another, of which only the last stays, as fast as it can. */
static pid_t prune_for_ever(void)
{
    pid_t child = fork();
    if (child)
        return child;
    Run *run;
    Error e;
    if (!run_open(&run, folder, true, &e))
        _exit(1);
    for (uint64_t n = 1;; n++)
        if (!save(run, n, 1, &e) || !run_mark(run, "best", n, &e) || !run_prune(run, 1, &e))
            _exit(1);
}

START_TEST(a_reader_finds_a_checkpoint_whatever_is_pruned_meanwhile)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    ck_done(save(run, 0, 1, &e), e);
    run_close(run);
    pid_t child = prune_for_ever();
    ck_done(run_open(&run, folder, false, &e), e);
    uint64_t step = 0;
    for (int i = 0; i < 300 || step < (test_is_fast() ? 50 : 1000); i++) { /* while many are pruned */
        bool found;
        ck_done(run_checkpoint_latest(run, &step, &found, NULL, &e), e);
        ck_assert_msg(found, "look %d found none", i);
    }
    run_close(run);
    int status;
    ck_assert(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

/* Saves for ever, each third time in the place of a checkpoint that is there; says on the pipe what was committed. */
static void save_for_ever(int says, uint64_t first)
{
    Run *run;
    Error e;
    if (!run_open(&run, folder, true, &e))
        _exit(1);
    for (uint64_t n = first;; n++) {
        if (!save(run, n % 3, (float)n, &e) || !run_mark(run, "last", n % 3, &e))
            _exit(1);
        if (write(says, &n, sizeof n) != sizeof n)
            _exit(1);
    }
}

static void kill_after(uint64_t microseconds, uint64_t first, float least[3])
{
    int says[2];
    ck_assert_int_eq(pipe(says), 0);
    pid_t child = fork();
    if (!child) {
        close(says[0]);
        save_for_ever(says[1], first);
    }
    close(says[1]);
    struct timespec pause = {0, (long)microseconds * 1000};
    nanosleep(&pause, NULL);
    kill(child, SIGKILL);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    memset(least, 0, 3 * sizeof *least);
    for (uint64_t n; read(says[0], &n, sizeof n) == sizeof n;)
        least[n % 3] = (float)n;
    close(says[0]);
}

START_TEST(killed_at_any_moment_a_run_keeps_what_was_committed)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    run_close(run);
    for (uint64_t i = 0; i < 40; i++) {
        float least[3];
        char **names;
        size_t count;
        kill_after(2000 + philox_below(60000, 1, 2, i, 3), 100000 * (i + 1), least);
        ck_done(run_open(&run, folder, true, &e), e);
        for (uint64_t step = 0; step < 3; step++) {
            char name[64];
            snprintf(name, sizeof name, "checkpoints/%08llu", (unsigned long long)step);
            if (least[step] > 0 || folder_exists(in(name)))
                ck_assert(load(run, step) >= least[step]); /* whole, and no older than what was said */
        }
        uint64_t last;
        if (file_exists(in("last")))
            ck_done(run_marked(run, "last", &last, &e), e);
        ck_done(folder_list(in("checkpoints"), &names, &count, &e), e);
        ck_assert(count == 0 || names[0][0] != '.');
        folder_list_free(names, count);
        run_close(run);
    }
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(marks_are_read_back_and_checked)
{
    place_run();
    Run *run;
    Error e;
    uint64_t step = 0;
    ck_done(run_create(&run, folder, NULL, &e), e);
    ck_assert(!run_marked(run, "best", &step, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "best"));
    ck_done(run_mark(run, "best", 1200, &e), e);
    expect_text("best", "00001200\n");
    ck_done(run_marked(run, "best", &step, &e), e);
    ck_assert_uint_eq(step, 1200);
    put("best", "12x");
    ck_assert(!run_marked(run, "best", &step, &e));
    put("best", "");
    ck_assert(!run_marked(run, "best", &step, &e));
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(pruning_keeps_the_last_and_the_best)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    for (uint64_t step = 1; step <= 6; step++)
        ck_done(save(run, step, 1, &e), e);
    ck_done(run_prune(run, 0, &e), e);
    expect_steps(run, 6, (const uint64_t[]){1, 2, 3, 4, 5, 6});
    ck_done(run_prune(run, 5, &e), e);
    expect_steps(run, 5, (const uint64_t[]){2, 3, 4, 5, 6});
    ck_done(run_mark(run, "best", 3, &e), e);
    ck_done(run_prune(run, 2, &e), e);
    expect_steps(run, 3, (const uint64_t[]){3, 5, 6});
    ck_done(run_prune(run, 9, &e), e);
    expect_steps(run, 3, (const uint64_t[]){3, 5, 6});
    put("best", "damaged");
    ck_assert(!run_prune(run, 1, &e)); /* not knowing the best, it removes nothing */
    expect_steps(run, 3, (const uint64_t[]){3, 5, 6});
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static void reopen_log(uint64_t step)
{
    Run *run;
    Error e;
    ck_done(run_open(&run, folder, true, &e), e);
    ck_done(run_log_open(run, "step\tloss (nats)", step, &e), e);
    run_close(run);
}

START_TEST(the_log_is_cut_back_when_resuming)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    ck_done(run_log_open(run, "step\tloss (nats)", 0, &e), e);
    expect_text("log.tsv", "step\tloss (nats)\n");
    for (int step = 1; step <= 12; step++)
        ck_done(run_log_line(run, &e, "%d\t%.1f", step, 0.5), e);
    run_close(run);
    reopen_log(12);
    reopen_log(10);
    reopen_log(11);
    expect_text("log.tsv",
                "step\tloss (nats)\n1\t0.5\n2\t0.5\n3\t0.5\n4\t0.5\n5\t0.5\n6\t0.5\n7\t0.5\n8\t0.5\n9\t0.5\n10\t0.5\n");
    put("log.tsv", "step\tloss (nats)\n1\t0.5\n2\t0.5\nrubbish\n\n99999999999999999999999\t1\n2\t0.6\n1"); /* torn */
    reopen_log(5);
    expect_text("log.tsv", "step\tloss (nats)\n1\t0.5\n2\t0.5\n2\t0.6\n");
    static const char zeros[] = "step\tloss (nats)\n1\t0.5\n2\t0.\0\0\n3\t0.6\n"; /* a crash left them */
    ck_done(file_write(in("log.tsv"), zeros, sizeof zeros - 1, &e), e);
    reopen_log(5);
    expect_text("log.tsv", "step\tloss (nats)\n1\t0.5\n3\t0.6\n");
    put("log.tsv", "step\tlo"); /* torn in the header */
    reopen_log(5);
    expect_text("log.tsv", "step\tloss (nats)\n");
    reopen_log(0);
    put("log.tsv", "");
    reopen_log(5);
    expect_text("log.tsv", "step\tloss (nats)\n");
    ck_assert_int_eq(unlink(in("log.tsv")), 0);
    reopen_log(5);
    expect_text("log.tsv", "step\tloss (nats)\n");
}

START_TEST(a_log_with_other_columns_is_not_touched)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    put("log.tsv", "step\tloss (nats)\tmore\n1\t2\t3\n");
    ck_assert(!run_log_open(run, "step\tloss (nats)", 0, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "log.tsv"));
    expect_text("log.tsv", "step\tloss (nats)\tmore\n1\t2\t3\n");
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(a_log_from_before_a_column_was_added_goes_on)
{
    place_run();
    Run *run;
    Error e;
    ck_done(run_create(&run, folder, NULL, &e), e);
    put("log.tsv", "step\tloss\n1\t2\n2\t1\n3\t1\n");
    ck_done(run_log_open(run, "step\tloss\twaiting\tmore", 2, &e) && run_log_line(run, &e, "3\t1\t0.5\t6"), e);
    expect_text("log.tsv", "step\tloss\twaiting\tmore\n1\t2\t\t\n2\t1\t\t\n3\t1\t0.5\t6\n");
    run_close(run);
    ck_done(run_open(&run, folder, true, &e), e);
    ck_assert_msg(!run_log_open(run, "step\tlosses", 2, &e), "a longer name is another column");
    run_close(run);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static bool live(void *argument, Error *e)
{
    (void)argument;
    Run *run;
    uint64_t step;
    bool found, done;
    if (!folder_remove(folder, e) || !run_create(&run, folder, NULL, e))
        return false;
    done = run_log_open(run, "step\tloss", 0, e) && run_log_line(run, e, "1\t2") && save(run, 1, 1, e) &&
           save(run, 2, 1, e) && save(run, 2, 1, e) && run_mark(run, "best", 1, e) &&
           run_marked(run, "best", &step, e) && run_checkpoint_latest(run, &step, &found, NULL, e) &&
           run_prune(run, 1, e);
    run_close(run);
    if (!done || !run_open(&run, folder, true, e))
        return false;
    done = run_log_open(run, "step\tloss", 0, e);
    run_close(run);
    return done;
}

START_TEST(each_failed_allocation_is_an_error)
{
    place_run();
    fail_each_allocation(live, NULL);
}

static const Test tests[] = {
    TEST(a_run_is_made_once_and_opened_again),
    TEST(somebodys_folder_is_left_alone),
    TEST(what_has_no_configuration_yet_is_made_anew),
    TEST(only_a_beginning_is_made_anew),
    TEST(only_one_process_writes),
    TEST(default_paths_count_up),
    TEST(checkpoints_are_listed_in_order_and_the_last_is_found),
    TEST(half_a_checkpoint_is_none),
    TEST(opening_to_write_removes_what_was_left_half_done),
    TEST(the_newest_damaged_checkpoint_is_named),
    TEST(a_reader_finds_a_checkpoint_whatever_is_pruned_meanwhile),
    TEST(killed_at_any_moment_a_run_keeps_what_was_committed),
    TEST(marks_are_read_back_and_checked),
    TEST(pruning_keeps_the_last_and_the_best),
    TEST(the_log_is_cut_back_when_resuming),
    TEST(a_log_with_other_columns_is_not_touched),
    TEST(a_log_from_before_a_column_was_added_goes_on),
    TEST_SLOW(each_failed_allocation_is_an_error, 300),
};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("run/run", tests, sizeof tests / sizeof *tests, argc, argv);
}
