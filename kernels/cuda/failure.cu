/* What is said of a call of CUDA's that failed: the call and CUDA's words for it, where it is, and what to do about it.
 *
 *     cudaStreamSynchronize(s->queue): an illegal memory access was encountered (kernels/cuda/device.cu:240); ...
 *
 * A GPU works later than it is asked to: what a kernel did wrong, some later call says. */

typedef struct Hint {
    cudaError_t error;
    const char *text;
} Hint;

#define HINT_KERNEL                                                                                                    \
    "a bug in a kernel: CUDA_LAUNCH_BLOCKING=1 ATTEND_GRAPHS=no makes the message name it, --device checked or "       \
    "compute-sanitizer finds the line"
#define HINT_SHAPE   "a bug in attend, or a shape too large for its kernels: --device cpu computes the same"
#define HINT_CAPTURE "ATTEND_GRAPHS=no does without graphs"
#define HINT_ANY     "nvidia-smi and dmesg show whether GPU and driver work; --device cpu needs neither"

static const Hint hints[] = {
    {cudaErrorMemoryAllocation, "smaller batches need less; nvidia-smi shows what else uses the GPU's memory"},
    {cudaErrorNoDevice,
     "nvidia-smi shows driver and GPUs, CUDA_VISIBLE_DEVICES may hide some; --device cpu needs none"},
    {cudaErrorDevicesUnavailable, "another process may have the GPU to itself (nvidia-smi shows it): wait, or choose "
                                  "another with CUDA_VISIBLE_DEVICES"},
    {cudaErrorNoKernelImageForDevice, "this build has no code for this GPU: build with make GPU=native"},
    {cudaErrorUnsupportedPtxVersion, "the driver is too old to compile this build's PTX: build with make GPU=native"},
    {cudaErrorSystemDriverMismatch, "driver and kernel module differ, as happens after an update: restart the machine"},
    {cudaErrorSystemNotReady, "NVIDIA's services are not running: where GPUs are linked, nvidia-fabricmanager"},
    {cudaErrorECCUncorrectable,
     "the GPU's memory has failed (nvidia-smi -q -d ECC): choose another with CUDA_VISIBLE_DEVICES"},
    {cudaErrorLaunchTimeout, "a GPU that drives a display stops long kernels: use smaller batches, or choose another "
                             "with CUDA_VISIBLE_DEVICES"},
    {cudaErrorIllegalAddress, HINT_KERNEL},
    {cudaErrorMisalignedAddress, HINT_KERNEL},
    {cudaErrorLaunchFailure, HINT_KERNEL},
    {cudaErrorInvalidValue, HINT_SHAPE},
    {cudaErrorInvalidConfiguration, HINT_SHAPE},
    {cudaErrorLaunchOutOfResources, HINT_SHAPE},
    {cudaErrorStreamCaptureUnsupported, HINT_CAPTURE},
    {cudaErrorStreamCaptureInvalidated, HINT_CAPTURE},
    {cudaErrorStreamCaptureImplicit, HINT_CAPTURE},
};

static const char *hint_of(cudaError_t error)
{
    for (const Hint &one : hints)
        if (one.error == error)
            return one.text;
    return HINT_ANY;
}

static bool call_fails(Error *e, cudaError_t error, const char *hint, const char *call, const char *file, int line)
{
    return fail(e, "%s: %s (%s:%d); %s", call, cudaGetErrorString(error), file, line, hint);
}

/* For what is told at once: see device.cu for what a stream remembers. */
static bool call_done(Error *e, cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess)
        return true;
    cudaGetLastError(); /* it need not be told again */
    return call_fails(e, error, hint_of(error), call, file, line);
}

#define DONE(e, call) call_done(e, call, #call, __FILE__, __LINE__)
