/* The part of CUDA's runtime that kernels/cuda uses, for machines without it: memory, copies, streams, events, graphs,
 * errors.
 *
 * What a stream is asked for is done when it is waited for, as late as possible (see queue.h); what it captures is
 * noted and not done. A failed launch is told by the next call that waits for its stream, and once; cudaGetErrorString
 * words it in full. Calls that kernels/cuda may fail at do so where ATTEND_FAIL says it (see plant.c). */
#ifndef KERNELS_CUDA_EMULATOR_RUNTIME_H
#define KERNELS_CUDA_EMULATOR_RUNTIME_H

#include <stddef.h>

/* Programs that are built for GPUs, too, have CUDA's own functions beside these. */
#define cudaGetDeviceCount            emulated_cudaGetDeviceCount
#define cudaDeviceGetAttribute        emulated_cudaDeviceGetAttribute
#define cudaDriverGetVersion          emulated_cudaDriverGetVersion
#define cudaFuncGetAttributes         emulated_cudaFuncGetAttributes
#define cudaMalloc                    emulated_cudaMalloc
#define cudaFree                      emulated_cudaFree
#define cudaMemcpyAsync               emulated_cudaMemcpyAsync
#define cudaMemsetAsync               emulated_cudaMemsetAsync
#define cudaMemset                    emulated_cudaMemset
#define cudaMallocHost                emulated_cudaMallocHost
#define cudaFreeHost                  emulated_cudaFreeHost
#define cudaStreamCreate              emulated_cudaStreamCreate
#define cudaStreamCreateWithFlags     emulated_cudaStreamCreateWithFlags
#define cudaStreamDestroy             emulated_cudaStreamDestroy
#define cudaStreamSynchronize         emulated_cudaStreamSynchronize
#define cudaEventCreateWithFlags      emulated_cudaEventCreateWithFlags
#define cudaEventDestroy              emulated_cudaEventDestroy
#define cudaEventRecord               emulated_cudaEventRecord
#define cudaEventSynchronize          emulated_cudaEventSynchronize
#define cudaStreamWaitEvent           emulated_cudaStreamWaitEvent
#define cudaStreamBeginCapture        emulated_cudaStreamBeginCapture
#define cudaStreamEndCapture          emulated_cudaStreamEndCapture
#define cudaGraphInstantiateWithFlags emulated_cudaGraphInstantiateWithFlags
#define cudaGraphLaunch               emulated_cudaGraphLaunch
#define cudaGraphExecDestroy          emulated_cudaGraphExecDestroy
#define cudaGraphDestroy              emulated_cudaGraphDestroy
#define cudaGetLastError              emulated_cudaGetLastError
#define cudaGetErrorString            emulated_cudaGetErrorString

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorDevicesUnavailable = 46,
    cudaErrorNoDevice = 100,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorECCUncorrectable = 214,
    cudaErrorUnsupportedPtxVersion = 222,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702,
    cudaErrorMisalignedAddress = 716,
    cudaErrorLaunchFailure = 719,
    cudaErrorSystemNotReady = 802,
    cudaErrorSystemDriverMismatch = 803,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureImplicit = 906,
    cudaErrorUnknown = 999
} cudaError_t;

typedef enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice } cudaMemcpyKind;

typedef struct CUstream_st *cudaStream_t;

typedef enum cudaDeviceAttr {
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76
} cudaDeviceAttr;

enum { CUDART_VERSION = 13000 };

typedef struct cudaFuncAttributes {
    size_t sharedSizeBytes; /* 0: not used here */
} cudaFuncAttributes;

/* ATTEND_GPU is the capability of the one device there is, as 7.5, or `none`, which has no driver either. */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel);

/* Copies from the host read pages of cudaMallocHost when they are done, others before the call returns; copies to the
 * host are over after a wait, to other pages when the call returns. */
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemset(void *to, int value, size_t bytes);
cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

typedef struct CUevent_st *cudaEvent_t;
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);

/* Launches, copies within the device and memsets can be captured; whatever waits, or reads or writes the host's memory,
 * cannot, which is stricter than CUDA. */
typedef struct EmulatorGraph *cudaGraph_t, *cudaGraphExec_t;
typedef enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 } cudaStreamCaptureMode;
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t error);

#ifdef __cplusplus
}
#endif

#endif
