/* expect hint: a tree of fixed shape has one, atomicAdd has none */
#include "course/solutions/18-kernel.c"
