/* Pretraining as a Task: batches of masked texts, and their losses. */
#include "classifier/classifier.h"

#include "core/nn/loss.h"

#include <stdio.h>
#include <string.h>

static const double usual_share = 0.15;

/* [CLS] a [SEP] b [SEP]; returns the row's first position. */
static size_t add_pair(const Classifier *c, Batch *b, const Texts *texts, size_t i, size_t row)
{
    const Pair p = pair_of(&c->masking, texts, i, c->step, row, classifier_room(c));
    const size_t second = p.a_count + 2, length = second + p.b_count + 1, registers = c->model.registers.count,
                 at = batch_row_after(b, TEXT, c->model.registers, length);
    int32_t *ids = b->side[TEXT].ids + at;
    ids[0] = c->reading->first;
    memcpy(ids + 1, p.a, p.a_count * sizeof *ids);
    ids[second - 1] = ids[length - 1] = c->reading->separator;
    memcpy(ids + second, p.b, p.b_count * sizeof *ids);
    for (size_t k = at; k < at + length; k++)
        b->side[TEXT].targets[k] = -1;
    classifier_add_segments(c, b, registers + second);
    const size_t label = batch_row(b, NEXT, 1);
    b->side[NEXT].ids[label] = 0;
    b->side[NEXT].targets[label] = p.other;
    return at - registers;
}

static size_t add_whole(const Classifier *c, Batch *b, const Texts *texts, size_t i)
{
    const size_t at = classifier_add_text(c, b, texts->ids + texts->start[i], texts->start[i + 1] - texts->start[i]);
    classifier_add_segments(c, b, SIZE_MAX);
    return at;
}

void masked_row(const Classifier *c, const Texts *texts, size_t i, Batch *b)
{
    const size_t row = c->step ? b->side[TEXT].rows : i, pairs = c->model.next.weight != NULL;
    const size_t at = pairs ? add_pair(c, b, texts, i, row) : add_whole(c, b, texts, i);
    Side *text = &b->side[TEXT], *masked = &b->side[MASKED];
    const size_t to = masked->positions + pairs; /* slots are filled in after this */
    const size_t registers = c->model.registers.count, first = masked->positions, from = at + registers;
    const size_t found = mask_tokens(&c->masking, c->step, row, text->ids + from, text->positions - from,
                                     masked->ids + to, masked->targets + to, text->slots + from);
    for (size_t k = 0; k < found; k++)
        masked->ids[to + k] += (int32_t)registers;
    ngrams_add(&c->model.ngrams, b);
    batch_row(b, MASKED, pairs + found);
    masked->among = TEXT + 1;
    if (pairs) {
        masked->ids[first] = (int32_t)registers;
        masked->targets[first] = -1;
    }
}

/* Each step masks other words of a text. */
static void batch(void *self, uint64_t step, Batch *b)
{
    Classifier *c = self;
    c->step = (uint32_t)step;
    dataset_batch(self, step, b);
    c->step = 0;
}

static Tensor *loss(void *self, Tape *t, const Rows *rows)
{
    const Classifier *c = self;
    const SharedOptions *o = &c->options->shared;
    Tensor *vectors = model_masked(t, &c->model, rows), *logits = model_tokens(t, &c->model, vectors);
    if (!t->training)
        t->guesses = likeliest(t, logits);
    if (c->model.next.weight)
        cross_entropy(t, model_next(t, &c->model, vectors, rows), rows[NEXT].targets, 0, 1);
    return cross_entropy_z(t, logits, rows[MASKED].targets, t->training ? o->smoothing : 0, t->training ? o->z_loss : 0,
                           0);
}

void masked_task(Classifier *c)
{
    const double share = c->options->mask_share > 0 ? c->options->mask_share : usual_share;
    Task *task = &c->app.task;
    c->masking = (Masking){.tokens = c->reading,
                           .share = share,
                           .whole_words = c->options->whole_words,
                           .seed = (uint32_t)c->options->shared.seed};
    const size_t used = strlen(c->app.protocol);
    snprintf(c->app.protocol + used, sizeof c->app.protocol - used, ", %g %% masked", 100 * share);
    task->longest[MASKED] = masking_most(&c->masking, c->model.context) + (c->model.next.weight != NULL);
    task->longest[SEGMENT] = c->model.context;
    if (c->model.next.weight)
        task->longest[NEXT] = 1;
    task->loss_side[0] = MASKED;
    task->loss_side[1] = NEXT;
    task->word_dropout[TEXT] = 0; /* words are masked instead */
    task->batch = batch;
    task->loss = loss;
}
