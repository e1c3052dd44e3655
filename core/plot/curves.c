/* See curves.h. */
#include "core/plot/curves.h"

#include "base/memory.h"
#include "core/plot/picture.h"

#include <math.h>
#include <string.h>

enum { GROUPS = 1000 }; /* steps or groups of steps that are drawn */

static const LogColumn training[] = {LOG_LOSS, LOG_NORM, LOG_RATE, LOG_SPEED};
static const LogColumn evaluation[] = {LOG_VALID, LOG_ACCURACY, LOG_TOKEN, LOG_WORD, LOG_BLEU, LOG_F1};

enum { TRAINING = 4, EVALUATION = 6 };

static const char *const headings[LOG_COLUMNS] = {
    [LOG_NORM] = "gradient norm",
    [LOG_RATE] = "learning rate",
    [LOG_SPEED] = "tokens/s",
    [LOG_ACCURACY] = "accuracy (%)",
    [LOG_TOKEN] = "perplexity of a token",
    [LOG_WORD] = "perplexity of a word",
    [LOG_BLEU] = "BLEU",
    [LOG_F1] = "F1",
};

/* A number and what is around it. */
typedef struct Spread {
    double value, low, high, sum;
    size_t count;
} Spread;

static void take(Spread *s, double x)
{
    if (!isfinite(x))
        return;
    s->low = s->count ? fmin(s->low, x) : x;
    s->high = s->count ? fmax(s->high, x) : x;
    s->sum += x;
    s->value = s->sum / (double)++s->count;
}

static void add_number(Buffer *b, double x)
{
    if (isfinite(x))
        buffer_print(b, "\t%.10g", x);
    else
        buffer_print(b, "\tNaN");
}

static void add_spread(Buffer *b, const Spread *s)
{
    add_number(b, s->count ? s->value : NAN);
    add_number(b, s->count ? s->low : NAN);
    add_number(b, s->count ? s->high : NAN);
}

static void add_heading(Buffer *b, const Curve *c, const LogColumn *columns, size_t count)
{
    picture_text(b, c->label, strlen(c->label), false);
    if (c->count > 1)
        buffer_print(b, "%s%zu seeds", c->label[0] ? ", " : "", c->count);
    buffer_print(b, "\ttokens\tseconds");
    for (size_t i = 0; i < count; i++) {
        if (headings[columns[i]])
            buffer_print(b, "\t%s\tlowest\thighest", headings[columns[i]]);
        else {
            buffer_print(b, "\tloss (");
            picture_text(b, c->log[0]->unit, strlen(c->log[0]->unit), false);
            buffer_print(b, ")\tlowest\thighest");
        }
    }
    buffer_print(b, "\n");
}

/* ---- running means */

/* sum[i], weight[i], count[i]: of the finite values before i. Tokens a second weigh as much as their step took, so that
 * a mean of theirs is what all of its steps gave in all of their time. */
typedef struct Sums {
    double *sum, *weight;
    size_t *count;
} Sums;

/* Of a step's value: the log's times so far are rounded to milliseconds. */
static double weight_of(const Log *log, LogColumn column, size_t i)
{
    return column == LOG_SPEED ? fmax(log->line[i].seconds - (i ? log->line[i - 1].seconds : 0), 5e-4) : 1;
}

static bool sums_open(Sums *s, const Log *log, LogColumn column, Error *e)
{
    *s = (Sums){memory_get(log->count + 1, sizeof *s->sum), memory_get(log->count + 1, sizeof *s->weight),
                memory_get(log->count + 1, sizeof *s->count)};
    if (!s->sum || !s->weight || !s->count)
        return memory_error(e, "the running mean of a log", log->count, 24);
    for (size_t i = 0; i < log->count; i++) {
        double x = log->line[i].value[column], weight = isfinite(x) ? weight_of(log, column, i) : 0;
        s->sum[i + 1] = s->sum[i] + (isfinite(x) ? x * weight : 0);
        s->weight[i + 1] = s->weight[i] + weight;
        s->count[i + 1] = s->count[i] + (isfinite(x) ? 1 : 0);
    }
    return true;
}

static void sums_close(Sums *s)
{
    memory_free(s->sum);
    memory_free(s->weight);
    memory_free(s->count);
}

/* Over a hundredth of the steps to either side, and less near the beginning, where a loss falls fast. */
static double running_mean(const Sums *s, size_t i, size_t n)
{
    size_t half = n / 100 > 5 ? n / 100 : 5;
    half = half < i / 5 ? half : i / 5;
    size_t from = i - half, to = i + half + 1 < n ? i + half + 1 : n;
    size_t count = s->count[to] - s->count[from];
    return count ? (s->sum[to] - s->sum[from]) / (s->weight[to] - s->weight[from]) : NAN;
}

/* ---- training */

typedef struct Group {
    size_t from, to; /* lines */
} Group;

/* A column of a curve in a group of lines. sums: [runs] of that column. */
static Spread spread_of(const Curve *c, LogColumn column, const Sums *sums, Group g)
{
    Spread s = {0}, mean = {0};
    size_t last = g.to - 1;
    for (size_t run = 0; run < c->count; run++) {
        const Log *log = c->log[run];
        bool smooth = column != LOG_RATE && isfinite(log->line[last].value[column]);
        double here = smooth ? running_mean(&sums[run], last, log->count) : log->line[last].value[column];
        take(&mean, here);
        for (size_t i = g.from; c->count == 1 && i < g.to; i++)
            take(&s, log->line[i].value[column]);
    }
    if (c->count == 1 && column != LOG_RATE) {
        s.value = mean.value;
        s.count = mean.count ? s.count : 0;
        return s;
    }
    return mean;
}

