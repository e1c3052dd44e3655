/* plots/loss.gp draws whatever a log may hold, on every kind of file, and gnuplot has nothing to say about it. */
#include "base/file.h"
#include "base/memory.h"
#include "core/plot/curves.h"
#include "core/plot/picture.h"
#include "tests/plot/runs.h"
#include "tests/plot/written.h"
#include "tests/suite.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const all = "loss accuracy rate norm speed";

/* Writes the data of one curve of a log. */
static const char *data_of(const char *log_text, const char *label)
{
    Log log;
    Error e;
    Buffer b = {0};
    ck_done(log_read(&log, text_file("log.tsv", log_text), &e), e);
    const Log *const logs[] = {&log};
    ck_done(curve_add(&b, &(Curve){label, logs, 1}, true, &e), e);
    const char *path = text_file("loss.tsv", b.text);
    buffer_free(&b);
    log_free(&log);
    return path;
}

/* What was drawn; to be freed with memory_free. */
static char *drawn(Picture p)
{
    Error e;
    Buffer said = {0};
    char *bytes;
    size_t size;
    ck_done(picture_draw(&p, &said, &e), e);
    ck_assert_msg(!said.size, "gnuplot says: %s", said.text);
    ck_done(file_read(p.out, &bytes, &size, &e), e);
    ck_assert_uint_gt(size, 200);
    return bytes;
}

START_TEST(awkward_numbers_are_drawn_in_silence)
{
    static const char *const bodies[] = {
        "1\t9\t2.5\t1\t0.1\t\t100\t0.1\t2.5\t\n",                                    /* one line */
        "1\t9\t2.5\t1\t0.1\t2\t100\t0.1\t2.5\t0.5\n",                                /* evaluated */
        "1\t0\t0\t0\t0\t0\t0\t0\t0\t0\n2\t0\t0\t0\t0\t0\t0\t0\t0\t0\n",              /* nothing but zeros */
        "1\t9\tnan\t1\t0.1\tnan\t100\t0.1\tnan\t\n2\t9\t3\tinf\t0\t4\t1\t1\t3\t0\n", /* not finite */
        "1\t9\t1e200\t1e-200\t1e99\t\t1e20\t0.1\t1e200\t\n2\t9\t-1e200\t1\t1\t1e200\t1\t1\t-1e200\t1\n",
        "1\t9\t1e300\t1\t1\t\t1\t1\t1e300\t\n2\t9\t3\t1\t1\t2\t1\t1\t3\t1\n", /* too large to draw */
        "0\t9\t1\t1\t1\t\t1\t1\t1\t\n",
        "900000000000\t9e12\t1\t1\t1\t1\t1\t1e9\t1\t1\n",
    };
    static const char *const over[] = {"step", "tokens", "time"}, *const logs[] = {"-", "x", "y", "xy"};
    if (!can_draw("awkward_numbers_are_drawn_in_silence"))
        return;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        Buffer b = {0};
        buffer_print(&b, "%s%s", HEADER, bodies[i]);
        const char *data = data_of(b.text, "a"), *out = place("loss.svg");
        memory_free(drawn((Picture){
            .script = "loss", .data = data, .out = out, .more = {"loss rate norm speed", over[i % 3], logs[i % 4]}}));
        memory_free(drawn((Picture){.script = "loss", .data = data, .out = out}));
        buffer_free(&b);
    }
}

START_TEST(every_kind_of_file_is_drawn)
{
    static const char *const kinds[] = {"x.png", "x.svg", "x.pdf", "x.txt", "|x y'z.svg"};
    static const char *const starts[] = {"\x89PNG", "<?xml", "%PDF", "", "<?xml"};
    static const char *const sizes[] = {NULL, "8.5cm", "700x500"};
    const char *data;
    Error e;
    if (!can_draw("every_kind_of_file_is_drawn"))
        return;
    char *log;
    size_t size;
    ck_done(file_read(falling_log("long.tsv", 60, 0), &log, &size, &e), e);
    data = data_of(log, "");
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < (i == 3 ? 1 : 3); j++) {
            const char *out = place(kinds[i]);
            char *bytes = drawn(
                (Picture){.script = "loss", .data = data, .out = out, .size = sizes[j], .more = {j ? all : "loss"}});
            ck_assert(strncmp(bytes, starts[i], strlen(starts[i])) == 0);
            ck_assert(i != 2 || strstr(bytes, "MediaBox") || size > 0);
            memory_free(bytes);
        }
    memory_free(log);
}

