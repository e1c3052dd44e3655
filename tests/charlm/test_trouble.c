/* What can happen to a run: a full disk, files damaged or gone, a text that has changed, a process that trains it
 * meanwhile. Each is one line that says what to do, and none of it costs the run. */
#define _DEFAULT_SOURCE /* usleep */
#include "base/file.h"
#include "base/memory.h"
#include "charlm/prose.h"
#include "tests/charlm/tiny.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the disk is full --- */

START_TEST(a_disk_that_is_full_at_once_costs_nothing)
{
    const char *run = fresh_path("run");
    command_limit_files(60000); /* the weights fit, Adam's moments do not */
    refused(1, "00000000.tmp/state.safetensors: File too large", "train --run %s " TINY " --steps 5 -q", run);
    char *half = path_join(run, "checkpoints/.00000000.tmp");
    ck_assert(!folder_exists(half)); /* it would only take room */
    memory_free(half);
    refused(1, "has no config.json", "eval --run %s", run);
    refused(1, "has no config.json", "train --resume %s", run);
    command_limit_files(0);
    works("train --run %s " TINY " --steps 5 -q", run);
}

static void expect_same_weights(const char *run, const char *other, int step)
{
    char name[100];
    size_t first, second;
    snprintf(name, sizeof name, "checkpoints/%08d/model.safetensors", step);
    char *a = read_in(run, name, &first), *b = read_in(other, name, &second);
    ck_assert_msg(a && b && first == second && memcmp(a, b, first) == 0, "%s differs", name);
    memory_free(a);
    memory_free(b);
}

START_TEST(a_disk_that_gets_full_costs_what_was_not_saved)
{
    const char *whole = fresh_path("whole"), *run = fresh_path("run");
    char words[900];
    works("train --run %s " TINY " --steps 2600 --eval-every 500 -q", whole);
    command_limit_files(110000); /* checkpoints fit, the log will not */
    snprintf(words, sizeof words, "%s/log.tsv: File too large; once that is fixed, --resume %s", run, run);
    refused(1, words, "train --run %s " TINY " --steps 2600 --eval-every 500 -q", run);
    command_limit_files(0);
    works("train --resume %s -q", run);
    expect_same_weights(whole, run, 2600);
}

START_TEST(a_result_that_cannot_be_written_is_an_error)
{
    const char *run = fresh_path("run");
    char line[800];
    works("train --run %s " TINY " --steps 0 -q", run);
    static const char *const calls[] = {
        "eval --bytes 20", "sample --length 3 -q", "info", "plot --what schedule --steps 9 --out -", "train --dry-run",
        "--help"};
    const char *bin = getenv("ATTEND_BIN");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (i == 3 && !can_draw("a_result_that_cannot_be_written_is_an_error"))
            continue;
        snprintf(line, sizeof line, "%s/charlm %s %s%s >/dev/full 2>%s.err", bin ? bin : "bin", calls[i],
                 i < 4 ? "--run " : "", i < 4 ? run : "", run);
        int status = system(line);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 1, "%s", line);
    }
}

/* --- files damaged --- */

static void cut(const char *run, const char *name, long size)
{
    char *path = path_join(run, name);
    ck_assert_int_eq(truncate(path, size), 0);
    memory_free(path);
}

/* In place, by as many bytes. */
static void replace(const char *run, const char *name, const char *from, const char *to)
{
    size_t size;
    char *bytes = read_in(run, name, &size), *at = bytes;
    while (at < bytes + size && memcmp(at, from, strlen(from)) != 0)
        at++;
    ck_assert_msg(at < bytes + size, "%s holds no %s", name, from);
    memcpy(at, to, strlen(from));
    write_in(run, name, bytes, size);
    memory_free(bytes);
}

static const char *trained(void)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --steps 20 --eval-every 0 --save-every 10 -q", run);
    return run;
}

START_TEST(a_damaged_checkpoint_is_named_and_an_older_one_serves)
{
    const char *run = trained();
    cut(run, "checkpoints/00000020/model.safetensors", 3000);
    refused(1, "00000020/model.safetensors ends too early", "eval --run %s", run);
    refused(1, "complete checkpoints of the run: 10", "sample --run %s --length 3", run);
    works("eval --run %s --weights 10", run);
    Said s = must("train --resume %s -q", run);
    ck_assert_msg(strstr(s.err, "from step 10, because ") && strstr(s.err, "00000020/model.safetensors"), "%s", s.err);
    said_free(&s);
    works("eval --run %s", run);
}

