/* Arrays as numpy.savez writes them: a zip archive, not compressed, of .npy files. The whole file is in memory; what it says of
 * sizes and places is checked before it is read. */
#ifndef CORE_EXCHANGE_NPZ_H
#define CORE_EXCHANGE_NPZ_H

#include "base/error.h"

#include <stddef.h>

typedef struct NpzArray {
    char *name;       /* without .npy */
    const char *data; /* [bytes] */
    size_t bytes, rank, shape[4], elements;
    char type[4]; /* "f4", "i1" and so on: little-endian */
    bool used;
} NpzArray;

typedef struct Npz {
    char *path, *file;
    size_t size;
    NpzArray *array; /* [count] */
    size_t count, capacity;
} Npz;

/* What failed needs no closing. */
bool npz_open(Npz *z, const char *path, Error *e);
void npz_close(Npz *z);

/* NULL: there is none. */
NpzArray *npz_find(const Npz *z, const char *name);

#endif
