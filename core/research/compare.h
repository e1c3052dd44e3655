/* Groups of runs that differ only in their seed, and how each group's figure compares with a reference group's. */
#ifndef CORE_RESEARCH_COMPARE_H
#define CORE_RESEARCH_COMPARE_H

#include "base/buffer.h"
#include "core/plot/legend.h"
#include "core/plot/logs.h"
#include "core/research/results.h"
#include "core/research/statistics.h"

/* Which number of its log represents a run. */
typedef enum CompareAt { AT_END, AT_STEPS, AT_TOKENS, AT_SECONDS, AT_FLOP } CompareAt;

typedef struct Figure {
    LogColumn column;
    bool last; /* the last one before the limit, instead of the best */
    CompareAt at;
    double limit;
    const double *flop_a_token; /* [runs], for a limit of FLOP */
} Figure;

/* What the figure is called: "validation loss (bits/byte)". */
void figure_name(Buffer *b, const Figure *f, const char *unit);

/* Reads "steps=5000", "tokens=1e6", "seconds=60" or "flop=1e15"; false: it is none of these. */
bool figure_read_at(Figure *f, const char *text);

/* The figure of a run; NaN: its log has no such number yet, or ends before the limit, which is none of FLOP. */
double figure_of(const Figure *f, const Log *log);

typedef struct Group {
    const char *label;
    size_t count;   /* of runs that have the figure */
    size_t without; /* of runs that have none: they diverged, or ended too early */
    double *value;  /* [count], in the order of the seeds */
    int64_t *seed;  /* [count] */
    Moments moments;
    double margin;                 /* half of the mean's 95 % interval */
    double steps, tokens, seconds; /* means over the runs, at their ends or the limit */
    Difference welch;              /* from the reference; its p is not corrected */
    Difference paired;             /* over the seeds that both have */
    double welch_p, paired_p;      /* corrected for all comparisons in the table */
    size_t pairs, needed;          /* needed: seeds per group, to find such a difference; 0: unknown */
    bool at_end;                   /* the tuned option's value is the smallest or largest that the row tried */
    const char *row;               /* of a table that names an option; NULL: it is none */
    double setting;                /* the option's value; NaN: it is no number */
} Group;

typedef struct Comparison {
    Figure figure;
    Legend legend; /* has the labels */
    char unit[48]; /* of the losses; "": a table has no runs beside it that say */
    Group *group;  /* [groups], the reference first */
    size_t groups;
    const char *option; /* of a table, whose values differ within rows; NULL: none is named */
    bool tuned;         /* each row is there at the option's best value alone */
} Comparison;

/* Compares all runs; against: one of them, whose group is the reference (NULL: that of the first run). */
bool compare_runs(Comparison *c, const Figure *f, const char *const *runs, size_t count, const char *against, Error *e);

/* The same of runs in tables of sweeps, which c refers to; groups are called by their rows; against: one of these names.
 * tuned: only the group with the best value of the option is compared of each row, and against may be the row. */
bool compare_results(Comparison *c, const Figure *f, const Results *r, bool tuned, const char *against, Error *e);
void comparison_free(Comparison *c);

#endif
