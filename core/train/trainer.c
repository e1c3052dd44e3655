/* See trainer.h. */
#include "core/train/trainer.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/cli/stop.h"
#include "core/cli/units.h"
#include "core/tensor/nonfinite.h"
#include "core/train/update.h"

#include <stdlib.h>
#include <string.h>

/* --- opening and closing --- */

static bool open_worker(Trainer *c, Worker *w, Error *e)
{
    const Kernels *k = c->options.k;
    BatchSize size = plan_size(c->task, plan_rows(&c->options, c->task), true);
    if (!k->open(&w->stream, c->options.team, e) || !tape_open(&w->tape, k, w->stream, &c->weights, &c->plan.tape, e) ||
        !device_rows_open(&w->rows, k, &size, e))
        return false;
    w->state = k->allocate(sizeof *w->state);
    size_t room = plan_gradient(c->parameters, c->task);
    w->gradient = c->options.training ? k->allocate(room * k->real) : NULL;
    if (!w->state || (c->options.training && !w->gradient))
        return memory_error(e, "a worker's gradients", room, k->real);
    w->replay = (Replay){.k = k};
    w->tape.keep = c->options.keep;
    w->tape.state = w->state;
    w->tape.gradient = w->gradient;
    w->tape.used_rows = true;
    w->tape.gradients.plan = &c->takes;
    return true;
}

static void close_worker(const Kernels *k, Worker *w)
{
    if (w->stream && k->capture)
        k->finish(w->stream, NULL); /* nothing is to go on reading what is released now */
    replay_close(&w->replay);
    device_rows_close(&w->rows);
    tape_close(&w->tape);
    k->release(w->state);
    k->release(w->gradient);
    if (w->stream)
        k->close(w->stream);
}

bool trainer_open(Trainer *c, const TrainerOptions *o, const Parameters *p, const Task *task, Error *e)
{
    *c = (Trainer){.options = *o, .parameters = p, .task = task};
    BatchSize size = plan_size(task, plan_step_rows(o, task), false);
    bool fine = plan_make(&c->plan, &c->takes, o, p, task, e) && pool_open(&c->pool, o->workers, o->workers > 1, e) &&
                batch_open(&c->batch, &size, e);
    size_t most = fine && o->training ? plan_parts(o, task, task->most_rows) : 0;
    c->cut = fine ? memory_get(most + 1, sizeof *c->cut) : NULL;
    if (fine && !c->cut)
        fine = memory_error(e, "micro-batches", most + 1, sizeof *c->cut);
    c->worker = fine ? memory_get(o->workers, sizeof *c->worker) : NULL;
    if (fine && !c->worker)
        fine = memory_error(e, "workers", o->workers, sizeof *c->worker);
    fine = fine && o->k->open(&c->worker[0].stream, 1, e);
    if (fine) { /* the weights need a stream to be filled from: borrow one for a moment */
        fine = weights_open(&c->weights, o->k, c->worker[0].stream, p, e);
        o->k->close(c->worker[0].stream);
        c->worker[0].stream = NULL;
    }
    for (size_t i = 0; fine && i < o->workers; i++)
        fine = open_worker(c, &c->worker[i], e);
    fine = fine && (!o->training || update_open(c, e));
    if (!fine && c->plan.total)
        fail(e, "%s; the whole takes %s%s", e->text, bytes_text(c->plan.total).text,
             o->training ? ", and less with a smaller --micro-batch, fewer --workers or --recompute" : "");
    if (!fine)
        trainer_close(c);
    return fine;
}

void trainer_close(Trainer *c)
{
    const Kernels *k = c->options.k;
    if (!k)
        return;
    for (size_t i = 0; c->worker && i < c->options.workers; i++)
        close_worker(k, &c->worker[i]);
    memory_free(c->worker);
    update_close(c);
    memory_free(c->cut);
    weights_close(&c->weights);
    batch_close(&c->batch);
    pool_close(c->pool);
    takes_close(&c->takes);
    *c = (Trainer){0};
}

/* --- a step --- */

typedef struct StepWork {
    Trainer *c;
    StepState state; /* what all workers begin with */
    bool update;     /* false: leave weights as they are (to look for what is not finite) */
    char *nonfinite; /* NULL, or where to put the name of the first tensor that is not finite */
} StepWork;

typedef struct MicroWork {
    Trainer *c;
    Worker *w;
} MicroWork;

/* Forward and backward on the rows that the worker has. */
static void run_micro_batch(void *argument)
{
    const MicroWork *m = argument;
    Trainer *c = m->c;
    Worker *w = m->w;
    c->options.k->copy(w->stream, w->state->first_position, w->rows.first_position, sizeof w->state->first_position);
    c->task->loss(c->task->self, &w->tape, w->rows.rows);
    tape_backward(&w->tape);
    tape_reset(&w->tape);
}

