/* import: what programs do alike that make a run of another's model.
 *
 * The options that describe the model are set as if they had been typed. Its weights, put under our names, go into a file
 * beside the run, which `train --weights` reads for a training of no steps. What the model says of itself that would change
 * its meaning, and that is not known here, is refused by name. */
#ifndef CORE_PROGRAM_IMPORT_H
#define CORE_PROGRAM_IMPORT_H

#include "core/exchange/hf_folder.h"
#include "core/program/app.h"

enum { IMPORT_PATH = 4096 };

/* First in a program's own struct. */
typedef struct Import {
    App *a;
    const char *path;                                /* what is read: a folder or a file */
    HfFolder hf;                                     /* of a folder: read opens it */
    char beside[IMPORT_PATH - 100], to[IMPORT_PATH]; /* RUN.import, and the file of weights */
} Import;

/* Sets an option of the model. */
bool import_set(const Import *m, const char *option, const char *text, Error *e);
bool import_size(const Import *m, const char *option, size_t value, Error *e);
bool import_number(const Import *m, const char *option, double value, Error *e);
bool import_flag(const Import *m, const char *option, bool value, Error *e);

/* --activation and --norm-epsilon, as a key of a configuration says them; `otherwise`: what they are where it does not. */
bool import_activation(const Import *m, const char *key, const char *otherwise, Error *e);
bool import_epsilon(const Import *m, const char *key, double otherwise, Error *e);

/* Writes the weights that the table finds in theirs, as parameters of ours. */
bool import_weights(const Import *m, const NamingTable *table, Source *theirs, const Parameters *ours, Error *e);

/* The command: has `read` read the one argument, set options and write weights; then makes the run --out.
 * asks: what the argument is to be, "Name one folder". open: opens the model without data, see AppKind; NULL: as in
 * training. */
bool import_run(Import *m, App *a, const char *asks, bool (*read)(Import *m, Error *e), bool (*open)(App *a, Error *e),
                Error *e);

#endif
