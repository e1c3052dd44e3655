/* Bits per byte: that the figure is what its protocol says, computed here one byte at a time in double. */
#include "base/memory.h"
#include "charlm/prose.h"
#include "core/research/statistics.h"
#include "core/session/session.h"
#include "tests/charlm/opened.h"
#include "tests/charlm/tiny.h"
#include "tests/each.h"
#include "tests/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CONTEXT = 16, SCORED = 150 };

/* A run that has learned something, in few steps; and of another kind of network. */
static const char *trained_as(const char *words)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --steps 100 -q %s", run, words);
    return run;
}

static const char *trained(void) { return trained_as(""); }

/* In double, with the built-in text. */
static void open_run(Opened *o, const char *run)
{
    Error e;
    opened_run(o, run, "plain", "f64");
    ck_done(text_open(&o->c.text, NULL, &e), e);
}

/* -log2 of the probability of the byte after these. */
static double bits_behind(Opened *o, const unsigned char *bytes, size_t count)
{
    Worker *w = &o->trainer.worker[0];
    Batch b;
    Error e;
    double logits[BYTES], sum = 0;
    ck_done(batch_open(&b, &(BatchSize){1, 1, {count}, 0, 0}, &e), e);
    batch_row(&b, 0, count);
    for (size_t i = 0; i < count; i++) {
        b.side[0].ids[i] = bytes[i];
        b.side[0].targets[i] = -1;
    }
    ck_done(session_doubles(w, session_run(w, &b, opened_logits, &o->c), (count - 1) * BYTES, BYTES, logits, &e), e);
    session_end(w);
    batch_close(&b);
    for (int i = 0; i < BYTES; i++)
        sum += exp(logits[i]);
    return (log(sum) - logits[bytes[count]]) / log(2);
}

/* The mean over bytes 1 .. count of a part. Byte t is predicted in the first window that holds it, and windows begin
 * at multiples of the stride. */
static double bits_by_hand(Opened *o, Part part, size_t count, size_t stride)
{
    double sum = 0;
    for (size_t t = 1; t <= count; t++) {
        size_t window = t > CONTEXT ? (t - CONTEXT + stride - 1) / stride : 0, from = window * stride;
        sum += bits_behind(o, part.bytes + from, t - from);
    }
    return sum / (double)count;
}

static double scored(const char *words, const char *run)
{
    Json *j = must_json("eval --run %s --json %s", run, words);
    double bits = json_real(j, "bits_per_byte");
    json_free(j);
    return bits;
}

#define COMPOSED "--attention composed --distances none --positions learned"

static const char *const networks[] = {"", "--depth 2 --norm pre --positions sinusoid",
                                       "--depth 2 " COMPOSED " --window 5 --head-size 5 --value-size 3"};

