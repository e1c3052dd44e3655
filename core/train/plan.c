/* See plan.h. */
#include "core/train/plan.h"

#include "base/memory.h"
#include "base/size.h"
#include "core/train/exchange.h"
#include "core/train/used.h"
#include "kernels/cost/cost.h"

/* A row has a position at least. */
static size_t plan_micro_rows(const TrainerOptions *o, const Task *task)
{
    size_t most = task->micro_positions ? task->micro_positions : o->micro_rows;
    return most ? smaller(most, task->most_rows) : task->most_rows;
}

/* Positions of the longest row, and of the largest batch of a step. */
static size_t plan_longest(const Task *task)
{
    size_t longest = 1;
    for (size_t i = 0; i < task->sides; i++)
        longest = larger(longest, task->longest[i]);
    return longest;
}

static size_t plan_step_positions(const Task *task)
{
    return task->step_positions ? task->step_positions : task->most_rows * plan_longest(task);
}

/* Cut evenly at ends of rows, a part is longer than its share by less than a row. */
size_t plan_parts(const TrainerOptions *o, const Task *task, size_t rows)
{
    if (!task->micro_positions) {
        size_t micro = plan_micro_rows(o, task);
        return micro ? (rows + micro - 1) / micro : 0;
    }
    size_t capacity = task->micro_positions - plan_longest(task) + 1;
    size_t parts = (plan_step_positions(task) + capacity - 1) / capacity;
    size_t even = parts < 3 ? parts : 4;
    return (parts + even - 1) / even * even;
}

size_t plan_shares(const TrainerOptions *o, const Task *task, size_t rows)
{
    return smaller(plan_parts(o, task, rows), o->shares ? o->shares : SHARES);
}

Division plan_division(const TrainerOptions *o, const Task *task, size_t rows)
{
    return (Division){.micros = plan_parts(o, task, rows),
                      .shares = plan_shares(o, task, rows),
                      .ranks = o->ranks ? o->ranks : 1,
                      .rank = o->rank,
                      .workers = o->workers};
}

/* Positions of a micro-batch in training, where they are counted: of the largest step, whose parts may be shorter than
 * they are allowed to be. */
static size_t plan_micro_positions(const TrainerOptions *o, const Task *task)
{
    size_t parts = plan_parts(o, task, 0);
    return (plan_step_positions(task) + parts - 1) / parts + plan_longest(task) - 1;
}

/* Rows of a batch that a worker must have room for. */
size_t plan_rows(const TrainerOptions *o, const Task *task)
{
    return larger(o->training ? plan_micro_rows(o, task) : 0, task->score_rows);
}

/* Micro-batches that are cut by positions would have nearly as many shapes as there are micro-batches, and each is a
 * product to be prepared. With their positions rounded up there are few. */
enum { ROUND = 32 };

BatchSize plan_size(const Task *task, size_t rows, bool micro)
{
    BatchSize size = {
        .sides = task->sides, .rows = rows, .before = task->before, .round = task->micro_positions ? ROUND : 0};
    for (size_t i = 0; i < task->sides; i++) {
        size_t most = micro ? task->micro_positions : task->step_positions;
        size.positions[i] = rows * task->longest[i];
        size.positions[i] = most && most < size.positions[i] ? most : size.positions[i];
    }
    return size;
}

/* A batch of this many rows, as long as they come; all targets are scored, or all but the very first: that is the most
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

static void add_costs(TrainerPlan *plan, const Stream *s, double times)
{
    size_t count;
    const Cost *cost = cost_counted(s, &count);
    for (size_t i = 0; i < count; i++) {
        plan->flop += times * cost[i].flop;
        plan->bytes += times * cost[i].bytes;
    }
}

/* What is walked over shapes. */
typedef struct Walk {
    const TrainerOptions *options;
    const Weights *weights;
    const Task *task;
    bool training;
} Walk;

/* One micro-batch forward (and backward): what its tape needs, and what `times` of it cost.
 * takes: NULL, or where the pieces are written down that gradients take. */
