/* charlm as a user calls it: what each command gives, in words and as JSON, and how it refuses. */
#include "base/file.h"
#include "base/memory.h"
#include "charlm/prose.h"
#include "core/text/archive.h"
#include "tests/charlm/tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run of this many steps of the tiny model. */
static const char *trained(int steps)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --steps %d -q", run, steps);
    return run;
}

static bool has(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    bool is = file_exists(path);
    memory_free(path);
    return is;
}

START_TEST(no_steps_make_a_run_that_can_be_used)
{
    const char *run = trained(0);
    ck_assert(has(run, "config.json") && has(run, "log.tsv") && has(run, "best") && has(run, "last"));
    ck_assert(has(run, "checkpoints/00000000/model.safetensors"));
    Json *j = must_json("eval --run %s --json", run);
    ck_assert_double_eq_tol(json_real(j, "bits_per_byte"), 8, 0.05); /* it knows nothing yet */
    json_free(j);
}

START_TEST(weights_of_another_file_begin_a_run)
{
    const char *run = trained(20), *copy = fresh_path("copy");
    size_t first, second;
    Said s = must("train --run %s " TINY " --steps 0 --weights %s/checkpoints/00000020/model.safetensors -q", copy,
                  run);
    char *a = read_in(run, "checkpoints/00000020/model.safetensors", &first);
    char *b = read_in(copy, "checkpoints/00000000/model.safetensors", &second);
    ck_assert(first == second && memcmp(a, b, first) == 0);
    memory_free(a);
    memory_free(b);
    said_free(&s);
}

START_TEST(json_has_the_fields_that_scripts_rely_on)
{
    const char *run = fresh_path("run");
    Json *j = must_json("train --run %s " TINY " --steps 12 --eval-every 5 --json", run);
    ck_assert_str_eq(json_get_text(j, "run"), run);
    ck_assert(json_real(j, "steps") == 12 && json_real(j, "tokens") == 12 * 4 * 16 && json_real(j, "seconds") > 0);
    ck_assert(json_real(j, "best") > 3 && json_real(j, "best") < 8);
    json_free(j);

    j = must_json("eval --run %s --split test --stride 4 --bytes 100 --json", run);
    ck_assert_str_eq(json_get_text(j, "split"), "test");
    ck_assert(json_real(j, "bytes") == 100 && json_real(j, "context") == 16 && json_real(j, "stride") == 4);
    ck_assert(json_real(j, "bits_per_byte") > 3 && json_real(j, "bits_per_byte") < 8);
    json_free(j);

    j = must_json("sample --run %s --prompt abc --length 50 --temperature 5 --json", run);
    ck_assert(json_get_text(j, "text") && json_real(j, "characters") == 50 && json_real(j, "characters_per_s") > 0);
    ck_assert(json_real(j, "tokens") == 50 && json_real(j, "tokens_per_s") == json_real(j, "characters_per_s"));
    ck_assert(json_real(j, "prompt_tokens") == 3 && json_real(j, "prompt_tokens_per_s") > 0);
    json_free(j);

    j = must_json("info --run %s --json", run);
    ck_assert(json_real(j, "parameters") > 10000 && json_real(j, "memory_bytes") > 40000);
    json_free(j);

    static const char *const fields[] = {"threads",      "parameters",  "step_s",    "fastest_s",
                                         "tokens_per_s", "flop_a_step", "first_loss"};
    j = must_json("bench --dim 16 --heads 2 --depth 1 --context 16 --batch 4 --steps 3 --json");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        ck_assert_msg(json_real(j, fields[i]) > 0, "%s", fields[i]);
    ck_assert(json_get_text(j, "peer") && json_get_text(j, "device") && json_get_text(j, "precision"));
    json_free(j);
}

static double sum_of(const Json *object)
{
    double sum = 0;
    for (size_t i = 0; i < object->count; i++)
        sum += object->items[i].number;
    return sum;
}