START_TEST(each_stride_gives_what_its_windows_give_by_hand)
{
    const char *run = trained_as(networks[_i]);
    Opened o;
    double found[CONTEXT + 1];
    char words[100];
    open_run(&o, run);
    Part part = text_part(&o.c.text, SPLIT_VALID);
    for (size_t stride = 1; stride <= CONTEXT; stride++) {
        snprintf(words, sizeof words, "--bytes %d --stride %zu", SCORED, stride);
        found[stride] = scored(words, run);
        ck_assert_double_eq_tol(found[stride], bits_by_hand(&o, part, SCORED, stride), 2e-5);
        ck_assert(found[stride] < 6 && (stride == 1 || found[stride] != found[stride - 1]));
    }
    ck_assert(scored("--bytes 150 --stride context", run) == found[CONTEXT]);
    ck_assert_double_eq_tol(scored("--bytes 150 --split test", run),
                            bits_by_hand(&o, text_part(&o.c.text, SPLIT_TEST), SCORED, CONTEXT), 2e-5);
    opened_close(&o);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* Nats a byte that a window scores, which is all of it but the `old` first, as they are with the weights of now. */
static double nats_of_window(Opened *o, const unsigned char *bytes, size_t count, size_t old)
{
    Worker *w = &o->trainer.worker[0];
    Batch b;
    Error e;
    double logits[CONTEXT * BYTES], nats = 0;
    ck_done(batch_open(&b, &(BatchSize){1, 1, {count}, 0, 0}, &e), e);
    batch_row(&b, 0, count);
    for (size_t i = 0; i < count; i++) {
        b.side[0].ids[i] = bytes[i];
        b.side[0].targets[i] = -1;
    }
    ck_done(session_doubles(w, session_run(w, &b, opened_logits, &o->c), 0, count * BYTES, logits, &e), e);
    session_end(w);
    batch_close(&b);
    for (size_t i = old; i < count; i++) {
        double sum = 0;
        for (size_t j = 0; j < BYTES; j++)
            sum += exp(logits[i * BYTES + j]);
        nats += log(sum) - logits[i * BYTES + bytes[i + 1]];
    }
    return nats / (double)(count - old);
}

/* One step of gradient descent on that, the gradient by central differences. */
static void learn_from_window(Opened *o, const unsigned char *bytes, size_t count, size_t old, double rate)
{
    const Weights *w = &o->trainer.weights;
    const size_t all = w->parameters->size;
    double *weight = w->reals, *move = memory_get(all, sizeof *move);
    ck_assert_ptr_nonnull(move);
    for (size_t i = 0; i < all; i++) {
        const double was = weight[i], h = 1e-5;
        weight[i] = was + h;
        move[i] = nats_of_window(o, bytes, count, old);
        weight[i] = was - h;
        move[i] = rate * (move[i] - nats_of_window(o, bytes, count, old)) / (2 * h);
        weight[i] = was;
    }
    for (size_t i = 0; i < all; i++)
        weight[i] -= move[i];
    memory_free(move);
}

/* Three windows, which overlap or do not, after a training with all that dynamic evaluation leaves out. */
START_TEST(dynamic_evaluation_learns_from_each_window_that_it_has_scored)
{
    enum { SIZE = 37 };
    const size_t stride = _i ? 11 : CONTEXT;
    const double rate = 0.5;
    const char *run = trained_as(
        "--dim 4 --heads 1 --ff 4 --tie --dropout 0.2 --smoothing 0.1 --z-loss 0.01 --clip 0.1 "
        "--momentum 0.5 --optimizer sgd --ema 0.5 --batch 3 --adaptive-span 8 --span-loss 0.1");
    char words[200];
    Opened o;
    double sum = 0;
    open_run(&o, run);
    ck_assert(o.trainer.weights.numbers == o.trainer.weights.reals);
    const unsigned char *text = text_part(&o.c.text, SPLIT_VALID).bytes;
    for (size_t from = 0, scored_up_to = 0; scored_up_to < SIZE; from += stride) {
        const size_t count = SIZE - from < CONTEXT ? SIZE - from : CONTEXT, old = from ? CONTEXT - stride : 0;
        sum += nats_of_window(&o, text + from, count, old) * (double)(count - old);
        learn_from_window(&o, text + from, count, old, rate);
        scored_up_to = from + count;
    }
    snprintf(words, sizeof words, "--bytes %d --stride %zu --device plain --precision f64 --dynamic %g", SIZE, stride,
             rate);
    const double found = scored(words, run);
    ck_assert_double_eq_tol(found, sum / SIZE / log(2), 1e-9);
    words[strstr(words, " --dynamic") - words] = 0;
    ck_assert_double_ge(fabs(scored(words, run) - found), 1e-3); /* and it is not what weights that stay give */
    opened_close(&o);
}

START_TEST(dynamic_evaluation_leaves_the_run_and_says_what_it_is)
{
    const char *run = trained();
    const double before = scored("--bytes 150", run), moved = scored("--bytes 150 --dynamic 0.05", run);
    ck_assert(moved != before && scored("--bytes 150", run) == before);
    ck_assert_double_eq_tol(scored("--bytes 150 --dynamic 1e-12", run), before, 1e-5);
    ck_assert(scored("--bytes 150 --dynamic 0.05 --workers 3 --team 1", run) == moved);
    Said s = must("eval --run %s --bytes 99 --dynamic 0.05", run);
    ck_assert_msg(strstr(s.out, " bits/byte (valid, 99 bytes scored, context 16, stride 16, dynamic 0.05)\n"), "%s",
                  s.out);
    said_free(&s);
    s = must("eval --run %s --bytes 99 --dynamic 0.05 --json", run);
    Json *j = said_json(&s);
    ck_assert_double_eq(json_real(j, "dynamic"), 0.05);
    json_free(j);
    said_free(&s);
    refused(2, "not with --dynamic", "eval --run %s --dynamic 0.05 --each", run);
    refused(1, "not finite", "eval --run %s --dynamic 1e30", run);
}

/* One byte, less than a window, a window, one more, and ends of all kinds; in double, so that it is exact. */
START_TEST(texts_of_any_size_give_what_their_windows_give_by_hand)
{
    static const size_t sizes[] = {1, 2, 5, 15, 16, 17, 18, 31, 32, 33, 47};
    static const size_t strides[] = {1, 3, 15, 16};
    const char *run = trained_as(networks[1]);
    Opened o;
    open_run(&o, run);
    Part part = text_part(&o.c.text, SPLIT_VALID);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t s = 0; s < 4; s++) {
            char words[160];
            snprintf(words, sizeof words, "--bytes %zu --stride %zu --device plain --precision f64", sizes[i],
                     strides[s]);
            ck_assert_double_eq_tol(scored(words, run), bits_by_hand(&o, part, sizes[i], strides[s]), 1e-11);
        }
    opened_close(&o);
}

