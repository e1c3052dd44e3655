/* Runs that were stopped, killed and taken up again are the run that was not disturbed, bit for bit. */
#define _DEFAULT_SOURCE /* usleep */
#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/thread.h"
#include "charlm/prose.h"
#include "kernels/cpu/level.h"
#include "tests/charlm/tiny.h"
#include "tests/same_runs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 60 };

#define LOUD  TINY " --dropout 0.1 --eval-every 7 --save-every 5 --keep 2"
#define SHORT LOUD " -q"

static void train(const char *run, int steps) { works("train --run %s " SHORT " --steps %d", run, steps); }

static void resume(const char *run, int steps) { works("train --resume %s --steps %d -q", run, steps); }

START_TEST(twice_n_steps_are_n_steps_and_n_more)
{
    const char *whole = fresh_path("whole"), *halves = fresh_path("halves");
    train(whole, 28);
    train(halves, 14);
    resume(halves, 28);
    expect_same_runs(whole, halves, 28);
}

/* What a window remembers is computed anew in each step, and so are its n-grams: there is nothing to be saved. */
START_TEST(what_is_beside_a_window_needs_no_state_to_go_on)
{
    static const char *const beside[] = {"--memory 16 --positions rotary --distances none",
                                         "--ngrams 5 --ngram-dropout 0.3"};
    const char *whole = fresh_path("whole"), *halves = fresh_path("halves"), *how = TINY " --dropout 0.1 -q";
    works("train --run %s %s %s --steps 12", whole, how, beside[_i]);
    works("train --run %s %s %s --steps 5", halves, how, beside[_i]);
    resume(halves, 12);
    for (size_t i = 0; i < 2; i++)
        expect_same(whole, halves,
                    i ? "checkpoints/00000012/state.safetensors" : "checkpoints/00000012/model.safetensors");
}

/* Others round otherwise: a run that began on an older processor keeps its bits on a newer one. */
START_TEST(a_run_keeps_the_instructions_that_it_began_with)
{
    const char *whole = fresh_path("whole"), *halves = fresh_path("halves"), *best = fresh_path("best");
    setenv("ATTEND_CPU", cpu_levels[0].name, 1);
    train(whole, 28);
    train(halves, 14);
    unsetenv("ATTEND_CPU");
    resume(halves, 28);
    expect_same_runs(whole, halves, 28);
    if (cpu_level(NULL) == cpu_levels || cpu_widening(cpu_level(NULL)) == cpu_levels) /* which is the same in f32 */
        return;
    train(best, 28);
    size_t size, other;
    char *a = read_in(whole, "checkpoints/00000028/model.safetensors", &size),
         *b = read_in(best, "checkpoints/00000028/model.safetensors", &other);
    ck_assert(size == other && memcmp(a, b, size) != 0);
    memory_free(a);
    memory_free(b);
    setenv("ATTEND_CPU", "v77", 1);
    refused(1, "ATTEND_CPU=v77", "train --resume %s --steps 30", best);
}

START_TEST(steps_beyond_the_end_of_the_schedule_are_warned_of)
{
    static const char *const falling[] = {"cosine", "linear", "wsd", "constant", "rsqrt"};
    static const char *const ends[] = {"falls until step 4 and stays at",
                                       "falls to 0 until step 4 and nothing is learned after it",
                                       "falls to 0 until step 4 and nothing is learned after it"};
    for (size_t i = 0; i < sizeof falling / sizeof *falling; i++) {
        const char *run = fresh_path(falling[i]);
        works("train --run %s " TINY " -q --steps 4 --schedule %s", run, falling[i]);
        Said s = must("train --resume %s --steps 6 --quiet", run);
        const char *warned = strstr(s.err, "warning: the learning rate ");
        ck_assert_msg(i < 3 ? warned && strstr(warned, ends[i]) : !warned, "%s: %s", falling[i], s.err);
        said_free(&s);
        if (i)
            continue;
        s = must("train --resume %s --steps 8 --decay-steps 0", run);
        ck_assert_msg(!strstr(s.err, "warning: "), "%s", s.err);
        said_free(&s);
    }
}

