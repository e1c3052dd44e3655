/* A linear map in whole numbers of 8 bits, for inference: each row of x and of w is divided by its own step, rounded, and
 * the sums of products, which are exact, are multiplied by both steps again.
 *
 *     step_x[n] = max |x[n]| / 127        q_x[n,i] = round(x[n,i] / step_x[n])        (w likewise)
 *     y[n,o] = (sum over i of q_x[n,i] q_w[o,i]) step_x[n] step_w[o] + bias[o]
 *
 * Steps and the division are computed in float, so that all backends round alike. */

/* The inverse of a row's step, and the step; of a row with a number that is not finite, a step of NaN. */
static float int8_inverse(const Number *row, size_t n, float *step)
{
    float most = 0;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        const float x = fabsf((float)real(row[i]));
        most = x > most ? x : most;
        finite = finite && x <= FLT_MAX;
    }
    *step = !finite ? NAN : most >= INT8_LEAST ? most / 127 : 0;
    return *step > 0 ? 127 / most : 0;
}

static int32_t int8_round(Number x, float inverse) { return (int32_t)rintf((float)real(x) * inverse); }

static void linear_int8(Stream *s, void *y_, bool real_output, const void *x_, const void *w_, const void *bias_,
                        bool relu, size_t n, size_t in, size_t out)
{
    const Number *x = x_, *w = w_;
    const Real *bias = bias_;
    if (in > INT8_MOST) {
        linear_forward(s, y_, real_output, x, w, bias, relu, n, in, out);
        return;
    }
    for (size_t o = 0; o < out; o++) {
        float step_w, inverse_w = int8_inverse(w + o * in, in, &step_w);
        for (size_t i = 0; i < n; i++) {
            float step_x, inverse_x = int8_inverse(x + i * in, in, &step_x);
            int32_t sum = 0;
            for (size_t j = 0; step_x > 0 && step_w > 0 && j < in; j++)
                sum += int8_round(x[i * in + j], inverse_x) * int8_round(w[o * in + j], inverse_w);
            Real y = (Real)((float)sum * (step_x * step_w)) + (bias ? bias[o] : 0);
            y = relu && y < 0 ? 0 : y;
            if (real_output)
                ((Real *)y_)[i * out + o] = y;
            else
                ((Number *)y_)[i * out + o] = number(y);
        }
    }
}