START_TEST(a_dry_run_gives_its_plan_as_json)
{
    const char *folder = fresh_path("folder");
    char data[800];
    write_in(folder, "text", prose_text, 20000);
    snprintf(data, sizeof data, "--data %s/text", folder);
    Said s = must("train --run %s/run " TINY " --steps 12 %s --dry-run --json", folder, data);
    ck_assert(!has(folder, "run/lock"));
    ck_assert_str_eq(s.err, "");
    Json *j = said_json(&s);
    const Json *memory = json_get(j, "memory");
    ck_assert(json_real(j, "steps") == 12 && json_real(j, "minutes") == 0 && json_real(j, "tokens_a_step") == 64);
    ck_assert(json_real(j, "workers") == 2 && json_real(memory, "program") > 20000);
    ck_assert(json_real(memory, "weights") > 0 && json_real(memory, "gradients") > 0 &&
              json_real(memory, "moments") > 0);
    ck_assert(sum_of(memory) == json_real(j, "memory_bytes"));

    Said info = must(
        "info --preset study --dim 16 --heads 2 --depth 1 --context 16 --batch 4 --micro-batch 1 --workers 2 "
        "--json");
    Json *same = said_json(&info); /* of the same model; the program itself was another process */
    ck_assert(json_real(same, "parameters") == json_real(j, "parameters"));
    ck_assert(json_real(same, "flop_a_step") == json_real(j, "flop_a_step"));
    ck_assert(json_real(json_get(same, "memory"), "activations") == json_real(memory, "activations"));
    json_free(same);
    json_free(j);
    said_free(&info);
    said_free(&s);

    s = must("train %s --batch 4 --context 16 --epochs 3 --dry-run --json", data); /* 18,000 bytes to train on */
    j = said_json(&s);
    ck_assert(json_real(j, "steps") == 3 * 282);
    json_free(j);
    said_free(&s);
}

START_TEST(any_number_of_heads_can_be_planned)
{
    works("info --dim 1024 --heads 1024 --kv-heads 512 --depth 24 --context 8 --attention composed --distances none");
}

START_TEST(info_plans_what_train_does)
{
    static const char model[] =
        "--preset study --dim 16 --heads 2 --depth 1 --context 16 --batch 8 --workers 1 --device emulated --json";
    Json *info = must_json("info %s", model), *train = must_json("train %s --dry-run", model);
    ck_assert(json_real(info, "memory_bytes") > 0);
    ck_assert(json_real(json_get(info, "memory"), "activations") ==
              json_real(json_get(train, "memory"), "activations"));
    json_free(info);
    json_free(train);
}

START_TEST(json_has_no_best_where_nothing_was_scored)
{
    Json *j = must_json("train --run %s " TINY " --steps 0 --json", fresh_path("run"));
    ck_assert(json_get(j, "best") && json_get(j, "best")->kind == JSON_NULL);
    json_free(j);
}

START_TEST(results_and_messages_go_different_ways)
{
    const char *run = fresh_path("run");
    Said train = must("train --run %s " TINY " --steps 3", run);
    ck_assert(strstr(train.out, run) && strstr(train.out, "3 steps") && strstr(train.out, "bits/byte"));
    ck_assert(strstr(train.err, run) && strstr(train.err, "step ") && strstr(train.err, "new best"));
    said_free(&train);
    Said quiet = must("train --run %s " TINY " --steps 3 --quiet", fresh_path("quiet"));
    ck_assert_str_eq(quiet.err, "");
    said_free(&quiet);
    Said eval = must("eval --run %s --bytes 200", run);
    ck_assert(strstr(eval.out, "(valid, 200 bytes scored, context 16, stride 16)"));
    ck_assert_str_eq(eval.err, "");
    said_free(&eval);
    Said info = must("info --run %s", run);
    ck_assert(strstr(info.out, "blocks.0.attention.query.weight") && strstr(info.out, "best 3"));
    said_free(&info);
}

