/* Every script that draws tokens, on tokens made to break it, in every kind of file: gnuplot has nothing to say, and
 * the tokens are in the picture as they are. */
#include "base/file.h"
#include "base/memory.h"
#include "core/inspect/describe.h"
#include "core/plot/heads.h"
#include "core/plot/picture.h"
#include "core/plot/points.h"
#include "core/plot/table.h"
#include "tests/plot/runs.h"
#include "tests/plot/written.h"
#include "tests/suite.h"

#include <stdio.h>
#include <string.h>

/* As a token is; and as an SVG has it. */
static const char *const tokens[][2] = {
    {"#", ">#<"},        {" ", "␣"},       {"\n", "↵"},         {"\"q\"", "”q”"}, {"a_b^{c}", "a_b^{c}"},
    {"&<", "&amp;&lt;"}, {"注意", "注意"}, {"'`$(x)", "`$(x)"}, {"%d%s", "%d%s"}, {"@", ">@<"},
    {"-", ">-<"},        {"NaN", ">NaN<"}, {"1e5", ">1e5<"},    {"", "∅"},        {"\xff", "xFF"},
    {"\x01", "x01"},     {"\\", ">\\<"},   {"c:\\d", "c:\\d"}};
enum { COUNT = sizeof tokens / sizeof *tokens };

static const char *const kinds[] = {"x.svg", "x.png", "x.pdf", "x.txt"};

static Labels labels_of(void)
{
    Labels t = {0};
    Error e;
    for (size_t i = 0; i < COUNT; i++)
        ck_done(labels_add(&t, tokens[i][0], strlen(tokens[i][0]), false, &e), e);
    return t;
}

/* What the data are called, which a shell would take for more than a name. */
#define DATA "it's $(data) ';touch more;'.tsv"

/* Draws data with a script as each of the first `kinds` kinds of file; the first of them holds every token. */
static void draws(const char *script, Buffer *b, size_t count, bool named, const char *const *more)
{
    const char *data = text_file(DATA, b->text);
    for (size_t i = 0; i < count; i++) {
        Picture p = {.script = script, .data = data, .out = place(kinds[i])};
        Buffer said = {0};
        char *bytes;
        size_t size;
        Error e;
        for (size_t j = 0; more && more[j]; j++)
            p.more[j] = more[j];
        ck_done(picture_draw(&p, &said, &e), e);
        ck_assert_msg(!said.size, "%s, %s: gnuplot says: %s", script, kinds[i], said.text);
        ck_done(file_read(p.out, &bytes, &size, &e), e);
        for (size_t k = 0; named && i == 0 && k < COUNT; k++)
            ck_assert_msg(strstr(bytes, tokens[k][1]) != NULL, "%s: '%s' is not in the picture", script, tokens[k][1]);
        ck_assert_uint_gt(size, 60);
        if (i == 0 && strcmp(script, "embeddings") != 0) /* of names in a plane some are beside one another */
            ck_assert_uint_gt(ck_written(bytes, script), 3);
        memory_free(bytes);
    }
    buffer_free(b);
}

/* One head's weights: each token looks at itself, and a little at the first. */
static void weights_of(float *w, size_t count)
{
    memset(w, 0, count * count * sizeof *w);
    for (size_t i = 0; i < count; i++) {
        w[i * count] += 0.25f;
        w[i * count + i] += 0.75f;
    }
}

START_TEST(maps_of_heads)
{
    static float w[COUNT * COUNT];
    static const size_t sizes[] = {COUNT, 1, 2};
    Labels t = labels_of();
    if (!can_draw("maps_of_heads"))
        return;
    for (size_t i = 0; i < 3; i++)
        for (size_t heads = 1; heads < 10; heads += 4) {
            Buffer b = {0};
            const HeadsPanel p = {
                .weights = w, .stride = sizes[i], .rows = sizes[i], .columns = sizes[i], .query = &t, .key = &t};
            weights_of(w, sizes[i]);
            for (size_t h = 0; h < heads; h++)
                heads_panel(&b, "layer 0, head \"#_1\"", &p);
            draws("heads", &b, 4, i == 0 && heads == 1, (const char *[]){"3", NULL});
        }
    labels_close(&t);
}

