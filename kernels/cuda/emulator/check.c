/* Looks at each access to memory that a kernel makes, and ends the launch at the first that cannot be right:
 *
 *     outside     an address that is no memory of the device, or past the end of a block of it
 *     index       of an array whose size the compiler knows
 *     unwritten   shared memory that no thread of this block has written
 *     race        two threads, one of them writing, and nothing that puts them in order: no barrier between them in one
 *                 block, no __syncwarp in one warp; blocks of one launch have no order, but for what one has written
 *                 before a barrier, a fence and an atomic operation, and another reads after such an operation on
 *                 the same place, a fence and a barrier
 *     copy        shared memory to which a copy (cp.async) is under way that its thread has not waited for
 *
 * Kernels are told to report what they do by the compiler: -fsanitize=thread calls __tsan_read4(address) before a load
 * of four bytes, and so on; -fsanitize=bounds calls __ubsan_handle_out_of_bounds. Those libraries are not linked: the
 * functions of these names are here.
 *
 * For each two bytes of memory a Cell holds which thread wrote last, and which two read last. One run in one order sees
 * races that would show in another order only: what counts is what barriers promise, not what happened. */
#define _GNU_SOURCE
#include "kernels/cuda/emulator/emulator.h"

#ifdef HAVE_CHECKED

#include "base/memory.h"

#include <string.h>
#include <sys/mman.h>

enum { GRAIN = 2, WARPS = MOST_THREADS / WARP };

typedef struct Access {
    uint32_t block; /* blocks are counted over all launches, from 1; 0: there was no access */
    uint32_t phase, warp_phase;
    uint32_t place; /* in the program's code */
    uint16_t thread;
    bool atomic;
} Access;

typedef struct Cell {
    Access written, read[2];
    uint32_t copying; /* the block in which a copy to here is under way */
} Cell;

/* The program itself, from the linker. Its variables without a first value are shared memory. */
extern char __executable_start, __bss_start, _end;

/* While a kernel runs on this thread of the host: the code that launches kernels is compiled to report, too, and
 * another thread may be in it. */
static _Thread_local bool looking;

/* A thread's operation that may put blocks in order: when it was, and at which place. */
typedef struct Signal {
    uint32_t block, phase;
    uintptr_t place;
} Signal;

static struct {
    uint32_t block, launch; /* this block's number, and that of the launch's first */
    uint32_t phase;         /* barriers of the block so far */
    uint32_t warp_phase[WARPS];
    uint32_t thread;
    Signal fence[MOST_THREADS], atomic[MOST_THREADS]; /* the latest of each thread */
    Signal seen;                                      /* by this block: an atomic operation, and a fence after it */
    Signal *left;                                     /* by each block of the launch: a fence, and one after it */
    size_t left_capacity;
    uintptr_t stack, stack_end, arguments, arguments_end;
    Block dynamic, program; /* shared memory: what was asked for at the launch, and variables */
} now;

/* ---- told by launch.c */

void check_launch(const Launch *launch, uintptr_t shared)
{
    now.dynamic.low = shared;
    now.dynamic.high = shared + launch->shared;
    now.program.low = (uintptr_t)&__bss_start;
    now.program.high = (uintptr_t)&_end;
    now.arguments = (uintptr_t)launch->arguments;
    now.arguments_end = now.arguments + launch->argument_bytes;
    now.launch = now.block + 1;
}

void check_block(uint64_t number)
{
    (void)number;
    now.block++;
    now.phase = 0;
    memset(now.warp_phase, 0, sizeof now.warp_phase);
}

void check_thread(uint32_t thread, const char *stack, size_t bytes)
{
    looking = true;
    now.thread = thread;
    now.stack = (uintptr_t)stack;
    now.stack_end = now.stack + bytes;
}

void check_barrier(void) { now.phase++; }
void check_warp(uint32_t warp) { now.warp_phase[warp]++; }
void check_over(void) { looking = false; }

/* ---- the cells of a block of memory */

/* Dynamic shared memory ends where it ends and begins anywhere, so its cells are counted from the end. */
static uintptr_t origin_of(const Block *b) { return b == &now.dynamic ? b->high - ((uintptr_t)48 << 10) : b->low; }

static Cell *cells_of(Block *b, uintptr_t address)
{
    uintptr_t origin = origin_of(b) / GRAIN * GRAIN;
    if (!b->shadow) {
        b->shadow_bytes = ((b->high - origin) / GRAIN + 2) * sizeof(Cell);
        b->shadow = mmap(NULL, b->shadow_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                         0);
        if (b->shadow == MAP_FAILED) {
            b->shadow = NULL;
            emulator_fail("no memory to check accesses with");
        }
    }
    return (Cell *)b->shadow + (address - origin) / GRAIN;
}

