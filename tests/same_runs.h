/* Whether two runs are the same, bit for bit. */
#ifndef TESTS_SAME_RUNS_H
#define TESTS_SAME_RUNS_H

#include "tests/command.h"

/* A file of both runs, by its name in them; of log.tsv, the columns that do not tell the time. */
void expect_same(const char *run, const char *other, const char *name);

/* Weights, state, log, marks and samples after this number of steps. */
void expect_same_runs(const char *run, const char *other, int steps);

#endif
