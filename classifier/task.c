/* classifier as a Task, and as a program. */
#include "classifier/classifier.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "classifier/baseline.h"
#include "core/cli/words.h"
#include "core/nn/loss.h"
#include "core/program/network.h"
#include "core/run/json.h"
#include "core/session/session.h"
#include "core/tensor/sites.h"

#include <stdio.h>
#include <string.h>

enum { TEXT, LABEL, SIDES_USED }; /* of a batch */

static void add_text(Batch *b, const Texts *texts, size_t i)
{
    size_t length = texts->start[i + 1] - texts->start[i], at = batch_row(b, TEXT, length);
    memcpy(b->side[TEXT].ids + at, texts->ids + texts->start[i], length * sizeof *texts->ids);
    for (size_t j = at; j < at + length; j++)
        b->side[TEXT].targets[j] = -1;
    at = batch_row(b, LABEL, 1);
    b->side[LABEL].ids[at] = 0;
    b->side[LABEL].targets[at] = texts->labels ? texts->labels[i] : -1;
}

static void row(const App *a, Split split, size_t i, Batch *b)
{
    add_text(b, reviews_part(&((const Classifier *)a)->reviews, split), i);
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const Classifier *c = self;
    Tensor *logits = model_logits(t, &c->model, &rows[TEXT]);
    if (!t->training)
        t->guesses = likeliest(t, logits);
    const SharedOptions *o = &c->options->shared;
    return cross_entropy_z(t, logits, rows[LABEL].targets, t->training ? o->smoothing : 0, t->training ? o->z_loss : 0,
                           0);
}

void classifier_task(Classifier *c)
{
    const SharedOptions *o = &c->options->shared;
    const Texts *texts = reviews_part(&c->reviews, c->app.data.scored);
    c->app.data.score_count = texts->count;
    size_t most = c->app.data.order.most_rows ? c->app.data.order.most_rows : o->batch;
    size_t rows = o->micro_batch && o->micro_batch < most ? o->micro_batch : most;
    snprintf(c->app.protocol, sizeof c->app.protocol, "%s, %zu texts, up to %zu words", split_name(c->app.data.scored),
             texts->count, c->model.context);
    c->app.task = (Task){.self = c,
                         .sides = SIDES_USED,
                         .longest = {c->model.context, 1},
                         .most_rows = most,
                         .loss_side = {LABEL},
                         .token_side = TEXT,
                         .first_word = {UNKNOWN + 1},
                         .guesses = true,
                         .batch = dataset_batch,
                         .loss = loss,
                         .score_batches = (texts->count + rows - 1) / rows,
                         .score_rows = rows,
                         .score_batch = dataset_score_batch,
                         .unit = "nats",
                         .per_nat = 1,
                         .protocol = c->app.protocol};
}

/* --- logits of any texts --- */

typedef struct LogitsWork {
    Classifier *c;
    Trainer *trainer;
    const Texts *texts;
    Batch *batches; /* one a worker */
    float *logits;
} LogitsWork;

static Tensor *network(void *self, Tape *t, const Rows *rows)
{
    const Classifier *c = self;
    return model_logits(t, &c->model, &rows[TEXT]);
}

static void logits_work(void *argument, size_t number)
{
    LogitsWork *l = argument;
    Worker *w = &l->trainer->worker[number];
    size_t rows = l->c->app.task.score_rows, classes = l->c->model.classes;
    for (size_t first = number * rows; first < l->texts->count; first += rows * l->trainer->options.workers) {
        size_t end = first + rows < l->texts->count ? first + rows : l->texts->count;
        Batch *b = &l->batches[number];
        batch_clear(b);
        for (size_t i = first; i < end; i++)
            add_text(b, l->texts, i);
        const Tensor *y = session_run(w, b, network, l->c);
        session_floats(w, y, 0, (end - first) * classes, l->logits + first * classes);
        session_end(w);
    }
}

bool classifier_logits(Classifier *c, Trainer *trainer, const Texts *texts, float *logits, Error *e)
{
    size_t rows = c->app.task.score_rows, workers = trainer->options.workers;
    BatchSize size = {SIDES_USED, rows, {rows * c->model.context, rows}, 0};
    LogitsWork l = {c, trainer, texts, memory_get(workers, sizeof(Batch)), logits};
    bool fine = l.batches || memory_error(e, "batches", workers, sizeof(Batch));
    for (size_t i = 0; fine && i < workers; i++)
        fine = batch_open(&l.batches[i], &size, e);
    if (fine)
        pool_run(trainer->pool, logits_work, &l);
    for (size_t i = 0; i < workers; i++) {
        fine = fine && trainer->options.k->finish(trainer->worker[i].stream, e);
        if (l.batches)
            batch_close(&l.batches[i]);
    }
    memory_free(l.batches);
    return fine;
}

