/* What to call curves: runs are told apart by what differs between their configurations. */
#ifndef CORE_PLOT_LEGEND_H
#define CORE_PLOT_LEGEND_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Legend {
    size_t *curve; /* [runs] which curve a run belongs to, in the order in which they come */
    int64_t *seed; /* [runs] */
    char **label;  /* [curves] "dim 128, norm pre"; "" where there is only one curve */
    size_t curves;
} Legend;

/* Reads RUN/config.json of each run. Runs that differ in their seed alone are one curve, unless `apart`. What cannot
 * change what a run learns (workers, what is saved) tells none apart; curves that would have one label, nor any, are
 * called by their folders, or where those have one name by their paths; and so are all where more than three options
 * differ. */
bool legend_make(Legend *legend, const char *const *runs, size_t count, bool apart, Error *e);

/* The same of runs without a folder: those of one name are a curve, which is called by it. Seeds are left at 0. */
bool legend_of_names(Legend *legend, const char *const *names, size_t count, Error *e);
void legend_free(Legend *legend);

#endif
