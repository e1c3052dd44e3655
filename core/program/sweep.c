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
#define _DEFAULT_SOURCE /* flock */
#include "core/program/app.h"
#include "core/program/child.h"
#include "core/research/compare.h"
#include "core/research/plan.h"
#include "core/research/report.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/units.h"
#include "core/cli/progress.h"
#include "core/cli/stop.h"
#include "core/run/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

typedef enum State { WAITING, RUNNING, DONE, FAILED } State;

typedef struct Item {
    State state;
    pid_t child;
    char *run, *out, *err; /* paths */
    Buffer row;            /* its line of the table, once it is over */
    double best;           /* as train's result says it; NaN */
    size_t failures;
    char why[240]; /* it failed */
} Item;

typedef struct Sweep {
    App *a;
    Plan plan;
    const char *file;
    char *text; /* of the file */
    size_t size;
    char *folder;
    Item *item; /* [plan.count] */
    Cost *cost; /* [plan.groups] */
    Progress progress;
    size_t cores, running;
    int lock; /* of the folder; -1: none */
    bool asked_to_stop;
} Sweep;

/* ---- paths and files */

static char *path_of(const Sweep *s, const char *folder, const char *name, const char *ending)
{
    Buffer b = {0};
    buffer_print(&b, "%s/%s%s%s%s", s->folder, folder, *folder ? "/" : "", name, ending);
    char *path = b.failed ? NULL : memory_string(b.text);
    buffer_free(&b);
    return path;
}

/* ---- opening */

/* What is known of a run from an earlier call. */
static void find_state(Item *i)
{
    Json *j = run_is_there(i->run) ? object_read(i->out) : NULL;
    const Json *finished = json_get(j, "finished");
    i->best = object_real(j, "best");
    if (finished && finished->truth)
        i->state = DONE;
    json_free(j);
}

static bool open_items(Sweep *s, Error *e)
{
    const size_t count = s->plan.count;
    s->item = memory_get(count, sizeof *s->item);
    s->cost = memory_get(s->plan.groups, sizeof *s->cost);
    bool fine = s->item && s->cost;
    for (size_t i = 0; fine && i < count; i++) {
        Item *item = &s->item[i];
        const char *name = s->plan.run[i].name;
        item->run = path_of(s, "", name, "");
        item->out = path_of(s, "state", name, ".out");
        item->err = path_of(s, "state", name, ".err");
        fine = item->run && item->out && item->err;
        if (fine)
            find_state(item);
    }
    return fine || memory_error(e, "the runs of a sweep", count, sizeof *s->item);
}

static bool has_run(const Plan *p, const PlanRun *run)
{
    for (size_t i = 0; i < p->count; i++) {
        bool same = !strcmp(p->run[i].name, run->name) && p->run[i].count == run->count;
        for (size_t k = 0; same && k < run->count; k++) {
            const char *value = plan_value(&p->run[i], run->option[k].name);
            same = value && !strcmp(value, run->option[k].value);
        }
        if (same)
            return true;
    }
    return false;
}

/* The file that the folder was made for: all of its runs are in this one, too, or it is another sweep. */
static bool is_the_same(const Sweep *s, const char *path, Error *e)
{
    char *text;
    size_t size;
    Plan old;
    if (!file_read(path, &text, &size, e))
        return false;
    bool fine = plan_read(&old, text, size, path, e);
    memory_free(text);
    if (!fine)
        return false;
    for (size_t i = 0; fine && i < old.count; i++)
        if (!has_run(&s->plan, &old.run[i]))
            fine = fail(e,
                        "%s holds another sweep: its run %s is not in %s, or with other options; choose another --run",
                        s->folder, old.run[i].name, s->file);
    plan_free(&old);
    return fine;
}

/* Several processes may work on one sweep: what they share is written by one at a time. */
static bool lock(const Sweep *s, Error *e)
{
    while (flock(s->lock, LOCK_EX))
        if (errno != EINTR)
            return fail(e, "cannot lock %s: %s", s->folder, strerror(errno));
    return true;
}

static void unlock(const Sweep *s) { flock(s->lock, LOCK_UN); }

