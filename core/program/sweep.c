/* PROGRAM sweep: trains all the runs that a file describes (core/research/plan.h), each as a process of its own and into an
 * ordinary run directory, and compares them. In the sweep's directory:
 *
 *     NAME/            a run
 *     sweep.txt        the file that describes it
 *     sweep.tsv        what came of each run; made from the runs, anew after each
 *     lock             held while that, or anything else that is of no run, is written
 *     state/NAME.*     what the process said: .out (finished or not), .err; .plan: what a group's first run costs
 *
 * A process that dies at any moment leaves runs that the next call goes on with. */
#include "core/program/sweep.h"
#include "core/research/compare.h"
#include "core/research/report.h"

#include "base/memory.h"
#include "base/thread.h"
#include "base/units.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>

/* ---- what it will take */

static bool find_cost(Sweep *s, size_t i, Error *e)
{
    const PlanRun *run = &s->plan.run[i];
    const Child child = sweep_child(s, i);
    Cost *c = &s->cost[run->group];
    char *path = sweep_path(s, "state", run->name, ".plan");
    Error why;
    int status = 0;
    if (!path)
        return memory_error(e, "a path", 1, 64);
    bool fine = cost_read(c, path) || cost_ask(c, &child, s->a->options->dry_run ? NULL : path, &status, &why);
    memory_free(path);
    s->a->misused = status == 2;
    return fine || fail(e, "%s, run %s: %s", s->file, run->name, why.text);
}

/* Of each group's first run. */
static bool find_costs(Sweep *s, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && i < s->plan.count; i++)
        if (!i || s->plan.run[i].group != s->plan.run[i - 1].group)
            fine = find_cost(s, i, e);
    return fine;
}

static bool measure(const Sweep *s, size_t run, double *speed, double *bytes, Error *e)
{
    Buffer folder = {0};
    const Child child = sweep_child(s, run);
    buffer_print(&folder, "%s.probe", s->folder);
    bool fine = folder.failed ? memory_error(e, "a path", 1, 64)
                              : cost_probe(&s->cost[s->plan.run[run].group], &child, folder.text, speed, bytes, e);
    buffer_free(&folder);
    return fine;
}

static bool print_demand(const Sweep *s, Error *e)
{
    size_t waiting = 0, first = 0;
    double speed, bytes, flop = 0, seconds = 0, disk = 0;
    for (size_t i = s->plan.count; i-- > 0;)
        if (s->item[i].state == WAITING)
            first = i, waiting++;
    if (s->a->options->quiet)
        return true;
    if (!waiting) {
        fprintf(stderr, "%s: all %zu runs are done\n", s->folder, s->plan.count);
        return true;
    }
    if (!measure(s, first, &speed, &bytes, e))
        return false;
    for (size_t i = 0; i < s->plan.count; i++) {
        const Cost *c = &s->cost[s->plan.run[i].group];
        if (s->item[i].state != WAITING)
            continue;
        flop += c->flop;
        seconds += cost_seconds(c, speed);
        disk += 3 * bytes * c->parameters; /* the newest two and the best */
    }
    fprintf(
        stderr,
        "%s: %zu run%s of %zu group%s, %zu to train: %.3g FLOP, about %s with --jobs %zu, about %s of checkpoints\n",
        s->folder, s->plan.count, s->plan.count == 1 ? "" : "s", s->plan.groups, s->plan.groups == 1 ? "" : "s",
        waiting, flop, duration_text(seconds / (double)s->a->options->jobs).text, s->a->options->jobs,
        isnan(disk) ? "?" : bytes_text((uint64_t)disk).text);
    return true;
}

/* ---- the command */

static bool print_comparison(const Sweep *s, Error *e)
{
    char *path = sweep_path(s, "", "sweep.tsv", "");
    const Figure f = {.column = LOG_VALID};
    Results results = {0};
    Comparison c;
    Buffer b = {0};
    bool fine = path ? results_add(&results, path, e) : memory_error(e, "a path", 1, 64);
    if (fine && (fine = compare_results(&c, &f, &results, false, NULL, e))) {
        report_write(&b, &c, REPORT_TEXT);
        fine = app_print(&b, e);
        comparison_free(&c);
    }
    results_free(&results);
    memory_free(path);
    return fine;
}

static bool print_result(const Sweep *s, Error *e)
{
    const size_t done = sweep_count(s, DONE), failed = sweep_count(s, FAILED);
    if (s->a->options->json) {
        Buffer b = {0};
        json_add_text(&b, "sweep", s->folder);
        json_add_member(&b, "runs", (double)s->plan.count);
        json_add_member(&b, "done", (double)done);
        json_add_member(&b, "failed", (double)failed);
        if (!json_print_members(&b, e))
            return false;
    } else {
        if (done && !print_comparison(s, e))
            return false;
        printf("%s/sweep.tsv: %zu of %zu runs are done", s->folder, done, s->plan.count);
        if (failed)
            printf(", %zu failed", failed);
        printf(done + failed < s->plan.count ? "; the same command continues\n" : "\n");
    }
    return failed < s->plan.count || fail(e, "%s: no run could be trained; their rows say why", s->folder);
}

/* --dry-run: the names of the runs that it would train. */
static bool print_waiting(const Sweep *s, Error *e)
{
    Buffer b = {0};
    const bool json = s->a->options->json;
    if (json) {
        json_add_text(&b, "sweep", s->folder);
        json_add_member(&b, "runs", (double)s->plan.count);
        json_open(&b, "to_train", '[');
    }
    for (size_t i = 0; i < s->plan.count; i++)
        if (s->item[i].state == WAITING && json)
            json_add_text(&b, NULL, s->plan.run[i].name);
        else if (s->item[i].state == WAITING)
            buffer_print(&b, "%s\n", s->plan.run[i].name);
    if (!json)
        return app_print(&b, e);
    buffer_print(&b, "]");
    return json_print_members(&b, e);
}

bool app_sweep(App *a, Error *e)
{
    Sweep s = {.a = a, .lock = -1, .cores = processors_allowed(), .progress = progress_open(stderr, a->options->quiet)};
    const char *known = a->options->known;
    bool fine = sweep_open(&s, e) && find_costs(&s, e) && (!known || sweep_read_known(&s, known, e)) &&
                (a->options->dry_run || sweep_keep_file(&s, e)) && print_demand(&s, e);
    sweep_unlock(&s); /* the folder, its file and the costs are there */
    if (fine && a->options->dry_run)
        fine = print_waiting(&s, e);
    else if (fine)
        fine = sweep_train(&s, e) && sweep_write_table(&s, e) && print_result(&s, e);
    progress_close(&s.progress);
    sweep_close(&s);
    return fine;
}