/* Data of this many curves, each of this log. */
static const char *curves_of(const char *log_text, size_t count, const char *label)
{
    Log log;
    Buffer b = {0};
    Error e;
    ck_done(log_read(&log, text_file("log.tsv", log_text), &e), e);
    const Log *const logs[] = {&log};
    for (size_t i = 0; i < count; i++)
        ck_done(curve_add(&b, &(Curve){label, logs, 1}, i == 0, &e), e);
    const char *path = text_file("loss.tsv", b.text);
    buffer_free(&b);
    log_free(&log);
    return path;
}

START_TEST(names_and_numbers_are_inside_and_apart)
{
    static const size_t counts[] = {1, 3, 5};
    static const char *const sizes[] = {NULL, "6cm", "640x640"}, *const logs[] = {"-", "xy"};
    Buffer log = {0};
    char what[80];
    if (!can_draw("names_and_numbers_are_inside_and_apart"))
        return;
    buffer_print(&log, "%s", HEADER);
    for (int i = 1; i <= 60; i++)
        buffer_print(&log, "%d\t64\t%g\t%g\t%g\t%s\t%d\t0.1\t%g\t%s\n", i, 3 + 1.0 / i, 0.5 + 0.01 * i, 8e-5 * i,
                     i % 20 ? "" : "3.1", 900000 - i, 3 + 1.0 / i, i % 20 ? "" : "0.5");
    for (size_t i = 0; i < 3; i++) {
        char data[700];
        snprintf(data, sizeof data, "%s", curves_of(log.text, counts[i], "dim 64, heads 16, depth 12, steps 30"));
        for (size_t j = 0; j < 12; j++) {
            const char *panels = j % 2 ? all : "loss", *over = j & 4 ? "tokens" : "step";
            snprintf(what, sizeof what, "%zu curves, %s, %s, %s", counts[i], panels, sizes[j / 4] ? sizes[j / 4] : "",
                     logs[j / 2 % 2]);
            char *svg = drawn((Picture){.script = "loss",
                                        .data = data,
                                        .out = place("x.svg"),
                                        .size = sizes[j / 4],
                                        .more = {panels, over, logs[j / 2 % 2]}});
            size_t texts = ck_written(svg, what), names = 0;
            for (const char *at = svg; (at = strstr(at, "<text>dim 64")); at++)
                names++;
            ck_assert_msg(names == (counts[i] > 1 ? counts[i] : 0), "%s: %zu names", what, names);
            ck_assert_msg(texts > names + (j % 2 ? 20 : 7), "%s: only %zu texts: an axis has no numbers", what, texts);
            memory_free(svg);
        }
    }
    buffer_free(&log);
}

START_TEST(labels_appear_as_they_are)
{
    static const char *const labels[] = {
        "#_a^{b} @c &d", "say \"so\" it's", "\u6ce8\u610f\u529b \u00fc", "50% \\n `ls` $x", "128", "NaN"};
    static const char *const shown[] = {
        "#_a^{b} @c &amp;d", "say \u201dso\u201d it", "\u6ce8\u610f\u529b \u00fc", "50% \\n `ls` $x", ">128<", ">NaN<"};
    Buffer b = {0};
    Log log;
    Error e;
    if (!can_draw("labels_appear_as_they_are"))
        return;
    ck_done(log_read(&log, falling_log("log.tsv", 20, 0), &e), e);
    const Log *const logs[] = {&log};
    for (size_t i = 0; i < 6; i++)
        ck_done(curve_add(&b, &(Curve){labels[i], logs, 1}, i == 0, &e), e);
    char *svg = drawn((Picture){.script = "loss", .data = text_file("loss.tsv", b.text), .out = place("x.svg")});
    for (size_t i = 0; i < 6; i++)
        ck_assert_msg(strstr(svg, shown[i]) != NULL, "'%s' is not in the picture", shown[i]);
    memory_free(svg);
    buffer_free(&b);
    log_free(&log);
}

/* A name that begins with a number is no step. */
START_TEST(a_name_does_not_stretch_an_axis)
{
    Buffer b = {0};
    Log log;
    Error e;
    if (!can_draw("a_name_does_not_stretch_an_axis"))
        return;
    ck_done(log_read(&log, falling_log("log.tsv", 20, 0), &e), e);
    const Log *const logs[] = {&log};
    for (size_t i = 0; i < 2; i++)
        ck_done(curve_add(&b, &(Curve){i ? "20240102-b" : "20240101-a", logs, 1}, i == 0, &e), e);
    char *svg = drawn((Picture){.script = "loss", .data = text_file("loss.tsv", b.text), .out = place("x.svg")});
    ck_assert(strstr(svg, "20240102-b") && !strstr(svg, "millions"));
    memory_free(svg);
    buffer_free(&b);
    log_free(&log);
}

