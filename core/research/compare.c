/* See compare.h. */
#include "core/research/compare.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one number of a run */

/* Whether a larger value is better. */
static bool figure_rises(const Figure *f)
{
    return f->column == LOG_ACCURACY || f->column == LOG_BLEU || f->column == LOG_F1;
}

void figure_name(Buffer *b, const Figure *f, const char *unit)
{
    static const char *const names[LOG_COLUMNS] = {[LOG_LOSS] = "training loss",
                                                   [LOG_VALID] = "validation loss",
                                                   [LOG_ACCURACY] = "accuracy",
                                                   [LOG_TOKEN] = "perplexity of a token",
                                                   [LOG_WORD] = "perplexity of a word",
                                                   [LOG_BLEU] = "BLEU",
                                                   [LOG_F1] = "F1"};
    static const char *const limits[] = {
        [AT_STEPS] = "steps", [AT_TOKENS] = "tokens", [AT_SECONDS] = "seconds", [AT_FLOP] = "FLOP"};
    buffer_print(b, "%s", names[f->column]);
    if (*unit && (f->column == LOG_LOSS || f->column == LOG_VALID))
        buffer_print(b, " (%s)", unit);
    buffer_print(b, f->last ? ", the last of each run" : ", the best of each run");
    if (f->at != AT_END)
        buffer_print(b, " up to %.10g %s", f->limit, limits[f->at]);
}

bool figure_read_at(Figure *f, const char *text)
{
    static const struct {
        const char *name;
        CompareAt at;
    } kinds[] = {{"steps=", AT_STEPS}, {"tokens=", AT_TOKENS}, {"seconds=", AT_SECONDS}, {"flop=", AT_FLOP}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *number = text + strlen(kinds[i].name);
        char *end;
        if (strncmp(text, kinds[i].name, strlen(kinds[i].name)) != 0 ||
            strspn(number, "0123456789.e+") != strlen(number))
            continue;
        f->at = kinds[i].at;
        f->limit = strtod(number, &end);
        return end != number && !*end && isfinite(f->limit) && f->limit > 0;
    }
    return false;
}

static double reached(const Figure *f, const LogLine *line)
{
    return f->at == AT_STEPS ? line->step : f->at == AT_TOKENS ? line->tokens : f->at == AT_SECONDS ? line->seconds : 0;
}

double figure_of(const Figure *f, const Log *log)
{
    double found = NAN;
    if (!log->count || (f->at != AT_END && reached(f, &log->line[log->count - 1]) < f->limit))
        return NAN;
    for (const LogLine *l = log->line; l < log->line + log->count && (f->at == AT_END || reached(f, l) <= f->limit);
         l++) {
        const double value = l->value[f->column];
        const bool better = isnan(found) || f->last || (figure_rises(f) ? value > found : value < found);
        if (!isnan(value) && better)
            found = value;
    }
    return found;
}

/* ---- groups */

/* Adds a run's figure in the order of the seeds, and what it took. */
static void add_run(Group *g, const Figure *f, const Log *log, int64_t seed)
{
    const double value = figure_of(f, log);
    if (isnan(value)) {
        g->without++;
        return;
    }
    const LogLine *end = &log->line[log->count - 1];
    while (end > log->line && f->at != AT_END && reached(f, end) > f->limit)
        end--;
    size_t at = g->count++;
    for (; at && g->seed[at - 1] > seed; at--) {
        g->seed[at] = g->seed[at - 1];
        g->value[at] = g->value[at - 1];
    }
    g->seed[at] = seed;
    g->value[at] = value;
    g->steps += end->step;
    g->tokens += end->tokens;
    g->seconds += end->seconds;
}

/* Of one run: FLOP are counted in its tokens. */
static Figure figure_for(const Figure *f, size_t run)
{
    Figure own = *f;
    if (f->at == AT_FLOP) {
        own.at = AT_TOKENS;
        own.limit = f->limit / f->flop_a_token[run];
    }
    return own;
}

/* The reference comes first. */
static Group *group_of(const Comparison *c, size_t curve, size_t reference)
{
    return &c->group[curve == reference ? 0 : curve < reference ? curve + 1 : curve];
}

static bool open_groups(Comparison *c, size_t runs, size_t reference, Error *e)
{
    c->groups = c->legend.curves;
    c->group = memory_get(c->groups, sizeof *c->group);
    bool fine = c->group || memory_error(e, "groups of runs", c->groups, sizeof *c->group);
    for (size_t i = 0; fine && i < c->groups; i++) {
        Group *g = group_of(c, i, reference);
        *g = (Group){.label = c->legend.label[i],
                     .value = memory_get(runs, sizeof *g->value),
                     .seed = memory_get(runs, sizeof *g->seed)};
        fine = (g->value && g->seed) || memory_error(e, "figures of runs", runs, sizeof *g->value);
    }
    return fine;
}

