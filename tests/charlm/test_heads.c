/* What `heads` writes: weights, their labels, the data of pictures and the pictures, and what it refuses. */
#include "base/file.h"
#include "base/memory.h"
#include "tests/charlm/tiny.h"
#include "tests/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 24, LAYERS = 2, HEADS = 2 };

static const char awkward[] = "a \"b\\n\" #c_^{d}\t'e' @$%\xff 注é\n\n";

static const char *trained(void)
{
    const char *run = fresh_path("run");
    works("train --run %s " TINY " --depth 2 --context %d --steps 20 -q", run, CONTEXT);
    return run;
}

static Npy weights_in(const char *folder, const char *name)
{
    char path[800];
    Npy a;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    a = npy_read(path);
    ck_assert(a.type == NPY_F32 && a.rank == 4);
    return a;
}

/* Every number of the data is the weight that the .npy has at its place, to the bit; as many as `panels` have. */
static void equals(const char *folder, const Npy *w, size_t first, size_t panels, size_t from, size_t shown)
{
    size_t size;
    char *data = read_in(folder, "p.tsv", &size), *line, *rest = data;
    const float *all = w->data;
    size_t side = w->shape[3], panel = first - 1, seen = 0;
    ck_assert(data);
    while ((line = rest) && *line) {
        rest = strchr(line, '\n');
        *rest++ = 0;
        size_t i, j;
        float weight;
        int used = 0;
        if (!strncmp(line, "layer ", 6)) {
            char title[40];
            panel++;
            snprintf(title, sizeof title, "layer %zu, head %zu", panel / HEADS, panel % HEADS);
            ck_assert_str_eq(line, title);
        } else if (*line) {
            ck_assert_int_eq(sscanf(line, "%zu\t%zu\t%f\t%n", &i, &j, &weight, &used), 3);
            ck_assert(i < shown && j < shown);
            ck_assert(weight == all[(panel * side + from + i) * side + from + j]);
            const char *tab = strchr(line + used, '\t');
            ck_assert_msg(tab && tab > line + used && tab[1] && !strchr(tab + 1, '\t') && !strchr(line, '"'), "%s",
                          line);
            seen++;
        }
    }
    ck_assert_uint_eq(panel + 1, first + panels);
    ck_assert_uint_eq(seen, panels * shown * shown);
    memory_free(data);
}

static const char *text_in(const char *folder, const char *text, size_t size)
{
    write_in(folder, "text", text, size);
    return folder;
}

START_TEST(what_is_drawn_is_what_is_there)
{
    static const struct {
        const char *words;
        size_t first, panels, from, shown;
    } cases[] = {{"", 0, LAYERS * HEADS, 0, CONTEXT},
                 {"--layer 1", 2, HEADS, 0, CONTEXT},
                 {"--layer 1 --head 0", 2, 1, 0, CONTEXT},
                 {"--layer 0 --head 1 --from 5 --show 7", 1, 1, 5, 7},
                 {"--layer 0 --head 1 --from 20 --show 7", 1, 1, 20, 4},
                 {"--layer 0 --head 1 --from 23 --show 0", 1, 1, 23, 1}};
    const char *run = trained(), *folder = text_in(fresh_path("folder"), awkward, sizeof awkward - 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Said s = command("heads --run %s --text-file %s/text --npy %s/w.npy --out %s/p.svg -q %s", run, folder, folder,
                         folder, cases[c].words);
        bool drawn = s.status == 0;
        if (!drawn) /* the data stay */
            ck_assert_msg(strstr(s.err, "make deps"), "%s", s.err);
        ck_assert_msg(!strstr(s.err, "gnuplot says"), "%s", s.err);
        Npy w = weights_in(folder, "w.npy");
        ck_assert(w.shape[0] == LAYERS && w.shape[1] == HEADS && w.shape[2] == CONTEXT && w.shape[3] == CONTEXT);
        equals(folder, &w, cases[c].first, cases[c].panels, cases[c].from, cases[c].shown);
        npy_free(&w);
        said_free(&s);
    }
}

START_TEST(rows_sum_to_one_and_see_nothing_after_them)
{
    const char *run = trained(), *folder = fresh_path("folder");
    static const char *const ways[] = {"", "--device plain", "--device plain --precision f64", "--precision bf16"};
    for (size_t way = 0; way < 4; way++) {
        text_in(folder, awkward, sizeof awkward - 1);
        Said s = must("heads --run %s --text-file %s/text --npy %s/w.npy -q %s", run, folder, folder, ways[way]);
        Npy w = weights_in(folder, "w.npy");
        const float *all = w.data;
        for (size_t row = 0; row < w.shape[0] * w.shape[1] * w.shape[2]; row++) {
            double sum = 0;
            for (size_t j = 0; j < w.shape[3]; j++) {
                float weight = all[row * w.shape[3] + j];
                sum += (double)weight;
                ck_assert(j > row % w.shape[2] ? weight == 0 : weight > 0);
            }
            ck_assert_double_lt(fabs(sum - 1), 1e-6);
        }
        npy_free(&w);
        said_free(&s);
    }
}

