/* What the files of `PROGRAM sweep` share; sweep.c says what a sweep's directory holds. */
#ifndef CORE_PROGRAM_SWEEP_H
#define CORE_PROGRAM_SWEEP_H

#include "core/cli/progress.h"
#include "core/program/app.h"
#include "core/program/child.h"
#include "core/research/plan.h"

#include <sys/types.h>

typedef enum State { WAITING, RUNNING, DONE, FAILED } State;

typedef struct Item {
    State state;
    pid_t child;
    char *run, *out, *err; /* paths */
    Buffer row;            /* its line of the table, once it is over */
    double best;           /* as train's result says it; NaN */
    size_t failures;
    char why[240]; /* it failed */
} Item;

typedef struct Sweep {
    App *a;
    Plan plan;
    const char *file;
    char *text; /* of the file */
    size_t size;
    char *folder;
    Item *item; /* [plan.count] */
    Cost *cost; /* [plan.groups] */
    Progress progress;
    size_t cores, running;
    int lock; /* of the folder; -1: none */
    bool asked_to_stop;
} Sweep;

/* FOLDER/NAMEENDING in the sweep's directory (folder "": in it itself), to be freed with memory_free. */
char *sweep_path(const Sweep *s, const char *folder, const char *name, const char *ending);

/* Reads the file that describes the runs, makes the directory and locks it. To be closed even if it fails. */
bool sweep_open(Sweep *s, Error *e);
void sweep_close(Sweep *s);

/* From now on the directory belongs to this file. */
bool sweep_keep_file(const Sweep *s, Error *e);

/* Several processes may work on one sweep: one at a time writes what they share. */
bool sweep_lock(const Sweep *s, Error *e);
void sweep_unlock(const Sweep *s);

/* Whether a run is done, as its folder and what an earlier process said tell. */
void sweep_find_state(Item *i);

size_t sweep_count(const Sweep *s, State state);
Child sweep_child(const Sweep *s, size_t run);

/* Writes sweep.tsv. */
bool sweep_write_table(const Sweep *s, Error *e);

/* A sweep.tsv that was kept: its runs are done, unless they are here. With the costs known. */
bool sweep_read_known(Sweep *s, const char *path, Error *e);

/* Trains what waits, several runs at once, until all are over or a stop is requested. */
bool sweep_train(Sweep *s, Error *e);

#endif
