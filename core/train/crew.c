/* See crew.h. */
#include "core/train/crew.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/cli/units.h"
#include "core/tensor/blame.h"
#include "kernels/measure/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what it takes --- */

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t micro_rows(const CrewOptions *o, const Task *task)
{
    return o->micro_rows && o->micro_rows < task->most_rows ? o->micro_rows : task->most_rows;
}

/* Rows of a batch that a worker must have room for. */
static size_t rows_at_once(const CrewOptions *o, const Task *task)
{
    return larger(o->training ? micro_rows(o, task) : 0, task->score_rows);
}

static BatchSize size_of(const Task *task, size_t rows, bool micro)
{
    BatchSize size = {.sides = task->sides, .rows = rows};
    for (size_t i = 0; i < task->sides; i++) {
        size_t most = micro ? task->most_positions[i] : 0;
        size.positions[i] = rows * task->longest[i];
        size.positions[i] = most && most < size.positions[i] ? most : size.positions[i];
    }
    return size;
}

/* A batch of so many rows, as long as they come; all targets are scored, or all but the very first: that is the most
 * which can be wanted where not everything is. */
static void fill_longest(Batch *b, const Task *task, size_t rows, bool all)
{
    batch_clear(b);
    for (size_t side = 0; side < b->size.sides; side++)
        for (size_t r = 0; r < rows; r++) {
            size_t left = b->size.positions[side] - b->side[side].positions;
            size_t first = batch_row(b, side, task->longest[side] < left ? task->longest[side] : left);
            if (r == 0 && b->side[side].positions)
                b->side[side].targets[first] = all ? 0 : -1;
        }
}

static void add_costs(CrewPlan *plan, const Stream *s, double times)
{
    size_t count;
    const Cost *cost = measure_costs(s, &count);
    for (size_t i = 0; i < count; i++) {
        plan->flop += times * cost[i].flop;
        plan->bytes += times * cost[i].bytes;
    }
}

/* What is walked over shapes. */
typedef struct Walk {
    const CrewOptions *o;
    const Weights *weights;
    const Task *task;
    bool training;
} Walk;

/* One micro-batch forward (and backward): what its tape needs, and what so many of it cost.
 * takes: NULL, or where the pieces are written down that gradients take. */
static bool walk(CrewPlan *plan, const Walk *w, Takes *takes, size_t rows, bool all, double times, Error *e)
{
    const Kernels *k = measure_kernels(w->o->k->type);
    Stream *s = NULL;
    Tape t = {0};
    Batch batch = {0};
    DeviceRows device = {0};
    StepState state = {0};
    BatchSize size = size_of(w->task, rows, true);
    bool fine = k->open(&s, 1, e) && tape_open(&t, k, s, w->weights, NULL, e) && batch_open(&batch, &size, e) &&
                device_rows_open(&device, k, &size, e);
    if (fine) {
        t.keep = w->o->keep;
        t.training = t.recording = w->training;
        t.state = &state;
        t.gradient = w->weights->reals;
        t.gradients.record = takes;
        fill_longest(&batch, w->task, rows, all);
        device_rows_upload(&device, s, &batch, 0, rows);
        w->task->loss(w->task->self, &t, device.rows);
        tape_backward(&t);
        add_costs(plan, s, times);
        TapePlan now = tape_plan(&t);
        plan->tape.memory = larger(plan->tape.memory, now.memory);
        plan->tape.gradients = larger(plan->tape.gradients, now.gradients);
        plan->tape.host = larger(plan->tape.host, now.host);
        fine = !takes || !takes->failed || memory_error(e, "the plan of gradients", takes->count, sizeof *takes->bytes);
    }
    device_rows_close(&device);
    batch_close(&batch);
    tape_close(&t);
    if (s)
        k->close(s);
    return fine;
}

/* Numbers in a worker's gradients at most. */
static size_t gradient_room(const Parameters *p, const Task *task)
{
    BatchSize step = size_of(task, task->most_rows, false);
    return used_rows_room(p, &step);
}

static void plan_optimizer(CrewPlan *plan, const CrewOptions *o, const Parameters *p, const Task *task)
{
    double size = (double)p->size, gradient = (double)gradient_room(p, task), workers = (double)o->workers;
    /* Adam without what it reads of the gradient; the gradient's sums over workers, norm, Adam, and next step's zeros
     */
    plan->bytes += (double)o->k->real * (6 * size + gradient * (3 * (workers - 1) + 1 + 1 + workers));
}

/* Rows of the batch that the crew itself holds. */
static size_t step_rows(const CrewOptions *o, const Task *task)
{
    return larger(o->training ? task->most_rows : 0, task->score_rows);
}

