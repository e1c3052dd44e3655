/* The k likeliest classes, one after the other, and log softmax of them: value = (z - largest) - log sum of
 * exp(z - largest).
 *
 * What cannot be chosen, NaN and -infinity, has no share in the sum; infinity counts as the largest finite number, so
 * classes at infinity share all of it. */

/* A logit as it counts. */
static Real choosable(Real z)
{
    const Real most = sizeof(Real) == sizeof(double) ? (Real)DBL_MAX : (Real)FLT_MAX;
    return z > most ? most : z == z ? z : -(Real)INFINITY;
}

/* The likeliest class that comes after class `last` (-1: none does); -1 where there is none. */
static int32_t next_choice(const Real *z, size_t v, int32_t last)
{
    int32_t best = -1;
    for (size_t j = 0; j < v; j++) {
        Real value = choosable(z[j]), before = last >= 0 ? choosable(z[last]) : (Real)INFINITY;
        bool later = value < before || (value == before && (int32_t)j > last);
        if (later && value > (best >= 0 ? choosable(z[best]) : -(Real)INFINITY))
            best = (int32_t)j;
    }
    return best;
}

static void choices(Stream *s, int32_t *which, void *values_, void *one_, const void *logits, int32_t class, size_t n,
                    size_t v, size_t k)
{
    (void)s;
    const Real *z = logits;
    Real *values = values_, *one = one_;
    for (size_t i = 0; i < n; i++, z += v, which += k, values += k) {
        int32_t chosen = next_choice(z, v, -1);
        Real largest = chosen >= 0 ? choosable(z[chosen]) : 0, sum = 0;
        for (size_t j = 0; j < v; j++)
            sum += real_exp(choosable(z[j]) - largest);
        for (size_t m = 0; m < k; m++) {
            which[m] = chosen;
            values[m] = chosen >= 0 ? (choosable(z[chosen]) - largest) - real_log(sum) : -(Real)INFINITY;
            chosen = chosen >= 0 ? next_choice(z, v, chosen) : -1;
        }
        one[i] = choosable(z[class]) > -(Real)INFINITY ? (choosable(z[class]) - largest) - real_log(sum)
                                                       : -(Real)INFINITY;
    }
}
