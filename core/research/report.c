/* See report.h. Tables for readers have the same cells; a format says what stands between them. */
#include "core/research/report.h"

#include "base/utf8.h"
#include "core/plot/picture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum Column { LABEL, SEEDS, MEAN, SD, DIFFERENCE, WELCH, PAIRED, NEEDED, COLUMNS } Column;

static const char *const headings[COLUMNS] = {"group", "runs", "mean", "sd", "difference", "p", "p, paired", "needed"};

/* ---- cells */

/* Two digits of the smallest standard deviation. */
static int decimals_of(const Comparison *c)
{
    double least = INFINITY;
    for (size_t i = 0; i < c->groups; i++)
        if (c->group[i].moments.sd > 0)
            least = fmin(least, c->group[i].moments.sd);
    const double digits = isinf(least) ? 4 : 1 - floor(log10(least));
    return (int)fmax(0, fmin(8, digits));
}

static void add_p(Buffer *b, double p, ReportFormat format)
{
    if (p < 0.0001)
        buffer_print(b, format == REPORT_LATEX ? "$<$ 0.0001" : "< 0.0001");
    else
        buffer_print(b, p < 0.001 ? "%.4f" : "%.3f", p);
}

/* Text that LaTeX would read as a command, or show as another sign. */
static void add_escaped(Buffer *b, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '\\': buffer_print(b, "\\textbackslash{}"); break;
        case '~': buffer_print(b, "\\textasciitilde{}"); break;
        case '^': buffer_print(b, "\\textasciicircum{}"); break;
        case '<': buffer_print(b, "\\textless{}"); break;
        case '>': buffer_print(b, "\\textgreater{}"); break;
        case '|': buffer_print(b, "\\textbar{}"); break;
        case '_':
        case '%':
        case '&':
        case '#':
        case '$':
        case '{':
        case '}': buffer_print(b, "\\%c", *text); break;
        default: buffer_add(b, text, 1);
        }
}

/* A bar ends a cell of Markdown. */
static void add_label(Buffer *b, const char *label, ReportFormat format)
{
    if (format == REPORT_LATEX)
        add_escaped(b, *label ? label : "all runs");
    else
        for (const char *at = *label ? label : "all runs"; *at; at++)
            buffer_print(b, format == REPORT_MARKDOWN && *at == '|' ? "\\%c" : "%c", *at);
}

static void add_interval(Buffer *b, const Group *g, int decimals, ReportFormat format)
{
    const char *sign = format == REPORT_LATEX ? "$\\pm$" : "±";
    buffer_print(b, "%.*f", decimals, g->moments.mean);
    if (!isnan(g->margin))
        buffer_print(b, " %s %.*f", sign, decimals, g->margin);
}

static void add_difference(Buffer *b, const Difference *d, int decimals, ReportFormat format)
{
    const char *minus = format == REPORT_LATEX ? "$-$" : "-", *to = format == REPORT_LATEX ? "--" : "to";
    const double values[] = {d->mean, d->low, d->high};
    const char *const before[] = {"", " (", NULL}, *const after[] = {"", "", ")"};
    for (int i = 0; i < 3 && !isnan(values[i]); i++) {
        if (i == 2)
            buffer_print(b, " %s ", to);
        else
            buffer_print(b, "%s", before[i]);
        buffer_print(b, "%s%.*f%s", signbit(values[i]) ? minus : "+", decimals, fabs(values[i]), after[i]);
    }
}

/* What is unknown is a dash; the reference is not compared with itself. */
static void add_cell(Buffer *b, const Comparison *c, const Group *g, Column column, ReportFormat format)
{
    const int decimals = decimals_of(c);
    const size_t before = b->size;
    const bool compared = g != c->group && g->count && c->group[0].count;
    switch (column) {
    case LABEL: add_label(b, g->label, format); return;
    case SEEDS:
        buffer_print(b, "%zu", g->count);
        if (g->without)
            buffer_print(b, " of %zu", g->count + g->without);
        return;
    case MEAN:
        if (g->count)
            add_interval(b, g, decimals, format);
        break;
    case SD:
        if (!isnan(g->moments.sd))
            buffer_print(b, "%.*f", decimals, g->moments.sd);
        break;
    case DIFFERENCE:
        if (compared)
            add_difference(b, &g->welch, decimals, format);
        else if (g == c->group && c->groups > 1)
            buffer_print(b, "reference");
        break;
    case WELCH:
        if (!isnan(g->welch_p))
            add_p(b, g->welch_p, format);
        break;
    case PAIRED:
        if (!isnan(g->paired_p))
            add_p(b, g->paired_p, format);
        break;
    case NEEDED:
        if (g->needed)
            buffer_print(b, "%zu", g->needed);
        break;
    case COLUMNS: break;
    }
    if (b->size == before)
        buffer_print(b, format == REPORT_LATEX ? "--" : "–");
}

