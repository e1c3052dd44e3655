/* Our pool of threads: n workers that run one function together, and a barrier for inside it.
 *
 * Worker 0 is the caller itself, so a pool of one is a plain call. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include "error.h"

#include <stddef.h>

typedef struct Pool Pool;

/* pin: worker i stays on the i-th processor that this process may use, the caller (worker 0) until the pool is closed;
 * so ask for processors_allowed before. More workers than processors are not pinned. */
bool pool_open(Pool **pool, size_t workers, bool pin, Error *e);
void pool_close(Pool *pool); /* NULL is fine */
size_t pool_size(const Pool *pool);

/* Runs work(argument, i) for i = 0 .. workers-1, each on its own thread, and returns when all have. */
void pool_run(Pool *pool, void (*work)(void *argument, size_t worker), void *argument);

/* Whether a call would reach all workers at once. If not, because some have slept since the last one, this wakes them,
 * and does not wait for it: a call soon after will. (Workers that may not wait awake always sleep, and this says yes.) */
bool pool_awake(Pool *pool);

/* Inside work: waits until all workers are here. What they wrote before is seen by all after. */
void pool_barrier(Pool *pool);

/* Whether this thread, and those that it starts, take denormal numbers as 0, which is faster by hundreds of cycles for
 * each on some processors. All threads do from the start. False: this processor cannot. */
bool thread_flush(bool on);

/* How many processors this process may use: affinity and a container's quota counted. At least 1. */
size_t processors_allowed(void);

/* The part of it that is the quota: processors paid for by the control groups that a file such as /proc/self/cgroup
 * lists, mounted at `mount`; 0 when there is none. */
double processors_quota(const char *groups, const char *mount);

/* What the processor calls itself, or "unknown"; returns `name`. */
const char *processor_name(char *name, size_t size);

#endif
