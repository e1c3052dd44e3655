/* See setup.h. */
#include "core/program/setup.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/ranks.h"
#include "base/units.h"
#include "core/run/json.h"
#include "core/train/average.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t micro_rows(const SharedOptions *o, const Task *task)
{
    return o->micro_batch && o->micro_batch < task->most_rows ? o->micro_batch : task->most_rows;
}

static size_t most_workers(const SharedOptions *o)
{
    return kernels_one_worker(device_name(o->device)) ? 1 : processors_allowed();
}

static size_t most_shares(const SharedOptions *o, const Parameters *p)
{
    return o->shares ? o->shares : p->numbers > MANY_NUMBERS ? FEW_SHARES : SHARES;
}

/* As many as there can be, but in training no more than the largest step has shares. */
static size_t workers(const SharedOptions *o, const Parameters *p, const Task *task, bool training)
{
    const TrainerOptions step = {.shares = most_shares(o, p), .micro_rows = micro_rows(o, task)};
    size_t shares = (plan_shares(&step, task, task->most_rows) + ranks_count() - 1) / ranks_count(),
           all = most_workers(o);
    return o->workers ? o->workers : training && all > shares ? shares : all;
}

/* What cores do that are more than --shares allows workers, although a step has micro-batches for them. */
static size_t team(const SharedOptions *o, const Parameters *p, const Task *task, bool training)
{
    const TrainerOptions step = {.shares = most_shares(o, p), .micro_rows = micro_rows(o, task)};
    size_t count = workers(o, p, task, training), each = most_workers(o) / count;
    bool limited = count * ranks_count() >= step.shares && plan_parts(&step, task, task->most_rows) > count && each > 1;
    return o->team ? o->team : training ? (limited ? each : 1) : count == 1 ? processors_allowed() : 1;
}

/* A GPU is fastest with all rows of a step at once; several share them. */
bool setup_device(Options *options, const SharedOptions *o, Error *e)
{
    const size_t ranks = ranks_count();
    char rows[32], shares[32];
    if (!kernels_one_worker(device_name(o->device)))
        return true;
    snprintf(rows, sizeof rows, "%zu", ranks > 1 ? (o->batch + ranks - 1) / ranks : 0);
    snprintf(shares, sizeof shares, "%zu", ranks);
    return options_set(options, "micro-batch", rows, FROM_PRESET, e) &&
           options_set(options, "shares", shares, FROM_PRESET, e);
}

bool setup_trainer(TrainerOptions *c, const SharedOptions *o, const Parameters *p, const Task *task, bool training,
                   Error *e)
{
    *c = (TrainerOptions){.k = kernels_find(device_name(o->device), (NumberType)o->precision, e),
                          .workers = workers(o, p, task, training),
                          .ranks = ranks_count(),
                          .rank = ranks_own(),
                          .team = team(o, p, task, training),
                          .micro_rows = micro_rows(o, task),
                          .shares = most_shares(o, p),
                          .training = training,
                          .keep = o->recompute ? KEEP_INPUTS : KEEP_ALL,
                          .optimizer = {.kind = o->optimizer,
                                        .adam = {.epsilon = o->epsilon},
                                        .momentum = o->momentum,
                                        .iterations = o->newton_schulz,
                                        .decay = o->decay,
                                        .groups = o->groups,
                                        .part = o->shard ? ranks_own() : 0,
                                        .parts = o->shard ? ranks_count() : 1},
                          .clip = o->clip,
                          .ema = o->ema,
                          .seed = (uint32_t)o->seed};
    Adam *adam = &c->optimizer.adam;
    if (training && o->precision == NUMBER_INT8)
        return fail(e, "--precision int8 is for networks that have been trained: train in f32 or bf16");
    if (o->shard && optimizer_kind(o->optimizer)->numbers)
        return fail(e, "--shard: the state of %s is too small to be divided: leave --shard out",
                    optimizer_kind(o->optimizer)->name);
    if (!c->k || (training && !parse_betas(o->betas, &adam->beta1, &adam->beta2, e)))
        return false;
    optimizer_configure(&c->optimizer);
    return true;
}

