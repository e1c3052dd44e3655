/* A network as an ONNX graph: nodes that make values of values. One is described value by value, then written as a file:
 *
 *     Onnx g = {0};
 *     OnnxValue x = onnx_input(&g, "x", ONNX_FLOAT, (const char *const[]){"batch", "8"}, 2);
 *     onnx_output(&g, onnx_two(&g, "Add", x, onnx_number(&g, 1)), "y", (const char *const[]){"batch", "8"}, 2);
 *     onnx_write(&g, "x_and_one.onnx", e);
 *
 * The file is a message of protocol buffers (onnx.proto, operators of version 17, IR version 8). Constants are 32-bit
 * floats and 64-bit integers. Out of memory is remembered, and said by onnx_write. */
#ifndef CORE_EXCHANGE_ONNX_H
#define CORE_EXCHANGE_ONNX_H

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { ONNX_NAME = 128 };

typedef enum OnnxType { ONNX_FLOAT = 1, ONNX_INT64 = 7, ONNX_BOOL = 9 } OnnxType;

typedef struct OnnxValue {
    char name[ONNX_NAME];
} OnnxValue;

typedef struct OnnxConstant {
    Buffer about; /* its fields but for the data */
    Buffer head;  /* all that comes before the data in the file */
    const void *data;
    void *own; /* the same, where the graph frees it */
    size_t bytes;
} OnnxConstant;

/* Begins as (Onnx){0}. */
typedef struct Onnx {
    Buffer nodes, inputs, outputs;
    OnnxConstant *constant; /* [constants] */
    size_t constants, capacity, made;
    bool failed;
} Onnx;

/* Dimensions are numbers, "8", or names of what a caller chooses, "batch". */
OnnxValue onnx_input(Onnx *g, const char *name, OnnxType type, const char *const *dims, size_t rank);
void onnx_output(Onnx *g, OnnxValue x, const char *name, const char *const *dims, size_t rank);

/* Constants: floats that stay where they are until the file is written; one number; integers, as a vector or (scalar)
 * the only one of them. */
OnnxValue onnx_floats(Onnx *g, const char *name, const float *values, const size_t *shape, size_t rank);
OnnxValue onnx_number(Onnx *g, double value);
OnnxValue onnx_integers(Onnx *g, const int64_t *values, size_t count);
OnnxValue onnx_integer(Onnx *g, int64_t value);

/* An operator of one, two or three values, without attributes. */
OnnxValue onnx_one(Onnx *g, const char *operator, OnnxValue a);
OnnxValue onnx_two(Onnx *g, const char *operator, OnnxValue a, OnnxValue b);
OnnxValue onnx_three(Onnx *g, const char *operator, OnnxValue a, OnnxValue b, OnnxValue c);

/* Operators with attributes. reshape: 0 keeps a dimension, -1 is what is left. */
OnnxValue onnx_reshape(Onnx *g, OnnxValue x, const int64_t *shape, size_t rank);
OnnxValue onnx_transpose(Onnx *g, OnnxValue x, const int64_t *order, size_t rank);
OnnxValue onnx_softmax(Onnx *g, OnnxValue x); /* over the last dimension */
OnnxValue onnx_mean(Onnx *g, OnnxValue x);    /* of the last dimension, which becomes 1 */
OnnxValue onnx_reduce(Onnx *g, const char *operator, OnnxValue x, int64_t axis); /* the dimension goes */
OnnxValue onnx_layer_norm(Onnx *g, OnnxValue x, OnnxValue gain, OnnxValue bias, double epsilon);
OnnxValue onnx_cast(Onnx *g, OnnxValue x, OnnxType type);

/* Frees the graph, whatever comes of it. */
bool onnx_write(Onnx *g, const char *path, Error *e);
void onnx_close(Onnx *g);

#endif
