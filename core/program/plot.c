/* PROGRAM plot: what training gave, as a picture; once, or again and again while it continues. And pictures of what is
 * in no log: see subjects.h. */
#include "core/program/subjects.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "core/cli/stop.h"
#include "core/inspect/maps.h"
#include "core/plot/curves.h"
#include "core/plot/events.h"
#include "core/plot/legend.h"
#include "core/run/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS = 64 }; /* at most */

typedef struct Plot {
    App *a;
    const char *run[RUNS];
    Log log[RUNS];
    size_t runs;
    char *out, *data; /* owned; out NULL: text on standard output */
    char *folder;     /* owned: the run's for pictures, made when there is something to write; NULL: it is another */
    char *panels;     /* owned: "loss rate" */
    size_t curves;
    const Subject *subject; /* NULL: logs of runs */
} Plot;

/* ---- what is asked for */

static bool add_run(Plot *p, const char *run, Error *e)
{
    if (p->runs == RUNS)
        return fail(e, "more than %d runs do not fit into one picture", RUNS) || app_misused(p->a);
    p->run[p->runs++] = run;
    return true;
}

static bool gather_runs(Plot *p, Error *e)
{
    const SharedOptions *o = p->a->options;
    const Options *options = p->a->command_line;
    bool fine = (!o->run || add_run(p, o->run, e)) && (!o->compare || add_run(p, o->compare, e));
    for (size_t i = 0; fine && i < options->argument_count; i++)
        fine = add_run(p, options->arguments[i], e);
    if (fine && !p->runs && !p->subject)
        return fail(e, "--run DIR is missing") || app_misused(p->a);
    for (size_t i = 0; fine && i < p->runs; i++) {
        Run *run = NULL;
        fine = run_open(&run, p->run[i], false, e);
        run_close(run);
    }
    return fine;
}

