/* Counting n-grams of bytes: what a text is predicted by without a network, and so the line that a network must beat.
 * Orders 0 to 5, each alone and mixed with those below it; memory is bounded, whatever the text. */
#ifndef CHARLM_NGRAM_H
#define CHARLM_NGRAM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORDERS = 6, CONFIDENCES = 68 };

typedef struct Counter Counter;

/* The weights of orders first .. last, by the longest of them that has seen its context (0: none) and by confidence. */
typedef struct Mix {
    size_t first, last;
    double weight[ORDERS + 1][ORDERS][CONFIDENCES];
} Mix;

typedef struct Ngram {
    Counter *counters; /* of all orders, in one table */
    size_t count;      /* a power of two */
    Mix alone[ORDERS], mixed[ORDERS];
} Ngram;

/* Bits that bytes cost: predicted by order n alone, and by orders 0 .. n together. */
typedef struct NgramBits {
    double alone[ORDERS], mixed[ORDERS];
} NgramBits;

/* A model that has seen nothing, with room for a text of this many bytes, but at most NGRAM_MEMORY. When it is full, it
 * forgets what it has seen least. */
#define NGRAM_MEMORY ((size_t)512 << 20)
bool ngram_open(Ngram *g, size_t bytes, Error *e);
void ngram_close(Ngram *g);

/* Foretells byte `at` of a text from at most five before it, and adds what it costs. */
void ngram_score(Ngram *g, const unsigned char *text, size_t at, NgramBits *bits);

/* Counts the byte. rate > 0: the mix, too, learns from how well it predicted it just before; bits may be NULL. */
void ngram_learn(Ngram *g, const unsigned char *text, size_t at, double rate, NgramBits *bits);

/* The rate at byte `at` of a training text: 0 but in its last megabyte, so that the mix is fitted to counts that are
 * nearly those it will be used with. After the text it is what learning continues with. */
double ngram_rate(size_t at, size_t size);

#endif