/* Whether a folder holds nothing, or a sweep: its lock comes first. */
static bool is_ours(const char *folder, const char *lock_path)
{
    char **names;
    size_t count = 0;
    Error e;
    if (file_exists(lock_path) || !folder_list(folder, &names, &count, &e))
        return true;
    folder_list_free(names, count);
    return count == 0;
}

/* Makes the folder, and locks it. A dry run makes none. What an earlier call found out about a file that it refused is of
 * no use. */
static bool open_folder(Sweep *s, Error *e)
{
    char *copy = path_of(s, "", "sweep.txt", ""), *state = path_of(s, "state", "", ""),
         *path = path_of(s, "", "lock", "");
    const bool dry = s->a->options->dry_run;
    bool fine = (copy && state && path) || memory_error(e, "a path", 3, 64);
    if (fine && !is_ours(s->folder, path))
        fine = fail(e, "%s is not empty and holds no sweep: choose another --run", s->folder);
    if (fine && !dry && (fine = folder_make(s->folder, e))) {
        s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        fine = (s->lock >= 0 || fail(e, "cannot open %s: %s", path, strerror(errno))) && lock(s, e);
    }
    if (fine && file_exists(copy))
        fine = is_the_same(s, copy, e);
    else if (fine && !dry)
        fine = folder_remove(state, e);
    fine = fine && (dry || folder_make(state, e));
    memory_free(copy);
    memory_free(state);
    memory_free(path);
    return fine;
}

/* From now on the folder is of this file. */
static bool keep_file(const Sweep *s, Error *e)
{
    char *copy = path_of(s, "", "sweep.txt", "");
    bool fine = copy ? file_write(copy, s->text, s->size, e) : memory_error(e, "a path", 1, 64);
    memory_free(copy);
    return fine;
}

/* runs/NAME of FOLDER/NAME.ENDING */
static char *standard_folder(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');
    Buffer b = {0};
    buffer_print(&b, "runs/%.*s", (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name)), name);
    char *path = b.failed ? NULL : memory_string(b.text);
    buffer_free(&b);
    return path;
}

static bool open_sweep(Sweep *s, Error *e)
{
    const SharedOptions *o = s->a->options;
    if (s->a->command_line->argument_count != 1)
        return fail(e, "expected one file that describes a sweep") || app_misused(s->a);
    s->file = s->a->command_line->arguments[0];
    if (!file_read_any(s->file, &s->text, &s->size, e))
        return false;
    s->folder = o->run ? memory_string(o->run) : standard_folder(s->file);
    return (s->folder || memory_error(e, "a path", 1, strlen(s->file))) &&
           plan_read(&s->plan, s->text, s->size, s->file, e) && open_folder(s, e) && open_items(s, e);
}

static void close_sweep(Sweep *s)
{
    if (s->lock >= 0)
        close(s->lock);
    for (size_t i = 0; s->item && i < s->plan.count; i++) {
        memory_free(s->item[i].run);
        memory_free(s->item[i].out);
        memory_free(s->item[i].err);
        buffer_free(&s->item[i].row);
    }
    memory_free(s->item);
    memory_free(s->cost);
    memory_free(s->folder);
    memory_free(s->text);
    plan_free(&s->plan);
}

/* ---- what it will take */

static Child child_of(const Sweep *s, size_t run)
{
    const size_t workers = s->cores / s->a->options->jobs;
    return (Child){s->a->kind->name, &s->plan.run[run], workers ? workers : 1};
}

static bool find_cost(Sweep *s, size_t i, Error *e)
{
    const PlanRun *run = &s->plan.run[i];
    const Child child = child_of(s, i);
    Cost *c = &s->cost[run->group];
    char *path = path_of(s, "state", run->name, ".plan");
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
    const Child child = child_of(s, run);
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
    fprintf(stderr,
            "%s: %zu runs of %zu groups, %zu to train: %.3g FLOP, about %s with --jobs %zu, about %s of checkpoints\n",
            s->folder, s->plan.count, s->plan.groups, waiting, flop,
            duration_text(seconds / (double)s->a->options->jobs).text, s->a->options->jobs,
            isnan(disk) ? "?" : bytes_text((uint64_t)disk).text);
    return true;
}

/* ---- sweep.tsv */

