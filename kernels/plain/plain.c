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
static void store_gradient(Number *gradient, bool add, Real value)
{
    *gradient = number(add ? real(*gradient) + value : value);
}

/* In the order of operations.h, which is also the order in which they need one another. */
/* clang-format off */
#include "device.c"
#include "embed.c"
#include "linear.c"
#include "int8.c"
#include "norm.c"
#include "add.c"
#include "activation.c"
#include "attention_row.c"
#include "score.c"
#include "attention.c"
#include "sink.c"
#include "span.c"
#include "cache.c"
#include "mul.c"
#include "gather.c"
#include "pool.c"
#include "move.c"
#include "composed.c"
#include "experts.c"
#include "cross_entropy.c"
#include "agreement.c"
#include "argmax.c"
#include "choices.c"
#include "optimizer.c"
#include "muon.c"
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
    .upload = copy,
    .download = copy,
    .finish = device_finish,
    .linear_int8 = linear_int8,
#define OPTIONAL_OPERATION(name, arguments, names)
#define OPERATION(name, arguments, names) .name = name,
#include "kernels/operations.h"
};
