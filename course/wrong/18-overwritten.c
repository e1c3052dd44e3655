/* expect hint: where one thread writes what another reads there is a __syncthreads() between */
#include "course/solutions/18-kernel.c"
