/* See attribution.h.
 *
 * The slope of the loss, - ln p, comes from the tape as in training, for each word's position its own: where a table's
 * rows have slots for their gradients (core/train/used.h), each position of the text is given a slot. With log odds
 * z = ln p - ln (1 - p), dz = d ln p / (1 - p). */
#include "classifier/attribution.h"

#include "base/memory.h"
#include "core/nn/loss.h"

#include <math.h>

/* ln p - ln (1 - p) of a class; *less: 1 - p */
static double log_odds(const float *logits, size_t classes, size_t class, double *less)
{
    double largest = -INFINITY, others = 0;
    for (size_t i = 0; i < classes; i++)
        if (i != class)
            largest = fmax(largest, (double)logits[i]);
    for (size_t i = 0; i < classes; i++)
        others += i == class ? 0 : exp((double)logits[i] - largest);
    double odds = (double)logits[class] - largest - log(others);
    *less = 1 / (1 + exp(odds));
    return odds;
}

/* The text, and after it the text without each of its words; one of a single word leaves an unknown one. */
static void leave_out(const int32_t *ids, size_t count, int32_t unknown, int32_t *all, size_t *start)
{
    size_t at = 0;
    for (size_t left = 0; left <= count; left++) {
        start[left] = at;
        for (size_t i = 0; i < count; i++)
            if (left == 0 || i != left - 1)
                all[at++] = ids[i];
        if (at == start[left])
            all[at++] = unknown;
    }
    start[count + 1] = at;
}

static bool ask_without(Attribution *m, Classifier *c, Trainer *trainer, const int32_t *ids, double *less, Error *e)
{
    const size_t texts = m->count + 1, classes = c->class_count;
    int32_t *all = memory_get(texts * m->count + 1, sizeof *all);
    size_t *start = memory_get(texts + 1, sizeof *start);
    float *logits = memory_get(texts * classes, sizeof *logits);
    double *shares = memory_get(classes, sizeof *shares), ignored;
    bool fine = (all && start && logits && shares) ||
                memory_error(e, "texts without a word", texts * m->count, sizeof *all);
    if (fine) {
        leave_out(ids, m->count, c->reading->unknown, all, start);
        fine = classifier_logits(c, trainer, &(Texts){.count = texts, .ids = all, .start = start}, logits, e);
    }
    if (fine) {
        m->answer = classifier_shares(shares, logits, classes);
        m->share = shares[m->answer];
        double whole = log_odds(logits, classes, m->answer, less);
        for (size_t i = 0; i < m->count; i++)
            m->left_out[i] = whole - log_odds(logits + (i + 1) * classes, classes, m->answer, &ignored);
    }
    memory_free(all);
    memory_free(start);
    memory_free(logits);
    memory_free(shares);
    return fine;
}

/* Reads the gradient of each position and its vector. */
static bool multiply(Attribution *m, const Classifier *c, Trainer *trainer, const int32_t *ids, double less, Error *e)
{
    const Kernels *k = trainer->options.k;
    const Worker *w = &trainer->worker[0];
    const Parameter *table = c->model.embedding.table;
    const size_t dim = c->model.embedding.dim;
    const size_t slots = m->count + classifier_marks(c);
    void *slopes = memory_get(slots * dim, k->real), *vectors = memory_get(table->count, k->real);
    bool fine = (slopes && vectors) || memory_error(e, "word vectors", table->count, k->real);
    if (fine) {
        k->download(w->stream, slopes, tape_gradient_of(&w->tape, table), slots * dim * k->real);
        weights_get(&trainer->weights, w->stream, table, vectors);
    }
    for (size_t i = 0; fine && i < m->count; i++) {
        double sum = 0;
        for (size_t d = 0; d < dim; d++)
            sum += real_at(k, slopes, (m->lead + i) * dim + d) * real_at(k, vectors, (size_t)ids[i] * dim + d);
        m->gradient[i] = -sum / less; /* of ln p, not of the loss */
    }
    memory_free(slopes);
    memory_free(vectors);
    return fine;
}

