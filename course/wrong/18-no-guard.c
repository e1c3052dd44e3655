/* expect hint: threads come in whole blocks */
#include "course/solutions/18-kernel.c"
