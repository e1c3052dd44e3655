/* A folder that Hugging Face's transformers loads: GPT2LMHeadModel or LlamaForCausalLM, and its tokenizer. */
#include "charlm/export.h"
#include "core/exchange/hf_tokens.h"
#include "core/exchange/text_file.h"

#include <string.h>

/* As transformers calls them. */
static const char *activation(const Away *w)
{
    static const char *const names[][2] = {{"gelu-tanh", "gelu_new"}};
    const char *ours = model_says(w->x->model, "activation");
    return strcmp(ours, names[0][0]) ? ours : names[0][1];
}

static void add_flag(Buffer *b, const char *key, bool value)
{
    json_add_key(b, key);
    buffer_print(b, value ? "true" : "false");
}

static void add_ids(Buffer *b, const Away *w)
{
    static const char *const keys[] = {"bos_token_id", "eos_token_id"};
    for (size_t i = 0; i < 2; i++)
        if (w->separator >= 0) {
            json_add_member(b, keys[i], (double)w->separator);
        } else {
            json_add_key(b, keys[i]);
            buffer_print(b, "null");
        }
}

typedef struct Member {
    const char *key;
    double value;
} Member;

static void add_members(Buffer *b, const Member *m, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_add_member(b, m[i].key, m[i].value);
}

static void add_gpt2(Buffer *b, const Away *w)
{
    const SharedOptions *o = &w->c->options->shared;
    const Member members[] = {{"n_positions", (double)w->context}, {"n_ctx", (double)w->context},
                              {"n_embd", (double)w->dim},          {"n_layer", (double)w->depth},
                              {"n_head", (double)w->heads},        {"n_inner", (double)w->ff},
                              {"layer_norm_epsilon", w->epsilon},  {"resid_pdrop", o->dropout},
                              {"embd_pdrop", o->dropout},          {"attn_pdrop", o->attention_dropout}};
    add_members(b, members, sizeof members / sizeof *members);
    json_add_text(b, "activation_function", activation(w));
    add_flag(b, "scale_attn_weights", true);
    add_flag(b, "scale_attn_by_inverse_layer_idx", false);
}

/* Once under the key of transformers 5, and once under those of 4. */
static void add_rotary(Buffer *b, const Away *w)
{
    static const char *const keys[] = {"rope_parameters", "rope_scaling"};
    json_add_member(b, "rope_theta", w->rotary_base);
    for (size_t i = 0; i < (w->rotary_stretch > 1 || w->rotary_stretch < 1 ? 2 : 1); i++) {
        json_add_key(b, keys[i]);
        buffer_print(b, "{");
        json_add_text(b, "rope_type", i || w->rotary_stretch > 1 || w->rotary_stretch < 1 ? "linear" : "default");
        json_add_member(b, "rope_theta", w->rotary_base);
        if (w->rotary_stretch > 1 || w->rotary_stretch < 1)
            json_add_member(b, "factor", w->rotary_stretch);
        buffer_print(b, "}");
    }
}

static void add_llama(Buffer *b, const Away *w)
{
    const bool biased = !model_is(w->x->model, "bias-free", "yes");
    const Member members[] = {{"max_position_embeddings", (double)w->context},
                              {"hidden_size", (double)w->dim},
                              {"num_hidden_layers", (double)w->depth},
                              {"num_attention_heads", (double)w->heads},
                              {"num_key_value_heads", (double)w->kv_heads},
                              {"head_dim", (double)w->head_size},
                              {"intermediate_size", (double)w->ff},
                              {"rms_norm_eps", w->epsilon},
                              {"attention_dropout", w->c->options->shared.attention_dropout}};
    add_members(b, members, sizeof members / sizeof *members);
    json_add_text(b, "hidden_act", activation(w));
    add_flag(b, "attention_bias", biased);
    add_flag(b, "mlp_bias", biased);
    add_rotary(b, w);
}

static bool write_config(const Away *w, Error *e)
{
    Buffer b = {0};
    buffer_print(&b, "{");
    json_add_text(&b, "model_type", w->llama ? "llama" : "gpt2");
    json_add_key(&b, "architectures");
    buffer_print(&b, "[\"%s\"]", w->llama ? "LlamaForCausalLM" : "GPT2LMHeadModel");
    json_add_member(&b, "vocab_size", (double)w->c->tokenizer.count);
    if (w->llama)
        add_llama(&b, w);
    else
        add_gpt2(&b, w);
    add_flag(&b, "tie_word_embeddings", model_is(w->x->model, "tie", "yes"));
    add_ids(&b, w);
    json_add_text(&b, "torch_dtype", "float32");
    buffer_print(&b, "}\n");
    return text_file(w->x->making, "config.json", &b, e);
}

static bool write_generation(const Away *w, Error *e)
{
    Buffer b = {0};
    buffer_print(&b, "{");
    add_ids(&b, w);
    buffer_print(&b, "}\n");
    return text_file(w->x->making, "generation_config.json", &b, e);
}

bool charlm_export_hf(const Away *w, Error *e)
{
    Tensors t = {0};
    const bool fine = away_tensors(w, NAMES_GPT2, NAMES_LLAMA, &t, e) && write_config(w, e) && write_generation(w, e) &&
                      hf_tokens_write(w->x->making, w->tokens, w->context, e) && export_tensors(w->x, &t, e);
    tensors_close(&t);
    return fine;
}