/* The rows of one micro-batch lie as the rows of another: the same operations. */
static Shape shape_of(const Trainer *c, const Worker *w)
{
    Shape shape = {.slots = used_rows_count(&c->used)};
    for (size_t i = 0; i < c->task->sides; i++)
        shape.rows[i] = w->rows.rows[i];
    return shape;
}

/* Said once, when some of the first long step is done. */
static void note_long_step(Trainer *c, size_t done)
{
    enum { AFTER = 5, LONG = 60 };
    double seconds = clock_seconds() - c->began, all = seconds * (double)c->micros / (double)done;
    if (c->long_steps || !c->progress || seconds < AFTER || all < LONG)
        return;
    c->long_steps = true;
    progress_note(c->progress, "a step takes about %s: a batch has %s micro-batches here; a smaller --batch has fewer",
                  duration_text(all).text, count_text(c->micros).text);
}

/* A step that ends soon is waited for; of one that does not, nothing is kept. The first worker to see the signal says
 * so to all. done: micro-batches, of the worker that says when a step is long. */
static bool gives_up(Trainer *c, size_t done)
{
    enum { SOON = 2 };
    if (done)
        note_long_step(c, done);
    if (stop_requested() && clock_seconds() - c->began > SOON)
        atomic_store(&c->given_up, true);
    return atomic_load(&c->given_up);
}

/* Forward and backward on every micro-batch that is this worker's. */
static void run_micro_batches(StepWork *s, Worker *w, size_t number)
{
    Trainer *c = s->c;
    const Kernels *k = c->options.k;

    w->begins = s->state;
    k->upload(w->stream, w->state, &w->begins, sizeof w->begins);
    w->tape.training = w->tape.recording = true;
    w->tape.nonfinite = s->nonfinite;
    w->tape.slots = used_rows_count(&c->used);
    for (size_t m = number; m < c->micros; m += c->options.workers) {
        size_t first = c->cut[m], count = c->cut[m + 1] - first;
        if (!count)
            continue;
        if (!device_rows_fetch(&w->rows, w->stream))
            device_rows_upload(&w->rows, w->stream, &c->batch, first, count);
        MicroWork work = {c, w};
        Shape shape = shape_of(c, w);
        if (s->nonfinite)
            run_micro_batch(&work);
        else
            replay_run(&w->replay, w->stream, &shape, run_micro_batch, &work);
        if (s->update && gives_up(c, number == 0 ? m + 1 : 0))
            break;
    }
    w->tape.training = w->tape.recording = false;
    w->tape.nonfinite = NULL;
}

/* Waits for all workers, and remembers for how long. What they asked for has been done then: order among operations of
 * several streams is the host's business. */
static void meet(Trainer *c, Worker *w)
{
    double start = clock_seconds();
    if (!c->options.k->on_host)
        c->options.k->finish(w->stream, NULL); /* an error stays, and is told when the step is over */
    pool_barrier(c->pool);
    w->waited += clock_seconds() - start;
}

/* Sum, norm, update, and zeros for the next step. */
static void update_together(Trainer *c, Worker *w, size_t number)
{
    meet(c, w);
    if (atomic_load(&c->given_up)) /* all see it or none: behind the meeting nobody says so any more */
        return;
    update_sum(c, w, number);
    meet(c, w);
    if (number == 0)
        update_clip(c, w);
    meet(c, w);
    update_weights(c, w, number);
    meet(c, w);
    update_zero(c, w);
}

/* The same of one who has nobody to wait for. */
static void update_alone(void *argument)
{
    const MicroWork *m = argument;
    update_sum(m->c, m->w, 0);
    update_clip(m->c, m->w);
    update_weights(m->c, m->w, 0);
    update_zero(m->c, m->w);
}

static void step_work(void *argument, size_t number)
{
    StepWork *s = argument;
    Trainer *c = s->c;
    Worker *w = &c->worker[number];

    run_micro_batches(s, w, number);
    if (!s->update)
        return;
    if (c->options.workers > 1) {
        update_together(c, w, number);
    } else if (!atomic_load(&c->given_up)) {
        MicroWork work = {c, w};
        Shape shape = {.slots = used_rows_count(&c->used)};
        replay_run(&w->replay, w->stream, &shape, update_alone, &work);
    }
    w->ended = clock_seconds();
}

/* Into micro-batches: by positions, or each of as many rows. */
static void cut_batch(Trainer *c)
{
    size_t rows = c->batch.side[0].rows, micro = c->options.micro_rows ? c->options.micro_rows : rows;
    c->micros = plan_parts(&c->options, c->task, rows);
    if (c->task->micro_positions) {
        batch_cut(&c->batch, c->micros, c->cut);
        return;
    }
    for (size_t m = 0; m <= c->micros; m++)
        c->cut[m] = m * micro < rows ? m * micro : rows;
}

