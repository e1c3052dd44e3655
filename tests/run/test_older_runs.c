/* Runs that an earlier version made continue as if it went on with them: tests/fixtures/runs.sh says how they were
 * made. */
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS "tests/fixtures/runs"

static const char *const programs[] = {"charlm", "classifier", "encdec"};

static void copy(const char *from, const char *to)
{
    char words[2000];
    snprintf(words, sizeof words, "cp -r '%s' '%s'", from, to);
    ck_assert_int_eq(system(words), 0);
}

static Safetensors *opened(const char *path)
{
    Error e = {{0}};
    Safetensors *file;
    ck_assert_msg(safetensors_open(&file, path, &e), "%s", e.text);
    return file;
}

static unsigned char *bytes_of(const Safetensors *file, const SafeTensor *t, size_t *size)
{
    Error e = {{0}};
    *size = safe_elements(t) * safe_type_size(t->type);
    unsigned char *bytes = memory_get(*size, 1);
    ck_assert_msg(safetensors_read(file, t, t->type, bytes, safe_elements(t), &e), "%s", e.text);
    return bytes;
}

static void same_tensors(const char *path, const char *expected)
{
    Safetensors *left = opened(path), *right = opened(expected);
    ck_assert_uint_gt(safetensors_count(right), 5);
    ck_assert_uint_eq(safetensors_count(left), safetensors_count(right));
    for (size_t i = 0; i < safetensors_count(right); i++) {
        const SafeTensor *r = safetensors_at(right, i), *l = safetensors_find(left, r->name);
        size_t size, other;
        ck_assert_msg(l && l->type == r->type, "%s: has no tensor %s as it was", path, r->name);
        unsigned char *a = bytes_of(left, l, &size), *b = bytes_of(right, r, &other);
        ck_assert_msg(size == other && !memcmp(a, b, size), "%s: %s has other bits", path, r->name);
        memory_free(a);
        memory_free(b);
    }
    safetensors_close(left);
    safetensors_close(right);
}

START_TEST(training_goes_on_to_the_same_bits)
{
    char from[200], model[900];
    const char *run = fresh_path("run");
    command_program(programs[_i]);
    snprintf(from, sizeof from, RUNS "/%s", programs[_i]);
    copy(from, run);
    works("train --resume %s --steps 40 -q", run);
    snprintf(from, sizeof from, RUNS "/%s.safetensors", programs[_i]);
    snprintf(model, sizeof model, "%s/checkpoints/00000040/model.safetensors", run);
    same_tensors(model, from);
    size_t size;
    char *log = read_in(run, "log.tsv", &size);
    ck_assert_ptr_null(strstr(log, "piece")); /* its first line is in the words of today */
    memory_free(log);
}

/* What the program prints is what FILE holds. */
static void prints(const char *file, Said *s)
{
    size_t size;
    char *expected = read_in(RUNS, file, &size);
    ck_assert_ptr_nonnull(expected);
    ck_assert_msg(s->out_size == size && !memcmp(s->out, expected, size), "not as in " RUNS "/%s: %s", file, s->out);
    memory_free(expected);
    said_free(s);
}

START_TEST(answers_are_the_same)
{
    size_t size, line = 0;
    command_program("charlm");
    Said s = must("sample --run " RUNS "/charlm --weights last --prompt The_ --length 80 --seed 2");
    prints("charlm.txt", &s);
    command_program("classifier");
    s = must("predict --run " RUNS "/classifier --weights last --json bridges");
    prints("classifier.txt", &s);
    char *lines = read_in(RUNS, "lines.en", &size);
    for (int i = 0; i < 3; i++)
        line += strcspn(lines + line, "\n") + 1;
    command_program("encdec");
    command_input(lines, line);
    s = must("translate --run " RUNS "/encdec --weights last");
    prints("encdec.txt", &s);
    memory_free(lines);
}

static const Test tests[] = {
    TEST_LOOP(training_goes_on_to_the_same_bits, 3),
    TEST(answers_are_the_same),
};

int main(int argc, char **argv) { return suite_run("run/older_runs", tests, sizeof tests / sizeof *tests, argc, argv); }
