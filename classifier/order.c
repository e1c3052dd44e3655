/* See order.h. */
#include "classifier/order.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/sites.h"

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* A batch of words begins with the text that holds its share's first word; so it is longer than the share by less than
 * a text, and at most has as many texts as the shortest one would fit in. */
static size_t most_rows(const Order *o)
{
    size_t shortest = o->count ? o->start[1] - o->start[0] : 1;
    for (size_t i = 1; i < o->count; i++)
        shortest = least(shortest, o->start[i + 1] - o->start[i]);
    return o->words ? least(o->count, o->words / (shortest ? shortest : 1) + 1) : least(o->count, o->rows);
}

bool order_open(Order *o, const size_t *start, size_t count, size_t rows, size_t words, uint32_t seed, Error *e)
{
    *o = (Order){.start = start, .count = count, .rows = rows, .words = words, .seed = seed};
    size_t all = count ? start[count] - start[0] : 0, share = words ? words : rows;
    o->batches = ((words ? all : count) + share - 1) / share;
    o->mean = count ? (all + count / 2) / count : 0;
    o->most_rows = most_rows(o);
    o->text = memory_get(count, sizeof *o->text);
    o->cut = memory_get(o->batches + 1, sizeof *o->cut);
    return (o->text && o->cut) || memory_error(e, "the order of texts", count, sizeof *o->text);
}

void order_close(Order *o)
{
    memory_free(o->text);
    memory_free(o->cut);
    *o = (Order){0};
}

static void shuffle(Order *o, uint64_t epoch)
{
    for (size_t i = 0; i < o->count; i++) {
        size_t j = philox_below(i + 1, o->seed, (uint32_t)epoch, i, SITE_DATA);
        o->text[i] = o->text[j];
        o->text[j] = i;
    }
}

/* Where the shares of an epoch's words or texts begin. */
static void cut(Order *o)
{
    size_t share = o->words ? o->words : o->rows, next = 0, before = 0;
    for (size_t i = 0; i < o->count; i++) {
        while (next * share <= before && next < o->batches)
            o->cut[next++] = i;
        before += o->words ? o->start[o->text[i] + 1] - o->start[o->text[i]] : 1;
    }
    while (next <= o->batches)
        o->cut[next++] = o->count;
}

const size_t *order_batch(Order *o, uint64_t step, size_t *count)
{
    uint64_t epoch = (step - 1) / o->batches + 1, batch = (step - 1) % o->batches;
    if (epoch != o->epoch) {
        shuffle(o, epoch);
        cut(o);
        o->epoch = epoch;
    }
    *count = o->cut[batch + 1] - o->cut[batch];
    return o->text + o->cut[batch];
}
