/* See plan.h. */
#include "core/research/plan.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/utf8.h"
#include "core/cli/config.h"
#include "core/cli/words.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 10000, MOST_TOGETHER = 8, LONGEST = 200 /* a folder's name */ };

/* One line: options that change together, and the values that they take. */
typedef struct Axis {
    const char *name[MOST_TOGETHER];
    size_t width;
    const char **value; /* [count, width] */
    size_t count, capacity;
    bool drawn;
    double low, high;
    size_t number; /* of the line */
} Axis;

typedef struct Row {
    const char *name; /* NULL: what is above all rows */
    Axis *axis;
    size_t count, capacity;
} Row;

typedef struct Reader {
    Plan *plan;
    const char *path;
    Row *row; /* [count]; the first is what is above all rows */
    size_t count, capacity;
} Reader;

/* Foreign text in a message. */
#define SHOWN(foreign) quoted(foreign, strlen(foreign)).text

/* ---- lines */

/* The first sign; one that numbers and paths may contain, + or ~, counts only between blanks or ends. NULL: none. */
static char *sign_in(char *text, char sign)
{
    for (char *at = text; (at = strchr(at, sign)); at++)
        if (sign == '|' ||
            ((at == text || at[-1] == ' ' || at[-1] == '\t') && (!at[1] || at[1] == ' ' || at[1] == '\t')))
            return at;
    return NULL;
}

/* Cuts off what stands before the sign, and steps past it; NULL: nothing is left. */
static char *next_part(char **rest, char sign)
{
    char *part = *rest;
    if (!part)
        return NULL;
    char *end = sign_in(part, sign);
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = 0;
    return config_trim(part);
}

static bool reads_names(Axis *a, char *names, Error *e)
{
    for (char *name; (name = next_part(&names, '+'));) {
        if (!*name)
            return fail(e, "a name is missing before '=' or beside '+'");
        if (a->width == MOST_TOGETHER)
            return fail(e, "more than %d options together", MOST_TOGETHER);
        a->name[a->width++] = name;
    }
    return true;
}

/* "1e-4 ~ 1e-2" */
static bool reads_range(Axis *a, char *values, Error *e)
{
    char *rest = values, *end_of_low, *end_of_high;
    const char *low = next_part(&rest, '~'), *high = config_trim(rest);
    a->low = strtod(low, &end_of_low);
    a->high = strtod(high, &end_of_high);
    a->drawn = a->width == 1 && *low && *high && !*end_of_low && !*end_of_high && a->low > 0 && a->high > a->low &&
               isfinite(a->high);
    return a->drawn || fail(e, "'%s ~ %s': expected two numbers above 0, the smaller one first, for one option",
                            SHOWN(low), SHOWN(high));
}

static bool reads_values(Axis *a, char *values, Error *e)
{
    if (sign_in(values, '~'))
        return reads_range(a, values, e);
    for (char *value; (value = next_part(&values, '|'));) {
        size_t found = 0;
        if (!memory_grow(&a->value, &a->capacity, (a->count + 1) * a->width, sizeof *a->value, "values of a sweep", e))
            return false;
        for (char *one; (one = a->width > 1 ? next_part(&value, '+') : found ? NULL : value); found++) {
            if (!*one)
                return fail(e, "a value is missing");
            if (found < a->width)
                a->value[a->count * a->width + found] = one;
        }
        if (found != a->width)
            return fail(e, "%zu options change together, and here they have %zu value%s", a->width, found,
                        found == 1 ? "" : "s");
        a->count++;
    }
    return true;
}

static Axis *axis_of(const Row *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->axis[i].width; k++)
            if (!strcmp(r->axis[i].name[k], name))
                return &r->axis[i];
    return NULL;
}

