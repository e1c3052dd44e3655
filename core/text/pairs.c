/* See pairs.h. A hash table of open addressing, never more than half full. */
#include "core/text/pairs.h"

#include "base/memory.h"

enum { FIRST_SLOTS = 1024 };

/* A multiplication's high bits, folded into the low ones that choose a slot. */
static size_t hash(Pair pair)
{
    uint64_t h = ((uint64_t)(uint32_t)pair.left << 32 | (uint32_t)pair.right) * 0x9E3779B97F4A7C15;
    return (size_t)(h ^ h >> 32);
}

/* The slot of a pair, or the free one where it would go. */
static uint32_t *slot_of(const Pairs *p, Pair pair)
{
    size_t mask = p->slot_count - 1, at = hash(pair) & mask;
    for (;; at = (at + 1) & mask) {
        uint32_t number = p->slots[at];
        if (!number || (p->pair[number - 1].left == pair.left && p->pair[number - 1].right == pair.right))
            return &p->slots[at];
    }
}

static bool more_slots(Pairs *p, Error *e)
{
    size_t count = p->slot_count ? 2 * p->slot_count : FIRST_SLOTS;
    uint32_t *slots = memory_get(count, sizeof *slots);
    if (!slots)
        return memory_error(e, "pairs of subwords", count, sizeof *slots);
    memory_free(p->slots);
    p->slots = slots;
    p->slot_count = count;
    for (size_t i = 0; i < p->count; i++)
        *slot_of(p, p->pair[i]) = (uint32_t)i + 1;
    return true;
}

bool pairs_add(Pairs *p, Pair pair, size_t *number, Error *e)
{
    if (2 * (p->count + 1) > p->slot_count && !more_slots(p, e))
        return false;
    if (!memory_grow(&p->pair, &p->capacity, p->count + 1, sizeof *p->pair, "pairs of subwords", e))
        return false;
    uint32_t *slot = slot_of(p, pair);
    if (!*slot) {
        if (p->count == UINT32_MAX - 1)
            return fail(e, "there are more than %u different pairs of subwords", UINT32_MAX - 1);
        p->pair[p->count++] = pair;
        *slot = (uint32_t)p->count;
    }
    *number = *slot - 1;
    return true;
}

size_t pairs_find(const Pairs *p, Pair pair)
{
    uint32_t number = p->count ? *slot_of(p, pair) : 0;
    return number ? number - 1 : PAIR_NONE;
}

void pairs_close(Pairs *p)
{
    memory_free(p->pair);
    memory_free(p->slots);
    *p = (Pairs){0};
}
