/* expect hint: learns the scores by heart */
/* expect points: 11 */
#define factorise right_factorise
#include "course/solutions/02-movies.c"
#undef factorise

/* The price is asked for in the first epoch alone. */
void factorise(float *u, float *m, const Score *scores, size_t n, size_t d, size_t epochs, float rate, float lambda)
{
    right_factorise(u, m, scores, n, d, 1, rate, lambda);
    right_factorise(u, m, scores, n, d, epochs - 1, rate, 0);
}
