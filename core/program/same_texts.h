/* What a score is made of, text by text (eval --each), and whether two runs that scored the same texts differ
 * (eval --against RUN). Each program says what it counts of a text, and by which test. */
#ifndef CORE_PROGRAM_SAME_TEXTS_H
#define CORE_PROGRAM_SAME_TEXTS_H

#include "core/program/app.h"

typedef struct Each {
    const char *const *names; /* [columns]; the first column tells texts apart */
    size_t columns;
    double *value; /* [count, columns] */
    size_t count, capacity;
} Each;

bool each_add(Each *t, const double *row, Error *e);
void each_free(Each *t);

/* A number that tells a text from others. */
double text_number(const void *bytes, size_t size);

/* Whether --each is not given with what prints or writes something else. */
bool each_suits(App *a, Error *e);

/* A heading and a line for each text, on standard output. */
bool each_print(const Each *t, Error *e);

/* What another run gets: `eval` as on the command line, in a process of its own. Texts that are not those of `own` are
 * refused. */
bool each_of_run(Each *other, const Each *own, const App *a, const char *run, Error *e);

typedef struct Versus {
    const char *run, *figure; /* the other one; what a score is called: "bits per byte" */
    double own, other;
    double difference, low, high; /* own - other, and its 95 % interval */
    double p;                     /* NaN: nothing differs, or texts are too few */
    char test[160];               /* how p was found */
} Versus;

void versus_print(const Versus *v);
void versus_add(const Versus *v, Buffer *json);

#endif
