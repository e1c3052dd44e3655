/* heads, of any program: what the network looks at while it reads a text, as numbers, in words and as pictures. */
#ifndef CORE_PROGRAM_HEADS_H
#define CORE_PROGRAM_HEADS_H

#include "core/plot/heads.h"
#include "core/program/app.h"

struct InspectOptions {
    const char *text, *text_file, *layer, *head, *npy, *html;
    size_t from, show;
    bool describe, rollout;
    int sort;
};

extern const Option inspect_options[];
extern const size_t inspect_option_count;

/* What came of a text. */
struct Inspection {
    const InspectOptions *options;
    HeadsShown where; /* pictures show */
    Trainer trainer;
    Batch batch;
    MapRecorder recorder;
    Labels tokens[SIDES];
    Maps *shown;        /* of those that the watcher has */
    const char *script; /* what draws the data that the program has made itself; NULL: it has made none */
    Buffer data;
    Buffer table, json; /* what is to be said: for people, or (--json) members of an object */
    Buffer note;        /* a line about the text, for standard error, after all is well */
};

/* The text to look at: --text, or --text-file without the line end at its end. There must be one, and not be empty. */
bool inspect_text(App *a, const InspectOptions *v, Buffer *text, Error *e);

/* Runs the network once on one row: side s has the ids ids[s][0] .. ids[s][count[s]-1]. The maps then name their tokens
 * only where the program says so. */
typedef struct InspectRow {
    size_t sides;
    const int32_t *ids[SIDES];
    size_t count[SIDES];
    const int32_t *position[SIDES];                           /* NULL: 0, 1, 2, .. */
    Tensor *(*network)(void *app, Tape *t, const Rows *rows); /* what its last operation gives */
} InspectRow;
bool inspect_read(App *a, Inspection *l, const InspectRow *row, Error *e);

/* Says on standard error that a text is longer than what is read of it. */
void inspect_cut(const App *a, const char *what, size_t has, size_t reads);

#endif
