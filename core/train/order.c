/* See order.h. */
#include "core/train/order.h"

#include "base/memory.h"
#include "base/philox.h"
#include "base/size.h"
#include "core/tensor/sites.h"

#include <string.h>

enum { SITE_TURNS = SITE_DATA + 1 };

static size_t length_of(const Order *o, size_t text) { return o->start[text + 1] - o->start[text]; }

/* A batch of tokens is longer than its share by less than a text, and at most has as many texts as the shortest one
 * would fit in. */
static size_t most_rows(const Order *o)
{
    size_t shortest = o->count ? length_of(o, 0) : 1;
    for (size_t i = 1; i < o->count; i++)
        shortest = smaller(shortest, length_of(o, i));
    return smaller(o->count, o->options.tokens ? o->options.tokens / (shortest ? shortest : 1) + 1 : o->options.rows);
}

static bool make_room(Order *o, Error *e)
{
    o->text = memory_get(o->count, sizeof *o->text);
    o->cut = memory_get(o->batches + 1, sizeof *o->cut);
    o->turn = memory_get(o->batches, sizeof *o->turn);
    o->sorted = o->options.by_length ? memory_get(o->count, sizeof *o->sorted) : NULL;
    o->at = o->options.by_length ? memory_get(o->longest + 2, sizeof *o->at) : NULL;
    bool fine = o->text && o->cut && o->turn && (!o->options.by_length || (o->sorted && o->at));
    return fine || memory_error(e, "the order of texts", o->count, sizeof *o->text);
}

bool order_open(Order *o, const size_t *start, size_t count, const OrderOptions *how, Error *e)
{
    *o = (Order){.options = *how, .start = start, .count = count};
    for (size_t i = 0; i < count; i++)
        o->longest = length_of(o, i) > o->longest ? length_of(o, i) : o->longest;
    if (how->tokens && how->tokens < o->longest)
        o->options.tokens = o->longest;
    size_t all = count ? start[count] - start[0] : 0, share = how->tokens ? o->options.tokens : how->rows;
    o->batches = ((how->tokens ? all : count) + share - 1) / share;
    o->mean = count ? (all + count / 2) / count : 0;
    o->most_rows = most_rows(o);
    return make_room(o, e);
}

void order_close(Order *o)
{
    memory_free(o->text);
    memory_free(o->cut);
    memory_free(o->turn);
    memory_free(o->sorted);
    memory_free(o->at);
    *o = (Order){0};
}

static void shuffle(const Order *o, size_t *list, size_t count, uint64_t epoch, uint32_t site)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = philox_below(i + 1, o->options.seed, (uint32_t)epoch, i, site);
        list[i] = list[j];
        list[j] = i;
    }
}

/* The shortest first; those of the same length stay in the order in which they are. */
static void sort(Order *o)
{
    memset(o->at, 0, (o->longest + 2) * sizeof *o->at);
    for (size_t i = 0; i < o->count; i++)
        o->at[length_of(o, i) + 1]++;
    for (size_t i = 0; i <= o->longest; i++)
        o->at[i + 1] += o->at[i];
    for (size_t i = 0; i < o->count; i++)
        o->sorted[o->at[length_of(o, o->text[i])]++] = o->text[i];
    memcpy(o->text, o->sorted, o->count * sizeof *o->text);
}

/* Each batch begins with the text that holds the first token of its share. No text holds two of these, so no batch is
 * empty. */
static void cut(Order *o)
{
    size_t share = o->options.tokens ? o->options.tokens : o->options.rows, next = 0, end = 0;
    for (size_t i = 0; i < o->count; i++) {
        end += o->options.tokens ? length_of(o, o->text[i]) : 1;
        if (next * share < end)
            o->cut[next++] = i;
    }
    o->cut[o->batches] = o->count;
}

static void draw(Order *o, uint64_t epoch)
{
    shuffle(o, o->text, o->count, epoch, SITE_DATA);
    for (size_t i = 0; i < o->batches; i++)
        o->turn[i] = i;
    if (o->options.by_length) {
        sort(o);
        shuffle(o, o->turn, o->batches, epoch, SITE_TURNS);
    }
    cut(o);
    o->epoch = epoch;
}

const size_t *order_batch(Order *o, uint64_t step, size_t *count)
{
    uint64_t epoch = (step - 1) / o->batches + 1;
    if (epoch != o->epoch)
        draw(o, epoch);
    size_t batch = o->turn[(step - 1) % o->batches];
    *count = o->cut[batch + 1] - o->cut[batch];
    return o->text + o->cut[batch];
}
