/* The device, its memory and errors. Each block of memory ends at a page that may not be touched, and a block
 * that was released may not be touched either: so an access that is off the end stops the program, also without the
 * checker. What was never written is NaN. With ATTEND_HOST=apart the host may not touch any of it either.
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
    FAIL_IF_PLANTED();
    *count = strcmp(capability(), "none") != 0;
    return *count ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device)
{
    FAIL_IF_PLANTED();
    char *end;
    long major = strtol(capability(), &end, 10);
    (void)device;
    *value = (int)(which == cudaDevAttrComputeCapabilityMajor ? major : *end == '.' ? strtol(end + 1, NULL, 10) : 0);
    return cudaSuccess;
}

/* There is no driver where there is no device; and one that is too old says so in the call before. */
cudaError_t cudaDriverGetVersion(int *version)
{
    *version = strcmp(capability(), "none") != 0 ? 12040 : 0;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel)
{
    FAIL_IF_PLANTED();
    (void)kernel;
    *attributes = (cudaFuncAttributes){0};
    return cudaSuccess;
}

/* ---- memory */

/* All blocks, by address. */
static struct {
    Block *list;
    size_t count, capacity;
} blocks;

static uintptr_t page_of(uintptr_t address) { return address / PAGE * PAGE; }

/* The first block that ends after an address. */
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
    if (blocks.count < blocks.capacity)
        return true;
    size_t capacity = blocks.capacity ? 2 * blocks.capacity : 64;
    Block *list = realloc(blocks.list, capacity * sizeof *list); /* the device's, not counted as the program's */
    if (!list)
        return false;
    blocks.list = list;
    blocks.capacity = capacity;
    return true;
}

/* With ATTEND_HOST=apart the device's memory can be touched while streams do something, and at no other time: the host
 * that reads or writes it itself, as no host can a GPU's, is stopped there. */
static bool shut;

static void protect(const Block *b, int how)
{
    uintptr_t from = page_of(b->low);
    mprotect((void *)from, page_of(b->high - 1) + PAGE - from, how);
}

void memory_shut(bool now)
{
    static int apart = -1;
    const char *text = getenv("ATTEND_HOST");
    emulator_lock();
    if (apart < 0)
        apart = text && strcmp(text, "apart") == 0;
    if (apart && shut != now)
        for (size_t i = 0; i < blocks.count; i++)
            protect(&blocks.list[i], now ? PROT_NONE : PROT_READ | PROT_WRITE);
    shut = apart && now;
    emulator_unlock();
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
    if (shut)
        protect(&blocks.list[at], PROT_NONE);
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
    FAIL_IF_PLANTED();
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
    FAIL_IF_PLANTED();
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
    FAIL_IF_PLANTED();
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

/* Those that happen here or can be planted. */
static const struct {
    cudaError_t error;
    const char *text;
} words[] = {
    {cudaSuccess, "no error"},
    {cudaErrorInvalidValue, "invalid argument"},
    {cudaErrorMemoryAllocation, "out of memory"},
    {cudaErrorInvalidConfiguration, "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoDevice, "no CUDA-capable device is detected"},
    {cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"},
    {cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"},
    {cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain."},
    {cudaErrorIllegalAddress, "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "the launch timed out and was terminated"},
    {cudaErrorMisalignedAddress, "misaligned address"},
    {cudaErrorSystemNotReady, "system not yet initialized"},
    {cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination"},
    {cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorUnknown, "unknown error"}};

const char *cudaGetErrorString(cudaError_t error)
{
    if (error == cudaErrorLaunchFailure)
        return *emulator_told() ? emulator_told() : "unspecified launch failure";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].error == error)
            return words[i].text;
    return "unrecognized error code";
}
