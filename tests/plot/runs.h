/* Runs that were never trained: a folder with a configuration and a log, as `plot` reads them. */
#ifndef TESTS_PLOT_RUNS_H
#define TESTS_PLOT_RUNS_H

#include "core/plot/logs.h"

#define HEADER                                                                                                         \
    "step\ttargets\tloss (nats)\tgradient norm\tlearning rate\tvalidation (nats)\ttokens/s\tseconds\t"                 \
    "loss without smoothing (nats)\tvalidation accuracy\n"

/* A path under the test's folder; a few live at a time. */
const char *place(const char *name);

/* Writes a file and gives its path. */
const char *text_file(const char *name, const char *text);

/* A log of this many steps: the loss of step i falls from 5 by 1/i, each tenth is evaluated. shift is added to losses.
 * */
const char *falling_log(const char *name, size_t steps, double shift);

/* A run with such a log and these model and training options: "\"dim\": 64". */
const char *made_run(const char *name, const char *model, const char *training, size_t steps, double shift);

#endif