START_TEST(labels_name_every_token)
{
    static const char *const shown[] = {"a", "␣", "\"", "b", "\\", "n", "\"", "␣", "#", "c", "_", "^"};
    const char *run = trained(), *folder = text_in(fresh_path("folder"), awkward, 12);
    Said s = must("heads --run %s --text-file %s/text --npy %s/w.npy", run, folder, folder);
    size_t size;
    char *text = read_in(folder, "w.labels.json", &size);
    Json *j;
    Error e;
    ck_done(json_read(&j, text, size, "labels", &e), e);
    const Json *list = json_get(j, "shown_queries"), *raw = json_get(j, "keys");
    ck_assert(list && raw && list->count == 12 && raw->count == 12);
    for (size_t i = 0; i < 12; i++) {
        ck_assert_str_eq(list->items[i].text, shown[i]);
        ck_assert(raw->items[i].text[0] == awkward[i]);
    }
    ck_assert_str_eq(json_get_text(j, "maps"), "blocks");
    json_free(j);
    memory_free(text);
    said_free(&s);
}

START_TEST(a_long_text_is_cut_aloud)
{
    const char *run = trained(), *folder = text_in(fresh_path("folder"), awkward, sizeof awkward - 1);
    Said s = must("heads --run %s --text-file %s/text --npy %s/w.npy", run, folder, folder);
    ck_assert_msg(strstr(s.err, "the model reads 24: the last"), "%s", s.err);
    said_free(&s);
    s = must("heads --run %s --text x --npy %s/w.npy", run, folder); /* one token looks at itself */
    Npy w = weights_in(folder, "w.npy");
    ck_assert(w.shape[2] == 1 && w.shape[3] == 1 && ((float *)w.data)[3] == 1);
    ck_assert_str_eq(s.err, "");
    npy_free(&w);
    said_free(&s);
}

START_TEST(heads_are_described_and_rolled_out)
{
    const char *run = trained(), *folder = text_in(fresh_path("folder"), awkward, sizeof awkward - 1);
    static const char *const ways[] = {"--describe", "--describe --sort position", "--rollout"};
    for (size_t way = 0; way < 3; way++) {
        Said s = command("heads --run %s --text-file %s/text --out %s/p.png -q %s", run, folder, folder, ways[way]);
        size_t size, lines = 0;
        if (s.status)
            ck_assert_msg(strstr(s.err, "make deps"), "%s", s.err);
        ck_assert_msg(!strstr(s.err, "gnuplot says"), "%s", s.err);
        for (const char *at = s.out; (at = strchr(at, '\n')); at++)
            lines++;
        ck_assert_uint_eq(lines, way < 2 ? LAYERS * HEADS + 2 : 0);
        char *data = read_in(folder, "p.tsv", &size);
        ck_assert(data && !strncmp(data, way < 2 ? "previous, uniform " : "rollout of all layers\n", 17));
        memory_free(data);
        said_free(&s);
    }
}

START_TEST(what_is_found_is_one_object)
{
    const char *run = trained(), *folder = text_in(fresh_path("folder"), awkward, sizeof awkward - 1);
    Json *j = must_json("heads --run %s --text-file %s/text --describe --sort entropy --json -q", run, folder);
    const Json *heads = json_get(j, "heads"), *names = json_get(j, "shown_keys");
    ck_assert(heads && heads->count == LAYERS * HEADS && names && names->count == CONTEXT);
    ck_assert_str_eq(names->items[1].text, "␣");
    double last = INFINITY;
    for (size_t i = 0; i < heads->count; i++) {
        const Json *h = &heads->items[i];
        double sum = json_real(h, "previous") + json_real(h, "itself");
        ck_assert(json_real(h, "entropy") <= last && sum >= 0 && sum <= 1 && json_get_text(h, "says"));
        last = json_real(h, "entropy");
    }
    ck_assert_double_gt(json_real(json_get(j, "even"), "entropy"), 0);
    json_free(j);
    Said s = must("heads --run %s --text abc --npy %s/w.x --json", run, folder);
    j = said_json(&s);
    ck_assert(json_get_text(j, "npy") && file_exists(json_get_text(j, "npy"))); /* w.npy, as it is called */
    ck_assert(json_real(j, "layers") == LAYERS && !json_get(j, "picture"));
    json_free(j);
    said_free(&s);
    refused(2, "--json", "heads --run %s --text abc --json --out -", run);
}

