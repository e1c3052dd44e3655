/* See names.h. The first table has the order in which llm.c writes its tensors, on which its reader relies. */
#include "charlm/names.h"

#define ROW(how, may, name, ...)                                                                                       \
    {                                                                                                                  \
        .theirs = (name), .ours = {__VA_ARGS__}, .layout = (how), .optional = (may)                                    \
    }
#define SAME(name, ...)         ROW(LAYOUT_SAME, false, name, __VA_ARGS__)
#define TURNED(name, ...)       ROW(LAYOUT_TURNED, false, name, __VA_ARGS__)
#define PAIRS(name, may, ...)   ROW(LAYOUT_PAIRS, may, name, __VA_ARGS__)
#define MAY(name, ...)          ROW(LAYOUT_SAME, true, name, __VA_ARGS__)
#define BOTH(name, ours)        SAME(name ".weight", ours ".weight"), SAME(name ".bias", ours ".bias")
#define TURNED_BOTH(name, ours) TURNED(name ".weight", ours ".weight"), SAME(name ".bias", ours ".bias")
#define MAY_BOTH(name, ours)    SAME(name ".weight", ours ".weight"), MAY(name ".bias", ours ".bias")
#define PAIRS_BOTH(name, ours)  PAIRS(name ".weight", false, ours ".weight"), PAIRS(name ".bias", true, ours ".bias")

#define OF(part)  "blocks.#.attention." part
#define QKV(what) OF("query." what), OF("key." what), OF("value." what)

#define P "transformer."
static const Naming gpt2[] = {
    SAME(P "wte.weight", "token_embedding.weight"),
    SAME(P "wpe.weight", "position_embedding.weight"),
    BOTH(P "h.#.ln_1", "blocks.#.norm1"),
    TURNED(P "h.#.attn.c_attn.weight", QKV("weight")),
    SAME(P "h.#.attn.c_attn.bias", QKV("bias")),
    TURNED_BOTH(P "h.#.attn.c_proj", OF("out")),
    BOTH(P "h.#.ln_2", "blocks.#.norm2"),
    TURNED_BOTH(P "h.#.mlp.c_fc", "blocks.#.ff.in"),
    TURNED_BOTH(P "h.#.mlp.c_proj", "blocks.#.ff.out"),
    BOTH(P "ln_f", "norm"),
    MAY("lm_head.weight", "logits.weight"),
};

#define L "model.layers.#."
static const Naming llama[] = {
    SAME("model.embed_tokens.weight", "token_embedding.weight"),
    SAME(L "input_layernorm.weight", "blocks.#.norm1.weight"),
    MAY_BOTH(L "self_attn.q_proj", OF("query")),
    MAY_BOTH(L "self_attn.k_proj", OF("key")),
    MAY_BOTH(L "self_attn.v_proj", OF("value")),
    MAY_BOTH(L "self_attn.o_proj", OF("out")),
    SAME(L "post_attention_layernorm.weight", "blocks.#.norm2.weight"),
    MAY_BOTH(L "mlp.gate_proj", "blocks.#.ff.gate"),
    MAY_BOTH(L "mlp.up_proj", "blocks.#.ff.in"),
    MAY_BOTH(L "mlp.down_proj", "blocks.#.ff.out"),
    SAME("model.norm.weight", "norm.weight"),
    MAY("lm_head.weight", "logits.weight"),
};

#define B "blk.#."
static const Naming gguf_gpt2[] = {
    SAME("token_embd.weight", "token_embedding.weight"),
    SAME("position_embd.weight", "position_embedding.weight"),
    BOTH(B "attn_norm", "blocks.#.norm1"),
    SAME(B "attn_qkv.weight", QKV("weight")),
    SAME(B "attn_qkv.bias", QKV("bias")),
    BOTH(B "attn_output", OF("out")),
    BOTH(B "ffn_norm", "blocks.#.norm2"),
    BOTH(B "ffn_up", "blocks.#.ff.in"),
    BOTH(B "ffn_down", "blocks.#.ff.out"),
    BOTH("output_norm", "norm"),
    MAY("output.weight", "logits.weight"),
};

static const Naming gguf_llama[] = {
    SAME("token_embd.weight", "token_embedding.weight"),
    SAME(B "attn_norm.weight", "blocks.#.norm1.weight"),
    PAIRS_BOTH(B "attn_q", OF("query")),
    PAIRS_BOTH(B "attn_k", OF("key")),
    MAY_BOTH(B "attn_v", OF("value")),
    MAY_BOTH(B "attn_output", OF("out")),
    SAME(B "ffn_norm.weight", "blocks.#.norm2.weight"),
    MAY_BOTH(B "ffn_gate", "blocks.#.ff.gate"),
    MAY_BOTH(B "ffn_up", "blocks.#.ff.in"),
    MAY_BOTH(B "ffn_down", "blocks.#.ff.out"),
    SAME("output_norm.weight", "norm.weight"),
    MAY("output.weight", "logits.weight"),
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
                         .never_turned = names == NAMES_NANOGPT,
                         .blocks = blocks,
                         .dim = dim};
}