/* Each weight is finite, and none is the answer. */
START_TEST(weights_too_large_to_compute_with_give_no_answer)
{
    static const char *const calls[] = {
        "eval --run %s", "eval --run %s --stride 4 --json", "sample --run %s --length 3",
        "sample --run %s --length 3 --exact --temperature 0", "heads --run %s --text abc --out -"};
    char words[4096];
    size_t size;
    const char *run = trained(), *name = "checkpoints/00000020/model.safetensors";
    char *bytes = read_in(run, name, &size);
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    memset(bytes + 8 + header, 0x7f, size - 8 - header);
    write_in(run, name, bytes, size);
    write_in(run, "checkpoints/00000020/SHA256SUMS", "", 0);
    memory_free(bytes);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(words, sizeof words, calls[i], run);
        strcat(words, " --weights last");
        refused(1, "not finite", "%s", words);
    }
}

START_TEST(a_damaged_state_is_named)
{
    static const char *const name = "checkpoints/00000020/state.safetensors";
    const char *run = trained();
    replace(run, name, "\"step\": \"20\"", "\"step\": \"21\"");
    refused(1, "state.safetensors: belongs to step 21", "train --resume %s", run);
    replace(run, name, "\"step\": \"21\"", "\"step\": \"-1\"");
    refused(1, "'step' is -1", "train --resume %s", run);
    replace(run, name, "\"step\": \"-1\"", "\"stop\": \"20\"");
    refused(1, "'step' is missing; or remove that damaged checkpoint", "train --resume %s", run);
    replace(run, name, "\"stop\": \"20\"", "\"step\": \"20\"");
    works("train --resume %s -q", run);
}

/* What is wrong is what was asked for: nobody is to remove the checkpoint. */
START_TEST(a_whole_checkpoint_is_not_blamed)
{
    const char *run = trained();
    Said s = command("train --resume %s --optimizer muon", run);
    ck_assert_int_eq(s.status, 1);
    ck_assert_msg(strstr(s.err, "give --optimizer adam\n"), "%s", s.err);
    said_free(&s);
}

START_TEST(a_damaged_configuration_or_mark_is_named)
{
    const char *run = trained();
    write_in(run, "best", "soon\n", 5);
    refused(1, "best does not hold a step", "eval --run %s", run);
    refused(1, "complete checkpoints of the run: 10, 20", "eval --run %s", run);
    write_in(run, "config.json", "{\"program\": ", 12);
    refused(1, "config.json, line 1", "eval --run %s", run);
    refused(1, "config.json, line 1", "train --resume %s", run);
    write_in(run, "config.json", "", 0);
    refused(1, "config.json, line 1", "info --run %s", run);
}

/* Each value is one that an option may have, but not beside the others; what the command line says is its own. */
START_TEST(stored_options_that_do_not_fit_are_named_with_their_file)
{
    const char *run = trained();
    replace(run, "config.json", "\"dim\": 16", "\"dim\": 15");
    refused(1, "/config.json: --dim 15 is not a multiple", "eval --run %s", run);
    refused(1, "/config.json: --dim 15 is not a multiple", "train --resume %s --steps 30", run);
    replace(run, "config.json", "\"dim\": 15", "\"dim\": 16");
    replace(run, "config.json", "\"0.9,0.98\"", "\"0.9,1.98\"");
    refused(1, "/config.json: --betas '0.9,1.98'", "train --resume %s --steps 30", run);
    refused(2, "charlm: --betas '2,2'", "train --resume %s --steps 30 --betas 2,2", run);
}

/* What is no folder to write to, for root as well. */
START_TEST(a_run_that_cannot_be_written_is_still_read)
{
    const char *run = trained();
    char *lock = path_join(run, "lock");
    Error e;
    ck_done(unlink(lock) == 0 && folder_make(lock, &e), e);
    memory_free(lock);
    refused(1, "cannot write to the run", "train --resume %s --steps 30", run);
    works("eval --run %s --bytes 20", run);
}

/* --- a text that has changed --- */

