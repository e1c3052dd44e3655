/* charlm plot: what a user gets, and is told. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/run.h"
#include "tests/charlm/tiny.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *trained(const char *name, const char *more)
{
    const char *run = fresh_path(name);
    works("train --run %s " TINY " --steps 12 --eval-every 5 -q %s", run, more);
    return run;
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

START_TEST(a_picture_and_its_data_are_in_the_run)
{
    size_t size;
    if (!can_draw("a_picture_and_its_data_are_in_the_run"))
        return;
    const char *run = trained("run", "");
    Said s = must("plot --run %s --what all", run);
    ck_assert(strstr(s.out, "pictures/loss.png (its data: ") && !s.err[0]);
    said_free(&s);
    char *png = read_in(run, "pictures/loss.png", &size), *data = read_in(run, "pictures/loss.tsv", &size);
    ck_assert(png && data && strncmp(png, "\x89PNG", 4) == 0);
    ck_assert_uint_eq(lines_of(data), 1 + 12 + 2 + 1 + 3); /* steps; evaluations after 5, 10 and 12 */
    memory_free(png);
    memory_free(data);
    s = must("plot %s --out - --size 60x20", run);
    ck_assert(strstr(s.out, "training") && strstr(s.out, "step") && !s.err[0]);
    said_free(&s);
}

START_TEST(what_no_log_has_is_refused_before_anything_is_written)
{
    const char *run = trained("run", "");
    refused(1, "has no accuracy, only loss,rate,norm,speed", "plot --run %s --what accuracy", run);
    refused(1, "has no bleu", "plot --run %s --what loss,bleu", run);
    char path[700];
    snprintf(path, sizeof path, "%s/pictures", run);
    refused(2, "--what 'lost'", "plot --run %s --what lost", run);
    ck_assert(!folder_exists(path));
}

START_TEST(a_run_that_went_on_is_one_curve)
{
    size_t size;
    if (!can_draw("a_run_that_went_on_is_one_curve"))
        return;
    const char *run = trained("run", "");
    works("train --resume %s --steps 20 -q", run);
    Json *j = must_json("plot --run %s --json", run);
    ck_assert(json_real(j, "curves") == 1 && json_get_text(j, "picture") && json_get_text(j, "data"));
    json_free(j);
    char *data = read_in(run, "pictures/loss.tsv", &size);
    ck_assert_uint_eq(lines_of(data), 1 + 20 + 2 + 1 + 5); /* evaluations after 5, 10, 12, 15 and 20 */
    memory_free(data);
}

START_TEST(runs_are_compared_and_seeds_gathered)
{
    if (!can_draw("runs_are_compared_and_seeds_gathered"))
        return;
    const char *a = trained("a", "--seed 1"), *b = trained("b", "--seed 2"), *c = trained("c", "--lr 0.02");
    const char *out = fresh_path("x.svg");
    Json *j = must_json("plot --run %s --compare %s %s --out %s --json", a, b, c, out);
    ck_assert(json_real(j, "curves") == 2);
    json_free(j);
    j = must_json("plot %s %s %s --apart --out %s --json --over time --size 8.5cm", a, b, c, out);
    ck_assert(json_real(j, "curves") == 3);
    json_free(j);
}

START_TEST(a_run_is_written_for_tensorboard)
{
    size_t size;
    const char *run = trained("run", "");
    Said s = must("plot %s --format events", run);
    ck_assert(strstr(s.out, "/run/events.out.tfevents.0.attend\n") && !s.err[0]);
    said_free(&s);
    char *events = read_in(run, "events.out.tfevents.0.attend", &size);
    ck_assert(size > 12 * 4 * 40 && !memcmp(events, "\30\0\0\0\0\0\0\0", 8));
    memory_free(events);
    refused(2, "leave out --out", "plot %s --format events --out x.png", run);
    refused(2, "leave out", "plot %s --format events --what schedule", run);
}

