/* Translating by beam search: many sentences through an encoder-decoder, in batches, by several workers.
 *
 *     memory = encoder(source), keys and values of it once for each layer
 *     each step: the decoder reads the last token of every live hypothesis, at its position; the likeliest next tokens
 *     go to the search (beam.h), which says which hypotheses continue
 *
 * Sentences are sorted by length and cut into batches, which depend on sentences and options alone; workers take whole
 * batches in turn. So the same call gives the same bits with any number of workers. Answers are in the order of the
 * questions.
 *
 * The keys and values of a hypothesis stay in its slot of a cache from step to step; a row's positions are copied only
 * if a parent has several children. Beams of a sentence share its row of the memory's cache. Hypotheses that have ended
 * and sentences that are over no longer take part in any product: they are rows without a position. */
#ifndef CORE_SEARCH_TRANSLATE_H
#define CORE_SEARCH_TRANSLATE_H

#include "base/thread.h"
#include "core/search/member.h"
#include "core/search/next.h"

typedef struct TranslateOptions {
    BeamOptions beam;
    NextOptions next; /* choices that a device cannot make; they need */
    size_t words;     /* V, of logits; 0 will do if the device chooses */
    const TranslateMember
        *other; /* [other_count] the rest of an ensemble: with begin, words and backend as the first */
    size_t other_count;
    size_t longest;       /* positions of the longest source */
    size_t most;          /* tokens that a translation may have; the decoder has positions 0 .. most */
    size_t sentences;     /* in a batch at most, */
    size_t positions;     /* and its sentences times the longest row of either side (a target's: most + 1); a longer row
                           * is a batch of its own */
    size_t workers, team; /* cores: workers times team (0: 1) */
    Pool *pool;           /* of this many workers, which outlives it; NULL: one of its own */
    bool together;        /* processes share the batches (base/ranks.h): all make the same calls, and get all answers */
    bool hold;            /* weights do not change while it is open: faster, with a copy of them for each worker */
} TranslateOptions;

/* The best hypotheses, the best first: none only if the network's numbers were not finite. */
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
