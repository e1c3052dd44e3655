/* classifier import: encoders of transformers (tests/fixtures/encoders.py) read the same tokens here, and compute the same;
 * and they are runs like others. */
#include "base/file.h"
#include "base/memory.h"
#include "core/run/safetensors.h"
#include "tests/cases.h"
#include "tests/classifier/encoders.h"
#include "tests/classifier/opened.h"
#include "tests/command.h"
#include "tests/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    "bert-pairs", "bert", "bert-classes", "bert-untied", "distilbert", "distilbert-masked", "distilbert-classes"};

enum { MODELS = sizeof names / sizeof *names, TEXTS = 3, LONGEST = 64 };

static void setup(void) { command_program("classifier"); }

/* ---- what it computes */

typedef struct Reference {
    Safetensors *file;
    int32_t ids[TEXTS * LONGEST], length[TEXTS];
} Reference;

static void *values_of(const Reference *f, const char *name, SafeType type, void *to, size_t most, size_t *count)
{
    Error e;
    const SafeTensor *t = safetensors_find(f->file, name);
    *count = t ? safe_elements(t) : 0;
    ck_assert(*count <= most);
    if (t)
        ck_done(safetensors_read(f->file, t, type, to, *count, &e), e);
    return to;
}

static Reference reference_of(const char *name)
{
    Reference f = {.file = NULL};
    char path[300];
    size_t count;
    Error e;
    snprintf(path, sizeof path, "%s/reference.safetensors", folder_of(name));
    ck_done(safetensors_open(&f.file, path, &e), e);
    values_of(&f, "ids", SAFE_I32, f.ids, TEXTS * LONGEST, &count);
    values_of(&f, "length", SAFE_I32, f.length, TEXTS, &count);
    ck_assert_uint_eq(count, TEXTS);
    return f;
}

/* The texts as rows; side MASKED of what predicts tokens has each row's first position alone, which is [CLS]. */
static void fill(const Classifier *c, Batch *b, const Reference *f)
{
    Error e;
    char *text;
    size_t size, at = 0;
    Json *texts = NULL;
    ck_done(file_read(ENCODERS "texts.json", &text, &size, &e) && json_read(&texts, text, size, "texts", &e), e);
    ck_assert_uint_eq(texts->count, TEXTS);
    for (size_t i = 0; i < TEXTS; i++) {
        int32_t *ids;
        size_t count, cut;
        const Json *one = &texts->items[i];
        ck_done(text_to_ids(c->reading, one->text, one->size, c->model.context - 2, &ids, &count, &cut, &e), e);
        const size_t first = classifier_add_text(c, b, ids, count);
        ck_assert_uint_eq(count + 2, (size_t)f->length[i]);
        ck_assert_mem_eq(b->side[TEXT].ids + first, f->ids + at, (count + 2) * sizeof *ids);
        at += count + 2;
        memory_free(ids);
        b->side[MASKED].ids[batch_row(b, MASKED, 1)] = 0;
        b->side[NEXT].ids[batch_row(b, NEXT, 1)] = 0;
        batch_row(b, SEGMENT, count + 2);
        for (size_t k = first; k < first + count + 2; k++)
            b->side[SEGMENT].ids[k] = 0;
    }
    b->side[MASKED].among = TEXT + 1;
    json_free(texts);
    memory_free(text);
}

static Tensor *hidden(void *self, Tape *t, const Rows *rows)
{
    return model_vectors(t, &((const Classifier *)self)->model, rows);
}

static Tensor *pooled(void *self, Tape *t, const Rows *rows)
{
    return model_text_vectors(t, &((const Classifier *)self)->model, VECTOR_POOLER, rows);
}

static Tensor *next(void *self, Tape *t, const Rows *rows)
{
    const Model *m = &((const Classifier *)self)->model;
    return model_next(t, m, model_masked(t, m, rows), rows);
}

static Tensor *logits(void *self, Tape *t, const Rows *rows)
{
    const Model *m = &((const Classifier *)self)->model;
    return m->masked ? model_tokens(t, m, model_vectors(t, m, rows)) : model_logits(t, m, rows);
}

/* Whatever the model has, for the memory that it takes. */
static Tensor *all(void *self, Tape *t, const Rows *rows)
{
    const Model *m = &((const Classifier *)self)->model;
    hidden(self, t, rows);
    if (m->next.weight)
        next(self, t, rows);
    pooled(self, t, rows);
    return logits(self, t, rows);
}

