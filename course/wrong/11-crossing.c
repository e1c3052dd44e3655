/* expect hint: the one that crosses top_p stays */
#define keep_likeliest right_keep_likeliest
#include "course/solutions/11-language.c"
#undef keep_likeliest

/* Stops before top_p is reached: what crosses it is left out. */
void keep_likeliest(float *shares, size_t v, size_t top_k, double top_p)
{
    int32_t last = 0;
    double all = sum_likeliest(shares, v, top_k, INFINITY, &last), sum = 0;
    int32_t j = next_likeliest(shares, v, -1);
    size_t n = 0;
    for (; j >= 0 && (n == 0 || ((!top_k || n < top_k) && sum + (double)shares[j] <= top_p * all)); n++) {
        sum += (double)shares[j];
        j = next_likeliest(shares, v, j);
    }
    right_keep_likeliest(shares, v, n, 1);
}
