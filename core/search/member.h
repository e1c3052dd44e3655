/* A network that translates, with what it remembers: the sentences of a batch, as the encoder read them, and each live
 * hypothesis's tokens. A worker has one, or several that form an ensemble. */
#ifndef CORE_SEARCH_MEMBER_H
#define CORE_SEARCH_MEMBER_H

#include "core/nn/stack.h"
#include "core/search/beam.h"

/* A program's network. Both functions are called by several workers at once, and with tapes that only measure: they
 * change nothing but the tape. */
typedef struct TranslateNetwork {
    const void *model;
    const Stack *decoder; /* its blocks cross */
    int32_t begin;        /* what a decoder starts from */
    const bool *moves;    /* [V] whether a token moves the decoder's position on; NULL: each does */

    /* What the encoder makes of packed sources: [M,D]. */
    Tensor *(*memory)(const void *model, Tape *t, const Rows *source);

    /* logits [N,V] of packed positions, over what the caches of `context` hold: one in each row, or none. */
    Tensor *(*logits)(const void *model, Tape *t, const Rows *target, const AttentionContext *context);

    bool begin_only; /* no translation has the token that a decoder starts from */
} TranslateNetwork;

typedef struct TranslateMember {
    TranslateNetwork network;
    const Weights *weights;
} TranslateMember;

typedef struct Sentence {
    const int32_t *ids; /* [length] the source as the encoder reads it, </s> and all */
    size_t length;
    size_t most; /* tokens that its translation may have */
    const int32_t *prefix;
    size_t prefix_length; /* tokens that it begins with, at most `most`; if these are all, it can only end after them */
    const void *about;    /* what a rule of NextOptions knows of it */
    uint32_t number;      /* of all sentences: each has random numbers of its own */
} Sentence;

/* Integers on their way to the device, in one upload. */
typedef struct Staged {
    int32_t *host, *device;
    size_t used, capacity;
} Staged;

typedef struct Member {
    const TranslateNetwork *n;
    const Kernels *k;
    Stream *stream;
    Tape tape;
    StepState *state; /* on the device: zeros */
    Cache past, memory;
    Staged source, target;
    int32_t *tokens; /* [most] of one hypothesis */
} Member;

typedef struct MemberSize {
    size_t sentences, slots; /* of a batch, */
    size_t positions;        /* and its positions on a side; a row of either cache has this many: */
    size_t capacity;
    size_t most; /* tokens of a translation */
    size_t team; /* cores of each operation */
} MemberSize;

/* plan NULL: one that measures. `from` outlives it; it is to be closed in any case. */
bool member_open(Member *m, const TranslateMember *from, const MemberSize *size, const Kernels *k, const TapePlan *plan,
                 Error *e);
void member_close(Member *m);

/* Encodes them and remembers what the decoder reads of it. */
void member_read_sources(Member *m, const Sentence *const *sentence, size_t count);

/* Reads the last token of each live hypothesis: logits [row_count, V], until the tape is reset. */
Tensor member_read_targets(Member *m, const Beams *b);

#endif
