/* Functions of one number, and their derivatives. See kernels/plain/activation.c for the formulas.
 *
 * There is one step: a thread for each number, or for several, where there are many. Nothing is read twice, so memory is the
 * limit. */

#define SQRT_HALF  0.70710678118654752440f
#define SQRT_2_PI  0.79788456080286535588f /* sqrt(2 / pi) */
#define GELU_CUBE  0.044715f
#define SQRT_1_2PI 0.39894228040143267794f /* 1 / sqrt(2 pi) */
#define FAR        40.0f

static __device__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/* Beyond FAR both GELUs are the ReLU to the last bit, while x^3 may overflow and infinity meet a 0; as it does in SiLU,
 * which is the ReLU at infinity. */
static __device__ Activation far_out(Activation function, float x)
{
    bool gelu = function == ACTIVATION_GELU || function == ACTIVATION_GELU_TANH;
    return (gelu && (x > FAR || x < -FAR)) || (function == ACTIVATION_SILU && isinf(x)) ? ACTIVATION_RELU : function;
}

static __device__ float activation(Activation function, float x)
{
    switch (far_out(function, x)) {
    case ACTIVATION_RELU: return x < 0 ? 0 : x;
    case ACTIVATION_GELU: return x * (1 + erff(x * SQRT_HALF)) / 2;
    case ACTIVATION_GELU_TANH: return x * (1 + tanhf(SQRT_2_PI * (x + GELU_CUBE * x * x * x))) / 2;
    case ACTIVATION_TANH: return tanhf(x);
    case ACTIVATION_SIGMOID: return sigmoid(x);
    case ACTIVATION_SILU: return x * sigmoid(x);
    case ACTIVATION_RELU2: return x < 0 ? 0 : x * x;
    case ACTIVATIONS: break;
    }
    return x;
}

static __device__ float activation_slope(Activation function, float x)
{
    switch (far_out(function, x)) {
    case ACTIVATION_RELU: return x > 0 ? 1.0f : 0.0f;
    case ACTIVATION_GELU: return (1 + erff(x * SQRT_HALF)) / 2 + x * SQRT_1_2PI * expf(-x * x / 2);
    case ACTIVATION_GELU_TANH: {
        float t = tanhf(SQRT_2_PI * (x + GELU_CUBE * x * x * x));
        return (1 + t) / 2 + x * (1 - t * t) / 2 * SQRT_2_PI * (1 + 3 * GELU_CUBE * x * x);
    }
    case ACTIVATION_TANH: return 1 - tanhf(x) * tanhf(x);
    case ACTIVATION_SIGMOID: return sigmoid(x) * (1 - sigmoid(x));
    case ACTIVATION_SILU: return sigmoid(x) * (1 + x * sigmoid(-x));
    case ACTIVATION_RELU2: return x > 0 ? 2 * x : 0.0f;
    case ACTIVATIONS: break;
    }
    return 1;
}

static __global__ void activation_kernel(Number *y, const Number *x, Activation function, size_t n)
{
    for_each(
        n, [&](size_t i) { return real(x[i]); }, [&](size_t i, float of) { y[i] = number(activation(function, of)); });
}

static __global__ void activation_backward_kernel(Number *dx, bool add, const Number *dy, const Number *x,
                                                  Activation function, size_t n)
{
    for_each(
        n, [&](size_t i) { return real(dy[i]) * activation_slope(function, real(x[i])); },
        [&](size_t i, float gradient) { store_gradient(&dx[i], add, gradient); });
}

static void activation_forward(Stream *s, void *y, const void *x, Activation function, size_t n)
{
    LAUNCH_EACH(s, activation_kernel, n, (Number *)y, (const Number *)x, function, n);
}

static void activation_backward(Stream *s, void *dx, bool add, const void *dy, const void *x, Activation function,
                                size_t n)
{
    LAUNCH_EACH(s, activation_backward_kernel, n, (Number *)dx, add, (const Number *)dy, (const Number *)x, function,
                n);
}

static __global__ void softcap_kernel(float *y, const float *x, float cap, size_t n)
{
    for (size_t i = thread_number(); i < n; i += thread_count())
        y[i] = cap * tanhf(x[i] / cap);
}

static __global__ void softcap_backward_kernel(Number *dx, bool add, const Number *dy, const float *y, float cap,
                                               size_t n)
{
    for (size_t i = thread_number(); i < n; i += thread_count()) {
        float part = y[i] / cap;
        store_gradient(&dx[i], add, real(dy[i]) * (1 - part * part));
    }
}

static void softcap_forward(Stream *s, void *y, const void *x, double cap, size_t n)
{
    LAUNCH_EACH(s, softcap_kernel, n, (float *)y, (const float *)x, (float)cap, n);
}

static void softcap_backward(Stream *s, void *dx, bool add, const void *dy, const void *y, double cap, size_t n)
{
    LAUNCH_EACH(s, softcap_backward_kernel, n, (Number *)dx, add, (const Number *)dy, (const float *)y, (float)cap, n);
}
