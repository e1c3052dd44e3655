/* PROGRAM compare: is A better than B, or is that noise? Runs that differ in the seed alone are a group. They are read
 * from their folders, or from the table of a sweep, which is all that is left of runs elsewhere. */
#include "core/research/compare.h"
#include "core/program/app.h"
#include "core/program/child.h"
#include "core/program/fit.h"
#include "core/research/report.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Paths of runs, owned. */
typedef struct Runs {
    char **path;
    size_t count, capacity;
} Runs;

static void runs_free(Runs *r)
{
    for (size_t i = 0; i < r->count; i++)
        memory_free(r->path[i]);
    memory_free(r->path);
}

static bool add_run(Runs *r, char *path, Error *e)
{
    if (!path)
        return memory_error(e, "a path", 1, 64);
    if (!memory_grow(&r->path, &r->capacity, r->count + 1, sizeof *r->path, "runs", e)) {
        memory_free(path);
        return false;
    }
    r->path[r->count++] = path;
    return true;
}

/* A run, or a folder of runs. */
static bool add_runs(Runs *r, const char *path, Error *e)
{
    const size_t before = r->count;
    char **names;
    size_t count;
    if (run_is_there(path))
        return add_run(r, memory_string(path), e);
    if (!folder_list(path, &names, &count, e))
        return false;
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++) {
        char *inner = path_join(path, names[i]);
        if (inner && !run_is_there(inner))
            memory_free(inner);
        else
            fine = add_run(r, inner, e);
    }
    folder_list_free(names, count);
    return fine &&
           (r->count > before || fail(e, "%s is neither a run nor a folder of runs: it has no config.json", path));
}

static bool read_figure(App *a, Figure *f, Error *e)
{
    const SharedOptions *o = a->options;
    *f = (Figure){.column = (LogColumn)o->figure, .last = o->last};
    return !o->at || figure_read_at(f, o->at) ||
           fail(e, "--at '%s': expected steps=N, tokens=N, seconds=N or flop=N", o->at) || app_misused(a);
}

static bool print_json(const Comparison *c, Error *e)
{
    Buffer b = {0};
    json_open(&b, "groups", '[');
    for (const Group *g = c->group; g < c->group + c->groups; g++) {
        json_open(&b, NULL, '{');
        json_add_text(&b, "label", g->label);
        json_add_member(&b, "runs", (double)g->count);
        json_add_member(&b, "mean", g->moments.mean);
        json_add_member(&b, "sd", g->moments.sd);
        json_add_member(&b, "margin", g->margin);
        json_add_member(&b, "difference", g->welch.mean);
        json_add_member(&b, "p", g->welch_p);
        json_add_member(&b, "paired_p", g->paired_p);
        buffer_print(&b, "}");
    }
    buffer_print(&b, "]");
    return json_print_members(&b, e);
}

static bool print_table(const Comparison *c, ReportFormat format, Error *e)
{
    Buffer b = {0};
    report_write(&b, c, format);
    return app_print(&b, e);
}

static bool gather(App *a, Runs *runs, Error *e)
{
    const Options *options = a->command_line;
    bool fine = true;
    for (size_t i = 0; fine && i < options->argument_count; i++)
        fine = add_runs(runs, options->arguments[i], e);
    return fine && (runs->count || fail(e, "which runs? Name them, a folder of runs, or the table of a sweep") ||
                    app_misused(a));
}

/* How many FLOP a token takes in each run, where the limit is of FLOP. */
static bool count_flop(const App *a, const Runs *runs, Figure *f, double **flop, Error *e)
{
    bool fine = f->at != AT_FLOP || (*flop = memory_get(runs->count, sizeof **flop)) ||
                memory_error(e, "FLOP of runs", runs->count, sizeof **flop);
    for (size_t i = 0; fine && f->at == AT_FLOP && i < runs->count; i++) {
        RunCost cost = {0};
        fine = run_cost(&cost, a->kind->name, runs->path[i], e);
        (*flop)[i] = cost.flop_a_token;
    }
    f->flop_a_token = *flop;
    return fine;
}

/* The table, and the picture, whose data come first: there may be none. */
static bool show(const App *a, const Comparison *c, Error *e)
{
    const SharedOptions *o = a->options;
    Buffer data = {0};
    bool fine = !o->along || report_lines(&data, c) || fail(e, "--over %s: no run has a number there", o->along);
    if (o->out && !o->along)
        report_picture(&data, c);
    fine = fine && (o->json ? print_json(c, e) : print_table(c, (ReportFormat)o->format, e)) &&
           (!o->out || app_draw_out(a, o->along ? "over" : "compare", &data, e));
    buffer_free(&data);
    return fine;
}

static bool is_table(const char *path)
{
    const size_t size = strlen(path);
    return size > 4 && strcmp(path + size - 4, ".tsv") == 0;
}

static bool compare_tables(App *a, const Figure *f, Error *e)
{
    const SharedOptions *o = a->options;
    Results results = {.option = o->along ? o->along : o->tuned};
    Comparison c;
    bool fine = true;
    for (size_t i = 0; fine && i < a->command_line->argument_count; i++) {
        const char *path = a->command_line->arguments[i];
        fine = is_table(path) ? results_add(&results, path, e)
                              : fail(e, "%s is not a table, but others are: compare only tables or only runs", path);
    }
    if (fine && (f->at != AT_END || o->fit))
        fine = fail(e, "%s needs the logs of runs, which a table does not have", o->fit ? "--fit" : "--at") ||
               app_misused(a);
    if (fine && !results.count)
        fine = fail(e, "%s has no runs", a->command_line->arguments[0]);
    if (fine && (fine = compare_results(&c, f, &results, o->tuned, o->against, e))) {
        fine = show(a, &c, e);
        comparison_free(&c);
    }
    results_free(&results);
    return fine;
}

bool app_compare(App *a, Error *e)
{
    const SharedOptions *o = a->options;
    const Picture picture = {.out = o->out, .size = o->size};
    Runs runs = {0};
    Figure figure;
    Comparison c;
    double *flop = NULL;
    if (!fit_suits(a, e))
        return app_misused(a);
    if (o->along && (o->tuned || !o->out)) {
        fail(e, o->tuned ? "--over and --tuned exclude each other" : "--over says what a picture shows: --out FILE");
        return app_misused(a);
    }
    if (!read_figure(a, &figure, e) || (o->out && !picture_sound(&picture, e) && !app_misused(a)))
        return false;
    for (size_t i = 0; i < a->command_line->argument_count; i++)
        if (is_table(a->command_line->arguments[i]))
            return compare_tables(a, &figure, e);
    if (o->tuned || o->along) {
        fail(e, "--%s compares the rows of a sweep: name its table, runs/NAME/sweep.tsv", o->tuned ? "tuned" : "over");
        return app_misused(a);
    }
    bool fine = gather(a, &runs, e);
    if (fine && o->fit)
        fine = fit_scaling(a, figure.column, (const char *const *)runs.path, runs.count, e);
    else if ((fine = fine && count_flop(a, &runs, &figure, &flop, e)) &&
             (fine = compare_runs(&c, &figure, (const char *const *)runs.path, runs.count, o->against, e))) {
        fine = show(a, &c, e);
        comparison_free(&c);
    }
    memory_free(flop);
    runs_free(&runs);
    return fine;
}
