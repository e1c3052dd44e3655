/* The k likeliest classes and log softmax of them. See kernels/plain/choices.c.
 *
 * A warp for each position, and a pass over all classes for each choice: the lanes look for the best that comes after
 * the one before, and agree by shuffles. k is small. */

/* A class as it competes: the larger value goes first, and of equal ones the smaller number. No class: -1. */
typedef struct Choice {
    float value;
    int32_t number;
} Choice;

static __device__ float choosable(float z)
{
    const float most = 3.402823466e38f;
    return z > most ? most : z == z ? z : -INFINITY;
}

static __device__ bool goes_first(Choice a, Choice b)
{
    if (a.number < 0 || b.number < 0)
        return a.number >= 0;
    return a.value > b.value || (a.value == b.value && a.number < b.number);
}

/* The first of all that come after `last`. */
static __device__ Choice next_choice(const float *z, size_t v, Choice last)
{
    Choice best = {-INFINITY, -1};
    for (size_t j = lane(); j < v; j += LANES) {
        Choice one = {choosable(z[j]), (int32_t)j};
        if (one.value > -INFINITY && (last.number < 0 || goes_first(last, one)) && goes_first(one, best) &&
            one.number != last.number)
            best = one;
    }
    for (int away = LANES / 2; away > 0; away /= 2) {
        Choice other;
        other.value = __shfl_xor_sync(ALL_LANES, best.value, away);
        other.number = __shfl_xor_sync(ALL_LANES, best.number, away);
        if (goes_first(other, best))
            best = other;
    }
    return best;
}

static __global__ void choices_kernel(int32_t *which, float *values, float *one, const float *logits, int32_t wanted,
                                      size_t n, size_t v, size_t k)
{
    size_t i = warp_row();
    if (i >= n)
        return;
    const float *z = logits + i * v;
    Choice chosen = next_choice(z, v, Choice{0, -1});
    float largest = chosen.number >= 0 ? chosen.value : 0, sum = 0;
    for (size_t j = lane(); j < v; j += LANES)
        sum += expf(choosable(z[j]) - largest);
    float log_sum = logf(warp_sum(sum));
    for (size_t m = 0; m < k; m++) { /* all lanes have the same choice */
        if (lane() == 0) {
            which[i * k + m] = chosen.number;
            values[i * k + m] = chosen.number >= 0 ? chosen.value - largest - log_sum : -INFINITY;
        }
        if (chosen.number >= 0)
            chosen = next_choice(z, v, chosen);
    }
    if (lane() == 0)
        one[i] = choosable(z[wanted]) > -INFINITY ? choosable(z[wanted]) - largest - log_sum : -INFINITY;
}

static void choices(Stream *s, int32_t *which, void *values, void *one, const void *logits, int32_t wanted, size_t n,
                    size_t v, size_t k)
{
    LAUNCH_ROWS(s, choices_kernel, n, which, (float *)values, (float *)one, (const float *)logits, wanted, n, v, k);
}