/* logs, names [count]: of the runs. */
static bool fill_groups(Comparison *c, const Log *logs, const char *const *names, size_t count, size_t reference,
                        Error *e)
{
    for (size_t i = 0; i < count; i++) {
        if (!c->unit[0])
            memcpy(c->unit, logs[i].unit, sizeof c->unit);
        if (logs[i].count && strcmp(c->unit, logs[i].unit) != 0)
            return fail(e, "%s has losses in %s, others in %s: they cannot be compared", names[i], logs[i].unit,
                        c->unit);
        const Figure figure = figure_for(&c->figure, i);
        add_run(group_of(c, c->legend.curve[i], reference), &figure, &logs[i], c->legend.seed[i]);
    }
    size_t found = 0;
    for (size_t i = 0; i < c->groups; i++)
        found += c->group[i].count;
    if (found)
        return true;
    Buffer name = {0};
    figure_name(&name, &c->figure, c->unit);
    fail(e, "no run has this figure in its log: %s", name.text ? name.text : "the figure");
    buffer_free(&name);
    return false;
}

/* ---- comparing */

/* The figures of the seeds that both have, first into a and then into b. */
static size_t pair_up(double *a, double *b, const Group *of_a, const Group *of_b)
{
    size_t pairs = 0;
    for (size_t i = 0, j = 0; i < of_a->count && j < of_b->count;)
        if (of_a->seed[i] == of_b->seed[j]) {
            a[pairs] = of_a->value[i++];
            b[pairs++] = of_b->value[j++];
        } else if (of_a->seed[i] < of_b->seed[j])
            i++;
        else
            j++;
    return pairs;
}

static bool compare_groups(Comparison *c, size_t runs, Error *e)
{
    const Difference none = {NAN, NAN, NAN, NAN, NAN, NAN};
    double *block = memory_get(2 * runs + 4 * c->groups, sizeof *block);
    if (!block)
        return memory_error(e, "figures of runs", 2 * runs + 4 * c->groups, sizeof *block);
    double *a = block, *b = block + runs, *p = block + 2 * runs, *q = p + c->groups, *p_done = q + c->groups,
           *q_done = p_done + c->groups;
    for (size_t i = 0; i < c->groups; i++) {
        Group *g = &c->group[i], *reference = &c->group[0];
        const double n = (double)g->count;
        g->moments = moments_of(g->value, g->count);
        g->margin = moments_margin(&g->moments);
        g->steps /= n, g->tokens /= n, g->seconds /= n;
        g->welch = i ? difference_welch(&g->moments, &reference->moments) : none;
        g->pairs = i ? pair_up(a, b, g, reference) : 0;
        g->paired = i ? difference_paired(a, b, g->pairs) : none;
        if (i && g->count > 1 && reference->count > 1)
            g->needed = count_needed(
                g->welch.mean,
                sqrt((g->moments.sd * g->moments.sd + reference->moments.sd * reference->moments.sd) / 2));
        p[i] = g->welch.p;
        q[i] = g->paired.p;
    }
    holm_correct(p_done, p, c->groups);
    holm_correct(q_done, q, c->groups);
    for (size_t i = 0; i < c->groups; i++) {
        c->group[i].welch_p = p_done[i];
        c->group[i].paired_p = q_done[i];
    }
    memory_free(block);
    return true;
}

/* With the legend made. */
static bool compare_logs(Comparison *c, const Log *logs, const char *const *names, size_t count, size_t reference,
                         Error *e)
{
    return open_groups(c, count, reference, e) && fill_groups(c, logs, names, count, reference, e) &&
           compare_groups(c, count, e);
}

bool compare_runs(Comparison *c, const Figure *f, const char *const *runs, size_t count, const char *against, Error *e)
{
    size_t from = 0;
    *c = (Comparison){.figure = *f};
    while (against && from < count && strcmp(runs[from], against) != 0)
        from++;
    if (from == count)
        return fail(e, "--against %s: not one of the runs compared", against);
    Log *logs = memory_get(count, sizeof *logs);
    if (!logs)
        return memory_error(e, "logs of runs", count, sizeof *logs);
    bool fine = legend_make(&c->legend, runs, count, false, e);
    for (size_t i = 0; fine && i < count; i++)
        fine = log_read_run(&logs[i], runs[i], e);
    fine = fine && compare_logs(c, logs, runs, count, c->legend.curve[from], e);
    for (size_t i = 0; i < count; i++)
        log_free(&logs[i]);
    memory_free(logs);
    if (!fine)
        comparison_free(c);
    return fine;
}

