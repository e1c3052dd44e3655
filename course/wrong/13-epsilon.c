/* expect hint: epsilon is outside the root */
#include <math.h>
#define sqrtf(x) (sqrtf((x) + epsilon) - epsilon)
#include "course/solutions/13-training.c"
