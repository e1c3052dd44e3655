/* Weights and the state of training, to and from a checkpoint's two files.
 *
 * model.safetensors: every parameter under its name, and the model's options. state.safetensors: the optimizer's state
 * and where the run stands. Neither holds a time, a path or a host, so equal runs give equal files. */
#ifndef CORE_TRAIN_CHECKPOINT_H
#define CORE_TRAIN_CHECKPOINT_H

#include "base/buffer.h"
#include "core/run/run.h"
#include "core/run/safetensors.h"
#include "core/train/trainer.h"

/* Where a run stands after a step. */
typedef struct Progression {
    uint64_t step;
    double best; /* lowest validation loss so far, in nats */
    uint64_t best_step;
    bool scored;      /* whether there is a best one */
    uint64_t stalled; /* evaluations since then */
    double seconds;   /* of training; saved only in a run that is limited by time */
    uint64_t halved;  /* how often schedule `plateau` has halved the rate */
} Progression;

typedef struct ModelNote {
    const char *program;
    const char *options; /* the model's options as JSON */
} ModelNote;

/* A whole checkpoint RUN/checkpoints/STEP. with_time: save the seconds, too. */
bool checkpoint_save(Run *run, Trainer *c, const ModelNote *note, const Progression *at, bool with_time, Error *e);

/* By the other processes at the same time: what process 0 needs of them, if the optimizer's state is divided. */
void checkpoint_take_part(Trainer *c);

/* Continues from there: weights, moments, progression; if both files are as they were saved. */
bool checkpoint_load(const Run *run, Trainer *c, uint64_t step, const ModelNote *note, Progression *at, Error *e);

/* What happened to tensors, if part of a file is read, or part of a model is filled. */
typedef enum PartKind {
    PART_MATCHED,   /* read */
    PART_RESHAPED,  /* in the file, of another shape than in the model */
    PART_MISSING,   /* only in the model */
    PART_LEFT_OVER, /* only in the file */
    PART_KINDS
} PartKind;

typedef struct WeightsPart {
    const char *map; /* how names of the file begin in the model: see safetensors_rename. NULL: as in the file */
    size_t count[PART_KINDS];
    Buffer report; /* a line for each kind: how many, and the first of them; and other remarks. The caller frees it */
} WeightsPart;

/* Weights from any file that has all of them, in the right shapes, under their names, and nothing else;
 * a file with a checksum beside it must match it.
 * aliases: other names that a file may have for them {ours, theirs}; ends with a NULL. May be NULL.
 * note: the model's options, which the file's own must not contradict. May be NULL.
 * part: NULL, or only tensors that match by name and shape are read, at least one, and of a longer table of positions the
 * first ones; all else stays as it is. Options may differ if they do not change the meaning of what is read. */
bool weights_read(Weights *w, Stream *s, const char *path, const char *const (*aliases)[2], const ModelNote *note,
                  WeightsPart *part, Error *e);

/* The same of a checkpoint of a run. gone (may be NULL): there is no such checkpoint
 * (any more). */
bool weights_read_step(Weights *w, Stream *s, const Run *run, uint64_t step, const char *const (*aliases)[2],
                       const ModelNote *note, bool *gone, Error *e);

/* newest: of an average, the step of its newest checkpoint as a text; NULL: it is none. */
bool weights_write(const Weights *w, Stream *s, const char *path, const ModelNote *note, const char *newest, Error *e);

#endif
