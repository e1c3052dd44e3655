/* PROGRAM info: what a model or a run consists of, and what a step of it costs. */
#include "core/program/subjects.h"

#include "base/memory.h"
#include "base/units.h"
#include "core/run/json.h"

#include <stdio.h>

static void print_parameters(const Parameters *p)
{
    printf("%-36s %-14s %12s\n", "parameter", "shape", "numbers");
    for (size_t i = 0; i < p->count; i++) {
        const Parameter *one = p->list[i];
        char shape[48];
        if (one->rank == 1)
            snprintf(shape, sizeof shape, "[%zu]", one->shape[0]);
        else
            snprintf(shape, sizeof shape, "[%zu, %zu]", one->shape[0], one->shape[1]);
        printf("%-36s %-14s %12s%s\n", one->name, shape, count_text(one->count).text,
               one->role == ROLE_CONSTANT ? " (computed)" : "");
    }
    printf("\n");
}

static bool print_run(const Run *run, Error *e)
{
    uint64_t best = 0, *steps = NULL;
    size_t count = 0;
    bool marked;
    if (!run_find_mark(run, "best", &marked, &best, e) || !run_checkpoint_list(run, &steps, &count, e))
        return false;
    printf("run %s: %zu checkpoint%s", run->path, count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++)
        printf("%s %llu", i ? "," : ":", (unsigned long long)steps[i]);
    memory_free(steps);
    if (marked)
        printf("; best %llu", (unsigned long long)best);
    printf("\n");
    return true;
}

bool app_info(App *a, Error *e)
{
    TrainerOptions options;
    TrainerPlan plan;
    if ((a->options->run && !app_open_run(a, a->options->run, false, e)) ||
        !setup_device(a->command_line, a->options, e) || !a->kind->open_model(a, e))
        return false;
    const Demand demand = {&plan, &options, a->parameters};
    if (!app_trainer_options(a, &options, true, e) || !trainer_plan(&plan, &options, a->parameters, &a->task, e))
        return false;
    if (a->options->json) {
        Buffer b = {0};
        setup_demand_json(&demand, &b);
        json_add_member(&b, "tokens_a_step", a->kind->step_tokens(a));
        return json_print_members(&b, e);
    }
    if (a->run && !print_run(a->run, e))
        return false;
    print_parameters(a->parameters);
    if (a->run && a->options->adaptive_span > 0 && !print_spans(a, e))
        return false;
    setup_print_demand(&demand);
    return true;
}