/* Maps of all shapes and numbers, of models with one head or many, with short names and long ones: every text is
 * inside and beside all others, and the scale is there. */
START_TEST(nothing_is_cut_whatever_the_shape)
{
    static const char *const names[] = {"a", "Donaudampfschiffahrt", "\u6ce8\u610f\u529b\u6ce8\u610f\u529b"};
    static const size_t shapes[][4] = {/* rows, columns, maps, maps in a row */
                                       {1, 1, 1, 1},  {4, 4, 4, 2},    {15, 3, 4, 2},  {40, 2, 8, 4}, {2, 2, 32, 16},
                                       {2, 18, 1, 1}, {40, 40, 16, 4}, {24, 24, 8, 4}, {3, 1, 12, 12}};
    static float w[40 * 40];
    Error e;
    if (!can_draw("nothing_is_cut_whatever_the_shape"))
        return;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < 3; k++) {
            Buffer b = {0};
            Labels t = {0};
            char across[8];
            for (size_t j = 0; j < 40; j++)
                ck_done(labels_add(&t, names[k], strlen(names[k]), false, &e), e);
            for (size_t map = 0; map < shapes[i][2]; map++)
                heads_panel(&b, "decoder layer 11, head 15",
                            &(HeadsPanel){.weights = w,
                                          .stride = 40,
                                          .rows = shapes[i][0],
                                          .columns = shapes[i][1],
                                          .query = &t,
                                          .key = &t});
            snprintf(across, sizeof across, "%zu", shapes[i][3]);
            draws("heads", &b, 1, false, (const char *[]){across, NULL});
            char *svg;
            size_t size;
            ck_done(file_read(place(kinds[0]), &svg, &size, &e), e);
            ck_assert(strstr(svg, ">weight<") && strstr(svg, "0.75<"));
            memory_free(svg);
            labels_close(&t);
        }
}

START_TEST(words_that_moved_an_answer)
{
    static const double sizes[] = {1, 0, -1e-9, 1e6};
    Labels t = labels_of();
    if (!can_draw("words_that_moved_an_answer"))
        return;
    for (size_t k = 0; k < 4; k++) {
        Buffer b = {0};
        buffer_print(&b, "word\tleft out\tgradient x input\tattention\n");
        for (size_t i = 0; i < COUNT; i++) {
            picture_label(&b, label_shown(&t, i));
            buffer_print(&b, "\t%g\t%g\t1\n", sizes[k] * (double)i, -sizes[k]);
        }
        draws("words", &b, 3, true, NULL);
    }
    labels_close(&t);
}

START_TEST(tokens_in_a_plane)
{
    Labels t = labels_of();
    double table[COUNT * 2];
    Buffer b = {0};
    Error e;
    if (!can_draw("tokens_in_a_plane"))
        return;
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < COUNT; i++) { /* far enough from one another for all names */
            table[2 * i] = (double)(i % 4);
            table[2 * i + 1] = (double)(i / 4) + 0.01 * (double)(i * i % 7);
        }
        ck_done(points_add(&b, "source_\"embedding\"", table, COUNT, 2, &t, &e), e);
    }
    draws("embeddings", &b, 4, true, NULL);
    memset(table, 0, sizeof table); /* all in one place */
    ck_done(points_add(&b, "t", table, COUNT, 2, &t, &e), e);
    draws("embeddings", &b, 4, false, NULL);
    labels_close(&t);
}

START_TEST(tables_of_numbers)
{
    static const float some[] = {-1, 0, 1, 2, 3, 4}, none[6] = {0};
    static const size_t shapes[][2] = {{2, 3}, {1, 6}, {6, 1}, {1, 1}};
    Error e;
    if (!can_draw("tables_of_numbers"))
        return;
    for (size_t i = 0; i < 4; i++) {
        Buffer b = {0};
        Table t = {.title = "#_1 \u201dt\u201d",
                   .rows_are = "a_b",
                   .columns_are = "c^d",
                   .value = some,
                   .rows = shapes[i][0],
                   .columns = shapes[i][1],
                   .first_column = -2};
        table_add(&b, &t);
        t.value = none;
        table_add(&b, &t);
        ck_done(table_likeness(&b, &t, &e), e);
        draws("tables", &b, 3, false, NULL);
    }
}