START_TEST(many_curves_with_long_names_still_fit)
{
    Buffer b = {0};
    Log log;
    Error e;
    if (!can_draw("many_curves_with_long_names_still_fit"))
        return;
    ck_done(log_read(&log, falling_log("log.tsv", 20, 0), &e), e);
    const Log *const logs[] = {&log};
    for (size_t i = 0; i < 20; i++)
        ck_done(curve_add(&b,
                          &(Curve){"dim 128, attention-dropout 0.125, distances bias, batch 64, lr 0.0003, steps 90000",
                                   logs, 1},
                          i == 0, &e),
                e);
    const char *data = text_file("loss.tsv", b.text), *out = place("x.svg");
    memory_free(drawn((Picture){.script = "loss", .data = data, .out = out, .size = "6cm"}));
    memory_free(drawn((Picture){.script = "loss", .data = data, .out = out, .size = "8.5cm", .more = {all}}));
    memory_free(drawn((Picture){.script = "loss", .data = data, .out = out}));
    buffer_free(&b);
    log_free(&log);
}

START_TEST(what_is_not_there_cannot_be_drawn)
{
    Error e;
    Picture p = {.script = "loss", .out = place("x.svg")};
    if (!can_draw("what_is_not_there_cannot_be_drawn"))
        return;
    p.data = text_file("empty.tsv", "");
    ck_assert(!picture_draw(&p, NULL, &e));
    ck_assert_msg(strstr(e.text, "nothing to draw") && !strchr(e.text, '\n'), "%s", e.text);
    p.data = data_of("step\tloss (n)\n1\t2\n", "");
    p.more[0] = "bleu";
    ck_assert(!picture_draw(&p, NULL, &e));
    ck_assert_msg(strstr(e.text, "nothing to draw of bleu"), "%s", e.text);
    p.more[0] = "loss";
    p.terminal = "quark";
    ck_assert(!picture_draw(&p, NULL, &e));
    ck_assert_msg(strstr(e.text, "terminal") && !strchr(e.text, '\n'), "%s", e.text);
    p.terminal = NULL;
    p.out = place("nowhere/x.svg");
    ck_assert(!picture_draw(&p, NULL, &e));
    p.out = place("full.svg");
    ck_assert(symlink("/dev/full", p.out) == 0 || errno == EEXIST);
    ck_assert(!picture_draw(&p, NULL, &e));
    ck_assert_msg(strstr(e.text, "full.svg: No space left on device"), "%s", e.text);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* gnuplot's stand-in ends the program that called it, as Ctrl-C does. */
START_TEST(nothing_is_left_where_a_picture_is_interrupted)
{
    static const char script[] = "#!/bin/sh\nkill -TERM $PPID\nsleep 0.2\n";
    const char *data = text_file("loss.tsv", "1\t2\n"), *folder = place("scripts");
    char path[800], **names;
    size_t count;
    int status;
    Error e;
    ck_done(folder_make(place("bin"), &e) && folder_make(folder, &e), e);
    ck_assert_int_eq(chmod(text_file("bin/gnuplot", script), 0700), 0);
    snprintf(path, sizeof path, "%s:%s", place("bin"), getenv("PATH"));
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGTERM, SIG_DFL);
        setenv("PATH", path, 1);
        setenv("TMPDIR", folder, 1);
        picture_draw(&(Picture){.script = "loss", .data = data, .out = place("x.svg")}, NULL, &e);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    ck_done(folder_list(folder, &names, &count, &e), e);
    ck_assert_uint_eq(count, 0);
    folder_list_free(names, count);
}

static const Test tests[] = {
    TEST(awkward_numbers_are_drawn_in_silence),
    TEST(every_kind_of_file_is_drawn),
    TEST_SLOW(names_and_numbers_are_inside_and_apart, 200),
    TEST(labels_appear_as_they_are),
    TEST(a_name_does_not_stretch_an_axis),
    TEST(many_curves_with_long_names_still_fit),
    TEST(what_is_not_there_cannot_be_drawn),
    TEST(nothing_is_left_where_a_picture_is_interrupted),
};

/* In a container no language is set, and gnuplot would warn that it cannot write its degree sign. */
int main(int argc, char **argv)
{
    return setenv("LC_ALL", "C", 1) || suite_run("plot/draw", tests, sizeof tests / sizeof *tests, argc, argv);
}
