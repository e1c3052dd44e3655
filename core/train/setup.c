/* See setup.h. */
#include "core/train/setup.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/cli/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool setup_crew(CrewOptions *c, const SharedValues *o, bool training, Error *e)
{
    size_t micro = o->micro_batch && o->micro_batch < o->batch ? o->micro_batch : o->batch;
    size_t parts = (o->batch + micro - 1) / micro, workers = o->workers;
    if (!workers) {
        workers = processors_allowed();
        workers = training && workers > parts ? parts : workers;
    }
    bool alone = workers == 1 && !training;
    *c = (CrewOptions){.k = kernels_find(device_name(o->device), (NumberType)o->precision, e),
                       .workers = workers,
                       .team = o->team ? o->team
                               : alone ? processors_allowed()
                                       : 1,
                       .micro_rows = micro,
                       .training = training,
                       .keep = o->recompute ? KEEP_INPUTS : KEEP_ALL,
                       .adam = {.epsilon = o->epsilon},
                       .clip = o->clip,
                       .decay = o->decay,
                       .seed = (uint32_t)o->seed};
    return c->k && (!training || parse_betas(o->betas, &c->adam.beta1, &c->adam.beta2, e));
}

bool setup_loop(LoopOptions *l, const SharedValues *o, size_t steps_an_epoch, Error *e)
{
    size_t save_every;
    *l = (LoopOptions){.steps = o->epochs ? o->epochs * steps_an_epoch : o->steps,
                       .minutes = o->minutes,
                       .eval_every = o->eval_every,
                       .keep = o->keep,
                       .patience = o->patience,
                       .quiet = o->quiet};
    l->schedule = (Schedule){.kind = (ScheduleKind)o->schedule,
                             .rate = o->lr,
                             .warmup = o->warmup,
                             .decay_steps = o->decay_steps ? o->decay_steps : l->steps,
                             .dim = o->dim};
    if (!parse_every(o->save_every, &save_every, &l->save_seconds, e))
        return false;
    l->save_every = save_every;
    return true;
}

void setup_print_plan(const CrewPlan *plan, const CrewOptions *o, const Parameters *p)
{
    const struct {
        const char *name;
        size_t bytes;
    } lines[] = {{"weights", plan->weights}, {"gradients", plan->gradients},     {"Adam's moments", plan->moments},
                 {"batches", plan->batches}, {"activations", plan->activations}, {"program and data", plan->program},
                 {"in all", plan->total}};
    printf("%s parameters, %s, %s, %zu worker%s\n", count_text(p->numbers).text, o->k->twin,
           number_type_name(o->k->type), o->workers, o->workers == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        printf("  %-16s %12s\n", lines[i].name, bytes_text(lines[i].bytes).text);
    printf("  %-16s %12.3g FLOP, %.3g bytes moved\n", o->training ? "a step" : "a batch", plan->flop, plan->bytes);
}

bool setup_weights_path(char **path, const Run *run, const char *which, Error *e)
{
    char name[64];
    uint64_t step;
    *path = NULL;
    which = which ? which : "best";
    if (strcmp(which, "best") == 0 || strcmp(which, "last") == 0) {
        if (!run_marked(run, which, &step, e))
            return false;
    } else {
        char *end;
        step = strtoull(which, &end, 10);
        if (*which < '0' || *which > '9' || *end) {
            *path = memory_string(which);
            return *path || fail(e, "out of memory for a path");
        }
    }
    snprintf(name, sizeof name, "checkpoints/%08" PRIu64 "/model.safetensors", step);
    *path = run_file(run, name);
    if (!*path)
        return fail(e, "out of memory for a path");
    if (file_exists(*path))
        return true;
    fail(e, "%s: the run has no checkpoint of step %" PRIu64 " (--weights %s)", run->path, step, which);
    memory_free(*path);
    *path = NULL;
    return false;
}

bool setup_weights(Crew *c, const SharedValues *o, const char *const (*aliases)[2], Error *e)
{
    Stream *s = c->worker[0].stream;
    if (o->weights)
        return weights_read(&c->weights, s, o->weights, aliases, e);
    return weights_init(&c->weights, s, (Init)o->init, o->depth, (uint32_t)o->seed, e);
}
