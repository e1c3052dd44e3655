/* All memory of the suite: counted, zeroed, aligned to 64 bytes, sizes checked for overflow.
 *
 * Tests make any one allocation fail with memory_fail_at. NULL is the only sign of failure; memory_error words it. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* count * size bytes of zeros; NULL when there is no such memory. A size of 0 gives a pointer that can be freed. */
void *memory_get(size_t count, size_t size);

/* The same with the old bytes kept (and zeros after them); on failure NULL, and the old block stays. */
void *memory_resize(void *block, size_t count, size_t size);

/* Room for `count` items of a list that grows: where it has less, it is made at least twice as large. list: the address
 * of the pointer to it; *capacity: items that it has room for. New items are zeros; on failure all stays as it was,
 * and the error is "out of memory: 1.2 GiB for WHAT". */
bool memory_grow(void *list, size_t *capacity, size_t count, size_t size, const char *what, Error *e);

void memory_free(void *block);

/* A copy of a string. */
char *memory_string(const char *text);

/* Words a failed memory_get: false, "out of memory: 1.2 GiB for WHAT". */
bool memory_error(Error *e, const char *what, size_t count, size_t size);

/* Why a device could not give memory to this thread: the next memory_error reports it, "no memory: 1.2 GiB for WHAT:
 * WHY", unless a memory_get fails before. */
void memory_refused(const Error *why);

/* Bytes now in use, the most there ever were (reset: from now on), and how many allocations were asked for. */
size_t memory_in_use(void);
size_t memory_peak(void);
void memory_peak_reset(void);
uint64_t memory_requests(void);

/* The most that the process has held so far, with its code and libraries. */
size_t memory_of_process(void);

/* For tests: the n-th request from now on fails, once (1: the next; 0: none); each request calls this first (NULL: no
 * longer). */
void memory_fail_at(uint64_t n);
void memory_watch(void (*asked)(void));

#endif
