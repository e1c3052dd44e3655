/* expect hint: each tap is a matrix */
#define multiply_adds right_multiply_adds
#include "course/solutions/16-why.c"
#undef multiply_adds

/* A convolution as if each column were alone: d is counted once. */
size_t multiply_adds(LayerKind kind, size_t n, size_t d, size_t width)
{
    return kind == CONVOLUTION ? width * n * d : right_multiply_adds(kind, n, d, width);
}
