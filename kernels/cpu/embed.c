/* Embedding, a vector at a time. See kernels/plain/embed.c. */

static void embed_forward(Stream *s, void *y_, const int32_t *ids, const int32_t *position, const void *table_,
                          const void *positions_, double scale, Dropout drop, const StepState *state, size_t n,
                          size_t d)
{
    (void)s;
    const float *table = table_, *positions = positions_;
    Number *y = y_;
    Factors factors = {.drop = drop, .state = state};

    for (size_t i = 0; i < n; i++, y += d) {
        if (position[i] < 0) {
            memset(y, 0, d * sizeof *y);
            continue;
        }
        const float *token = table + (size_t)ids[i] * d;
        const float *vector = positions ? positions + (size_t)position[i] * d : NULL;
        factors.position = i;
        for (size_t j = 0; j < d; j += WIDTH) {
            Vec sum = load_real(token + j, d - j) * (float)scale;
            if (vector)
                sum += load_real(vector + j, d - j);
            store(y + j, sum * factors_at(&factors, j), d - j);
        }
    }
}

static void embed_backward(Stream *s, void *dtable_, void *dpositions_, const void *dy_, const int32_t *slots,
                           const int32_t *position, double scale, Dropout drop, const StepState *state, size_t n,
                           size_t d)
{
    (void)s;
    const Number *dy = dy_;
    float *dtable = dtable_, *dpositions = dpositions_;
    Factors factors = {.drop = drop, .state = state};

    for (size_t i = 0; i < n; i++, dy += d) {
        if (position[i] < 0)
            continue;
        float *dtoken = dtable + (size_t)slots[i] * d;
        float *dvector = dpositions ? dpositions + (size_t)position[i] * d : NULL;
        factors.position = i;
        for (size_t j = 0; j < d; j += WIDTH) {
            Vec value = load(dy + j, d - j) * factors_at(&factors, j);
            store_real(dtoken + j, load_real(dtoken + j, d - j) + value * (float)scale, d - j);
            if (dvector)
                store_real(dvector + j, load_real(dvector + j, d - j) + value, d - j);
        }
    }
}
