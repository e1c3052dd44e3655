/* sweep.tsv: a line for each run, made from the runs themselves, or taken from a table of such lines (--known). */
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

/* The fields that the sweep's file determines. */
static void describe(Buffer *b, const Sweep *s, const PlanRun *run)
{
    buffer_print(b, "%s", run->name);
    for (size_t v = 0; v < s->plan.varied_count; v++) {
        const char *value = plan_value(run, s->plan.varied[v].name);
        buffer_print(b, "\t");
        picture_text(b, value ? value : "", value ? strlen(value) : 0, false);
    }
    buffer_print(b, "\t%s\t", plan_value(run, "seed"));
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
    describe(b, s, run);
    buffer_print(b, "%s", states[item->state]);
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

/* The names of the columns after those of options. */
static void add_rest_of_header(Buffer *b)
{
    buffer_print(b, "seed\tstate\tsteps\ttokens\tFLOP\tparameters");
    for (size_t f = 0; f < RESULT_FIGURES; f++)
        buffer_print(b, "\tbest %s\tlast %s", result_figures[f].name, result_figures[f].name);
    buffer_print(b, "\tlast training loss\tseconds");
}

static void add_header(Buffer *b, const Sweep *s)
{
    buffer_print(b, "run\t");
    for (size_t v = 0; v < s->plan.varied_count; v++)
        buffer_print(b, "%s\t", s->plan.varied[v].name);
    add_rest_of_header(b);
    buffer_print(b, "\n");
}

bool sweep_write_table(const Sweep *s, Error *e)
{
    Buffer b = {0};
    char *path = sweep_path(s, "", "sweep.tsv", "");
    add_header(&b, s);
    for (size_t i = 0; i < s->plan.count; i++)
        add_kept_row(&b, s, i);
    bool fine = sweep_lock(s, e);
    if (fine) {
        fine = file_write_buffer(path, &b, e);
        sweep_unlock(s);
    }
    buffer_free(&b);
    memory_free(path);
    return fine;
}

/* ---- --known: a table of this sweep that was kept, of runs that are not here */

/* Whether these fields, after a run's description, can be of its recipe: others differ in parameters, or in FLOP a step. */
static bool fits(const Cost *c, const char *fields, size_t size)
{
    double number[4] = {0}; /* steps, tokens, FLOP, parameters */
    size_t at = 0, i = 0;
    for (Field f; i < 4 && field_next(&f, fields, size, &at) && field_number(&number[i], &f); i++)
        ;
    return i == 4 && number[0] <= c->steps && number[3] == c->parameters &&
           fabs(number[2] / number[0] * c->steps / c->flop - 1) < 1e-6;
}

/* Takes a line if it describes run i, which is then done if it says so. */
static bool take_line(Sweep *s, size_t i, const char *line, size_t size, bool *fine, Error *e)
{
    static const char done[] = "done\t";
    const PlanRun *run = &s->plan.run[i];
    Item *item = &s->item[i];
    Buffer start = {0};
    describe(&start, s, run);
    const size_t length = start.size, over = length + sizeof done - 1;
    const bool mine = !start.failed && size > length && memcmp(line, start.text, length) == 0;
    if (start.failed)
        *fine = memory_error(e, "a line", size, 1);
    buffer_free(&start);
    if (!mine || size < over || memcmp(line + length, done, over - length) != 0)
        return mine;
    if (!fits(&s->cost[run->group], line + over, size - over))
        *fine = fail(e, "its run %s has other steps, FLOP or parameters than %s says", run->name, s->file);
    else if (item->state == WAITING && !run_is_there(item->run)) {
        item->state = DONE;
        buffer_add(&item->row, line, size);
    }
    return mine;
}

/* A table whose sweep may have varied fewer options, in another order. */
typedef struct Kept {
    size_t options; /* the table's */
    size_t *place;  /* [varied] the field of each of our options; 0, where the run's name is: the table lacks it */
    Field *field;   /* [varied + 1] of a line: its run's name, its options */
} Kept;

/* Fields of a line that are a name and options; returns what follows them. */
static const char *split(const Kept *t, const char *line, size_t size)
{
    size_t at = 0;
    for (size_t f = 0; f <= t->options; f++)
        if (!field_next(&t->field[f], line, size, &at))
            t->field[f] = (Field){"", 0};
    return line + (at < size ? at : size);
}

static bool kept_open(Kept *t, const Sweep *s, const char *line, size_t size, Error *e)
{
    const size_t varied = s->plan.varied_count;
    Buffer rest = {0};
    add_rest_of_header(&rest);
    t->place = memory_get(varied + 1, sizeof *t->place);
    t->field = memory_get(varied + 1, sizeof *t->field);
    if (rest.failed || !t->place || !t->field) {
        buffer_free(&rest);
        return memory_error(e, "a table's columns", varied + 1, sizeof *t->field);
    }
    size_t found = 0;
    const bool ends = size > rest.size && memcmp(line + size - rest.size, rest.text, rest.size) == 0;
    for (size_t i = 0; ends && i + rest.size < size; i++)
        t->options += line[i] == '\t';
    t->options -= t->options > 0; /* the tab after the run's name, or after the last option */
    const bool fits_ours = ends && t->options <= varied;
    if (fits_ours)
        split(t, line, size);
    for (size_t v = 0; fits_ours && v < varied; v++)
        for (size_t f = 1; f <= t->options && !t->place[v]; f++)
            if (strlen(s->plan.varied[v].name) == t->field[f].size &&
                memcmp(s->plan.varied[v].name, t->field[f].text, t->field[f].size) == 0)
                t->place[v] = f, found++;
    const bool fine = fits_ours && found == t->options && t->field[0].size == 3 && memcmp(line, "run", 3) == 0;
    buffer_free(&rest);
    return fine || fail(e, "its first line is not that of a table of this sweep");
}

/* A line of the table, in our columns. Where the table has none, no row had a value of its own. */
static bool rewrite(Buffer *b, const Kept *t, const Plan *plan, const char *line, size_t size, Error *e)
{
    const char *rest = split(t, line, size);
    b->size = 0;
    buffer_add(b, t->field[0].text, t->field[0].size);
    for (size_t v = 0; v < plan->varied_count; v++) {
        const Field usual = {plan->varied[v].usual, plan->varied[v].usual ? strlen(plan->varied[v].usual) : 0},
                    *f = t->place[v] ? &t->field[t->place[v]] : &usual;
        buffer_print(b, "\t");
        buffer_add(b, f->text, f->size);
    }
    buffer_print(b, "\t");
    buffer_add(b, rest, (size_t)(line + size - rest));
    buffer_print(b, "\n");
    return !b->failed || memory_error(e, "a line", size, 1);
}

static bool take_lines(Sweep *s, const char *text, size_t size, Error *e)
{
    Kept t = {0};
    Buffer line = {0};
    size_t at = strcspn(text, "\n");
    bool fine = kept_open(&t, s, text, at, e);
    for (size_t length; fine && at < size && text[++at]; at += length) {
        size_t i = 0;
        length = strcspn(text + at, "\n");
        fine = rewrite(&line, &t, &s->plan, text + at, length, e);
        while (fine && i < s->plan.count && !take_line(s, i, line.text, line.size, &fine, e))
            i++;
        if (fine && i == s->plan.count)
            fine = fail(e, "%s has no such run: %.*s", s->file, (int)strcspn(text + at, "\t\n"), text + at);
    }
    memory_free(t.place);
    memory_free(t.field);
    buffer_free(&line);
    return fine;
}

bool sweep_read_known(Sweep *s, const char *path, Error *e)
{
    char *text;
    size_t size;
    Error why;
    if (!file_read(path, &text, &size, e))
        return false;
    const bool fine = take_lines(s, text, size, &why);
    memory_free(text);
    return fine || fail(e, "--known %s: %s", path, why.text);
}
