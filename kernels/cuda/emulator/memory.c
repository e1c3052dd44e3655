/* The device's memory, streams and errors. Each block of memory ends at a page that may not be touched, and a block
 * that was released may not be touched either: so an access that is off the end stops the program, also without the
 * checker.
 */
#define _GNU_SOURCE
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/emulator/runtime.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ALIGNED = 16 };

/* All blocks, by address. */
static struct {
    Block *list;
    size_t count, room;
} blocks;

static uintptr_t page_of(uintptr_t address) { return address / PAGE * PAGE; }

/* The first block that ends behind an address. */
static size_t find(uintptr_t address)
{
    size_t low = 0, high = blocks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks.list[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Block *memory_block(uintptr_t address)
{
    size_t i = find(address);
    return i < blocks.count && blocks.list[i].low <= address ? &blocks.list[i] : NULL;
}

static bool make_room(void)
{
    if (blocks.count < blocks.room)
        return true;
    size_t room = blocks.room ? 2 * blocks.room : 64;
    Block *list = realloc(blocks.list, room * sizeof *list); /* the device's, not counted as the program's */
    if (!list)
        return false;
    blocks.list = list;
    blocks.room = room;
    return true;
}

/* Pages for the block, and one on each side. */
static void *get(size_t bytes)
{
    size_t pages = (bytes + PAGE - 1) / PAGE * PAGE, aligned = (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (pages < bytes || !make_room())
        return NULL;
    char *memory = mmap(NULL, pages + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory + PAGE, pages, PROT_READ | PROT_WRITE) != 0) {
        munmap(memory, pages + 2 * PAGE);
        return NULL;
    }
    uintptr_t low = (uintptr_t)memory + PAGE + pages - aligned;
    size_t at = find(low);
    memmove(blocks.list + at + 1, blocks.list + at, (blocks.count++ - at) * sizeof *blocks.list);
    blocks.list[at] = (Block){.low = low, .high = low + bytes};
    return (void *)low;
}

static bool release(void *memory)
{
    Block *b = memory_block((uintptr_t)memory);
    if (!b || b->low != (uintptr_t)memory)
        return false;
    uintptr_t from = page_of(b->low) - PAGE, end = page_of(b->high - 1) + 2 * PAGE;
    if (b->shadow)
        munmap(b->shadow, b->shadow_bytes);
    munmap((void *)from, end - from);
    memmove(b, b + 1, (size_t)(blocks.list + --blocks.count - b) * sizeof *b);
    return true;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    emulator_lock();
    *memory = bytes ? get(bytes) : NULL;
    emulator_unlock();
    return *memory || !bytes ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory)
{
    emulator_lock();
    bool fine = !memory || release(memory);
    emulator_unlock();
    return fine ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)kind, (void)stream;
    if (bytes)
        memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    if (bytes)
        memset(to, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    return cudaMemset(to, value, bytes);
}

/* ---- streams: each remembers in which order its kernels' threads run */

struct CUstream_st {
    Order order;
    uint64_t seed;
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

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    memory_free(stream);
    return cudaSuccess;
}

void emulator_launch_on(Queue queue, const Launch *launch) { emulator_launch(queue->order, &queue->seed, launch); }

/* ---- errors */

static Error last;

cudaError_t cudaGetLastError(void)
{
    emulator_lock();
    bool failed = emulator_failed(&last);
    emulator_unlock();
    return failed ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaGetLastError();
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration";
    case cudaErrorLaunchFailure: return last.text;
    case cudaErrorInvalidValue: break;
    }
    return "invalid argument";
}
