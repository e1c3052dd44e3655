/* `train` as another process: its command line, and what a run of a sweep will cost. */
#ifndef CORE_PROGRAM_CHILD_H
#define CORE_PROGRAM_CHILD_H

#include "base/buffer.h"
#include "core/research/plan.h"
#include "core/run/json.h"

#include <stdbool.h>

typedef struct Child {
    const char *program; /* "charlm" */
    const PlanRun *run;
    size_t workers; /* if the run does not set them */
} Child;

/* A command line that grows. A failed allocation is remembered, and words_end reports it and frees the words. */
typedef struct Words {
    char **word; /* [count], then NULL */
    size_t count, capacity;
    bool failed;
} Words;

void words_add(Words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool words_end(Words *w, Error *e);
void words_free(Words *w);

/* The command that trains a run; where: "run" or "resume", with this path; NULL: a dry run. */
bool child_words(Words *w, const Child *c, const char *where, const char *path, Error *e);

/* Runs this program with these words, to its end: what it writes to standard output. Where that fails, the Error begins
 * with what it was about and ends with what the program said. */
bool child_answer(Buffer *out, const Words *words, const char *about, Error *e);

/* The last line in the file that its standard error went to. */
void child_last_words(char *line, size_t capacity, const char *path);

/* The JSON object in a file; NULL: there is none. A member of it as a number; NaN if it is none. */
Json *object_read(const char *path);
double object_real(const Json *j, const char *key);

/* What one run costs. */
typedef struct Cost {
    double parameters, flop, steps, minutes;
} Cost;

/* Reads a file that cost_ask wrote. */
bool cost_read(Cost *c, const char *path);

/* Asks `train --dry-run`, which reads the data and refuses what cannot be trained: then the Error is its message, and
 * status its exit status. path: of a file to keep the answer in; NULL: it is not kept. */
bool cost_ask(Cost *c, const Child *child, const char *path, int *status, Error *e);

/* Trains a few steps into this folder, which is removed again: FLOP per second, and a checkpoint's bytes per parameter;
 * NaN: it could not be measured. */
bool cost_probe(const Cost *c, const Child *child, const char *folder, double *speed, double *bytes, Error *e);

/* Of a run, as its `info` says. */
typedef struct RunCost {
    double parameters, flop_a_token; /* of training */
} RunCost;

bool run_cost(RunCost *c, const char *program, const char *run, Error *e);

/* Seconds that a run takes at this speed, in FLOP per second. */
double cost_seconds(const Cost *c, double speed);

#endif