START_TEST(runs_of_a_folder_are_compared)
{
    static const char *const options[] = {"--seed 1", "--seed 2", "--lr 0.02"};
    const char *folder = fresh_path("runs");
    char run[3][800];
    for (int i = 0; i < 3; i++) {
        snprintf(run[i], sizeof run[i], "%s/%d", folder, i);
        works("train --run %s " TINY " --steps 12 --eval-every 5 -q %s", run[i], options[i]);
    }
    Said s = must("compare %s --against %s", folder, run[1]), named = must("compare %s %s %s", run[0], run[1], run[2]);
    ck_assert_msg(strstr(s.out, "validation loss (bits/byte), the best of each run\n") == s.out, "%s", s.out);
    ck_assert_msg(strstr(s.out, "reference") && strstr(s.out, "lr 0.02") > strstr(s.out, "reference"), "%s", s.out);
    ck_assert_str_eq(s.out, named.out);
    said_free(&named);
    said_free(&s);
    Json *j = must_json("compare %s --last --at steps=10 --json", folder);
    const Json *groups = json_get(j, "groups");
    ck_assert(groups->count == 2 && json_real(&groups->items[0], "runs") == 2);
    json_free(j);
    j = must_json("info --run %s --json", run[0]);
    const double step = json_real(j, "flop_a_step");
    json_free(j);
    Said steps = must("compare %s --at steps=10 --format tsv", folder);
    s = must("compare %s --at flop=%.17g --format tsv", folder, 10.001 * step);
    ck_assert_str_eq(strchr(s.out, '\n'), strchr(steps.out, '\n')); /* but for the heading */
    said_free(&steps);
    said_free(&s);
    refused(2, "which runs", "compare");
    refused(2, "--at 'noon': expected steps=N, tokens=N, seconds=N or flop=N", "compare %s --at noon", folder);
    refused(1, "is neither a run nor a folder of runs", "compare tests/charlm");
    refused(2, "--out x.jpg: expected a name that ends in", "compare %s --out x.jpg", folder);
}

/* Three sizes, each at three amounts of data, with the losses of L = 1.5 + 20 / N^0.35 + 60 / D^0.4. */
static const char *runs_of_a_law(void)
{
    const char *folder = fresh_path("runs");
    for (int i = 0; i < 9; i++) {
        char run[800], log[120];
        const double tokens = 1e5 * pow(4, i % 3);
        snprintf(run, sizeof run, "%s/%d", folder, i);
        works("train --run %s " TINY " --depth %d --steps 1 -q", run, 1 << i / 3);
        Json *j = must_json("info --run %s --json", run);
        const double loss = 1.5 + 20 / pow(json_real(j, "parameters"), 0.35) + 60 / pow(tokens, 0.4);
        snprintf(log, sizeof log, "step\ttargets\tloss (bits/byte)\tvalidation (bits/byte)\n1\t%.0f\t3\t%.9f\n", tokens,
                 loss);
        write_in(run, "log.tsv", log, strlen(log));
        json_free(j);
    }
    return folder;
}