static bool is_shared(const Block *b) { return b == &now.dynamic || b == &now.program; }

static Block *block_of(uintptr_t address)
{
    if (address >= now.dynamic.low && address < now.dynamic.high)
        return &now.dynamic;
    if (address >= now.program.low && address < now.program.high)
        return &now.program;
    return memory_block(address);
}

/* ---- what is wrong with an access */

/* Another block has let this one know that the access is over. */
static bool signalled(const Access *before)
{
    size_t i = before->block - now.launch;
    return now.seen.block == now.block && now.seen.phase < now.phase && i < now.left_capacity &&
           now.left[i].block == before->block && now.left[i].place == now.seen.place &&
           before->phase < now.left[i].phase;
}

/* Two accesses of which nothing says which comes first. */
static bool unordered(const Access *before, bool shared)
{
    if (before->block < now.launch)
        return false;
    if (before->block != now.block)
        return !shared && !signalled(before);
    if (before->thread == now.thread || before->phase != now.phase)
        return false;
    return before->thread / WARP != now.thread / WARP || before->warp_phase == now.warp_phase[now.thread / WARP];
}

static uint32_t place_of(const void *code) { return (uint32_t)((uintptr_t)code - (uintptr_t)&__executable_start); }

static void race(const char *what, const Access *before, bool shared, uint32_t place)
{
    emulator_fail("race: it %s what thread %u of %s block has %s, with no barrier between (%s memory; addr2line -e "
                  "PROGRAM %#x %#x says where)",
                  what, before->thread, before->block == now.block ? "its" : "another",
                  what[0] == 'r' ? "written" : "read or written", shared ? "shared" : "global", place, before->place);
}

static void look(Cell *c, bool write, bool atomic, bool shared, uint32_t place)
{
    if (shared && c->copying == now.block)
        emulator_fail("copy: it %s shared memory while an asynchronous copy into it is under way (addr2line -e "
                      "PROGRAM %#x says where)",
                      write ? "writes" : "reads", place);
    if (shared && !write && !atomic && c->written.block != now.block)
        emulator_fail("unwritten: it reads shared memory that no thread of its block has written (addr2line -e PROGRAM "
                      "%#x says where)",
                      place);
    if (unordered(&c->written, shared) && !(atomic && c->written.atomic))
        race(write ? "writes" : "reads", &c->written, shared, place);
    for (int i = 0; write && i < 2; i++)
        if (unordered(&c->read[i], shared))
            race("writes", &c->read[i], shared, place);
}

static void remember(Cell *c, bool write, bool atomic, uint32_t place)
{
    Access me = {now.block, now.phase, now.warp_phase[now.thread / WARP], place, (uint16_t)now.thread, atomic};
    if (write) {
        c->written = me;
        return;
    }
    if (c->read[0].thread != me.thread || c->read[0].block != me.block)
        c->read[1] = c->read[0];
    c->read[0] = me;
}

static bool is_exempt(uintptr_t address, size_t bytes)
{
    uintptr_t standing = (uintptr_t)&emulator_standing;
    return (address >= now.stack && address < now.stack_end) ||
           (address >= now.arguments && address + bytes <= now.arguments_end) ||
           (address >= standing && address < standing + sizeof emulator_standing);
}

static void see(uintptr_t address, size_t bytes, bool write, bool atomic, const void *code)
{
    if (!looking || is_exempt(address, bytes))
        return;
    uint32_t place = place_of(code);
    Block *b = block_of(address);
    if (!b && !write && address >= (uintptr_t)&__executable_start && address < now.program.low)
        return; /* a constant of the program */
    if (!b || address + bytes > b->high)
        emulator_fail("outside: it %s %zu bytes that are not device memory%s (addr2line -e PROGRAM %#x says "
                      "where)",
                      write ? "writes" : "reads", bytes,
                      b || memory_block(address - 1) ? ", past the end of a block" : "", place);
    bool shared = is_shared(b);
    Cell *c = cells_of(b, address), *last = cells_of(b, address + bytes - 1);
    for (; c <= last; c++) {
        look(c, write, atomic, shared, place);
        remember(c, write, atomic, place);
    }
}

static bool in_this_phase(const Signal *s) { return s->block == now.block && s->phase == now.phase; }

/* Tells other blocks what this one did before its latest barrier. */
static void leave(Signal signal)
{
    size_t i = now.block - now.launch;
    if (!memory_grow(&now.left, &now.left_capacity, i + 1, sizeof *now.left, "", NULL))
        emulator_fail("no memory to check accesses with");
    now.left[i] = signal;
}