/* Below the title and the letters of its columns, a row for each token, two letters for each weight. */
START_TEST(a_map_of_letters_has_a_row_for_each_token)
{
    const char *run = trained(), *folder = text_in(fresh_path("folder"), "a #\"\\", 5);
    if (!can_draw("charlm/heads/a_map_of_letters_has_a_row_for_each_token"))
        return;
    Said s = must("heads --run %s --text-file %s/text --layer 0 --head 1 --out -", run, folder);
    static const char *const names[] = {"\na ", "\n␣ ", "\n# ", "\n” ", "\n\\ "};
    ck_assert_str_eq(s.err, "");
    ck_assert_msg(strstr(s.out, "layer 0, head 1") && strstr(s.out, "██"), "%.900s", s.out); /* the first sees itself */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(strstr(s.out, names[i]) != NULL, "%zu: %.900s", i, s.out);
    said_free(&s);
    s = must("heads --run %s --text-file %s/text --out %s/m.txt", run, folder, folder);
    size_t size;
    char *text = read_in(folder, "m.txt", &size);
    ck_assert(text && strstr(text, "layer 1, head 1"));
    memory_free(text);
    said_free(&s);
    s = must("heads --run %s --text abc --layer 0 --terminal svg", run); /* into the terminal, whichever it is */
    ck_assert(strstr(s.out, "<svg"));
    said_free(&s);
}

START_TEST(what_cannot_be_is_one_line)
{
    const char *run = trained(), *folder = text_in(fresh_path("folder"), "\n", 1);
    refused(2, "--text TEXT is missing", "heads --run %s", run);
    refused(2, "--run DIR is missing", "heads --text a");
    refused(2, "--text is empty", "heads --run %s --text=", run);
    refused(2, "text is empty", "heads --run %s --text-file %s/text", run, folder);
    refused(1, "nowhere", "heads --run %s --text-file %s/nowhere", run, folder);
    refused(2, "exclude each other", "heads --run %s --text a --text-file %s/text", run, folder);
    refused(2, "nothing was asked for: give --out FILE", "heads --run %s --text abc -q", run);
    write_in(folder, "packed", "\x1f\x8b\x08 and so on", 13);
    refused(1, "packed is packed (gzip): unpack it first", "heads --run %s --text-file %s/packed", run, folder);
    refused(2, "the layers of blocks are 0 to 1", "heads --run %s --text a --layer 2", run);
    refused(2, "the heads of a layer are 0 to 1", "heads --run %s --text a --head 2", run);
    refused(2, "--head '-1'", "heads --run %s --text a --head=-1", run);
    refused(2, "--layer 'one'", "heads --run %s --text a --layer one", run);
    refused(2, "the text has 3 tokens", "heads --run %s --text abc --from 3", run);
    refused(2, ".png, .svg, .pdf", "heads --run %s --text abc --out p.jpg", run);
    refused(1, "nowhere", "heads --run %s --text abc --npy %s/nowhere/w.npy", run, folder);
    refused(1, "nowhere", "heads --run %s/nowhere --text abc", run);
}

/* Of eight equal letters, without positions: the first has another 2-gram than the rest, the second another 3-gram. */
START_TEST(n_grams_are_looked_at_as_in_training)
{
    const char *run = fresh_path("run"), *folder = fresh_path("folder");
    works("train --run %s " TINY " --depth 1 --positions none --distances none --ngrams 3 --steps 40 -q", run);
    write_in(folder, "text", "eeeeeeee", 8);
    works("heads --run %s --text-file %s/text --npy %s/w.npy -q --out %s/p.svg", run, folder, folder, folder);
    Npy w = weights_in(folder, "w.npy");
    const float *last = (const float *)w.data + 7 * w.shape[3];
    ck_assert(w.shape[3] == 8);
    ck_assert_msg(fabsf(last[0] - last[7]) > 1e-5F && fabsf(last[1] - last[7]) > 1e-5F, "%g %g %g", (double)last[0],
                  (double)last[1], (double)last[7]);
    for (size_t i = 2; i < 7; i++)
        ck_assert_float_eq_tol(last[i], last[7], 1e-6F);
    npy_free(&w);
}

static const Test tests[] = {TEST_SLOW(what_is_drawn_is_what_is_there, 120),
                             TEST(rows_sum_to_one_and_see_nothing_after_them),
                             TEST(n_grams_are_looked_at_as_in_training),
                             TEST(labels_name_every_token),
                             TEST(a_long_text_is_cut_aloud),
                             TEST(heads_are_described_and_rolled_out),
                             TEST(what_is_found_is_one_object),
                             TEST(a_map_of_letters_has_a_row_for_each_token),
                             TEST(what_cannot_be_is_one_line)};

int main(int argc, char **argv)
{
    test_folders_in_memory();
    return suite_run("charlm/heads", tests, sizeof tests / sizeof *tests, argc, argv);
}
