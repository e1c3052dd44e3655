/* expect hint: the sine and the cosine of a pair share one angle */
#define fill_sinusoids right_fill_sinusoids
#include "course/solutions/08-positions.c"
#undef fill_sinusoids

/* Each column has an angle of its own: then no matrix shifts. */
void fill_sinusoids(float *positions, size_t n, size_t d)
{
    for (size_t p = 0; p < n; p++)
        for (size_t j = 0; j < d; j++) {
            double angle = (double)p / pow(10000, (double)j / (double)d);
            positions[p * d + j] = (float)(j % 2 ? cos(angle) : sin(angle));
        }
}