static void add_real(Buffer *b, double x)
{
    buffer_print(b, "\t");
    if (isfinite(x))
        buffer_print(b, "%.10g", x);
}

static const struct {
    const char *name;
    LogColumn column;
} figures[] = {{"validation", LOG_VALID}, {"accuracy", LOG_ACCURACY}, {"perplexity", LOG_WORD}, {"BLEU", LOG_BLEU}};
enum { FIGURES = sizeof figures / sizeof *figures };

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
    for (size_t f = 0; f < FIGURES; f++)
        for (int last = 0; last < 2; last++)
            add_real(b, figure_of(&(Figure){.column = figures[f].column, .last = last}, &log));
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

static bool write_table(const Sweep *s, Error *e)
{
    Buffer b = {0};
    char *path = path_of(s, "", "sweep.tsv", "");
    buffer_print(&b, "run");
    for (size_t v = 0; v < s->plan.varied_count; v++)
        buffer_print(&b, "\t%s", s->plan.varied[v]);
    buffer_print(&b, "\tseed\tstate\tsteps\ttokens\tFLOP\tparameters");
    for (size_t f = 0; f < FIGURES; f++)
        buffer_print(&b, "\tbest %s\tlast %s", figures[f].name, figures[f].name);
    buffer_print(&b, "\tlast training loss\tseconds\n");
    for (size_t i = 0; i < s->plan.count; i++)
        add_kept_row(&b, s, i);
    bool fine = (path && !b.failed) || memory_error(e, "a table", b.size, 1);
    if (fine && (fine = lock(s, e))) {
        fine = file_write(path, b.text, b.size, e);
        unlock(s);
    }
    buffer_free(&b);
    memory_free(path);
    return fine;
}

/* ---- training */

/* Starts the next run that waits and that no other process trains. busy: there is one that others train. */
static bool start_next(Sweep *s, bool *started, bool *busy, Error *e)
{
    *started = *busy = false;
    for (size_t i = 0; i < s->plan.count; i++) {
        Item *item = &s->item[i];
        if (item->state != WAITING)
            continue;
        find_state(item); /* another process may have finished it meanwhile */
        if (item->state == DONE)
            continue;
        const bool old = run_is_there(item->run);
        if (run_busy(item->run)) {
            *busy = true;
            continue;
        }
        const Child child = child_of(s, i);
        Words w;
        if (!child_words(&w, &child, old ? "resume" : "run", item->run, e))
            return false;
        item->child = process_start(process_self, w.word, item->out, item->err, e);
        words_free(&w);
        if (item->child < 0)
            return false;
        item->state = RUNNING;
        s->running++;
        *started = true;
        return true;
    }
    return true;
}

static size_t count_of(const Sweep *s, State state)
{
    size_t count = 0;
    for (size_t i = 0; i < s->plan.count; i++)
        count += s->item[i].state == state;
    return count;
}

static double flop_of(const Sweep *s, State state)
{
    double flop = 0;
    for (size_t i = 0; i < s->plan.count; i++)
        flop += s->item[i].state == state ? s->cost[s->plan.run[i].group].flop : 0;
    return flop;
}

/* Seconds that the rest will take at the speed measured from `start` on. */
static double seconds_left(const Sweep *s, double done_before, double start)
{
    const double done = flop_of(s, DONE) - done_before, left = flop_of(s, WAITING) + flop_of(s, RUNNING);
    return done > 0 ? (clock_seconds() - start) / done * left : NAN;
}

/* A run that was stopped or killed waits; one that says it cannot be trained has failed. It may be that another process
 * was quicker to begin it, and has even finished it: whatever is there is tried a second time. */
static void settle(Sweep *s, Item *item, int status)
{
    item->state = WAITING;
    s->running--;
    if (status == 0)
        find_state(item);
    else if (status > 0 && !run_busy(item->run) && (!run_is_there(item->run) || ++item->failures > 1)) {
        item->state = FAILED;
        child_last_words(item->why, sizeof item->why, item->err);
    } else if (status < 0 && !s->asked_to_stop) {
        item->state = FAILED;
        snprintf(item->why, sizeof item->why, "a signal ended it; the same command tries again");
    }
}

