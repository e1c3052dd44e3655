/* See results.h. */
#include "core/research/results.h"

#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const ResultFigure result_figures[RESULT_FIGURES] = {{"validation", LOG_VALID},
                                                     {"accuracy", LOG_ACCURACY},
                                                     {"perplexity", LOG_WORD},
                                                     {"BLEU", LOG_BLEU},
                                                     {"F1", LOG_F1}};

/* ---- columns: run, the options that vary, seed, state, and what the run came to */

typedef enum What { NOTHING, RUN, OPTION, SEED, STATE, STEPS, TOKENS, SECONDS, VALUE } What;

typedef struct Column {
    What what;
    LogColumn value;
    bool best, last; /* of which of a run's two lines */
} Column;

enum { MOST = 256 };

typedef struct Columns {
    Column column[MOST];
    size_t count;
    bool seed, option;
} Columns;

static bool is(const Field *f, const char *first, const char *second)
{
    const size_t length = strlen(first);
    return f->size == length + strlen(second) && memcmp(f->text, first, length) == 0 &&
           memcmp(f->text + length, second, f->size - length) == 0;
}

static Column column_of(const Field *f)
{
    static const struct {
        const char *name;
        What what;
    } plain[] = {{"state", STATE}, {"steps", STEPS}, {"tokens", TOKENS}, {"seconds", SECONDS}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (is(f, plain[i].name, ""))
            return (Column){.what = plain[i].what};
    for (size_t i = 0; i < RESULT_FIGURES; i++) {
        const bool best = is(f, "best ", result_figures[i].name);
        if (best || is(f, "last ", result_figures[i].name))
            return (Column){VALUE, result_figures[i].column, best, !best};
    }
    return is(f, "last ", "training loss") ? (Column){VALUE, LOG_LOSS, true, true} : (Column){.what = NOTHING};
}

/* option: "": none */
static bool read_header(Columns *c, const char *option, const char *line, size_t size, const char *path, Error *e)
{
    size_t at = 0;
    *c = (Columns){.count = 0};
    for (Field f; c->count < MOST && field_next(&f, line, size, &at);) {
        if (is(&f, "seed", "") && !c->seed) {
            c->column[c->count] = (Column){.what = SEED};
            c->seed = true;
        } else if (c->seed)
            c->column[c->count] = column_of(&f);
        else if (c->count && !c->option && is(&f, option, "")) {
            c->column[c->count] = (Column){.what = OPTION};
            c->option = true;
        } else /* an option may be called like a figure */
            c->column[c->count] = (Column){.what = c->count == 0 && is(&f, "run", "") ? RUN : NOTHING};
        c->count++;
    }
    if (!c->seed || c->column[0].what != RUN)
        return fail(e, "%s is not the table of a sweep: its first line does not begin with 'run' and name a 'seed'",
                    path);
    return c->option || !*option || fail(e, "%s has no column '%s' before 'seed'", path, option);
}

/* ---- runs */

static void set(Result *r, const Column *c, double value)
{
    for (int i = 0; i < 2; i++) {
        LogLine *l = &r->log.line[i];
        if (c->what != VALUE)
            *(c->what == STEPS ? &l->step : c->what == TOKENS ? &l->tokens : &l->seconds) = value;
        else if (i ? c->last : c->best)
            l->value[c->value] = value;
    }
}

static bool read_field(Result *r, const Column *c, const Field *f)
{
    double value;
    if (c->what == STATE)
        r->log.count = is(f, "done", "") ? 2 : 0;
    else if (c->what == OPTION)
        r->setting = field_number(&value, f) ? value : NAN;
    else if (c->what != NOTHING && c->what != RUN) {
        if (!field_number(&value, f) || (c->what == SEED && !(value >= 0 && value <= UINT32_MAX)))
            return false;
        if (c->what == SEED)
            r->seed = (int64_t)value;
        else
            set(r, c, value);
    }
    return true;
}

/* The first field, without the seed at its end: "pre-s1" is of "pre"; where only seeds vary, "s1" is of "". */
static bool name_group(Result *r, const char *line, size_t size, Error *e)
{
    char seed[32];
    size_t at = 0;
    Field run;
    field_next(&run, line, size, &at);
    const size_t length = (size_t)snprintf(seed, sizeof seed, "-s%lld", (long long)r->seed);
    if (run.size > length && memcmp(run.text + run.size - length, seed, length) == 0)
        run.size -= length;
    else if (run.size == length - 1 && memcmp(run.text, seed + 1, run.size) == 0)
        run.size = 0;
    r->group = memory_get(run.size + 1, 1);
    if (!r->group)
        return memory_error(e, "the name of a run", run.size, 1);
    memcpy(r->group, run.text, run.size);
    r->group[run.size] = 0;
    return true;
}

/* Whether a name goes on with this text, of which it has some characters as _; sets *after to what follows. */
static bool goes_on(const char *name, const char *text, size_t size, const char **after)
{
    for (size_t i = 0; i < size; i++)
        if (!name[i] || (name[i] != text[i] && name[i] != '_'))
            return false;
    *after = name + size;
    return true;
}

/* The group's name without the part, between hyphens, that is the option with its value: "pre" of "pre-lr1e-2". */
static bool name_row(Result *r, const char *option, const Field *value, Error *e)
{
    const char *after;
    r->row = memory_string(r->group);
    if (!r->row)
        return memory_error(e, "the name of a row", strlen(r->group), 1);
    for (const char *at = r->group; *at; at++)
        if ((at == r->group || at[-1] == '-') && goes_on(at, option, strlen(option), &after) &&
            goes_on(after, value->text, value->size, &after) && (!*after || *after == '-')) {
            char *to = r->row + (at - r->group);
            if (to > r->row)
                to--;
            else if (*after)
                after++;
            memcpy(to, after, strlen(after) + 1);
            break;
        }
    return true;
}

static bool read_fields(Result *r, const Columns *c, const char *option, const char *line, size_t size, Error *e)
{
    size_t at = 0, column = 0;
    Field value = {0};
    for (Field f; column < c->count && field_next(&f, line, size, &at); column++) {
        if (!read_field(r, &c->column[column], &f))
            return fail(e, "field %zu is not a number", column + 1);
        if (c->column[column].what == OPTION)
            value = f;
    }
    return column == c->count ? name_group(r, line, size, e) && (!option || name_row(r, option, &value, e))
                              : fail(e, "expected %zu fields, as in the first line", c->count);
}

static bool add_line(Results *all, const Columns *c, const char *line, size_t size, Error *e)
{
    if (!memory_grow(&all->run, &all->capacity, all->count + 1, sizeof *all->run, "runs", e))
        return false;
    Result *r = &all->run[all->count];
    *r = (Result){.setting = NAN, .log.line = memory_get(2, sizeof *r->log.line)};
    if (!r->log.line)
        return memory_error(e, "a run's figures", 2, sizeof *r->log.line);
    for (int i = 0; i < 2; i++) {
        r->log.line[i] = (LogLine){.step = NAN, .tokens = NAN, .seconds = NAN};
        for (int j = 0; j < LOG_COLUMNS; j++)
            r->log.line[i].value[j] = NAN;
    }
    all->count++;
    if (!read_fields(r, c, all->option, line, size, e))
        return false;
    for (const Result *other = all->run; other < r; other++)
        if (other->seed == r->seed && strcmp(other->group, r->group) == 0)
            return fail(e, "the run %s, seed %lld, appears twice", r->group, (long long)r->seed);
    return true;
}

typedef struct Reading {
    Results *results;
    Columns columns;
    bool header;
} Reading;

static bool take_line(void *context, const FileLine *line, Error *e)
{
    Reading *r = context;
    Error why;
    if (!line->ended)
        return true;
    if (line->number == 1)
        return r->header = read_header(&r->columns, r->results->option ? r->results->option : "", line->text,
                                       line->size, line->path, e);
    return add_line(r->results, &r->columns, line->text, line->size, &why) ||
           fail(e, "%s, line %zu: %s", line->path, line->number, why.text);
}

/* ---- the unit of losses, which a table does not say, but the log of a run beside it does */

/* The log of a run beside the table, whose name is the reverse of name_group. */
static void log_beside(Buffer *b, const Result *r, const char *table)
{
    buffer_print(b, "%.*s%s%ss%lld/log.tsv", (int)(path_name(table) - table), table, r->group, *r->group ? "-" : "",
                 (long long)r->seed);
}

/* Where not all tables are beside their runs, nothing is known of the unit. */
static bool find_unit(Results *r, size_t first, const char *path, Error *e)
{
    Buffer beside = {0};
    Log log = {0};
    Error ignored;
    if (first == r->count)
        return true;
    log_beside(&beside, &r->run[first], path);
    if (beside.failed)
        return memory_error(e, "the path of a run", strlen(path), 1);
    if (!file_exists(beside.text) || !log_read(&log, beside.text, &ignored))
        log = (Log){0};
    buffer_free(&beside);
    const bool known = log.unit[0] && (!first || r->run[first - 1].log.unit[0]);
    for (size_t i = known ? first : 0; i < r->count; i++)
        snprintf(r->run[i].log.unit, sizeof log.unit, "%s", known ? log.unit : "");
    log_free(&log);
    return true;
}

bool results_add(Results *r, const char *path, Error *e)
{
    Reading reading = {.results = r};
    const size_t first = r->count;
    return file_lines(path, take_line, &reading, e) &&
           (reading.header || fail(e, "%s is not the table of a sweep: it has no line", path)) &&
           find_unit(r, first, path, e);
}

void results_free(Results *r)
{
    for (size_t i = 0; i < r->count; i++) {
        memory_free(r->run[i].group);
        memory_free(r->run[i].row);
        log_free(&r->run[i].log);
    }
    memory_free(r->run);
    *r = (Results){0};
}
