/* Text, token by token, after a prompt.
 *
 * Keys and values of earlier tokens are cached, so a token costs one position's work. When the context is full, the cache
 * is filled again from the newer half of what it held, so a token sees between half and all of the context. `exact`
 * computes the whole window for every token instead; both agree as long as everything fits into the context.
 *
 * A writer reads its prompt once, for any number of texts, and writes several at once: a token of each in turn, so that
 * weights are read once for all of them. Each text is what it would be alone. */
#ifndef CHARLM_WRITER_H
#define CHARLM_WRITER_H

#include "charlm/charlm.h"
#include "core/search/sampler.h"

typedef struct Writer Writer;

enum { WRITER_TEXTS = 8 }; /* at once, at most: as many as products read weights once for */

/* The trainer's worker 0 computes, alone: up to `texts` at once. exact: without a cache. prompt [size]: ids; without any,
 * a text begins as a document does: after the separator, or a line feed where the tokens are bytes. */
bool writer_open(Writer **w, const Charlm *c, Trainer *trainer, size_t texts, const int32_t *prompt, size_t size,
                 bool exact, Error *e);
void writer_close(Writer *w); /* NULL is fine */

/* `length` tokens after the prompt, for each of some texts, each handed to `write` as it is chosen. */
typedef struct Sampling {
    size_t texts, length;
    SamplerOptions how;
    uint32_t seed, number; /* of the first text: each has random numbers of its own */
    void (*write)(void *to, size_t text, int32_t id);
    void *to;
    double seconds;        /* result: from the first token written to the last */
    size_t prompt;         /* result: its tokens, */
    double prompt_seconds; /* and how long the writer read them */
} Sampling;

bool writer_write(Writer *w, Sampling *s, Error *e);

/* A trainer of one worker, opened by `open`, whose tape holds what a writer of up to `texts` texts needs. */
bool writer_trainer(Charlm *c, Trainer *trainer, size_t texts, bool (*open)(App *, Trainer *, Error *), Error *e);

#endif
