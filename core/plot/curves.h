/* Curves of training, as plots/loss.gp draws them: logs of runs, gathered where they differ in the seed only, smoothed,
 * and thinned where they are long. */
#ifndef CORE_PLOT_CURVES_H
#define CORE_PLOT_CURVES_H

#include "base/buffer.h"
#include "core/plot/logs.h"

typedef struct Curve {
    const char *label;
    const Log *const *log; /* [count], each with lines in it */
    size_t count;
} Curve;

/* Adds the two blocks of a curve: training and evaluations. More than 1000 steps are drawn as groups of steps. Of one
 * run, the line is a running mean over about a fiftieth of the steps, and around it are the lowest and the highest
 * step of a group (of short runs: the step itself, as it was logged). Of several runs, up to the end of the shortest,
 * it is the mean of their running means, and around it are the lowest and the highest of those. */
bool curve_add(Buffer *b, const Curve *c, bool first, Error *e);

/* The panels of loss.gp for which a log has numbers: adds "loss rate norm speed". */
void curve_panels(Buffer *b, const Log *log);

/* Whether a log has numbers of a panel; and whether it has or may still get them, as one that is being written: it has a
 * column for them, and no evaluation has been without (that of BLEU and F1 may be). `panel` need not end at `length`. */
bool curve_has_panel(const Log *log, const char *panel, size_t length);
bool curve_may_have_panel(const Log *log, const char *panel, size_t length);

#endif