START_TEST(runs_of_a_law_show_it)
{
    static const char *const names[] = {"E", "A", "B", "alpha", "beta", "exponent"};
    static const double law[] = {1.5, 20, 60, 0.35, 0.4, 0.4 / 0.75};
    const char *folder = runs_of_a_law();
    size_t size;
    Said s = must("compare %s --fit scaling --json", folder);
    Json *j = said_json(&s);
    ck_assert(json_real(j, "runs") == 9 && json_real(j, "error") < 1e-8);
    ck_assert(json_real(j, "k") > 3 && json_real(j, "k") < 8); /* FLOP a parameter and token */
    for (size_t i = 0; i < 6; i++)
        ck_assert_msg(fabs(json_real(j, names[i]) / law[i] - 1) < 1e-3, "%s: %s", names[i], s.out);
    json_free(j);
    said_free(&s);

    write_in(folder, "8/log.tsv", "step\ttargets\tloss (bits/byte)\n1\t64\t3\n", 37); /* a run without the figure */
    s = must("compare %s --fit scaling", folder);
    ck_assert_msg(strstr(s.out, "validation loss (bits/byte), the last of each run, of 8 of 9 runs: L = E + A") ==
                      s.out,
                  "%s", s.out);
    ck_assert_msg(strstr(s.out, "\nalpha     0.35 ") && strstr(s.out, "ten times the largest run"), "%s", s.out);
    said_free(&s);
    if (can_draw("runs_of_a_law_show_it")) {
        works("compare %s --fit scaling --out %s/a.svg", folder, folder);
        char *data = read_in(folder, "a.tsv", &size), *picture = read_in(folder, "a.svg", &size);
        size_t blocks = 1;
        for (const char *at = data; (at = strstr(at, "\n\n\n")); at++)
            blocks++;
        ck_assert_uint_eq(blocks, 7); /* of each size its runs and its curve; the best of all */
        ck_assert(picture && strstr(picture, ">FLOP<") && strstr(picture, ">parameters<") &&
                  strstr(picture, ">the best<"));
        memory_free(data);
        memory_free(picture);
    }

    refused(1, "7 runs or more, of 3 sizes and 3 amounts of data or more; here are 6, of 2 sizes and 3 amounts",
            "compare %s/0 %s/1 %s/2 %s/3 %s/4 %s/5 --fit scaling", folder, folder, folder, folder, folder, folder);
    refused(2, "--figure validation or training", "compare %s --fit scaling --figure accuracy", folder);
    refused(2, "leave out --at", "compare %s --fit scaling --at steps=1", folder);
    write_in(folder, "8/log.tsv", "step\ttargets\tloss (nats)\tvalidation (nats)\n1\t64\t3\t3\n", 52);
    refused(1, "losses in nats, others in bits/byte", "compare %s --fit scaling", folder);
}

START_TEST(watching_a_finished_run_shows_it_once)
{
    if (!can_draw("watching_a_finished_run_shows_it_once"))
        return;
    const char *run = trained("run", "");
    Said s = must("plot --run %s --watch --out -", run);
    ck_assert(strstr(s.out, "validation") && strstr(s.err, "is not training"));
    said_free(&s);
}

START_TEST(watching_a_run_shows_it_to_its_end)
{
    if (!can_draw("watching_a_run_shows_it_to_its_end"))
        return;
    const char *run = trained("run", "");
    Started training = command_start("train --resume %s --steps 100000 --minutes 0.1 -q", run);
    const struct timespec tenth = {0, 100 * 1000 * 1000};
    for (int i = 0; i < 300 && !run_busy(run); i++)
        nanosleep(&tenth, NULL);
    Said watching = must("plot --run %s --watch --out - --size 60x20", run);
    ck_assert(!strstr(watching.err, "is not training"));
    size_t drawn = 0;
    for (const char *at = watching.out; (at = strstr(at, "validation")); at++)
        drawn++;
    ck_assert_uint_ge(drawn, 2);
    said_free(&watching);
    Said s = command_end(&training);
    ck_assert_int_eq(s.status, 0);
    said_free(&s);
}

/* It would be waited for to the end of training, in vain. */
START_TEST(watching_for_what_never_comes_is_refused_at_once)
{
    const char *run = trained("run", "");
    Started training = command_start("train --resume %s --steps 100000000 --minutes 0.5 -q", run);
    const struct timespec tenth = {0, 100 * 1000 * 1000};
    for (int i = 0; i < 300 && !run_busy(run); i++)
        nanosleep(&tenth, NULL);
    refused(1, "has no accuracy, only loss,rate,norm,speed", "plot --run %s --watch --out - --what accuracy", run);
    refused(1, "has no bleu", "plot --run %s --watch --out - --what loss,bleu", run);
    ck_assert(run_busy(run));
    kill(training.process, SIGINT);
    Said s = command_end(&training);
    said_free(&s);
}

/* Data of an earlier picture are; tables of a run and of a sweep are not. */
START_TEST(a_picture_takes_the_place_of_its_own_data_alone)
{
    static const char *const names[] = {"vocabulary", "target", "sweep", "log"};
    if (!can_draw("a_picture_takes_the_place_of_its_own_data_alone"))
        return;
    const char *run = trained("run", ""), *folder = fresh_path("pictures");
    write_in(folder, "x", "", 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[40];
        works("plot --run %s --out %s/%s.svg", run, folder, names[i]);
        works("plot --run %s --out %s/%s.svg", run, folder, names[i]);
        if (i == 2)
            continue;
        snprintf(name, sizeof name, "%s.tsv", names[i]);
        if (i < 3)
            write_in(run, name, "a\t1\n", 4);
        refused(1, "would overwrite", "plot --run %s --out %s/%s.svg", run, run, names[i]);
    }
    write_in(folder, "sweep.tsv", "run\tseed\n", 9);
    refused(1, "would overwrite", "plot --run %s --out %s/sweep.svg", run, folder);
    write_in(folder, "sweep.tsv", "anything", 8);
    write_in(folder, "sweep.txt", "", 0);
    refused(1, "would overwrite", "plot --run %s --out %s/sweep.svg", run, folder);
}