START_TEST(what_heads_do)
{
    Buffer b = {0};
    Labels t = labels_of();
    static float w[2 * COUNT * COUNT];
    Maps m = {.name = "blocks",
              .layers = 1,
              .heads = 2,
              .queries = COUNT,
              .keys = COUNT,
              .weights = w,
              .query = &t,
              .key = &t};
    HeadNote *notes;
    Error e;
    if (!can_draw("what_heads_do"))
        return;
    weights_of(w, COUNT);
    weights_of(w + COUNT * COUNT, COUNT);
    ck_done(describe_maps(&m, &notes, &e), e);
    describe_data(&b, &m, notes);
    draws("describe", &b, 3, false, NULL);
    memory_free(notes);
    labels_close(&t);
}

/* Of one head and of many, whatever the size asked for. */
START_TEST(what_many_heads_do)
{
    static const size_t shapes[][2] = {{1, 1}, {2, 4}, {12, 16}};
    static const char *const sizes[] = {NULL, "8.5cm", "900"};
    if (!can_draw("what_many_heads_do"))
        return;
    for (size_t i = 0; i < 9; i++) {
        Buffer b = {0};
        Error e;
        char *svg;
        size_t size;
        for (size_t k = 0; k < 7; k++) {
            buffer_print(&b, "%sseparators, uniform 0.12\n", k ? "\n\n" : "");
            for (size_t h = 0; h < shapes[i / 3][0] * shapes[i / 3][1]; h++) {
                size_t layer = h / shapes[i / 3][1], head = h % shapes[i / 3][1];
                buffer_print(&b, "%zu\t%zu\t%g\t%zu\t%zu\n", layer, head,
                             k < 2   ? 0.00831
                             : k < 3 ? 123.4
                                     : 0,
                             layer, head);
            }
        }
        Picture p = {
            .script = "describe", .data = text_file("d.tsv", b.text), .out = place("d.svg"), .size = sizes[i % 3]};
        ck_done(picture_draw(&p, NULL, &e) && file_read(p.out, &svg, &size, &e), e);
        ck_assert_uint_gt(ck_written(svg, "describe"), 7 * shapes[i / 3][0] * shapes[i / 3][1]);
        ck_assert(strstr(svg, ">123<") && strstr(svg, ">0.01<"));
        memory_free(svg);
        buffer_free(&b);
    }
}

START_TEST(lengths_coverage_and_smoothing)
{
    static const struct {
        const char *script, *data, *more[2];
    } cases[] = {{"lengths", "a_b \u201d\t1\t1.0\t1\t1\t1\t0\n0\t1\t0\n1\t2\t100\n", {"512", "w_o of a text"}},
                 {"lengths", "a\t1\t0.0\t0\t0\t0\t0\n0\t1\t100\n\n\nb\t2\t9\t9\t9\t9\t100\n9\t10\t100\n", {"3", "x"}},
                 {"coverage", "a_b\t1\t1\n1\t100\n", {"50000", "w_o"}},
                 {"coverage", "a\t9\t2\n1\t60\n2\t100\n\n\nb\t9\t2\n1\t0\n2\t0\n", {"2", "bytes"}},
                 {"smoothing",
                  "targets\t2\t0.1\n0\t0.95\t1\n1\t0.05\t0\n\n\nlosses\t2\t0.1\n0.1\t2.3\t2.1\n0.9\t0.1\t0.2\n",
                  {NULL, NULL}}};
    if (!can_draw("lengths_coverage_and_smoothing"))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Buffer b = {0};
        const char *more[] = {cases[i].more[0], cases[i].more[1], NULL};
        buffer_print(&b, "%s", cases[i].data);
        draws(cases[i].script, &b, 4, false, more);
    }
}

