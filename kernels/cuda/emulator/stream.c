/* CUDA's functions for streams, events and graphs: what they are asked for is noted, and done at a wait (see
 * queue.h). What a stream captures is noted too: then it is a graph, which does it as often as asked. */
#define _GNU_SOURCE
#include "kernels/cuda/emulator/nccl.h"
#include "kernels/cuda/emulator/queue.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What failed last of all that was told, for cudaGetErrorString. */
static Error told;

const char *emulator_told(void) { return told.text; }

static Queue or_default(cudaStream_t stream) { return stream ? stream : queue_default(); }

/* What the stream's launches did wrong, or else the host. */
static cudaError_t tell(Queue s)
{
    Queue one = s->failed ? s : queue_default();
    if (!one->failed)
        return cudaSuccess;
    told = one->error;
    one->failed = false;
    return cudaErrorLaunchFailure;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    FAIL_IF_PLANTED();
    *stream = memory_get(1, sizeof **stream);
    if (!*stream)
        return cudaErrorMemoryAllocation;
    queue_lock();
    queue_open(*stream, flags & cudaStreamNonBlocking);
    queue_unlock();
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    queue_lock();
    graph_release(stream->capturing);
    queue_close(stream);
    queue_unlock();
    memory_free(stream);
    return cudaSuccess;
}

static cudaError_t refuse(Queue s)
{
    if (!s->capturing->error)
        s->capturing->error = cudaErrorStreamCaptureUnsupported;
    return cudaErrorStreamCaptureUnsupported;
}

static cudaError_t finish(Queue s)
{
    if (s->capturing)
        return refuse(s);
    queue_finish(s);
    return tell(s);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    FAIL_IF_PLANTED();
    queue_lock();
    cudaError_t error = finish(or_default(stream));
    queue_unlock();
    return error;
}

/* ---- noting */

/* Where the next operation of a stream goes; NULL: no memory for it, or, *error, it may not be asked for now. */
static Noted *note(Queue s, cudaError_t *error)
{
    *error = cudaSuccess;
    if (s->number == 0 && queue_captures_beside_default()) {
        *error = cudaErrorStreamCaptureImplicit;
        return NULL;
    }
    Noted *one = s->capturing ? notes_add(&s->capturing->notes) : queue_ask(s);
    if (one)
        return one;
    *error = cudaErrorMemoryAllocation;
    if (s->capturing)
        s->capturing->error = *error;
    return NULL;
}

static void launch_fails(Queue s, cudaError_t error)
{
    if (s->failed)
        return;
    s->failed = true;
    fail(&s->error, "a launch: %s", cudaGetErrorString(error));
}

static _Thread_local cudaError_t refused; /* the latest launch: told by cudaGetLastError, as CUDA does */

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = refused;
    refused = cudaSuccess;
    return error;
}

void emulator_launch_on(Queue stream, const Launch *launch)
{
    refused = (cudaError_t)emulator_planted("cudaLaunchKernel");
    if (refused)
        return;
    queue_lock();
    Queue s = or_default(stream);
    cudaError_t error = cudaSuccess;
    void *arguments = malloc(launch->argument_bytes);
    Noted *one = arguments ? note(s, &error) : NULL;
    if (one) {
        one->what = TO_LAUNCH;
        one->launch = *launch;
        one->launch.arguments = memcpy(arguments, launch->arguments, launch->argument_bytes);
    } else {
        launch_fails(s, error ? error : cudaErrorMemoryAllocation);
        free(arguments);
    }
    queue_unlock();
}

/* ---- graphs */

static _Thread_local size_t captures; /* that this thread of the host has begun */

bool emulator_capturing(void) { return captures > 0; }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    FAIL_IF_PLANTED();
    (void)mode;
    queue_lock();
    cudaError_t error = stream->capturing ? refuse(stream) : cudaSuccess;
    if (!error) {
        stream->capturing = calloc(1, sizeof *stream->capturing);
        error = stream->capturing ? cudaSuccess : cudaErrorMemoryAllocation;
    }
    if (!error) {
        stream->capturing->owners = 1;
        captures++;
    }
    queue_unlock();
    return error;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    queue_lock();
    struct EmulatorGraph *g = stream->capturing;
    cudaError_t error = (cudaError_t)emulator_planted(__func__); /* the capture is over all the same */
    if (!error)
        error = g ? g->error : cudaErrorInvalidValue;
    stream->capturing = NULL;
    captures -= g != NULL;
    *graph = error ? NULL : g;
    if (error)
        graph_release(g);
    queue_unlock();
    return error == cudaErrorStreamCaptureUnsupported ? cudaErrorStreamCaptureInvalidated : error;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long flags)
{
    FAIL_IF_PLANTED();
    (void)flags;
    queue_lock();
    graph->owners++;
    queue_unlock();
    *ready = graph;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    FAIL_IF_PLANTED();
    queue_lock();
    cudaError_t error = stream->capturing ? refuse(stream) : cudaSuccess;
    Noted *one = error ? NULL : note(stream, &error);
    if (one) {
        one->what = TO_REPLAY;
        one->graph = graph;
        graph->owners++;
    }
    queue_unlock();
    return error;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    queue_lock();
    graph_release(graph);
    queue_unlock();
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return cudaGraphDestroy(graph); }