START_TEST(a_schedule_is_drawn_before_anything_is_trained)
{
    size_t size;
    if (!can_draw("a_schedule_is_drawn_before_anything_is_trained"))
        return;
    const char *folder = fresh_path("schedules");
    write_in(folder, "x", "", 0);
    works("plot --what schedule --schedule linear --lr 2 --warmup 4 --steps 12 --out %s/s.svg", folder);
    char *data = read_in(folder, "s.tsv", &size);
    static const double rates[] = {0.5, 1, 1.5, 2, 1.75, 1.5, 1.25, 1, 0.75, 0.5, 0.25, 0};
    const char *line = data;
    for (int step = 1; step <= 12; step++) {
        double at = 0, rate = -1;
        line = strchr(line, '\n') + 1;
        ck_assert_int_eq(sscanf(line, "%lf\t%*s\t%*s\t%*s\t%*s\t%*s\t%*s\t%*s\t%*s\t%lf", &at, &rate), 2);
        ck_assert(at == step);
        ck_assert_double_eq_tol(rate, rates[step - 1], 1e-9);
    }
    memory_free(data);
    Said s = must("plot --what schedule --run %s --out - --size 60x20", trained("run", ""));
    ck_assert(strstr(s.out, "0.01") && !s.err[0]);
    said_free(&s);
    refused(2, "--steps N", "plot --what schedule --epochs 3 --out -");
    refused(2, "only --what schedule", "plot --lr 3 --run x");
    refused(2, "one run at most", "plot --what schedule --watch --out -");
}

START_TEST(a_model_its_data_and_its_options_are_drawn)
{
    size_t size;
    double sum = 0, at, to, share, lr[4];
    if (!can_draw("a_model_its_data_and_its_options_are_drawn"))
        return;
    const char *run = trained("run", "--positions learned --distances none"), *folder = fresh_path("folder");
    static const char *const subjects[] = {"embeddings", "positions", "lengths", "coverage", "schedules", "smoothing"};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        Said s = must("plot --run %s --what %s --smoothing 0.1", run, subjects[i]);
        ck_assert_msg(strstr(s.out, subjects[i]) && !s.err[0], "%s: %s%s", subjects[i], s.out, s.err);
        said_free(&s);
    }
    char *data = read_in(run, "pictures/lengths.tsv", &size), *line = strchr(data, '\n') + 1;
    for (; sscanf(line, "%lf\t%lf\t%lf", &at, &to, &share) == 3; line = strchr(line, '\n') + 1)
        sum += share;
    ck_assert_double_eq_tol(sum, 100, 1e-3);
    memory_free(data);
    data = read_in(run, "pictures/positions.tsv", &size); /* as many numbers as its table and its cosines have */
    ck_assert_uint_eq(lines_of(data), 1 + 16 * 16 + 2 + 1 + 16 * 16);
    memory_free(data);
    data = read_in(run, "pictures/embeddings.tsv", &size);
    ck_assert_uint_eq(lines_of(data), 1 + 256);
    memory_free(data);
    data = read_in(run, "pictures/smoothing.tsv", &size); /* 0.9 and an even share of 0.1 */
    ck_assert_int_eq(sscanf(strchr(data, '\n'), "\n0\t%lf\t1\n1\t%lf\t0", &lr[0], &lr[1]), 2);
    ck_assert_double_eq_tol(lr[0], 0.9 + 0.1 / 256, 1e-9);
    ck_assert_double_eq_tol(lr[1], 0.1 / 256, 1e-9);
    memory_free(data);
    write_in(folder, "x", "", 0);
    works("plot --what positions --dim 6 --context 9 --out %s/p.svg", folder);
    data = read_in(folder, "p.tsv", &size);
    ck_assert(strstr(data, "\n0\t0\t0\n0\t1\t1\n") && strstr(data, "\n1\t0\t0.841471\n1\t1\t0.540302\n"));
    memory_free(data);
    const char *odd = trained("odd", "--positions none --distances bias --memory 4");
    works("plot --run %s --what positions --out %s/o.svg", odd, folder);
    data = read_in(folder, "o.tsv", &size); /* a causal model's keys are behind, memory or not */
    ck_assert_msg(strstr(data, "distance back") && !strstr(data, "negative"), "%s", data);
    memory_free(data);
    const char *registers = trained("registers", "--registers 2 --tie");
    works("plot --run %s --what embeddings --out %s/e.svg", registers, folder);
    data = read_in(folder, "e.tsv", &size);
    ck_assert(lines_of(data) == 1 + 258 && strstr(data, "[1]"));
    memory_free(data);
    works("plot --run %s --what smoothing --smoothing 0.1 --out %s/s.svg", registers, folder);
    data = read_in(folder, "s.tsv", &size);
    ck_assert(!strncmp(data, "targets\t256\t", 12));
    memory_free(data);
    refused(2, "--smoothing is 0", "plot --what smoothing --out -");
    refused(2, "--run DIR is missing", "plot --what embeddings --out -");
    refused(2, "one run at most", "plot --what embeddings %s %s", run, run);
    refused(2, "only --what schedule", "plot --run %s --data x", run);
}