/* What oneDNN adds to the program's memory for its prepared products: nearly the same for all models. */
enum { PREPARED = 4 << 20 };

static bool plan_crew(CrewPlan *plan, Takes *takes, const CrewOptions *o, const Parameters *p, const Task *task,
                      Error *e)
{
    const Kernels *k = o->k;
    size_t rows = rows_at_once(o, task), micro = micro_rows(o, task);
    /* a walk reads no weights: any address will do that is not NULL */
    Weights weights = {.k = k, .parameters = p, .reals = &weights, .numbers = &weights};

    Walk training = {o, &weights, task, true}, scoring = {o, &weights, task, false};

    *plan = (CrewPlan){0}; /* scoring: for the memory */
    if (!walk(plan, &scoring, NULL, rows, true, 0, e) || !walk(plan, &scoring, NULL, rows, false, 0, e))
        return false;
    if (o->training) { /* for the memory, too, and for what a step costs */
        size_t rest = task->most_rows % micro;
        if (!walk(plan, &training, takes, rows, true, 0, e) ||
            !walk(plan, &training, NULL, micro, true, (double)(task->most_rows / micro), e) ||
            (rest && !walk(plan, &training, NULL, rest, true, 1, e)))
            return false;
        plan_optimizer(plan, o, p, task);
    }
    BatchSize at_once = size_of(task, rows, true), whole = size_of(task, step_rows(o, task), false);
    plan->weights = p->whole * (k->real + (k->type == NUMBER_BF16 ? k->number : 0));
    plan->gradients = o->training ? o->workers * gradient_room(p, task) * k->real : 0;
    plan->moments = o->training ? 2 * p->size * k->real : 0;
    plan->activations = o->workers * (plan->tape.memory + plan->tape.gradients + plan->tape.host);
    plan->batches = device_rows_bytes(&whole) + 2 * o->workers * device_rows_bytes(&at_once);
    plan->program = memory_of_process() + PREPARED;
    plan->total = plan->program + plan->weights + plan->gradients + plan->moments + plan->activations + plan->batches;
    return true;
}

bool crew_plan(CrewPlan *plan, const CrewOptions *o, const Parameters *p, const Task *task, Error *e)
{
    Takes takes = {0};
    bool fine = plan_crew(plan, &takes, o, p, task, e);
    takes_close(&takes);
    return fine;
}

/* --- opening and closing --- */

static bool open_worker(Crew *c, Worker *w, Error *e)
{
    const Kernels *k = c->o.k;
    BatchSize size = size_of(c->task, rows_at_once(&c->o, c->task), true);
    if (!k->open(&w->stream, c->o.team, e) || !tape_open(&w->tape, k, w->stream, &c->weights, &c->plan.tape, e) ||
        !device_rows_open(&w->rows, k, &size, e))
        return false;
    w->state = k->allocate(sizeof *w->state);
    size_t room = gradient_room(c->parameters, c->task);
    w->gradient = c->o.training ? k->allocate(room * k->real) : NULL;
    if (!w->state || (c->o.training && !w->gradient))
        return memory_error(e, "a worker's gradients", room, k->real);
    w->tape.keep = c->o.keep;
    w->tape.state = w->state;
    w->tape.gradient = w->gradient;
    w->tape.used_rows = true;
    w->tape.gradients.plan = &c->takes;
    return true;
}

static void close_worker(const Kernels *k, Worker *w)
{
    device_rows_close(&w->rows);
    tape_close(&w->tape);
    k->release(w->state);
    k->release(w->gradient);
    if (w->stream)
        k->close(w->stream);
}

static size_t chunks_of(size_t numbers) { return (numbers + SQUARES_CHUNK - 1) / SQUARES_CHUNK; }

/* Matrices decay; biases, gains and positions' neighbours in rank 1 do not. */
static bool decays(const Parameter *p) { return p->role != ROLE_CONSTANT && p->rank == 2; }