/* ---- copies */

static cudaError_t copy(Queue s, void *to, const void *from, size_t bytes, bool from_host)
{
    cudaError_t error;
    void *sent = from_host ? malloc(bytes) : NULL;
    Noted *one = from_host && !sent ? NULL : note(s, &error);
    if (!one) {
        free(sent);
        return from_host && !sent ? cudaErrorMemoryAllocation : error;
    }
    one->what = TO_MOVE;
    one->to = to;
    one->from = from;
    one->bytes = bytes;
    one->sent = sent ? memcpy(sent, from, bytes) : NULL;
    return cudaSuccess;
}

/* To the host: pinned pages hold what is certainly wrong until a wait; for others CUDA waits
 * itself. */
static cudaError_t copy_to_host(Queue s, void *to, const void *from, size_t bytes)
{
    bool pinned = memory_pinned(to);
    cudaError_t error = copy(s, to, from, bytes, false);
    if (!error && pinned)
        memset(to, 0xff, bytes);
    return error || pinned ? error : finish(s);
}

static bool on_device(const void *p, size_t bytes)
{
    emulator_lock();
    const Block *b = memory_block((uintptr_t)p);
    bool inside = b && bytes <= b->high - (uintptr_t)p;
    emulator_unlock();
    return inside;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    FAIL_IF_PLANTED();
    if (bytes == 0)
        return cudaSuccess;
    if ((kind != cudaMemcpyDeviceToHost && !on_device(to, bytes)) ||
        (kind != cudaMemcpyHostToDevice && !on_device(from, bytes)))
        return cudaErrorInvalidValue;
    queue_lock();
    Queue s = or_default(stream);
    cudaError_t error = s->capturing && kind != cudaMemcpyDeviceToDevice ? refuse(s)
                        : kind == cudaMemcpyDeviceToHost                 ? copy_to_host(s, to, from, bytes)
                                                         : copy(s, to, from, bytes, kind == cudaMemcpyHostToDevice);
    queue_unlock();
    return error;
}

/* As NCCL does it: what was put into a group is one operation of the stream. */
int emulated_nccl_ask(cudaStream_t stream, RankPiece *pieces, size_t outs, size_t ins)
{
    cudaError_t error = cudaErrorInvalidValue;
    bool there = true;
    for (size_t i = 0; i < outs + ins; i++)
        there = there && on_device(pieces[i].data, pieces[i].bytes);
    queue_lock();
    Noted *one = there ? note(or_default(stream), &error) : NULL;
    if (one) {
        one->what = TO_EXCHANGE;
        one->pieces = pieces;
        one->outs = outs;
        one->ins = ins;
    }
    queue_unlock();
    return one ? 0 : (int)error;
}

static cudaError_t set(void *to, int value, size_t bytes, cudaStream_t stream)
{
    if (bytes == 0)
        return cudaSuccess;
    if (!on_device(to, bytes))
        return cudaErrorInvalidValue;
    cudaError_t error;
    queue_lock();
    Noted *one = note(or_default(stream), &error);
    if (one) {
        one->what = TO_SET;
        one->to = to;
        one->value = value;
        one->bytes = bytes;
    }
    queue_unlock();
    return error;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    FAIL_IF_PLANTED();
    return set(to, value, bytes, stream);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    FAIL_IF_PLANTED();
    return set(to, value, bytes, NULL);
}

/* ---- events: a place in the stream that recorded them last */

struct CUevent_st {
    Mark mark;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    FAIL_IF_PLANTED();
    (void)flags;
    *event = memory_get(1, sizeof **event);
    return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    memory_free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    FAIL_IF_PLANTED();
    queue_lock();
    Queue s = or_default(stream);
    cudaError_t error = s->capturing ? refuse(s) : cudaSuccess;
    if (!error)
        event->mark = queue_mark(s);
    queue_unlock();
    return error;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    FAIL_IF_PLANTED();
    queue_lock();
    queue_reach(event->mark);
    queue_unlock();
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    FAIL_IF_PLANTED();
    (void)flags;
    queue_lock();
    Queue s = or_default(stream);
    cudaError_t error = s->capturing ? refuse(s) : cudaSuccess;
    Noted *one = error ? NULL : note(s, &error);
    if (one) {
        one->what = TO_WAIT;
        one->until = event->mark;
    }
    queue_unlock();
    return error;
}
