/* The likeliest class: its logit a vector at a time, then where it is. See kernels/plain/argmax.c. */

static bool any_nan(const float *z, size_t v)
{
    IVec nan = {0};
    int32_t any = 0;
    for (size_t j = 0; j < v; j += WIDTH) {
        Vec next = load_real(z + j, v - j);
        nan |= next != next;
    }
    for (int i = 0; i < WIDTH; i++)
        any |= nan[i];
    return any;
}

static void argmax(Stream *s, int32_t *y, const void *logits, size_t n, size_t v)
{
    (void)s;
    const float *z = logits;
    for (size_t i = 0; i < n; i++, z += v) {
        bool nan = any_nan(z, v);
        float largest = largest_of(z, v); /* of the others */
        int32_t j = 0;
        while (nan ? z[j] == z[j] : z[j] != largest)
            j++;
        y[i] = j;
    }
}
