/* charlm eval: bits per byte, with the protocol that the figure belongs to: split, bytes scored, context, stride.
 *
 * Every byte of the split but its first is scored once. Windows of `context` bytes begin `stride` after one another;
 * a byte is scored in the first that holds it, so it has seen between context - stride + 1 and context bytes, or all
 * there are at the beginning. A stride of the context is the cheap protocol and the hard one; with 1 each byte has a
 * full context, for `context` times the work.
 *
 * Overlapping windows share what they can, which is work inside of one: only bytes that are scored need queries,
 * feed-forward, norms and logits in the last block; keys and values, and the blocks below, need the whole window.
 * Nothing can be handed on to the next window. There a byte has another position, so learned and computed positions
 * make another vector of it before the first block; and without positions it has lost the bytes that fell out in front,
 * which change its keys from the second block on. What keeps old keys (a cache that slides, Transformer-XL) is another
 * protocol, with other figures. */
#include "charlm/charlm.h"

#include "base/memory.h"
#include "core/cli/progress.h"
#include "core/program/dump.h"
#include "core/program/same_texts.h"
#include "core/research/statistics.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>

/* A text has no documents: what two runs are compared on are its stretches. Bytes near each other are foretold well or
 * badly together, stretches of this length hardly are. The last one has the rest, too. */
enum { STRETCH = 1000, EACH_TEXT = 0, EACH_BYTES, EACH_BITS, EACH_COLUMNS };
static const char *const each_names[] = {"text", "bytes", "bits"};

typedef struct Stretches {
    Each each;
    Part part;
    double bits;
    size_t scored;
} Stretches;

static bool print_result(const Charlm *c, const MeanLoss *score, const Versus *versus, Error *e)
{
    double bits = score->loss * c->app.task.per_nat;
    if (c->options->shared.json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        dataset_protocol(&c->app, &b);
        json_add_member(&b, "bits_per_byte", bits);
        if (versus->run)
            versus_add(versus, &b);
        return json_print(&b, e);
    }
    printf("%.4f bits/byte (%s)\n", bits, c->app.protocol);
    if (versus->run)
        versus_print(versus);
    return true;
}

static Tensor *logits(void *self, Tape *t, const Rows *rows)
{
    const Charlm *c = self;
    return model_logits(t, &c->model, rows, NULL, rows_scored(rows));
}

/* ---- stretches */

static bool add_stretch(Stretches *s, Error *e)
{
    const size_t first = s->each.count * STRETCH, bytes = s->scored - first;
    const double row[] = {text_number(s->part.bytes + 1 + first, bytes), (double)bytes, s->bits};
    s->bits = 0;
    return each_add(&s->each, row, e);
}

/* -log2 of the share of the byte that came */
static bool take_byte(void *to, const float *logits, int32_t target, Error *e)
{
    Stretches *s = to;
    double largest = (double)logits[0], sum = 0;
    for (size_t i = 1; i < BYTES; i++)
        largest = fmax(largest, (double)logits[i]);
    for (size_t i = 0; i < BYTES; i++)
        sum += exp((double)logits[i] - largest);
    s->bits += (log(sum) - ((double)logits[target] - largest)) / log(2);
    s->scored++;
    const size_t all = s->part.size - 1, done = s->scored, rest = all - done;
    const bool ends = done == all || (done % STRETCH == 0 && rest >= STRETCH);
    return !ends || add_stretch(s, e);
}

static bool score_stretches(Stretches *s, Trainer *trainer, Error *e)
{
    s->each = (Each){.names = each_names, .columns = EACH_COLUMNS};
    return scored_logits(trainer, &(DumpTask){logits, 0, BYTES}, take_byte, s, e);
}

/* The paired test of bits per byte. */
static bool compare(Versus *v, const Stretches *s, const App *a, Error *e)
{
    const size_t count = s->each.count;
    Each other;
    double bytes = 0, bits[2] = {0, 0};
    if (!each_of_run(&other, &s->each, a, a->options->against, e))
        return false;
    double *rate = memory_get(2 * count, sizeof *rate);
    for (size_t i = 0; rate && i < 2 * count; i++) {
        const double *row = (i < count ? &s->each : &other)->value + i % count * EACH_COLUMNS;
        rate[i] = row[EACH_BITS] / row[EACH_BYTES];
        bits[i / count] += row[EACH_BITS];
        bytes += i < count ? row[EACH_BYTES] : 0;
    }
    if (rate) {
        const Difference d = difference_paired(rate, rate + count, count);
        *v = (Versus){
            a->options->against, "bits per byte", bits[0] / bytes, bits[1] / bytes, d.mean, d.low, d.high, d.p, {0}};
        snprintf(v->test, sizeof v->test, "the paired test of %zu stretches of %d bytes", count, STRETCH);
    }
    each_free(&other);
    memory_free(rate);
    return rate || memory_error(e, "bits of stretches", 2 * count, sizeof *rate);
}

static bool score(Charlm *c, Trainer *trainer, Stretches *s, Error *e)
{
    const SharedOptions *o = &c->options->shared;
    MeanLoss mean;
    Versus versus = {0};
    if (o->each)
        return score_stretches(s, trainer, e) && each_print(&s->each, e);
    return trainer_score(trainer, &mean, e) &&
           (!o->against || (score_stretches(s, trainer, e) && compare(&versus, s, &c->app, e))) &&
           print_result(c, &mean, &versus, e);
}

bool charlm_eval(App *a, Error *e)
{
    Charlm *c = (Charlm *)a;
    Trainer trainer = {0};
    Stretches stretches = {.scored = 0};
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
    stretches.part = part;
    fine = fine && score(c, &trainer, &stretches, e);
    if (fine && c->options->shared.dump_logits)
        fine = dump_task(c->options->shared.dump_logits, &trainer, &(DumpTask){logits, 0, BYTES}, e);
    progress_close(&progress);
    trainer_close(&trainer);
    each_free(&stretches.each);
    return fine;
}