static int by_begin(const void *a, const void *b)
{
    const Span *left = a, *right = b;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static bool open_optimizer(Crew *c, Error *e)
{
    const Kernels *k = c->o.k;
    const Parameters *p = c->parameters;
    BatchSize step = size_of(c->task, c->task->most_rows, false);
    Span *spans = memory_get(p->count, sizeof *spans);
    c->m = k->allocate(p->size * k->real);
    c->v = k->allocate(p->size * k->real);
    c->parts = k->allocate(chunks_of(gradient_room(p, c->task)) * sizeof *c->parts);
    c->spans = k->allocate(p->count * sizeof *c->spans);
    c->slots = k->allocate(p->longest * sizeof *c->slots);
    bool fine = spans && c->m && c->v && c->parts && c->spans && c->slots && used_rows_open(&c->used, p, &step, e);
    for (size_t i = 0; fine && c->o.decay > 0 && i < p->count; i++)
        if (decays(p->list[i]) && p->list[i]->role != ROLE_LOOKUP)
            spans[c->span_count++] = (Span){p->list[i]->offset, p->list[i]->offset + p->list[i]->count, c->o.decay};
    if (fine) {
        qsort(spans, c->span_count, sizeof *spans, by_begin);
        k->upload(c->worker[0].stream, c->spans, spans, c->span_count * sizeof *spans);
    }
    memory_free(spans);
    return fine || memory_error(e, "Adam's moments", p->size, 2 * k->real);
}

bool crew_open(Crew *c, const CrewOptions *o, const Parameters *p, const Task *task, Error *e)
{
    *c = (Crew){.o = *o, .parameters = p, .task = task};
    BatchSize size = size_of(task, step_rows(o, task), false);
    bool fine = plan_crew(&c->plan, &c->takes, o, p, task, e) && pool_open(&c->pool, o->workers, o->workers > 1, e) &&
                batch_open(&c->batch, &size, e);
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
    fine = fine && (!o->training || open_optimizer(c, e));
    if (!fine && c->plan.total)
        fail(e, "%s; the whole takes %s%s", e->text, bytes_text(c->plan.total).text,
             o->training ? ", and less with a smaller --micro-batch, fewer --workers or --recompute" : "");
    if (!fine)
        crew_close(c);
    return fine;
}

void crew_close(Crew *c)
{
    const Kernels *k = c->o.k;
    if (!k)
        return;
    for (size_t i = 0; c->worker && i < c->o.workers; i++)
        close_worker(k, &c->worker[i]);
    memory_free(c->worker);
    k->release(c->m);
    k->release(c->v);
    k->release(c->parts);
    k->release(c->spans);
    k->release(c->slots);
    used_rows_close(&c->used);
    weights_close(&c->weights);
    batch_close(&c->batch);
    pool_close(c->pool);
    takes_close(&c->takes);
    *c = (Crew){0};
}

/* --- a step --- */

typedef struct StepWork {
    Crew *c;
    StepState state; /* what all workers begin with */
    size_t micro;    /* rows of a micro-batch */
    bool update;     /* false: leave weights as they are (to look for what is not finite) */
    char *blamed;    /* NULL, or where to put the name of the first tensor that is not finite */
} StepWork;

/* Forward and backward on every micro-batch that is this worker's. */
static void run_micro_batches(StepWork *s, Worker *w, size_t number)
{
    Crew *c = s->c;
    const Kernels *k = c->o.k;
    size_t rows = c->batch.side[0].rows;

    w->begins = s->state;
    k->upload(w->stream, w->state, &w->begins, sizeof w->begins);
    w->tape.training = w->tape.recording = true;
    w->tape.blamed = s->blamed;
    w->tape.slots = c->used.count;
    for (size_t m = number; m * s->micro < rows; m += c->o.workers) {
        size_t first = m * s->micro, count = rows - first < s->micro ? rows - first : s->micro;
        device_rows_upload(&w->rows, w->stream, &c->batch, first, count);
        k->copy(w->stream, w->state->first_position, w->rows.first_position, sizeof w->state->first_position);
        c->task->loss(c->task->self, &w->tape, w->rows.rows);
        tape_backward(&w->tape);
        tape_reset(&w->tape);
    }
    w->tape.training = w->tape.recording = false;
    w->tape.blamed = NULL;
}

/* This worker's range of the first `numbers` of a block: whole chunks, so that partial sums do not depend on how many
 * workers there are. */
static void range_of(const Crew *c, size_t number, size_t numbers, size_t *first, size_t *count)
{
    size_t chunks = chunks_of(numbers), from = chunks * number / c->o.workers,
           to = chunks * (number + 1) / c->o.workers;
    size_t end = to * SQUARES_CHUNK < numbers ? to * SQUARES_CHUNK : numbers;
    *first = from * SQUARES_CHUNK;
    *count = end > *first ? end - *first : 0;
}

static void *at(const Crew *c, void *block, size_t offset) { return (char *)block + offset * c->o.k->real; }

/* Sums the gradients of all workers over this worker's range, as a tree: (0+1)+(2+3). */
static void sum_gradients(Crew *c, Worker *w, size_t number)
{
    size_t first, count;
    range_of(c, number, used_rows_gradient(&c->used), &first, &count);
    for (size_t gap = 1; gap < c->o.workers; gap *= 2)
        for (size_t i = 0; i + gap < c->o.workers; i += 2 * gap)
            c->o.k->accumulate(w->stream, at(c, c->worker[i].gradient, first),
                               at(c, c->worker[i + gap].gradient, first), count);
    c->o.k->squares(w->stream, c->parts + first / SQUARES_CHUNK, at(c, c->worker[0].gradient, first), count);
}

/* This worker's rows of a table that is only looked up: all of them move, since moments do. */
static void update_table(Crew *c, Worker *w, size_t number, const Parameter *p)
{
    size_t first = p->shape[0] * number / c->o.workers, end = p->shape[0] * (number + 1) / c->o.workers;
    const void *g = at(c, c->worker[0].gradient, gradient_offset(c->parameters, p, c->used.count));
    if (first < end)
        c->o.k->adam_rows(w->stream, at(c, c->weights.reals, p->offset), at(c, c->m, p->offset), at(c, c->v, p->offset),
                          g, c->slots, c->worker[0].state, c->o.adam, decays(p) ? c->o.decay : 0, first, end - first,
                          p->shape[1]);
}

static void update_weights(Crew *c, Worker *w, size_t number)
{
    size_t first, count;
    range_of(c, number, c->parameters->dense, &first, &count);
    void *copy = c->weights.numbers == c->weights.reals ? NULL : c->weights.numbers;
    c->o.k->adam(w->stream, c->weights.reals, copy, c->m, c->v, c->worker[0].gradient, c->worker[0].state, c->o.adam,
                 c->spans, c->span_count, first, count);
    for (size_t i = 0; i < c->parameters->count; i++)
        if (c->parameters->list[i]->role == ROLE_LOOKUP)
            update_table(c, w, number, c->parameters->list[i]);
}

static void zero_gradient(Crew *c, Worker *w)
{
    c->o.k->zero(w->stream, w->gradient, used_rows_gradient(&c->used) * c->o.k->real);
}

/* Waits for all workers, and remembers for how long. */
static void meet(Crew *c, Worker *w)
{
    double start = clock_seconds();
    pool_barrier(c->pool);
    w->waited += clock_seconds() - start;
}

static void step_work(void *argument, size_t number)
{
    StepWork *s = argument;
    Crew *c = s->c;
    const Kernels *k = c->o.k;
    Worker *w = &c->worker[number];

    run_micro_batches(s, w, number);
    if (!s->update)
        return;
    meet(c, w);
    sum_gradients(c, w, number);
    meet(c, w);
    if (number == 0)
        k->clip(w->stream, w->state, c->parts, chunks_of(used_rows_gradient(&c->used)), c->o.clip);
    meet(c, w);
    update_weights(c, w, number);
    meet(c, w);
    zero_gradient(c, w);
    w->ended = clock_seconds();
}

static StepWork prepare(Crew *c, uint64_t step, double rate)
{
    c->task->batch(c->task->self, step, &c->batch);
    used_rows_find(&c->used, &c->batch);
    c->o.k->upload(c->worker[0].stream, c->slots, c->used.slots, c->used.rows * sizeof *c->slots);
    StepWork s = {.c = c, .update = true, .micro = c->o.micro_rows ? c->o.micro_rows : c->batch.side[0].rows};
    s.state.seed = c->o.seed;
    s.state.step = (uint32_t)step;
    s.state.learning_rate = rate;
    s.state.correction1 = 1 - pow(c->o.adam.beta1, (double)step);
    s.state.correction2 = 1 - pow(c->o.adam.beta2, (double)step);
    for (size_t i = 0; i < LOSSES; i++) {
        double targets = (double)batch_targets(&c->batch, c->task->loss_side[i]);
        s.state.loss[i].scale = targets > 0 ? 1 / targets : 0;
    }
    s.micro = s.micro ? s.micro : 1;
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

bool crew_step(Crew *c, uint64_t step, double rate, StepResult *result, Error *e)
{
    StepWork s = prepare(c, step, rate);
    pool_run(c->pool, step_work, &s);
    double over = clock_seconds();
    Sums sums = {0};
    *result = (StepResult){0};
    for (size_t i = 0; i < c->o.workers; i++) {
        StepState state;
        c->worker[i].waited += over - c->worker[i].ended;
        if (!c->o.k->finish(c->worker[i].stream, e))
            return false;
        c->o.k->download(c->worker[i].stream, &state, c->worker[i].state, sizeof state);
        add_sums(&sums, &state);
        if (i == 0)
            result->norm = state.norm, result->finite = state.finite;
    }
    MeanLoss mean = mean_of(&sums);
    result->targets = mean.targets;
    result->tokens = (double)c->batch.side[c->task->token_side].positions;
    result->loss = mean.loss;
    result->nll = mean.nll;
    memcpy(result->part, mean.part, sizeof mean.part);
    return true;
}

void crew_blame(Crew *c, uint64_t step, Error *e)
{
    char name[BLAME_NAME] = "";
    blame_weights(name, &c->weights, c->worker[0].stream);
    StepWork s = prepare(c, step, 0);
    s.update = false;
    s.blamed = name;
    for (size_t i = 0; i < c->o.workers && !name[0]; i++) {
        run_micro_batches(&s, &c->worker[i], i);
        blame_gradients(name, &c->worker[i].tape);
    }
    for (size_t i = 0; i < c->o.workers; i++)
        zero_gradient(c, &c->worker[i]);
    fail(e,
         "step %llu: not finite: %s; nothing was changed in this step. A lower --lr, a longer --warmup or --clip 1 may "
         "help",
         (unsigned long long)step, name[0] ? name : "the norm of the gradient");
}

/* --- scoring --- */

enum { ROUND = 1024 }; /* batches whose states are kept until all are there */

typedef struct ScoreWork {
    Crew *c;
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
    const Crew *c = s->c;
    const size_t all = c->task->score_batches, next = i + c->o.workers, done = next < all ? next : all;
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
                     .tokens_per_second = seconds > 0 ? mean.targets * (double)c->o.workers / seconds : -1,
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
    s->c->o.k->download(w->stream, s->guesses[number], w->tape.guesses, side->positions * sizeof **s->guesses);
    for (size_t i = 0; i < side->positions; i++)
        hits += side->targets[i] >= 0 && side->targets[i] == s->guesses[number][i];
    return (double)hits;
}

static void score_work(void *argument, size_t number)
{
    ScoreWork *s = argument;
    Crew *c = s->c;
    Worker *w = &c->worker[number];
    w->begins = (StepState){0};
    for (size_t i = s->first + number; i < s->end; i += c->o.workers) {
        c->o.k->upload(w->stream, w->state, &w->begins, sizeof w->begins);
        c->task->score_batch(c->task->self, i, &s->batches[number]);
        device_rows_upload(&w->rows, w->stream, &s->batches[number], 0, s->batches[number].side[0].rows);
        c->task->loss(c->task->self, &w->tape, w->rows.rows);
        c->o.k->download(w->stream, &s->states[i - s->first], w->state, sizeof *s->states);
        s->hits[i - s->first] = hits_of(s, w, number);
        tape_reset(&w->tape);
        if (number == 0)
            show_score(s, i);
    }
}

static bool score_round(ScoreWork *s, Sums *sums, Error *e)
{
    Crew *c = s->c;
    pool_run(c->pool, score_work, s);
    for (size_t i = 0; i < c->o.workers; i++)
        if (!c->o.k->finish(c->worker[i].stream, e))
            return false;
    for (size_t i = s->first; i < s->end; i++) {
        add_sums(sums, &s->states[i - s->first]);
        sums->hits += s->hits[i - s->first];
    }
    return true;
}

bool crew_score(Crew *c, MeanLoss *score, Error *e)
{
    const Task *task = c->task;
    BatchSize size = size_of(task, task->score_rows, false);
    Sums sums = {0};
    ScoreWork s = {.c = c,
                   .batches = memory_get(c->o.workers, sizeof *s.batches),
                   .states = memory_get(ROUND, sizeof *s.states),
                   .hits = memory_get(ROUND, sizeof *s.hits),
                   .guesses = memory_get(c->o.workers, sizeof *s.guesses),
                   .began = clock_seconds()};
    bool fine = s.batches && s.states && s.hits && s.guesses;
    for (size_t i = 0; fine && i < c->o.workers; i++) {
        s.guesses[i] = memory_get(size.positions[task->loss_side[0]], sizeof **s.guesses);
        fine = s.guesses[i] && batch_open(&s.batches[i], &size, e);
    }
    fine = fine || memory_error(e, "scores", ROUND, sizeof *s.states);
    for (; fine && s.first < task->score_batches; s.first = s.end) {
        s.end = s.first + ROUND < task->score_batches ? s.first + ROUND : task->score_batches;
        fine = score_round(&s, &sums, e);
    }
    *score = mean_of(&sums);
    for (size_t i = 0; i < c->o.workers; i++) {
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
