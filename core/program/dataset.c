/* What all programs do alike with their data: open it and compare its checksum with the run's, make batches of its
 * texts, for training, scoring and `bench`, and say what a score belongs to. What a text is, and how it becomes a row,
 * each program says (AppKind). */
#include "core/program/app.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/run/json.h"
#include "core/tensor/sites.h"

bool app_open_data(App *a, bool to_train, Error *e)
{
    if (!a->kind->open_data(a, to_train, e))
        return app_data_given(a) || !a->run || a->misused
                   ? false
                   : fail(e, "%s; the run %s learnt from it: say with --data where it is now", e->text, a->run->path);
    return app_same_data(a, a->kind->data(a).sha256, to_train, e);
}

void dataset_close(Dataset *d)
{
    order_close(&d->order);
    memory_free(d->score_cut);
    *d = (Dataset){0};
}

void dataset_batch(void *app, uint64_t step, Batch *b)
{
    App *a = app;
    size_t count;
    const size_t *text = order_batch(&a->data.order, step, &count);
    batch_clear(b);
    for (size_t i = 0; i < count; i++)
        a->kind->row(a, SPLIT_TRAIN, text[i], b);
}

void dataset_score_batch(void *app, size_t i, Batch *b)
{
    const App *a = app;
    const Dataset *d = &a->data;
    const size_t rows = a->task.score_rows, first = d->score_cut ? d->score_cut[i] : i * rows;
    size_t end = d->score_cut ? d->score_cut[i + 1] : first + rows;
    end = end < d->score_count ? end : d->score_count;
    batch_clear(b);
    for (size_t text = first; text < end; text++)
        a->kind->row(a, d->scored, text, b);
}

void dataset_bench_batch(void *app, uint64_t step, Batch *b)
{
    const App *a = app;
    uint64_t drawn = 0;
    batch_clear(b);
    for (size_t side = 0; side < a->task.sides; side++) {
        size_t targets = 0, ids = a->kind->vocabulary(a, side, &targets);
        for (size_t r = 0; r < a->task.most_rows; r++)
            batch_row(b, side, a->task.longest[side]);
        for (size_t i = 0; i < b->side[side].positions; i++) {
            b->side[side].ids[i] = (int32_t)philox_below(ids, 1, (uint32_t)step, drawn++, SITE_DATA);
            b->side[side].targets[i] = targets ? (int32_t)philox_below(targets, 1, (uint32_t)step, drawn++, SITE_DATA)
                                               : -1;
        }
    }
}

void dataset_protocol(const App *a, Buffer *b)
{
    json_add_text(b, "split", split_name(a->data.scored));
    a->kind->protocol(a, b);
}
