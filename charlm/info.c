/* charlm info: what a model or a run consists of, and what a step of it costs. */
#include "charlm/charlm.h"

#include "base/memory.h"
#include "core/cli/units.h"
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

static bool print_run(const Charlm *c, Error *e)
{
    uint64_t step, *steps = NULL;
    size_t count = 0;
    if (!run_checkpoint_list(c->run, &steps, &count, e))
        return false;
    printf("run %s: %zu checkpoint%s", c->run->path, count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++)
        printf("%s %llu", i ? "," : ":", (unsigned long long)steps[i]);
    memory_free(steps);
    if (run_marked(c->run, "best", &step, NULL))
        printf("; best %llu", (unsigned long long)step);
    printf("\n");
    return true;
}

bool charlm_info(Charlm *c, Error *e)
{
    const SharedValues *o = &c->v->shared;
    CrewOptions options;
    CrewPlan plan;
    const Demand demand = {&plan, &options, &c->model.parameters};
    if (!(o->run ? charlm_open_run(c, o->run, false, e) : charlm_build(c, e)))
        return false;
    charlm_task(c, (Part){NULL, 0}, c->model.context);
    if (!charlm_crew_options(c, &options, true, e) || !crew_plan(&plan, &options, &c->model.parameters, &c->task, e))
        return false;
    if (o->json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        setup_demand_json(&demand, &b);
        json_add_member(&b, "tokens_a_step", (double)(o->batch * o->context));
        json_print(&b);
        return true;
    }
    if (c->run && !print_run(c, e))
        return false;
    print_parameters(&c->model.parameters);
    setup_print_demand(&demand);
    return true;
}
