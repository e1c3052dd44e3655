/* expect hint: the other sign */
#define score_gradient right_score_gradient
#include "course/solutions/02-movies.c"
#undef score_gradient

/* e is turned round. */
void score_gradient(float *du, float *dm, const float *u, const float *m, float value, float lambda, size_t d)
{
    float e = value - dot_product(u, m, d);
    for (size_t j = 0; j < d; j++) {
        du[j] = e * m[j] + lambda * u[j];
        dm[j] = e * u[j] + lambda * m[j];
    }
}
