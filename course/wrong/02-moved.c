/* expect hint: u had moved already */
#define factorise right_factorise
#include "course/solutions/02-movies.c"
#undef factorise

/* u moves first, and m sees the u that has moved. */
void factorise(float *u, float *m, const Score *scores, size_t n, size_t d, size_t epochs, float rate, float lambda)
{
    for (size_t e = 0; e < epochs; e++)
        for (const Score *s = scores; s < scores + n; s++) {
            float *one = u + s->viewer * d, *other = m + s->film * d;
            float error = dot_product(one, other, d) - s->value;
            for (size_t j = 0; j < d; j++) {
                one[j] -= rate * (error * other[j] + lambda * one[j]);
                other[j] -= rate * (error * one[j] + lambda * other[j]);
            }
        }
}
