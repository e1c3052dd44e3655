/* All memory of the suite. Each block is preceded by a header of 64 bytes that knows its size, so that the block itself
 * stays aligned to a cache line and freeing it can be counted. */
#define _DEFAULT_SOURCE /* madvise */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { ALIGNMENT = 64, LARGE = 1 << 20, HUGE = 16 << 20, PAGE = 4096 };

typedef struct Header {
    size_t size;
    void *raw; /* what the system gave */
} Header;

_Static_assert(sizeof(Header) <= ALIGNMENT, "the header fits before the block");

static atomic_size_t in_use, peak;
static atomic_uint_fast64_t requests, failing; /* failing: the number of the request that is to fail */

static _Thread_local Error refused; /* why the latest request failed, where it was a device's */

static Header *header_of(void *block) { return (Header *)((char *)block - ALIGNMENT); }

static _Atomic(void (*)(void)) watching;

static bool is_to_fail(void)
{
    void (*asked)(void) = atomic_load(&watching);
    if (asked)
        asked();
    uint64_t number = atomic_fetch_add(&requests, 1) + 1;
    return number == atomic_load(&failing);
}

static void count(size_t size)
{
    size_t now = atomic_fetch_add(&in_use, size) + size;
    size_t most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now))
        ;
}

/* Small blocks end where they end, so that a sanitizer sees the first byte after them. Large ones come from calloc,
 * whose fresh pages the system zeroes when they are first touched, by the thread that touches them. Of the
 * largest they are huge pages, so that reading through weights does not wait for the addresses of small ones. */
static void *system_get(size_t size, void **raw)
{
    if (size < LARGE) {
        if (posix_memalign(raw, ALIGNMENT, ALIGNMENT + size))
            return NULL;
        memset(*raw, 0, ALIGNMENT + size);
        return (char *)*raw + ALIGNMENT;
    }
    *raw = calloc(1, size + (size_t)2 * ALIGNMENT);
    if (!*raw)
        return NULL;
#if defined MADV_HUGEPAGE
    if (size >= HUGE)
        madvise((void *)(((uintptr_t)*raw + PAGE - 1) / PAGE * PAGE), (size - PAGE) / PAGE * PAGE, MADV_HUGEPAGE);
#endif
    size_t past = (uintptr_t)*raw % ALIGNMENT;
    return (char *)*raw + ALIGNMENT + (ALIGNMENT - past) % ALIGNMENT;
}

void *memory_get(size_t n, size_t size)
{
    void *raw = NULL;
    bool too_large = size && n > (PTRDIFF_MAX - (size_t)2 * ALIGNMENT) / size;
    void *block = is_to_fail() || too_large ? NULL : system_get(n * size, &raw);
    if (!block) {
        refused.text[0] = 0; /* this one is the latest */
        return NULL;
    }
    *header_of(block) = (Header){n * size, raw};
    count(n * size);
    return block;
}

void *memory_resize(void *block, size_t n, size_t size)
{
    void *fresh = memory_get(n, size);
    if (!fresh || !block)
        return fresh;
    size_t old = header_of(block)->size;
    memcpy(fresh, block, old < n * size ? old : n * size);
    memory_free(block);
    return fresh;
}

bool memory_grow(void *list, size_t *capacity, size_t wanted, size_t size, const char *what, Error *e)
{
    enum { FIRST = 16 };
    void *block;
    if (wanted <= *capacity)
        return true;
    size_t more = wanted / 2 < *capacity ? 2 * *capacity : wanted < FIRST ? FIRST : wanted;
    memcpy(&block, list, sizeof block); /* a pointer to some type, which is not an object of type void * */
    block = memory_resize(block, more, size);
    if (!block)
        return memory_error(e, what, more, size);
    memcpy(list, &block, sizeof block);
    *capacity = more;
    return true;
}

void memory_free(void *block)
{
    if (!block)
        return;
    atomic_fetch_sub(&in_use, header_of(block)->size);
    free(header_of(block)->raw);
}

char *memory_string(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memory_get(size, 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

void memory_refused(const Error *why) { refused = *why; }

bool memory_error(Error *e, const char *what, size_t n, size_t size)
{
    Error why = refused;
    refused.text[0] = 0;
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
    double bytes = (double)n * (double)size; /* in floating point, because the product may be what overflowed */
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    return fail(e, "%s: %.*f %s for %s%s%s", *why.text ? "no memory" : "out of memory", unit ? 1 : 0, bytes,
                units[unit], what, *why.text ? ": " : "", why.text);
}

size_t memory_in_use(void) { return atomic_load(&in_use); }
size_t memory_peak(void) { return atomic_load(&peak); }
void memory_peak_reset(void) { atomic_store(&peak, atomic_load(&in_use)); }
uint64_t memory_requests(void) { return atomic_load(&requests); }
void memory_fail_at(uint64_t n) { atomic_store(&failing, n ? atomic_load(&requests) + n : 0); }
void memory_watch(void (*asked)(void)) { atomic_store(&watching, asked); }

size_t memory_of_process(void)
{
    struct rusage use = {0};
    getrusage(RUSAGE_SELF, &use);
#ifdef __APPLE__
    return (size_t)use.ru_maxrss;
#else
    return (size_t)use.ru_maxrss * 1024;
#endif
}