static void make_batch(Trainer *c, uint64_t step)
{
    c->task->batch(c->task->self, step, &c->batch);
    used_rows_find(&c->used, &c->batch);
    cut_batch(c);
}

/* The next step's batch, and each worker's first part of it: while the device computes this step. */
static void send_ahead(Trainer *c, uint64_t step)
{
    if (!c->options.k->send)
        return;
    make_batch(c, step);
    c->ready = step;
    for (size_t i = 0; i < c->options.workers && i < c->micros; i++)
        if (c->cut[i + 1] > c->cut[i])
            device_rows_send(&c->worker[i].rows, c->worker[i].stream, &c->batch, c->cut[i], c->cut[i + 1] - c->cut[i]);
}

/* Another step than the one that was expected begins anew. */
static void forget_ahead(Trainer *c)
{
    for (size_t i = 0; i < c->options.workers; i++)
        c->worker[i].rows.next_bytes = 0;
}

static StepWork prepare(Trainer *c, uint64_t step, double rate)
{
    if (!c->ready || c->ready != step) {
        forget_ahead(c);
        make_batch(c, step);
    }
    c->ready = 0;
    c->options.k->upload(c->worker[0].stream, c->slots, c->used.slots, c->used.rows * sizeof *c->slots);
    StepWork s = {.c = c, .update = true};
    s.state.seed = c->options.seed;
    s.state.step = (uint32_t)step;
    s.state.learning_rate = rate;
    c->optimizer.kind->begin(&c->optimizer, &s.state, step);
    for (size_t i = 0; i < LOSSES; i++) {
        double targets = (double)batch_targets(&c->batch, c->task->loss_side[i]);
        s.state.loss[i].scale = targets > 0 ? 1 / targets : 0;
    }
    return s;
}

/* What losses have summed up. */
typedef struct Sums {
    double sum[LOSSES], nll[LOSSES], count[LOSSES], hits;
} Sums;

static void add_sums(Sums *to, const StepState *from)
{
    for (size_t i = 0; i < LOSSES; i++) {
        to->sum[i] += from->loss[i].sum;
        to->nll[i] += from->loss[i].nll;
        to->count[i] += from->loss[i].count;
    }
}

static MeanLoss mean_of(const Sums *s)
{
    MeanLoss mean = {.targets = s->count[0], .hits = s->hits};
    for (size_t i = 0; i < LOSSES; i++) {
        mean.part[i] = s->count[i] > 0 ? s->sum[i] / s->count[i] : 0;
        mean.loss += mean.part[i];
        mean.nll += s->count[i] > 0 ? s->nll[i] / s->count[i] : 0;
    }
    return mean;
}

bool trainer_step(Trainer *c, uint64_t step, double rate, StepResult *result, Error *e)
{
    StepWork s = prepare(c, step, rate);
    c->began = clock_seconds();
    pool_run(c->pool, step_work, &s);
    double over = clock_seconds();
    Sums sums = {0};
    *result = (StepResult){.tokens = (double)c->batch.side[c->task->token_side].positions,
                           .given_up = atomic_load(&c->given_up)};
    if (!result->given_up)
        send_ahead(c, step + 1);
    for (size_t i = 0; i < c->options.workers; i++) {
        StepState state;
        c->worker[i].waited += over - c->worker[i].ended;
        if (!c->options.k->finish(c->worker[i].stream, e))
            return false;
        c->options.k->download(c->worker[i].stream, &state, c->worker[i].state, sizeof state);
        add_sums(&sums, &state);
        if (i == 0)
            result->norm = state.norm, result->finite = state.finite;
    }
    MeanLoss mean = mean_of(&sums);
    result->targets = mean.targets;
    result->loss = mean.loss;
    result->nll = mean.nll;
    memcpy(result->part, mean.part, sizeof mean.part);
    return true;
}

void trainer_find_nonfinite(Trainer *c, uint64_t step, Error *e)
{
    char name[NONFINITE_NAME] = "";
    nonfinite_weights(name, &c->weights, c->worker[0].stream);
    StepWork s = prepare(c, step, 0);
    s.update = false;
    s.nonfinite = name;
    for (size_t i = 0; i < c->options.workers && !name[0]; i++) {
        run_micro_batches(&s, &c->worker[i], i);
        nonfinite_gradients(name, &c->worker[i].tape);
    }
    for (size_t i = 0; i < c->options.workers; i++)
        update_zero(c, &c->worker[i]);
    fail(e,
         "step %llu: not finite: %s; nothing was changed in this step. A lower --lr, a longer --warmup or --clip 1 may "
         "help",
         (unsigned long long)step, name[0] ? name : "the norm of the gradient");
}

/* --- scoring --- */

enum { ROUND = 1024 }; /* batches whose states are kept until all are there */