static bool is_of(const Result *r, const char *name)
{
    return strcmp(r->group, name) == 0 || (r->row && strcmp(r->row, name) == 0);
}

static bool compare_tables(Comparison *c, const Figure *f, const Results *r, const char *against, Error *e)
{
    *c = (Comparison){.figure = *f, .option = r->option};
    Log *logs = memory_get(r->count, sizeof *logs);
    const char **names = memory_get(r->count, sizeof *names);
    bool fine = (logs && names) || memory_error(e, "results of runs", r->count, sizeof *logs);
    for (size_t i = 0; fine && i < r->count; i++) {
        logs[i] = r->run[i].log;
        names[i] = r->run[i].group;
    }
    size_t first = 0; /* a run of the reference */
    fine = fine && legend_of_names(&c->legend, names, r->count, e);
    for (size_t i = 0; fine && i < r->count; i++)
        c->legend.seed[i] = r->run[i].seed;
    while (fine && against && first < r->count && !is_of(&r->run[first], against))
        first++;
    if (fine && first == r->count)
        fine = fail(e, "--against %s: not one of the groups compared", against);
    fine = fine && compare_logs(c, logs, names, r->count, c->legend.curve[first], e);
    for (size_t i = 0; fine && i < r->count; i++) {
        Group *g = group_of(c, c->legend.curve[i], c->legend.curve[first]);
        g->row = r->run[i].row, g->setting = r->run[i].setting;
    }
    memory_free(names);
    memory_free(logs);
    if (!fine)
        comparison_free(c);
    return fine;
}

/* Whether a is the better choice: the figure is there as often, and its mean is better. */
static bool beats(const Figure *f, const Group *a, const Group *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    return figure_rises(f) ? a->moments.mean > b->moments.mean : a->moments.mean < b->moments.mean;
}

/* What a row tried besides run i: something better (of equals, the first), and smaller and larger values. */
typedef struct Others {
    bool better, smaller, larger;
} Others;

static Others others_of(const Comparison *tried, const Results *r, size_t i)
{
    Others o = {0};
    const Result *run = &r->run[i];
    for (size_t j = 0; j < r->count; j++) {
        if (strcmp(r->run[j].row, run->row) != 0)
            continue;
        const Group *a = group_of(tried, tried->legend.curve[j], 0), *b = group_of(tried, tried->legend.curve[i], 0);
        o.better = o.better || beats(&tried->figure, a, b) || (a < b && !beats(&tried->figure, b, a));
        o.smaller = o.smaller || r->run[j].setting < run->setting;
        o.larger = o.larger || r->run[j].setting > run->setting;
    }
    return o;
}

bool compare_results(Comparison *c, const Figure *f, const Results *r, bool tuned, const char *against, Error *e)
{
    Comparison tried;
    Results best = {.option = r->option};
    if (!tuned)
        return compare_tables(c, f, r, against, e);
    if (!compare_tables(&tried, f, r, NULL, e))
        return false;
    Others *others = memory_get(r->count, sizeof *others);
    best.run = memory_get(r->count, sizeof *best.run);
    bool fine = (others && best.run) || memory_error(e, "the best runs", r->count, sizeof *best.run);
    for (size_t i = 0; fine && i < r->count; i++) {
        others[best.count] = others_of(&tried, r, i);
        if (!others[best.count].better)
            best.run[best.count++] = r->run[i];
    }
    fine = fine && compare_tables(c, f, &best, against, e);
    c->tuned = fine;
    for (size_t i = 0; fine && i < c->groups; i++)
        for (size_t k = 0; k < best.count; k++)
            if (strcmp(best.run[k].group, c->group[i].label) == 0)
                c->group[i].at_end = c->group[i].count && others[k].smaller != others[k].larger;
    memory_free(best.run);
    memory_free(others);
    comparison_free(&tried);
    return fine;
}

void comparison_free(Comparison *c)
{
    for (size_t i = 0; c->group && i < c->groups; i++) {
        memory_free(c->group[i].value);
        memory_free(c->group[i].seed);
    }
    memory_free(c->group);
    legend_free(&c->legend);
    *c = (Comparison){0};
}