/* Each byte but the first once, in order, after as much as the protocol says. */
START_TEST(windows_score_each_byte_once_after_a_context_that_is_full_enough)
{
    unsigned char bytes[41];
    Batch b;
    Error e;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(7 * i);
    ck_done(batch_open(&b, &(BatchSize){1, 1, {10}, 0, 0}, &e), e);
    for (size_t size = 0; size <= sizeof bytes; size++)
        for (size_t context = 1; context <= 10; context++)
            for (size_t stride = 1; stride <= context; stride++) {
                Windows w = windows_over((Part){bytes, size, NULL}, context, stride);
                size_t next = 1;
                for (size_t i = 0; i < w.count; i++) {
                    batch_clear(&b);
                    windows_row(&w, i, &b);
                    ck_assert(b.side[0].rows == 1 && b.side[0].positions <= context);
                    for (size_t j = 0; j < b.side[0].positions; j++) {
                        size_t at = i * stride + j; /* what is read; the byte after it is announced */
                        ck_assert_int_eq(b.side[0].ids[j], bytes[at]);
                        if (b.side[0].targets[j] < 0)
                            continue;
                        ck_assert(at + 1 == next && b.side[0].targets[j] == bytes[next]);
                        ck_assert(j + 1 >= (next < context - stride + 1 ? next : context - stride + 1));
                        next++;
                    }
                    ck_assert(b.side[0].targets[b.side[0].positions - 1] >= 0); /* no window is in vain */
                }
                ck_assert_uint_eq(next, size ? size : 1);
                ck_assert_uint_eq(windows_scored(&w), next - 1);
            }
    batch_close(&b);
}

START_TEST(workers_and_teams_do_not_change_a_bit_of_the_figure)
{
    static const char *const others[] = {"--workers 1 --team 1", "--workers 1 --team 2", "--workers 2", "--workers 5"};
    static const char *const strides[] = {"", "--stride 1 --bytes 1500", "--stride 7"};
    const char *run = trained_as("--depth 2");
    for (size_t i = 0; i < 3; i++) {
        double bits = scored(strides[i], run);
        for (size_t o = 0; o < 4; o++) {
            char words[100];
            snprintf(words, sizeof words, "%s %s", strides[i], others[o]);
            ck_assert_msg(scored(words, run) == bits, "%s", words);
        }
    }
}

START_TEST(batches_do_not_change_the_figure_but_for_rounding)
{
    static const char *const strides[] = {"", "--stride 1", "--stride 7"};
    static const char *const micro[] = {"0", "2", "3"};
    const char *run = trained_as("--depth 2"), *other = fresh_path("other");
    for (size_t b = 0; b < 3; b++) {
        works("train --run %s-%zu " TINY " --depth 2 --batch 7 --micro-batch %s --steps 0 --weights "
              "%s/checkpoints/00000100/model.safetensors -q",
              other, b, micro[b], run);
        char path[800];
        snprintf(path, sizeof path, "%s-%zu", other, b);
        for (size_t i = 0; i < 3; i++)
            ck_assert_double_eq_tol(scored(strides[i], path), scored(strides[i], run), 1e-6);
    }
}

/* The same words wherever a figure is given. */
START_TEST(every_figure_carries_its_protocol)
{
    const char *run = fresh_path("run");
    const char *valid = "(valid, 300 bytes scored, context 16, stride 16)";
    Said s = must("train --run %s " TINY " --steps 20 --eval-every 10", run);
    ck_assert_msg(strstr(s.err, "step 10: validation ") && strstr(s.err, valid), "%s", s.err);
    ck_assert_msg(strstr(s.out, "best ") && strstr(s.out, "; valid, 300 bytes scored, context 16, stride 16)"), "%s",
                  s.out);
    said_free(&s);
    Json *j = must_json("train --resume %s --steps 21 --json -q", run);
    ck_assert_str_eq(json_get_text(j, "split"), "valid");
    ck_assert(json_real(j, "bytes") == 300 && json_real(j, "context") == 16 && json_real(j, "stride") == 16);
    json_free(j);

    s = must("eval --run %s --bytes 99 --stride 3 --split test", run);
    ck_assert_msg(strstr(s.out, " bits/byte (test, 99 bytes scored, context 16, stride 3)\n"), "%s", s.out);
    ck_assert_str_eq(s.err, ""); /* no terminal */
    said_free(&s);
    j = must_json("eval --run %s --bytes 99 --stride 3 --split test --json", run);
    ck_assert_str_eq(json_get_text(j, "split"), "test");
    ck_assert(json_real(j, "bytes") == 99 && json_real(j, "context") == 16 && json_real(j, "stride") == 3);
    json_free(j);
}