static const struct Output {
    const char *name;
    SessionNetwork network;
} outputs[] = {{"hidden", hidden}, {"pooled", pooled}, {"next", next}, {"logits", logits}};

static size_t compare(Opened *o, const Reference *f, const Batch *b, const char *name, double by)
{
    static double theirs[1 << 14], ours[1 << 14];
    size_t compared = 0;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        size_t count;
        double largest = 1;
        Error e;
        Worker *w = &o->trainer.worker[0];
        values_of(f, outputs[i].name, SAFE_F64, theirs, 1 << 14, &count);
        if (!count)
            continue;
        const Tensor *y = session_run(w, b, outputs[i].network, &o->c);
        ck_assert_msg(y->rows * y->columns == count, "%s, %s: %zu numbers, not %zu", name, outputs[i].name,
                      y->rows * y->columns, count);
        ck_done(session_doubles(w, y, 0, count, ours, &e), e);
        session_end(w);
        for (size_t k = 0; k < count; k++)
            largest = fmax(largest, fabs(theirs[k]));
        for (size_t k = 0; k < count; k++)
            ck_assert_msg(fabs(ours[k] - theirs[k]) <= by * largest, "%s, %s %zu: %.12g, there %.12g", name,
                          outputs[i].name, k, ours[k], theirs[k]);
        compared += count;
    }
    return compared;
}

static void compute_as_theirs(const char *name, const char *device, const char *precision, double by)
{
    const char *run = imported(name);
    Reference f = reference_of(name);
    Opened o;
    Batch b;
    Error e;
    opened_run(&o, run, device, precision, all, TEXTS);
    const BatchSize size = {
        .sides = NEXT + 1, .rows = TEXTS, .positions = {TEXTS * LONGEST, TEXTS, TEXTS * LONGEST, TEXTS}};
    ck_done(batch_open(&b, &size, &e), e);
    fill(&o.c, &b, &f);
    ck_assert_uint_gt(compare(&o, &f, &b, name, by), 100);
    batch_close(&b);
    opened_close(&o);
    safetensors_close(f.file);
}

START_TEST(in_f64_it_computes_what_transformers_does) { compute_as_theirs(names[_i], "plain", "f64", 1e-9); }
START_TEST(in_f32_it_computes_that_to_rounding) { compute_as_theirs(names[_i], "cpu", "f32", 1e-5); }

/* ---- tokens */

START_TEST(tokens_are_those_of_transformers)
{
    Cases cases = cases_open("encoders/tokens");
    Tokens t;
    Error e;
    const TokensOptions o = {
        .kind = _i ? TOKEN_BERT_CASED : TOKEN_BERT, .marks = true, .file = "tests/fixtures/wordpiece-vocab.txt"};
    ck_done(tokens_learn(&t, &o, NULL, &e), e);
    for (size_t i = 0; i < cases.list->count; i++) {
        const Json *one = &cases.list->items[i], *text = case_value(one, 0);
        int32_t *ids;
        size_t count, cut;
        if (!case_value(one, 1)->count) /* a text without a word is one unknown token here */
            continue;
        ck_done(text_to_ids(&t, text->text, text->size, 0, &ids, &count, &cut, &e), e);
        Buffer found = {0};
        buffer_add(&found, ids, count * sizeof *ids);
        case_expect_ids(one, 1 + (size_t)_i, &found);
        buffer_free(&found);
        memory_free(ids);
    }
    tokens_close(&t);
    cases_close(&cases);
}

/* ---- it is a run */

/* A table with a few texts of each of three classes. */
static const char *table(void)
{
    static char path[800];
    const char *folder = fresh_path("texts");
    Buffer b = {0};
    Error e;
    ck_done(folder_make(folder, &e), e);
    buffer_print(&b, "text,label\n");
    for (int i = 0; i < 30; i++)
        buffer_print(&b, "\"the house %d, don't!\",%s\n", i, i % 3 ? i % 3 == 1 ? "good" : "so so" : "bad");
    write_in(folder, "t.csv", b.text, b.size);
    buffer_free(&b);
    snprintf(path, sizeof path, "%s/t.csv", folder);
    return path;
}

static void says(const char *words, const Said *s)
{
    ck_assert_msg(strstr(s->out, words) || strstr(s->err, words), "%s is not in: %s%s", words, s->out, s->err);
}