START_TEST(wrong_usage_exits_with_2_and_one_line)
{
    const char *run = trained(1);
    refused(2, "which command", " ");
    refused(2, "trian", "trian");
    refused(2, "--steps", "train --stepz 3");
    refused(2, "dim", "train --dim many");
    refused(2, "dim", "train --dim");
    refused(2, "batch", "train --batch 0");
    refused(2, "--attention composed", "train --score additive --steps 1");
    refused(2, "--distances none", "train --attention composed --score bilinear --distances bias");
    refused(2, "preset", "train --preset hour");
    refused(2, "context", "eval --run %s --context 8", run);
    refused(2, "text.txt", "train text.txt");
    refused(2, "--run", "eval");
    refused(2, "--run", "sample --length 3");
    refused(2, "--resume", "train --run %s --resume %s", run, run);
    refused(2, "--weights", "train --resume %s --weights best", run);
    refused(2, "--betas", "train --run %s/new --betas 0.9", run);
    refused(2, "--save-every", "train --run %s/new --save-every 3x", run);
    refused(2, "--save-every", "train --run %s/new --save-every nan", run);
    refused(2, "--save-every", "train --run %s/new --save-every 0x10", run);
    refused(2, "--save-every", "train --run %s/new --save-every 2.5", run);
    refused(2, "--heads", "train --run %s/new --dim 15 --heads 2", run);
    refused(2, "--heads", "info --dim 15 --heads 2");
    refused(2, "--distances none", "info --attention composed --distances alibi");
    refused(2, "--stride", "eval --run %s --stride 0", run);
    refused(2, "--stride", "eval --run %s --stride 17", run);
    refused(2, "--stride", "eval --run %s --stride all", run);
    ck_assert(!has(run, "new/lock")); /* and nothing was made */
}

START_TEST(failed_work_exits_with_1_and_one_line)
{
    const char *run = trained(1);
    char *path = path_join(run, "checkpoints/00000001/model.safetensors"), *bytes;
    size_t size;
    Error e;
    refused(1, "nowhere", "eval --run %s/nowhere", run);
    refused(1, "nowhere", "train --resume %s/nowhere", run);
    refused(1, "nowhere", "eval --run %s --data %s/nowhere", run, run);
    refused(1, "nowhere", "train --run %s/new --data %s/nowhere", run, run);
    refused(1, "nowhere", "train --run %s/new --data %s/nowhere --dry-run", run, run);
    refused(1, "step 7", "eval --run %s --weights 7", run);
    refused(1, "nowhere", "sample --run %s --prompt-file %s/nowhere", run, run);
    write_in(run, "packed", "PK\003\004 and so on", 14);
    refused(1, "packed is packed (zip): unpack it first", "sample --run %s --prompt-file %s/packed", run, run);
    write_in(run, "short", "a line of text", 14);
    refused(1, "short: its training part has 14 bytes; a context of", "train --run %s/new --data %s/short", run, run);
    refused(1, "safetensors", "sample --run %s --weights %s/config.json", run, run);
    refused(1, "not empty: it holds a run", "train --run %s", run);
    refused(1, "--weights nowhere: there is no such file", "train --run %s/new --weights nowhere", run);
    ck_assert(!has(run, "new/lock")); /* and nothing was made */
    ck_done(file_read(path, &bytes, &size, &e), e);
    ck_done(file_write(path, bytes, size - 10, &e), e);
    refused(1, "model.safetensors", "eval --run %s", run);
    memory_free(bytes);
    memory_free(path);
}

START_TEST(a_folder_that_holds_something_is_refused_and_left_alone)
{
    const char *folder = fresh_path("folder");
    char **names;
    size_t count;
    Error e;
    write_in(folder, "letter.txt", "Dear", 4);
    refused(1, "not empty", "train --run %s " TINY " --steps 1", folder);
    ck_done(folder_list(folder, &names, &count, &e), e);
    ck_assert_uint_eq(count, 1);
    folder_list_free(names, count);
}

/* 640 bytes: 576 to train on, 32 to validate with, 32 to test with. */
START_TEST(data_too_small_is_refused_with_the_numbers)
{
    const char *folder = fresh_path("folder");
    write_in(folder, "few.txt", prose_text, 640);
    write_in(folder, "none.txt", "", 0);
    refused(1, "576", "train --run %s/run " TINY " --context 600 --data %s/few.txt", folder, folder);
    refused(1, "601", "train --run %s/run " TINY " --context 600 --data %s/few.txt", folder, folder);
    refused(1, "601", "train --run %s/run " TINY " --context 600 --data %s/few.txt --dry-run", folder, folder);
    refused(1, "0 bytes", "train --run %s/run " TINY " --data %s/none.txt", folder, folder);
    ck_assert(!has(folder, "run/lock"));
    works("train --run %s/run " TINY " --context 100 --data %s/few.txt --steps 2 -q", folder, folder);
}

