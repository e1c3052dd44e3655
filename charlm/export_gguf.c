/* A file that llama.cpp loads: architecture gpt2 or llama, and its tokens. */
#include "charlm/export.h"
#include "core/exchange/gguf.h"

#include <stdio.h>
#include <string.h>

/* Kinds of tokens there: a text has normal ones, and control ones are special. */
enum { TOKEN_NORMAL = 1, TOKEN_CONTROL = 3 };

static void add_tokens(GgufKeys *g, const Away *w)
{
    const Vocabulary *subwords = &w->tokens->subwords;
    const Pairs *merges = &w->tokens->merges;
    /* A byte that no text has is the end where nothing else is: there is always one there. */
    const uint32_t end = (uint32_t)(w->separator >= 0 ? w->separator : w->tokens->byte[0]);
    gguf_text(g, "tokenizer.ggml.model", "gpt2");
    gguf_text(g, "tokenizer.ggml.pre", "gpt-2");
    gguf_texts(g, "tokenizer.ggml.tokens", subwords->count);
    for (size_t i = 0; i < subwords->count; i++) {
        const char *subword = vocabulary_word(subwords, (int32_t)i);
        gguf_add_text(g, subword, strlen(subword));
    }
    gguf_i32s(g, "tokenizer.ggml.token_type", subwords->count);
    for (size_t i = 0; i < subwords->count; i++)
        gguf_add_i32(g, (int32_t)i == w->separator ? TOKEN_CONTROL : TOKEN_NORMAL);
    gguf_texts(g, "tokenizer.ggml.merges", merges->count);
    for (size_t i = 0; i < merges->count; i++) {
        Buffer merge = {0};
        buffer_print(&merge, "%s %s", vocabulary_word(subwords, merges->pair[i].left),
                     vocabulary_word(subwords, merges->pair[i].right));
        gguf_add_text(g, merge.text, merge.size);
        g->bytes.failed = g->bytes.failed || merge.failed;
        buffer_free(&merge);
    }
    gguf_u32(g, "tokenizer.ggml.bos_token_id", end);
    gguf_u32(g, "tokenizer.ggml.eos_token_id", end);
    gguf_bool(g, "tokenizer.ggml.add_bos_token", false);
    gguf_bool(g, "tokenizer.ggml.add_eos_token", false);
}

static void add_size(GgufKeys *g, const Away *w, const char *key, size_t value)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", w->llama ? "llama" : "gpt2", key);
    gguf_u32(g, name, (uint32_t)value);
}

static void add_model(GgufKeys *g, const Away *w)
{
    gguf_text(g, "general.architecture", w->llama ? "llama" : "gpt2");
    gguf_text(g, "general.name", "charlm");
    gguf_u32(g, "general.file_type", 0); /* all 32-bit floats */
    add_size(g, w, "context_length", w->context);
    add_size(g, w, "embedding_length", w->dim);
    add_size(g, w, "block_count", w->depth);
    add_size(g, w, "feed_forward_length", w->ff);
    add_size(g, w, "attention.head_count", w->heads);
    add_size(g, w, "vocab_size", w->c->tokenizer.count);
    if (!w->llama) {
        gguf_f32(g, "gpt2.attention.layer_norm_epsilon", (float)w->epsilon);
        return;
    }
    add_size(g, w, "attention.head_count_kv", w->kv_heads);
    add_size(g, w, "attention.key_length", w->head_size);
    add_size(g, w, "attention.value_length", w->head_size);
    add_size(g, w, "rope.dimension_count", w->head_size);
    gguf_f32(g, "llama.attention.layer_norm_rms_epsilon", (float)w->epsilon);
    gguf_f32(g, "llama.rope.freq_base", (float)w->rotary_base);
    if (w->rotary_stretch > 1 || w->rotary_stretch < 1) {
        gguf_text(g, "llama.rope.scaling.type", "linear");
        gguf_f32(g, "llama.rope.scaling.factor", (float)w->rotary_stretch);
    }
}

bool charlm_export_gguf(const Away *w, Error *e)
{
    Tensors t = {0};
    GgufKeys keys = {.count = 0};
    add_model(&keys, w);
    add_tokens(&keys, w);
    bool fine = away_tensors(w, NAMES_GGUF_GPT2, NAMES_GGUF_LLAMA, &t, e);
    if (fine)
        fine = gguf_write(&keys, w->x->to, &t, e);
    else
        buffer_free(&keys.bytes);
    tensors_close(&t);
    return fine;
}
