/* charlm eval: bits per byte, with the protocol that the figure belongs to: split, bytes scored, context, stride.
 *
 * Every byte of the split but its first is scored once. Windows of `context` bytes begin `stride` behind one another;
 * a byte is scored in the first that holds it, so it has seen between context - stride + 1 and context bytes, or all
 * there are at the beginning. A stride of the context is the cheap protocol and the hard one; with 1 each byte has a
 * full context, for `context` times the work.
 *
 * Overlapping windows share what they can, which is work inside of one: only bytes that are scored need queries,
 * feed-forward, norms and logits in the last block; keys and values, and the blocks below, need the whole window.
 * Nothing can be handed on to the next window. There a byte stands at another place, so learned and computed positions
 * make another vector of it before the first block; and without positions it has lost the bytes that fell out in front,
 * which change its keys from the second block on. What keeps old keys (a cache that slides, Transformer-XL) is another
 * protocol, with other figures. */
#include "charlm/charlm.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/program/dump.h"
#include "core/run/json.h"

#include <assert.h>
#include <stdio.h>

static bool print_result(const Charlm *c, const MeanLoss *score, Error *e)
{
    double bits = score->loss * c->app.task.per_nat;
    if (c->v->shared.json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        charlm_json_protocol(&c->app, &b);
        json_add_member(&b, "bits_per_byte", bits);
        return json_print(&b, e);
    }
    printf("%.4f bits/byte (%s)\n", bits, c->app.protocol);
    return true;
}

/* Writes the scored positions of one batch: their logits, and the bytes that came. */
static bool dump_batch(Dump *d, Worker *w, const Tensor *logits, const Batch *b, Error *e)
{
    const Kernels *k = w->tape.k;
    double wide[BYTES];
    float row[BYTES];
    const char *from = logits->data;
    for (size_t i = 0; i < b->side[0].positions; i++) {
        int32_t target = b->side[0].targets[i];
        if (target < 0) /* it has no logits */
            continue;
        bool doubles = k->real == sizeof(double);
        k->download(w->stream, doubles ? (void *)wide : (void *)row, from, BYTES * k->real);
        for (size_t j = 0; doubles && j < BYTES; j++)
            row[j] = (float)wide[j];
        if (!dump_rows(d, row, &target, 1, e))
            return false;
        from += BYTES * k->real;
    }
    assert(from == (const char *)logits->data + logits->rows * BYTES * k->real);
    return true;
}

static bool dump_batches(Charlm *c, Crew *crew, Dump *d, Batch *b, Error *e)
{
    Worker *w = &crew->worker[0];
    const size_t all = c->app.task.score_batches;
    double began = clock_seconds();
    for (size_t i = 0; i < all; i++) {
        c->app.task.score_batch(c, i, b);
        device_rows_upload(&w->rows, w->stream, b, 0, b->side[0].rows);
        const Rows *rows = w->rows.rows;
        if (!dump_batch(d, w, model_logits(&w->tape, &c->model, rows, NULL, rows_scored(rows)), b, e))
            return false;
        tape_reset(&w->tape);
        double left = (clock_seconds() - began) / (double)(i + 1) * (double)(all - i - 1);
        Report report = {.counted = "written", .step = i + 1, .total = all, .seconds_left = left};
        report.norm = report.rate = report.tokens_per_second = -1;
        progress_between(crew->progress, &report);
    }
    return true;
}

static bool dump_logits(Charlm *c, Crew *crew, const char *file, Error *e)
{
    Dump d;
    Batch b = {0};
    BatchSize size = {1, c->app.task.score_rows, {c->app.task.score_rows * c->model.context}};
    if (!dump_open(&d, file, BYTES, e))
        return false;
    bool fine = batch_open(&b, &size, e) && dump_batches(c, crew, &d, &b, e);
    batch_close(&b);
    return dump_close(&d, fine, e);
}

bool charlm_eval(Charlm *c, Error *e)
{
    Crew crew = {0};
    MeanLoss score;
    size_t stride;
    Part part;
    if (!charlm_open_run(c, e) || !charlm_open_text(c, false, e))
        return false;
    app_own_workers(&c->app);
    if (!parse_stride(c->v->stride, c->model.context, &stride, e))
        return app_misused(&c->app);
    c->split = (Split)c->v->split;
    if (!part_to_score(&part, &c->text, c->v, e))
        return false;
    charlm_task(c, part, stride);
    Progress progress = progress_open(stderr, c->v->shared.quiet);
    bool fine = app_open_crew(&c->app, &crew, e);
    crew.progress = &progress;
    fine = fine && crew_score(&crew, &score, e);
    progress_close(&progress);
    fine = fine && print_result(c, &score, e);
    if (fine && c->v->dump_logits)
        fine = dump_logits(c, &crew, c->v->dump_logits, e);
    progress_close(&progress);
    crew_close(&crew);
    return fine;
}
