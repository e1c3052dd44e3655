/* See gather.h. */
#include "core/train/gather.h"

#include "base/memory.h"
#include "base/ranks.h"

#include <string.h>

/* To rank 0, from the device's memory by way of the host's. */
static void send(Trainer *c, void *from, size_t bytes)
{
    const Kernels *k = c->options.k;
    void *copy = k->on_host ? NULL : memory_get(bytes, 1);
    if (!k->on_host && !copy)
        ranks_end("out of memory for a part of the optimizer's state");
    if (copy)
        k->download(c->worker[0].stream, copy, from, bytes);
    ranks_exchange(&(RankPiece){0, copy ? copy : from, bytes}, 1, NULL, 0);
    memory_free(copy);
}

/* `count` numbers of a block of state, from the processes that have them: process 0 gets them, and each other sends its own. */
static void gather(Trainer *c, size_t block, size_t first, size_t count, void *out)
{
    const Optimizer *o = &c->optimizer;
    const size_t real = c->options.k->real, own = ranks_own();
    for (size_t rank = 0; rank < ranks_count(); rank++) {
        size_t from, end;
        optimizer_part(&o->options, o->parameters, rank, &from, &end);
        from = from > first ? from : first;
        end = end < first + count ? end : first + count;
        if (from >= end || (own != 0 && own != rank))
            continue;
        if (own == 0 && rank == 0)
            c->options.k->download(c->worker[0].stream, (char *)out + (from - first) * real,
                                   optimizer_at(o, block, from), (end - from) * real);
        else if (own == 0)
            ranks_exchange(NULL, 0, &(RankPiece){rank, (char *)out + (from - first) * real, (end - from) * real}, 1);
        else
            send(c, optimizer_at(o, block, from), (end - from) * real);
    }
}

static bool get(void *self, const void *data, size_t from, void *bytes, size_t size, Error *e)
{
    Trainer *c = self;
    const GatheredTensor *t = data;
    (void)e;
    if (t->whole)
        memcpy(bytes, (const char *)t->whole + from, size);
    else
        gather(c, t->block, t->first + from / c->options.k->real, size / c->options.k->real, bytes);
    return true;
}

SafeSource gather_source(Trainer *c) { return (SafeSource){get, c}; }

void gather_send(Trainer *c, size_t blocks)
{
    const size_t piece = SAFE_PIECE / c->options.k->real;
    for (size_t b = 0; b < blocks; b++)
        for (size_t i = 0; i < c->parameters->count; i++) {
            const Parameter *p = c->parameters->list[i];
            if (p->role == ROLE_CONSTANT || !optimizer_keeps(&c->optimizer, b, i))
                continue;
            for (size_t at = 0; at < p->count; at += piece)
                gather(c, b, p->offset + at, p->count - at < piece ? p->count - at : piece, NULL);
        }
}
