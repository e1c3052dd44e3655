/* The machine that runs CUDA kernels on a CPU: what its parts, and the header that kernels see (cuda_runtime.h), know
 * of one another.
 *
 *     fiber.c    one CUDA thread is one fiber
 *     launch.c   runs the blocks of a launch one after another, and a block's threads in a chosen order
 *     copy.c     copies that a thread asks for and waits for later
 *     memory.c   the device's memory, between guard pages; errors
 *     plant.c    calls that are to fail
 *     queue.c    what streams were asked for and have not done; in which order they continue
 *     stream.c   streams, events and graphs, as CUDA calls them
 *     check.c    looks at each access to memory, in kernels that were compiled for it
 *     tally.c    says which kernels were launched
 *
 * There is one device, and it runs one kernel at a time, as threadIdx is one variable: a lock sees to that when several
 * threads of the host launch kernels. */
#ifndef KERNELS_CUDA_EMULATOR_EMULATOR_H
#define KERNELS_CUDA_EMULATOR_EMULATOR_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WARP = 32, MOST_THREADS = 1024 };

typedef struct Triple {
    uint32_t x, y, z;
} Triple;

/* What a thread knows of itself: threadIdx, blockIdx, blockDim, gridDim. It is set each time a thread continues. */
typedef struct Standing {
    Triple thread, block, block_size, grid_size;
} Standing;

extern Standing emulator_standing;

/* In which order threads run between two barriers, and blocks. A kernel that is right gives the same bits in each.
 * GREEDY runs one warp as far as it gets, then the next: what lacks a barrier meets values that are too old or too new.
 */
typedef enum Order { FORWARD, BACKWARD, RANDOM, GREEDY, ORDERS } Order;

typedef struct Launch {
    const char *kernel;
    Triple grid, block;
    size_t shared;                      /* bytes of dynamic shared memory */
    void (*run)(const void *arguments); /* what one thread does */
    const void *arguments;
    size_t argument_bytes;
    bool checked; /* the kernel tells check.c of its accesses */
} Launch;

typedef struct CUstream_st *Queue; /* CUDA calls it cudaStream_t; it holds an order */

/* At once; and as an operation of a stream. */
void emulator_launch(Order order, uint64_t *seed, const Launch *launch);
void emulator_launch_on(Queue queue, const Launch *launch);

/* --- called by threads of a kernel; `place` is the line of the source --- */

typedef enum Vote { VOTE_NONE, VOTE_COUNT, VOTE_AND, VOTE_OR } Vote;

int emulator_barrier(const char *place, Vote vote, int value);

/* Waits for the lanes in `mask`; SHUFFLE: gives what lane `from` has, BALLOT: a bit for each lane whose value is not 0.
 * COLLECTIVE: see emulator_collective. */
typedef enum Together { SYNC, SHUFFLE, BALLOT, COLLECTIVE } Together;

uint64_t emulator_warp(const char *place, Together what, uint32_t mask, uint64_t value, uint32_t from);
uint32_t emulator_lane(void);
uint32_t emulator_thread(void); /* its number in the block */

/* All lanes of a warp bring their operands; the last to arrive computes for all. */
typedef void Collective(void *const operands[WARP]);
void emulator_collective(const char *place, Collective *compute, void *operands);

/* Reads `bytes` of shared memory at an address that is a multiple of them. */
void emulator_touch(const char *place, const void *address, uint32_t bytes);

/* Copies of 16 bytes into shared memory, see copy.c. */
void emulator_copy(const char *place, void *to, const void *from, uint32_t bytes);
void emulator_copy_commit(void);
void emulator_copy_wait(uint32_t groups);
void *emulator_shared(void); /* dynamic shared memory */

/* --- between the parts --- */

/* The first failure of a launch counts: it ends the launch, and is kept until it is asked for. Called by a thread of a kernel it
 * does not return. */
void emulator_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool emulator_failed(Error *e); /* asks, and forgets */

uint32_t emulator_draw(uint64_t *seed, uint32_t below);
void emulator_copies_forget(void); /* a block begins */
bool emulator_capturing(void);     /* this thread of the host captures a stream, so it may not wait */
const char *emulator_told(void);   /* the failure that was told last */

/* The error that a call of this name is to fail with now, or 0; and whether the one that ATTEND_FAIL names has failed.
 */
int emulator_planted(const char *call);
bool emulator_planted_met(void);

void emulator_lock(void);
void emulator_unlock(void);

void emulator_tally(Order order, const Launch *launch); /* this one is over */

/* A block of the device's memory. */
typedef struct Block {
    uintptr_t low, high; /* the bytes that were asked for */
    void *shadow;        /* what check.c knows of them, made when it first needs it */
    size_t shadow_bytes;
} Block;

Block *memory_block(uintptr_t address); /* the block it is in, or NULL */
bool memory_pinned(const void *p);      /* the host's, from cudaMallocHost */
void memory_shut(bool now);             /* where the host is kept apart */

/* Told to the checker by launch.c: what begins, which thread runs, and what puts accesses in order. */
void check_launch(const Launch *launch, uintptr_t shared);
void check_block(uint64_t number);
void check_thread(uint32_t thread, const char *stack, size_t bytes);
void check_barrier(void);
void check_warp(uint32_t warp);
void check_over(void);
void check_atomic(void *p, size_t bytes); /* told by the atomic operations */
void check_fence(void);                   /* and by __threadfence */

/* A read that the compiler does not see; a copy that begins, and its end. `code`: where in the kernel. */
void check_read(const void *p, size_t bytes, const void *code);
void check_copy(void *to, const void *from, size_t bytes, size_t read, const void *code);
void check_copied(void *to, size_t bytes, const void *code);

#ifdef __cplusplus
}
#endif

#endif
