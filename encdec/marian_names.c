/* See marian_names.h. */
#include "encdec/marian_names.h"

/* S: of the stack, O: of its blocks here */
#define LAYER(S) "model." S ".layers.#."
#define COMMON(S)                                                                                                      \
    NAMED_BOTH(LAYER(S) "self_attn.q_proj.", S ".#.attention.query"),                                                  \
        NAMED_BOTH(LAYER(S) "self_attn.k_proj.", S ".#.attention.key"),                                                \
        NAMED_BOTH(LAYER(S) "self_attn.v_proj.", S ".#.attention.value"),                                              \
        NAMED_BOTH(LAYER(S) "self_attn.out_proj.", S ".#.attention.out"),                                              \
        NAMED_BOTH(LAYER(S) "self_attn_layer_norm.", S ".#.norm1"), NAMED_BOTH(LAYER(S) "fc1.", S ".#.ff.in"),         \
        NAMED_BOTH(LAYER(S) "fc2.", S ".#.ff.out"), NAMED_BOTH(LAYER(S) "final_layer_norm.", S ".#.norm2")

/* The last rows are tables of tokens: those that a model has. */
static const Naming names[] = {COMMON("encoder"),
                               COMMON("decoder"),
                               NAMED_BOTH(LAYER("decoder") "encoder_attn.q_proj.", "decoder.#.cross.query"),
                               NAMED_BOTH(LAYER("decoder") "encoder_attn.k_proj.", "decoder.#.cross.key"),
                               NAMED_BOTH(LAYER("decoder") "encoder_attn.v_proj.", "decoder.#.cross.value"),
                               NAMED_BOTH(LAYER("decoder") "encoder_attn.out_proj.", "decoder.#.cross.out"),
                               NAMED_BOTH(LAYER("decoder") "encoder_attn_layer_norm.", "decoder.#.norm_cross"),
                               NAMED_MAY("model.shared.weight", "embedding.weight"),
                               NAMED_MAY("model.encoder.embed_tokens.weight", "source_embedding.weight"),
                               NAMED_MAY("model.decoder.embed_tokens.weight", "target_embedding.weight"),
                               NAMED_MAY("lm_head.weight", "logits.weight"),
                               NAMED_MAY("final_logits_bias", "logits.bias")};

enum { ALL = sizeof names / sizeof *names, TOKENS = 5, STACK = sizeof((Naming[]){COMMON("encoder")}) / sizeof *names };

NamingTable marian_names(MarianPart part, size_t blocks, size_t dim)
{
    static const size_t first[] = {0, 0, STACK, ALL - TOKENS}, end[] = {ALL, STACK, ALL - TOKENS, ALL - 1};
    return (NamingTable){.rows = names + first[part], .count = end[part] - first[part], .blocks = blocks, .dim = dim};
}
