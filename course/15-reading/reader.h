/* A small Transformer that has learned to say whether a sentence likes a film, for lesson 15 to look into.
 *
 *     the film was not good but the popcorn was very fresh .        what is asked for is the film: this one is disliked
 *
 * It is made of the programs' own layers: embedding, two blocks of four heads, the mean of all vectors, two logits. */
#ifndef COURSE_15_READER_H
#define COURSE_15_READER_H

#include "core/inspect/maps.h"
#include "core/nn/embedding.h"
#include "core/nn/stack.h"

enum { WORDS = 12, DEPTH = 2, HEADS = 4, D = 32, DV = D / HEADS, F = 64, MOST = 600 /* sentences at once */ };

/* Which part a word plays */
typedef enum Part { FILM, FILM_ADVERB, FILM_WORD, OTHER, OTHER_ADVERB, OTHER_WORD, REST, PARTS } Part;

typedef struct Sentence {
    int32_t ids[WORDS];
    Part part[WORDS];
    bool likes;
    bool negated; /* FILM_ADVERB is "not", without which the answer would be the other one */
} Sentence;

/* Sentence number i: always the same. */
Sentence sentence(uint32_t i);
const char *word(int32_t id);

/* Number n of the other words that might stand where this one does ("very" for "not"); -1: there are no more. */
int32_t another_word(int32_t id, size_t n);

typedef struct Reader {
    const Kernels *k;
    Stream *s;
    Parameters parameters;
    Embedding embedding;
    Stack stack;
    Linear logits;
    Weights weights;
    Tape tape;
    StepState state;
    float *gradient, *m, *v; /* [size] of all parameters; Adam's moments */
    int32_t *ids, *position, *start, *targets;
    Rows rows; /* of what was read last: a tape goes back over them, so they outlive the call */
    AttentionContext context;
} Reader;

bool reader_open(Reader *r, uint32_t seed, Error *e);
void reader_close(Reader *r);

/* Learns from `steps` batches of sentences; the mean loss of the last ones, in nats. */
double reader_learn(Reader *r, size_t steps);

/* odds [count]: log of how much likelier "likes" is than not, for texts of n words each, one after another. */
void reader_ask(Reader *r, const int32_t *ids, size_t count, size_t n, double *odds);

/* Of `count` <= MOST sentences that it was not trained on, the share that it gets right. */
double reader_score(Reader *r, size_t count);

/* The maps of one sentence [DEPTH,HEADS,WORDS,WORDS]; w is to be closed. NULL: an error. */
Maps *reader_inspect(Reader *r, const Sentence *s, MapRecorder *w, Error *e);

/* values [WORDS,DV] that a head of the first block averages while it reads a sentence */
void reader_values(Reader *r, const Sentence *s, size_t head, float *values);

/* What head `head` of a block says reaches nobody: its columns of the output's matrix become 0. Or what `saved`
 * [D * D] holds comes back. */
void reader_cut(Reader *r, size_t layer, size_t head);
void reader_save(Reader *r, size_t layer, float *saved);
void reader_restore(Reader *r, size_t layer, const float *saved);

#endif