/* 90, 5 and 5 %, one after the other. */
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
        Json *j = must_json("eval --run %s --split %s --json", run, splits[i]);
        ck_assert(json_real(j, "bytes") == (double)sizes[i] - 1);
        json_free(j);
    }
    text_close(&text);
}

START_TEST(the_last_evaluation_of_training_is_eval)
{
    const char *run = fresh_path("run");
    Json *j = must_json("train --run %s " TINY " --steps 30 --json -q", run);
    ck_assert_double_eq_tol(json_real(j, "best"), scored("--bytes 300", run), 1e-6);
    json_free(j);
}

/* The first step's loss as the log has it, as it was trained on and without smoothing. */
static void logged(double loss[2], const char *smoothing)
{
    const char *run = fresh_path("logged");
    works("train --run %s-%s " TINY " --steps 1 -q --smoothing %s", run, smoothing, smoothing);
    char path[800];
    size_t size;
    snprintf(path, sizeof path, "%s-%s", run, smoothing);
    char *log = read_in(path, "log.tsv", &size), *line = strstr(log, "\n1\t");
    ck_assert(strstr(log, "\tloss without smoothing (bits/byte)\tvalidation accuracy\t") && line);
    ck_assert_int_eq(sscanf(line, "%*s %*s %lf %*s %*s %*s %*s %*s %lf", &loss[0], &loss[1]), 2);
    memory_free(log);
}

START_TEST(with_smoothing_the_log_has_the_true_loss_too)
{
    double without[2], with[2];
    logged(without, "0");
    logged(with, "0.3");
    ck_assert(without[0] == without[1] && with[1] == without[0]); /* the same weights and bytes */
    ck_assert(fabs(with[0] - with[1]) > 1e-4);
}

/* Logits and ids as they were dumped, turned into bits per byte again. */
static double bits_of_dump(const char *folder, const unsigned char *text, size_t *rows)
{
    Npy logits, ids;
    char path[800];
    double sum = 0;
    snprintf(path, sizeof path, "%s/l.npy", folder);
    logits = npy_read(path);
    snprintf(path, sizeof path, "%s/l.ids.npy", folder);
    ids = npy_read(path);
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
    for (int stride = 1; stride <= CONTEXT; stride += 5) {
        Json *j = must_json("eval --run %s --bytes %d --stride %d --dump-logits %s/l.npy --json", run, SCORED, stride,
                            folder);
        ck_assert_double_eq_tol(bits_of_dump(folder, part.bytes, &rows), json_real(j, "bits_per_byte"), 1e-5);
        ck_assert_uint_eq(rows, SCORED);
        json_free(j);
    }
    text_close(&text);
}

START_TEST(another_text_than_the_runs_can_be_scored)
{
    const char *run = trained(), *folder = fresh_path("folder");
    char zeros[400] = {0}, words[800];
    write_in(folder, "zeros", zeros, sizeof zeros);
    snprintf(words, sizeof words, "--data %s/zeros --split all", folder);
    ck_assert(scored(words, run) > 5); /* prose holds none */
    write_in(folder, "zeros", zeros, 2);
    ck_assert(scored(words, run) > 5);
    write_in(folder, "zeros", zeros, 1);
    refused(1, "zeros has 1 bytes", "eval --run %s %s", run, words);
    refused(1, "/no/such/x.npy", "eval --run %s --dump-logits /no/such/x.npy", run);
    refused(2, "give only one", "sample --run %s --prompt a --prompt-file /no/such", run);
}

#define STRETCHES "text\tbytes\tbits"

START_TEST(stretches_add_up_to_the_figure)
{
    static const size_t bytes[] = {1000, 1000, 1700};
    const char *run = trained();
    EachLines t = each_lines(run, "--bytes 3700", STRETCHES), short_one = each_lines(run, "--bytes 50", STRETCHES);
    double bits = 0;
    ck_assert_uint_eq(t.count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq((size_t)each_line(&t, i)[1], bytes[i]);
        ck_assert(each_line(&t, i)[0] != each_line(&t, (i + 1) % 3)[0]);
        bits += each_line(&t, i)[2];
    }
    ck_assert_double_eq_tol(bits / 3700, scored("--bytes 3700", run), 1e-5);
    ck_assert_uint_eq(short_one.count, 1);
    ck_assert_double_eq_tol(each_line(&short_one, 0)[2] / 50, scored("--bytes 50", run), 1e-5);
    each_lines_free(&t);
    each_lines_free(&short_one);
}

