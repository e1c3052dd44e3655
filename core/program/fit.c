/* See fit.h. */
#include "core/program/fit.h"

#include "base/memory.h"
#include "core/program/child.h"
#include "core/research/report.h"
#include "core/research/scaling.h"
#include "core/run/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Ends {
    ScalingRun *run; /* [count], at the last figure of each run that has one */
    size_t count;
    char unit[sizeof((Log *)NULL)->unit];
    double most; /* FLOP */
} Ends;

bool fit_suits(const App *a, Error *e)
{
    const SharedOptions *o = a->options;
    if (!o->fit)
        return true;
    if (o->figure != LOG_VALID && o->figure != LOG_LOSS)
        return fail(e, "--fit scaling fits losses: --figure validation or training");
    return (!o->at && !o->against && o->format == REPORT_TEXT) ||
           fail(e, "--fit scaling reads all runs to their ends and prints text: leave out --at, --against, --format");
}

static bool read_end(Ends *to, const App *a, LogColumn column, const char *path, Error *e)
{
    Log log;
    RunCost cost;
    if (!log_read_run(&log, path, e))
        return false;
    size_t lines = log.count;
    while (lines && !(log.line[lines - 1].value[column] > 0))
        lines--;
    bool fine = true;
    if (!lines)
        ; /* it has no such figure, as where it diverged */
    else if (to->count && strcmp(to->unit, log.unit) != 0)
        fine = fail(e, "%s has losses in %s, others in %s: they cannot be compared", path, log.unit, to->unit);
    else if ((fine = run_cost(&cost, a->kind->name, path, e))) {
        const LogLine *end = &log.line[lines - 1];
        const double flop = cost.flop_a_token * end->tokens;
        memcpy(to->unit, log.unit, sizeof to->unit);
        to->most = fmax(to->most, flop);
        to->run[to->count++] = (ScalingRun){cost.parameters, end->tokens, flop, end->value[column]};
    }
    log_free(&log);
    return fine;
}

static const struct Row {
    const char *name, *text;
} rows[SCALING_NUMBERS] = {
    [SCALING_E] = {"E", "what remains of the loss"},
    [SCALING_A] = {"A", "of the part that parameters N lower"},
    [SCALING_B] = {"B", "of the part that tokens D lower"},
    [SCALING_ALPHA] = {"alpha", "exponent of N"},
    [SCALING_BETA] = {"beta", "exponent of D"},
    [SCALING_EXPONENT] = {"exponent", "beta / (alpha + beta): the best N grows as C^exponent, D as C^(1 - exponent)"}};

static bool print_json(const ScalingFit *f, const Ends *ends, Error *e)
{
    Buffer b = {0};
    char key[32];
    json_add_member(&b, "runs", (double)ends->count);
    for (int i = 0; i < SCALING_NUMBERS; i++) {
        json_add_member(&b, rows[i].name, f->value[i]);
        snprintf(key, sizeof key, "%s_low", rows[i].name);
        json_add_member(&b, key, f->low[i]);
        snprintf(key, sizeof key, "%s_high", rows[i].name);
        json_add_member(&b, key, f->high[i]);
    }
    json_add_member(&b, "error", f->error);
    json_add_member(&b, "k", f->k);
    return json_print_members(&b, e);
}

static void print_fit(const ScalingFit *f, const Ends *ends, size_t all, const char *name)
{
    printf("%s, of %zu of %zu runs: L = E + A / N^alpha + B / D^beta\n\n", name, ends->count, all);
    for (int i = 0; i < SCALING_NUMBERS; i++) {
        char interval[64];
        snprintf(interval, sizeof interval, "(%.4g to %.4g)", f->low[i], f->high[i]);
        printf("%-9s %-9.4g %-24s %s\n", rows[i].name, f->value[i], interval, rows[i].text);
    }
    printf("\n95 %% intervals, from %d times as many runs drawn from these\n", SCALING_RESAMPLES);
    printf("the fit misses the losses by %.2g %% (root mean square)\n", 100 * f->error);
    for (int times = 1; times <= 10; times *= 10) {
        const double flop = ends->most * times, size = scaling_best(f, flop), tokens = flop / f->k / size;
        printf("best for %.2g FLOP%s (C = %.2g N D): N = %.2g parameters, D = %.2g tokens, L = %.4g\n", flop,
               times > 1 ? ", ten times the largest run" : "", f->k, size, tokens, scaling_loss(f, size, tokens));
    }
}

static int by_size(const void *a, const void *b)
{
    const ScalingRun *x = a, *y = b;
    return x->parameters != y->parameters ? (x->parameters > y->parameters) - (x->parameters < y->parameters)
                                          : (x->flop > y->flop) - (x->flop < y->flop);
}

/* plots/scaling.gp: for each size a block of its runs and one of its curve; then the best of all sizes. */
static bool draw(const App *a, const ScalingFit *f, Ends *ends, const char *name, Error *e)
{
    enum { POINTS = 60 };
    Buffer b = {0};
    qsort(ends->run, ends->count, sizeof *ends->run, by_size);
    for (size_t i = 0; i < ends->count;) {
        const ScalingRun first = ends->run[i], *last = &first;
        buffer_print(&b, "%.0f\t%s\n", first.parameters, name);
        for (; i < ends->count && !(ends->run[i].parameters > first.parameters); i++) {
            last = &ends->run[i];
            buffer_print(&b, "%.6g\t%.6f\n", last->flop, last->loss);
        }
        buffer_print(&b, "\n\nfit\n");
        for (int k = 0; k <= POINTS; k++) {
            const double times = pow(4 * last->flop / first.flop, k / (double)POINTS) / 2;
            buffer_print(&b, "%.6g\t%.6f\n", first.flop * times,
                         scaling_loss(f, first.parameters, first.tokens * times));
        }
        buffer_print(&b, "\n\n");
    }
    buffer_print(&b, "best\n");
    for (int k = 0; k <= POINTS; k++) {
        const double least = ends->run[0].flop, flop = least * pow(10 * ends->most / least, k / (double)POINTS),
                     size = scaling_best(f, flop);
        buffer_print(&b, "%.6g\t%.6f\n", flop, scaling_loss(f, size, flop / f->k / size));
    }
    const bool fine = app_draw_out(a, "scaling", &b, e);
    buffer_free(&b);
    return fine;
}

bool fit_scaling(const App *a, LogColumn column, const char *const *runs, size_t count, Error *e)
{
    Ends ends = {.run = memory_get(count, sizeof *ends.run)};
    ScalingFit f;
    Buffer name = {0};
    bool fine = ends.run || memory_error(e, "runs", count, sizeof *ends.run);
    for (size_t i = 0; fine && i < count; i++)
        fine = read_end(&ends, a, column, runs[i], e);
    fine = fine && scaling_fit(&f, ends.run, ends.count, e);
    figure_name(&name, &(Figure){.column = column, .last = true}, ends.unit);
    fine = fine && (!name.failed || memory_error(e, "a name", 1, 64));
    if (fine && a->options->json)
        fine = print_json(&f, &ends, e);
    else if (fine)
        print_fit(&f, &ends, count, name.text);
    fine = fine && (!a->options->out || draw(a, &f, &ends, name.text, e));
    buffer_free(&name);
    memory_free(ends.run);
    return fine;
}