void check_atomic(void *p, size_t bytes)
{
    see((uintptr_t)p, bytes, true, true, __builtin_return_address(0));
    if (!looking)
        return;
    now.atomic[now.thread] = (Signal){now.block, now.phase, (uintptr_t)p};
    if (in_this_phase(&now.fence[now.thread]))
        leave(now.atomic[now.thread]);
}

void check_fence(void)
{
    if (!looking)
        return;
    now.fence[now.thread] = (Signal){now.block, now.phase, 0};
    if (in_this_phase(&now.atomic[now.thread]))
        now.seen = now.atomic[now.thread];
}

void check_read(const void *p, size_t bytes, const void *code) { see((uintptr_t)p, bytes, false, false, code); }

/* The bytes may arrive as soon as it begins, so the place must be free by then. They count as written when the thread
 * has waited. */
void check_copy(void *to, const void *from, size_t bytes, size_t read, const void *code)
{
    if (!looking)
        return;
    if (read)
        see((uintptr_t)from, read, false, false, code);
    see((uintptr_t)to, bytes, true, false, code);
    Block *b = block_of((uintptr_t)to);
    if (!b || !is_shared(b))
        emulator_fail("copy: its destination is not shared memory");
    for (Cell *c = cells_of(b, (uintptr_t)to); c <= cells_of(b, (uintptr_t)to + bytes - 1); c++)
        c->copying = now.block;
}

void check_copied(void *to, size_t bytes, const void *code)
{
    if (!looking)
        return;
    Block *b = block_of((uintptr_t)to);
    for (Cell *c = cells_of(b, (uintptr_t)to); c <= cells_of(b, (uintptr_t)to + bytes - 1); c++)
        c->copying = 0;
    see((uintptr_t)to, bytes, true, false, code);
}

/* ---- called by kernels. The compiler knows these names; no header declares them. */

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define HERE __builtin_return_address(0)

/* clang-format off */
#define ACCESSES(bytes)                                                                                                \
    void __tsan_read##bytes(void *p) { see((uintptr_t)p, bytes, false, false, HERE); }                                 \
    void __tsan_write##bytes(void *p) { see((uintptr_t)p, bytes, true, false, HERE); }                                 \
    void __tsan_unaligned_read##bytes(void *p) { see((uintptr_t)p, bytes, false, false, HERE); }                       \
    void __tsan_unaligned_write##bytes(void *p) { see((uintptr_t)p, bytes, true, false, HERE); }                       \
    void __tsan_read_write##bytes(void *p)                                                                             \
    {                                                                                                                  \
        see((uintptr_t)p, bytes, false, false, HERE);                                                                  \
        see((uintptr_t)p, bytes, true, false, HERE);                                                                   \
    }
/* clang-format on */

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *p, unsigned long bytes) { see((uintptr_t)p, bytes, false, false, HERE); }
void __tsan_write_range(void *p, unsigned long bytes) { see((uintptr_t)p, bytes, true, false, HERE); }

void *__tsan_memcpy(void *to, const void *from, unsigned long bytes)
{
    see((uintptr_t)from, bytes, false, false, HERE);
    see((uintptr_t)to, bytes, true, false, HERE);
    return memcpy(to, from, bytes);
}

void *__tsan_memset(void *to, int value, unsigned long bytes)
{
    see((uintptr_t)to, bytes, true, false, HERE);
    return memset(to, value, bytes);
}

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}

/* How the compiler describes an index that is out of bounds. */
typedef struct TypeName {
    uint16_t kind, info;
    char name[];
} TypeName;

typedef struct OutOfBounds {
    const char *file;
    uint32_t line, column;
    const TypeName *array, *index;
} OutOfBounds;

void __ubsan_handle_out_of_bounds(const OutOfBounds *where, uintptr_t index)
{
    if (looking)
        emulator_fail("index: %lld is outside %s, at %s:%u", (long long)(intptr_t)index, where->array->name,
                      where->file, where->line);
}

#else

void check_launch(const Launch *launch, uintptr_t shared) { (void)launch, (void)shared; }
void check_block(uint64_t number) { (void)number; }
void check_thread(uint32_t thread, const char *stack, size_t bytes) { (void)thread, (void)stack, (void)bytes; }
void check_barrier(void) {}
void check_warp(uint32_t warp) { (void)warp; }
void check_over(void) {}
void check_atomic(void *p, size_t bytes) { (void)p, (void)bytes; }
void check_fence(void) {}
void check_read(const void *p, size_t bytes, const void *code) { (void)p, (void)bytes, (void)code; }
void check_copied(void *to, size_t bytes, const void *code) { (void)to, (void)bytes, (void)code; }
void check_copy(void *to, const void *from, size_t bytes, size_t read, const void *code)
{
    (void)to, (void)from, (void)bytes, (void)read, (void)code;
}

#endif
