/* sweep.tsv: a line for each run, made from the runs themselves. */
#include "core/program/sweep.h"
#include "core/research/compare.h"
#include "core/research/results.h"

#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

static void add_real(Buffer *b, double x)
{
    buffer_print(b, "\t");
    if (isfinite(x))
        buffer_print(b, "%.10g", x);
}

static void add_row(Buffer *b, const Sweep *s, size_t i)
{
    static const char *const states[] = {
        [WAITING] = "waiting", [RUNNING] = "training", [DONE] = "done", [FAILED] = "failed: "};
    const PlanRun *run = &s->plan.run[i];
    const Item *item = &s->item[i];
    const Cost *c = &s->cost[run->group];
    Log log = {0};
    Error ignored;
    if (!run_is_there(item->run) || !log_read_run(&log, item->run, &ignored))
        log = (Log){0};
    buffer_print(b, "%s", run->name);
    for (size_t v = 0; v < s->plan.varied_count; v++) {
        const char *value = plan_value(run, s->plan.varied[v]);
        buffer_print(b, "\t");
        picture_text(b, value ? value : "", value ? strlen(value) : 0, false);
    }
    buffer_print(b, "\t%s\t%s", plan_value(run, "seed"), states[item->state]);
    picture_text(b, item->why, strlen(item->why), false);
    const LogLine *end = log.count ? &log.line[log.count - 1] : NULL;
    add_real(b, end ? end->step : NAN);
    add_real(b, end ? end->tokens : NAN);
    add_real(b, end ? c->flop / c->steps * end->step : NAN);
    add_real(b, c->parameters);
    for (size_t f = 0; f < RESULT_FIGURES; f++)
        for (int last = 0; last < 2; last++)
            add_real(b, figure_of(&(Figure){.column = result_figures[f].column, .last = last}, &log));
    add_real(b, figure_of(&(Figure){.column = LOG_LOSS, .last = true}, &log));
    add_real(b, end ? end->seconds : NAN);
    buffer_print(b, "\n");
    log_free(&log);
}

/* The line of a run that is over is made once: a sweep may have thousands. */
static void add_kept_row(Buffer *b, const Sweep *s, size_t i)
{
    Item *item = &s->item[i];
    const bool over = item->state == DONE || item->state == FAILED;
    if (over && !item->row.size)
        add_row(&item->row, s, i);
    if (over)
        buffer_add(b, item->row.text, item->row.size);
    else
        add_row(b, s, i);
    b->failed = b->failed || item->row.failed;
}

bool sweep_write_table(const Sweep *s, Error *e)
{
    Buffer b = {0};
    char *path = sweep_path(s, "", "sweep.tsv", "");
    buffer_print(&b, "run");
    for (size_t v = 0; v < s->plan.varied_count; v++)
        buffer_print(&b, "\t%s", s->plan.varied[v]);
    buffer_print(&b, "\tseed\tstate\tsteps\ttokens\tFLOP\tparameters");
    for (size_t f = 0; f < RESULT_FIGURES; f++)
        buffer_print(&b, "\tbest %s\tlast %s", result_figures[f].name, result_figures[f].name);
    buffer_print(&b, "\tlast training loss\tseconds\n");
    for (size_t i = 0; i < s->plan.count; i++)
        add_kept_row(&b, s, i);
    bool fine = (path && !b.failed) || memory_error(e, "a table", b.size, 1);
    if (fine && (fine = sweep_lock(s, e))) {
        fine = file_write(path, b.text, b.size, e);
        sweep_unlock(s);
    }
    buffer_free(&b);
    memory_free(path);
    return fine;
}
