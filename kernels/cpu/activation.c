/* Functions of one number, a vector at a time. See kernels/plain/activation.c.
 *
 * The exact GELU is x Phi(x), Phi(x) = 1 - tail(x) and Phi(-x) = tail(x) for x >= 0 with
 *
 *     tail(x) = erfc(x / sqrt 2) / 2 = exp(-x^2 / 2) t p(t) / 2,    t = 1 / (1 + 0.4 x / sqrt 2)
 *
 * p was fitted by least squares, weighted until the largest error of erfc was smallest: 3e-8. All other functions come
 * from the vector exponential, the other GELU because (1 + tanh u) / 2 = sigmoid(2u). */

#define SQRT_HALF  0.70710678118654752440f
#define SQRT_2_PI  0.79788456080286535588f /* sqrt(2 / pi) */
#define GELU_CUBE  0.044715f
#define SQRT_1_2PI 0.39894228040143267794f /* 1 / sqrt(2 pi) */
#define FAR        40.0f                   /* beyond it both GELUs are the ReLU to the last bit */
#define SILU_FAR   104.0f                  /* beyond it SiLU is, where exp overflows */

/* Phi(x), the share of a normal distribution below x, with exp(-x^2 / 2) as a by-product. */
INLINE Vec vec_normal(Vec x, Vec *bell)
{
    Vec e = vec_exp(x * x * -0.5f), t = 1.0f / (1.0f + 0.4f * SQRT_HALF * vec_max(x, -x));
    Vec p = vec_set(-0.20026038f);
    p = p * t + 0.70915206f;
    p = p * t - 0.37091576f;
    p = p * t + 0.46828058f;
    p = p * t + 0.16182095f;
    p = p * t + 0.23192252f;
    Vec tail = 0.5f * e * p * t;
    *bell = e;
    return vec_select(x < 0, tail, 1.0f - tail);
}

INLINE Vec vec_sigmoid(Vec x) { return 1.0f / (1.0f + vec_exp(-x)); }

/* For small x the quotient would cancel, so the series x - x^3/3 + 2x^5/15 takes over. */
INLINE Vec vec_tanh(Vec x)
{
    Vec e = vec_exp(x * 2.0f), square = x * x;
    Vec large = 1.0f - 2.0f / (e + 1.0f);
    Vec small = x + x * square * (-0.333333333f + square * (0.133333333f - square * 0.0539682540f));
    return vec_select((square < 0.01f), small, large);
}

/* What a GELU is computed from: so far out nothing changes, but x^3 would overflow and infinity meet a 0. NaN stays. */
INLINE Vec vec_above_far(Vec x) { return vec_max(vec_set(-FAR), x); }
INLINE Vec vec_within_far(Vec x) { return vec_min(vec_set(FAR), vec_above_far(x)); }

INLINE Vec activation(Activation function, Vec x)
{
    Vec near = vec_within_far(x), bell;
    switch (function) {
    case ACTIVATION_RELU: return vec_select(x < 0, vec_set(0), x);
    case ACTIVATION_GELU: return vec_above_far(x) * vec_normal(near, &bell);
    case ACTIVATION_GELU_TANH:
        return vec_above_far(x) * vec_sigmoid(2 * SQRT_2_PI * (near + GELU_CUBE * near * near * near));
    case ACTIVATION_TANH: return vec_tanh(x);
    case ACTIVATION_SIGMOID: return vec_sigmoid(x);
    case ACTIVATION_SILU: return vec_max(vec_set(-SILU_FAR), x) * vec_sigmoid(x);
    case ACTIVATION_RELU2: return vec_select(x < 0, vec_set(0), x * x);
    case ACTIVATIONS: break;
    }
    return x;
}

INLINE Vec activation_slope(Activation function, Vec x)
{
    Vec near = vec_within_far(x), square = near * near;
    switch (function) {
    case ACTIVATION_RELU: return vec_select(x > 0, vec_set(1), vec_set(0));
    case ACTIVATION_GELU: {
        Vec bell, below = vec_normal(near, &bell);
        return below + near * bell * SQRT_1_2PI;
    }
    case ACTIVATION_GELU_TANH: {
        Vec u = 2 * SQRT_2_PI * (near + GELU_CUBE * near * square), below = vec_sigmoid(-u), above = vec_sigmoid(u);
        return above + near * above * below * (2 * SQRT_2_PI) * (1.0f + 3 * GELU_CUBE * square);
    }
    case ACTIVATION_TANH: {
        Vec t = vec_tanh(x);
        return 1.0f - t * t;
    }
    case ACTIVATION_SIGMOID: {
        Vec y = vec_sigmoid(x);
        return y * (1.0f - y);
    }
    case ACTIVATION_SILU: {
        Vec u = vec_min(vec_set(SILU_FAR), vec_max(vec_set(-SILU_FAR), x));
        return vec_sigmoid(u) * (1.0f + u * vec_sigmoid(-u));
    }
    case ACTIVATION_RELU2: return vec_select(x > 0, 2.0f * x, vec_set(0));
    case ACTIVATIONS: break;
    }
    return vec_set(1);
}

static void activation_forward(Stream *s, void *y_, const void *x_, Activation function, size_t n)
{
    (void)s;
    const Number *x = x_;
    Number *y = y_;
    for (size_t i = 0; i < n; i += WIDTH)
        store(y + i, activation(function, load(x + i, n - i)), n - i);
}

static void activation_backward(Stream *s, void *dx_, bool add, const void *dy_, const void *x_, Activation function,
                                size_t n)
{
    (void)s;
    const Number *dy = dy_, *x = x_;
    Number *dx = dx_;
    for (size_t i = 0; i < n; i += WIDTH)
        store_gradient(dx + i, add, load(dy + i, n - i) * activation_slope(function, load(x + i, n - i)), n - i);
}

static void softcap_forward(Stream *s, void *y_, const void *x_, double cap, size_t n)
{
    (void)s;
    const float *x = x_;
    float *y = y_;
    for (size_t i = 0; i < n; i += WIDTH)
        store_real(y + i, vec_tanh(load_real(x + i, n - i) / (float)cap) * (float)cap, n - i);
}

static void softcap_backward(Stream *s, void *dx_, bool add, const void *dy_, const void *y_, double cap, size_t n)
{
    (void)s;
    const Number *dy = dy_;
    const float *y = y_;
    Number *dx = dx_;
    for (size_t i = 0; i < n; i += WIDTH) {
        Vec part = load_real(y + i, n - i) / (float)cap;
        store_gradient(dx + i, add, load(dy + i, n - i) * (1.0f - part * part), n - i);
    }
}
