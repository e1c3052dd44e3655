/* --dump-logits FILE.npy: rows of logits for other programs, and FILE.ids.npy: what each row should have said. */
#ifndef CORE_PROGRAM_DUMP_H
#define CORE_PROGRAM_DUMP_H

#include "core/run/npy.h"
#include "core/train/trainer.h"

typedef struct Dump {
    NpyWriter logits, ids;
} Dump;

bool dump_open(Dump *d, const char *file, size_t columns, Error *e);
/* Whether such files can be made there, before work is put into what they are to hold. NULL is fine. */
bool dump_may_open(const char *file, Error *e);

bool dump_rows(Dump *d, const float *logits, const int32_t *ids, size_t rows, Error *e);

/* Both files get their names, or where something was not `fine` neither does. */
bool dump_close(Dump *d, bool fine, Error *e);

/* What a task scores, in its order: the logits [N, columns] of the scored positions of a side, which `logits` computes
 * on a worker's tape (of these positions alone where rows_scored says so), and the targets there. */
typedef struct DumpTask {
    Tensor *(*logits)(void *self, Tape *t, const Rows *rows);
    size_t side, columns;
} DumpTask;

/* Has `take` take each of them, in this order. */
typedef bool (*TakeLogits)(void *to, const float *logits, int32_t target, Error *e);
bool scored_logits(Trainer *trainer, const DumpTask *d, TakeLogits take, void *to, Error *e);

bool dump_task(const char *file, Trainer *trainer, const DumpTask *d, Error *e);

#endif
