/* expect hint: the width of a query */
#include <math.h>
#define sqrt(x) sqrt((double)d)
#include "course/solutions/03-queries.c"
