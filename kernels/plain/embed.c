/* Embedding: a token's vector, scaled, plus the vector of its position in the row, then dropout.
 *
 *     y[n] = dropout(scale * table[ids[n]] + positions[position[n]])
 *
 * Backward: each vector used gathers the gradients of all positions that used it. */

static void embed_forward(Stream *s, void *y_, const int32_t *ids, const int32_t *position, const void *table_,
                          const void *positions_, double scale, Dropout drop, const StepState *state, size_t n,
                          size_t d)
{
    (void)s;
    const Real *table = table_, *positions = positions_;
    Number *y = y_;

    for (size_t i = 0; i < n; i++, y += d) {
        for (size_t j = 0; j < d; j++) {
            Real sum = 0;
            if (position[i] >= 0)
                sum = (Real)scale * table[(size_t)ids[i] * d + j];
            if (position[i] >= 0 && positions)
                sum += positions[(size_t)position[i] * d + j];
            y[j] = number(sum * (Real)dropout_factor(drop, state, i, 0, j));
        }
    }
}

static void embed_backward(Stream *s, void *dtable_, void *dpositions_, const void *dy_, const int32_t *slots,
                           const int32_t *position, double scale, Dropout drop, const StepState *state, size_t n,
                           size_t d)
{
    (void)s;
    const Number *dy = dy_;
    Real *dtable = dtable_, *dpositions = dpositions_;

    for (size_t i = 0; i < n; i++, dy += d) {
        if (position[i] < 0)
            continue;
        for (size_t j = 0; j < d; j++) {
            Real value = real(dy[j]) * (Real)dropout_factor(drop, state, i, 0, j);
            dtable[(size_t)slots[i] * d + j] += (Real)scale * value;
            if (dpositions)
                dpositions[(size_t)position[i] * d + j] += value;
        }
    }
}
