/* A step's batch, and its micro-batches: made, cut, brought to the device, and what is asked for with them replayed. */
#include "base/clock.h"
#include "base/philox.h"
#include "base/units.h"
#include "core/tensor/sites.h"
#include "core/train/exchange.h"

/* Into micro-batches: by positions, or each of as many rows. */
static void cut_batch(Trainer *c)
{
    size_t rows = c->batch.side[0].rows, micro = c->options.micro_rows ? c->options.micro_rows : rows;
    c->division = plan_division(&c->options, c->task, rows);
    if (c->task->micro_positions) {
        batch_cut(&c->batch, c->division.micros, c->cut);
        return;
    }
    for (size_t m = 0; m <= c->division.micros; m++)
        c->cut[m] = m * micro < rows ? m * micro : rows;
}

/* Word dropout (Gal, Ghahramani 2016, for single words): the network is to read less into each. What is to be predicted
 * stays. */
static void drop_words(Trainer *c, uint64_t step)
{
    for (size_t i = 0; i < c->task->sides; i++) {
        const Side *side = &c->batch.side[i];
        const int32_t first = c->task->first_word[i], end = c->task->end_word[i] ? c->task->end_word[i] : INT32_MAX;
        const double rate = c->task->word_dropout[i];
        for (size_t n = 0; rate > 0 && n < side->positions; n++)
            if (side->ids[n] >= first && side->ids[n] < end &&
                philox_uniform(c->options.seed, (uint32_t)step, n, SITE_WORDS + (uint32_t)i) < rate)
                side->ids[n] = c->task->unknown_word[i];
    }
}

static void make_batch(Trainer *c, uint64_t step)
{
    c->task->batch(c->task->self, step, &c->batch);
    drop_words(c, step);
    used_rows_find(&c->used, &c->batch);
    cut_batch(c);
}

void step_send_ahead(Trainer *c, uint64_t step)
{
    if (!c->options.k->send)
        return;
    make_batch(c, step);
    c->ready = step;
    for (size_t i = 0; i < c->options.workers; i++) {
        size_t m, end;
        worker_micros(&c->division, i, &m, &end);
        while (m < end && c->cut[m + 1] == c->cut[m])
            m++;
        if (m < end)
            device_rows_send(&c->worker[i].rows, c->worker[i].stream, &c->batch, c->cut[m], c->cut[m + 1] - c->cut[m]);
    }
}

/* Another step than the one that was expected begins again. */
static void forget_ahead(Trainer *c)
{
    for (size_t i = 0; i < c->options.workers; i++)
        c->worker[i].rows.next_bytes = 0;
}

Step step_begin(Trainer *c, uint64_t number, double rate)
{
    if (!c->ready || c->ready != number) {
        forget_ahead(c);
        make_batch(c, number);
    }
    c->ready = 0;
    c->options.k->upload(c->worker[0].stream, c->slots, c->used.slots, c->used.rows * sizeof *c->slots);
    Step s = {.trainer = c};
    s.begins.seed = c->options.seed;
    s.begins.step = (uint32_t)number;
    s.begins.learning_rate = rate;
    optimizer_begin(&c->optimizer, c->worker[0].stream, &s.begins, number);
    for (size_t i = 0; i < LOSSES; i++) {
        double targets = (double)batch_targets(&c->batch, c->task->loss_side[i]);
        const double times = c->task->loss_times[i] > 0 ? c->task->loss_times[i] : 1;
        s.begins.loss[i].scale = targets > 0 ? times / targets : 0;
    }
    if (c->options.workers > 1) /* the others' streams do not wait for what this one brings */
        c->options.k->finish(c->worker[0].stream, NULL);
    return s;
}

/* Said once, when a worker has done so many of its micro-batches in the first long step. */
static void note_long_step(Trainer *c, size_t done, size_t of)
{
    enum { AFTER = 5, LONG = 60 };
    double seconds = clock_seconds() - c->began, all = seconds * (double)of / (double)done;
    if (c->long_steps || !c->watch || seconds < AFTER || all < LONG)
        return;
    c->long_steps = true;
    watch_note(c->watch, "a step takes about %s: a batch has %s micro-batches; a smaller %s has fewer",
               duration_text(all).text, count_text(c->division.micros).text,
               c->task->micro_positions ? "--batch-tokens" : "--batch");
}

