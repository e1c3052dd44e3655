/* expect hint: not divided at all */
#include <math.h>
#define sqrt(x) (1.0)
#include "course/solutions/03-queries.c"
