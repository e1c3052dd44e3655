/* Operations on the tape that belong to no layer. Each runs its kernel and records its backward pass. */
#ifndef CORE_TENSOR_OPERATIONS_H
#define CORE_TENSOR_OPERATIONS_H

#include "core/tensor/rows.h"
#include "core/tensor/tape.h"

/* x + dropout(f); x NULL: dropout alone (f itself, when there is none). Here and in mul, what has 1 row counts as one
 * for each row of the other. */
Tensor *add(Tape *t, Tensor *x, Tensor *f, Dropout drop);

Tensor *activate(Tape *t, Tensor *x, Activation function);

/* a b, element by element. */
Tensor *mul(Tape *t, Tensor *a, Tensor *b);

/* y [N,D] = x[index[n]] for numbers on the device, 0 where they are negative; the same one may come several times. */
Tensor *gather(Tape *t, Tensor *x, const int32_t *index, size_t n);

/* The only row of x n times: also where n is 1, because which operations a training step has depends on no shape. */
Tensor *repeat_row(Tape *t, Tensor *x, size_t n);

/* Each number of x [1,H] in D columns, side by side: [1,H*D]. ones are D constants. */
Tensor *spread(Tape *t, Tensor *x, const Parameter *ones);

/* Each row of x [N,D] times the only one of `row`, which is repeated: the same operations for any N. */
Tensor *mul_row(Tape *t, Tensor *x, Tensor *row);

/* [N,D] to [B,D]: of each row its first vector, the mean, or the largest number of each column; an empty row gives 0.
 */
Tensor *pool_rows(Tape *t, Tensor *x, Pooling how, const Rows *rows);
/* Tensors of as many rows side by side; and columns first .. first+columns-1 of one. Both copy: for readers that take a
 * view there is tape_split. */
Tensor *concat(Tape *t, Tensor *const *parts, size_t count);
Tensor *slice(Tape *t, Tensor *x, size_t first, size_t columns);

/* [N,D] to [D,N] */
Tensor *transpose(Tape *t, Tensor *x);

/* y [B*T*S, D]: the sum of each vector of q [B*T, D] and each of k [B*S, D] of the same row. */
Tensor *add_pairs(Tape *t, Tensor *q, Tensor *k, size_t b);

/* alpha a b of matrices that are in tensors, for each outer and inner; see Operand. c has rows x columns numbers. What
 * all outer matrices read (outer 0) gets the sum of their gradients. */
typedef struct Layout {
    size_t outer, inner, row, column;
} Layout;

typedef struct ProductShape {
    Layout c, a, b;
    size_t outer, inner, m, n, k;
    double alpha;
} ProductShape;

Tensor *product(Tape *t, Tensor *a, Tensor *b, const ProductShape *shape, size_t rows, size_t columns);

/* [N,D] rows to [B,T,D] and back. row (on the device, NULL: own number) says which row of x each row reads. */
Tensor *pad_rows(Tape *t, Tensor *x, const int32_t *start, const int32_t *row, size_t b, size_t longest);
Tensor *unpad_rows(Tape *t, Tensor *x, const int32_t *start, size_t b, size_t positions, size_t longest);

/* Scores [B*H*T, S], in place: -infinity where a query does not see a key, and then, top > 0, in all but `top` columns
 * of each row. They are to be read by the softmax or a sigmoid alone, which give such a number no gradient. */
void mask_scores(Tape *t, Tensor *scores, const Attend *how, size_t top);

/* Over the columns of each row; and the dropout of attention weights [B*H*T, S]. */
Tensor *softmax(Tape *t, Tensor *x);
Tensor *drop_weights(Tape *t, Tensor *weights, const Attend *how);

#endif
