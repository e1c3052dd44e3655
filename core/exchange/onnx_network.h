/* The parts of our networks as values of an ONNX graph, formula by formula as core/nn has them; x is [batch, length, dim]
 * throughout. What a graph can say of the options of a model is listed in ONNX_SAYS, for sayable.h; names of weights are
 * ours. */
#ifndef CORE_EXCHANGE_ONNX_NETWORK_H
#define CORE_EXCHANGE_ONNX_NETWORK_H

#include "core/exchange/onnx.h"
#include "core/exchange/sayable.h"
#include "core/exchange/tensors.h"

#define ONNX_SAYS                                                                                                      \
    {"dim", NULL}, {"heads", NULL}, {"kv-heads", NULL}, {"head-size", NULL}, {"value-size", NULL}, {"depth", NULL},    \
        {"loops", NULL}, {"ff", NULL}, {"context", NULL}, {"window", NULL}, {"bias", NULL}, {"bias-free", NULL},       \
        {"tie", NULL}, {"attention", NULL}, {"positions", NULL}, {"rotary-base", NULL}, {"rotary-share", NULL},        \
        {"rotary-stretch", NULL}, {"rotary-scaling", NULL}, {"embedding-norm", NULL}, {"activation", NULL},            \
        {"gate", NULL}, {"logit-cap", NULL}, {"norm", "post|pre|sandwich|parallel"},                                   \
        {"norm-kind", "layer|rms|rms-plain"}, {"norm-epsilon", NULL}, {"distances", "none|bias|alibi|buckets|t5"},     \
        {"alibi-heads", NULL},                                                                                         \
    {                                                                                                                  \
        "score", "scaled-dot|dot"                                                                                      \
    }

typedef struct OnnxNetwork {
    Onnx graph;
    const Json *model;      /* options of the model, as config.json has them */
    const Tensors *weights; /* constants among them */
    bool *given;            /* [weights] that the graph holds already */
    size_t heads, kv_heads, key_size, value_size;
} OnnxNetwork;

bool onnx_network_open(OnnxNetwork *n, const Json *model, const Tensors *weights, Error *e);

/* Writes the graph as a file of a folder, and closes. */
bool onnx_network_write(OnnxNetwork *n, const char *folder, const char *name, Error *e);

/* A weight by its name; whether there is one. */
OnnxValue onnx_weight(OnnxNetwork *n, const char *name);
bool onnx_has(const OnnxNetwork *n, const char *name);

/* 0 .. length-1 [length] of ids [batch, length], and which keys a query sees by these alone: [length, length]. */
OnnxValue onnx_positions(OnnxNetwork *n, OnnxValue ids);
OnnxValue onnx_seen(OnnxNetwork *n, OnnxValue positions, bool causal);

/* Rows of a table, times `scale`, and those of one of positions where there is such a table. */
OnnxValue onnx_embedding(OnnxNetwork *n, const char *table, const char *of_positions, double scale, OnnxValue ids,
                         OnnxValue positions);

/* x and, where there is a table of n-grams, the rows of those that end at each position, as core/train/ngrams.h finds them
 * with these two numbers. */
OnnxValue onnx_ngrams(OnnxNetwork *n, int64_t factor, int64_t prime, OnnxValue ids, OnnxValue x);

/* name.weight [out, in], and name.bias where there is one; or, tied to a table, w is that. */
OnnxValue onnx_linear(OnnxNetwork *n, const char *name, OnnxValue x);
OnnxValue onnx_linear_by(OnnxNetwork *n, OnnxValue w, const char *name, OnnxValue x);

/* A norm of the model's kind, and its activation. */
OnnxValue onnx_norm(OnnxNetwork *n, const char *name, OnnxValue x);
OnnxValue onnx_activation(OnnxNetwork *n, OnnxValue x);

/* logits, capped where the model caps them. */
OnnxValue onnx_capped(OnnxNetwork *n, OnnxValue logits);

/* A chain of blocks. What queries see is a truth that broadcasts to [batch, kv heads, heads of each, queries, keys]. */
typedef struct OnnxStack {
    const char *blocks; /* "blocks" of blocks.0, blocks.1 and so on */
    const char *norms;  /* what is before "norm" and "embedding_norm": "", "encoder." */
    size_t depth;
    OnnxValue positions, seen;
    const OnnxValue *memory, *memory_seen; /* a decoder's; NULL: it has none */
} OnnxStack;

OnnxValue onnx_stack(OnnxNetwork *n, const OnnxStack *s, OnnxValue x);

/* A text's mask [batch, length], 1 at its tokens, as a truth about keys that broadcasts likewise. */
OnnxValue onnx_valid(OnnxNetwork *n, OnnxValue mask);

#endif
