/* Functions of one number, and their derivatives.
 *
 *     relu       max(x, 0)
 *     gelu       x Phi(x), Phi the normal distribution function       (Hendrycks, Gimpel 2016)
 *     gelu-tanh  x (1 + tanh u) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3)
 *     tanh, sigmoid
 *     silu       x sigmoid(x), also called swish                      (Elfwing et al. 2017)
 *     relu2      max(x, 0)^2                                          (So et al. 2021)
 *
 * And softcap: y = cap tanh(x / cap), of reals, whose slope is 1 - (y / cap)^2. */

#define SQRT_HALF  ((Real)0.70710678118654752440)
#define SQRT_2_PI  ((Real)0.79788456080286535588) /* sqrt(2 / pi) */
#define GELU_CUBE  ((Real)0.044715)
#define SQRT_1_2PI ((Real)0.39894228040143267794) /* 1 / sqrt(2 pi) */
#define FAR        40

static Real sigmoid(Real x) { return 1 / (1 + real_exp(-x)); }

/* Beyond FAR both GELUs are the ReLU to the last bit, while x^3 may overflow and infinity meet a 0; as it does in SiLU,
 * which is the ReLU at infinity. */
static Activation far_out(Activation function, Real x)
{
    bool gelu = function == ACTIVATION_GELU || function == ACTIVATION_GELU_TANH;
    return (gelu && (x > FAR || x < -FAR)) || (function == ACTIVATION_SILU && isinf(x)) ? ACTIVATION_RELU : function;
}

static Real activation(Activation function, Real x)
{
    switch (far_out(function, x)) {
    case ACTIVATION_RELU: return x < 0 ? 0 : x;
    case ACTIVATION_GELU: return x * (1 + real_erf(x * SQRT_HALF)) / 2;
    case ACTIVATION_GELU_TANH: return x * (1 + real_tanh(SQRT_2_PI * (x + GELU_CUBE * x * x * x))) / 2;
    case ACTIVATION_TANH: return real_tanh(x);
    case ACTIVATION_SIGMOID: return sigmoid(x);
    case ACTIVATION_SILU: return x * sigmoid(x);
    case ACTIVATION_RELU2: return x < 0 ? 0 : x * x;
    case ACTIVATIONS: break;
    }
    return x;
}

static Real activation_slope(Activation function, Real x)
{
    switch (far_out(function, x)) {
    case ACTIVATION_RELU: return x > 0 ? 1 : 0;
    case ACTIVATION_GELU: return (1 + real_erf(x * SQRT_HALF)) / 2 + x * SQRT_1_2PI * real_exp(-x * x / 2);
    case ACTIVATION_GELU_TANH: {
        Real t = real_tanh(SQRT_2_PI * (x + GELU_CUBE * x * x * x));
        return (1 + t) / 2 + x * (1 - t * t) / 2 * SQRT_2_PI * (1 + 3 * GELU_CUBE * x * x);
    }
    case ACTIVATION_TANH: return 1 - real_tanh(x) * real_tanh(x);
    case ACTIVATION_SIGMOID: return sigmoid(x) * (1 - sigmoid(x));
    case ACTIVATION_SILU: return sigmoid(x) * (1 + x * sigmoid(-x));
    case ACTIVATION_RELU2: return x > 0 ? 2 * x : 0;
    case ACTIVATIONS: break;
    }
    return 1;
}

static void activation_forward(Stream *s, void *y_, const void *x_, Activation function, size_t n)
{
    (void)s;
    const Number *x = x_;
    Number *y = y_;
    for (size_t i = 0; i < n; i++)
        y[i] = number(activation(function, real(x[i])));
}

static void activation_backward(Stream *s, void *dx_, bool add, const void *dy_, const void *x_, Activation function,
                                size_t n)
{
    (void)s;
    const Number *dy = dy_, *x = x_;
    Number *dx = dx_;
    for (size_t i = 0; i < n; i++)
        store_gradient(&dx[i], add, real(dy[i]) * activation_slope(function, real(x[i])));
}

static void softcap_forward(Stream *s, void *y_, const void *x_, double cap, size_t n)
{
    (void)s;
    const Real *x = x_;
    Real *y = y_;
    for (size_t i = 0; i < n; i++)
        y[i] = (Real)cap * real_tanh(x[i] / (Real)cap);
}

static void softcap_backward(Stream *s, void *dx_, bool add, const void *dy_, const void *y_, double cap, size_t n)
{
    (void)s;
    const Number *dy = dy_;
    const Real *y = y_;
    Number *dx = dx_;
    for (size_t i = 0; i < n; i++) {
        Real part = y[i] / (Real)cap;
        store_gradient(&dx[i], add, real(dy[i]) * (1 - part * part));
    }
}
