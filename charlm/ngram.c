/* See ngram.h.
 *
 * A byte is predicted bit by bit, the highest first: eight questions, each asked in a *context*, which is the n bytes
 * before and the bits already known. Order n counts in each context how often a 0 and a 1 came. Its opinion is
 *
 *     x_n = log((ones + A) / (zeros + A))        0 where nothing was seen
 *
 * and opinions are added up in this form, with weights that say how far to believe each:
 *
 *     p(1) = 1 / (1 + exp(-sum_n w_n x_n))       w_n += rate (bit - p) x_n, the gradient of log p
 *
 * This is logistic mixing, as compressors of the PAQ family do it; because each bit has a probability, those of the 256
 * bytes sum to 1. What makes it good is that w_n is chosen by how often the context was seen, by whether only one of the
 * bits ever came there, and by the longest order that has seen its context at all. */
#include "charlm/ngram.h"

#include "base/memory.h"

#include <math.h>

struct Counter {
    uint32_t check; /* of what it belongs to; 0: free */
    uint16_t seen[2];
};

static const double A = 0.4, FIRST_RATE = 0.02, LAST_RATE = 0.0005;
enum { WAYS = 4, LEAST_COUNTERS = 1 << 16, A_BYTE = 4, MIXING = 1 << 20 };

static Mix fresh_mix(size_t first, size_t last)
{
    Mix m = {.first = first, .last = last};
    for (size_t top = 0; top <= ORDERS; top++)
        for (size_t n = 0; n < ORDERS; n++)
            for (size_t c = 0; c < CONFIDENCES; c++)
                m.weight[top][n][c] = first == last ? 1 : 0.3;
    return m;
}

bool ngram_open(Ngram *g, size_t bytes, Error *e)
{
    *g = (Ngram){.count = LEAST_COUNTERS};
    while (g->count / A_BYTE < bytes && 2 * g->count * sizeof *g->counters <= NGRAM_MEMORY)
        g->count *= 2;
    for (size_t n = 0; n < ORDERS; n++) {
        g->alone[n] = fresh_mix(n, n);
        g->mixed[n] = fresh_mix(0, n);
    }
    g->counters = memory_get(g->count, sizeof *g->counters);
    return g->counters || memory_error(e, "counting n-grams", g->count, sizeof *g->counters);
}

void ngram_close(Ngram *g)
{
    memory_free(g->counters);
    *g = (Ngram){0};
}

static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
    return x ^ x >> 32;
}

/* A key stands for a context and the first half of a byte, or none of it; a node, 1 .. 15, for the bits of this half
 * known so far. All nodes of a key are adjacent: a byte reads two short runs of memory an order. `make`: takes the
 * counter that saw least of WAYS when there is none; without it the answer may be NULL. */
static Counter *find(const Ngram *g, uint64_t key, unsigned node, bool make)
{
    uint32_t check = (uint32_t)(key >> 32) | 1;
    size_t at = (key ^ node) & (g->count - 1);
    Counter *least = &g->counters[at];
    for (size_t way = 0; way < WAYS; way++) {
        Counter *p = &g->counters[at ^ way << 4];
        if (p->check == check)
            return p;
        if (p->seen[0] + p->seen[1] < least->seen[0] + least->seen[1])
            least = p;
    }
    if (!make)
        return NULL;
    *least = (Counter){.check = check};
    return least;
}

static void count_bit(Counter *p, unsigned bit)
{
    if (++p->seen[bit] == UINT16_MAX) {
        p->seen[0] /= 2;
        p->seen[1] /= 2;
    }
}

/* How far a counter is to be believed, as a number below CONFIDENCES: two steps each time its counts double. */
static size_t confidence(const Counter *p)
{
    unsigned n = (unsigned)p->seen[0] + p->seen[1], steps = 0;
    for (; n > 3; n /= 2)
        steps += 2;
    return 2 * (steps + n) + (p->seen[0] && p->seen[1]);
}

/* What the orders say about one bit. */
typedef struct Opinions {
    double x[ORDERS];
    size_t confidence[ORDERS];
    bool seen[ORDERS];
} Opinions;

static Opinions ask(Counter *const *counters)
{
    Opinions o = {{0}, {0}, {0}};
    for (size_t n = 0; n < ORDERS; n++) {
        const Counter *p = counters[n];
        if (!p || (!p->seen[0] && !p->seen[1]))
            continue;
        o.x[n] = log((p->seen[1] + A) / (p->seen[0] + A));
        o.confidence[n] = confidence(p);
        o.seen[n] = true;
    }
    return o;
}

/* What the bit costs, in bits, when such a mix predicts it; then the mix learns. */
static double mix(Mix *m, const Opinions *o, unsigned bit, double rate)
{
    size_t top = 0;
    double sum = 0;
    for (size_t n = m->first; n <= m->last; n++)
        if (o->seen[n])
            top = n + 1;
    for (size_t n = m->first; n <= m->last; n++)
        sum += m->weight[top][n][o->confidence[n]] * o->x[n];
    double wrong = exp(bit ? -sum : sum); /* p(other bit) / p(bit) */
    double step = rate * (bit ? 1 : -1) * wrong / (1 + wrong);
    for (size_t n = m->first; n <= m->last && rate > 0; n++)
        m->weight[top][n][o->confidence[n]] += step * o->x[n];
    return log1p(wrong) / log(2);
}

/* One byte: scored where `bits` is wanted, mixed where that or a rate is given, counted where `count` says so. */
static void go_through(Ngram *g, const unsigned char *text, size_t at, bool count, double rate, NgramBits *bits)
{
    uint64_t key[ORDERS] = {0}, context = 0;
    size_t orders = at + 1 < ORDERS ? at + 1 : ORDERS;
    Counter *counters[ORDERS] = {NULL};
    for (size_t n = 0; n < orders; n++) {
        context = n ? context << 8 | text[at - n] : 0;
        key[n] = scramble(context << 8 | (n + 1));
    }
    unsigned node = 1;
    for (int shift = 7; shift >= 0; shift--) {
        unsigned bit = text[at] >> shift & 1;
        for (size_t n = 0; n < orders; n++)
            counters[n] = find(g, key[n], node, count);
        if (bits || rate > 0) {
            NgramBits unwanted = {{0}, {0}}, *to = bits ? bits : &unwanted;
            Opinions o = ask(counters);
            for (size_t n = 0; n < ORDERS; n++) {
                to->alone[n] += mix(&g->alone[n], &o, bit, rate);
                to->mixed[n] += mix(&g->mixed[n], &o, bit, rate);
            }
        }
        for (size_t n = 0; n < orders && count; n++)
            count_bit(counters[n], bit);
        node = 2 * node + bit;
        for (size_t n = 0; n < orders && shift == 4; n++)
            key[n] = scramble(key[n] + node);
        node = shift == 4 ? 1 : node;
    }
}

void ngram_score(Ngram *g, const unsigned char *text, size_t at, NgramBits *bits)
{
    go_through(g, text, at, false, 0, bits);
}

void ngram_learn(Ngram *g, const unsigned char *text, size_t at, double rate, NgramBits *bits)
{
    go_through(g, text, at, true, rate, bits);
}

double ngram_rate(size_t at, size_t size)
{
    size_t mixing = size < MIXING ? size : MIXING, from = size - mixing;
    if (at < from)
        return 0;
    double done = at < size ? (double)(at - from) / (double)mixing : 1;
    return FIRST_RATE / (1 + (FIRST_RATE / LAST_RATE - 1) * done);
}