static bool fix(Options *options, const char *name, size_t value, Error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return options_set(options, name, text, FROM_COMMAND_LINE, e);
}

/* An explicit number of steps takes precedence over a preset's epochs. */
static bool steps_rule(const Options *options, const SharedOptions *o)
{
    return o->epochs && options_source(options, "steps") > options_source(options, "epochs");
}

/* The rate that suits a width: near what did best in models 64, 128 and 192 wide. */
static double rate(const SharedOptions *o)
{
    return o->lr > 0 ? o->lr : o->schedule == SCHEDULE_NOAM ? 1 : 0.4 / (double)o->dim;
}

static bool fix_rate(Options *options, const SharedOptions *o, Error *e)
{
    char text[32];
    snprintf(text, sizeof text, "%.3g", rate(o));
    return o->lr > 0 || options_set(options, "lr", text, FROM_COMMAND_LINE, e);
}

bool setup_fix(Options *options, const SharedOptions *o, const Parameters *p, const Task *task, size_t steps_an_epoch,
               Error *e)
{
    return fix_rate(options, o, e) && (!steps_rule(options, o) || options_mean(options, "epochs", "0", e)) &&
           (o->workers || fix(options, "workers", workers(o, p, task, true), e)) &&
           (o->decay_steps || fix(options, "decay-steps", o->epochs ? o->epochs * steps_an_epoch : o->steps, e));
}

bool setup_loop(LoopOptions *l, const SharedOptions *o, size_t steps_an_epoch, Error *e)
{
    size_t save_every;
    *l = (LoopOptions){.steps = o->epochs ? o->epochs * steps_an_epoch : o->steps,
                       .minutes = o->minutes,
                       .eval_every = o->eval_every,
                       .keep = o->keep,
                       .lr_patience = o->lr_patience ? o->lr_patience : 3,
                       .patience = o->patience};
    l->schedule = (Schedule){.kind = (ScheduleKind)o->schedule,
                             .rate = rate(o),
                             .warmup = o->warmup,
                             .decay_steps = o->decay_steps ? o->decay_steps : l->steps,
                             .dim = o->dim,
                             .ends = o->lr_end != NULL};
    if (o->lr_end && !parse_part(o->lr_end, &l->schedule.end, e))
        return false;
    if (!parse_every(o->save_every, &save_every, &l->save_seconds, e))
        return false;
    l->save_every = save_every;
    return true;
}

/* --- what it takes --- */

typedef struct Bytes {
    const char *name, *key;
    size_t bytes;
} Bytes;

enum { CLASSES = 6 };

static void classes(Bytes *bytes, const Demand *d)
{
    const TrainerPlan *plan = d->plan;
    const Bytes all[CLASSES] = {{"weights", "weights", plan->weights},
                                {"gradients", "gradients", plan->gradients},
                                {optimizer_kind(d->trainer->optimizer.kind)->holds, "moments", plan->moments},
                                {"batches", "batches", plan->batches},
                                {"activations", "activations", plan->activations},
                                {"program and data", "program", plan->program}};
    memcpy(bytes, all, sizeof all);
}

void setup_print_demand(const Demand *d)
{
    const TrainerOptions *o = d->trainer;
    Bytes bytes[CLASSES];
    classes(bytes, d);
    printf("%s parameters, %s, %s, %zu worker%s", count_text(d->parameters->numbers).text, o->k->backend,
           number_type_name(o->k->type), o->workers, o->workers == 1 ? "" : "s");
    if (o->ranks > 1)
        printf(" in each of %zu processes; of one of them:", o->ranks);
    printf("\n");
    for (size_t i = 0; i < CLASSES; i++)
        printf("  %-16s %12s\n", bytes[i].name, bytes_text(bytes[i].bytes).text);
    printf("  %-16s %12s\n", "in all", bytes_text(d->plan->total).text);
    printf("  %-16s %12.3g FLOP, %.3g bytes moved\n", "a step", d->plan->flop, d->plan->bytes);
    if (o->ranks > 1)
        printf("  %-16s %12s sent to other processes in a step\n", "", bytes_text((size_t)d->plan->sent).text);
    if (o->training)
        printf("  %-16s %12zu micro-batches in %zu share%s; a worker computes %s%zu\n", "", d->plan->micros,
               d->plan->shares, d->plan->shares == 1 ? "" : "s",
               d->plan->busiest * o->workers * (o->ranks ? o->ranks : 1) == d->plan->micros ? "" : "up to ",
               d->plan->busiest);
}

