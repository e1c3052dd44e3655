/* Translating by beam search: many sentences through an encoder-decoder, in batches, by several workers.
 *
 *     memory = encoder(source), keys and values of it once for each layer
 *     each step: of every live hypothesis its last token, at its position, through the decoder; the likeliest tokens of
 *     each go to the search (beam.h), which says which hypotheses continue
 *
 * Sentences are sorted by length, and batches cut from them; what a batch is depends on sentences and options alone,
 * and workers take whole batches in turn, so the same call gives the same bits with any number of workers. Answers are
 * in the order of the questions.
 *
 * What a hypothesis has read is in its slot of a cache, from step to step: only where a parent has several children
 * are a row's positions copied. Beams of a sentence share its row of the memory's cache. Hypotheses that have ended and
 * sentences that are over take part in no product any more: they are rows without a position. */
#ifndef CORE_SEARCH_TRANSLATE_H
#define CORE_SEARCH_TRANSLATE_H

#include "base/thread.h"
#include "core/search/member.h"
#include "core/search/next.h"

typedef struct TranslateOptions {
    BeamOptions beam;
    NextOptions next; /* what a device cannot choose; then, */
    size_t words;     /* V: of logits; 0 will do where the device chooses */
    const TranslateMember
        *other; /* [other_count] the rest of an ensemble: with begin, words and backend as the first */
    size_t other_count;
    size_t longest;       /* positions of a source there can be */
    size_t most;          /* tokens that a translation can be allowed; the decoder has positions 0 .. most */
    size_t sentences;     /* of a batch at most, */
    size_t positions;     /* and its sentences times the longest row of either side (a target's: most + 1); a longer row
                           * than     that is a batch of its own */
    size_t workers, team; /* cores: workers times team (0: 1) */
    Pool *pool;           /* of this many workers, which outlives it; NULL: one of its own */
    bool hold;            /* weights do not change as long as it lives: faster, with a copy of them for each worker */
} TranslateOptions;

/* The best hypotheses, the best first: none only where the network's numbers were not finite. */
typedef struct Translation {
    Hypothesis *hypothesis; /* [count] and after them what they point to */
    size_t count;
} Translation;

typedef struct Translator Translator;

bool translator_open(Translator **t, const TranslateNetwork *n, const Weights *w, const TranslateOptions *o, Error *e);
void translator_close(Translator *t); /* NULL is fine */

/* Bytes that a worker of such a translator will take. */
bool translator_bytes(size_t *bytes, const TranslateNetwork *n, const Weights *w, const TranslateOptions *o, Error *e);

/* translations [count] are the caller's to close; after an error there are none. */
bool translator_run(Translator *t, const Sentence *sentences, size_t count, Translation *translations, Error *e);
void translations_close(Translation *translations, size_t count);

#endif
