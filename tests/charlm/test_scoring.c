/* Bits per byte: that the figure is what its protocol says, computed here one byte at a time in double. */
#include "base/memory.h"
#include "charlm/charlm.h"
#include "charlm/prose.h"
#include "core/run/npy.h"
#include "tests/charlm/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CONTEXT = 16, SCORED = 150 };

/* A run that has learnt something, in few steps. */
static const char *trained(void)
{
    const char *run = fresh_path("run");
    Said s = must("train --run %s " TINY " --steps 100 -q", run);
    said_free(&s);
    return run;
}

/* What the program does in main, up to a crew with the run's weights. */
typedef struct Opened {
    Values v;
    Options options;
    Charlm c;
    Crew crew;
} Opened;

static void open_run(Opened *o, const char *run)
{
    char path[700];
    Error e;
    const OptionTable tables[] = {{shared_options, shared_option_count, &o->v.shared},
                                  {charlm_options, charlm_option_count, &o->v}};
    snprintf(path, sizeof path, "%s", run);
    char *const argv[] = {"charlm", "eval", "--run", path, "--device", "plain", "--precision", "f64", "--workers", "1"};
    ck_done(options_open(&o->options, &charlm_program, tables, 2, &e), e);
    ck_done(options_parse(&o->options, sizeof argv / sizeof *argv, argv, &e), e);
    o->c = (Charlm){.v = &o->v, .options = &o->options};
    o->crew = (Crew){.task = NULL};
    ck_done(charlm_open_run(&o->c, &e), e);
    ck_done(text_open(&o->c.text, NULL, &e), e);
    charlm_task(&o->c, text_part(&o->c.text, SPLIT_VALID), CONTEXT);
    ck_done(charlm_open_crew(&o->c, &o->crew, &e), e);
}

static void close_run(Opened *o)
{
    crew_close(&o->crew);
    charlm_close(&o->c);
    options_close(&o->options);
}

/* -log2 of the probability of the byte behind these. */
static double bits_behind(Opened *o, const unsigned char *bytes, size_t count)
{
    Worker *w = &o->crew.worker[0];
    Batch b;
    Error e;
    double logits[BYTES], sum = 0;
    ck_done(batch_open(&b, &(BatchSize){1, 1, {count}}, &e), e);
    batch_row(&b, 0, count);
    for (size_t i = 0; i < count; i++) {
        b.side[0].ids[i] = bytes[i];
        b.side[0].targets[i] = -1;
    }
    device_rows_upload(&w->rows, w->stream, &b, 0, 1);
    Tensor *y = model_logits(&w->tape, &o->c.model, w->rows.rows, NULL, NULL, 0);
    w->tape.k->download(w->stream, logits, (double *)y->data + (count - 1) * BYTES, sizeof logits);
    tape_reset(&w->tape);
    batch_close(&b);
    for (int i = 0; i < BYTES; i++)
        sum += exp(logits[i]);
    return (log(sum) - logits[bytes[count]]) / log(2);
}

/* The mean over bytes 1 .. SCORED of a part. Byte t is predicted in the first window that holds it, and windows begin
 * at multiples of the stride. */
static double bits_by_hand(Opened *o, Part part, size_t stride)
{
    double sum = 0;
    for (size_t t = 1; t <= SCORED; t++) {
        size_t window = t > CONTEXT ? (t - CONTEXT + stride - 1) / stride : 0, from = window * stride;
        sum += bits_behind(o, part.bytes + from, t - from);
    }
    return sum / SCORED;
}

static double scored(const char *words, const char *run)
{
    Said s = must("eval --run %s --json %s", run, words);
    Json *j = said_json(&s);
    double bits = json_real(j, "bits_per_byte");
    json_free(j);
    said_free(&s);
    return bits;
}

START_TEST(each_stride_gives_what_its_windows_give_by_hand)
{
    static const struct {
        const char *name;
        size_t stride;
    } strides[] = {{"context", CONTEXT}, {"1", 1}, {"5", 5}, {"15", 15}, {"16", 16}};
    const char *run = trained();
    Opened o;
    double found[5];
    open_run(&o, run);
    for (size_t i = 0; i < 5; i++) {
        char words[100];
        snprintf(words, sizeof words, "--bytes %d --stride %s", SCORED, strides[i].name);
        found[i] = scored(words, run);
        ck_assert_double_eq_tol(found[i], bits_by_hand(&o, text_part(&o.c.text, SPLIT_VALID), strides[i].stride), 2e-5);
    }
    ck_assert(found[0] == found[4] && found[0] != found[1] && found[1] < 6);
    ck_assert_double_eq_tol(scored("--bytes 150 --split test", run),
                            bits_by_hand(&o, text_part(&o.c.text, SPLIT_TEST), CONTEXT), 2e-5);
    close_run(&o);
    ck_assert_uint_eq(memory_in_use(), 0);
}
END_TEST