void setup_demand_json(const Demand *d, Buffer *out)
{
    Bytes bytes[CLASSES];
    classes(bytes, d);
    json_add_member(out, "parameters", (double)d->parameters->numbers);
    json_add_text(out, "device", d->trainer->k->backend);
    json_add_text(out, "precision", number_type_name(d->trainer->k->type));
    json_add_member(out, "workers", (double)d->trainer->workers);
    json_add_member(out, "processes", (double)(d->trainer->ranks ? d->trainer->ranks : 1));
    json_add_member(out, "sent_bytes_a_step", d->plan->sent);
    json_add_member(out, "memory_bytes", (double)(d->plan->total));
    json_open(out, "memory", '{');
    for (size_t i = 0; i < CLASSES; i++)
        json_add_member(out, bytes[i].key, (double)bytes[i].bytes);
    buffer_print(out, "}");
    json_add_member(out, "flop_a_step", d->plan->flop);
    json_add_member(out, "bytes_a_step", d->plan->bytes);
    json_add_member(out, "micro_batches_a_step", (double)d->plan->micros);
    json_add_member(out, "shares_a_step", (double)d->plan->shares);
    json_add_member(out, "micro_batches_a_worker", (double)d->plan->busiest);
}

/* --- weights --- */

bool setup_weights(Trainer *c, const SharedOptions *o, const char *const (*aliases)[2], const ModelNote *note, Error *e)
{
    Stream *s = c->worker[0].stream;
    if (!o->weights)
        return weights_init(&c->weights, s, (Init)o->init, o->depth * (o->loops ? o->loops : 1), (uint32_t)o->seed, e);
    if (!file_exists(o->weights))
        return fail(
            e, "--weights %s: there is no such file; expected one such as RUN/checkpoints/00000500/model.safetensors",
            o->weights);
    return weights_read(&c->weights, s, o->weights, aliases, note, NULL, e);
}

/* Adds which checkpoints a run does have to an error about one that cannot be read. damaged: that one, if it is there;
 * or NULL. */