START_TEST(a_pretrained_one_predicts_tokens_and_learns_further)
{
    const char *run = imported("bert-pairs"), *data = table();
    Said s = must("predict --run %s --guesses 2 the[MASK]house[MASK]", run);
    says("        2 ", &s);
    said_free(&s);
    s = must("eval --run %s --data %s --split train", run, data);
    says("next sentences: loss", &s);
    said_free(&s);
    works("heads --run %s --text the_house --out %s.png", run, run);
    s = must("info --run %s", run);
    says("pooler.weight", &s);
    said_free(&s);
    works("pretrain --resume %s --data %s --steps 3 --batch 4 -q", run, data);
    /* the first data are the run's from then on */
    refused(1, "was trained on other data", "pretrain --resume %s --data README.md --steps 5 -q", run);
    s = must("eval --run %s --json", run);
    says("\"masked\"", &s);
    said_free(&s);
}

/* Two texts have three marks, but one has two. */
START_TEST(a_text_may_fill_the_context_of_a_model_of_pairs)
{
    char text[61] = "";
    for (size_t i = 0; i < 30; i++)
        strcat(text, "a_");
    Said s = must("predict --run %s --vectors %s %s", imported("bert-pairs"), fresh_path("v.npy"), text);
    ck_assert_msg(strstr(s.err, "the model reads 22\n"), "%s", s.err);
    said_free(&s);
}

START_TEST(a_classifier_knows_the_names_of_its_classes)
{
    const char *run = imported("bert-classes"), *data = table();
    Json *j = must_json("predict --run %s --json the_house", run);
    const Json *shares = json_get(j, "probabilities");
    ck_assert(shares->count == 3 && !strcmp(shares->items[1].key, "so so"));
    json_free(j);
    Said s = must("eval --run %s --data %s", run, data);
    says("so so", &s);
    said_free(&s);
    works("heads --run %s --text the_house --attribution", run);
    works("train --resume %s --data %s --steps 2 --batch 3 -q", run, data);
    static const char others[] = "text,label\nthe,up\nhouse,down\n";
    const char *folder = fresh_path("others");
    Error e;
    ck_done(folder_make(folder, &e), e);
    write_in(folder, "t.csv", others, sizeof others - 1);
    refused(1, "is not a known class; the known ones are: bad, so so, good", "eval --run %s --data %s/t.csv", run,
            folder);
}

/* Tokens, shape and pooler are the run's; the head is new, and reads what the pooler has learned to read. */
START_TEST(one_without_a_head_gives_vectors_and_begins_others)
{
    static char tuned[700], run[700];
    snprintf(run, sizeof run, "%s", imported("bert"));
    snprintf(tuned, sizeof tuned, "%s", fresh_path("tuned"));
    Said s = must("train --from %s --data %s --run %s --preset finetune --batch 3 --epochs 0 --steps 2", run, table(),
                  tuned);
    says(" 55 read: token_embedding.weight", &s);
    says(" 2 not in the file: logits.weight, logits.bias", &s);
    said_free(&s);
    size_t size;
    char *config = read_in(tuned, "config.json", &size);
    ck_assert(strstr(config, "\"pool\": \"first\", \"pooler\": \"tanh\"") &&
              strstr(config, "\"norm-epsilon\": 0.001") && strstr(config, "\"tokens\": \"bert-cased\""));
    memory_free(config);
    works("predict --run %s the_house", tuned);
    refused(1, "has no logits that could be scored", "eval --run %s --data %s", run, table());
    refused(2, "has no logits to predict with: --vectors FILE.npy", "predict --run %s the_house", run);
    refused(1, "such a run has nothing to learn", "train --resume %s --steps 3", run);
    refused(2, "such a run has nothing to learn", "train --objective vectors --steps 3");
    works("heads --run %s --text the_house --describe", run);
    works("info --run %s", run);
}

/* Of a table of positions the first ones are read; one that is too short is not read. */
START_TEST(fewer_positions_than_it_has_learned_are_enough)
{
    static char run[700];
    const char *tuned = fresh_path("tuned");
    static float positions[2][40 * 8];
    snprintf(run, sizeof run, "%s", imported("bert"));
    works("train --from %s --data %s --run %s --context 10 --preset finetune --epochs 0 --steps 0 -q", run, table(),
          tuned);
    for (size_t i = 0; i < 2; i++) {
        char path[800];
        size_t count;
        Reference f;
        Error e;
        snprintf(path, sizeof path, "%s/checkpoints/00000000/model.safetensors", i ? tuned : run);
        ck_done(safetensors_open(&f.file, path, &e), e);
        values_of(&f, "position_embedding.weight", SAFE_F32, positions[i], 40 * 8, &count);
        ck_assert_uint_eq(count, (i ? 10 : 40) * 8);
        safetensors_close(f.file);
    }
    ck_assert_mem_eq(positions[0], positions[1], 10 * 8 * sizeof(float));
    Said s = must("train --from %s --data %s --run %s --context 50 --preset finetune --epochs 0 --steps 0", run,
                  table(), fresh_path("longer"));
    says("1 of another shape, not read: position_embedding.weight [40,8] instead of [50,8]", &s);
    said_free(&s);
}