START_TEST(workers_and_batches_do_not_change_the_figure)
{
    const char *run = trained(), *other = fresh_path("other");
    double bits = scored("--workers 1", run);
    ck_assert_double_eq_tol(scored("--workers 2", run), bits, 1e-12);
    ck_assert_double_eq_tol(scored("--workers 5", run), bits, 1e-12);
    Said s = must("train --run %s " TINY
                  " --batch 7 --micro-batch 0 --steps 0 --weights %s/checkpoints/00000100/model.safetensors -q",
                  other, run);
    said_free(&s);
    ck_assert_double_eq_tol(scored("", other), bits, 1e-6);
}
END_TEST

/* 90, 5 and 5 %, one behind the other. */
START_TEST(the_first_byte_of_a_part_is_not_scored)
{
    static const char *const splits[] = {"train", "valid", "test", "all"};
    const size_t part = prose_size / 20, sizes[] = {prose_size - 2 * part, part, part, prose_size};
    const size_t begins[] = {0, prose_size - 2 * part, prose_size - part, 0};
    const char *run = trained();
    Text text;
    Error e;
    ck_done(text_open(&text, NULL, &e), e);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_ptr_eq(text_part(&text, (Split)i).bytes, prose_text + begins[i]);
        Said s = must("eval --run %s --split %s --json", run, splits[i]);
        Json *j = said_json(&s);
        ck_assert(json_real(j, "bytes") == (double)sizes[i] - 1);
        json_free(j);
        said_free(&s);
    }
    text_close(&text);
}
END_TEST

START_TEST(the_last_evaluation_of_training_is_eval)
{
    const char *run = fresh_path("run");
    Said s = must("train --run %s " TINY " --steps 30 --json -q", run);
    Json *j = said_json(&s);
    ck_assert_double_eq_tol(json_real(j, "best"), scored("--bytes 300", run), 1e-6);
    json_free(j);
    said_free(&s);
}
END_TEST

/* Logits and ids as they were dumped, turned into bits per byte again. */
static double bits_of_dump(const char *folder, const unsigned char *text, size_t *rows)
{
    Npy logits, ids;
    char path[800];
    Error e;
    double sum = 0;
    snprintf(path, sizeof path, "%s/l.npy", folder);
    ck_done(npy_read(&logits, path, &e), e);
    snprintf(path, sizeof path, "%s/l.ids.npy", folder);
    ck_done(npy_read(&ids, path, &e), e);
    ck_assert(logits.type == NPY_F32 && logits.rank == 2 && logits.shape[1] == BYTES);
    ck_assert(ids.type == NPY_I32 && ids.rank == 1 && ids.shape[0] == logits.shape[0]);
    *rows = ids.shape[0];
    for (size_t i = 0; i < *rows; i++) {
        const float *row = (const float *)logits.data + i * BYTES;
        int32_t id = ((const int32_t *)ids.data)[i];
        double mass = 0;
        ck_assert_int_eq(id, text[i + 1]); /* in reading order */
        for (int k = 0; k < BYTES; k++)
            mass += exp((double)row[k]);
        sum += log(mass) - (double)row[id];
    }
    npy_free(&logits);
    npy_free(&ids);
    return sum / (double)*rows / log(2);
}

START_TEST(dumped_logits_reproduce_the_figure)
{
    const char *run = trained(), *folder = fresh_path("dump");
    Text text;
    Error e;
    size_t rows;
    write_in(folder, "here", "", 0);
    ck_done(text_open(&text, NULL, &e), e);
    Part part = text_part(&text, SPLIT_VALID);
    for (int stride = 3; stride <= CONTEXT; stride += 13) {
        Said s = must("eval --run %s --bytes %d --stride %d --dump-logits %s/l.npy --json", run, SCORED, stride,
                      folder);
        Json *j = said_json(&s);
        ck_assert_double_eq_tol(bits_of_dump(folder, part.bytes, &rows), json_real(j, "bits_per_byte"), 1e-5);
        ck_assert_uint_eq(rows, SCORED);
        json_free(j);
        said_free(&s);
    }
    text_close(&text);
}
END_TEST

START_TEST(another_text_than_the_runs_can_be_scored)
{
    const char *run = trained(), *folder = fresh_path("folder");
    char zeros[400] = {0}, words[800];
    write_in(folder, "zeros", zeros, sizeof zeros);
    snprintf(words, sizeof words, "--data %s/zeros --split all", folder);
    ck_assert(scored(words, run) > 5); /* prose holds none */
}
END_TEST

static const Test tests[] = {TEST(each_stride_gives_what_its_windows_give_by_hand),
                             TEST(workers_and_batches_do_not_change_the_figure),
                             TEST(the_first_byte_of_a_part_is_not_scored),
                             TEST(the_last_evaluation_of_training_is_eval),
                             TEST(dumped_logits_reproduce_the_figure),
                             TEST(another_text_than_the_runs_can_be_scored)};

int main(int argc, char **argv)
{
    command_folders_in_memory();
    return suite_run("charlm/scoring", tests, sizeof tests / sizeof *tests, argc, argv);
}