START_TEST(a_text_that_has_changed_is_told_and_not_trained_on)
{
    const char *folder = fresh_path("folder");
    char run[800], text[800];
    snprintf(run, sizeof run, "%s/run", folder);
    snprintf(text, sizeof text, "%s/text.txt", folder);
    write_in(folder, "text.txt", prose_text, 20000);
    Said s = must("train --run %s " TINY " --data %s --steps 5 -q", run, text);
    ck_assert_str_eq(s.err, "");
    said_free(&s);
    s = must("eval --run %s --bytes 20", run);
    ck_assert_str_eq(s.err, "");
    said_free(&s);

    write_in(folder, "text.txt", prose_text + 1, 20000);
    static const char *const calls[] = {"eval --run %s --bytes 20", "sample --run %s --length 3 -q"};
    for (size_t i = 0; i < 2; i++) {
        char words[900];
        snprintf(words, sizeof words, calls[i], run);
        s = must("%s", words);
        const char *end = strchr(s.err, '\n');
        ck_assert_msg(strstr(s.err, "text.txt has changed after") && end && !end[1], "%s", s.err);
        said_free(&s);
        s = must("%s --data %s", words, text); /* a name that is given counts */
        ck_assert_str_eq(s.err, "");
        said_free(&s);
    }
    s = must("sample --run %s --length 3 -q --prompt a", run); /* which reads no text */
    ck_assert_str_eq(s.err, "");
    said_free(&s);
    refused(1, "other data", "train --resume %s --steps 9", run);
    refused(1, "other data", "train --resume %s --steps 9 --data %s", run, text);

    ck_assert_int_eq(unlink(text), 0);
    refused(1, "was trained on it: give its present location", "eval --run %s", run);
    refused(1, "was trained on it: give its present location", "train --resume %s", run);
    write_in(folder, "moved.txt", prose_text, 20000);
    works("train --resume %s --steps 9 -q --data %s/moved.txt", run, folder);
    s = must("eval --run %s --bytes 20", run); /* and that is remembered */
    ck_assert_str_eq(s.err, "");
    said_free(&s);
}

/* Its files would be read as text when it continues. */
START_TEST(a_run_is_not_made_among_the_texts_that_it_reads)
{
    static const char says[] = "would be in the folder of --data";
    const char *folder = fresh_path("folder"), *link = fresh_path("link");
    write_in(folder, "text.txt", prose_text, 20000);
    ck_assert_int_eq(symlink(folder, link), 0);
    refused(2, says, "train --run %s/run " TINY " --data %s --steps 2 -q", folder, folder);
    refused(2, says, "train --run %s/some//deep/run/ " TINY " --data %s/ --steps 2 -q", link, folder);
    refused(2, says, "train --run %s/run " TINY " --data %s --steps 2 -q", folder, link);
    char inner[800];
    snprintf(inner, sizeof inner, "%s/some", folder);
    ck_assert(!folder_exists(inner));
    works("train --run %s/run " TINY " --data %s --dry-run", folder, folder);
    works("train --run %s-run " TINY " --data %s --steps 2 -q", folder, folder);  /* beside it */
    works("train --run %s/.run " TINY " --data %s --steps 2 -q", folder, folder); /* which is passed over */
    works("train --resume %s/.run --steps 4 -q", folder);
    works("train --run %s/run " TINY " --data %s/text.txt --steps 2 -q", folder,
          folder); /* of a file only that is read */
}

/* --- a process that trains the run meanwhile --- */

/* It saves after every step and keeps one checkpoint: what a reader has just found is gone a millisecond later. */
START_TEST(a_run_that_is_trained_can_be_read_at_any_time)
{
    const char *run = fresh_path("run");
    char *config = path_join(run, "config.json");
    Started trains = command_start(
        "train --run %s " TINY " --steps 1000000000 --eval-every 0 --save-every 1 --keep 1 -q", run);
    for (int i = 0; i < 6000 && !file_exists(config); i++)
        usleep(1000);
    for (int i = 0; i < 25; i++) { /* from the moment on when it has a configuration */
        works("eval --run %s --bytes 20", run);
        works("sample --run %s --length 2 --weights last -q", run);
        Said s = must("info --run %s", run);
        ck_assert_msg(!strstr(s.out, ": 0 checkpoints"), "%s", s.out);
        said_free(&s);
    }
    kill(trains.process, SIGKILL);
    Said killed = command_end(&trains);
    ck_assert_msg(killed.status == -SIGKILL, "%d: %s", killed.status, killed.err);
    said_free(&killed);
    memory_free(config);
}

static const Test tests[] = {TEST(a_disk_that_is_full_at_once_costs_nothing),
                             TEST_SLOW(a_disk_that_gets_full_costs_what_was_not_saved, 180),
                             TEST(a_result_that_cannot_be_written_is_an_error),
                             TEST(a_damaged_checkpoint_is_named_and_an_older_one_serves),
                             TEST(weights_too_large_to_compute_with_give_no_answer),
                             TEST(a_damaged_state_is_named),
                             TEST(a_whole_checkpoint_is_not_blamed),
                             TEST(a_damaged_configuration_or_mark_is_named),
                             TEST(stored_options_that_do_not_fit_are_named_with_their_file),
                             TEST(a_run_that_cannot_be_written_is_still_read),
                             TEST(a_text_that_has_changed_is_told_and_not_trained_on),
                             TEST(a_run_is_not_made_among_the_texts_that_it_reads),
                             TEST_SLOW(a_run_that_is_trained_can_be_read_at_any_time, 180)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/trouble", tests, sizeof tests / sizeof *tests, argc, argv);
}
