/* expect hint: take the row's largest number off before exp; it may be below 0 */
#include "course/solutions/18-kernel.c"
