/* charlm eval: bits per byte, with the protocol that the figure belongs to: split, bytes scored, context, stride.
 *
 * Every byte of the split but its first is scored once. Windows of `context` bytes begin `stride` after one another;
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

#include "core/cli/progress.h"
#include "core/program/dump.h"
#include "core/run/json.h"

#include <stdio.h>

static bool print_result(const Charlm *c, const MeanLoss *score, Error *e)
{
    double bits = score->loss * c->app.task.per_nat;
    if (c->options->shared.json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        dataset_protocol(&c->app, &b);
        json_add_member(&b, "bits_per_byte", bits);
        return json_print(&b, e);
    }
    printf("%.4f bits/byte (%s)\n", bits, c->app.protocol);
    return true;
}

static Tensor *logits(void *self, Tape *t, const Rows *rows)
{
    const Charlm *c = self;
    return model_logits(t, &c->model, rows, NULL, rows_scored(rows));
}

bool charlm_eval(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    Trainer trainer = {0};
    MeanLoss score;
    size_t stride;
    Part part;
    if (!charlm_open_run(c, e) || !app_open_data(a, false, e))
        return false;
    app_own_workers(&c->app);
    if (!parse_stride(c->options->stride, c->model.context, &stride, e))
        return app_misused(&c->app);
    c->app.data.scored = (Split)c->options->split;
    if (!part_to_score(&part, &c->text, c->options, e) || !dump_may_open(c->options->shared.dump_logits, e))
        return false;
    charlm_task(c, part, stride);
    Progress progress = progress_open(stderr, c->options->shared.quiet);
    bool fine = app_open_trainer(&c->app, &trainer, e);
    const Watch watch = progress_watch(&progress);
    trainer.watch = &watch;
    fine = fine && trainer_score(&trainer, &score, e);
    progress_close(&progress);
    fine = fine && print_result(c, &score, e);
    if (fine && c->options->shared.dump_logits)
        fine = dump_task(c->options->shared.dump_logits, &trainer, &(DumpTask){logits, 0, BYTES}, e);
    progress_close(&progress);
    trainer_close(&trainer);
    return fine;
}
