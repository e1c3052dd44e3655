/* A product of two matrices in bf16 by what kernels/cuda/mma.h offers, to be compared with a plain one: so a fragment's
 * layout is right, and so is the order of copies. */
#ifndef TESTS_EMULATOR_FRAGMENTS_H
#define TESTS_EMULATOR_FRAGMENTS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the lanes get their parts of the matrices. */
typedef enum Way {
    WORD_BY_WORD,  /* each reads its own, as the layout says */
    BY_MATRICES,   /* load_matrices, from tiles that copy_async has brought */
    BY_TRANSPOSED, /* load_transposed, of a and b that are the other way round */
    WAYS
} Way;

/* c [m,n] = a [m,k] b [n,k]^T; `BY_TRANSPOSED`: a [k,m], b [k,n]. bf16, c f32; m is a multiple of 16, n of 8, k of 16,
 * rows of 16 bytes or more, one after the other. */
bool fragments_emulated(Way way, float *c, const uint16_t *a, const uint16_t *b, size_t m, size_t n, size_t k,
                        Error *e);
bool fragments_checked(Way way, float *c, const uint16_t *a, const uint16_t *b, size_t m, size_t n, size_t k, Error *e);

#ifdef __cplusplus
}
#endif

#endif