static void fill(const Classifier *c, Batch *b, const Attribution *m, const int32_t *ids)
{
    batch_clear(b);
    classifier_add_text(c, b, ids, m->count);
    const size_t at = batch_row(b, LABEL, 1);
    b->side[LABEL].ids[at] = 0;
    b->side[LABEL].targets[at] = (int32_t)m->answer;
    classifier_add_segments(c, b, SIZE_MAX);
    ngrams_add(&c->model.ngrams, b);
    for (size_t side = 0; side < b->size.sides; side++)
        for (size_t i = 0; i < b->side[side].positions; i++)
            b->side[side].slots[i] = (int32_t)i;
}

/* Forward and backward once, into a gradient that has a row for each position. */
static bool ask_gradient(Attribution *m, const Classifier *c, Trainer *trainer, const int32_t *ids, double less,
                         Error *e)
{
    const Kernels *k = trainer->options.k;
    Worker *w = &trainer->worker[0];
    const size_t positions = m->count + classifier_marks(c);
    const size_t capacity = c->model.parameters.dense + positions * c->model.parameters.lookup;
    const BatchSize size = {
        .sides = model_sides(&c->model), .rows = 1, .positions = {positions, 1, positions, positions, positions}};
    const StepState state = {.loss = {{.scale = 1}}};
    Batch batch = {0};
    void *own = w->tape.gradient, *gradient = k->allocate(capacity * k->real);
    bool fine = (gradient || memory_error(e, "gradients", capacity, k->real)) && batch_open(&batch, &size, e);
    if (fine) {
        k->zero(w->stream, gradient, capacity * k->real);
        k->upload(w->stream, w->state, &state, sizeof state);
        fill(c, &batch, m, ids);
        device_rows_upload(&w->rows, w->stream, &batch, 0, 1);
        w->tape.training = w->tape.recording = true;
        w->tape.gradient = gradient;
        w->tape.slots = positions;
        cross_entropy(&w->tape, model_logits(&w->tape, &c->model, w->rows.rows), w->rows.rows[LABEL].targets, 0, 0);
        tape_backward(&w->tape);
        fine = multiply(m, c, trainer, ids, less, e) && k->finish(w->stream, e);
        tape_reset(&w->tape);
        w->tape.training = w->tape.recording = false;
        w->tape.gradient = own;
    }
    batch_close(&batch);
    k->release(gradient);
    return fine;
}

static void ask_attention(Attribution *m, const Maps *maps)
{
    const size_t rows = maps->layers * maps->heads * maps->queries;
    for (size_t row = 0; row < rows; row++)
        for (size_t j = 0; j < m->count; j++)
            m->attention[j] += (double)maps->weights[row * maps->keys + m->lead + j] * (double)m->count / (double)rows;
}

bool attribution_prepare(Options *o, Error *e)
{
    static const char *const off[] = {"dropout",   "attention-dropout", "ff-dropout", "branch-dropout",
                                      "load-loss", "span-loss",         "r-drop"};
    bool fine = true;
    for (size_t i = 0; fine && i < sizeof off / sizeof *off; i++)
        fine = options_set(o, off[i], "0", FROM_COMMAND_LINE, e);
    return fine;
}

bool attribution_open(Attribution *m, Classifier *c, const int32_t *ids, size_t count, const Maps *maps, Error *e)
{
    SharedOptions *o = &c->options->shared;
    TrainerOptions options;
    Trainer trainer = {0};
    double less;
    *m = (Attribution){
        .count = count, .lead = classifier_lead(c), .left_out = memory_get(3 * count, sizeof *m->left_out)};
    if (!m->left_out)
        return memory_error(e, "attributions of words", 3 * count, sizeof *m->left_out);
    m->gradient = m->left_out + count;
    m->attention = m->gradient + count;
    o->batch = o->micro_batch = o->workers = 1;
    classifier_task(c);
    bool fine = app_trainer_options(&c->app, &options, true, e) &&
                trainer_open(&trainer, &options, &c->model.parameters, &c->app.task, e) &&
                app_stored_weights(&c->app, &trainer.weights, trainer.worker[0].stream, e) &&
                ask_without(m, c, &trainer, ids, &less, e) && ask_gradient(m, c, &trainer, ids, less, e);
    if (fine && maps)
        ask_attention(m, maps);
    trainer_close(&trainer);
    return fine;
}

void attribution_close(Attribution *m)
{
    memory_free(m->left_out);
    *m = (Attribution){0};
}
