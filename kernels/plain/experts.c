/* A mixture of experts (Shazeer et al. 2017): each position goes to the k experts with its largest scores.
 *
 *     weights = softmax of the chosen scores (Mixtral, 2024); where k is 1, the chosen one's share of the softmax of all (Switch
 *     Transformer, Fedus et al. 2021)
 *
 * Backward, with p the softmax and w the weights:
 *
 *     k = 1     ds_e = dw w ((e is chosen) - p_e)            k > 1     ds_e = w_e (dw_e - sum of w dw), for chosen e
 *
 * Slots, one for each choice, are sorted by expert and then by position, so that what one expert maps is one matrix: a
 * linear map for each expert, of the slots that are its own.
 *
 * An even load: of a row of T positions, with c_e choices of expert e, the load loss is a E/(kT) sum over e of c_e times the
 * sum over positions of p_e, which is a T where all experts get the same (Fedus et al. 2021, for each row as in DeepSeek-V3,
 * 2024). With f_e = a E c_e/(kT), a position's part is f . p, and
 *
 *     ds_e = p_e (f_e - f . p) */

static bool is_chosen(const int32_t *chosen, size_t count, size_t e)
{
    bool found = false;
    for (size_t j = 0; j < count; j++)
        found = found || (size_t)chosen[j] == e;
    return found;
}

/* The k largest, of equal ones the first; their numbers ascend. */
static void choose(int32_t *chosen, const Real *scores, size_t experts, size_t k)
{
    for (size_t j = 0; j < k; j++) {
        size_t best = experts, at = j;
        for (size_t e = 0; e < experts; e++)
            if (!is_chosen(chosen, j, e) && (best == experts || above(scores[e], scores[best])))
                best = e;
        for (; at > 0 && (size_t)chosen[at - 1] > best; at--)
            chosen[at] = chosen[at - 1];
        chosen[at] = (int32_t)best;
    }
}

/* log of the sum of exp of scores: of all (chosen NULL), or of those that are chosen. */
static Real log_total(const Real *scores, const int32_t *chosen, size_t count)
{
    Real largest = -(Real)INFINITY, sum = 0;
    for (size_t j = 0; j < count; j++) {
        const Real x = scores[chosen ? (size_t)chosen[j] : j];
        largest = x > largest ? x : largest;
    }
    for (size_t j = 0; j < count; j++)
        sum += real_exp(scores[chosen ? (size_t)chosen[j] : j] - largest);
    return largest + real_log(sum);
}

static void route_forward(Stream *s, void *weights_, int32_t *expert, int32_t *slot, int32_t *from, int32_t *start,
                          const void *scores_, size_t n, size_t experts, size_t k)
{
    (void)s;
    Number *weights = weights_;
    const Real *scores = scores_;
    for (size_t i = 0; i < n; i++, scores += experts) {
        int32_t *chosen = expert + i * k;
        choose(chosen, scores, experts, k);
        const Real total = k == 1 ? log_total(scores, NULL, experts) : log_total(scores, chosen, k);
        for (size_t j = 0; j < k; j++)
            weights[i * k + j] = number(real_exp(scores[chosen[j]] - total));
    }
    int32_t next = 0;
    for (size_t e = 0; e < experts; e++) {
        start[e] = next;
        for (size_t c = 0; c < n * k; c++)
            if ((size_t)expert[c] == e) {
                from[next] = (int32_t)(c / k);
                slot[c] = next++;
            }
    }
    start[experts] = next;
}