/* Of all positions, marks included, as sentence transformers average them. */
START_TEST(vectors_of_texts_are_averages_of_what_transformers_computes)
{
    static double hidden_of[1 << 12];
    const char *run = imported(names[_i]), *folder = fresh_path("vectors");
    Reference f = reference_of(names[_i]);
    Buffer lines = {0};
    char path[800];
    size_t count, size;
    Json *texts = NULL;
    Error e;
    char *text;
    ck_done(file_read(ENCODERS "texts.json", &text, &size, &e) && json_read(&texts, text, size, "texts", &e), e);
    for (size_t i = 0; i < TEXTS; i++)
        buffer_print(&lines, "%s\n", texts->items[i].text);
    ck_done(folder_make(folder, &e), e);
    snprintf(path, sizeof path, "%s/v.npy", folder);
    command_input(lines.text, lines.size);
    works("predict --run %s --vectors %s -q", run, path);
    Npy v = npy_read(path);
    values_of(&f, "hidden", SAFE_F64, hidden_of, 1 << 12, &count);
    const size_t dim = v.shape[1];
    ck_assert_uint_eq(v.shape[0], TEXTS);
    const double *at = hidden_of;
    for (size_t i = 0; i < TEXTS; at += (size_t)f.length[i++] * dim)
        for (size_t k = 0; k < dim; k++) {
            double mean = 0;
            for (size_t n = 0; n < (size_t)f.length[i]; n++)
                mean += at[n * dim + k] / f.length[i];
            ck_assert(fabs(mean - (double)((float *)v.data)[i * dim + k]) < 2e-5);
        }
    command_input(lines.text, lines.size);
    works("predict --run %s --vectors %s --normalize --vector first -q", run, path);
    Npy unit = npy_read(path);
    for (size_t i = 0; i < TEXTS; i++) {
        double squared = 0;
        for (size_t k = 0; k < dim; k++)
            squared += pow((double)((float *)unit.data)[i * dim + k], 2);
        ck_assert(fabs(squared - 1) < 1e-5);
    }
    npy_free(&v);
    npy_free(&unit);
    buffer_free(&lines);
    json_free(texts);
    memory_free(text);
    safetensors_close(f.file);
}

START_TEST(vectors_that_a_model_has_not_are_refused)
{
    const char *run = imported("distilbert"), *folder = fresh_path("vectors");
    char path[800];
    Error e;
    ck_done(folder_make(folder, &e), e);
    refused(2, "--vector pooler: the run", "predict --run %s --vectors %s/v.npy --vector pooler the", run, folder);
    refused(2, "--normalize belongs to --vectors", "predict --run %s --normalize the", run);
    refused(1, "/no/such", "predict --run %s --vectors /no/such/v.npy the", run);
    refused(1, "cannot read", "predict --run %s --vectors %s/v.npy --file /no/such", run, folder);
    snprintf(path, sizeof path, "%s/v.npy", folder);
    ck_assert(!file_exists(path));
}

static const Test tests[] = {TEST_LOOP(in_f64_it_computes_what_transformers_does, MODELS),
                             TEST_LOOP(in_f32_it_computes_that_to_rounding, MODELS),
                             TEST_LOOP(tokens_are_those_of_transformers, 2),
                             TEST(a_pretrained_one_predicts_tokens_and_learns_further),
                             TEST(a_classifier_knows_the_names_of_its_classes),
                             TEST(one_without_a_head_gives_vectors_and_begins_others),
                             TEST(fewer_positions_than_it_has_learned_are_enough),
                             TEST_LOOP(vectors_of_texts_are_averages_of_what_transformers_computes, MODELS),
                             TEST(vectors_that_a_model_has_not_are_refused),
                             TEST(a_text_may_fill_the_context_of_a_model_of_pairs)};

int main(int argc, char **argv)
{
    setup();
    return suite_run("classifier/import", tests, sizeof tests / sizeof *tests, argc, argv);
}
