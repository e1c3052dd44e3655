/* Two passes compared, a vector of logits at a time. See kernels/plain/agreement.c. */

static float log_total(const float *z, size_t v)
{
    const float largest = largest_of(z, v);
    Vec sum = {0};
    for (size_t j = 0; j < v; j += WIDTH) {
        Vec power = vec_exp(load_real(z + j, v - j) - largest);
        sum += v - j < WIDTH ? vec_select(vec_first(v - j), power, vec_set(0)) : power;
    }
    return logf(vec_sum(sum)) + largest;
}

static void agreement_forward(Stream *s, void *losses_, void *saved_, StepState *state, size_t which, const void *x_,
                              const void *z_, const int32_t *targets, double c, size_t n, size_t v)
{
    (void)s;
    const float *x = x_, *z = z_;
    float *losses = losses_, *saved = saved_;
    for (size_t i = 0; i < n; i++, x += v, z += v, saved += 4) {
        losses[i] = saved[0] = saved[1] = saved[2] = saved[3] = 0;
        if (targets[i] < 0)
            continue;
        saved[0] = log_total(x, v);
        saved[1] = log_total(z, v);
        Vec a = {0}, b = {0};
        for (size_t j = 0; j < v; j += WIDTH) {
            const Vec one = load_real(x + j, v - j), two = load_real(z + j, v - j);
            const Vec p = vec_exp(one - saved[0]) * (one - two), q = vec_exp(two - saved[1]) * (one - two);
            a += v - j < WIDTH ? vec_select(vec_first(v - j), p, vec_set(0)) : p;
            b += v - j < WIDTH ? vec_select(vec_first(v - j), q, vec_set(0)) : q;
        }
        saved[2] = vec_sum(a);
        saved[3] = vec_sum(b);
        losses[i] = (float)(c / 2) * (saved[2] - saved[3]);
        state->loss[which].sum += (double)losses[i];
    }
}

static void agreement_backward(Stream *s, void *dx_, bool add_x, void *dz_, bool add_z, const StepState *state,
                               size_t which, const void *saved_, const void *x_, const void *z_, const int32_t *targets,
                               double c, size_t n, size_t v)
{
    (void)s;
    const float *x = x_, *z = z_, *saved = saved_, factor = (float)(c / 2 * state->loss[which].scale);
    Number *dx = dx_, *dz = dz_;
    for (size_t i = 0; i < n; i++, x += v, z += v, dx += v, dz += v, saved += 4)
        for (size_t j = 0; j < v; j += WIDTH) {
            const Vec one = load_real(x + j, v - j), two = load_real(z + j, v - j), apart = one - two;
            const Vec p = vec_exp(one - saved[0]), q = vec_exp(two - saved[1]);
            const bool scored = targets[i] >= 0; /* else p and q may be infinity */
            const Vec of_x = (p * (apart - saved[2]) + p - q) * factor,
                      of_z = (q * (saved[3] - apart) + q - p) * factor;
            store_gradient(dx + j, add_x, scored ? of_x : vec_set(0), v - j);
            store_gradient(dz + j, add_z, scored ? of_z : vec_set(0), v - j);
        }
}
