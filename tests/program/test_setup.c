/* From options to a trainer: what 0 comes to mean, what a run takes, and weights of a run that another process
 * trains. */
#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "core/program/setup.h"
#include "core/run/json.h"
#include "tests/train/tiny.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const LoopOptions no_loop = {.steps = 0};

static char *run_path(void)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/run", test_folder());
    return path;
}

/* --- what 0 comes to mean --- */

static const Command commands[] = {{"train", COMMAND_TRAIN, NULL, "train", NULL}};
static const Program program = {.name = "tiny", .about = "A program.", .commands = commands, .command_count = 1};

/* What workers and decay-steps are once they were fixed. */
static void expect_fixed(char *const *words, size_t workers, size_t decay_steps)
{
    SharedOptions v;
    Options o;
    Error e;
    char *argv[16] = {"tiny", "train"};
    int argc = 2;
    const OptionTable table = {shared_options, shared_option_count, &v};
    while (*words)
        argv[argc++] = *words++;
    ck_done(options_open(&o, &program, &table, 1, &e) && options_parse(&o, argc, argv, &e), e);
    ck_done(setup_fix(&o, &v, &(Parameters){0}, &(Task){.sides = 1, .longest = {1}, .most_rows = v.batch}, 7, &e), e);
    ck_assert_uint_eq(v.workers, workers);
    ck_assert_uint_eq(v.decay_steps, decay_steps);
    options_close(&o);
}

