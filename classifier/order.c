/* See order.h. */
#include "classifier/order.h"

#include "base/memory.h"
#include "base/philox.h"
#include "core/tensor/sites.h"

#include <stdlib.h>

/* Batches' worth of texts that are sorted together: with 32, texts of a batch of 4 differ by three hundredths, and an
 * epoch still has thousands of ways to be cut. */
enum { NEAR = 32 };

struct OrderText {
    size_t length, text;
};

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
    o->near = o->batches ? least(count, NEAR * ((count + o->batches - 1) / o->batches)) : 0;
    o->text = memory_get(count, sizeof *o->text);
    o->cut = memory_get(o->batches + 1, sizeof *o->cut);
    o->batch = memory_get(o->batches, sizeof *o->batch);
    o->window = memory_get(o->near, sizeof *o->window);
    return (o->text && o->cut && o->batch && o->window) ||
           memory_error(e, "the order of texts", count, sizeof *o->text);
}

void order_close(Order *o)
{
    memory_free(o->text);
    memory_free(o->cut);
    memory_free(o->batch);
    memory_free(o->window);
    *o = (Order){0};
}

/* list [count] becomes 0 .. count-1 in an order drawn by seed, epoch and the numbers from `first` on. */
static void shuffle(const Order *o, size_t *list, size_t count, uint64_t epoch, uint64_t first)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = philox_below(i + 1, o->seed, (uint32_t)epoch, first + i, SITE_DATA);
        list[i] = list[j];
        list[j] = i;
    }
}

static int shorter(const void *a, const void *b)
{
    const struct OrderText *x = a, *y = b;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return x->text < y->text ? -1 : x->text > y->text;
}

/* Sorts texts by length, `near` neighbours at a time. */
static void gather(Order *o)
{
    for (size_t first = 0; first < o->count; first += o->near) {
        size_t count = least(o->near, o->count - first), *text = o->text + first;
        for (size_t i = 0; i < count; i++)
            o->window[i] = (struct OrderText){o->start[text[i] + 1] - o->start[text[i]], text[i]};
        qsort(o->window, count, sizeof *o->window, shorter);
        for (size_t i = 0; i < count; i++)
            text[i] = o->window[i].text;
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
        shuffle(o, o->text, o->count, epoch, 0);
        gather(o);
        cut(o);
        shuffle(o, o->batch, o->batches, epoch, o->count);
        o->epoch = epoch;
    }
    const size_t *from = o->cut + o->batch[batch];
    *count = from[1] - from[0];
    return o->text + from[0];
}
