/* Streams, which do at once what they are asked for, or note it: then it is a graph, which does it as often as asked.
 * Events, which have always happened. */
#define _GNU_SOURCE
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/emulator/runtime.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* One thing that was asked for: a launch, with a copy of its arguments; else a copy, or, from nowhere, a memset. */
typedef struct Noted {
    Launch launch;
    void *to;
    const void *from;
    size_t bytes;
    int value;
} Noted;

typedef struct EmulatorGraph {
    Noted *list;
    size_t count, room, owners;
    cudaError_t error; /* the first thing that cannot be captured */
} EmulatorGraph;

/* Each stream remembers in which order its kernels' threads run. */
struct CUstream_st {
    Order order;
    uint64_t seed;
    EmulatorGraph *capturing;
};

/* ATTEND_ORDER is forward, backward, random or greedy, the latter two with a seed if wanted: random:7. */
static void read_order(struct CUstream_st *s)
{
    static const char *const names[ORDERS] = {"forward", "backward", "random", "greedy"};
    const char *text = getenv("ATTEND_ORDER");
    *s = (struct CUstream_st){.order = FORWARD, .seed = 1};
    for (Order o = FORWARD; text && o < ORDERS; o++) {
        size_t length = strlen(names[o]);
        if (strncmp(text, names[o], length) != 0)
            continue;
        s->order = o;
        if (text[length] == ':')
            s->seed += strtoull(text + length + 1, NULL, 10);
    }
    s->seed *= 0x9E3779B97F4A7C15u;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = memory_get(1, sizeof **stream);
    if (!*stream)
        return cudaErrorMemoryAllocation;
    read_order(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    return cudaStreamCreate(stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaGraphDestroy(stream->capturing);
    memory_free(stream);
    return cudaSuccess;
}

/* No stream (NULL) is the default one, which is never captured. */
static bool captures(cudaStream_t stream) { return stream && stream->capturing; }

static cudaError_t refuse(cudaStream_t stream)
{
    if (!stream->capturing->error)
        stream->capturing->error = cudaErrorStreamCaptureUnsupported;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return captures(stream) ? refuse(stream) : cudaGetLastError();
}

/* ---- graphs */

static Noted *note(cudaStream_t stream)
{
    EmulatorGraph *g = stream->capturing;
    if (g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 64;
        Noted *list = memory_resize(g->list, room, sizeof *list);
        if (!list) {
            g->error = cudaErrorMemoryAllocation;
            return NULL;
        }
        g->list = list;
        g->room = room;
    }
    g->list[g->count] = (Noted){.bytes = 0};
    return &g->list[g->count++];
}

static void note_launch(cudaStream_t stream, const Launch *launch)
{
    void *arguments = memory_get(1, launch->argument_bytes);
    Noted *one = arguments ? note(stream) : NULL;
    if (!one) {
        stream->capturing->error = cudaErrorMemoryAllocation;
        memory_free(arguments);
        return;
    }
    one->launch = *launch;
    one->launch.arguments = memcpy(arguments, launch->arguments, launch->argument_bytes);
}

void emulator_launch_on(Queue queue, const Launch *launch)
{
    struct CUstream_st none;
    if (!queue)
        read_order(queue = &none);
    if (queue->capturing)
        note_launch(queue, launch);
    else
        emulator_launch(queue->order, &queue->seed, launch);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    (void)mode;
    if (stream->capturing)
        return refuse(stream);
    stream->capturing = memory_get(1, sizeof *stream->capturing);
    if (!stream->capturing)
        return cudaErrorMemoryAllocation;
    stream->capturing->owners = 1;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    EmulatorGraph *g = stream->capturing;
    cudaError_t error = g ? g->error : cudaErrorInvalidValue;
    stream->capturing = NULL;
    *graph = error ? NULL : g;
    if (error)
        cudaGraphDestroy(g);
    return error == cudaErrorStreamCaptureUnsupported ? cudaErrorStreamCaptureInvalidated : error;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    graph->owners++;
    *ready = graph;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    if (stream->capturing)
        return refuse(stream);
    for (size_t i = 0; i < graph->count; i++) {
        const Noted *one = &graph->list[i];
        if (one->launch.run)
            emulator_launch(stream->order, &stream->seed, &one->launch);
        else if (one->from)
            memmove(one->to, one->from, one->bytes);
        else
            memset(one->to, one->value, one->bytes);
    }
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (!graph || --graph->owners)
        return cudaSuccess;
    for (size_t i = 0; i < graph->count; i++)
        memory_free((void *)graph->list[i].launch.arguments);
    memory_free(graph->list);
    memory_free(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return cudaGraphDestroy(graph); }

/* ---- copies */

static cudaError_t move_or_set(void *to, const void *from, int value, size_t bytes, cudaStream_t stream)
{
    Noted *one = bytes && captures(stream) ? note(stream) : NULL;
    if (one) {
        one->to = to;
        one->from = from;
        one->value = value;
        one->bytes = bytes;
    } else if (bytes && !captures(stream)) {
        if (from)
            memmove(to, from, bytes);
        else
            memset(to, value, bytes);
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (captures(stream) && kind != cudaMemcpyDeviceToDevice)
        return refuse(stream);
    return move_or_set(to, from, 0, bytes, stream);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return move_or_set(to, NULL, value, bytes, stream);
}

/* ---- events */

struct CUevent_st {
    int nothing;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
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
    (void)event;
    return captures(stream) ? refuse(stream) : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)event, (void)flags;
    return captures(stream) ? refuse(stream) : cudaSuccess;
}