/* --- runs --- */

/* The run's classes, a line each, in their order. */
static bool write_classes(const Classifier *c, Error *e)
{
    Buffer b = {0};
    char *path = run_file(c->app.run, "classes.txt");
    for (size_t i = 0; i < c->reviews.class_count; i++)
        buffer_print(&b, "%s\n", c->reviews.classes[i]);
    bool fine = file_write_buffer(path, &b, e);
    memory_free(path);
    return fine;
}

static bool begin(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    char *path = run_file(a->run, "vocabulary.tsv");
    bool fine = path || memory_error(e, "a path", 1, 1);
    fine = fine && vocabulary_write(&c->reviews.vocabulary, path, e) && write_classes(c, e);
    memory_free(path);
    return fine;
}

/* One line of classes.txt; the text after it is changed. */
static bool read_class(Classifier *c, const char *path, char *line, size_t size, Error *e)
{
    const char *fault = class_fault(line, size);
    for (size_t i = 0; !fault && i < c->class_count; i++)
        fault = strlen(c->classes[i]) == size && !memcmp(c->classes[i], line, size) ? "appears twice" : NULL;
    if (fault)
        return fail(e, "%s, line %zu: the class '%s' %s", path, c->class_count + 1, quoted(line, size).text, fault);
    line[size] = 0;
    c->classes[c->class_count] = memory_string(line);
    return c->classes[c->class_count++] || memory_error(e, "the names of classes", size, 1);
}

static bool read_classes(Classifier *c, Error *e)
{
    char *text = NULL, *path = run_file(c->app.run, "classes.txt");
    size_t size = 0, count = 0;
    bool fine = (path || memory_error(e, "a path", 1, 1)) && file_read(path, &text, &size, e);
    for (size_t i = 0; fine && i < size; i++)
        count += text[i] == '\n';
    if (fine && (!count || text[size - 1] != '\n'))
        fine = fail(e, count ? "%s is truncated: its last line has no end" : "%s has no classes", path);
    if (fine && !(c->classes = memory_get(count, sizeof *c->classes)))
        fine = memory_error(e, "the names of classes", count, sizeof *c->classes);
    for (char *line = text, *end; fine && c->class_count < count; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + size - line));
        fine = read_class(c, path, line, (size_t)(end - line), e);
    }
    memory_free(text);
    memory_free(path);
    return fine;
}

static bool read_run(Classifier *c, Error *e)
{
    char *path = run_file(c->app.run, "vocabulary.tsv");
    bool fine = (path || memory_error(e, "a path", 1, 1)) && vocabulary_read(&c->vocabulary, path, e) &&
                read_classes(c, e);
    memory_free(path);
    return fine;
}

static bool build(Classifier *c, size_t words, size_t classes, Error *e)
{
    if (c->options->shared.tie)
        return fail(e, "--tie: the classifier's logits are of classes, which have no rows in the table of words") ||
               app_misused(&c->app);
    if (!network_suits(&c->options->shared, e))
        return app_misused(&c->app);
    c->app.parameters = &c->model.parameters;
    return model_open(&c->model, c->options, words, classes, e);
}

bool classifier_open_run(Classifier *c, Error *e)
{
    return app_open_run(&c->app, c->options->shared.run, false, e) && read_run(c, e) &&
           build(c, c->vocabulary.count, c->class_count, e);
}

ReviewsOptions classifier_reviews_options(const Classifier *c)
{
    const ClassifierOptions *v = c->options;
    const Run *run = c->app.run;
    return (ReviewsOptions){.path = v->shared.data,
                            .text_column = v->text_column,
                            .label_column = v->label_column,
                            .vocabulary_size = v->words,
                            .length = v->shared.context,
                            .seed = (uint32_t)v->shared.seed,
                            .final = v->final,
                            .no_cache = !v->cache,
                            .vocabulary = run ? &c->vocabulary : NULL,
                            .classes = run ? (const char *const *)c->classes : NULL,
                            .class_count = c->class_count};
}

