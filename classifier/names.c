/* See names.h. */
#include "classifier/names.h"

#define OF(part) "blocks.#." part

/* Of heads, of which a model has some. */
#define MAY_BOTH(name, ours) NAMED_MAY(name "weight", ours ".weight"), NAMED_MAY(name "bias", ours ".bias")

#define B "bert."
#define L B "encoder.layer.#."
static const Naming bert[] = {
    NAMED(B "embeddings.word_embeddings.weight", "token_embedding.weight"),
    NAMED(B "embeddings.position_embeddings.weight", "position_embedding.weight"),
    NAMED(B "embeddings.token_type_embeddings.weight", "segment_embedding.weight"),
    NAMED_BOTH(B "embeddings.LayerNorm.", "embedding_norm"),
    NAMED_BOTH(L "attention.self.query.", OF("attention.query")),
    NAMED_BOTH(L "attention.self.key.", OF("attention.key")),
    NAMED_BOTH(L "attention.self.value.", OF("attention.value")),
    NAMED_BOTH(L "attention.output.dense.", OF("attention.out")),
    NAMED_BOTH(L "attention.output.LayerNorm.", OF("norm1")),
    NAMED_BOTH(L "intermediate.dense.", OF("ff.in")),
    NAMED_BOTH(L "output.dense.", OF("ff.out")),
    NAMED_BOTH(L "output.LayerNorm.", OF("norm2")),
    MAY_BOTH(B "pooler.dense.", "pooler"),
    MAY_BOTH("cls.predictions.transform.dense.", "masked.transform"),
    MAY_BOTH("cls.predictions.transform.LayerNorm.", "masked.norm"),
    MAY_BOTH("cls.predictions.decoder.", "masked.logits"),
    MAY_BOTH("cls.seq_relationship.", "next"),
    MAY_BOTH("classifier.", "logits"),
};

#define D "distilbert."
#define T D "transformer.layer.#."
static const Naming distilbert[] = {
    NAMED(D "embeddings.word_embeddings.weight", "token_embedding.weight"),
    NAMED(D "embeddings.position_embeddings.weight", "position_embedding.weight"),
    NAMED_BOTH(D "embeddings.LayerNorm.", "embedding_norm"),
    NAMED_BOTH(T "attention.q_lin.", OF("attention.query")),
    NAMED_BOTH(T "attention.k_lin.", OF("attention.key")),
    NAMED_BOTH(T "attention.v_lin.", OF("attention.value")),
    NAMED_BOTH(T "attention.out_lin.", OF("attention.out")),
    NAMED_BOTH(T "sa_layer_norm.", OF("norm1")),
    NAMED_BOTH(T "ffn.lin1.", OF("ff.in")),
    NAMED_BOTH(T "ffn.lin2.", OF("ff.out")),
    NAMED_BOTH(T "output_layer_norm.", OF("norm2")),
    MAY_BOTH("vocab_transform.", "masked.transform"),
    MAY_BOTH("vocab_layer_norm.", "masked.norm"),
    MAY_BOTH("vocab_projector.", "masked.logits"),
    MAY_BOTH("pre_classifier.", "pooler"),
    MAY_BOTH("classifier.", "logits"),
};

NamingTable names_table(Names names, size_t blocks, size_t dim)
{
    const bool distil = names == NAMES_DISTILBERT;
    return (NamingTable){.rows = distil ? distilbert : bert,
                         .count = distil ? sizeof distilbert / sizeof *distilbert : sizeof bert / sizeof *bert,
                         .blocks = blocks,
                         .dim = dim};
}
