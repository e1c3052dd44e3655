/* The device, its memory and errors. Each block of memory ends at a page that may not be touched, and a block
 * that was released may not be touched either: so an access that is off the end stops the program, also without the
 * checker. What nobody has written is NaN.
 */
#define _GNU_SOURCE
#include "kernels/cuda/emulator/queue.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ALIGNED = 16 };

/* ---- the device */

static const char *capability(void)
{
    const char *text = getenv("ATTEND_GPU");
    return text ? text : "9.0";
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = strcmp(capability(), "none") != 0;
    return *count ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device)
{
    char *end;
    long major = strtol(capability(), &end, 10);
    (void)device;
    *value = (int)(which == cudaDevAttrComputeCapabilityMajor ? major : *end == '.' ? strtol(end + 1, NULL, 10) : 0);
    return cudaSuccess;
}

/* ---- memory */

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
    memset((void *)low, 0xff, bytes);
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
    *memory = NULL;
    if (emulator_capturing())
        return cudaErrorStreamCaptureUnsupported;
    emulator_lock();
    *memory = bytes ? get(bytes) : NULL;
    emulator_unlock();
    return *memory || !bytes ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* It waits for all that streams were asked for, as CUDA's does. */
cudaError_t cudaFree(void *memory)
{
    if (emulator_capturing())
        return cudaErrorStreamCaptureUnsupported;
    queue_lock();
    if (memory)
        queue_finish_all();
    emulator_lock();
    bool fine = !memory || release(memory);
    emulator_unlock();
    queue_unlock();
    return fine ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- the host's memory that copies may read and write at any time */

typedef struct Pinned {
    char *memory;
    size_t bytes;
    struct Pinned *next;
} Pinned;

static Pinned *pinned;

static Pinned **find_pinned(const void *p)
{
    Pinned **at = &pinned;
    while (*at && (uintptr_t)p - (uintptr_t)(*at)->memory >= (*at)->bytes)
        at = &(*at)->next;
    return at;
}

bool memory_pinned(const void *p) { return *find_pinned(p) != NULL; }

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    Pinned *one = malloc(sizeof *one);
    *memory = one ? memory_get(bytes, 1) : NULL;
    if (!*memory) {
        free(one);
        return cudaErrorMemoryAllocation;
    }
    queue_lock();
    *one = (Pinned){*memory, bytes, pinned};
    pinned = one;
    queue_unlock();
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
    if (!memory)
        return cudaSuccess;
    queue_lock();
    Pinned **at = find_pinned(memory), *one = *at;
    bool fine = one && one->memory == memory && !queue_uses(memory, one->bytes);
    if (fine)
        *at = one->next;
    queue_unlock();
    if (!fine)
        return cudaErrorInvalidValue;
    memory_free(memory);
    free(one);
    return cudaSuccess;
}

/* ---- errors */

/* What a launch does wrong, who waits is told. */
cudaError_t cudaGetLastError(void) { return cudaSuccess; }

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureImplicit:
        return "operation would make the legacy stream depend on a capturing blocking stream";
    case cudaErrorInvalidConfiguration: return "invalid configuration";
    case cudaErrorLaunchFailure: return emulator_told();
    case cudaErrorInvalidValue: break;
    }
    return "invalid argument";
}
