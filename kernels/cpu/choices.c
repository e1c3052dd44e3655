/* The k likeliest classes in two passes over a row that stays in the second cache: the largest logit of each block of
 * classes; then the sum of exponentials. No logit below the k-th largest of the blocks' can be among the k largest, so
 * only blocks that reach it are looked at one class at a time. See kernels/plain/choices.c. */

enum { PEAKS = 256 }; /* blocks of a row at most */

typedef struct ChoicesWork {
    int32_t *which;
    float *values, *one;
    const float *logits;
    size_t class, v, k;
} ChoicesWork;

/* Classes j on, as they count: NaN is -infinity, infinity the largest finite number; and so is what is after. */
INLINE Vec choosable(const float *z, size_t j, size_t v)
{
    Vec next = vec_max(vec_min(vec_set(FLT_MAX), load_real(z + j, v - j)), vec_set(-INFINITY));
    return v - j < WIDTH ? vec_select(vec_first(v - j), next, vec_set(-INFINITY)) : next;
}

static float choosable_one(float z) { return z > FLT_MAX ? FLT_MAX : z == z ? z : -INFINITY; }

/* The largest of each block of classes; returns the largest of all. */
static float find_peaks(float *peaks, const float *z, size_t v, size_t block)
{
    Vec most = vec_set(-INFINITY);
    for (size_t from = 0; from < v; from += block, peaks++) {
        size_t end = from + block < v ? from + block : v;
        Vec peak = vec_set(-INFINITY);
        for (size_t j = from; j < end; j += WIDTH)
            peak = vec_max(choosable(z, j, end), peak);
        *peaks = vec_largest(peak);
        most = vec_max(peak, most);
    }
    return vec_largest(most);
}

static float sum_of_powers(const float *z, size_t v, float largest)
{
    Vec sum = {0};
    for (size_t j = 0; j < v; j += WIDTH)
        sum += vec_exp(choosable(z, j, v) - largest);
    return vec_sum(sum);
}

/* z finds its place among the best `count` of at most k values so far, after its equals; which NULL: the values alone
 * matter. Returns how many there are now. */
static size_t insert(float *values, int32_t *which, size_t count, size_t k, float z, size_t j)
{
    if (!k || !(z > -INFINITY) || (count == k && z <= values[k - 1]))
        return count;
    size_t at = count < k ? count++ : k - 1;
    for (; at > 0 && values[at - 1] < z; at--) {
        values[at] = values[at - 1];
        if (which)
            which[at] = which[at - 1];
    }
    values[at] = z;
    if (which)
        which[at] = (int32_t)j;
    return count;
}

static void choose_row(const ChoicesWork *w, size_t i)
{
    const size_t v = w->v, k = w->k, block = (v / PEAKS / WIDTH + 1) * WIDTH, blocks = (v + block - 1) / block;
    const float *z = w->logits + i * v;
    float peaks[PEAKS], *values = w->values + i * k, one = choosable_one(z[w->class]);
    int32_t *which = w->which + i * k;
    float largest = find_peaks(peaks, z, v, block);
    size_t count = 0;
    for (size_t b = 0; b < blocks; b++)
        count = insert(values, NULL, count, k, peaks[b], b);
    float least = k && count == k ? values[k - 1] : -INFINITY;
    count = 0;
    for (size_t b = 0; b < blocks; b++)
        for (size_t j = b * block; peaks[b] >= least && j < (b + 1) * block && j < v; j++)
            count = insert(values, which, count, k, choosable_one(z[j]), j);
    largest = largest > -INFINITY ? largest : 0;
    float log_sum = logf(sum_of_powers(z, v, largest));
    for (size_t m = 0; m < k; m++) {
        which[m] = m < count ? which[m] : -1;
        values[m] = m < count ? (values[m] - largest) - log_sum : -INFINITY;
    }
    w->one[i] = one > -INFINITY ? (one - largest) - log_sum : -INFINITY;
}

static void choose_rows(void *argument, size_t member, size_t first, size_t end)
{
    (void)member;
    for (size_t i = first; i < end; i++)
        choose_row(argument, i);
}

static void choices(Stream *s, int32_t *which, void *values, void *one, const void *logits, int32_t class, size_t n,
                    size_t v, size_t k)
{
    ChoicesWork w = {which, values, one, logits, (size_t) class, v, k};
    stream_share(s, (Shared){n, 1, n * v, choose_rows, &w});
}