static bool is_reserved(const char *name)
{
    static const char *const names[] = {"run", "resume", "config", "json", "quiet", "dry-run"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static bool add_axis(Row *r, char *line, size_t number, Error *e)
{
    char *equals = strchr(line, '=');
    Axis a = {.number = number};
    if (!equals)
        return fail(e, "expected `name = value`, or [a row]");
    *equals = 0;
    if (!reads_names(&a, line, e))
        return false;
    for (size_t i = 0; i < a.width; i++) {
        if (!strcmp(a.name[i], "seed"))
            return fail(e, "the number of seeds is `seeds`, not `seed`: seeds = 3, or seeds = 1 | 7");
        if (is_reserved(a.name[i]))
            return fail(e, "%s is set by the sweep itself", SHOWN(a.name[i]));
        if (axis_of(r, a.name[i]))
            return fail(e, "%s appears twice", SHOWN(a.name[i]));
        for (size_t k = 0; k < i; k++)
            if (!strcmp(a.name[i], a.name[k]))
                return fail(e, "%s appears twice", SHOWN(a.name[i]));
    }
    bool fine = reads_values(&a, config_trim(equals + 1), e) &&
                memory_grow(&r->axis, &r->capacity, r->count + 1, sizeof *r->axis, "lines of a sweep", e);
    if (fine)
        r->axis[r->count++] = a;
    else
        memory_free(a.value);
    return fine;
}

static bool add_row(Reader *r, const char *name, Error *e)
{
    for (size_t i = 1; i < r->count; i++)
        if (!strcmp(r->row[i].name, name))
            return fail(e, "a second row [%s]", SHOWN(name));
    if (!memory_grow(&r->row, &r->capacity, r->count + 1, sizeof *r->row, "rows of a sweep", e))
        return false;
    r->row[r->count++] = (Row){.name = name};
    return true;
}

static bool read_line(Reader *r, char *line, size_t number, Error *e)
{
    config_cut_comment(line);
    line = config_trim(line);
    size_t size = strlen(line);
    if (!size)
        return true;
    if (*line != '[')
        return add_axis(&r->row[r->count - 1], line, number, e);
    if (line[size - 1] != ']')
        return fail(e, "a row's name ends in ]");
    line[size - 1] = 0;
    line = config_trim(line + 1);
    return (*line || fail(e, "a row without a name")) && add_row(r, line, e);
}

static bool read_lines(Reader *r, char *text, Error *e)
{
    if (!add_row(r, NULL, e))
        return false;
    for (size_t number = 1; text; number++) {
        char *end = strchr(text, '\n');
        Error why;
        if (end)
            *end = 0;
        if (!read_line(r, text, number, &why))
            return fail(e, "%s:%zu: %s", r->path, number, why.text);
        text = end ? end + 1 : NULL;
    }
    return true;
}

/* ---- runs */

/* A row with what it takes over from above: all lines that name none of its own options. */
typedef struct Merged {
    const Axis **axis;
    size_t count, capacity;
    const Axis *seeds, *draws;
} Merged;

static bool take_axis(Merged *m, const Axis *a, Error *e)
{
    const bool one = a->width == 1;
    if (one && !strcmp(a->name[0], "seeds"))
        m->seeds = a;
    else if (one && !strcmp(a->name[0], "draws"))
        m->draws = a;
    else if (memory_grow(&m->axis, &m->capacity, m->count + 1, sizeof *m->axis, "lines of a sweep", e))
        m->axis[m->count++] = a;
    else
        return false;
    return true;
}

static bool merge(Merged *m, const Row *above, const Row *row, Error *e)
{
    for (size_t i = 0; i < above->count; i++) {
        const Axis *a = &above->axis[i];
        size_t replaced = 0;
        for (size_t k = 0; k < a->width && row != above; k++)
            replaced += axis_of(row, a->name[k]) ? 1 : 0;
        if (replaced && replaced < a->width)
            return fail(e, "[%s] changes some of the options that change together in line %zu: it must name them all",
                        SHOWN(row->name), a->number);
        if (!replaced && !take_axis(m, a, e))
            return false;
    }
    for (size_t i = 0; i < row->count && row != above; i++)
        if (!take_axis(m, &row->axis[i], e))
            return false;
    return true;
}

/* A whole number above 0. */
static bool count_of(size_t *count, const char *text, size_t most)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long long value = strtoull(text, &end, 10);
    *count = (size_t)value;
    return !*end && value > 0 && value <= most;
}

/* Adds to a folder's name what a file system and a shell take as it is. */
static void add_plain(Buffer *b, const char *text)
{
    for (; *text; text++) {
        const bool plain = (*text >= '0' && *text <= '9') || ((*text | 32) >= 'a' && (*text | 32) <= 'z') ||
                           (*text && strchr(".,+-", *text));
        buffer_print(b, "%c", plain ? *text : '_');
    }
}

static const char *keep(Plan *p, Buffer *b, Error *e)
{
    char *copy = b->failed ? NULL : memory_string(b->text);
    buffer_free(b);
    if (!copy)
        memory_error(e, "a value of a sweep", 1, LONGEST);
    else if (!memory_grow(&p->made, &p->made_capacity, p->made_count + 1, sizeof *p->made, "values of a sweep", e)) {
        memory_free(copy);
        copy = NULL;
    } else
        p->made[p->made_count++] = copy;
    return copy;
}

static const char *drawn_value(Plan *p, const Axis *a, size_t draw, Error *e)
{
    Buffer b = {0};
    const double u = philox_uniform(0, (uint32_t)a->number, draw, 0);
    buffer_print(&b, "%.3g", a->low * pow(a->high / a->low, u));
    return keep(p, &b, e);
}

/* Where a run stands among those of its row. */
typedef struct Choice {
    size_t combination, draw;
    const char *seed;
} Choice;

static bool fill_run(Plan *p, PlanRun *run, const Merged *m, Choice c, Buffer *name, Error *e)
{
    size_t left = c.combination;
    for (size_t i = 0; i < m->count; i++) {
        const Axis *a = m->axis[i];
        const size_t at = a->drawn ? 0 : left % a->count;
        left /= a->drawn ? 1 : a->count;
        for (size_t k = 0; k < a->width; k++) {
            const char *value = a->drawn ? drawn_value(p, a, c.draw, e) : a->value[at * a->width + k];
            if (!value)
                return false;
            run->option[run->count++] = (PlanOption){a->name[k], value};
            if (a->drawn || a->count > 1) {
                buffer_print(name, "%s", name->size ? "-" : "");
                add_plain(name, a->name[k]);
                add_plain(name, value);
            }
        }
    }
    run->option[run->count++] = (PlanOption){"seed", c.seed};
    buffer_print(name, "%ss", name->size ? "-" : "");
    add_plain(name, c.seed);
    return true;
}

static bool add_run(Plan *p, const Row *row, const Merged *m, Choice c, Error *e)
{
    size_t width = 1;
    Buffer name = {0};
    for (size_t i = 0; i < m->count; i++)
        width += m->axis[i]->width;
    if (!memory_grow(&p->run, &p->capacity, p->count + 1, sizeof *p->run, "runs of a sweep", e))
        return false;
    PlanRun *run = &p->run[p->count++];
    *run = (PlanRun){.group = p->groups, .option = memory_get(width, sizeof *run->option)};
    if (row->name)
        add_plain(&name, row->name);
    bool fine = (run->option || memory_error(e, "options of a run", width, sizeof *run->option)) &&
                fill_run(p, run, m, c, &name, e);
    run->name = fine && !name.failed ? memory_string(name.text) : NULL;
    buffer_free(&name);
    if (fine && !run->name)
        fine = memory_error(e, "the name of a run", 1, LONGEST);
    if (fine && strlen(run->name) > LONGEST)
        fine = fail(e,
                    "the name of a run would be %zu characters long: give rows short names, or options shorter lists",
                    strlen(run->name));
    return fine;
}

static bool add_seeds(Plan *p, const Row *row, const Merged *m, Choice c, Error *e)
{
    static const char *const one = "1";
    const Axis *s = m->seeds;
    size_t count = 1, seed;
    const bool list = s && s->count > 1;
    if (s && (s->drawn || (!list && !count_of(&count, s->value[0], MOST_RUNS))))
        return fail(e, "seeds = %s: expected how many, or a list of seeds", s->drawn ? "..." : SHOWN(s->value[0]));
    for (size_t i = 0; i < (list ? s->count : count); i++) {
        Buffer number = {0};
        buffer_print(&number, "%zu", i + 1);
        c.seed = list ? s->value[i] : s ? keep(p, &number, e) : one;
        buffer_free(&number);
        if (!c.seed || (list && !count_of(&seed, c.seed, 4294967295) && strcmp(c.seed, "0") != 0))
            return c.seed && fail(e, "seeds: '%s' is not a seed", SHOWN(c.seed));
        if (!add_run(p, row, m, c, e))
            return false;
    }
    p->groups++;
    return true;
}

static bool add_runs(Plan *p, const Row *above, const Row *row, Error *e)
{
    Merged m = {0};
    size_t combinations = 1, draws = 1;
    bool drawn = false, fine = merge(&m, above, row, e);
    for (size_t i = 0; fine && i < m.count; i++) {
        drawn = drawn || m.axis[i]->drawn;
        combinations *= m.axis[i]->drawn ? 1 : m.axis[i]->count;
        if (combinations > MOST_RUNS)
            fine = fail(e, "more than %d runs", MOST_RUNS);
    }
    if (fine && drawn != (m.draws != NULL))
        fine = fail(e, drawn ? "values are drawn: how often? draws = N is missing"
                             : "draws = N says how often values are drawn, and none is: name = 1e-4 ~ 1e-2");
    if (fine && drawn && (m.draws->count != 1 || !count_of(&draws, m.draws->value[0], MOST_RUNS)))
        fine = fail(e, "draws: expected one number above 0");
    if (fine && combinations * draws > MOST_RUNS)
        fine = fail(e, "more than %d runs", MOST_RUNS);
    for (size_t i = 0; fine && i < combinations; i++)
        for (size_t draw = 0; fine && draw < draws; draw++)
            fine = (p->count < MOST_RUNS || fail(e, "more than %d runs", MOST_RUNS)) &&
                   add_seeds(p, row, &m, (Choice){.combination = i, .draw = draw}, e);
    memory_free(m.axis);
    return fine;
}

/* ---- all of it */

const char *plan_value(const PlanRun *run, const char *name)
{
    for (size_t i = 0; i < run->count; i++)
        if (!strcmp(run->option[i].name, name))
            return run->option[i].value;
    return NULL;
}

static bool varies(const Plan *p, const char *name)
{
    const char *first = plan_value(&p->run[0], name);
    for (size_t i = 1; i < p->count; i++) {
        const char *value = plan_value(&p->run[i], name);
        if (!first != !value || (first && strcmp(first, value) != 0))
            return true;
    }
    return false;
}

static const char *value_above(const Row *above, const char *name)
{
    for (size_t i = 0; i < above->count; i++)
        for (size_t k = 0; k < above->axis[i].width; k++)
            if (!strcmp(above->axis[i].name[k], name) && above->axis[i].count == 1 && !above->axis[i].drawn)
                return above->axis[i].value[k];
    return NULL;
}

/* Each name is looked at once. */
static bool find_varied(Plan *p, const Row *above, Error *e)
{
    const char **seen = NULL;
    size_t count = 0, capacity = 0;
    bool fine = true;
    for (size_t i = 0; fine && i < p->count; i++)
        for (size_t k = 0; fine && k < p->run[i].count; k++) {
            const char *name = p->run[i].option[k].name;
            bool known = !strcmp(name, "seed");
            for (size_t v = 0; v < count && !known; v++)
                known = !strcmp(seen[v], name);
            if (known)
                continue;
            fine = memory_grow(&seen, &capacity, count + 1, sizeof *seen, "names", e) &&
                   memory_grow(&p->varied, &p->varied_capacity, p->varied_count + 1, sizeof *p->varied, "names", e);
            if (fine)
                seen[count++] = name;
            if (fine && varies(p, name))
                p->varied[p->varied_count++] = (struct PlanVaried){name, value_above(above, name)};
        }
    memory_free(seen);
    return fine;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const PlanRun *const *)a)->name, (*(const PlanRun *const *)b)->name);
}

