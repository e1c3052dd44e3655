/* See names.h. The first table has the order in which llm.c writes its tensors, on which its reader relies. */
#include "charlm/names.h"

#define TRANSPOSED_BOTH(name, ours) NAMED_TRANSPOSED(name "weight", ours ".weight"), NAMED(name "bias", ours ".bias")
#define PAIRS_BOTH(name, ours)                                                                                         \
    NAMED_AS(LAYOUT_PAIRS, false, name "weight", ours ".weight"),                                                      \
        NAMED_AS(LAYOUT_PAIRS, true, name "bias", ours ".bias")

#define OF(part)  "blocks.#.attention." part
#define QKV(what) OF("query." what), OF("key." what), OF("value." what)

#define P "transformer."
static const Naming gpt2[] = {
    NAMED(P "wte.weight", "token_embedding.weight"),
    NAMED(P "wpe.weight", "position_embedding.weight"),
    NAMED_BOTH(P "h.#.ln_1.", "blocks.#.norm1"),
    NAMED_TRANSPOSED(P "h.#.attn.c_attn.weight", QKV("weight")),
    NAMED(P "h.#.attn.c_attn.bias", QKV("bias")),
    TRANSPOSED_BOTH(P "h.#.attn.c_proj.", OF("out")),
    NAMED_BOTH(P "h.#.ln_2.", "blocks.#.norm2"),
    TRANSPOSED_BOTH(P "h.#.mlp.c_fc.", "blocks.#.ff.in"),
    TRANSPOSED_BOTH(P "h.#.mlp.c_proj.", "blocks.#.ff.out"),
    NAMED_BOTH(P "ln_f.", "norm"),
    NAMED_MAY("lm_head.weight", "logits.weight"),
};

#define L "model.layers.#."
static const Naming llama[] = {
    NAMED("model.embed_tokens.weight", "token_embedding.weight"),
    NAMED(L "input_layernorm.weight", "blocks.#.norm1.weight"),
    NAMED_MAY_BOTH(L "self_attn.q_proj.", OF("query")),
    NAMED_MAY_BOTH(L "self_attn.k_proj.", OF("key")),
    NAMED_MAY_BOTH(L "self_attn.v_proj.", OF("value")),
    NAMED_MAY_BOTH(L "self_attn.o_proj.", OF("out")),
    NAMED(L "post_attention_layernorm.weight", "blocks.#.norm2.weight"),
    NAMED_MAY_BOTH(L "mlp.gate_proj.", "blocks.#.ff.gate"),
    NAMED_MAY_BOTH(L "mlp.up_proj.", "blocks.#.ff.in"),
    NAMED_MAY_BOTH(L "mlp.down_proj.", "blocks.#.ff.out"),
    NAMED("model.norm.weight", "norm.weight"),
    NAMED_MAY("lm_head.weight", "logits.weight"),
};

#define B "blk.#."
static const Naming gguf_gpt2[] = {
    NAMED("token_embd.weight", "token_embedding.weight"),
    NAMED("position_embd.weight", "position_embedding.weight"),
    NAMED_BOTH(B "attn_norm.", "blocks.#.norm1"),
    NAMED(B "attn_qkv.weight", QKV("weight")),
    NAMED(B "attn_qkv.bias", QKV("bias")),
    NAMED_BOTH(B "attn_output.", OF("out")),
    NAMED_BOTH(B "ffn_norm.", "blocks.#.norm2"),
    NAMED_BOTH(B "ffn_up.", "blocks.#.ff.in"),
    NAMED_BOTH(B "ffn_down.", "blocks.#.ff.out"),
    NAMED_BOTH("output_norm.", "norm"),
    NAMED_MAY("output.weight", "logits.weight"),
};

static const Naming gguf_llama[] = {
    NAMED("token_embd.weight", "token_embedding.weight"),
    NAMED(B "attn_norm.weight", "blocks.#.norm1.weight"),
    PAIRS_BOTH(B "attn_q.", OF("query")),
    PAIRS_BOTH(B "attn_k.", OF("key")),
    NAMED_MAY_BOTH(B "attn_v.", OF("value")),
    NAMED_MAY_BOTH(B "attn_output.", OF("out")),
    NAMED(B "ffn_norm.weight", "blocks.#.norm2.weight"),
    NAMED_MAY_BOTH(B "ffn_gate.", "blocks.#.ff.gate"),
    NAMED_MAY_BOTH(B "ffn_up.", "blocks.#.ff.in"),
    NAMED_MAY_BOTH(B "ffn_down.", "blocks.#.ff.out"),
    NAMED("output_norm.weight", "norm.weight"),
    NAMED_MAY("output.weight", "logits.weight"),
};

#define TABLE(rows)                                                                                                    \
    {                                                                                                                  \
        rows, sizeof(rows) / sizeof *(rows)                                                                            \
    }
static const struct {
    const Naming *rows;
    size_t count;
} tables[NAMES_COUNT] = {
    [NAMES_GPT2] = TABLE(gpt2),           [NAMES_NANOGPT] = TABLE(gpt2),          [NAMES_LLAMA] = TABLE(llama),
    [NAMES_GGUF_GPT2] = TABLE(gguf_gpt2), [NAMES_GGUF_LLAMA] = TABLE(gguf_llama),
};

NamingTable names_table(Names names, size_t blocks, size_t dim)
{
    return (NamingTable){.rows = tables[names].rows,
                         .count = tables[names].count,
                         .never_transposed = names == NAMES_NANOGPT,
                         .blocks = blocks,
                         .dim = dim};
}
