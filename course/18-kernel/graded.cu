/* An exercise.cu for one device: compiled once for the emulator, and once with each access to memory looked at. What is
 * included gets a namespace of its own, as in kernels/cuda/cuda.cu, so that both can be linked to one program. GRADED
 * is the file's name, from the Makefile. */
#include "course/18-kernel/gpu.h"

#include <float.h>
#include <stdint.h>

namespace
{
#include GRADED
}

#ifdef EMULATOR_CHECKED
const Gpu gpu_checked = {scale_on_gpu, softmax_on_gpu, attend_on_gpu};
#else
const Gpu gpu_emulated = {scale_on_gpu, softmax_on_gpu, attend_on_gpu};
#endif