/* Within the warm-up it rises; and where nothing is added, all is as it was asked for. */
START_TEST(a_rate_that_does_not_fall_early_is_not_warned_of)
{
    static const char *const ways[][2] = {{"--steps 2 --warmup 5", "--steps 6"},
                                          {"--steps 9 --decay-steps 4", "--keep 7 --minutes 1"},
                                          {"--steps 9 --decay-steps 4", "--steps 8"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const char *run = fresh_path("run");
        char checkpoint[600];
        works("train --run %s-%zu " TINY " -q --schedule cosine --save-every 1 --keep 9 %s", run, i, ways[i][0]);
        for (int step = 9; i && step > 5; step--) {
            Error e;
            snprintf(checkpoint, sizeof checkpoint, "%s-%zu/checkpoints/%08d", run, i, step);
            ck_done(folder_remove(checkpoint, &e), e);
        }
        Said s = must("train --resume %s-%zu %s", run, i, ways[i][1]);
        ck_assert_msg(!strstr(s.err, "learning rate"), "%zu: %s", i, s.err);
        said_free(&s);
    }
}

static void append(const char *run, const char *name, const char *line)
{
    char *path = path_join(run, name);
    FILE *file = fopen(path, "ab");
    ck_assert(file && fputs(line, file) >= 0 && fclose(file) == 0);
    memory_free(path);
}

/* A process that is killed has logged and written more than its last checkpoint knows of. */
START_TEST(what_comes_after_the_checkpoint_is_dropped)
{
    const char *whole = fresh_path("whole"), *killed = fresh_path("killed");
    train(whole, 28);
    train(killed, 14);
    append(killed, "samples/00000021.txt", "The |same");
    append(killed, "samples/.00000021.txt.tmp", "The |sa");
    append(killed, "samples/00000100.txt", "The |again");
    append(killed, "log.tsv", "15\t64\t3\t1\t0.01\t\t1\t1\n16\t6");
    resume(killed, 28);
    expect_same_runs(whole, killed, 28);
}

/* Kills a run at moments that nobody chose, some before it has a configuration, until it is through. */
static unsigned train_and_kill(const char *run, const char *more, uint32_t round)
{
    char *config = path_join(run, "config.json");
    for (uint32_t kills = 0;; kills++) {
        Started s = file_exists(config) ? command_start("train --resume %s -q", run)
                                        : command_start("train --run %s " SHORT " --steps %d %s", run, STEPS, more);
        usleep((useconds_t)philox_below(kills < 12 ? 50000 : 4000000, 1, round, kills, 1));
        kill(s.process, SIGKILL);
        Said said = command_end(&s);
        bool through = said.status == 0;
        ck_assert_msg(through || said.status == -SIGKILL, "it exits with %d: %s", said.status, said.err);
        said_free(&said);
        if (through) {
            memory_free(config);
            return kills;
        }
    }
}

/* A run that was killed when it began leaves files that the next one writes again: they have no checksum. */
START_TEST(what_a_killed_beginning_left_is_not_checked)
{
    const char *run = fresh_path("run");
    Error e;
    ck_done(folder_make(run, &e), e);
    write_in(run, "lock", "", 0);
    write_in(run, "best", "00000000\n", 9);
    works("train --run %s " SHORT " --steps 3", run);
    resume(run, STEPS);
}

/* From a seed, and from a file's weights, which no seed gives again. */
START_TEST(a_run_killed_again_and_again_is_the_run_that_was_not)
{
    const char *seed = fresh_path("seed"), *file = fresh_path("file");
    unsigned kills = 0;
    char weights[800];
    train(seed, STEPS);
    snprintf(weights, sizeof weights, "--weights %s/checkpoints/%08d/model.safetensors", seed, STEPS);
    works("train --run %s " SHORT " --steps %d %s", file, STEPS, weights);
    for (uint32_t round = 0; round < 4; round++) {
        const char *killed = fresh_path("killed");
        kills += train_and_kill(killed, round % 2 ? weights : "", round);
        resume(killed, STEPS);
        expect_same_runs(round % 2 ? file : seed, killed, STEPS);
    }
    ck_assert_uint_gt(kills, 0); /* how many depends on the machine */
}

/* Waits until a run has logged some steps. */
static void wait_for_step(const char *run, int step)
{
    char line[32];
    snprintf(line, sizeof line, "\n%d\t", step);
    for (int i = 0; i < 6000; i++) {
        size_t size;
        char *log = read_in(run, "log.tsv", &size);
        bool there = log && strstr(log, line);
        memory_free(log);
        if (there)
            return;
        usleep(5000);
    }
    ck_abort_msg("step %d does not come", step);
}

static void interrupt(int signal_number)
{
    signal(signal_number, SIG_DFL); /* nohup ignores one */
    const char *whole = fresh_path("whole"), *run = fresh_path("run");
    Started s = command_start("train --run %s " SHORT " --steps 100000", run);
    wait_for_step(run, 9);
    kill(s.process, signal_number);
    Said said = command_end(&s);
    int64_t steps = strtoll(strstr(said.out, ": ") + 2, NULL, 10);
    char how[800];
    snprintf(how, sizeof how, "charlm train --resume %s\n", run);
    ck_assert_msg(said.status == 0 && strstr(said.err, how), "%d: %s", said.status, said.err);
    ck_assert_msg(steps >= 9 && steps < 90000, "%s", said.out);
    said_free(&said);
    resume(run, (int)steps + 10);
    train(whole, (int)steps + 10);
    expect_same(whole, run, "log.tsv");
    char name[100];
    snprintf(name, sizeof name, "checkpoints/%08d/state.safetensors", (int)steps + 10);
    expect_same(whole, run, name);
}

START_TEST(a_signal_saves_and_says_how_to_go_on) { interrupt((int[]){SIGINT, SIGTERM, SIGHUP}[_i]); }

/* A million rows through a wide feed-forward network: a step of minutes on any machine, that nobody wants to wait for. It
 * is as if it had never begun. */
START_TEST(a_long_step_is_announced_and_given_up)
{
    const char *run = fresh_path("run"), *whole = fresh_path("whole");
    char *said = NULL;
    Started s = command_start("train --run %s " LOUD " --ff 4096 --steps 9 --batch 1000000 --workers 1", run);
    for (int i = 0; i < 6000 && !(said && strstr(said, "a step takes about")); i++) {
        size_t size;
        usleep(10000);
        memory_free(said);
        said = read_in("", s.err, &size);
    }
    ck_assert_msg(said && strstr(said, "micro-batches; a smaller"), "%s", said ? said : "nothing");
    memory_free(said);
    kill(s.process, SIGINT);
    Said end = command_end(&s);
    ck_assert_msg(end.status == 0 && strstr(end.err, "stopped and saved") && strstr(end.out, ": 0 steps"), "%d: %s%s",
                  end.status, end.out, end.err);
    said_free(&end);
    works("train --resume %s --batch 4 --workers 2 --steps 9 -q", run);
    works("train --run %s " SHORT " --ff 4096 --steps 9", whole);
    expect_same(whole, run, "checkpoints/00000009/model.safetensors");
}

/* What is saved then is nowhere, and "continue with" would be no help. */
START_TEST(a_run_whose_folder_goes_while_it_trains_is_an_error)
{
    for (int i = 0; i < 2; i++) {
        const char *run = fresh_path("run");
        Error e;
        Started s = command_start("train --run %s " SHORT " --steps %d --save-every %d", run, i ? 400 : 100000,
                                  i ? 5 : 0);
        wait_for_step(run, 9);
        char away[800];
        snprintf(away, sizeof away, "%s-away", run);
        ck_assert(rename(run, away) == 0); /* at once: what is being removed is there for a while */
        if (!i) {
            ck_done(folder_remove(away, &e), e);
            kill(s.process, SIGINT);
        }
        Said said = command_end(&s);
        ck_assert_msg(said.status == 1 && strstr(said.err, "has vanished") && !strstr(said.err, "continue with"),
                      "%d: %s", said.status, said.err);
        ck_assert(!folder_exists(run));
        said_free(&said);
    }
}

START_TEST(a_finished_run_says_so)
{
    const char *run = fresh_path("run");
    train(run, 6);
    Said s = must("train --resume %s", run);
    ck_assert_msg(strstr(s.err, "finished") && strstr(s.err, "6 steps"), "%s", s.err);
    said_free(&s);
    size_t size, now;
    char *before = read_in(run, "config.json", &size); /* what trains nothing changes nothing */
    s = must("train --resume %s --json --seed 77", run);
    char *after = read_in(run, "config.json", &now);
    ck_assert(before && after && size == now && !memcmp(before, after, size) && !strstr(s.err, "changed"));
    memory_free(before);
    memory_free(after);
    Json *j = said_json(&s);
    ck_assert(json_real(j, "steps") == 6 && json_real(j, "tokens") == 0);
    json_free(j);
    said_free(&s);
}

START_TEST(other_data_and_another_model_are_refused)
{
    const char *run = fresh_path("run"), *folder = fresh_path("folder");
    train(run, 3);
    write_in(folder, "other.txt", prose_text, 5000);
    write_in(folder, "same.txt", prose_text, prose_size);
    refused(1, "other data", "train --resume %s --data %s/other.txt --steps 5", run, folder);
    refused(1, "dim", "train --resume %s --dim 32 --steps 5", run);
    refused(1, "norm", "train --resume %s --norm pre --steps 5", run);
    works("train --resume %s --data %s/same.txt --steps 5", run, folder);
}

/* The text of a run's config.json. */
static char *stored(const char *run)
{
    size_t size;
    char *text = read_in(run, "config.json", &size);
    ck_assert_ptr_nonnull(text);
    return text;
}

START_TEST(heads_of_keys_are_stored_where_they_are_given)
{
    const char *without = fresh_path("without"), *whole = fresh_path("whole"), *halves = fresh_path("halves");
    train(without, 3);
    works("train --run %s " SHORT " --heads 4 --kv-heads 1 --positions rotary --steps 12", whole);
    works("train --run %s " SHORT " --heads 4 --kv-heads 1 --positions rotary --steps 7", halves);
    resume(halves, 12);
    expect_same(whole, halves, "checkpoints/00000012/model.safetensors");
    char *text = stored(without);
    ck_assert_msg(!strstr(text, "kv-heads"), "%s", text); /* as if there were no such option */
    memory_free(text);
    text = stored(halves);
    ck_assert_msg(strstr(text, "\"heads\": 4, \"kv-heads\": 1,"), "%s", text);
    memory_free(text);
    refused(1, "kv-heads", "train --resume %s --kv-heads 2 --steps 20", whole);
    refused(1, "--kv-heads 1: the run has all", "train --resume %s --kv-heads 1 --steps 20", without);
    refused(2, "--kv-heads 3", "train --run %s-3 " SHORT " --heads 4 --kv-heads 3 --steps 1", whole);
    refused(2, "--kv-heads '0'", "train --run %s-0 " SHORT " --heads 4 --kv-heads 0 --steps 1", whole);
}

START_TEST(changed_training_options_are_told_and_kept)
{
    const char *run = fresh_path("run");
    size_t size;
    train(run, 3);
    Said s = must("train --resume %s --steps 4 --lr 0.005", run);
    ck_assert_msg(strstr(s.err, "lr 0.01 -> 0.005") && strstr(s.err, "steps 3 -> 4"), "%s", s.err);
    said_free(&s);
    s = must("train --resume %s --steps 5", run);
    ck_assert_msg(!strstr(s.err, "lr 0.01"), "%s", s.err);
    said_free(&s);
    char *log = read_in(run, "log.tsv", &size);
    ck_assert_msg(strstr(strstr(log, "\n5\t"), "\t0.005\t") != NULL, "%s", log);
    memory_free(log);
}

/* What a plateau made of the rate is no part of another schedule, nor of another rate. */
START_TEST(a_rate_that_is_given_is_the_rate)
{
    static const char *const ways[] = {"--schedule constant --lr 0.01", "--lr 0.01"};
    const char *run = fresh_path("run");
    size_t size;
    works("train --run %s " TINY " --warmup 0 --steps 30 --eval-every 2 --schedule plateau --lr-patience 1 --lr 0.5 -q",
          run);
    for (int i = 0; i < 2; i++) {
        char *before = read_in(run, "log.tsv", &size), line[40];
        if (!i)
            ck_assert(!strstr(strstr(before, "\n30\t"), "\t0.5\t")); /* it was halved */
        memory_free(before);
        works("train --resume %s --steps %d -q %s", run, 31 + i, ways[i]);
        char *log = read_in(run, "log.tsv", &size);
        snprintf(line, sizeof line, "\n%d\t", 31 + i);
        ck_assert_msg(strstr(strstr(log, line), "\t0.01\t") != NULL, "%s", log);
        memory_free(log);
    }
}

/* The newest checkpoint was the best, and the best before it is gone: where the newest is damaged, another becomes best. */
START_TEST(a_best_checkpoint_that_is_lost_is_replaced)
{
    const char *run = fresh_path("run");
    size_t size;
    works("train --run %s " TINY " --steps 12 --eval-every 4 --save-every 1 --keep 2 --lr 0.02 -q", run);
    char *best = read_in(run, "best", &size);
    ck_assert_msg(!strncmp(best, "00000012", 8), "%s", best);
    memory_free(best);
    write_in(run, "checkpoints/00000012/model.safetensors", "damaged", 7);
    works("train --resume %s --steps 11 -q", run);
    works("eval --run %s -q --bytes 300", run);
}

/* Steps that are asked for end a run that was to take epochs, also where they are as many as the stored ones. */
START_TEST(steps_in_place_of_epochs_are_told_and_kept)
{
    const char *run = fresh_path("run");
    works("train --run %s " SHORT " --epochs 1 -q", run);
    Said s = must("train --resume %s --steps 400 --dry-run", run);
    ck_assert_msg(strstr(s.err, "epochs 1 -> 0"), "%s", s.err);
    said_free(&s);
}

/* "workers" in a run's config.json */
static double stored_workers(const char *run)
{
    size_t size;
    Json *j;
    Error e;
    char *text = read_in(run, "config.json", &size);
    ck_done(json_read(&j, text, size, "config.json", &e), e);
    double workers = json_real(json_get(j, "training"), "workers");
    json_free(j);
    memory_free(text);
    return workers;
}

/* On another machine all processors would be another number, and other bits. */
START_TEST(all_processors_are_stored_as_how_many_they_are)
{
    const char *run = fresh_path("run");
    double all = (double)processors_allowed();
    works("train --run %s " SHORT " --batch 4096 --workers 0 --steps 0", run);
    ck_assert(stored_workers(run) == all);
    Said s = must("train --resume %s --workers 0 --steps 0", run); /* the same again */
    ck_assert_msg(!strstr(s.err, "changed"), "%s", s.err);
    said_free(&s);
    s = must("train --resume %s --workers %d --steps 1", run, (int)all + 1);
    ck_assert_msg(strstr(s.err, "changed on resume:\nsteps 0 -> 1\nworkers ") != NULL, "%s", s.err);
    said_free(&s);
    ck_assert(stored_workers(run) == all + 1);
    works("train --resume %s --workers 0 --steps 2", run);
    ck_assert(stored_workers(run) == all);
}

/* A learning rate that falls over the first --steps falls as it would have. */
START_TEST(more_steps_do_not_change_how_the_rate_falls)
{
    const char *run = fresh_path("run");
    size_t size;
    works("train --run %s " SHORT " --schedule linear --steps 10", run);
    resume(run, 14);
    char *log = read_in(run, "log.tsv", &size), *line = strstr(log, "\n12\t");
    double rate = 1;
    ck_assert(line && sscanf(line, "%*s %*s %*s %*s %lf", &rate) == 1);
    ck_assert_double_eq(rate, 0);
    memory_free(log);
}

START_TEST(two_processes_do_not_write_one_run)
{
    const char *run = fresh_path("run");
    Started s = command_start("train --run %s " TINY " --eval-every 50 --keep 0 -q", run);
    wait_for_step(run, 60);
    refused(1, "another process", "train --resume %s -q", run);
    refused(1, "not empty", "train --run %s " SHORT, run);
    Said info = must("info --run %s", run), eval = must("eval --run %s", run); /* but others read */
    kill(s.process, SIGKILL);
    Said killed = command_end(&s);
    said_free(&info);
    said_free(&eval);
    said_free(&killed);
}

/* The names in a run's folder of samples, one after the other. */
static void samples_in(const char *run, char *all, size_t size)
{
    char *folder = path_join(run, "samples"), **names = NULL;
    size_t count = 0, used = 0;
    Error e;
    all[0] = 0;
    if (folder_exists(folder))
        ck_done(folder_list(folder, &names, &count, &e), e);
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(all + used, size - used, "%s ", names[i]);
    folder_list_free(names, count);
    memory_free(folder);
}

START_TEST(samples_come_as_often_as_asked)
{
    const char *asked = fresh_path("asked"), *scored = fresh_path("scored");
    char names[400];
    works("train --run %s " SHORT " --steps 10 --sample-every 4", asked);
    samples_in(asked, names, sizeof names);
    ck_assert_str_eq(names, "00000004.txt 00000008.txt ");
    resume(asked, 13); /* how often is stored */
    samples_in(asked, names, sizeof names);
    ck_assert_str_eq(names, "00000004.txt 00000008.txt 00000012.txt ");
    train(scored, 10);
    samples_in(scored, names, sizeof names);
    ck_assert_str_eq(names, "00000007.txt 00000010.txt ");
}

/* Every line of the log and every sample that is there is whole, whenever one looks. */
START_TEST(a_run_that_trains_can_be_read)
{
    const char *run = fresh_path("run");
    char names[1 << 16], *name, *rest;
    Started s = command_start("train --run %s " TINY " --eval-every 0 --sample-every 5 -q", run);
    wait_for_step(run, 20);
    for (int look = 0; look < 40; look++) {
        size_t size;
        char *log = read_in(run, "log.tsv", &size);
        ck_assert_msg(log[size - 1] == '\n', "the log ends in '%s'", strrchr(log, '\n'));
        memory_free(log);
        samples_in(run, names, sizeof names);
        for (name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
            char path[100];
            snprintf(path, sizeof path, "samples/%s", name);
            char *text = *name == '.' ? NULL : read_in(run, path, &size);
            ck_assert_msg(*name == '.' || (size > 200 && text[size - 1] == '\n' && memchr(text, '|', size)), "%s",
                          name);
            memory_free(text);
        }
        if (look % 10 == 0) {
            works("info --run %s", run);
        }
        usleep(10000);
    }
    kill(s.process, SIGKILL);
    Said killed = command_end(&s);
    ck_assert_int_eq(killed.status, -SIGKILL);
    said_free(&killed);
}

/* Stored, told, kept on resume; and not there in runs that know nothing of it. */
START_TEST(groups_of_tensors_are_the_runs_own)
{
    static const char file[] = "checkpoints/00000006/state.safetensors";
    const char *whole = fresh_path("whole"), *parts = fresh_path("parts"), *without = fresh_path("without");
    const char *const groups = "--groups blocks.*:lr=0.5,decay=0.1;*embedding*:lr=0 --steps";
    size_t size;
    Said s = must("train --run %s " LOUD " %s 6", whole, groups);
    ck_assert_msg(strstr(s.err, "groups of tensors:\n  blocks.* lr=0.5,decay=0.1: ") &&
                      strstr(s.err, " numbers: token_embedding.weight\n  the rest: "),
                  "%s", s.err);
    said_free(&s);
    s = must("train --run %s " SHORT " %s 3", parts, groups);
    ck_assert_str_eq(s.err, "");
    said_free(&s);
    resume(parts, 6);
    train(without, 6);
    expect_same(whole, parts, file);
    char *config = read_in(whole, "config.json", &size);
    ck_assert_msg(strstr(config, "\"groups\": \"blocks.*:lr=0.5,decay=0.1;*embedding*:lr=0\""), "%s", config);
    memory_free(config);
    config = read_in(without, "config.json", &size);
    ck_assert_ptr_null(strstr(config, "\"groups\""));
    memory_free(config);
    char *with = read_in(whole, file, &size), *other = read_in(without, file, &size);
    ck_assert(with && other && memcmp(with, other, size) != 0);
    memory_free(with);
    memory_free(other);
    s = must("train --resume %s --steps 7 --groups *embedding*:lr=0", without); /* kept, like any that is changed */
    ck_assert_msg(strstr(s.err, "groups none -> *embedding*:lr=0") != NULL, "%s", s.err);
    said_free(&s);
    config = read_in(without, "config.json", &size);
    ck_assert_msg(strstr(config, "\"groups\": \"*embedding*:lr=0\""), "%s", config);
    memory_free(config);
    refused(2, "--groups 'lr=x': expected a number", "train --run %s %s --groups *:lr=x", fresh_path("never"), SHORT);
    refused(1, "no tensor that an earlier", "train --run %s %s --groups x:lr=0", fresh_path("never"), SHORT);
    refused(1, "no tensor that an earlier", "train --dry-run %s --groups x:lr=0", SHORT);
    refused(1, "expected lr=X, decay=X or beta1=X", "train --resume %s --steps 7 --groups *:momentum=0", whole);
}

static const Test tests[] = {TEST_LOOP(what_is_beside_a_window_needs_no_state_to_go_on, 2),
                             TEST(twice_n_steps_are_n_steps_and_n_more),
                             TEST(a_run_keeps_the_instructions_that_it_began_with),
                             TEST(steps_beyond_the_end_of_the_schedule_are_warned_of),
                             TEST(a_rate_that_does_not_fall_early_is_not_warned_of),
                             TEST(what_comes_after_the_checkpoint_is_dropped),
                             TEST(what_a_killed_beginning_left_is_not_checked),
                             TEST_SLOW(a_run_killed_again_and_again_is_the_run_that_was_not, 180),
                             TEST_LOOP(a_signal_saves_and_says_how_to_go_on, 3),
                             TEST(a_long_step_is_announced_and_given_up),
                             TEST(a_run_whose_folder_goes_while_it_trains_is_an_error),
                             TEST(a_finished_run_says_so),
                             TEST(other_data_and_another_model_are_refused),
                             TEST(heads_of_keys_are_stored_where_they_are_given),
                             TEST(changed_training_options_are_told_and_kept),
                             TEST(steps_in_place_of_epochs_are_told_and_kept),
                             TEST(a_rate_that_is_given_is_the_rate),
                             TEST(a_best_checkpoint_that_is_lost_is_replaced),
                             TEST(groups_of_tensors_are_the_runs_own),
                             TEST(all_processors_are_stored_as_how_many_they_are),
                             TEST(more_steps_do_not_change_how_the_rate_falls),
                             TEST(two_processes_do_not_write_one_run),
                             TEST(samples_come_as_often_as_asked),
                             TEST(a_run_that_trains_can_be_read)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/going_on", tests, sizeof tests / sizeof *tests, argc, argv);
}
