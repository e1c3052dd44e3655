/* classifier heads: what attention looks at while a text is read, and which of its words moved the answer. */
#include "core/program/heads.h"
#include "base/memory.h"
#include "classifier/attribution.h"
#include "core/plot/picture.h"
#include "core/run/json.h"
#include "core/text/words.h"

#include <stdio.h>
#include <string.h>

static Tensor *network(void *app, Tape *t, const Rows *rows)
{
    const Classifier *c = app;
    return c->model.masked || c->model.headless ? model_vectors(t, &c->model, rows) : model_logits(t, &c->model, rows);
}

/* Words as they stand; those that the model does not know in brackets: to it they are all the same. Of marks and subwords
 * the names. */
static bool name_tokens(Labels *t, const Classifier *c, const Buffer *text, const int32_t *ids, size_t count, Error *e)
{
    const Tokens *tokens = c->reading;
    Words words = words_of(text->text, text->size);
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) {
        const bool mark = c->options->marks && (i < classifier_lead(c) || i + 1 == count);
        char name[WORD_MOST + 8] = "<unk>";
        if (i < c->model.registers.count)
            snprintf(name, sizeof name, "[%zu]", i);
        else if (mark || tokens->kind != TOKEN_WORDS)
            snprintf(name, sizeof name, "%s", token_name(tokens, ids[i]));
        else if (words_next(&words))
            snprintf(name, sizeof name, ids[i] == tokens->unknown ? "[%s]" : "%s", words.word);
        fine = labels_add(t, name, strlen(name), false, e);
    }
    return fine;
}

static bool read_row(Classifier *c, Inspection *l, const Buffer *text, const int32_t *ids, size_t count, Error *e)
{
    const size_t sides = c->model.segments.table ? SEGMENT + 1 : c->model.ngrams.longest ? model_sides(&c->model) : 1;
    Batch b = {0};
    BatchSize size = {.sides = sides, .rows = 1};
    for (size_t side = 0; side < sides; side++)
        size.positions[side] = side == LABEL ? 0 : c->model.context;
    bool fine = batch_open(&b, &size, e);
    if (fine) {
        classifier_add_text(c, &b, ids, count);
        classifier_add_segments(c, &b, SIZE_MAX);
        ngrams_add(&c->model.ngrams, &b);
        InspectRow row = {.sides = sides, .network = network};
        for (size_t side = 0; side < sides; side++)
            row.ids[side] = b.side[side].ids, row.count[side] = b.side[side].positions;
        fine = name_tokens(&l->tokens[0], c, text, row.ids[TEXT], row.count[TEXT], e) &&
               inspect_read(&c->app, l, &row, e);
    }
    batch_close(&b);
    return fine;
}

static bool read_text(Classifier *c, Inspection *l, const Buffer *text, Error *e)
{
    int32_t *ids = NULL;
    size_t count, cut;
    if (!text_to_ids(c->reading, text->text, text->size, c->model.context - classifier_marks(c), &ids, &count, &cut, e))
        return false;
    inspect_cut(&c->app, "the text", count + cut, count);
    bool fine = read_row(c, l, text, ids, count, e);
    memory_free(ids);
    return fine;
}

bool classifier_inspect(App *a, Inspection *l, Error *e)
{
    Classifier *c = (Classifier *)a;
    Buffer text = {0};
    bool fine = inspect_text(a, l->options, &text, e);
    fine = fine && attribution_prepare(a->command_line, e) && classifier_open_run(c, e) && read_text(c, l, &text, e);
    buffer_free(&text);
    return fine;
}

static void add_members(Buffer *b, const Labels *words, const Attribution *m, const Classifier *c)
{
    json_add_text(b, "answer", c->classes[m->answer]);
    json_add_member(b, "probability", m->share);
    json_open(b, "words", '[');
    for (size_t i = 0; i < m->count; i++) {
        json_open(b, NULL, '{');
        json_add_text(b, "word", label_shown(words, m->lead + i));
        json_add_member(b, "left_out", m->left_out[i]);
        json_add_member(b, "gradient_x_input", m->gradient[i]);
        json_add_member(b, "attention", m->attention[i]);
        buffer_print(b, "}");
    }
    buffer_print(b, "]");
}

/* A line for each word: for people, and the same as data. */
static void add_lines(Inspection *l, const Attribution *m, const Classifier *c)
{
    const size_t from = l->where.from, most = l->where.most;
    Buffer *table = &l->table;
    buffer_print(table, "%s, %.4f\n%9s  %9s  %9s\n", c->classes[m->answer], m->share, "left out", "gradient",
                 "attention");
    buffer_print(&l->data, "word\tleft out\tgradient x input\tattention\n");
    for (size_t i = 0; i < m->count; i++) {
        buffer_print(table, "%+9.3f  %+9.3f  %9.2f  %s\n", m->left_out[i], m->gradient[i], m->attention[i],
                     label_shown(&l->tokens[0], m->lead + i));
        if (i < from || (most && i - from >= most))
            continue;
        picture_label(&l->data, label_shown(&l->tokens[0], m->lead + i));
        buffer_print(&l->data, "\t%.9g\t%.9g\t%.9g\n", m->left_out[i], m->gradient[i], m->attention[i]);
    }
    buffer_print(table,
                 "Above 0 a word speaks for %s, in log odds. Attention says where the network looks, not why it "
                 "decides.\n",
                 c->classes[m->answer]);
}

bool classifier_inspect_further(App *a, Inspection *l, Error *e)
{
    Classifier *c = (Classifier *)a;
    Attribution m = {0};
    if (!c->options->attribution)
        return true;
    if (!classifier_has_classes(c))
        return fail(e, "--attribution asks which words changed the predicted class, but this run has no classes") ||
               app_misused(a);
    const Side *read = &l->batch.side[TEXT];
    bool fine = attribution_open(&m, c, read->ids + classifier_lead(c), read->positions - classifier_marks(c), l->shown,
                                 e);
    if (fine) {
        add_lines(l, &m, c);
        add_members(&l->json, &l->tokens[0], &m, c);
        l->script = "words";
        fine = !l->data.failed || fail(e, "out of memory for attributions of words");
    }
    attribution_close(&m);
    return fine;
}
