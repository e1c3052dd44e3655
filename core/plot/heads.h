/* Maps of heads as data that plots/heads.gp draws. */
#ifndef CORE_PLOT_HEADS_H
#define CORE_PLOT_HEADS_H

#include "core/inspect/maps.h"

/* Which of them, and how much of a long text: tokens from .. from+most-1 of both axes. */
typedef struct HeadsShown {
    size_t layer, head; /* EVERY: all */
    size_t from, most;  /* most 0: to the end */
} HeadsShown;

#define EVERY SIZE_MAX

/* One map: `rows` x `columns` weights, a row every `stride` numbers. */
typedef struct HeadsPanel {
    const float *weights;
    size_t stride, first_row, rows, first_column, columns;
    const Labels *query, *key;
} HeadsPanel;

/* The part of maps that is shown; its weights are the caller's to fill. */
HeadsPanel heads_part(const Maps *m, const HeadsShown *s);

/* Adds a block of such a file. */
void heads_panel(Buffer *b, const char *title, const HeadsPanel *p);

/* All blocks that are asked for, layer by layer; how many are beside one another. False where layer, head or `from` are
 * not there. */
bool heads_data(Buffer *b, const Maps *m, const HeadsShown *s, size_t *across, Error *e);

/* Whether there is such a layer and head. */
bool heads_suit(const Maps *m, const HeadsShown *s, Error *e);

#endif
