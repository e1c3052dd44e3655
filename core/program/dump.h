/* --dump-logits FILE.npy: rows of logits for other programs, and FILE.ids.npy: what each row should have said. */
#ifndef CORE_PROGRAM_DUMP_H
#define CORE_PROGRAM_DUMP_H

#include "core/run/npy.h"

typedef struct Dump {
    NpyWriter logits, ids;
} Dump;

bool dump_open(Dump *d, const char *file, size_t columns, Error *e);
bool dump_rows(Dump *d, const float *logits, const int32_t *ids, size_t rows, Error *e);

/* Both files get their names, or where something was not `fine` neither does. */
bool dump_close(Dump *d, bool fine, Error *e);

#endif
