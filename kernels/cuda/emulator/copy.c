/* Copies into shared memory that are under way (cp.async): a thread asks for one, continues, and waits for it later. On
 * a GPU the bytes arrive at any time between; here at the last moment, when they are waited for. So a thread that does
 * not wait reads what was there before. The checker is told when a copy begins, too: until it is waited for, no thread
 * may touch its destination. */
#include "kernels/cuda/emulator/emulator.h"

#include <string.h>

enum { MOST_COPIES = 64, COPY_BYTES = 16 };

typedef struct Copy {
    char *to;
    const char *from;
    uint32_t bytes, group; /* bytes: after them come zeros */
} Copy;

/* Of each thread: what it asked for and has not waited for, and how many groups it has closed. */
static struct {
    Copy copy[MOST_COPIES];
    uint32_t count, groups;
} under_way[MOST_THREADS];

static bool any;

void emulator_copies_forget(void)
{
    for (size_t i = 0; any && i < MOST_THREADS; i++)
        under_way[i].count = under_way[i].groups = 0;
    any = false;
}

void emulator_copy(const char *place, void *to, const void *from, uint32_t bytes)
{
    uint32_t self = emulator_thread();
    if ((uintptr_t)to % COPY_BYTES || (bytes && (uintptr_t)from % COPY_BYTES) || bytes > COPY_BYTES)
        emulator_fail("%s: copies %u bytes from %p to %p; at most 16, between addresses that are multiples of 16",
                      place, bytes, from, to);
    if (under_way[self].count == MOST_COPIES)
        emulator_fail("%s: has %d copies under way; the emulator supports no more", place, MOST_COPIES);
    any = true;
    check_copy(to, from, COPY_BYTES, bytes, __builtin_return_address(0));
    under_way[self].copy[under_way[self].count++] = (Copy){to, from, bytes, under_way[self].groups};
}

void emulator_copy_commit(void) { under_way[emulator_thread()].groups++; }

void emulator_copy_wait(uint32_t groups)
{
    uint32_t self = emulator_thread(), left = 0;
    for (uint32_t i = 0; i < under_way[self].count; i++) {
        Copy c = under_way[self].copy[i];
        if (c.group + groups >= under_way[self].groups) {
            under_way[self].copy[left++] = c;
            continue;
        }
        memset(c.to, 0, COPY_BYTES);
        if (c.bytes)
            memcpy(c.to, c.from, c.bytes);
        check_copied(c.to, COPY_BYTES, __builtin_return_address(0));
    }
    under_way[self].count = left;
}
