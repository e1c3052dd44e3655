/* .npy files: one array that NumPy opens. Written whole, or row by row when their number is not known yet. */
#ifndef CORE_RUN_NPY_H
#define CORE_RUN_NPY_H

#include "base/error.h"
#include "base/file.h"

#include <stddef.h>
#include <stdint.h>

enum { NPY_RANK = 4 };

typedef enum NpyType { NPY_F32, NPY_F64, NPY_I32 } NpyType;

/* An array of shape [shape[0], .., shape[rank-1]], rank 1 to 4, the last index running fastest. */
bool npy_write(const char *path, NpyType type, size_t rank, const size_t *shape, const void *data, Error *e);

/* Row by row: open (shape[0] is ignored), any number of rows, close, which writes how many there were. As with every
 * file here, a failure gives everything up, and until it is closed the file does not exist under its name. */
typedef struct NpyWriter {
    FileWriter file;
    NpyType type;
    size_t rank, shape[NPY_RANK]; /* shape[0]: the rows so far */
} NpyWriter;

bool npy_open(NpyWriter *w, const char *path, NpyType type, size_t rank, const size_t *shape, Error *e);
bool npy_rows(NpyWriter *w, const void *data, size_t rows, Error *e);
bool npy_close(NpyWriter *w, Error *e);
void npy_abandon(NpyWriter *w);

#endif