static bool walk(TrainerPlan *plan, const Walk *w, Takes *takes, size_t rows, bool all, double times, Error *e)
{
    const Kernels *k = cost_kernels(w->options->k->type);
    Stream *s = NULL;
    Tape t = {0};
    Batch batch = {0};
    DeviceRows device = {0};
    StepState state = {0};
    BatchSize size = plan_size(w->task, rows, true);
    for (size_t i = 0; w->training && w->task->micro_positions && i < size.sides; i++)
        size.positions[i] = smaller(size.positions[i], plan_micro_positions(w->options, w->task));
    bool fine = k->open(&s, 1, e) && tape_open(&t, k, s, w->weights, NULL, e) && batch_open(&batch, &size, e) &&
                device_rows_open(&device, k, &size, e);
    if (fine) {
        t.keep = w->options->keep;
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

size_t plan_gradient(const Parameters *p, const Task *task)
{
    BatchSize step = plan_size(task, task->most_rows, false);
    return used_rows_capacity(p, &step);
}

static void plan_optimizer(TrainerPlan *plan, const TrainerOptions *o, const Parameters *p, const Task *task)
{
    double size = (double)p->size, gradient = (double)plan_gradient(p, task), shares = (double)plan->shares;
    /* the update without what it reads of the gradient; the gradient's sums over shares, norm, update, next zeros */
    const OptimizerKind *kind = optimizer_kind(o->optimizer.kind);
    double update = kind->traffic * size;
    plan->flop += kind->flop ? kind->flop(&o->optimizer, p) : 0;
    plan->bytes += kind->moved ? kind->moved(&o->optimizer, p) * (double)o->k->number : 0;
    plan->bytes += (double)o->k->real * (update + gradient * (3 * (shares - 1) + 1 + 1 + shares));
}

/* The largest step's division. Returns how many numbers blocks of gradients have: those of all workers, and what other
 * processes have summed up of this one's range. */
static size_t plan_sums(TrainerPlan *plan, const TrainerOptions *o, const Parameters *p, const Task *task)
{
    const Division d = plan_division(o, task, task->most_rows);
    size_t blocks = 0, numbers = plan_gradient(p, task);
    plan->micros = d.micros;
    plan->shares = d.shares;
    plan->busiest = busiest_micros(&d);
    for (size_t i = 0; i < o->workers; i++)
        blocks += tree_blocks(&d, i);
    plan->sent = exchange_bytes(o, &d, p, numbers);
    return blocks * numbers + others_sums(&d) * range_capacity(numbers, d.ranks);
}

/* Rows of the batch that the trainer itself holds. */
size_t plan_step_rows(const TrainerOptions *o, const Task *task)
{
    return larger(o->training ? task->most_rows : 0, task->score_rows);
}

/* What products add to the program's memory, oneDNN's prepared ones above all: nearly the same for all models. */
enum { PREPARED = 3 << 20 };

bool plan_make(TrainerPlan *plan, Takes *takes, const TrainerOptions *o, const Parameters *p, const Task *task,
               Error *e)
{
    const Kernels *k = o->k;
    size_t rows = plan_rows(o, task), micro = plan_micro_rows(o, task);
    /* a walk reads no weights: any address will do that is not NULL */
    Weights weights = {.k = k, .parameters = p, .reals = &weights, .numbers = &weights};

    Walk training = {o, &weights, task, true}, scoring = {o, &weights, task, false};

    *plan = (TrainerPlan){0};
    size_t gradients = o->training ? plan_sums(plan, o, p, task) : 0;
    /* scoring: for the memory */
    if (!walk(plan, &scoring, NULL, rows, true, 0, e) || !walk(plan, &scoring, NULL, rows, false, 0, e))
        return false;
    if (o->training) { /* for the memory, too, and for what a step costs */
        bool by_positions = task->micro_positions;
        size_t rest = by_positions ? 0 : task->most_rows % micro;
        double times = by_positions ? (double)plan_step_positions(task) / (double)plan_micro_positions(o, task)
                                    : (double)(task->most_rows / micro);
        if (!walk(plan, &training, takes, rows, true, 0, e) || !walk(plan, &training, NULL, micro, true, times, e) ||
            (rest && !walk(plan, &training, NULL, rest, true, 1, e)))
            return false;
        plan_optimizer(plan, o, p, task);
    }
    BatchSize at_once = plan_size(task, rows, true), whole = plan_size(task, plan_step_rows(o, task), false);
    plan->weights = p->whole * (k->real + (k->type == NUMBER_BF16 ? k->number : 0));
    plan->weights += o->training && o->ema > 0 ? p->whole * k->real : 0;
    plan->gradients = gradients * k->real;
    plan->moments = o->training ? optimizer_bytes(&o->optimizer, p, k, o->workers) : 0;
    plan->activations = o->workers * (plan->tape.memory + plan->tape.gradients + plan->tape.host);
    plan->batches = device_rows_bytes(&whole) + (k->send ? 3 : 2) * o->workers * device_rows_bytes(&at_once);
    plan->program = memory_of_process() + PREPARED + (o->training ? o->workers * task->beside_each : 0);
    plan->total = plan->program + plan->weights + plan->gradients + plan->moments + plan->activations + plan->batches;
    return true;
}

bool trainer_plan(TrainerPlan *plan, const TrainerOptions *o, const Parameters *p, const Task *task, Error *e)
{
    Takes takes = {0};
    bool fine = plan_make(plan, &takes, o, p, task, e);
    takes_close(&takes);
    return fine;
}
