/* `train` as another process: its command line, and what a run of a sweep will take. */
#ifndef CORE_PROGRAM_CHILD_H
#define CORE_PROGRAM_CHILD_H

#include "core/research/plan.h"
#include "core/run/json.h"

#include <stdbool.h>

typedef struct Child {
    const char *program; /* "charlm" */
    const PlanRun *run;
    size_t workers; /* where the run does not say how many */
} Child;

typedef struct Words {
    const char **word; /* [count], then NULL */
    char **made;       /* [made_count] */
    size_t count, made_count;
} Words;

/* The command that trains a run; where: "run" or "resume" of this path; NULL: a dry run. */
bool child_words(Words *w, const Child *c, const char *where, const char *path, Error *e);
void words_free(Words *w);

/* The JSON object in a file; NULL: there is none. A member that is a number; else NaN. */
Json *object_read(const char *path);
double object_real(const Json *j, const char *key);

/* What one run takes. */
typedef struct Cost {
    double parameters, flop, steps, minutes;
} Cost;

/* As a file says that cost_ask wrote. */
bool cost_read(Cost *c, const char *path);

/* Asks `train --dry-run`, which reads the data and refuses what cannot be trained: then the Error is its own, and status
 * its exit status. path: of a file that keeps the answer; NULL: nothing is kept. */
bool cost_ask(Cost *c, const Child *child, const char *path, int *status, Error *e);

/* Trains a few steps into this folder, which is removed again: FLOP a second, and a checkpoint's bytes a parameter. NaN
 * where that could not be measured. */
bool cost_probe(const Cost *c, const Child *child, const char *folder, double *speed, double *bytes, Error *e);

/* Seconds that a run takes at so many FLOP a second. */
double cost_seconds(const Cost *c, double speed);

#endif
