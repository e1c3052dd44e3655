/* The scripts of plots/, which the programs carry: the build makes the table from the files. */
#ifndef CORE_PLOT_SCRIPTS_H
#define CORE_PLOT_SCRIPTS_H

#include <stddef.h>

typedef struct Embedded {
    const char *name; /* "loss.gp"; NULL ends the table */
    const char *text;
    size_t size;
} Embedded;

extern const Embedded plot_scripts[];

#endif