/* A step that ends soon is waited for; of one that does not, nothing is kept. The first worker to see the request
 * tells all others. */
static bool gives_up(Trainer *c)
{
    enum { SOON = 2 };
    if (watch_stop(c->watch) && clock_seconds() - c->began > SOON)
        atomic_store(&c->given_up, true);
    return atomic_load(&c->given_up);
}

/* The rows of one micro-batch are laid out like the rows of another: the same operations. */
static Shape shape_of(const Trainer *c, const Worker *w)
{
    Shape shape = {.slots = used_rows_count(&c->used), .gradient = w->tape.gradient};
    for (size_t i = 0; i < c->task->sides; i++)
        shape.rows[i] = w->rows.rows[i];
    return shape;
}

static void do_micro_batch(const Step *s, Part *part, size_t m, void (*work)(void *part))
{
    const Trainer *c = part->c;
    Worker *w = part->w;
    size_t first = c->cut[m], count = c->cut[m + 1] - first;
    if (!count)
        return;
    if (!device_rows_fetch(&w->rows, w->stream))
        device_rows_upload(&w->rows, w->stream, &c->batch, first, count);
    Shape shape = shape_of(c, w);
    if (s->nonfinite || s->hook)
        work(part);
    else
        replay_run(&w->replay, w->stream, &shape, work, part);
}

/* Losses of each share are kept apart, because the order in which they are added up is to depend on no worker. */
static void do_share(const Step *s, Part *part, size_t share, void (*work)(void *part))
{
    Trainer *c = part->c;
    Worker *w = part->w;
    const bool updates = !s->nonfinite && !s->hook;
    size_t mine, all, first, end;
    worker_micros(&c->division, part->number, &mine, &all);
    share_micros(&c->division, share, &first, &end);
    c->options.k->upload(w->stream, w->state, &w->begins, sizeof w->begins);
    if (updates)
        update_share(c, w, share);
    for (size_t m = first; m < end && !(updates && gives_up(c)); m++) {
        const bool last = updates && m + 1 == all && w->tape.first_read;
        w->tape.went_back = last ? exchange_follow : NULL;
        do_micro_batch(s, part, m, work);
        if (updates && part->number == 0)
            note_long_step(c, m + 1 - mine, all - mine);
    }
    c->options.k->copy(w->stream, &w->shares[share], w->state, sizeof *w->state);
}

void step_each_micro_batch(const Step *s, Part *part, void (*work)(void *part))
{
    const Trainer *c = part->c;
    Worker *w = part->w;
    size_t first, end;

    w->begins = s->begins;
    c->options.k->upload(w->stream, w->state, &w->begins, sizeof w->begins); /* it may have no share */
    w->sums = (SumTree){.leaves = c->division.shares};
    w->tape.gradient = w->gradient[0];
    w->tape.training = w->tape.recording = true;
    w->tape.nonfinite = s->nonfinite;
    w->tape.hook = s->hook;
    w->tape.follower = part;
    w->tape.slots = used_rows_count(&c->used);
    worker_shares(&c->division, part->number, &first, &end);
    for (size_t i = first; i < end; i++)
        do_share(s, part, i, work);
    w->tape.training = w->tape.recording = false;
    w->tape.nonfinite = NULL;
    w->tape.hook = NULL;
    w->tape.went_back = NULL;
}

void step_once(Part *part, void (*work)(void *part))
{
    const Trainer *c = part->c;
    Shape shape = {.slots = used_rows_count(&c->used), .shares = c->division.shares};
    if (c->options.workers == 1)
        replay_run(&part->w->replay, part->w->stream, &shape, work, part);
    else
        work(part);
}

void step_barrier(Part *part)
{
    const Trainer *c = part->c;
    if (c->options.workers == 1)
        return;
    double start = clock_seconds();
    if (!c->options.k->on_host)
        c->options.k->finish(part->w->stream, NULL); /* an error stays, and is told when the step is over */
    pool_barrier(c->pool);
    part->w->waited += clock_seconds() - start;
}