/* ---- tables */

static size_t letters(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i += utf8_step(text + i, size - i))
        count++;
    return count;
}

static size_t width_of(const Comparison *c, Column column)
{
    size_t width = strlen(headings[column]);
    for (size_t i = 0; i < c->groups; i++) {
        Buffer cell = {0};
        add_cell(&cell, c, &c->group[i], column, REPORT_TEXT);
        const size_t wide = cell.text ? letters(cell.text, cell.size) : 0;
        width = wide > width ? wide : width;
        buffer_free(&cell);
    }
    return width;
}

/* One line; g NULL: the headings. */
static void add_line(Buffer *b, const Comparison *c, const Group *g, ReportFormat format, const size_t *width)
{
    static const char *const begin[] = {[REPORT_TEXT] = "", [REPORT_MARKDOWN] = "| ", [REPORT_LATEX] = ""},
                             *const between[] =
                                 {[REPORT_TEXT] = "  ", [REPORT_MARKDOWN] = " | ", [REPORT_LATEX] = " & "},
                             *const end[] = {[REPORT_TEXT] = "", [REPORT_MARKDOWN] = " |", [REPORT_LATEX] = " \\\\"};
    buffer_print(b, "%s", begin[format]);
    for (Column i = 0; i < COLUMNS; i++) {
        const size_t before = b->size;
        if (g)
            add_cell(b, c, g, i, format);
        else
            buffer_print(b, "%s", headings[i]);
        for (size_t wide = b->failed ? width[i] : letters(b->text + before, b->size - before);
             format == REPORT_TEXT && i + 1 < COLUMNS && wide < width[i]; wide++)
            buffer_print(b, " ");
        buffer_print(b, "%s", i + 1 < COLUMNS ? between[format] : end[format]);
    }
    buffer_print(b, "\n");
}

/* What the columns are. start: what a line begins with. */
static void add_words(Buffer *b, const Comparison *c, const char *start)
{
    size_t compared = 0, paired = 0;
    for (size_t i = 0; i < c->groups; i++) {
        compared += isnan(c->group[i].welch_p) ? 0 : 1;
        paired += isnan(c->group[i].paired_p) ? 0 : 1;
    }
    char and[32] = "";
    if (paired && paired != compared)
        snprintf(and, sizeof and, " and %zu", paired);
    buffer_print(b, "%smean ± its 95 %% interval%s\n", start,
                 c->groups > 1 ? "; difference, with its 95 % interval" : "");
    if (compared)
        buffer_print(b,
                     "%sp: Welch's test; p, paired: over the seeds that both groups have; Holm's correction for %zu%s "
                     "comparison%s\n%sneeded: seeds per group, to find such a difference in 4 of 5 tries (p < 0.05)\n",
                     start, compared, and, compared > 1 ? "s" : "", start);
    if (!c->tuned)
        return;
    buffer_print(b, "%seach row is at its best %s of those tried", start, c->option);
    const char *before = ", which is the smallest or the largest in ";
    for (const Group *g = c->group; g < c->group + c->groups; g++)
        if (g->at_end) {
            buffer_print(b, "%s%s", before, g->label);
            before = ", ";
        }
    buffer_print(b, "\n");
}

static void write_table(Buffer *b, const Comparison *c, ReportFormat format)
{
    size_t width[COLUMNS];
    Buffer name = {0};
    for (Column i = 0; i < COLUMNS; i++)
        width[i] = width_of(c, i);
    figure_name(&name, &c->figure, c->unit);
    if (format == REPORT_LATEX) {
        buffer_print(b, "%% ");
        buffer_add(b, name.text, name.size);
        buffer_print(b, "\n\\begin{tabular}{lrlrlrrr}\n\\toprule\n");
    } else {
        buffer_add(b, name.text, name.size);
        buffer_print(b, "\n\n");
    }
    buffer_free(&name);
    add_line(b, c, NULL, format, width);
    if (format == REPORT_MARKDOWN)
        buffer_print(b, "|---|---:|---|---:|---|---:|---:|---:|\n");
    if (format == REPORT_LATEX)
        buffer_print(b, "\\midrule\n");
    for (size_t i = 0; i < c->groups; i++)
        add_line(b, c, &c->group[i], format, width);
    if (format == REPORT_LATEX)
        buffer_print(b, "\\bottomrule\n\\end{tabular}\n");
    else
        buffer_print(b, "\n");
    add_words(b, c, format == REPORT_LATEX ? "% " : "");
}

static void add_number(Buffer *b, double x)
{
    if (isfinite(x))
        buffer_print(b, "\t%.10g", x);
    else
        buffer_print(b, "\t");
}

