/* An encoder and a decoder that attends across what it makes of the source, put together from core/nn as "Attention Is
 * All You Need" draws it. Side 0 of a batch is the source, side 1 the target, which is scored. */
#ifndef TESTS_NN_ENCDEC_H
#define TESTS_NN_ENCDEC_H

#include "core/nn/embedding.h"
#include "core/nn/stack.h"
#include "tests/reference.h"

typedef struct EncDecOptions {
    BlockOptions block;
    size_t encoder, decoder; /* blocks; an encoder of none hands its embedding on */
    size_t source, target;   /* words */
    size_t context;
    Positions positions;
    bool tie; /* one table for source, target and logits */
    double scale, smoothing;
} EncDecOptions;

typedef struct EncDec {
    EncDecOptions options;
    Parameters parameters;
    Embedding source, target;
    Stack encoder, decoder;
    Linear logits;
} EncDec;

/* As a fixture describes it. */
EncDecOptions encdec_options(const Reference *f);

bool encdec_open(EncDec *m, const EncDecOptions *o, Error *e);
void encdec_close(EncDec *m);

/* What the encoder makes of the source [M,D]; and logits [N,V] of the target. */
Tensor *encdec_memory(Tape *t, const EncDec *m, const Rows *source);
Tensor *encdec_logits(Tape *t, const EncDec *m, const Rows *target, Tensor *memory, const AttentionContext *context);

Network encdec_network(const EncDec *m);

#endif