static bool with_others(const Run *run, const uint64_t *damaged, Error *e)
{
    uint64_t *steps;
    size_t count;
    Buffer list = {0};
    if (!run_checkpoint_list(run, &steps, &count, NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!damaged || steps[i] != *damaged)
            buffer_print(&list, "%s%" PRIu64, list.size ? ", " : "", steps[i]);
    fail(e, "%s; %scomplete checkpoints of the run: %s", e->text, damaged ? "other " : "",
         list.size && !list.failed ? list.text : "none");
    buffer_free(&list);
    memory_free(steps);
    return false;
}

/* Whether a checkpoint's files are not what was saved: only then another may be read. A model or a vocabulary that does
 * not fit fits none of them. */
static bool is_damaged(const Run *run, uint64_t step)
{
    uint64_t *steps;
    size_t count;
    char *folder = run_checkpoint_path(run, step);
    bool whole = false;
    Error why;
    if (folder && run_checkpoint_list(run, &steps, &count, NULL)) {
        for (size_t i = 0; i < count; i++)
            whole = whole || steps[i] == step;
        memory_free(steps);
    } else
        whole = true; /* there is no memory to find out */
    const bool damaged = folder && (!whole || !sums_match_all(folder, &why));
    memory_free(folder);
    return damaged;
}

/* A process that trains the run removes checkpoints: what was marked may be gone when it is opened, but then another
 * one is marked. */
enum { TRIES = 20 };
static const double briefly = 0.005; /* seconds */

static bool read_of_run(Weights *w, Stream *s, const Run *run, const char *which, uint64_t step,
                        const char *const (*aliases)[2], const ModelNote *note, Error *e)
{
    bool marked = !strcmp(which, "best") || !strcmp(which, "last"), gone = false;
    for (int tries = 1;; tries++) {
        if (marked && !run_marked(run, which, &step, e))
            return with_others(run, NULL, e);
        if (weights_read_step(w, s, run, step, aliases, note, &gone, e))
            return true;
        if (!gone || tries == TRIES)
            break;
        clock_sleep(briefly);
    }
    if (gone) {
        fail(e, "the run %s has no checkpoint of step %" PRIu64 " (--weights %s)", run->path, step, which);
        return with_others(run, NULL, e);
    }
    return is_damaged(run, step) && with_others(run, &step, e);
}

/* The file that --from names, or the best weights of the run. NULL: an Error. */
static char *file_of(const char *from, Error *e)
{
    Run *run = NULL;
    uint64_t step;
    char *folder = NULL, *path = NULL;
    if (!file_exists(from) && !folder_exists(from)) {
        fail(e, "--from %s: there is no such run or file", from);
        return NULL;
    }
    if (folder_exists(from) && (!run_open(&run, from, false, e) || !run_marked(run, "best", &step, e))) {
        run_close(run);
        return NULL;
    }
    if (run)
        folder = run_checkpoint_path(run, step);
    path = !run ? memory_string(from) : folder ? path_join(folder, "model.safetensors") : NULL;
    if (!path)
        fail(e, "out of memory for a path");
    memory_free(folder);
    run_close(run);
    return path;
}

bool setup_part(Trainer *c, Options *options, const SharedOptions *o, const char *const (*aliases)[2],
                const ModelNote *note, WeightsPart *part, Error *e)
{
    bool fine = false, gone = true;
    for (int tries = 0; !fine && gone && tries < TRIES; tries++) {
        char *path = file_of(o->from, e);
        buffer_free(&part->report);
        *part = (WeightsPart){.map = o->map};
        fine = path && weights_read(&c->weights, c->worker[0].stream, path, aliases, note, part, e);
        gone = path && !file_exists(path);
        fine = fine && options_set(options, "from", path, FROM_COMMAND_LINE, e);
        memory_free(path);
        if (gone)
            clock_sleep(briefly);
    }
    return fine;
}

static bool read_average(Weights *w, Stream *s, const Run *run, const char *const (*aliases)[2], const ModelNote *note,
                         Error *e)
{
    char *path = average_path(run);
    bool fine = path || fail(e, "out of memory for a path");
    if (fine && !file_exists(path))
        fine = fail(e,
                    "the run %s has no average.safetensors: encdec average makes one; other programs have only best, "
                    "last and steps",
                    run->path);
    fine = fine && average_is_new(run, e) && weights_read(w, s, path, aliases, note, NULL, e);
    memory_free(path);
    return fine;
}

bool setup_stored_weights(Weights *w, Stream *s, const Run *run, const char *which, const char *const (*aliases)[2],
                          const ModelNote *note, Error *e)
{
    which = which ? which : "best";
    char *end;
    uint64_t step = strtoull(which, &end, 10);
    bool number = *which >= '0' && *which <= '9' && !*end;
    if (number || !strcmp(which, "best") || !strcmp(which, "last"))
        return read_of_run(w, s, run, which, step, aliases, note, e);
    if (!strcmp(which, "average"))
        return read_average(w, s, run, aliases, note, e);
    if (!file_exists(which))
        return fail(e, "--weights '%s': expected best, last, average, a step or an existing file", which);
    return weights_read(w, s, which, aliases, note, NULL, e);
}
