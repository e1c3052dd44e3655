/* The GPU backend: every operation of kernels/plain as CUDA kernels, under the same file name.
 *
 * Compiled once per number type, with -DCUDA_F32 or -DCUDA_BF16, by nvcc or, with an emulator in place of CUDA, by a
 * C++ compiler (see cuda.h). As in the other backends the operations are included, not linked, so that each is written
 * once. A function in these files whose name ends in _kernel or _naive runs on the device; the one with the operation's
 * name launches it. */
extern "C" { /* these are C alone */
#include "base/error.h"
#include "base/memory.h"
}
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/launch.h"

#define ATTEND_INLINE static __host__ __device__ inline
#include "kernels/attend.h"
#include "kernels/cuda/mma.h"
#include "kernels/cuda/random.h"
#include "kernels/cuda/sums.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined CUDA_BF16
#define TYPE           NUMBER_BF16
#define TABLE(backend) backend##_bf16
#else
#define TYPE           NUMBER_F32
#define TABLE(backend) backend##_f32
#endif

#if defined __CUDACC__
#define BACKEND  "cuda"
#define OWN      TABLE(cuda)
#define OWN_TF32 cuda_tf32
#elif defined EMULATOR_CHECKED
#define BACKEND  "checked"
#define OWN      TABLE(checked)
#define OWN_TF32 checked_tf32
#else
#define BACKEND  "emulated"
#define OWN      TABLE(emulated)
#define OWN_TF32 emulated_tf32
#endif

/* In the order of kernels.h, which is also the order in which they need one another. */
/* clang-format off */
#include "failure.cu"
#include "blas.cu"
#include "device.cu"
namespace { /* see launch.h */
#include "order.cu"
#include "embed.cu"
#include "matmul.cu"
#include "linear.cu"
#include "norm.cu"
#include "add.cu"
#include "activation.cu"
#include "score.cu"
#include "attention_tile.cu"
#include "attention_tile_backward.cu"
#include "attention_distances.cu"
#include "attention_mma.cu"
#include "attention_mma_backward.cu"
#include "attention.cu"
#include "cache.cu"
#include "mul.cu"
#include "gather.cu"
#include "pool.cu"
#include "move.cu"
#include "composed.cu"
#include "cross_entropy.cu"
#include "argmax.cu"
#include "choices.cu"
#include "optimizer.cu"
} // namespace
/* clang-format on */

static constexpr Kernels table()
{
    Kernels k = {};
    k.backend = BACKEND;
    k.type = TYPE;
    k.number = sizeof(Number);
    k.real = sizeof(float);
    k.on_host = false;
    k.note = device_note;
    k.there = device_there;
    k.open = device_open;
    k.close = device_close;
    k.allocate = device_allocate;
    k.release = device_release;
    k.upload = device_upload;
    k.download = device_download;
    k.copy = device_copy;
    k.zero = device_zero;
    k.finish = device_finish;
    k.capture = device_capture;
    k.captured = device_captured;
    k.replay = device_replay;
    k.forget = device_forget;
    k.send = device_send;
    k.fetch = device_fetch;
    k.embed_forward = embed_forward;
    k.embed_backward = embed_backward;
    k.linear_forward = linear_forward;
    k.linear_backward = linear_backward;
    k.norm_forward = norm_forward;
    k.norm_backward = norm_backward;
    k.add_forward = add_forward;
    k.add_backward = add_backward;
    k.add_norm_forward = add_norm_forward;
    k.add_norm_backward = add_norm_backward;
    k.activation_forward = activation_forward;
    k.activation_backward = activation_backward;
    k.attention_forward = attention_forward;
    k.attention_backward = attention_backward;
    k.cache_lengths = cache_lengths;
    k.cache_append = cache_append;
    k.gather_lengths = gather_lengths;
    k.mul_forward = mul_forward;
    k.mul_backward = mul_backward;
    k.gather_forward = gather_forward;
    k.gather_backward = gather_backward;
    k.pool_forward = pool_forward;
    k.pool_backward = pool_backward;
    k.move = move;
    k.transpose = transpose;
    k.pad = pad;
    k.unpad = unpad;
    k.product = product;
    k.mask = mask;
    k.softmax_forward = softmax_forward;
    k.softmax_backward = softmax_backward;
    k.dropout_weights = dropout_weights;
    k.cross_entropy_forward = cross_entropy_forward;
    k.cross_entropy_backward = cross_entropy_backward;
    k.argmax = argmax;
    k.choices = choices;
    k.accumulate = accumulate;
    k.convert = convert;
    k.squares = squares;
    k.clip = clip;
    k.adam = adam;
    k.adam_rows = adam_rows;
    return k;
}

extern "C" constexpr Kernels OWN = table();

#if !defined CUDA_BF16
static constexpr Kernels table_tf32()
{
    Kernels k = table();
    k.type = NUMBER_TF32;
    k.there = device_there_tf32;
    k.open = device_open_tf32;
    return k;
}

extern "C" constexpr Kernels OWN_TF32 = table_tf32();
#endif
