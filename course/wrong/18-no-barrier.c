/* expect hint: without __syncthreads() nobody waits */
#include "course/solutions/18-kernel.c"
