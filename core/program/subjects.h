/* What plot draws beside logs: what is known of a model, of its data and of its options before and after it is trained.
 *
 *     schedule, schedules   the learning rate that the options mean; that of all schedules there are
 *     smoothing             targets under label smoothing, and what they make of the loss
 *     lengths, coverage     how long texts are; how much of them the most frequent tokens make up
 *     positions             what is added to tokens to say where they stand, and how alike it is; biases of distances
 *     embeddings            tokens as points in a plane */
#ifndef CORE_PROGRAM_SUBJECTS_H
#define CORE_PROGRAM_SUBJECTS_H

#include "core/plot/picture.h"
#include "core/program/app.h"

/* The data of a picture, and what its script takes besides. */
typedef struct Drawing {
    Buffer data;
    size_t parts; /* curves, maps ... */
    const char *more[PICTURE_MORE];
    char text[2][32]; /* room for such */
} Drawing;

typedef struct Subject {
    const char *name, *script;
    bool (*make)(App *a, Drawing *d, Error *e); /* with --run, if one was given, still to be opened */
} Subject;

/* NULL: there is none of this name. */
const Subject *subject_find(const char *name);

bool draw_schedule(App *a, Drawing *d, Error *e);
bool draw_schedules(App *a, Drawing *d, Error *e);
bool draw_smoothing(App *a, Drawing *d, Error *e);
bool draw_lengths(App *a, Drawing *d, Error *e);
bool draw_coverage(App *a, Drawing *d, Error *e);
bool draw_positions(App *a, Drawing *d, Error *e);
bool draw_embeddings(App *a, Drawing *d, Error *e);

/* Prints how far each head looks, of the model of a run that is open (--adaptive-span). */
bool print_spans(const App *a, Error *e);

#endif
