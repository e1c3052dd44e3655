/* Texts as rows of a batch, and logits as shares: what training, scoring and looking at a text do alike. */
#include "classifier/classifier.h"

#include <math.h>
#include <string.h>

size_t classifier_add_text(const Classifier *c, Batch *b, const int32_t *ids, size_t count)
{
    const bool marks = c->options->marks;
    const size_t length = count + (marks ? 2 : 0), at = batch_row_after(b, TEXT, c->model.registers, length);
    Side *text = &b->side[TEXT];
    memcpy(text->ids + at + marks, ids, count * sizeof *ids);
    if (marks) {
        text->ids[at] = c->reading->first;
        text->ids[at + length - 1] = c->reading->separator;
    }
    for (size_t i = at; i < at + length; i++)
        text->targets[i] = -1;
    return at - c->model.registers.count;
}

void classifier_add_segments(const Classifier *c, Batch *b, size_t first)
{
    if (!c->model.segments.table)
        return;
    const size_t row = b->side[TEXT].rows - 1, start = (size_t)b->side[TEXT].start[row];
    const size_t length = b->side[TEXT].positions - start, at = batch_row(b, SEGMENT, length);
    for (size_t i = 0; i < length; i++) {
        b->side[SEGMENT].ids[at + i] = i >= first;
        b->side[SEGMENT].targets[at + i] = -1;
    }
}

size_t classifier_shares(double *shares, const float *logits, size_t classes)
{
    size_t best = 0;
    double sum = 0;
    for (size_t i = 1; i < classes; i++)
        best = logits[i] > logits[best] ? i : best;
    for (size_t i = 0; i < classes; i++)
        sum += shares[i] = exp((double)logits[i] - (double)logits[best]);
    for (size_t i = 0; i < classes; i++)
        shares[i] /= sum;
    return best;
}
