/* See logs.h. */
#include "core/plot/logs.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP, TARGETS, SECONDS, PLAIN_LOSS, FIELDS, MOST = 32 };

/* What a column is called; a name that ends in " (" continues with a unit. Those of values come after FIELDS. */
static const char *const names[FIELDS + LOG_COLUMNS] = {
    [STEP] = "step",
    [TARGETS] = "targets",
    [SECONDS] = "seconds",
    [PLAIN_LOSS] = "loss without smoothing (",
    [FIELDS + LOG_LOSS] = "loss (",
    [FIELDS + LOG_NORM] = "gradient norm",
    [FIELDS + LOG_RATE] = "learning rate",
    [FIELDS + LOG_SPEED] = "tokens/s",
    [FIELDS + LOG_VALID] = "validation (",
    [FIELDS + LOG_ACCURACY] = "validation accuracy",
    [FIELDS + LOG_TOKEN] = "validation perplexity of a token",
    [FIELDS + LOG_WORD] = "validation perplexity of a word",
    [FIELDS + LOG_BLEU] = "validation BLEU",
    [FIELDS + LOG_F1] = "validation F1",
};

/* Which name each column of a log has; -1: one of another kind. */
typedef struct Columns {
    int name[MOST];
    size_t count;
} Columns;

bool field_next(Field *f, const char *line, size_t size, size_t *at)
{
    if (*at > size)
        return false;
    const char *tab = memchr(line + *at, '\t', size - *at);
    *f = (Field){line + *at, tab ? (size_t)(tab - line) - *at : size - *at};
    *at += f->size + 1;
    return true;
}

bool field_number(double *value, const Field *f)
{
    char copy[64], *end;
    *value = NAN;
    if (!f->size)
        return true;
    snprintf(copy, sizeof copy, "%.*s", (int)f->size, f->text);
    double read = strtod(copy, &end);
    if (f->size >= sizeof copy || end == copy || end != copy + f->size) /* not after it: a letter, or a byte of 0 */
        return false;
    if (isfinite(read))
        *value = read;
    return true;
}

static int name_of(const char *text, size_t size)
{
    for (int i = 0; i < FIELDS + LOG_COLUMNS; i++) {
        size_t length = strlen(names[i]);
        bool begins = size >= length && strncmp(text, names[i], length) == 0;
        bool unit = begins && size > length + 1 && strncmp(text + length, " (", 2) == 0;
        if (begins && (size == length || unit || names[i][length - 1] == '('))
            return i;
    }
    return -1;
}

static bool read_header(Columns *c, Log *log, const char *line, size_t size, const char *path, Error *e)
{
    bool step = false;
    size_t at = 0;
    *c = (Columns){.count = 0};
    for (Field f; c->count < MOST && field_next(&f, line, size, &at);) {
        const int name = name_of(f.text, f.size);
        if (name == FIELDS + LOG_LOSS && f.size > 7)
            snprintf(log->unit, sizeof log->unit, "%.*s", (int)f.size - 7, f.text + 6);
        step = step || name == STEP;
        if (name >= FIELDS)
            log->titles[name - FIELDS] = log->titled = true;
        c->name[c->count++] = name;
    }
    return step || fail(e, "%s is not the log of a run: its first line names no column 'step'", path);
}

/* Puts a line's fields where they belong; tokens and seconds are those of this step still. */
static bool read_line(LogLine *l, const Columns *c, const char *line, size_t size)
{
    double plain = NAN;
    size_t column = 0, at = 0;
    *l = (LogLine){.step = NAN, .tokens = NAN, .seconds = NAN};
    for (int i = 0; i < LOG_COLUMNS; i++)
        l->value[i] = NAN;
    for (Field f; column < c->count && field_next(&f, line, size, &at); column++) {
        double value;
        int name = c->name[column];
        if (name >= 0 && !field_number(&value, &f))
            return false;
        if (name >= FIELDS)
            l->value[name - FIELDS] = value;
        else if (name >= 0)
            *(name == STEP ? &l->step : name == TARGETS ? &l->tokens : name == SECONDS ? &l->seconds : &plain) = value;
    }
    if (isfinite(plain))
        l->value[LOG_LOSS] = plain;
    return column == c->count && l->step >= 0 && l->step < 0x1p63;
}

static bool add(Log *log, const LogLine *line, size_t *capacity, Error *e)
{
    while (log->count && log->line[log->count - 1].step >= line->step)
        log->count--;
    if (!memory_grow(&log->line, capacity, log->count + 1, sizeof *log->line, "a log", e))
        return false;
    log->line[log->count++] = *line;
    return true;
}

static void sum_up(Log *log)
{
    double tokens = 0, seconds = 0;
    for (LogLine *l = log->line; l < log->line + log->count; l++) {
        tokens += isfinite(l->tokens) ? l->tokens : 0;
        seconds += isfinite(l->seconds) ? l->seconds : 0;
        l->tokens = tokens;
        l->seconds = seconds;
    }
}

typedef struct Reading {
    Log *log;
    size_t capacity;
    Columns columns;
} Reading;

static bool take_line(void *context, const FileLine *line, Error *e)
{
    Reading *r = context;
    LogLine l;
    if (!line->ended) /* it is being written */
        return true;
    if (line->number == 1) {
        run_log_renew(line->text);
        return read_header(&r->columns, r->log, line->text, line->size, line->path, e);
    }
    if (!read_line(&l, &r->columns, line->text, line->size))
        return fail(e, "%s, line %zu does not match the first line: expected %zu numbers separated by tabs", line->path,
                    line->number, r->columns.count);
    return add(r->log, &l, &r->capacity, e);
}

bool log_read(Log *log, const char *path, Error *e)
{
    *log = (Log){0};
    bool done = file_lines(path, take_line, &(Reading){.log = log}, e);
    if (done)
        sum_up(log);
    else
        log_free(log);
    return done;
}

bool log_read_run(Log *log, const char *run, Error *e)
{
    char *path = path_join(run, "log.tsv");
    bool fine = path ? log_read(log, path, e) : memory_error(e, "a path", 1, strlen(run));
    memory_free(path);
    return fine;
}

void log_free(Log *log)
{
    memory_free(log->line);
    *log = (Log){0};
}
