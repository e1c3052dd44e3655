/* Matrix products on one thread: c [m,n] = a [m,k] b [k,n], the only file that uses oneDNN.
 *
 * Operands may be transposed. Where it is the faster one, and without oneDNN, the same calls run on our own product.
 */
#ifndef KERNELS_CPU_MATMUL_H
#define KERNELS_CPU_MATMUL_H

#include "base/error.h"
#include "kernels/cpu/names.h"

#include <stddef.h>

typedef enum Element { ELEMENT_F32, ELEMENT_BF16 } Element;

/* What tells one prepared product from another. Leading dimensions are distances between rows as they are stored. */
typedef struct MatmulShape {
    size_t m, n, k;
    size_t a_stride, b_stride, c_stride;
    bool a_transposed, b_transposed; /* a is stored as [k,m], b as [n,k] */
    bool add;                        /* to what c holds */
    bool bias, relu;                 /* bias [n] of floats; then ReLU */
    Element inputs, output;          /* of a and b, and of c */
} MatmulShape;

typedef struct Matmul {
    struct MatmulEntry *entries; /* shapes met so far */
    size_t count, capacity;
    void *engine, *stream;
    void *scratch;
    size_t scratch_size;
    const char *held, *held_end; /* operands in here do not change: */
    struct MatmulCopy *copies;   /* of them, laid out as products want them */
    size_t copy_count, copy_capacity;
    bool onednn[2]; /* whether oneDNN may compute products of f32, of bf16: else there is nothing to choose */
    bool failed;    /* memory ran out, or oneDNN failed */
} Matmul;

bool matmul_open(Matmul *m, Error *e);
void matmul_close(Matmul *m);

/* Operands b in these bytes do not change any more: they are laid out for a product once, not each time. */
void matmul_hold(Matmul *m, const void *from, size_t bytes);

/* Whether our own product does that: then any part of c has the bits that it has in the whole. */
bool matmul_is_ours(const Matmul *m, const MatmulShape *shape, const void *b);

void matmul_run(Matmul *m, const MatmulShape *shape, void *c, const void *a, const void *b, const float *bias);

#endif
