/* Arrays that programs wrote, read again. */
#ifndef TESTS_NPY_H
#define TESTS_NPY_H

#include "core/run/npy.h"

typedef struct Npy {
    NpyType type;
    size_t rank, shape[NPY_RANK];
    void *data; /* freed by npy_free */
} Npy;

/* Asserts that it is as core/run/npy.c writes it, to the byte. */
Npy npy_read(const char *path);
void npy_free(Npy *a);

#endif