static bool open_data(App *a, bool to_train, Error *e)
{
    Classifier *c = (Classifier *)a;
    const ReviewsOptions o = classifier_reviews_options(c);
    (void)to_train;
    return reviews_open(&c->reviews, &o, e);
}

/* How many texts of each class there are. */
static bool print_balance(const Classifier *c, Error *e)
{
    size_t *counts = memory_get(c->reviews.class_count, sizeof *counts);
    if (!counts)
        return memory_error(e, "counts of classes", c->reviews.class_count, sizeof *counts);
    for (int part = 0; part < SPLITS; part++) {
        const Texts *texts = reviews_part(&c->reviews, (Split)part);
        reviews_balance(&c->reviews, (Split)part, counts);
        fprintf(stderr, "%-5s %6zu texts, %zu cut at %zu words:", split_name((Split)part), texts->count, texts->cut,
                c->options->shared.context);
        for (size_t i = 0; i < c->reviews.class_count; i++)
            fprintf(stderr, "%s %s %zu", i ? "," : "", c->reviews.classes[i], counts[i]);
        fputc('\n', stderr);
    }
    memory_free(counts);
    return true;
}

/* --- the program --- */

static bool open_all(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    const SharedOptions *o = a->options;
    if ((a->run && !read_run(c, e)) || !app_open_data(a, true, e) || !reviews_suits(&c->reviews, SPLIT_TRAIN, e))
        return false;
    const Texts *texts = reviews_part(&c->reviews, SPLIT_TRAIN);
    const OrderOptions how = {.rows = o->batch,
                              .tokens = c->options->batch_tokens,
                              .by_length = c->options->by_length,
                              .seed = (uint32_t)o->seed};
    c->app.data.scored = SPLIT_VALID;
    if (!build(c, c->reviews.vocabulary.count, c->reviews.class_count, e) ||
        !order_open(&c->app.data.order, texts->start, texts->count, &how, e))
        return false;
    classifier_task(c);
    return o->quiet || print_balance(c, e);
}

static bool open_model(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    if (a->run ? !read_run(c, e) || !build(c, c->vocabulary.count, c->class_count, e)
               : !build(c, c->options->words, 2, e))
        return false;
    classifier_task(c);
    return true;
}

static void close_all(App *a)
{
    Classifier *c = (Classifier *)a;
    model_close(&c->model);
    reviews_close(&c->reviews);
    vocabulary_close(&c->vocabulary);
    for (size_t i = 0; i < c->class_count; i++)
        memory_free(c->classes[i]);
    memory_free(c->classes);
}

static DataNote data(const App *a)
{
    const Classifier *c = (const Classifier *)a;
    const Texts *texts = reviews_part(&c->reviews, SPLIT_TRAIN);
    return (DataNote){a->options->data, texts->count ? texts->start[texts->count] : 0, c->reviews.sha256};
}

static double step_tokens(const App *a)
{
    const Classifier *c = (const Classifier *)a;
    if (!c->app.data.order.count)
        return (double)(a->options->batch * a->options->context);
    return c->options->batch_tokens ? (double)c->options->batch_tokens
                                    : (double)(a->options->batch * c->app.data.order.mean);
}

static size_t epoch(const App *a) { return a->data.order.batches; }

static void protocol(const App *a, Buffer *b)
{
    const Classifier *c = (const Classifier *)a;
    json_add_member(b, "texts", (double)reviews_part(&c->reviews, c->app.data.scored)->count);
}

static size_t vocabulary(const App *a, size_t side, size_t *targets)
{
    const Classifier *c = (const Classifier *)a;
    *targets = side == LABEL ? c->model.classes : 0;
    return side == LABEL ? 1 : c->model.embedding.table->shape[0];
}

bool classifier_baseline(App *a, Error *e)
{
    Classifier *c = (Classifier *)a;
    return app_open_data(a, false, e) &&
           baseline_run(&c->reviews, c->options->final ? SPLIT_TEST : SPLIT_VALID, c->options->shared.json, e);
}

const AppKind classifier_kind = {.name = "classifier",
                                 .program = &classifier_program,
                                 .built_in = "built-in reviews",
                                 .measure = "words",
                                 .open = open_all,
                                 .open_model = open_model,
                                 .close = close_all,
                                 .open_data = open_data,
                                 .data = data,
                                 .row = row,
                                 .epoch = epoch,
                                 .step_tokens = step_tokens,
                                 .protocol = protocol,
                                 .begin = begin,
                                 .vocabulary = vocabulary};