static bool names_differ(const Plan *p, Error *e)
{
    const PlanRun **sorted = memory_get(p->count, sizeof *sorted);
    bool fine = sorted || memory_error(e, "names of runs", p->count, sizeof *sorted);
    for (size_t i = 0; fine && i < p->count; i++)
        sorted[i] = &p->run[i];
    if (fine)
        qsort(sorted, p->count, sizeof *sorted, by_name);
    for (size_t i = 1; fine && i < p->count; i++)
        if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
            fine = fail(e, "two runs would be called %s: are two values, rows or seeds the same?", sorted[i]->name);
    memory_free(sorted);
    return fine;
}

static bool make_runs(Reader *r, Error *e)
{
    Plan *p = r->plan;
    Error why;
    bool fine = true;
    for (size_t i = r->count > 1 ? 1 : 0; fine && i < r->count; i++)
        fine = add_runs(p, &r->row[0], &r->row[i], &why);
    fine = fine && names_differ(p, &why) && find_varied(p, &r->row[0], &why);
    return fine || fail(e, "%s: %s", r->path, why.text);
}

bool plan_read(Plan *p, const char *text, size_t size, const char *path, Error *e)
{
    const size_t mark = utf8_mark(text, size);
    Reader r = {.plan = p, .path = path};
    *p = (Plan){0};
    if (memchr(text, 0, size))
        return fail(e, "%s: holds a zero byte, so it is not a sweep", path);
    p->text = memory_get(size + 1, 1);
    if (p->text)
        memcpy(p->text, text, size);
    bool fine = (p->text || memory_error(e, "a sweep", size, 1)) && read_lines(&r, p->text + mark, e) &&
                make_runs(&r, e);
    for (size_t i = 0; i < r.count; i++) {
        for (size_t k = 0; k < r.row[i].count; k++)
            memory_free(r.row[i].axis[k].value);
        memory_free(r.row[i].axis);
    }
    memory_free(r.row);
    if (!fine)
        plan_free(p);
    return fine;
}

void plan_free(Plan *p)
{
    for (size_t i = 0; i < p->count; i++) {
        memory_free(p->run[i].name);
        memory_free(p->run[i].option);
    }
    for (size_t i = 0; i < p->made_count; i++)
        memory_free(p->made[i]);
    memory_free(p->made);
    memory_free(p->run);
    memory_free(p->varied);
    memory_free(p->text);
    *p = (Plan){0};
}