START_TEST(what_depends_on_the_machine_or_on_later_options_is_fixed)
{
    size_t all = processors_allowed();
    expect_fixed((char *const[]){"--batch=4096", "--steps=90", NULL}, all, 90);
    expect_fixed((char *const[]){"--batch=4096", "--workers=0", "--epochs=3", "--decay-steps=0", NULL}, all, 21);
    expect_fixed((char *const[]){"--batch=4096", "--workers=3", "--decay-steps=5", NULL}, 3, 5);
    expect_fixed((char *const[]){"--batch=2", "--micro-batch=2", "--steps=1", NULL}, 1, 1); /* one micro-batch */
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- what it takes --- */

START_TEST(the_classes_of_memory_make_up_the_whole)
{
    Error e;
    Tiny tiny;
    TrainerOptions o = tiny_trainer(3, 1);
    TrainerPlan plan;
    const Demand demand = {&plan, &o, &tiny.parameters};
    Buffer b = {0};
    Json *j;
    ck_done(tiny_open(&tiny, &tiny_standard, &e), e);
    ck_done(trainer_plan(&plan, &o, &tiny.parameters, &tiny.task, &e), e);
    buffer_print(&b, "{");
    setup_demand_json(&demand, &b);
    buffer_print(&b, "}");
    ck_done(json_read(&j, b.text, b.size, "the demand", &e), e);
    const Json *memory = json_get(j, "memory");
    double sum = 0;
    for (size_t i = 0; i < memory->count; i++) {
        ck_assert_msg(memory->items[i].number > 0, "%s", memory->items[i].key);
        sum += memory->items[i].number;
    }
    ck_assert(sum == json_get(j, "memory_bytes")->number && sum == (double)plan.total);
    ck_assert(json_get(j, "parameters")->number == (double)tiny.parameters.numbers);
    ck_assert(json_get(j, "workers")->number == 3 && json_get(j, "flop_a_step")->number == plan.flop);
    ck_assert_str_eq(json_get_text(j, "device"), "plain");
    ck_assert_str_eq(json_get_text(j, "precision"), "f32");
    json_free(j);
    buffer_free(&b);
    tiny_close(&tiny);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* --- weights of a run --- */

/* Sets every weight to a value, and saves that as a checkpoint, best and last. */
static bool save_value(TinyRun *r, uint64_t step, size_t keep, Error *e)
{
    float *weights = r->trainer.weights.reals;
    const Progression at = {.step = step};
    for (size_t i = 0; i < r->tiny.parameters.size; i++)
        weights[i] = (float)step;
    return checkpoint_save(r->run, &r->trainer, &r->loop.note, &at, false, e) && run_mark(r->run, "last", step, e) &&
           run_mark(r->run, "best", step, e) && run_prune(r->run, keep, e);
}

static float value_of(const TinyRun *r) { return ((const float *)r->trainer.weights.reals)[0]; }

START_TEST(weights_are_found_by_mark_step_and_file)
{
    Error e;
    TinyRun r;
    char file[800];
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    for (uint64_t step = 10; step <= 30; step += 10)
        ck_done(save_value(&r, step, 0, &e), e);
    ck_done(run_mark(r.run, "best", 20, &e), e);
    snprintf(file, sizeof file, "%s/checkpoints/00000010/model.safetensors", r.run->path);
    const struct {
        const char *which;
        float value;
    } cases[] = {{NULL, 20}, {"best", 20}, {"last", 30}, {"10", 10}, {"00000030", 30}, {file, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_done(
            setup_stored_weights(&r.trainer.weights, r.trainer.worker[0].stream, r.run, cases[i].which, NULL, NULL, &e),
            e);
        ck_assert(value_of(&r) == cases[i].value);
    }
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

static void refused(TinyRun *r, const char *which, const char *first, const char *second)
{
    Error e;
    ck_assert_msg(
        !setup_stored_weights(&r->trainer.weights, r->trainer.worker[0].stream, r->run, which, NULL, NULL, &e),
        "%s was found", which);
    ck_assert_msg(strstr(e.text, first) && strstr(e.text, second), "%s", e.text);
}

/* Changes bytes of a file, and not its length. */
static void write_at(const char *path, long at, const char *bytes)
{
    FILE *f = fopen(path, "r+b");
    ck_assert(f && !fseek(f, at, SEEK_SET) && fputs(bytes, f) >= 0 && !fclose(f));
}

START_TEST(what_fits_no_checkpoint_is_not_blamed_on_one)
{
    static const ModelNote other = {"tiny", "{\"gate\": true}"};
    Error e;
    TinyRun r;
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    for (uint64_t step = 10; step <= 30; step += 10)
        ck_done(save_value(&r, step, 0, &e), e);
    ck_assert(!setup_stored_weights(&r.trainer.weights, r.trainer.worker[0].stream, r.run, "20", NULL, &other, &e));
    ck_assert_msg(strstr(e.text, "gate") && !strstr(e.text, "complete checkpoints"), "%s", e.text);
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

START_TEST(what_cannot_be_read_is_named_with_what_can)
{
    Error e;
    TinyRun r;
    char file[800];
    tiny_run_open(&r, run_path(), &tiny_standard, &no_loop);
    for (uint64_t step = 10; step <= 30; step += 10)
        ck_done(save_value(&r, step, 0, &e), e);
    refused(&r, "7", "no checkpoint of step 7 (--weights 7)", "complete checkpoints of the run: 0, 10, 20, 30");
    refused(&r, "worst", "--weights 'worst'", "expected best, last");
    refused(&r, "", "--weights ''", "expected best, last");
    refused(&r, "7x", "--weights '7x'", "expected best, last");
    refused(&r, "-1", "--weights '-1'", "expected best, last");
    refused(&r, r.run->path, r.run->path, "expected best, last"); /* a folder */
    snprintf(file, sizeof file, "%s/checkpoints/00000030/model.safetensors", r.run->path);
    ck_assert_int_eq(truncate(file, 2000), 0);
    refused(&r, NULL, "00000030/model.safetensors ends too early", "complete checkpoints of the run: 0, 10, 20");
    snprintf(file, sizeof file, "%s/checkpoints/00000020/model.safetensors", r.run->path);
    write_at(file, 1900, "other bytes");
    refused(&r, "20", "00000020/model.safetensors is damaged", "; other complete checkpoints of the run: 0, 10");
    ck_done(run_mark(r.run, "best", 40, &e), e);
    refused(&r, "best", "no checkpoint of step 40 (--weights best)", "0, 10, 20");
    tiny_run_close(&r);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* In a process of its own: a run that is trained, as fast as it can be, and keeps one checkpoint. */
static pid_t train_for_ever(const char *path)
{
    TinyRun r;
    Error e;
    pid_t child = fork();
    if (child)
        return child;
    tiny_run_open(&r, path, &tiny_standard, &no_loop);
    for (uint64_t step = 1;; step++)
        if (!save_value(&r, step, 1, &e))
            _exit(1);
}

START_TEST(weights_of_a_run_that_is_trained_are_always_found)
{
    static const char *const marks[] = {"best", "last"};
    Error e;
    TinyRun r;
    char *path = run_path();
    int status;
    tiny_run_open(&r, path, &tiny_standard, &no_loop);
    run_close(r.run);
    pid_t child = train_for_ever(path);
    ck_done(run_open(&r.run, path, false, &e), e);
    float value = 0, before[2] = {0};
    for (int i = 0; i < 300 || value < 1000; i++) {
        ck_done(
            setup_stored_weights(&r.trainer.weights, r.trainer.worker[0].stream, r.run, marks[i % 2], NULL, NULL, &e),
            e);
        value = value_of(&r);
        ck_assert_msg(value >= before[i % 2], "of step %g, after %g", (double)value, (double)before[i % 2]);
        before[i % 2] = value;
    }
    ck_assert(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    tiny_run_close(&r);
}

static const Test tests[] = {TEST(what_depends_on_the_machine_or_on_later_options_is_fixed),
                             TEST(the_classes_of_memory_make_up_the_whole),
                             TEST(weights_are_found_by_mark_step_and_file),
                             TEST(what_cannot_be_read_is_named_with_what_can),
                             TEST(what_fits_no_checkpoint_is_not_blamed_on_one),
                             TEST(weights_of_a_run_that_is_trained_are_always_found)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("program/setup", tests, sizeof tests / sizeof *tests, argc, argv);
}
