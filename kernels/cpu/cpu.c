/* The fast backend: each operation of kernels/plain in vector code, under the same file name.
 *
 * Compiled once per number type, with -DCPU_F32 or -DCPU_BF16; the operations are included, not linked, so that each
 * is written once, against Number, load and store. Sums, statistics and softmax are computed in float. */
#include "kernels/cpu/cpu.h"

#include "base/memory.h"
#include "kernels/attend.h"
#include "kernels/cpu/level.h"
#include "kernels/cpu/random.h"
#include "kernels/cpu/stream.h"
#include "kernels/cpu/tile.h"
#include "kernels/dropout.h"
#include "kernels/lazy_rows.h"
#include "kernels/plain/plain.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#if defined CPU_BF16
typedef Bf16 Number;
#define TABLE   cpu_bf16
#define PLAIN   plain_bf16
#define TYPE    NUMBER_BF16
#define ELEMENT ELEMENT_BF16
#define NOTE    cpu_bf16_note
#define PAIRS   true /* a unit of 32 bits is two numbers */
#define ROUGH   true /* weights that are stored and not summed up: they are rounded to 8 bits */
INLINE Vec load_whole(const Number *p) { return bf16_load(p); }
INLINE Vec load_some(const Number *p, size_t n) { return bf16_load_some(p, n); }
INLINE void store_whole(Number *p, Vec v) { bf16_store(p, v); }
INLINE void store_some(Number *p, Vec v, size_t n) { bf16_store_some(p, v, n); }
#else
typedef float Number;
#define TABLE   cpu_f32
#define PLAIN   plain_f32
#define TYPE    NUMBER_F32
#define ELEMENT ELEMENT_F32
#define NOTE    NULL
#define PAIRS   false
#define ROUGH   false
INLINE Vec load_whole(const Number *p) { return vec_load(p); }
INLINE Vec load_some(const Number *p, size_t n) { return vec_load_some(p, n); }
INLINE void store_whole(Number *p, Vec v) { vec_store(p, v); }
INLINE void store_some(Number *p, Vec v, size_t n) { vec_store_some(p, v, n); }
#endif

/* The next vector of numbers or reals that begins n before an end; what is past the end is 0 and stays untouched.
 */
INLINE Vec load(const Number *p, size_t n) { return n >= WIDTH ? load_whole(p) : load_some(p, n); }
INLINE Vec load_real(const float *p, size_t n) { return n >= WIDTH ? vec_load(p) : vec_load_some(p, n); }

INLINE void store(Number *p, Vec v, size_t n)
{
    if (n >= WIDTH)
        store_whole(p, v);
    else
        store_some(p, v, n);
}

INLINE void store_real(float *p, Vec v, size_t n)
{
    if (n >= WIDTH)
        vec_store(p, v);
    else
        vec_store_some(p, v, n);
}

/* Writes a gradient: over what is there, or added to it. */
INLINE void store_gradient(Number *p, bool add, Vec v, size_t n) { store(p, add ? load(p, n) + v : v, n); }

/* In the order of operations.h, which is also the order in which they need one another and what they share. */
/* clang-format off */
#include "device.c"
#include "embed.c"
#include "rows.c"
#include "linear.c"
#include "int8.c"
#include "norm.c"
#include "add.c"
#include "activation.c"
#if PAIRS && !DOTS
#include "attention_widened.c"
#else
#include "weighted_sum.c"
#include "attention_pack.c"
#include "attention_head.c"
#include "score.c"
#include "attention_narrow.c"
#include "attention_narrow_backward.c"
#include "attention.c"
#endif
#include "pool.c"
#include "mul.c"
#include "gather.c"
#include "move.c"
#include "cross_entropy.c"
#include "agreement.c"
#include "argmax.c"
#include "choices.c"
#include "optimizer.c"
#include "composed.c"
#include "experts.c"
/* clang-format on */

/* What this backend has no entry for is plain's (see kernels_complete): there is nothing to be made faster. */
#define MISSING_cache_lengths      0, NULL,
#define MISSING_cache_append       0, NULL,
#define MISSING_sink_forward       0, NULL,
#define MISSING_sink_backward      0, NULL,
#define MISSING_span_forward       0, NULL,
#define MISSING_span_backward      0, NULL,
#define MISSING_gather_forward     0, NULL,
#define MISSING_pad                0, NULL,
#define MISSING_unpad              0, NULL,
#define MISSING_mask               0, NULL,
#define MISSING_keep_largest       0, NULL,
#define MISSING_dropout_weights    0, NULL,
#define MISSING_route_forward      0, NULL,
#define MISSING_route_backward     0, NULL,
#define MISSING_load_loss_forward  0, NULL,
#define MISSING_load_loss_backward 0, NULL,
#define MISSING_z_loss_forward     0, NULL,
#define MISSING_widen              0, NULL,
#define MISSING_clamp              0, NULL,
#define MISSING_clip               0, NULL,
#define MISSING_lion               0, NULL,
#define MISSING_momentum           0, NULL,
#define MISSING_unit               0, NULL,
#define MISSING_descend            0, NULL,
#define MISSING_factors            0, NULL,
#define MISSING_adafactor          0, NULL,
const Kernels TABLE = {
    .backend = "cpu",
    .type = TYPE,
    .number = sizeof(Number),
    .real = sizeof(float),
    .there = cpu_there,
    .on_host = true,
    .by_head = true,
    .note = NOTE,
    .open = stream_open,
    .close = stream_close,
    .allocate = device_allocate,
    .release = memory_free,
    .upload = copy,
    .download = copy,
    .finish = stream_finish,
    .hold = stream_hold,
    .read_speed = limits_read,
#define OPERATION(name, arguments, names) .name = ENTRY(name),
#include "kernels/operations.h"
};
