/* What was measured about a machine is kept in a file of its user's cache, and in each run. */
#include "base/file.h"
#include "base/memory.h"
#include "kernels/cpu/level.h"
#include "tests/charlm/tiny.h"
#include "tests/same_runs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BENCH "bench --dim 16 --heads 2 --depth 1 --context 16 --batch 2 --steps 1"

/* Choices of which one rounds otherwise than this machine's own, whichever those are. */
#define ONE     "default bf16-short=own bf16-long=own bf16-held=own bf16-by=widening chunk=64"
#define ANOTHER "default bf16-short=own bf16-long=own bf16-held=own bf16-by=dots chunk=512"

static const char *fresh_cache(void)
{
    const char *cache = fresh_path("cache");
    setenv("XDG_CACHE_HOME", cache, 1);
    unsetenv("ATTEND_TUNING");
    return cache;
}

/* The only file there; to be freed. */
static char *only_file(const char *cache)
{
    char **names, *folder = path_join(cache, "attend"), *path;
    size_t count;
    Error e;
    ck_assert_msg(folder_list(folder, &names, &count, &e), "%s", e.text);
    ck_assert_uint_eq(count, 1);
    path = path_join(folder, names[0]);
    folder_list_free(names, count);
    memory_free(folder);
    return path;
}

static char *content(const char *path, size_t *size)
{
    char *text;
    Error e;
    ck_assert_msg(file_read(path, &text, size, &e), "%s", e.text);
    return text;
}

/* The line of `bench` that begins with "tuning: ", without that; to be freed. */
static char *benched(void)
{
    Said s = must(BENCH);
    char *at = strstr(s.out, "tuning: ");
    ck_assert_msg(at, "%s", s.out);
    at[strcspn(at, "\n")] = 0;
    char *text = memory_string(at + 8);
    said_free(&s);
    return text;
}

static void expect_content(const char *path, const char *bytes, size_t size)
{
    size_t now;
    char *text = content(path, &now);
    ck_assert(now == size && !memcmp(text, bytes, size));
    memory_free(text);
}

START_TEST(bench_prints_what_was_measured_and_the_next_start_reads_it)
{
    const char *cache = fresh_cache();
    char *first = benched(), *path = only_file(cache), *second;
    size_t size;
    char *text = content(path, &size);
    ck_assert_msg(strstr(text, first), "%s", text);
    second = benched();
    ck_assert_str_eq(first, second);
    expect_content(path, text, size);
    memory_free(first);
    memory_free(second);
    memory_free(text);
    memory_free(path);
}

START_TEST(a_damaged_file_is_measured_again)
{
    const char *cache = fresh_cache();
    memory_free(benched());
    char *path = only_file(cache);
    size_t size, now;
    char *text = content(path, &size);
    for (size_t i = 0; i < 8; i++) {
        const size_t written = i < 6 ? size : i == 6 ? size - 1 : 0;
        char *damaged = memory_get(size + 1, 1);
        Error e;
        memcpy(damaged, text, size);
        if (i < 6)
            damaged[i * size / 6 + 2] ^= 1;
        ck_assert_msg(file_write(path, damaged, written, &e), "%s", e.text);
        memory_free(benched());
        char *after = content(path, &now); /* which may have chosen otherwise */
        ck_assert_msg(now > 100 && (now != written || memcmp(after, damaged, written) != 0) &&
                          strstr(after, "bf16-by="),
                      "%zu: %zu of %zu: %s", i, now, size, after);
        memory_free(after);
        memory_free(damaged);
    }
    memory_free(text);
    memory_free(path);
}

START_TEST(no_link_is_followed)
{
    const char *cache = fresh_cache(), *other = fresh_path("other");
    memory_free(benched());
    char *path = only_file(cache), *folder = path_join(cache, "attend"), *inside = path_join(other, "file");
    size_t size;
    char *text = content(path, &size);
    Error e;
    ck_assert(folder_make(other, &e) && file_write(inside, "mine", 4, &e));
    ck_assert(unlink(path) == 0 && symlink(inside, path) == 0);
    memory_free(benched());
    expect_content(inside, "mine", 4);
    ck_assert(folder_remove(folder, &e) && symlink(other, folder) == 0);
    memory_free(benched());
    char **names;
    size_t count;
    ck_assert(folder_list(other, &names, &count, &e));
    ck_assert_uint_eq(count, 1);
    folder_list_free(names, count);
    memory_free(text);
    memory_free(inside);
    memory_free(folder);
    memory_free(path);
}

/* Neither is a cache that cannot be written, nor one that is nowhere, an error. */
START_TEST(without_a_place_each_start_measures)
{
    fresh_cache();
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    memory_free(benched());
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    memory_free(benched());
    setenv("ATTEND_TUNING", "f32-short=theirs", 1);
    refused(1, "ATTEND_TUNING: 'f32-short=theirs'", BENCH);
}

#define HOW TINY " --dim 80 --micro-batch 0 --batch 40 --precision bf16 -q"

