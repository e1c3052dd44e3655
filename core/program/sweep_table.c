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
        const char *value = plan_value(run, s->plan.varied[v]);
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

static void add_header(Buffer *b, const Sweep *s)
{
    buffer_print(b, "run");
    for (size_t v = 0; v < s->plan.varied_count; v++)
        buffer_print(b, "\t%s", s->plan.varied[v]);
    buffer_print(b, "\tseed\tstate\tsteps\ttokens\tFLOP\tparameters");
    for (size_t f = 0; f < RESULT_FIGURES; f++)
        buffer_print(b, "\tbest %s\tlast %s", result_figures[f].name, result_figures[f].name);
    buffer_print(b, "\tlast training loss\tseconds\n");
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

/* Splits a line; returns how many fields it has, of which the first `most` are kept. */
static size_t split(Field *fields, size_t most, const char *line, size_t size)
{
    size_t count = 0, at = 0;
    for (Field f; field_next(&f, line, size, &at); count++)
        if (count < most)
            fields[count] = f;
    return count;
}

/* Where a table with this header has each of our columns; `count`: nowhere, which may be true of options alone. */
static bool find_columns(size_t *place, size_t count, size_t options, const Field *ours, const Field *theirs,
                         size_t all)
{
    size_t found = 0;
    for (size_t c = 0; c < count; c++) {
        place[c] = count;
        for (size_t t = 0; t < all && place[c] == count; t++)
            if (ours[c].size == theirs[t].size && memcmp(ours[c].text, theirs[t].text, ours[c].size) == 0)
                place[c] = t;
        found += place[c] < count;
        if (place[c] == count && (c == 0 || c > options))
            return false;
    }
    return found == all;
}

typedef struct Table {
    size_t count, all; /* columns: ours, the table's */
    size_t *place;
    Field *ours, *theirs;
} Table;

static bool table_open(Table *t, const Sweep *s, const Buffer *header, const char *line, size_t size, Error *e)
{
    t->count = split(NULL, 0, header->text, header->size - 1);
    t->place = memory_get(t->count, sizeof *t->place);
    t->ours = memory_get(t->count, sizeof *t->ours);
    t->theirs = memory_get(t->count, sizeof *t->theirs);
    if (!t->place || !t->ours || !t->theirs)
        return memory_error(e, "a table's columns", t->count, sizeof(Field));
    split(t->ours, t->count, header->text, header->size - 1);
    t->all = split(t->theirs, t->count, line, size);
    return (t->all <= t->count && find_columns(t->place, t->count, s->plan.varied_count, t->ours, t->theirs, t->all)) ||
           fail(e, "its first line is not that of a table of this sweep");
}

static void table_close(Table *t)
{
    memory_free(t->place);
    memory_free(t->ours);
    memory_free(t->theirs);
}

/* A line of the table, in our columns. */
static bool rewrite(Buffer *b, const Table *t, const char *line, size_t size, Error *e)
{
    b->size = 0;
    if (split(t->theirs, t->count, line, size) != t->all)
        return fail(e, "expected %zu fields, as in the first line, not: %.*s", t->all, (int)strcspn(line, "\t\n"),
                    line);
    for (size_t c = 0; c < t->count; c++) {
        const Field *f = t->place[c] < t->count ? &t->theirs[t->place[c]] : &(Field){"", 0};
        buffer_add(b, f->text, f->size);
        buffer_print(b, c + 1 < t->count ? "\t" : "\n");
    }
    return !b->failed || memory_error(e, "a line", size, 1);
}

/* The sweep may have grown since, by rows and by options that they vary. */
static bool take_lines(Sweep *s, const char *text, size_t size, Error *e)
{
    Table t = {0};
    Buffer header = {0}, line = {0};
    add_header(&header, s);
    size_t at = strcspn(text, "\n");
    bool fine = header.failed ? memory_error(e, "a table", 1, 64) : table_open(&t, s, &header, text, at, e);
    for (size_t length; fine && at < size && text[++at]; at += length) {
        size_t i = 0;
        length = strcspn(text + at, "\n");
        fine = rewrite(&line, &t, text + at, length, e);
        while (fine && i < s->plan.count && !take_line(s, i, line.text, line.size, &fine, e))
            i++;
        if (fine && i == s->plan.count)
            fine = fail(e, "%s has no such run: %.*s", s->file, (int)strcspn(text + at, "\t\n"), text + at);
    }
    table_close(&t);
    buffer_free(&header);
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
