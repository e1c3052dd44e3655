/* expect hint: this moves the other way */
#define shift_matrix right_shift_matrix
#include "course/solutions/08-positions.c"
#undef shift_matrix

/* The sign of the sine is wrong: the rotation as textbooks write it, for (cos, sin). */
void shift_matrix(float *m, double r, size_t d) { right_shift_matrix(m, -r, d); }