static void route_backward(Stream *s, void *dscores_, bool add, const void *dweights_, const int32_t *expert,
                           const void *scores_, size_t n, size_t experts, size_t k)
{
    (void)s;
    Number *dscores = dscores_;
    const Number *dweights = dweights_;
    const Real *scores = scores_;
    for (size_t i = 0; i < n; i++, scores += experts, dscores += experts, dweights += k, expert += k) {
        const Real total = k == 1 ? log_total(scores, NULL, experts) : log_total(scores, expert, k);
        Real sum = 0; /* of w dw */
        for (size_t j = 0; j < k; j++)
            sum += real_exp(scores[expert[j]] - total) * real(dweights[j]);
        for (size_t e = 0; e < experts; e++) {
            Real d = k == 1 ? -real_exp(scores[e] - total) * sum : 0;
            for (size_t j = 0; j < k; j++)
                if ((size_t)expert[j] == e)
                    d += k == 1 ? sum : real_exp(scores[e] - total) * (real(dweights[j]) - sum);
            store_gradient(&dscores[e], add, d);
        }
    }
}

static void experts_forward(Stream *s, void *y, const void *x, const void *w, const int32_t *start, size_t m, size_t in,
                            size_t out, size_t experts)
{
    (void)m;
    for (size_t e = 0; e < experts; e++)
        linear_forward(s, (Number *)y + (size_t)start[e] * out, false, (const Number *)x + (size_t)start[e] * in,
                       (const Number *)w + e * out * in, NULL, false, (size_t)(start[e + 1] - start[e]), in, out);
}

static void experts_backward(Stream *s, void *dx, bool add, void *dw, void *dy, const void *x, const void *w,
                             const int32_t *start, size_t m, size_t in, size_t out, size_t experts)
{
    (void)m;
    for (size_t e = 0; e < experts; e++) {
        const size_t first = (size_t)start[e];
        linear_backward(s, dx ? (Number *)dx + first * in : NULL, add, dw ? (Real *)dw + e * out * in : NULL, NULL,
                        (Number *)dy + first * out, NULL, (const Number *)x + first * in,
                        (const Number *)w + e * out * in, false, (size_t)start[e + 1] - first, in, out);
    }
}

static void load_loss_forward(Stream *s, void *losses_, void *factors_, StepState *state, size_t which,
                              const void *scores_, const int32_t *expert, double a, const int32_t *start,
                              const int32_t *scored, size_t b, size_t n, size_t experts, size_t k)
{
    Real *losses = losses_, *factors = factors_;
    const Real *scores = scores_;
    zero(s, losses, n * sizeof *losses);
    for (size_t r = 0; r < b; r++, factors += experts) {
        const size_t first = (size_t)start[r], end = (size_t)start[r + 1];
        const size_t targets = scored ? (size_t)(scored[r + 1] - scored[r]) : end - first;
        for (size_t e = 0; e < experts; e++) {
            size_t count = 0;
            for (size_t c = first * k; c < end * k; c++)
                count += (size_t)expert[c] == e;
            factors[e] = end > first ? (Real)(a * (double)(experts * count) / (double)(k * (end - first)) *
                                              (double)targets / (double)(end - first))
                                     : 0;
        }
        for (size_t i = first; i < end; i++) {
            const Real total = log_total(scores + i * experts, NULL, experts);
            for (size_t e = 0; e < experts; e++)
                losses[i] += factors[e] * real_exp(scores[i * experts + e] - total);
            state->loss[which].sum += (double)losses[i];
        }
    }
}

static void load_loss_backward(Stream *s, void *dscores_, bool add, const StepState *state, size_t which,
                               const void *factors_, const void *scores_, const int32_t *start, size_t b, size_t n,
                               size_t experts)
{
    Number *dscores = dscores_;
    const Real *factors = factors_, *scores = scores_, scale = (Real)state->loss[which].scale;
    if (!add)
        zero(s, dscores, n * experts * sizeof *dscores);
    for (size_t r = 0; r < b; r++, factors += experts)
        for (size_t i = (size_t)start[r]; i < (size_t)start[r + 1]; i++) {
            const Real *z = scores + i * experts, total = log_total(z, NULL, experts);
            Real mean = 0;
            for (size_t e = 0; e < experts; e++)
                mean += factors[e] * real_exp(z[e] - total);
            for (size_t e = 0; e < experts; e++)
                store_gradient(&dscores[i * experts + e], true, scale * real_exp(z[e] - total) * (factors[e] - mean));
        }
}
