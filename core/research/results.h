/* The results of a sweep, read back: sweep.tsv, a line for each run. */
#ifndef CORE_RESEARCH_RESULTS_H
#define CORE_RESEARCH_RESULTS_H

#include "core/plot/logs.h"

#include <stdint.h>

/* Figures of which sweep.tsv has the best and the last value: "best BLEU", "last BLEU". */
typedef struct ResultFigure {
    const char *name;
    LogColumn column;
} ResultFigure;
enum { RESULT_FIGURES = 5 };
extern const ResultFigure result_figures[RESULT_FIGURES];

typedef struct Result {
    char *group;    /* the run's name without its seed: "dim 64-lr0.1" of "dim 64-lr0.1-s2" */
    char *row;      /* and without the option: "dim 64"; NULL: none is named */
    double setting; /* the option's value; NaN: it is no number */
    int64_t seed;
    Log log; /* two lines: best values, and last values at the run's end; none: the run has no figures */
} Result;

typedef struct Results {
    Result *run;
    size_t count, capacity;
    const char *option; /* one that varies within rows, to be set before tables are added; NULL: none */
} Results;

/* Adds the runs of a table to those of earlier tables, which no run may repeat. */
bool results_add(Results *r, const char *path, Error *e);
void results_free(Results *r);

#endif
