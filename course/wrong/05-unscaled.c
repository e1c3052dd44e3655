/* expect hint: scores were divided by sqrt(dk) */
#include <math.h>
#define sqrtf(x) (1.0f)
#include "course/solutions/05-backward.c"
