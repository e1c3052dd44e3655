/* A decoder whose blocks attend to a memory of other rows, put together from the parts of core/nn. The memory is looked
 * up in a table, side 0 of a batch; the target is side 1. */
#ifndef TESTS_NN_DECODER_H
#define TESTS_NN_DECODER_H

#include "tests/nn/fixture.h"

enum { DECODER_DEPTH = 2 };

typedef struct DecoderBlock {
    Attention attention, cross;
    FeedForward ff;
    Branch branch1, branch_cross, branch2;
} DecoderBlock;

typedef struct Decoder {
    Parameters parameters;
    Embedding source, target;
    DecoderBlock block[DECODER_DEPTH];
    Linear logits;
} Decoder;

Decoder decoder_new(const Fixture *f, bool composed);
void decoder_close(Decoder *d);
Network decoder_network(const Decoder *d);

#endif