START_TEST(two_runs_are_compared_on_the_same_stretches)
{
    enum { COUNT = 6 };
    static const char words[] = "--bytes 6000 --stride 8";
    const char *a = trained_as("--seed 1"), *b = trained_as("--seed 2 --depth 2");
    EachLines of_a = each_lines(a, words, STRETCHES), of_b = each_lines(b, words, STRETCHES);
    double x[COUNT], y[COUNT];
    ck_assert(of_a.count == COUNT && of_b.count == COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert(each_line(&of_a, i)[0] == each_line(&of_b, i)[0]);
        x[i] = each_line(&of_a, i)[2] / 1000;
        y[i] = each_line(&of_b, i)[2] / 1000;
    }
    const Difference d = difference_paired(x, y, COUNT);
    Json *there = compared(a, b, words), *back = compared(b, a, words);
    ck_assert_double_eq_tol(compared_as(there, "p"), d.p, 1e-9);
    ck_assert_double_eq_tol(compared_as(there, "low"), d.low, 1e-9);
    ck_assert_double_eq_tol(compared_as(there, "score"), scored(words, b), 1e-5);
    ck_assert_double_eq_tol(compared_as(there, "difference"), scored(words, a) - scored(words, b), 1e-5);
    ck_assert_double_eq_tol(compared_as(there, "difference"), -compared_as(back, "difference"), 1e-12);
    json_free(there);
    json_free(back);
    Said s = must("eval --run %s --against %s %s", a, b, words);
    ck_assert_msg(strstr(s.out, "the paired test of 6 stretches of 1000 bytes\n"), "%s", s.out);
    said_free(&s);
    s = must("eval --run %s --against %s %s", a, a, words);
    ck_assert_msg(strstr(s.out, "difference +0.0000: no text tells the two apart\n"), "%s", s.out);
    said_free(&s);
    s = must("eval --run %s --against %s --bytes 300", a, b);
    ck_assert_msg(strstr(s.out, ": too few texts for a test\n"), "%s", s.out);
    said_free(&s);
    s = must("eval --run %s --against %s --bytes 30000 --split train", a, trained_as("--steps 1"));
    ck_assert_msg(strstr(s.out, "), p < 0.0001\n"), "%s", s.out);
    said_free(&s);
    refused(2, "leave out --json", "eval --run %s --each --json", a);
    refused(2, "leave out --against", "eval --run %s --each --against %s", a, b);
    each_lines_free(&of_a);
    each_lines_free(&of_b);
}

START_TEST(other_texts_are_not_compared)
{
    char text[6000], words[900];
    const char *run = trained();
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i * i % 23);
    write_in(run, "text", text, sizeof text);
    snprintf(words, sizeof words, "--data %s/text", run);
    const char *other = trained_as(words);
    refused(1, "was scored on other texts: its data differ", "eval --run %s --against %s --bytes 200", run, other);
    refused(1, "nowhere: ", "eval --run %s --against nowhere --bytes 200", run);
}

static const Test tests[] = {TEST_LOOP(each_stride_gives_what_its_windows_give_by_hand, 3),
                             TEST(texts_of_any_size_give_what_their_windows_give_by_hand),
                             TEST_LOOP(dynamic_evaluation_learns_from_each_window_that_it_has_scored, 2),
                             TEST(dynamic_evaluation_leaves_the_run_and_says_what_it_is),
                             TEST(windows_score_each_byte_once_after_a_context_that_is_full_enough),
                             TEST(workers_and_teams_do_not_change_a_bit_of_the_figure),
                             TEST(batches_do_not_change_the_figure_but_for_rounding),
                             TEST(every_figure_carries_its_protocol),
                             TEST(the_first_byte_of_a_part_is_not_scored),
                             TEST(the_last_evaluation_of_training_is_eval),
                             TEST(with_smoothing_the_log_has_the_true_loss_too),
                             TEST(dumped_logits_reproduce_the_figure),
                             TEST(stretches_add_up_to_the_figure),
                             TEST(two_runs_are_compared_on_the_same_stretches),
                             TEST(other_texts_are_not_compared),
                             TEST(another_text_than_the_runs_can_be_scored)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/scoring", tests, sizeof tests / sizeof *tests, argc, argv);
}