START_TEST(packed_data_is_the_data_inside)
{
    const char *folder = fresh_path("folder");
    char shell[800];
    size_t first, second;
    if (!text_reads_archives()) {
        test_skip("packed_data_is_the_data_inside", "this build has no libarchive");
        return;
    }
    write_in(folder, "text.txt", prose_text, 20000);
    snprintf(shell, sizeof shell, "gzip -k %s/text.txt", folder);
    ck_assert_int_eq(system(shell), 0);
    Said plain = must("train --run %s/plain " TINY " --data %s/text.txt --steps 10 -q", folder, folder);
    Said packed = must("train --run %s/packed " TINY " --data %s/text.txt.gz --steps 10 -q", folder, folder);
    char *a = read_in(folder, "plain/checkpoints/00000010/model.safetensors", &first);
    char *b = read_in(folder, "packed/checkpoints/00000010/model.safetensors", &second);
    ck_assert(first == second && memcmp(a, b, first) == 0);
    memory_free(a);
    memory_free(b);
    said_free(&plain);
    said_free(&packed);
    plain = must("train --resume %s/packed --data %s/text.txt --steps 12 -q", folder, folder); /* the same content */
    said_free(&plain);
}

/* "  in all   123.4 MiB" */
static double planned_bytes(const char *text)
{
    char unit[8] = "";
    double value = 0;
    const char *line = strstr(text, "in all");
    ck_assert_msg(line && sscanf(line, "in all %lf %7s", &value, unit) == 2, "%s", text);
    if (!strcmp(unit, "KiB"))
        return value * 1024;
    if (!strcmp(unit, "MiB"))
        return value * 1024 * 1024;
    ck_assert_str_eq(unit, "GiB");
    return value * 1024 * 1024 * 1024;
}

#define LARGE                                                                                                          \
    "--dim 64 --heads 2 --depth 6 --context 256 --batch 32 --micro-batch 16 --minutes 0 --eval-bytes 300 --steps 2 "   \
    "--init gpt2"

static void compare_peak(const char *more, const char *run)
{
    Said plan = must("train --dry-run " LARGE " %s --run %s", more, run);
    ck_assert(!has(run, "config.json")); /* a dry run makes nothing */
    Said s = must("train " LARGE " %s --run %s -q", more, run);
    double planned = planned_bytes(plan.out), peak = (double)s.peak;
    ck_assert_msg(SANITIZED || (peak > 0.9 * planned && peak < 1.1 * planned), "%s: %.1f MiB planned, %.1f at the peak",
                  more, planned / 1048576, peak / 1048576);
    if (getenv("VERBOSE"))
        printf("%s: %.1f MiB planned, %.1f at the peak\n", more, planned / 1048576, peak / 1048576);
    said_free(&plan);
    said_free(&s);
}

START_TEST(the_plan_is_within_a_tenth_of_the_peak)
{
    compare_peak("--workers 1", fresh_path("one"));
    compare_peak("--workers 2", fresh_path("two"));
    compare_peak("--workers 1 --recompute", fresh_path("recomputed"));
}

static const Test tests[] = {TEST(no_steps_make_a_run_that_can_be_used),
                             TEST(weights_of_another_file_begin_a_run),
                             TEST(json_has_the_fields_that_scripts_rely_on),
                             TEST(a_dry_run_gives_its_plan_as_json),
                             TEST(any_number_of_heads_can_be_planned),
                             TEST(info_plans_what_train_does),
                             TEST(json_has_no_best_where_nothing_was_scored),
                             TEST(results_and_messages_go_different_ways),
                             TEST(wrong_usage_exits_with_2_and_one_line),
                             TEST(failed_work_exits_with_1_and_one_line),
                             TEST(a_folder_that_holds_something_is_refused_and_left_alone),
                             TEST(data_too_small_is_refused_with_the_numbers),
                             TEST(packed_data_is_the_data_inside),
                             TEST_SLOW(the_plan_is_within_a_tenth_of_the_peak, 180)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/command_line", tests, sizeof tests / sizeof *tests, argc, argv);
}
