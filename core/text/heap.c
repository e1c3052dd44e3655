/* See heap.h. The children of item i are at 2i + 1 and 2i + 2, and come out after it. */
#include "core/text/heap.h"

#include "base/memory.h"

static bool is_before(Rank a, Rank b) { return a.first != b.first ? a.first < b.first : a.second < b.second; }

bool heap_push(Heap *h, Rank rank, Error *e)
{
    if (!memory_grow(&h->ranks, &h->capacity, h->count + 1, sizeof *h->ranks, "a heap", e))
        return false;
    size_t at = h->count++;
    for (; at && is_before(rank, h->ranks[(at - 1) / 2]); at = (at - 1) / 2)
        h->ranks[at] = h->ranks[(at - 1) / 2];
    h->ranks[at] = rank;
    return true;
}

Rank heap_pop(Heap *h)
{
    Rank top = h->ranks[0], last = h->ranks[--h->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
        child += child + 1 < h->count && is_before(h->ranks[child + 1], h->ranks[child]);
        if (!is_before(h->ranks[child], last))
            break;
        h->ranks[at] = h->ranks[child];
    }
    h->ranks[at] = last;
    return top;
}

void heap_close(Heap *h)
{
    memory_free(h->ranks);
    *h = (Heap){0};
}