/* How much of a text a vocabulary covers is said of the last list, which is no text that is trained on. */
START_TEST(a_vocabulary_is_measured_on_what_is_held_out)
{
    char *svg;
    size_t size;
    Error e;
    if (!can_draw("a_vocabulary_is_measured_on_what_is_held_out"))
        return;
    Picture p = {.script = "coverage",
                 .data = text_file("c.tsv",
                                   "train, source\t4\t2\n1\t75\n2\t100\n\n\ntrain, target\t4\t2\n1\t75\n2\t100\n\n\n"
                                   "valid, source\t4\t2\n1\t50\n2\t50\n\n\nvalid, target\t4\t2\n1\t25\n2\t25\n"),
                 .out = place("c.svg"),
                 .more = {"2", "words"}};
    ck_done(picture_draw(&p, NULL, &e) && file_read(p.out, &svg, &size, &e), e);
    ck_assert_ptr_nonnull(strstr(svg, "vocabulary 2: 25 %<"));
    memory_free(svg);
}

/* Of different values and of equal ones, with an interval and without. */
START_TEST(groups_of_runs)
{
    static const char *const groups[] = {"loss\n1\t2\n1\t2.5\n2\t3\n\n\n50%d b\t1\t2.25\t2\t2.5\nc'd\t2\t3\t3\t3\n",
                                         "loss\n1\t8.25\n2\t8.25\n\n\na\t1\t8.25\t8.25\t8.25\nb\t2\t8.25\t8.25\t8.25\n",
                                         "loss\n1\t0\n\n\na\t1\t0\t0\t0\n"};
    if (!can_draw("groups_of_runs"))
        return;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        Buffer b = {0};
        buffer_print(&b, "%s", groups[i]);
        draws("compare", &b, 4, false, NULL);
    }
    ck_assert(!file_exists(place("more")) && !file_exists("more"));
}

/* A single point, values that lie far apart, or are small, and more rows than there are colours. */
START_TEST(rows_over_an_option)
{
    Buffer one = {0}, many = {0}, small = {0};
    if (!can_draw("rows_over_an_option"))
        return;
    buffer_print(&one, "a b\taccuracy, the best of each run\texamples\n100\t0.5\t0.5\t0.5\n");
    draws("over", &one, 4, false, NULL);
    buffer_print(&small, "a\tloss\tlr\n1e-05\t2\t1\t3\n0.0001\t2\t2\t2\n");
    draws("over", &small, 4, false, NULL);
    for (int row = 0; row < 10; row++) {
        buffer_print(&many, "%srow'%d\tloss\tlr\n", row ? "\n\n" : "", row);
        for (int k = 0; k < 3; k++)
            buffer_print(&many, "%g\t%d\t%g\t%g\n", 0.001 * (1 << (3 * k)), row + k, row + k - 0.5, row + k + 0.25);
    }
    draws("over", &many, 4, false, NULL);
}

START_TEST(an_empty_file_is_refused_in_a_line)
{
    static const char *const scripts[] = {"heads",   "words",    "describe",  "tables", "embeddings",
                                          "lengths", "coverage", "smoothing", "over"};
    Error e;
    if (!can_draw("an_empty_file_is_refused_in_a_line"))
        return;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        Picture p = {.script = scripts[i], .data = text_file("empty.tsv", ""), .out = place("x.svg")};
        ck_assert_msg(!picture_draw(&p, NULL, &e), "%s", scripts[i]);
        ck_assert_msg(strstr(e.text, "holds no") && !strchr(e.text, '\n'), "%s: %s", scripts[i], e.text);
    }
}

static const Test tests[] = {TEST_SLOW(maps_of_heads, 300),
                             TEST_SLOW(nothing_is_cut_whatever_the_shape, 300),
                             TEST_SLOW(words_that_moved_an_answer, 200),
                             TEST_SLOW(tokens_in_a_plane, 200),
                             TEST_SLOW(tables_of_numbers, 200),
                             TEST_SLOW(what_heads_do, 100),
                             TEST_SLOW(what_many_heads_do, 200),
                             TEST_SLOW(lengths_coverage_and_smoothing, 200),
                             TEST_SLOW(a_vocabulary_is_measured_on_what_is_held_out, 100),
                             TEST_SLOW(groups_of_runs, 100),
                             TEST_SLOW(rows_over_an_option, 100),
                             TEST_SLOW(an_empty_file_is_refused_in_a_line, 100)};

int main(int argc, char **argv) { return suite_run("plot/scripts", tests, sizeof tests / sizeof *tests, argc, argv); }
