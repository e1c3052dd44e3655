/* The readable backend: every operation as its formula in loops, to read and to check the fast backends against.
 *
 * Compiled once per number type, with -DPLAIN_F32, -DPLAIN_F64 or -DPLAIN_BF16. The operations are included, not
 * linked, so that each is written once, against Number and Real, and stays static:
 *
 *     Number  what activations are stored as     real(x)    a Number as a Real, to compute with
 *     Real    what is computed with              number(x)  a Real rounded to a Number, to store
 *
 * One stream is one thread; the team is not used. */
#include "kernels/plain/plain.h"

#include "base/bf16.h"
#include "base/memory.h"
#include "kernels/attend.h"
#include "kernels/dropout.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined PLAIN_F64
typedef double Number, Real;
#define TABLE plain_f64
#define TYPE  NUMBER_F64
static Real real(Number x) { return x; }
static Number number(Real x) { return x; }
static Real real_exp(Real x) { return exp(x); }
static Real real_log(Real x) { return log(x); }
static Real real_sqrt(Real x) { return sqrt(x); }
static Real real_tanh(Real x) { return tanh(x); }
static Real real_erf(Real x) { return erf(x); }
#else
#if defined PLAIN_BF16
typedef Bf16 Number;
#define TABLE plain_bf16
#define TYPE  NUMBER_BF16
#else
typedef float Number;
#define TABLE plain_f32
#define TYPE  NUMBER_F32
#endif
typedef float Real;
#if defined PLAIN_BF16
static Real real(Number x) { return bf16_to_float(x); }
static Number number(Real x) { return bf16_from_float(x); }
#else
static Real real(Number x) { return x; }
static Number number(Real x) { return x; }
#endif
static Real real_exp(Real x) { return expf(x); }
static Real real_log(Real x) { return logf(x); }
static Real real_sqrt(Real x) { return sqrtf(x); }
static Real real_tanh(Real x) { return tanhf(x); }
static Real real_erf(Real x) { return erff(x); }
#endif

/* Writes a gradient: over what is there, or added to it. */
static void give(Number *gradient, bool add, Real value) { *gradient = number(add ? real(*gradient) + value : value); }

/* In the order of kernels.h, which is also the order in which they need one another. */
/* clang-format off */
#include "device.c"
#include "embed.c"
#include "linear.c"
#include "norm.c"
#include "add.c"
#include "activation.c"
#include "score.c"
#include "attention.c"
#include "cache.c"
#include "mul.c"
#include "gather.c"
#include "pool.c"
#include "move.c"
#include "composed.c"
#include "cross_entropy.c"
#include "argmax.c"
#include "choices.c"
#include "optimizer.c"
/* clang-format on */

const Kernels TABLE = {
    .backend = "plain",
    .type = TYPE,
    .number = sizeof(Number),
    .real = sizeof(Real),
    .on_host = true,
    .open = device_open,
    .close = device_close,
    .allocate = device_allocate,
    .release = device_release,
    .upload = device_copy,
    .download = device_copy,
    .copy = device_copy,
    .zero = device_zero,
    .finish = device_finish,
    .embed_forward = embed_forward,
    .embed_backward = embed_backward,
    .linear_forward = linear_forward,
    .linear_backward = linear_backward,
    .norm_forward = norm_forward,
    .norm_backward = norm_backward,
    .add_forward = add_forward,
    .add_backward = add_backward,
    .add_norm_forward = add_norm_forward,
    .add_norm_backward = add_norm_backward,
    .activation_forward = activation_forward,
    .activation_backward = activation_backward,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .cache_lengths = cache_lengths,
    .cache_append = cache_append,
    .gather_lengths = gather_lengths,
    .mul_forward = mul_forward,
    .mul_backward = mul_backward,
    .gather_forward = gather_forward,
    .gather_backward = gather_backward,
    .pool_forward = pool_forward,
    .pool_backward = pool_backward,
    .move = move,
    .transpose = transpose,
    .pad = pad,
    .unpad = unpad,
    .product = product,
    .mask = mask,
    .softmax_forward = softmax_forward,
    .softmax_backward = softmax_backward,
    .dropout_weights = dropout_weights,
    .cross_entropy_forward = cross_entropy_forward,
    .cross_entropy_backward = cross_entropy_backward,
    .argmax = argmax,
    .choices = choices,
    .accumulate = accumulate,
    .convert = convert,
    .squares = squares,
    .clip = clip,
    .adam = adam,
    .adam_rows = adam_rows,
};