START_TEST(what_cannot_be_drawn_is_said_in_a_line)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --steps 0 -q", run);
    refused(2, "--run DIR is missing", "plot");
    refused(1, "no such folder", "plot --run nowhere");
    refused(1, "no step in its log yet", "plot --run %s", run);
    refused(2, "--what 'lost'", "plot --run %s --what lost", trained("r", ""));
    refused(2, "--what 'lost'", "plot --run %s --what lost --watch", trained("w", ""));
    refused(2, ".png, .svg, .pdf or .txt", "plot --run %s --out x.gif", run);
    refused(2, "--size", "plot --run %s --size 3yards", run);
    refused(1, "choose another", "plot --run %s --out x.tsv --terminal svg", run);
    refused(2, "--json", "plot --run %s --json --out -", run);
    refused(1, "no.such", "plot --run %s --out no.such/x.svg", trained("q", ""));
    refused(2, "--what ''", "plot --run %s --what= --out -", trained("n", ""));
    const char *kept = trained("k", "");
    size_t size;
    refused(1, "would overwrite", "plot --run %s --out %s/log.svg", kept, kept);
    refused(1, "the picture's data would overwrite", "plot --data %s/log.tsv --what lengths --out %s/log.svg", kept,
            kept);
    char *log = read_in(kept, "log.tsv", &size);
    ck_assert(!strncmp(log, "step\t", 5));
    memory_free(log);
}

static const Test tests[] = {
    TEST(a_picture_and_its_data_are_in_the_run),
    TEST(what_no_log_has_is_refused_before_anything_is_written),
    TEST(a_run_that_went_on_is_one_curve),
    TEST(runs_are_compared_and_seeds_gathered),
    TEST(a_run_is_written_for_tensorboard),
    TEST(runs_of_a_folder_are_compared),
    TEST(runs_of_a_law_show_it),
    TEST(watching_a_finished_run_shows_it_once),
    TEST_SLOW(watching_a_run_shows_it_to_its_end, 120),
    TEST_SLOW(watching_for_what_never_comes_is_refused_at_once, 120),
    TEST(a_picture_takes_the_place_of_its_own_data_alone),
    TEST(a_schedule_is_drawn_before_anything_is_trained),
    TEST_SLOW(a_model_its_data_and_its_options_are_drawn, 200),
    TEST_SLOW(what_cannot_be_drawn_is_said_in_a_line, 120),
};

int main(int argc, char **argv) { return suite_run("charlm/plot", tests, sizeof tests / sizeof *tests, argc, argv); }