typedef struct ScoreWork {
    Trainer *c;
    Batch *batches;    /* one a worker */
    StepState *states; /* one a batch of the round, summed in order: the result does not depend on the workers */
    double *hits;      /* as many */
    int32_t **guesses; /* one list a worker */
    size_t first, end; /* the round's batches */
    Sums seen;         /* by worker 0 */
    double began;
} ScoreWork;

/* What worker 0 has seen, as far as it is with batch i, stands for all. */
static void show_score(ScoreWork *s, size_t i)
{
    const Trainer *c = s->c;
    const size_t all = c->task->score_batches, next = i + c->options.workers, done = next < all ? next : all;
    if (!c->progress)
        return;
    add_sums(&s->seen, &s->states[i - s->first]);
    MeanLoss mean = mean_of(&s->seen);
    double seconds = clock_seconds() - s->began;
    Report report = {.counted = "scored",
                     .step = done,
                     .total = all,
                     .loss = mean.loss * c->task->per_nat,
                     .unit = c->task->unit,
                     .norm = -1,
                     .rate = -1,
                     .tokens_per_second = seconds > 0 ? mean.targets * (double)c->options.workers / seconds : -1,
                     .seconds_left = seconds / (double)done * (double)(all - done)};
    progress_between(c->progress, &report);
}

/* Guesses that are the target. */
static double hits_of(const ScoreWork *s, const Worker *w, size_t number)
{
    const Task *task = s->c->task;
    const Side *side = &s->batches[number].side[task->loss_side[0]];
    size_t hits = 0;
    if (!task->guesses)
        return 0;
    s->c->options.k->download(w->stream, s->guesses[number], w->tape.guesses, side->positions * sizeof **s->guesses);
    for (size_t i = 0; i < side->positions; i++)
        hits += side->targets[i] >= 0 && side->targets[i] == s->guesses[number][i];
    return (double)hits;
}

static void score_work(void *argument, size_t number)
{
    ScoreWork *s = argument;
    Trainer *c = s->c;
    Worker *w = &c->worker[number];
    w->begins = (StepState){0};
    for (size_t i = s->first + number; i < s->end; i += c->options.workers) {
        c->options.k->upload(w->stream, w->state, &w->begins, sizeof w->begins);
        c->task->score_batch(c->task->self, i, &s->batches[number]);
        device_rows_upload(&w->rows, w->stream, &s->batches[number], 0, s->batches[number].side[0].rows);
        c->task->loss(c->task->self, &w->tape, w->rows.rows);
        c->options.k->download(w->stream, &s->states[i - s->first], w->state, sizeof *s->states);
        s->hits[i - s->first] = hits_of(s, w, number);
        tape_reset(&w->tape);
        if (number == 0)
            show_score(s, i);
    }
}

static bool score_round(ScoreWork *s, Sums *sums, Error *e)
{
    Trainer *c = s->c;
    pool_run(c->pool, score_work, s);
    for (size_t i = 0; i < c->options.workers; i++)
        if (!c->options.k->finish(c->worker[i].stream, e))
            return false;
    for (size_t i = s->first; i < s->end; i++) {
        add_sums(sums, &s->states[i - s->first]);
        sums->hits += s->hits[i - s->first];
    }
    return true;
}

bool trainer_score(Trainer *c, MeanLoss *score, Error *e)
{
    const Task *task = c->task;
    BatchSize size = plan_size(task, task->score_rows, true);
    Sums sums = {0};
    ScoreWork s = {.c = c,
                   .batches = memory_get(c->options.workers, sizeof *s.batches),
                   .states = memory_get(ROUND, sizeof *s.states),
                   .hits = memory_get(ROUND, sizeof *s.hits),
                   .guesses = memory_get(c->options.workers, sizeof *s.guesses),
                   .began = clock_seconds()};
    bool fine = s.batches && s.states && s.hits && s.guesses;
    for (size_t i = 0; fine && i < c->options.workers; i++) {
        s.guesses[i] = memory_get(size.positions[task->loss_side[0]], sizeof **s.guesses);
        fine = s.guesses[i] && batch_open(&s.batches[i], &size, e);
    }
    fine = fine || memory_error(e, "scores", ROUND, sizeof *s.states);
    for (; fine && s.first < task->score_batches; s.first = s.end) {
        s.end = s.first + ROUND < task->score_batches ? s.first + ROUND : task->score_batches;
        fine = score_round(&s, &sums, e);
    }
    *score = mean_of(&sums);
    for (size_t i = 0; i < c->options.workers; i++) {
        if (s.batches)
            batch_close(&s.batches[i]);
        if (s.guesses)
            memory_free(s.guesses[i]);
    }
    memory_free(s.batches);
    memory_free(s.states);
    memory_free(s.hits);
    memory_free(s.guesses);
    return fine;
}