START_TEST(a_run_goes_on_with_the_choices_that_it_began_with)
{
    const char *whole = fresh_path("whole"), *halves = fresh_path("halves"), *other = fresh_path("other");
    fresh_cache();
    setenv("ATTEND_TUNING", ONE, 1);
    works("train --run %s " HOW " --steps 6", whole);
    works("train --run %s " HOW " --steps 3", halves);
    setenv("ATTEND_TUNING", ANOTHER, 1);
    works("train --run %s " HOW " --steps 6", other);
    fresh_cache(); /* empty: what this machine measures is another choice */
    works("train --resume %s --steps 6 -q", halves);
    expect_same(whole, halves, "checkpoints/00000006/model.safetensors");
    expect_same(whole, halves, "checkpoints/00000006/state.safetensors");
    size_t size, now;
    char *a = read_in(whole, "checkpoints/00000006/model.safetensors", &size),
         *b = read_in(other, "checkpoints/00000006/model.safetensors", &now);
    if (cpu_widening(cpu_level(NULL))) /* without an instruction for pairs both are widened, to the same bits */
        ck_assert(size == now && memcmp(a, b, size) != 0);
    memory_free(a);
    memory_free(b);
    a = read_in(halves, "config.json", &size);
    ck_assert_msg(strstr(a, "bf16-by=widening chunk=64"), "%s", a);
    memory_free(a);
}

START_TEST(what_the_environment_changes_on_resume_is_said)
{
    const char *run = fresh_path("run");
    size_t size;
    fresh_cache();
    setenv("ATTEND_TUNING", ONE, 1);
    works("train --run %s " TINY " --steps 1 -q", run);
    Said s = must("train --resume %s --steps 2", run);
    ck_assert_msg(!strstr(s.err, "was trained with"), "%s", s.err);
    said_free(&s);
    setenv("ATTEND_TUNING", ANOTHER, 1);
    setenv("ATTEND_CPU", cpu_levels[0].name, 1);
    s = must("train --resume %s --steps 3", run);
    ck_assert_msg(strstr(s.err, "was trained with the choices f32-short=") && strstr(s.err, "chunk=512"), "%s", s.err);
    ck_assert_msg(!cpu_levels[1].name || strstr(s.err, "was trained with the instructions "), "%s", s.err);
    said_free(&s);
    unsetenv("ATTEND_TUNING");
    unsetenv("ATTEND_CPU");
    char *text = read_in(run, "config.json", &size), *at = strstr(text, "chunk=512");
    Error e;
    ck_assert_ptr_nonnull(at);
    at[6] = 'x';
    char *config = path_join(run, "config.json");
    ck_assert_msg(file_write(config, text, size, &e), "%s", e.text);
    memory_free(text);
    memory_free(config);
    refused(1, "/run/config.json, 'tuning': 'chunk=x12' is no choice", "train --resume %s --steps 4", run);
}

START_TEST(bench_tells_programs_what_it_ran_with)
{
    fresh_cache();
    setenv("ATTEND_TUNING", ONE, 1);
    Json *j = must_json(BENCH " --json");
    ck_assert_str_eq(json_get_text(j, "instructions"), cpu_level(NULL)->name);
    ck_assert_ptr_nonnull(strstr(json_get_text(j, "tuning"), "bf16-by=widening chunk=64"));
    json_free(j);
}

START_TEST(an_option_pins_before_the_environment)
{
    const char *run = fresh_path("run");
    size_t size;
    fresh_cache();
    setenv("ATTEND_TUNING", "chunk=64", 1);
    works("train --run %s " TINY " --steps 1 -q --tuning bf16-by=widening,chunk=128", run);
    char *config = read_in(run, "config.json", &size);
    ck_assert_msg(strstr(config, "bf16-by=widening chunk=128"), "%s", config);
    memory_free(config);
    Said s = must("train --resume %s --steps 2 -q --tuning chunk=256", run);
    ck_assert_msg(strstr(s.err, "continues with") && strstr(s.err, "chunk=256"), "%s", s.err);
    said_free(&s);
    refused(2, "--tuning: 'chunk=63' is no choice", "eval --run %s --tuning bf16-by=dots,chunk=63", run);
}

START_TEST(bench_without_steps_prints_what_is_chosen)
{
    fresh_cache();
    setenv("ATTEND_TUNING", ONE, 1);
    Said s = must("bench --steps 0 --preset study");
    ck_assert_msg(!strncmp(s.out, "tuning: ", 8) && strchr(s.out, '\n')[1] == 0, "%s", s.out);
    ck_assert_ptr_nonnull(strstr(s.out, "bf16-by=widening chunk=64"));
    said_free(&s);
    Json *j = must_json("bench --steps 0 --preset study --json");
    ck_assert_ptr_nonnull(strstr(json_get_text(j, "tuning"), "bf16-by=widening chunk=64"));
    json_free(j);
    refused(2, "plain chooses nothing", "bench --steps 0 --preset study --device plain");
    refused(1, "f64", "bench --steps 0 --preset study --precision f64");
}

int main(int argc, char **argv)
{
    static const Test tests[] = {
        TEST(bench_prints_what_was_measured_and_the_next_start_reads_it),
        TEST(a_damaged_file_is_measured_again),
        TEST(no_link_is_followed),
        TEST(without_a_place_each_start_measures),
        TEST(a_run_goes_on_with_the_choices_that_it_began_with),
        TEST(what_the_environment_changes_on_resume_is_said),
        TEST(bench_tells_programs_what_it_ran_with),
        TEST(an_option_pins_before_the_environment),
        TEST(bench_without_steps_prints_what_is_chosen),
    };
    return suite_run("charlm/tuned", tests, sizeof tests / sizeof *tests, argc, argv);
}