static void write_tsv(Buffer *b, const Comparison *c)
{
    figure_name(b, &c->figure, c->unit);
    buffer_print(b, "\truns\twithout\tmean\tsd\tmargin\tdifference\tlow\thigh\tp\tp (Holm)\tpairs\tpaired p\t"
                    "paired p (Holm)\tneeded\tsteps\ttokens\tseconds\tvalues by seed\n");
    for (const Group *g = c->group; g < c->group + c->groups; g++) {
        picture_text(b, g->label, strlen(g->label), false);
        buffer_print(b, "\t%zu\t%zu", g->count, g->without);
        const double numbers[] = {g->moments.mean,  g->moments.sd, g->margin,   g->welch.mean,
                                  g->welch.low,     g->welch.high, g->welch.p,  g->welch_p,
                                  (double)g->pairs, g->paired.p,   g->paired_p, g->needed ? (double)g->needed : NAN,
                                  g->steps,         g->tokens,     g->seconds};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            add_number(b, numbers[i]);
        for (size_t i = 0; i < g->count; i++)
            buffer_print(b, "%s%" PRId64 ": %.10g", i ? ", " : "\t", g->seed[i], g->value[i]);
        buffer_print(b, g->count ? "\n" : "\t\n");
    }
}

/* A field as RFC 4180 has it: always in quotes, those in it twice. */
static void add_quoted(Buffer *b, const char *text, size_t size)
{
    buffer_add(b, "\"", 1);
    for (size_t i = 0; i < size; i++)
        buffer_print(b, text[i] == '"' ? "%c\"" : "%c", text[i]);
    buffer_add(b, "\"", 1);
}

static void write_csv(Buffer *b, const Comparison *c)
{
    Buffer name = {0};
    figure_name(&name, &c->figure, c->unit);
    buffer_print(b, "group,seed,");
    add_quoted(b, name.text, name.size);
    buffer_print(b, "\n");
    b->failed = b->failed || name.failed;
    buffer_free(&name);
    for (const Group *g = c->group; g < c->group + c->groups; g++)
        for (size_t i = 0; i < g->count; i++) {
            add_quoted(b, g->label, strlen(g->label));
            buffer_print(b, ",%" PRId64 ",%.10g\n", g->seed[i], g->value[i]);
        }
}

void report_write(Buffer *b, const Comparison *c, ReportFormat format)
{
    if (format == REPORT_TSV)
        write_tsv(b, c);
    else if (format == REPORT_CSV)
        write_csv(b, c);
    else
        write_table(b, c, format);
}

/* A group's mean and the two ends of its interval. */
static void add_ends(Buffer *b, const Group *g)
{
    const double margin = isnan(g->margin) ? 0 : g->margin;
    add_number(b, g->moments.mean);
    add_number(b, g->moments.mean - margin);
    add_number(b, g->moments.mean + margin);
    buffer_print(b, "\n");
}

/* A sweep that is not over has groups without runs. */
void report_picture(Buffer *b, const Comparison *c)
{
    figure_name(b, &c->figure, c->unit);
    buffer_print(b, "\n");
    for (size_t i = 0, line = 0; i < c->groups; i++) {
        line += c->group[i].count > 0;
        for (size_t k = 0; k < c->group[i].count; k++)
            buffer_print(b, "%zu\t%.10g\n", line, c->group[i].value[k]);
    }
    buffer_print(b, "\n\n");
    for (size_t i = 0, line = 0; i < c->groups; i++) {
        const Group *g = &c->group[i];
        if (!g->count)
            continue;
        picture_text(b, *g->label ? g->label : "all runs", *g->label ? strlen(g->label) : 8, false);
        buffer_print(b, "\t%zu", ++line);
        add_ends(b, g);
    }
}

/* The group of a row at the smallest setting above this one; NULL: there is none. */
static const Group *next_on(const Comparison *c, const char *row, double setting)
{
    const Group *next = NULL;
    for (const Group *g = c->group; g < c->group + c->groups; g++)
        if (g->count && strcmp(g->row, row) == 0 && g->setting > setting && (!next || g->setting < next->setting))
            next = g;
    return next;
}

bool report_lines(Buffer *b, const Comparison *c)
{
    size_t lines = 0;
    for (const Group *g = c->group; g < c->group + c->groups; g++) {
        const Group *first = c->group, *at = next_on(c, g->row, -INFINITY);
        while (strcmp(first->row, g->row) != 0)
            first++;
        if (first < g || !at)
            continue;
        buffer_print(b, lines++ ? "\n\n" : "");
        picture_text(b, *g->row ? g->row : "all runs", *g->row ? strlen(g->row) : 8, false);
        buffer_print(b, "\t");
        figure_name(b, &c->figure, c->unit);
        buffer_print(b, "\t%s\n", c->option);
        for (; at; at = next_on(c, g->row, at->setting)) {
            buffer_print(b, "%.10g", at->setting);
            add_ends(b, at);
        }
    }
    return lines > 0;
}
