/* The GPU backend: every operation of kernels/plain as CUDA kernels, under the same file name.
 *
 * Compiled once per number type, with -DCUDA_F32 or -DCUDA_BF16, by nvcc or, with an emulator in place of CUDA, by a
 * C++ compiler (see cuda.h). As in the other backends the operations are included, not linked, so that each is written
 * once. A function in these files whose name ends in _kernel or _naive runs on the device; the one with the operation's
 * name launches it. */
extern "C" { /* these are C alone */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/ranks.h"
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
#include "peers.cu"
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
#include "sink.cu"
#include "span.cu"
#include "cache.cu"
#include "mul.cu"
#include "gather.cu"
#include "pool.cu"
#include "move.cu"
#include "composed.cu"
#include "experts.cu"
#include "cross_entropy.cu"
#include "agreement.cu"
#include "argmax.cu"
#include "choices.cu"
#include "optimizer.cu"
#include "muon.cu"
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
    k.one_worker = true;
    k.note = device_note;
    k.there = device_there;
    k.open = device_open;
    k.close = device_close;
    k.allocate = device_allocate;
    k.release = device_release;
    k.upload = device_upload;
    k.download = device_download;
    k.finish = device_finish;
    k.capture = device_capture;
    k.captured = device_captured;
    k.replay = device_replay;
    k.forget = device_forget;
    k.meet = device_meet;
    k.part = device_part;
    k.exchange = device_exchange;
    k.send = device_send;
    k.fetch = device_fetch;
#define OPTIONAL_OPERATION(name, arguments, names)
#define OPERATION(name, arguments, names) k.name = ENTRY(name);
#include "kernels/operations.h"
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
