/* Choices that are measured on each processor: products by our own code or by oneDNN, and in bfloat16 by the instruction
 * for pairs or as floats. Block sizes follow the caches.
 *
 * A choice has a text, words of the form KEY=VALUE between spaces or commas, which a run stores, because another
 * choice rounds otherwise:
 *
 *     f32-short, f32-long, f32-held      own or onednn: sums of up to 512 numbers and gradients of weights, longer sums,
 *                                        weights that do not change
 *     bf16-short, bf16-long, bf16-held   the same of bfloat16 (up to 1,024 numbers)
 *     bf16-by=dots or widening           the instruction for pairs, or products of f32 (a level without it only widens)
 *     chunk=UNITS                        the longest piece of a sum (bits do not depend on it, nor on the next two)
 *     panels=KIB                         packed panels that are used together
 *     alone=N                            a thread does an operation of fewer multiply-adds, in thousands, by itself and
 *                                        does not wait for others of its team
 *
 * ATTEND_TUNING in the environment (--tuning sets it) pins some or all of them; the word `default` stands for what is
 * best on the processor that this was written on. Where nothing is pinned, what was stored is used, or a probe of less
 * than 100 ms. */
#ifndef KERNELS_CPU_TUNING_H
#define KERNELS_CPU_TUNING_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum Product { PRODUCT_SHORT, PRODUCT_LONG, PRODUCT_HELD, PRODUCTS } Product;

typedef struct Tuning {
    bool onednn[2][PRODUCTS]; /* of f32, of bf16 */
    bool widening;
    size_t chunk;  /* units of 32 bits */
    size_t panels; /* bytes */
    size_t alone;  /* multiply-adds */
} Tuning;

extern const Tuning tuning_default;

/* Those in use. Until tuning_ready they are the defaults. */
extern Tuning tuning_now;

/* Where choices are kept between processes. key: what they depend on, as far as it is known here. `get` returns whether
 * it has found a text; `put` may fail without a word. Without a store each process measures. With
 * another store it decides anew. */
typedef struct TuningStore {
    bool (*get)(const char *key, Buffer *text);
    void (*put)(const char *key, const char *text);
} TuningStore;
void tuning_store(const TuningStore *store);

/* Decides, once: pinned, stored or measured. False: ATTEND_TUNING is wrong. kernels_find calls it for the cpu. */
bool tuning_ready(Error *e);
bool tuning_is_ready(void);

/* Decides anew for this process: as the text says, which another process has measured or a run has stored. */
bool tuning_adopt(const char *text, Error *e);

void tuning_text(const Tuning *t, Buffer *out);

/* Changes what the words of a text say; an error names the word that it does not know, and *t stays. */
bool tuning_parse(Tuning *t, const char *text, Error *e);

/* How many kinds of choice a text names, of TUNING_KINDS. */
enum { TUNING_KINDS = 2 * PRODUCTS + 4 };
size_t tuning_named(const char *text);

#endif