/* Text goes to the terminal where that is asked for, and where one watches without another display. */
static bool as_text(const SharedOptions *o)
{
    if (o->out)
        return strcmp(o->out, "-") == 0;
    return o->terminal || (o->watch && !getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"));
}

/* Where picture and data go: beside each other; without --out into the (first) run, or here where there is none. */
static bool choose_files(Plot *p, Error *e)
{
    const SharedOptions *o = p->a->options;
    const Picture asked = {
        .out = o->out && strcmp(o->out, "-") == 0 ? NULL : o->out, .size = o->size, .terminal = o->terminal};
    if (!picture_sound(&asked, e))
        return app_misused(p->a);
    char name[32];
    snprintf(name, sizeof name, "%s.png", p->subject ? p->subject->name : "loss");
    if (!asked.out && p->runs && !(p->folder = app_pictures(p->run[0], e)))
        return false;
    char *file = asked.out ? memory_string(asked.out) : path_join(p->folder ? p->folder : ".", name);
    bool fine = file || memory_error(e, "a path", 1, 64);
    p->data = fine ? path_between(file, "", ".tsv") : NULL;
    fine = fine && (p->data || memory_error(e, "a path", 1, strlen(file)));
    if (fine && strcmp(p->data, file) == 0)
        fine = fail(e, "--out %s: this ending is for the picture's data; choose another", file);
    if (as_text(o))
        memory_free(file);
    else
        p->out = file;
    return fine;
}

/* --what, its names between blanks, as the script wants them; all: what the first log has. */
static bool choose_panels(Plot *p, Error *e)
{
    static const char *const names[] = {"loss", "accuracy", "bleu", "f1", "perplexity", "rate", "norm", "speed"};
    const char *what = p->a->options->what;
    Buffer all = {0};
    curve_panels(&all, &p->log[0]);
    memory_free(p->panels);
    p->panels = strcmp(what, "all") == 0 ? memory_string(all.size ? all.text : "loss") : memory_string(what);
    bool fine = (p->panels && !all.failed) || memory_error(e, "the names of panels", 1, 64);
    buffer_free(&all);
    for (char *at = fine ? p->panels : ""; fine && (*at || at == p->panels);) {
        size_t length = strcspn(at, ", "), i = 0;
        while (i < sizeof names / sizeof *names && (strlen(names[i]) != length || strncmp(names[i], at, length)))
            i++;
        if (i == sizeof names / sizeof *names)
            return fail(
                       e,
                       "--what '%s': expected all, or some of loss,accuracy,bleu,f1,perplexity,rate,norm,speed; or one "
                       "of schedule, schedules, smoothing, lengths, coverage, positions, embeddings",
                       what) ||
                   app_misused(p->a);
        at += length;
        if (*at)
            *at++ = ' ';
    }
    return fine;
}

static bool none_has(const Plot *p, const char *panel, size_t length, Error *e)
{
    Buffer has = {0};
    curve_panels(&has, &p->log[0]);
    for (size_t i = 0; i < has.size; i++)
        if (has.text[i] == ' ')
            has.text[i] = ',';
    if (has.failed)
        memory_error(e, "the names of panels", 1, 64);
    else
        fail(e, "the log of %s has no %.*s, only %s: choose with --what", p->run[0], (int)length, panel,
             has.size ? has.text : "steps");
    buffer_free(&has);
    return false;
}

/* Each panel is in some log. (That of a loss may also show the validation part's alone.) */
static bool panels_are_there(const Plot *p, Error *e)
{
    for (const char *at = p->panels; *at; at += *at == ' ') {
        const size_t length = strcspn(at, " ");
        bool is_there = strncmp(at, "loss", length) == 0;
        for (size_t i = 0; !is_there && i < p->runs; i++)
            is_there = curve_has_panel(&p->log[i], at, length);
        if (!is_there)
            return none_has(p, at, length, e);
        at += length;
    }
    return true;
}

/* Each panel is in some log, or may come. */
static bool panels_may_come(const Plot *p, Error *e)
{
    for (const char *at = p->panels; *at; at += *at == ' ') {
        const size_t length = strcspn(at, " ");
        bool may_come = false;
        for (size_t i = 0; !may_come && i < p->runs; i++)
            may_come = curve_may_have_panel(&p->log[i], at, length);
        if (!may_come)
            return none_has(p, at, length, e);
        at += length;
    }
    return true;
}

/* ---- drawing */

static void forget(Plot *p)
{
    for (size_t i = 0; i < p->runs; i++)
        log_free(&p->log[i]);
}

/* Reads all logs. empty: one of them has no line yet. */
static bool read_logs(Plot *p, bool *empty, Error *e)
{
    *empty = false;
    for (size_t i = 0; i < p->runs; i++) {
        log_free(&p->log[i]);
        if (!log_read_run(&p->log[i], p->run[i], e))
            return false;
        if (strcmp(p->log[i].unit, p->log[0].unit) != 0 && p->log[i].count && p->log[0].count)
            return fail(e, "losses in %s (%s) and in %s (%s) cannot share one picture", p->log[0].unit, p->run[0],
                        p->log[i].unit, p->run[i]);
        if (!p->log[i].count && !*empty) {
            *empty = true;
            fail(e, "the run %s has no step in its log yet", p->run[i]);
        }
    }
    return true;
}

static bool gather_data(Buffer *b, const Plot *p, const Legend *legend, Error *e)
{
    bool fine = true;
    for (size_t i = 0; fine && i < legend->curves; i++) {
        const Log *members[RUNS];
        Curve curve = {legend->label[i], members, 0};
        for (size_t run = 0; run < p->runs; run++)
            if (legend->curve[run] == i)
                members[curve.count++] = &p->log[run];
        fine = curve_add(b, &curve, i == 0, e);
    }
    return fine;
}

static bool write_picture(const Plot *p, const Picture *picture, const Buffer *data, Error *e)
{
    return (!p->folder || folder_make(p->folder, e)) && app_draw(p->a, picture, data, e);
}

static bool draw(Plot *p, Error *e)
{
    static const char *const axes[] = {[OVER_STEP] = "step", [OVER_TOKENS] = "tokens", [OVER_TIME] = "time"};
    static const char *const logs[] = {
        [LOG_AXES_NONE] = "-", [LOG_AXES_X] = "x", [LOG_AXES_Y] = "y", [LOG_AXES_XY] = "xy"};
    const SharedOptions *o = p->a->options;
    Legend legend;
    Buffer data = {0};
    if (!choose_panels(p, e) || !panels_are_there(p, e) || !legend_make(&legend, p->run, p->runs, o->apart, e))
        return false;
    p->curves = legend.curves;
    const Picture picture = {.script = "loss",
                             .data = p->data,
                             .out = p->out,
                             .size = o->size,
                             .terminal = o->terminal,
                             .more = {p->panels, axes[o->over], logs[o->log]}};
    bool fine = gather_data(&data, p, &legend, e);
    if (fine && !p->out && o->watch && isatty(STDOUT_FILENO))
        fputs("\033[H\033[J", stdout); /* from the top of an empty window */
    fine = fine && write_picture(p, &picture, &data, e);
    buffer_free(&data);
    legend_free(&legend);
    return fine;
}

/* ---- for TensorBoard */

/* When a run began, as far as its log knows: when it was last written to, less the time of its steps. */
static double start_of(const char *run, const Log *log)
{
    char *path = path_join(run, "log.tsv");
    struct stat is;
    const double end = path && stat(path, &is) == 0 ? (double)is.st_mtime : 0;
    memory_free(path);
    return end - (log->count ? log->line[log->count - 1].seconds : 0);
}

/* RUN/events.out.tfevents.0.attend of each run: TensorBoard calls a run as its folder is called. */
static bool write_events(Plot *p, Error *e)
{
    bool empty, fine = read_logs(p, &empty, e) && !empty;
    for (size_t i = 0; fine && i < p->runs; i++) {
        Buffer b = {0};
        char *path = path_join(p->run[i], "events.out.tfevents.0.attend");
        events_add(&b, &p->log[i], start_of(p->run[i], &p->log[i]));
        fine = file_write_buffer(path, &b, e);
        if (fine)
            printf("%s\n", path);
        memory_free(path);
    }
    return fine;
}

/* ---- what is in no log */

/* What says how a run is trained, and nothing of a picture of the past. */
static bool check_options(const Plot *p, Error *e)
{
    const Options *o = p->a->command_line;
    for (size_t i = 0; !p->subject && i < o->count; i++) {
        const Option *row = o->states[i].row;
        const bool recipe = row->kind == OPTION_PRESET || row->kind == OPTION_CONFIG;
        if (o->states[i].source == FROM_COMMAND_LINE && (row->class != OPTION_HERE || recipe))
            return fail(e,
                        "--%s describes how or on what a run is trained: only --what schedule and others that need no "
                        "log use it",
                        row->name) ||
                   app_misused(p->a);
    }
    return true;
}

static bool draw_subject(Plot *p, Error *e)
{
    const SharedOptions *o = p->a->options;
    Drawing d = {.parts = 0};
    p->a->options->run = p->runs ? p->run[0] : NULL;
    bool fine = p->subject->make(p->a, &d, e);
    p->curves = d.parts;
    Picture picture = {
        .script = p->subject->script, .data = p->data, .out = p->out, .size = o->size, .terminal = o->terminal};
    memcpy(picture.more, d.more, sizeof picture.more);
    fine = fine && write_picture(p, &picture, &d.data, e);
    buffer_free(&d.data);
    return fine;
}

/* ---- watching */

static bool wait_a_little(void)
{
    clock_sleep(0.1);
    return !stop_requested();
}

/* Until there is a later step, no process trains the run any more, or the user closes the plot. */
static bool wait_for_more(Plot *p, bool *going, Error *e)
{
    const double start = clock_seconds();
    const size_t count = p->log[0].count;
    for (double asked = start; (*going = wait_a_little());) {
        if (clock_seconds() - asked < 2)
            continue;
        asked = clock_seconds();
        Log now;
        if (!log_read_run(&now, p->run[0], e))
            return false;
        bool more = now.count != count;
        log_free(&now);
        if (more || !(*going = run_busy(p->run[0])))
            break;
    }
    return true;
}

/* Whether the first run's log has numbers of all panels that it may ever have: those of evaluations come late. */
static bool has_panels(const Plot *p)
{
    bool all = true;
    for (const char *at = p->panels; all && *at; at += *at == ' ') {
        const size_t length = strcspn(at, " ");
        all = curve_has_panel(&p->log[0], at, length) || !curve_may_have_panel(&p->log[0], at, length);
        at += length;
    }
    return all;
}

/* Draws while the first run is trained, and once more when it is not. */
static bool watch(Plot *p, Error *e)
{
    const bool finished = !run_busy(p->run[0]);
    bool going = true, last = finished, empty;
    stop_catch();
    for (;;) {
        if (!read_logs(p, &empty, e) || (empty && last))
            return false;
        if (!choose_panels(p, e) || !panels_may_come(p, e))
            return false;
        if (!empty && (last || has_panels(p)) && !draw(p, e))
            return stop_requested();
        if (finished && !p->a->options->quiet)
            fprintf(stderr, "%s: the run %s is not training now, so there is nothing to wait for\n", p->a->kind->name,
                    p->run[0]);
        if (last || stop_requested())
            return true;
        if (!wait_for_more(p, &going, e))
            return false;
        last = !going;
    }
}

static bool once(Plot *p, Error *e)
{
    bool empty;
    return read_logs(p, &empty, e) && !empty && draw(p, e);
}

/* ---- the command */

static bool say(const Plot *p, Error *e)
{
    if (p->a->options->json) {
        Buffer b = {0};
        json_add_text(&b, "picture", p->out ? p->out : "");
        json_add_text(&b, "data", p->data);
        json_add_member(&b, "curves", (double)p->curves);
        return json_print_members(&b, e);
    }
    if (p->out)
        printf("%s (its data: %s)\n", p->out, p->data);
    return true;
}

bool app_plot(App *a, Error *e)
{
    Plot p = {.a = a, .subject = subject_find(a->options->what)};
    bool fine = check_options(&p, e) && gather_runs(&p, e);
    if (fine && p.subject && (p.runs > 1 || a->options->watch))
        fine = fail(e, "--what %s shows one run at most: leave out --compare and --watch", p.subject->name) ||
               app_misused(a);
    if (fine && a->options->plotted == PLOTTED_EVENTS) {
        fine = (!p.subject && !a->options->watch && !a->options->out && !a->options->json) ||
               fail(e,
                    "--format events writes the log of runs into them: leave out --out, --watch, --json and --what %s",
                    a->options->what) ||
               app_misused(a);
        fine = fine && write_events(&p, e);
        forget(&p);
        return fine;
    }
    fine = fine && choose_files(&p, e);
    if (fine && a->options->json && !p.out)
        fine = fail(e, "--json prints the picture's file name: give one with --out") || app_misused(a);
    fine = fine && (p.subject ? draw_subject(&p, e) : a->options->watch ? watch(&p, e) : once(&p, e)) && say(&p, e);
    forget(&p);
    memory_free(p.out);
    memory_free(p.data);
    memory_free(p.folder);
    memory_free(p.panels);
    return fine;
}