static bool wait_for_one(Sweep *s, double done_before, double start, Error *e)
{
    const struct timespec little = {0, 20 * 1000 * 1000};
    int status;
    const pid_t child = process_ended(&status);
    if (stop_requested() && !s->asked_to_stop) {
        s->asked_to_stop = true;
        for (size_t i = 0; i < s->plan.count; i++)
            if (s->item[i].state == RUNNING)
                kill(s->item[i].child, SIGTERM);
    }
    if (!child) {
        nanosleep(&little, NULL);
        return true;
    }
    for (size_t i = 0; i < s->plan.count; i++) {
        Item *item = &s->item[i];
        if (item->state != RUNNING || item->child != child)
            continue;
        settle(s, item, status);
        if (item->state == DONE)
            progress_note(&s->progress, "%zu/%zu  %s: best %.4f; left %s", count_of(s, DONE), s->plan.count,
                          s->plan.run[i].name, item->best, duration_text(seconds_left(s, done_before, start)).text);
        if (item->state == FAILED)
            progress_note(&s->progress, "%zu/%zu  %s failed: %s", count_of(s, DONE), s->plan.count, s->plan.run[i].name,
                          item->why);
        return write_table(s, e);
    }
    return true;
}

static bool train_all(Sweep *s, Error *e)
{
    const double start = clock_seconds(), done_before = flop_of(s, DONE);
    bool fine = true, started = true, busy = false;
    stop_catch();
    while (fine) {
        while (fine && !stop_requested() && s->running < s->a->options->jobs &&
               (fine = start_next(s, &started, &busy, e)) && started)
            ;
        if (!s->running && !(busy && !stop_requested()))
            break;
        fine = fine && wait_for_one(s, done_before, start, e);
    }
    for (size_t i = 0; !fine && i < s->plan.count; i++)
        if (s->item[i].state == RUNNING)
            kill(s->item[i].child, SIGTERM);
    return fine;
}

/* ---- the command */

static bool print_comparison(const Sweep *s, Error *e)
{
    const char **runs = memory_get(s->plan.count, sizeof *runs);
    const Figure f = {.column = LOG_VALID};
    size_t count = 0;
    Comparison c;
    Buffer b = {0};
    for (size_t i = 0; runs && i < s->plan.count; i++)
        if (s->item[i].state == DONE)
            runs[count++] = s->item[i].run;
    bool fine = runs || memory_error(e, "runs", s->plan.count, sizeof *runs);
    if (fine && count && (fine = compare_runs(&c, &f, runs, count, NULL, e))) {
        report_write(&b, &c, REPORT_TEXT);
        fwrite(b.text, 1, b.failed ? 0 : b.size, stdout);
        buffer_free(&b);
        comparison_free(&c);
    }
    memory_free(runs);
    return fine;
}

static bool print_result(const Sweep *s, Error *e)
{
    const size_t done = count_of(s, DONE), failed = count_of(s, FAILED);
    if (s->a->options->json) {
        Buffer b = {0};
        buffer_print(&b, "{");
        json_add_text(&b, "sweep", s->folder);
        json_add_member(&b, "runs", (double)s->plan.count);
        json_add_member(&b, "done", (double)done);
        json_add_member(&b, "failed", (double)failed);
        return json_print(&b, e);
    }
    if (!print_comparison(s, e))
        return false;
    printf("%s/sweep.tsv: %zu of %zu runs are done", s->folder, done, s->plan.count);
    if (failed)
        printf(", %zu failed", failed);
    printf(done + failed < s->plan.count ? "; the same command goes on\n" : "\n");
    return true;
}

bool app_sweep(App *a, Error *e)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    Sweep s = {.a = a,
               .lock = -1,
               .cores = cores > 0 ? (size_t)cores : 1,
               .progress = progress_open(stderr, a->options->quiet)};
    bool fine = open_sweep(&s, e) && find_costs(&s, e) && (a->options->dry_run || keep_file(&s, e)) &&
                print_demand(&s, e);
    unlock(&s); /* the folder, its file and the costs are there */
    if (fine && !a->options->dry_run)
        fine = train_all(&s, e) && write_table(&s, e) && print_result(&s, e);
    progress_close(&s.progress);
    close_sweep(&s);
    return fine;
}
