/* Tensors in memory, as 32-bit floats under their names: what is between a run and a file of another format. */
#ifndef CORE_EXCHANGE_TENSORS_H
#define CORE_EXCHANGE_TENSORS_H

#include "core/run/safetensors.h"

/* Begins as (Tensors){0}. */
typedef struct Tensors {
    SafeTensor *list; /* [count]; names and data are owned */
    size_t count, capacity;
} Tensors;

/* Adds a tensor [rows, columns], or with columns 0 a vector [rows]. Takes over `values`, which come from memory_get; NULL
 * is passed on as the failure that it is, with its Error. */
bool tensors_add(Tensors *t, const char *name, float *values, size_t rows, size_t columns, Error *e);

/* NULL when there is none of that name. */
const SafeTensor *tensors_find(const Tensors *t, const char *name);

/* The data of a tensor of the list. */
static inline const float *tensor_floats(const SafeTensor *t) { return t->data; }

void tensors_close(Tensors *t);

/* Room for a tensor's values; NULL: an Error that names it. */
float *tensor_values(const char *name, size_t rows, size_t columns, Error *e);

#endif