/* What the line belongs to: step, tokens, seconds. */
static void add_axes(Buffer *b, const Curve *c, size_t line)
{
    Spread tokens = {0}, seconds = {0};
    for (size_t run = 0; run < c->count; run++) {
        take(&tokens, c->log[run]->line[line].tokens);
        take(&seconds, c->log[run]->line[line].seconds);
    }
    buffer_print(b, "%.10g", c->log[0]->line[line].step);
    add_number(b, tokens.value);
    add_number(b, seconds.value);
}

static size_t shortest(const Curve *c)
{
    size_t n = c->log[0]->count;
    for (size_t run = 1; run < c->count; run++)
        n = c->log[run]->count < n ? c->log[run]->count : n;
    return n;
}

/* sums [TRAINING][runs] */
static void add_training(Buffer *b, const Curve *c, const Sums *sums)
{
    const size_t n = shortest(c), size = (n + GROUPS - 1) / GROUPS;
    add_heading(b, c, training, TRAINING);
    for (size_t from = 0; from < n; from += size) {
        const Group g = {from, from + size < n ? from + size : n};
        add_axes(b, c, g.to - 1);
        for (size_t i = 0; i < TRAINING; i++) {
            const Spread s = spread_of(c, training[i], sums + i * c->count, g);
            add_spread(b, &s);
        }
        buffer_print(b, "\tNaN\tNaN\tNaN\n");
    }
}

/* ---- evaluations */

/* The line of a step in a log; NULL where it has none. */
static const LogLine *line_of(const Log *log, double step)
{
    size_t low = 0, high = log->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (log->line[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < log->count && log->line[low].step <= step ? &log->line[low] : NULL;
}

/* Whether all runs were evaluated after this step. */
static bool evaluated(const Curve *c, double step)
{
    for (size_t run = 0; run < c->count; run++) {
        const LogLine *line = line_of(c->log[run], step);
        if (!line || !isfinite(line->value[LOG_VALID]))
            return false;
    }
    return true;
}

static void add_evaluation(Buffer *b, const Curve *c, size_t at)
{
    const double step = c->log[0]->line[at].step;
    add_axes(b, c, at);
    for (size_t i = 0; i < EVALUATION; i++) {
        Spread s = {0};
        double scale = evaluation[i] == LOG_ACCURACY ? 100 : 1;
        for (size_t run = 0; run < c->count; run++)
            take(&s, scale * line_of(c->log[run], step)->value[evaluation[i]]);
        add_spread(b, &s);
    }
    buffer_print(b, "\n");
}

static void add_evaluations(Buffer *b, const Curve *c)
{
    const size_t n = shortest(c);
    add_heading(b, c, evaluation, EVALUATION);
    for (size_t i = 0; i < n; i++)
        if (evaluated(c, c->log[0]->line[i].step))
            add_evaluation(b, c, i);
}

bool curve_add(Buffer *b, const Curve *c, bool first, Error *e)
{
    Sums *sums = memory_get(TRAINING * c->count, sizeof *sums);
    bool fine = sums || memory_error(e, "running means", TRAINING * c->count, sizeof *sums);
    for (size_t i = 0; fine && i < TRAINING * c->count; i++)
        fine = sums_open(&sums[i], c->log[i % c->count], training[i / c->count], e);
    if (fine) {
        buffer_print(b, "%s", first ? "" : "\n\n");
        add_training(b, c, sums);
        buffer_print(b, "\n\n");
        add_evaluations(b, c);
        fine = !b->failed || fail(e, "out of memory for the data of a picture");
    }
    for (size_t i = 0; sums && i < TRAINING * c->count; i++)
        sums_close(&sums[i]);
    memory_free(sums);
    return fine;
}

static bool has(const Log *log, LogColumn column)
{
    for (size_t i = 0; i < log->count; i++)
        if (isfinite(log->line[i].value[column]))
            return true;
    return false;
}

static const struct {
    const char *name;
    LogColumn column;
} panels[] = {{"loss", LOG_LOSS},        {"accuracy", LOG_ACCURACY}, {"bleu", LOG_BLEU}, {"f1", LOG_F1},
              {"perplexity", LOG_TOKEN}, {"rate", LOG_RATE},         {"norm", LOG_NORM}, {"speed", LOG_SPEED}};

/* LOG_COLUMNS: there is no such panel. */
static LogColumn column_of(const char *panel, size_t length)
{
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++)
        if (strlen(panels[i].name) == length && !strncmp(panels[i].name, panel, length))
            return panels[i].column;
    return LOG_COLUMNS;
}

void curve_panels(Buffer *b, const Log *log)
{
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++)
        if (has(log, panels[i].column))
            buffer_print(b, "%s%s", b->size ? " " : "", panels[i].name);
}

bool curve_has_panel(const Log *log, const char *panel, size_t length)
{
    const LogColumn column = column_of(panel, length);
    return column < LOG_COLUMNS && has(log, column);
}

bool curve_may_have_panel(const Log *log, const char *panel, size_t length)
{
    const LogColumn column = column_of(panel, length);
    if (column == LOG_COLUMNS || (log->titled && !log->titles[column]))
        return false;
    const bool with_each = column == LOG_ACCURACY || column == LOG_TOKEN;
    return !with_each || !has(log, LOG_VALID) || has(log, column);
}
